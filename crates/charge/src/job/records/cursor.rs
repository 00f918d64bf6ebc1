//! How far a series of files has come: written beside it, and in its place by a rename. What stands in the files
//! beyond it does not count.

use crate::account::{Octets, fields};
use trunkline_commit::Disk;

/// The cursor's file.
pub const NAME: &str = "cursor";
const UNFINISHED: &str = "cursor.part";
/// What it begins with; another number with another form.
const MARK: &[u8; 8] = b"TKLCDRC1";
/// Octets of the longest that is read.
const OCTETS_MAX: usize = 16 << 20;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The running count of the next file.
    pub next: u32,
    /// The file that is open.
    pub open: Option<Open>,
    /// Records that were lost and no closed file tells of yet.
    pub lost: u64,
    /// Files that were closed.
    pub files: u64,
    /// Records in those.
    pub records: u64,
    /// What the series' owner keeps with it: written when the records are.
    pub note: Box<[u8]>,
}

/// A file that is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Its running count.
    pub count: u32,
    /// When it was opened; seconds since 1970.
    pub opened: i64,
    /// When something was appended last.
    pub appended: i64,
    /// Records in it.
    pub records: u32,
    /// Octets of each of its forms ([`super::series::Form`]); none that it has not.
    pub octets: Vec<u64>,
    /// Its name without an ending, and why it is closed: it is being closed.
    pub closing: Option<(Box<str>, u8)>,
}

fields! {
    Cursor { next, open, lost, files, records, note }
    Open { count, opened, appended, records, octets, closing }
}

impl Cursor {
    /// The running count of the file that is open, or of the next one.
    pub fn file(&self) -> u32 {
        self.open.as_ref().map_or(self.next, |open| open.count)
    }

    /// The one of a folder; none if none was ever written.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn load<D: Disk>(disk: &D) -> Result<Option<Cursor>, String> {
        let file = match disk.open(NAME) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| format!("{NAME}: {error}"))?,
        };
        let octets = read_whole(disk, &file, OCTETS_MAX).map_err(|error| format!("{NAME}: {error}"))?;
        let damaged = || format!("{NAME} is damaged: how far records have come is not known");
        checked(MARK, &octets).and_then(Cursor::read).map(Some).ok_or_else(damaged)
    }

    /// Of the octets behind its mark and checksum.
    pub fn read(mut body: &[u8]) -> Option<Cursor> {
        Cursor::take(&mut body).filter(|_| body.is_empty())
    }

    /// Puts it in place of the one before.
    ///
    /// # Errors
    /// The system's: one of the two is there.
    pub fn save<D: Disk>(&self, disk: &D) -> std::io::Result<()> {
        let mut body = Vec::with_capacity(256);
        self.put(&mut body);
        write_whole(disk, UNFINISHED, &sealed(MARK, &body))?;
        disk.rename(UNFINISHED, NAME)
    }
}

/// A mark, a checksum of what follows, and that.
pub fn sealed(mark: &[u8; 8], body: &[u8]) -> Vec<u8> {
    [mark, &crc32fast::hash(body).to_le_bytes()[..], body].concat()
}

/// What follows a mark, if the checksum fits it.
pub fn checked<'a>(mark: &[u8; 8], octets: &'a [u8]) -> Option<&'a [u8]> {
    let (check, body) = octets.strip_prefix(mark)?.split_first_chunk::<4>()?;
    (u32::from_le_bytes(*check) == crc32fast::hash(body)).then_some(body)
}

/// Writes a file of its own, which is on stable storage after it, under this name.
pub fn write_whole<D: Disk>(disk: &D, name: &str, octets: &[u8]) -> std::io::Result<()> {
    let file = disk.make(name, 0)?;
    for (at, piece) in (0..).zip(octets.chunks(1 << 20)) {
        disk.write(&file, at << 20, piece)?;
    }
    disk.sync(&file)
}

/// Reads a file up to so many octets; one more is an error.
pub fn read_whole<D: Disk>(disk: &D, file: &D::File, most: usize) -> std::io::Result<Vec<u8>> {
    let (mut octets, mut have) = (Vec::new(), 0);
    loop {
        octets.resize(have + (64 << 10), 0);
        match disk.read(file, have as u64, &mut octets[have..])? {
            0 => break,
            read => have += read,
        }
        if have > most {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
    }
    octets.truncate(have);
    Ok(octets)
}
