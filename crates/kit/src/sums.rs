//! Checksums of a file's contents, a CRC-32 for each block of it, so that damage in what nobody parses is found, and
//! where it is. They stand in a trailer behind another file (the index of a segment) or in a file of their own.
//!
//! ```text
//! magic 8 | version u32 | origin u32 | octets of a block u32 | blocks u32 | octets of the file u64 |
//! CRC-32 u32 of each block, the last one shorter | CRC-32 u32 of all before | octets of the trailer u32 | magic 8
//! ```
//! Numbers are little-endian. The end has a length and a magic of its own, so that the trailer is found from there.

use crc32fast::Hasher;
use std::io::{self, Read};

/// Octets of the contents that one checksum is of.
pub const BLOCK_OCTETS: u64 = 64 << 10;
/// Octets of a trailer at most: a file of 16 TiB.
pub const TRAILER_OCTETS_MAX: u64 = 1 << 30;
const MAGIC: [u8; 8] = *b"\x89TKSUM\r\n";
const MAGIC_END: [u8; 8] = *b"\n\rTKSUM\x89";
const VERSION: u32 = 1;
/// Octets before the first checksum, and behind the last.
const HEAD_OCTETS: usize = 32;
const END_OCTETS: usize = 16;
/// Damaged places that are told of one file.
pub const PLACES_MAX: usize = 64;

/// What the checksums were made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Of what was in memory when it was written.
    Written,
    /// Of what was found on disk later, by a repair or when a file was closed.
    Found,
    /// There are none: whoever wrote the file could not make them.
    None,
}

/// The checksums of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    /// What they were made of.
    pub origin: Origin,
    /// Octets of the file.
    pub octets: u64,
    checks: Vec<u32>,
}

/// What comparing a file with its checksums found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Octets that were read.
    pub octets: u64,
    /// Blocks that differ.
    pub damaged: u64,
    /// Where they lie, first and last octet, neighbours together; the first [`PLACES_MAX`] of them.
    pub places: Vec<(u64, u64)>,
}

impl Compared {
    /// Whether the file is what it was.
    pub fn is_whole(&self) -> bool {
        self.damaged == 0
    }
}

impl Sums {
    /// For a file that is written by one who could not make checksums.
    pub fn none(octets: u64) -> Sums {
        Sums { origin: Origin::None, octets, checks: Vec::new() }
    }

    /// Of a file as it is found.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(file: impl Read) -> io::Result<Sums> {
        let (mut checks, mut octets) = (Vec::new(), 0);
        each_block(file, |block| {
            checks.push(crc32fast::hash(block));
            octets += block.len() as u64;
        })?;
        Ok(Sums { origin: Origin::Found, octets, checks })
    }

    /// Reads a file and compares it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn compare(&self, file: impl Read) -> io::Result<Compared> {
        let (mut compared, mut number) = (Compared::default(), 0usize);
        each_block(file, |block| {
            if self.checks.get(number) != Some(&crc32fast::hash(block)) {
                compared.differs(compared.octets, compared.octets + block.len() as u64);
            }
            number += 1;
            compared.octets += block.len() as u64;
        })?;
        if compared.octets < self.octets {
            // What was cut off.
            compared.differs(compared.octets, self.octets);
        }
        Ok(compared)
    }

    /// Puts the trailer behind these octets.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&MAGIC);
        let origin = match self.origin {
            Origin::None => 0,
            Origin::Written => 1,
            Origin::Found => 2,
        };
        for number in [VERSION, origin, BLOCK_OCTETS as u32, self.checks.len() as u32] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.octets.to_le_bytes());
        self.checks.iter().for_each(|check| out.extend_from_slice(&check.to_le_bytes()));
        let check = crc32fast::hash(out.get(begin..).unwrap_or_default());
        out.extend_from_slice(&check.to_le_bytes());
        let octets = (out.len() - begin + END_OCTETS - 4) as u32;
        out.extend_from_slice(&octets.to_le_bytes());
        out.extend_from_slice(&MAGIC_END);
    }

    /// Octets of the trailer that ends here, as its end says; none if none ends here. [`Sums::parse`] then takes so
    /// many octets.
    pub fn trailer_octets(end: &[u8]) -> Option<u64> {
        let end = end.strip_suffix(&MAGIC_END)?;
        let octets = u64::from(u32::from_le_bytes(*end.last_chunk()?));
        ((HEAD_OCTETS + END_OCTETS) as u64..=TRAILER_OCTETS_MAX).contains(&octets).then_some(octets)
    }

    /// Reads a trailer, all of it and nothing else; none if it is none or damaged.
    pub fn parse(trailer: &[u8]) -> Option<Sums> {
        if Sums::trailer_octets(trailer)? != trailer.len() as u64 {
            return None;
        }
        let body = trailer.get(..trailer.len() - END_OCTETS)?;
        let check = trailer.get(body.len()..)?.first_chunk()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*check) {
            return None;
        }
        let numbers = body.strip_prefix(&MAGIC)?;
        let word = |at: usize| Some(u32::from_le_bytes(*numbers.get(at..)?.first_chunk()?));
        let (version, block, count) = (word(0)?, word(8)?, word(12)?);
        let origin = match word(4)? {
            0 => Origin::None,
            1 => Origin::Written,
            2 => Origin::Found,
            _ => return None,
        };
        let octets = u64::from_le_bytes(*numbers.get(16..)?.first_chunk()?);
        let list = body.get(HEAD_OCTETS..)?;
        let fits = match origin {
            Origin::None => count == 0,
            _ => u64::from(count) == octets.div_ceil(BLOCK_OCTETS),
        };
        if version != VERSION || u64::from(block) != BLOCK_OCTETS || list.len() != 4 * count as usize || !fits {
            return None;
        }
        let checks = list.chunks_exact(4).filter_map(|four| Some(u32::from_le_bytes(*four.first_chunk()?))).collect();
        Some(Sums { origin, octets, checks })
    }
}

impl Compared {
    fn differs(&mut self, from: u64, to: u64) {
        self.damaged += (to - from).div_ceil(BLOCK_OCTETS).max(1);
        let has_room = self.places.len() < PLACES_MAX;
        match self.places.last_mut() {
            Some(last) if last.1 + 1 == from => last.1 = to - 1,
            _ if has_room => self.places.push((from, to - 1)),
            _ => {}
        }
    }
}

/// Hands out a file block by block.
fn each_block(mut file: impl Read, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut block = vec![0; BLOCK_OCTETS as usize];
    loop {
        let mut have = 0;
        while let Some(rest) = block.get_mut(have..).filter(|rest| !rest.is_empty()) {
            match file.read(rest) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        match block.get(..have) {
            Some([]) | None => return Ok(()),
            Some(full) => each(full),
        }
    }
}

/// Checksums of a file while it is written in pieces one after the other, each of which may begin with the last page of
/// the one before: that page is written again, and only its last form counts.
#[derive(Clone, Debug)]
pub struct Summing {
    page: u64,
    /// Of whole pages up to `at`.
    checks: Vec<u32>,
    block: Hasher,
    at: u64,
    /// What follows them.
    tail: Vec<u8>,
    is_broken: bool,
}

impl Summing {
    /// Of a file that is written in pages of so many octets, of which a block holds a whole number.
    pub fn new(page: usize) -> Summing {
        let page = page as u64;
        let is_broken = !BLOCK_OCTETS.is_multiple_of(page);
        Summing { page, checks: Vec::new(), block: Hasher::new(), at: 0, tail: Vec::new(), is_broken }
    }

    /// Takes in what is written at `base`: where the last whole page before ended.
    pub fn add(&mut self, base: u64, octets: &[u8]) {
        self.is_broken |= base != self.at;
        if self.is_broken {
            return;
        }
        let (pages, tail) = octets.split_at(octets.len() - octets.len() % self.page as usize);
        let mut rest = pages;
        while !rest.is_empty() {
            let room = (BLOCK_OCTETS - self.at % BLOCK_OCTETS) as usize;
            let (now, later) = rest.split_at(rest.len().min(room));
            self.block.update(now);
            self.at += now.len() as u64;
            if self.at.is_multiple_of(BLOCK_OCTETS) {
                self.checks.push(core::mem::take(&mut self.block).finalize());
            }
            rest = later;
        }
        self.tail.clear();
        self.tail.extend_from_slice(tail);
    }

    /// The checksums of the file, which has so many octets; [`Sums::none`] if they cannot be known.
    pub fn finish(mut self, octets: u64) -> Sums {
        if self.is_broken || self.at + self.tail.len() as u64 != octets {
            return Sums::none(octets);
        }
        self.block.update(&self.tail);
        if !octets.is_multiple_of(BLOCK_OCTETS) {
            self.checks.push(self.block.finalize());
        }
        Sums { origin: Origin::Written, octets, checks: self.checks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(octets: usize) -> Vec<u8> {
        (0..octets).map(|n| (n * 7 + n / 251) as u8).collect()
    }

    #[test]
    fn a_trailer_comes_back_and_any_damage_shows() {
        let octets = made(3 * BLOCK_OCTETS as usize + 5);
        let sums = Sums::of(&octets[..]).unwrap();
        let mut out = b"before".to_vec();
        sums.emit(&mut out);
        let trailer = Sums::trailer_octets(&out).unwrap() as usize;
        assert_eq!(trailer, out.len() - 6);
        assert_eq!(Sums::parse(&out[6..]), Some(sums));
        for at in 6..out.len() {
            let mut damaged = out.clone();
            damaged[at] ^= 4;
            assert_eq!(Sums::parse(&damaged[6..]), None, "{at}");
            assert_eq!(Sums::parse(&out[6..at]), None, "{at}");
        }
        assert_eq!(Sums::trailer_octets(b""), None);
        let none = Sums::none(77);
        let mut out = Vec::new();
        none.emit(&mut out);
        assert_eq!(Sums::parse(&out), Some(none));
    }

    #[test]
    fn damage_is_found_where_it_is() {
        let octets = made(5 * BLOCK_OCTETS as usize + 100);
        let sums = Sums::of(&octets[..]).unwrap();
        assert!(sums.compare(&octets[..]).unwrap().is_whole());
        let block = BLOCK_OCTETS as usize;
        let mut damaged = octets.clone();
        damaged[block + 9] ^= 1;
        damaged[2 * block] ^= 1;
        damaged[5 * block + 99] ^= 0x80;
        let found = sums.compare(&damaged[..]).unwrap();
        let (one, last) = ((BLOCK_OCTETS, 3 * BLOCK_OCTETS - 1), 5 * BLOCK_OCTETS);
        assert_eq!((found.damaged, found.places), (3, vec![one, (last, last + 99)]));
        // Cut, also at the end of a block, and longer.
        for cut in [0, 1, block, 5 * block, octets.len() - 1] {
            let found = sums.compare(&octets[..cut]).unwrap();
            assert_eq!(found.places.last().unwrap().1, octets.len() as u64 - 1, "{cut}");
        }
        let longer = [&octets[..], &[0]].concat();
        assert_eq!(sums.compare(&longer[..]).unwrap().damaged, 1);
        assert_eq!(Sums::of(&b""[..]).unwrap().compare(&b"x"[..]).unwrap().places, [(0, 0)]);
    }

    proptest! {
        /// Pieces that begin where the last whole page of the one before ended.
        #[test]
        fn pieces_have_the_checksums_of_the_whole(sizes in prop::collection::vec(1usize..200_000, 0..8)) {
            const PAGE: usize = 4096;
            let octets = made(sizes.iter().sum());
            let (mut summing, mut end, mut base) = (Summing::new(PAGE), 0, 0);
            for size in sizes {
                end += size;
                summing.add(base as u64, &octets[base..end]);
                base = end - end % PAGE;
            }
            let found = summing.clone().finish(octets.len() as u64);
            let whole = Sums::of(&octets[..]).unwrap();
            prop_assert_eq!(found, Sums { origin: Origin::Written, ..whole });
            prop_assert_eq!(summing.clone().finish(octets.len() as u64 + 1).origin, Origin::None);
            summing.add(base as u64 + 1, b"x");
            prop_assert_eq!(summing.finish(base as u64 + 2).origin, Origin::None);
        }
    }
}
