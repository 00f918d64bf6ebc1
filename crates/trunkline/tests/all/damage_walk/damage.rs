//! What is done to a file.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A damage. Places are of the octets that are in use: a log is longer than what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// A bit of an octet in the middle.
    Middle,
    /// A bit of an octet near the end.
    End,
    /// It ends after half of it.
    Half,
    /// It ends before its first octet.
    Empty,
    /// As long as before, and nothing but zeros.
    Zeros,
    /// It is not there.
    Removed,
}

pub const ALL: [Damage; 6] = [Damage::Middle, Damage::End, Damage::Half, Damage::Empty, Damage::Zeros, Damage::Removed];

/// Octets before the end, for a flip there.
const BEFORE_END: usize = 5;

impl Damage {
    /// As the table heads its column.
    pub fn name(self) -> &'static str {
        match self {
            Damage::Middle => "flip in the middle",
            Damage::End => "flip near the end",
            Damage::Half => "cut in half",
            Damage::Empty => "emptied",
            Damage::Zeros => "zeros",
            Damage::Removed => "removed",
        }
    }

    /// Does it; whether the file is another one then.
    pub fn apply(self, path: &Path) -> bool {
        let octets = fs::read(path).unwrap();
        let used = octets.iter().rposition(|octet| *octet != 0).map_or(0, |last| last + 1);
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        let flip = |at: usize| file.write_all_at(&[octets[at] ^ 0x10], at as u64).unwrap();
        match self {
            Damage::Middle if used > 0 => flip(used / 2),
            Damage::End if used > 0 => flip(used.saturating_sub(BEFORE_END)),
            Damage::Half if used > 1 => file.set_len(used as u64 / 2).unwrap(),
            Damage::Empty if !octets.is_empty() => file.set_len(0).unwrap(),
            Damage::Zeros if used > 0 => {
                file.set_len(0).unwrap();
                file.set_len(octets.len() as u64).unwrap();
            }
            Damage::Removed => fs::remove_file(path).unwrap(),
            _ => return false,
        }
        true
    }
}
