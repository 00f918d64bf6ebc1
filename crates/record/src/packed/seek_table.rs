//! The seek table: zstd's contrib/seekable_format/zstd_seekable_compression_format.md, version 0.1.0.
//!
//! Little-endian, in a skippable frame at the file's end: magic number `184d2a5e` (4 octets), octets that follow (4);
//! for each frame its octets packed (4), before (4) and, where the descriptor says so, the lower half of the XXH64 of
//! what was packed (4); number of frames (4), descriptor (1: bit 7 checksums, bits 6-2 zero), magic number `8f92eab1`
//! (4).

use super::{FRAME_OCTETS_MAX, FRAMES_MAX};

/// Of skippable frames (RFC 8878 section 3.1.2), the one that the format chose.
const SKIPPABLE: u32 = 0x184D_2A5E;
const SEEKABLE: u32 = 0x8F92_EAB1;
/// Octets before the entries, and behind them.
const HEAD_OCTETS: usize = 8;
const CHECKSUMS: u8 = 0x80;
const RESERVED: u8 = 0x7c;

/// Where each frame begins, packed and before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeekTable {
    /// The end of each frame: in the file, and in the stream.
    ends: Vec<(u64, u64)>,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which, from 0.
    pub number: usize,
    /// Where it begins in the file, and its octets there.
    pub packed: (u64, usize),
    /// Where it begins in the stream, and its octets there.
    pub plain: (u64, usize),
}

impl SeekTable {
    /// Octets behind the entries, at the file's end.
    pub const FOOT_OCTETS: usize = 9;

    /// Octets of the whole table, as the last [`SeekTable::FOOT_OCTETS`] of a file say; none if there is no table.
    pub fn octets_of(foot: &[u8]) -> Option<usize> {
        let (frames, descriptor, magic) = (u32_at(foot, 0)?, *foot.get(4)?, u32_at(foot, 5)?);
        let frames = usize::try_from(frames).ok().filter(|n| *n <= FRAMES_MAX)?;
        let is_one = magic == SEEKABLE && descriptor & RESERVED == 0 && foot.len() == Self::FOOT_OCTETS;
        is_one.then(|| HEAD_OCTETS + frames * entry_octets(descriptor) + Self::FOOT_OCTETS)
    }

    /// Reads a whole table, the end of a file of so many octets. None if it is damaged, is not of this file, or has
    /// frames longer than [`FRAME_OCTETS_MAX`].
    pub fn parse(table: &[u8], file_octets: u64) -> Option<SeekTable> {
        let foot = table.get(table.len().checked_sub(Self::FOOT_OCTETS)?..)?;
        if Self::octets_of(foot)? != table.len()
            || u32_at(table, 0)? != SKIPPABLE
            || u32_at(table, 4)? as usize != table.len() - HEAD_OCTETS
        {
            return None;
        }
        let entries = table.get(HEAD_OCTETS..table.len() - Self::FOOT_OCTETS)?;
        let (mut at, mut ends) = ((0u64, 0u64), Vec::new());
        for entry in entries.chunks_exact(entry_octets(*foot.get(4)?)) {
            let (packed, plain) = (u32_at(entry, 0)?, u32_at(entry, 4)?);
            if plain as usize > FRAME_OCTETS_MAX || packed as usize > 2 * FRAME_OCTETS_MAX {
                return None;
            }
            at = (at.0 + u64::from(packed), at.1 + u64::from(plain));
            ends.push(at);
        }
        (at.0.checked_add(table.len() as u64)? == file_octets).then_some(SeekTable { ends })
    }

    /// Takes in the next frame. False if there are too many, or it is too long.
    pub fn push(&mut self, packed: usize, plain: usize) -> bool {
        let (end, end_plain) = self.ends.last().copied().unwrap_or_default();
        let fits = self.ends.len() < FRAMES_MAX && plain <= FRAME_OCTETS_MAX && packed <= 2 * FRAME_OCTETS_MAX;
        if fits {
            self.ends.push((end + packed as u64, end_plain + plain as u64));
        }
        fits
    }

    /// Appends the table, without checksums: frames bear their own.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut put = |number: u64| out.extend_from_slice(&(number as u32).to_le_bytes());
        put(u64::from(SKIPPABLE));
        put((self.ends.len() * entry_octets(0) + Self::FOOT_OCTETS) as u64);
        let mut before = (0, 0);
        for end in &self.ends {
            put(end.0 - before.0);
            put(end.1 - before.1);
            before = *end;
        }
        put(self.ends.len() as u64);
        out.push(0);
        out.extend_from_slice(&SEEKABLE.to_le_bytes());
    }

    /// Octets of the stream.
    pub fn plain_octets(&self) -> u64 {
        self.ends.last().map_or(0, |end| end.1)
    }

    /// The frame that holds an octet of the stream; none behind its end.
    pub fn at(&self, offset: u64) -> Option<Entry> {
        let number = self.ends.partition_point(|end| end.1 <= offset);
        let (end, end_plain) = *self.ends.get(number)?;
        let begin = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        let length = |from: u64, to: u64| usize::try_from(to - from).unwrap_or(usize::MAX);
        Some(Entry { number, packed: (begin.0, length(begin.0, end)), plain: (begin.1, length(begin.1, end_plain)) })
    }
}

fn entry_octets(descriptor: u8) -> usize {
    if descriptor & CHECKSUMS == 0 { 8 } else { 12 }
}

fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|o| u32::from_le_bytes(*o))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the format's text lays it out: two frames, with checksums.
    const TWO: [u8; 41] = [
        0x5e, 0x2a, 0x4d, 0x18, 33, 0, 0, 0, // skippable frame
        100, 0, 0, 0, 0, 1, 0, 0, 0xaa, 0xbb, 0xcc, 0xdd, // 100 of 256
        50, 0, 0, 0, 60, 0, 0, 0, 1, 2, 3, 4, // 50 of 60
        2, 0, 0, 0, 0x80, 0xb1, 0xea, 0x92, 0x8f,
    ];

    #[test]
    fn a_table_is_read_as_the_format_says() {
        assert_eq!(SeekTable::octets_of(&TWO[32..]), Some(41));
        let table = SeekTable::parse(&TWO, 191).unwrap();
        assert_eq!(table.plain_octets(), 316);
        let at = |offset| table.at(offset).map(|e| (e.number, e.packed, e.plain));
        assert_eq!(at(0), Some((0, (0, 100), (0, 256))));
        assert_eq!(at(255), Some((0, (0, 100), (0, 256))));
        assert_eq!(at(256), Some((1, (100, 50), (256, 60))));
        assert_eq!(at(316), None);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut table = SeekTable::default();
        assert!(table.push(100, 256) && table.push(50, 60));
        assert!(!table.push(1, FRAME_OCTETS_MAX + 1));
        let mut octets = Vec::new();
        table.emit(&mut octets);
        assert_eq!(SeekTable::octets_of(&octets[octets.len() - 9..]), Some(octets.len()));
        assert_eq!(SeekTable::parse(&octets, 150 + octets.len() as u64), Some(table));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(SeekTable::parse(&TWO, 190), None, "of another file");
        for (place, value) in [(0, 0), (4, 34), (36, 0x84), (37, 0), (32, 3)] {
            let mut damaged = TWO;
            damaged[place] = value;
            assert_eq!(SeekTable::parse(&damaged, 191), None, "{place}");
        }
        assert_eq!(SeekTable::octets_of(&[0; 9]), None);
        assert_eq!(SeekTable::octets_of(&[0xff, 0xff, 0xff, 0xff, 0, 0xb1, 0xea, 0x92, 0x8f]), None);
    }
}
