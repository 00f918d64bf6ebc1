//! Whether an image is whole: its parts by their checksums, without a store that would take its items.

use super::load::{Spoilt, index, read_block, read_preamble, scan};
use std::fs::File;
use std::io;
use std::path::Path;

/// Damaged places that are told of one image.
const PLACES_MAX: usize = 64;

/// What reading an image to its end found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Blocks, or items in pieces, that were read.
    pub entries: u64,
    /// How many of them are damaged.
    pub damaged: u64,
    /// Where, and what is wrong there: the first [`PLACES_MAX`].
    pub places: Vec<(u64, Spoilt)>,
}

/// Reads an image and compares all parts with their checksums.
///
/// # Errors
/// It cannot be opened.
pub fn check(path: &Path) -> io::Result<Checked> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut checked = Checked::default();
    if let Err(spoilt) = read_preamble(&file) {
        checked.wrong(0, spoilt);
        return Ok(checked);
    }
    let entries = index(&file, length).unwrap_or_else(|(at, spoilt)| {
        checked.wrong(at, spoilt);
        scan(&file, length)
    });
    let mut block = Vec::new();
    for entry in entries {
        checked.entries += 1;
        let (mut at, end) = (entry.at, entry.at.saturating_add(entry.octets));
        while at < end {
            match read_block(&file, at, end - at, &mut block) {
                Ok(head) => at += head.whole_octets(),
                Err(spoilt) => {
                    checked.wrong(at, spoilt);
                    break;
                }
            }
        }
    }
    Ok(checked)
}

impl Checked {
    fn wrong(&mut self, at: u64, spoilt: Spoilt) {
        self.damaged += 1;
        if self.places.len() < PLACES_MAX {
            self.places.push((at, spoilt));
        }
    }
}
