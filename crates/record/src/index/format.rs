//! The layout of an index file: a header with a table of sections, each with its checksum.

use std::fmt;

use super::codec::Numbers;
use super::{PAGE_OCTETS, SPAN_PAGES};

/// Version of the layout. An index of another version is built anew.
pub const VERSION: u32 = 1;
pub(super) const MAGIC: [u8; 8] = *b"\x89TKIDX\r\n";
/// Octets of the header, its checksum included.
pub(super) const HEADER_OCTETS: usize = 264;
/// Octets of gaps that one checksum is of.
pub(super) const GAPS_BLOCK_OCTETS: usize = 64 << 10;

/// The sections, in the order of the table and of the file.
pub(super) const SETS: usize = 0;
pub(super) const SPANS: usize = 1;
pub(super) const FLOWS: usize = 2;
pub(super) const PAGES: usize = 3;
pub(super) const DESCRIPTIONS: usize = 4;
pub(super) const CHECKS: usize = 5;
pub(super) const GAPS: usize = 6;
pub(super) const SECTIONS: usize = 7;

const SEQUENTIAL: u32 = 1;
const PARTIAL: u32 = 2;
const FRAGMENTS: u32 = 4;
const SUMMED: u32 = 8;

/// From when to when, both included, nanoseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The earliest.
    pub first_ns: i64,
    /// The latest; before `first_ns` if there is nothing.
    pub last_ns: i64,
}

impl Span {
    /// Nothing.
    pub const EMPTY: Span = Span { first_ns: i64::MAX, last_ns: i64::MIN };
    /// All of time.
    pub const ALL: Span = Span { first_ns: i64::MIN, last_ns: i64::MAX };

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.last_ns < self.first_ns
    }

    /// Whether the two have a moment in common.
    pub fn meets(&self, other: &Span) -> bool {
        !self.is_empty() && !other.is_empty() && self.first_ns <= other.last_ns && other.first_ns <= self.last_ns
    }

    /// Whether a moment is in it.
    pub fn holds(&self, at_ns: i64) -> bool {
        self.first_ns <= at_ns && at_ns <= self.last_ns
    }

    /// What reaches over both.
    pub fn and(self, other: Span) -> Span {
        Span { first_ns: self.first_ns.min(other.first_ns), last_ns: self.last_ns.max(other.last_ns) }
    }
}

/// What a file was when its index was made. An index whose file is another one now is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FileMark {
    /// Its length, octets.
    pub octets: u64,
    /// When it was modified, nanoseconds since 1970; 0 is not compared (a segment is immutable).
    pub modified_ns: i64,
    /// CRC-32 of its first 4096 octets (fewer if it is shorter); 0 is not compared.
    pub head_check: u32,
}

impl FileMark {
    /// Octets of a file's beginning that are compared.
    pub const HEAD_OCTETS: usize = 4096;

    /// Of a file of this length, modified then, that begins so.
    pub fn of(octets: u64, modified_ns: i64, head: &[u8]) -> FileMark {
        let head = head.get(..FileMark::HEAD_OCTETS).unwrap_or(head);
        FileMark { octets, modified_ns, head_check: crc32fast::hash(head) }
    }

    /// Whether a file with the mark `now` is still the one with this mark.
    pub fn fits(&self, now: &FileMark) -> bool {
        let same_time = self.modified_ns == 0 || now.modified_ns == 0 || self.modified_ns == now.modified_ns;
        let same_head = self.head_check == 0 || now.head_check == 0 || self.head_check == now.head_check;
        self.octets == now.octets && same_time && same_head
    }
}

/// Why an index cannot be used: it is built anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexError {
    /// It cannot be read: what the system says.
    Unreadable(String),
    /// It is no index at all.
    NotAnIndex,
    /// It is of another version of the format.
    Version(u32),
    /// Its checksums, lengths or numbers do not agree: where.
    Damaged(&'static str),
    /// The file is not what it was when the index was made.
    Stale,
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::Unreadable(why) => write!(f, "the index cannot be read: {why}"),
            IndexError::NotAnIndex => f.write_str("not an index"),
            IndexError::Version(n) => write!(f, "an index of version {n}, not {VERSION}"),
            IndexError::Damaged(place) => write!(f, "the index is damaged: {place}"),
            IndexError::Stale => f.write_str("the file has changed since its index was made"),
        }
    }
}

impl std::error::Error for IndexError {}

/// Where a section lies in the index file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) offset: u64,
    pub(super) octets: u64,
    /// CRC-32 of it; of [`GAPS`] it is 0, [`CHECKS`] has those of its blocks.
    pub(super) check: u32,
}

/// The header of an index file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) sequential: bool,
    pub(super) partial: bool,
    pub(super) fragments: bool,
    /// Checksums of the file's contents stand behind the sections.
    pub(super) summed: bool,
    pub(super) packets: u64,
    pub(super) record_octets: u64,
    pub(super) head_octets: u64,
    pub(super) span: Span,
    pub(super) file: FileMark,
    pub(super) sections: [Section; SECTIONS],
}

impl Header {
    pub(super) fn emit(&self) -> [u8; HEADER_OCTETS] {
        let mut out = Vec::with_capacity(HEADER_OCTETS);
        out.extend_from_slice(&MAGIC);
        let flag = |said: bool, bit: u32| if said { bit } else { 0 };
        let [partial, fragments] = [flag(self.partial, PARTIAL), flag(self.fragments, FRAGMENTS)];
        let flags = flag(self.sequential, SEQUENTIAL) | partial | fragments | flag(self.summed, SUMMED);
        for number in [VERSION, flags, PAGE_OCTETS as u32, SPAN_PAGES as u32] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let times = [self.span.first_ns as u64, self.span.last_ns as u64];
        let marks = [self.file.octets, self.file.modified_ns as u64];
        for number in [[self.packets, self.record_octets], [self.head_octets, times[0]], [times[1], marks[0]]] {
            number.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        }
        out.extend_from_slice(&marks[1].to_le_bytes());
        out.extend_from_slice(&self.file.head_check.to_le_bytes());
        out.extend_from_slice(&(SECTIONS as u32).to_le_bytes());
        for section in &self.sections {
            out.extend_from_slice(&section.offset.to_le_bytes());
            out.extend_from_slice(&section.octets.to_le_bytes());
            out.extend_from_slice(&u64::from(section.check).to_le_bytes());
        }
        out.resize(HEADER_OCTETS - 4, 0);
        out.extend_from_slice(&crc32fast::hash(&out).to_le_bytes());
        let mut header = [0; HEADER_OCTETS];
        header.copy_from_slice(&out[..HEADER_OCTETS]);
        header
    }

    /// Reads a header; `file_octets` is how long the index file is.
    pub(super) fn parse(octets: &[u8], file_octets: u64) -> Result<Header, IndexError> {
        let mut numbers = Numbers(octets.strip_prefix(&MAGIC).ok_or(IndexError::NotAnIndex)?);
        let version = numbers.u32().ok_or(IndexError::NotAnIndex)?;
        if version != VERSION {
            return Err(IndexError::Version(version));
        }
        let cut = IndexError::Damaged("the header is cut short");
        let octets = octets.get(..HEADER_OCTETS).ok_or(cut.clone())?;
        let (body, check) = octets.split_at(HEADER_OCTETS - 4);
        if crc32fast::hash(body).to_le_bytes() != check {
            return Err(IndexError::Damaged("the header's checksum is wrong"));
        }
        let header = Header::read(&mut numbers).ok_or(cut)?;
        let inside = |s: &Section| s.offset.checked_add(s.octets).is_some_and(|end| end <= file_octets);
        if header.sections.iter().all(inside) {
            Ok(header)
        } else {
            Err(IndexError::Damaged("a section lies behind the end"))
        }
    }

    fn read(numbers: &mut Numbers<'_>) -> Option<Header> {
        let (flags, page, span_pages) = (numbers.u32()?, numbers.u32()?, numbers.u32()?);
        if u64::from(page) != PAGE_OCTETS || u64::from(span_pages) != SPAN_PAGES {
            return None;
        }
        let (packets, record_octets, head_octets) = (numbers.u64()?, numbers.u64()?, numbers.u64()?);
        let span = Span { first_ns: numbers.u64()? as i64, last_ns: numbers.u64()? as i64 };
        let (octets, modified_ns, head_check) = (numbers.u64()?, numbers.u64()? as i64, numbers.u32()?);
        let count = numbers.u32()?;
        if count as usize != SECTIONS {
            return None;
        }
        let mut sections = [Section::default(); SECTIONS];
        for section in &mut sections {
            *section = Section { offset: numbers.u64()?, octets: numbers.u64()?, check: numbers.u64()? as u32 };
        }
        let file = FileMark { octets, modified_ns, head_check };
        let [sequential, partial, fragments, summed] =
            [SEQUENTIAL, PARTIAL, FRAGMENTS, SUMMED].map(|bit| flags & bit != 0);
        Some(Header {
            sequential,
            partial,
            fragments,
            summed,
            packets,
            record_octets,
            head_octets,
            span,
            file,
            sections,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_any_damage_shows() {
        let header = Header {
            sequential: true,
            partial: false,
            fragments: true,
            summed: true,
            packets: 7,
            record_octets: 8,
            head_octets: 9,
            span: Span { first_ns: -5, last_ns: 10 },
            file: FileMark::of(11, 12, b"head"),
            sections: [Section { offset: 264, octets: 3, check: 4 }; SECTIONS],
        };
        let octets = header.emit();
        assert_eq!(Header::parse(&octets, 267), Ok(header));
        assert_eq!(Header::parse(&octets, 266), Err(IndexError::Damaged("a section lies behind the end")));
        for at in 0..HEADER_OCTETS {
            let mut damaged = octets;
            damaged[at] ^= 0x10;
            assert!(Header::parse(&damaged, 267).is_err(), "{at}");
            assert!(Header::parse(&octets[..at], 267).is_err(), "{at}");
        }
    }

    #[test]
    fn a_mark_fits_its_file_alone() {
        let mark = FileMark::of(10, 5, b"0123456789");
        assert!(mark.fits(&mark));
        assert!(FileMark { modified_ns: 0, ..mark }.fits(&mark));
        assert!(!FileMark { modified_ns: 6, ..mark }.fits(&mark));
        assert!(!FileMark { octets: 11, ..mark }.fits(&mark));
        assert!(!mark.fits(&FileMark::of(10, 5, b"0123456780")));
    }
}
