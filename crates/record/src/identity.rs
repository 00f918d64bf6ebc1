//! Which segment of which log a file is: the comment of its section header says so.
//!
//! A segment that is put in the place of another one, or comes from another data folder, is whole in itself, and so is
//! its index beside it. Names of folders and files are all that readers go by: they would look for one hour's packets
//! in another hour's file. So each segment says its name and its log, and who verifies compares.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;

use trunkline_wire::pcap::ByteOrder;
use trunkline_wire::pcapng::{self, options};

use crate::index::ReadAt;

/// What comments of segments begin with.
const BEGIN: &str = "trunkline segment ";
/// What stands between name and log.
const OF: &str = " of log ";
/// Octets of a section header with its comment at most.
const SECTION_OCTETS_MAX: usize = 4096;

/// A packet log: made by chance when its data folder was recorded to first, and the same for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogId(u64);

impl LogId {
    /// That of a new log. The keys of [`RandomState`] come from the system's random numbers.
    pub fn made() -> LogId {
        LogId(RandomState::new().hash_one(std::process::id()))
    }

    /// Reads what is displayed.
    pub fn parse(text: &str) -> Option<LogId> {
        let digits = text.len() == 16 && text.bytes().all(|o| o.is_ascii_digit() || (b'a'..=b'f').contains(&o));
        u64::from_str_radix(text, 16).ok().filter(|_| digits).map(LogId)
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Which segment of which log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its name below its volume, as [`segment_name`](crate::names::segment_name) makes it.
    pub name: String,
    /// The log.
    pub log: LogId,
}

impl Identity {
    /// The comment that says so.
    pub fn comment(&self) -> String {
        format!("{BEGIN}{}{OF}{}", self.name, self.log)
    }

    /// Reads such a comment; none if it is another one.
    pub fn parse(comment: &str) -> Option<Identity> {
        let (name, log) = comment.strip_prefix(BEGIN)?.rsplit_once(OF)?;
        Some(Identity { name: name.to_owned(), log: LogId::parse(log)? })
    }

    /// What a segment says of itself; none if it was written before segments did, or is none of this program's.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(file: &impl ReadAt) -> io::Result<Option<Identity>> {
        let mut head = [0; SECTION_OCTETS_MAX];
        let n = file.read_at(0, &mut head)?;
        Ok(comment(head.get(..n).unwrap_or_default()).and_then(Identity::parse))
    }
}

/// The comment of the section header that a file begins with, as segments have it: little-endian.
fn comment(head: &[u8]) -> Option<&str> {
    let (kind, rest) = head.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*rest.first_chunk()?) as usize;
    let block = head.get(..length).filter(|_| *kind == pcapng::SECTION.to_le_bytes())?;
    let order = ByteOrder::Little;
    let found =
        options::Options::new(order, block.get(24..length.checked_sub(4)?)?).find(|o| o.code == options::COMMENT);
    std::str::from_utf8(found?.value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trunkline_wire::pcapng::emit;

    struct File(Vec<u8>);

    impl ReadAt for File {
        fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
            let from = self.0.get(offset as usize..).unwrap_or_default();
            let n = from.len().min(out.len());
            out[..n].copy_from_slice(&from[..n]);
            Ok(n)
        }

        fn octets(&self) -> u64 {
            self.0.len() as u64
        }
    }

    #[test]
    fn what_a_header_says_is_read() {
        let identity = Identity { name: "packets/rtp/2026/11/20/13/25-3.pcapng".to_owned(), log: LogId(0xab) };
        assert_eq!(
            identity.comment(),
            "trunkline segment packets/rtp/2026/11/20/13/25-3.pcapng of log 00000000000000ab"
        );
        let mut file = Vec::new();
        emit::section_with(&mut file, "trunkline", Some(&identity.comment()));
        assert_eq!(Identity::of(&File(file.clone())).unwrap(), Some(identity));
        file.truncate(40);
        assert_eq!(Identity::of(&File(file)).unwrap(), None, "cut");
        let mut before = Vec::new();
        emit::section(&mut before, "trunkline");
        assert_eq!(Identity::of(&File(before)).unwrap(), None);
    }

    proptest! {
        #[test]
        fn any_octets_are_no_segment_or_one(octets in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Identity::of(&File(octets)).unwrap(), None);
        }
    }
}
