//! Items as they stand in a block.

use super::{Wrong, u32_at, u64_at};
use crate::store::{ITEM_OCTETS_TOP, KEY_OCTETS_MAX, Standing};

/// Octets of an item beside key and value.
pub const RECORD_HEAD_OCTETS: usize = 30;
/// Octets of a value beyond which it is written in pieces.
pub const LARGE_OCTETS: u64 = (super::BLOCK_OCTETS_MAX / 4) as u64;
/// Octets of memory that an item takes beside itself: its slot, and what buckets have empty.
const SLOT_OCTETS: u64 = 14;

const STALE: u8 = 1;
const WON: u8 = 2;
const GIVEN: u8 = 4;
const FETCHED: u8 = 8;
const PROVEN: u8 = 16;
const USES_SHIFT: u32 = 5;
const BINARY_KEY: u8 = 128;

/// An item of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The key.
    pub key: &'a [u8],
    /// What it has beside key and value.
    pub standing: Standing,
    /// Octets of the value.
    pub value_octets: u32,
    /// The value, or its first piece.
    pub value: &'a [u8],
}

/// Octets of memory that an item takes which has so many itself.
pub fn cost(item_octets: u64) -> u64 {
    item_octets + SLOT_OCTETS
}

/// Adds head and key of an item; the value follows.
pub(super) fn push(key: &[u8], standing: &Standing, value_octets: u64, output: &mut Vec<u8>) {
    let bit = |is: bool, bit: u8| if is { bit } else { 0 };
    let marks = bit(standing.stale, STALE)
        | bit(standing.won, WON)
        | bit(standing.given, GIVEN)
        | bit(standing.fetched.is_some(), FETCHED)
        | bit(standing.proven, PROVEN)
        | bit(standing.binary_key, BINARY_KEY)
        | standing.uses.min(3) << USES_SHIFT;
    output.extend([key.len() as u8, marks]);
    let fetched = standing.fetched.unwrap_or(0);
    for number in [value_octets as u32, standing.flags, standing.expiry, standing.birth, fetched] {
        output.extend_from_slice(&number.to_le_bytes());
    }
    output.extend_from_slice(&standing.cas.to_le_bytes());
    output.extend_from_slice(key);
}

impl<'a> Record<'a> {
    /// Reads the item that `octets` begin with, and as much of its value as there is.
    ///
    /// # Errors
    /// Its head or key is not whole, or cannot be.
    pub fn read(octets: &'a [u8]) -> Result<Self, Wrong> {
        let (head, rest) = octets.split_at_checked(RECORD_HEAD_OCTETS).ok_or(Wrong::Senseless)?;
        let (key, value) = rest.split_at_checked(usize::from(head[0])).ok_or(Wrong::Senseless)?;
        let (marks, value_octets) = (head[1], u32_at(head, 2));
        if key.is_empty() || key.len() > KEY_OCTETS_MAX || u64::from(value_octets) > ITEM_OCTETS_TOP {
            return Err(Wrong::Senseless);
        }
        let standing = Standing {
            flags: u32_at(head, 6),
            expiry: u32_at(head, 10),
            birth: u32_at(head, 14),
            fetched: (marks & FETCHED != 0).then(|| u32_at(head, 18)),
            cas: u64_at(head, 22),
            stale: marks & STALE != 0,
            won: marks & WON != 0,
            given: marks & GIVEN != 0,
            proven: marks & PROVEN != 0,
            binary_key: marks & BINARY_KEY != 0,
            uses: marks >> USES_SHIFT & 3,
        };
        let fits = value.len().min(value_octets as usize);
        Ok(Record { key, standing, value_octets, value: &value[..fits] })
    }

    fn octets(&self) -> usize {
        RECORD_HEAD_OCTETS + self.key.len() + self.value.len()
    }
}

/// The whole items of a block, one after the other; ends after an error.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    /// The items of these octets.
    pub fn of(octets: &'a [u8]) -> Self {
        Records { rest: octets }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Wrong>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let record = Record::read(self.rest);
        let record = record.and_then(|record| match record.value.len() == record.value_octets as usize {
            true => Ok(record),
            false => Err(Wrong::Senseless),
        });
        self.rest = record.as_ref().map_or(&[], |record| &self.rest[record.octets()..]);
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_reads_as_it_stood() {
        let standing = Standing {
            flags: 7,
            expiry: 99,
            cas: 1 << 60,
            given: true,
            stale: true,
            won: false,
            binary_key: true,
            birth: 5,
            fetched: Some(6),
            uses: 3,
            proven: true,
        };
        let mut octets = Vec::new();
        push(b"key", &standing, 5, &mut octets);
        octets.extend_from_slice(b"value");
        push(b"k", &Standing { won: true, ..Standing::default() }, 0, &mut octets);
        let read: Vec<_> = Records::of(&octets).map(|record| record.expect("whole")).collect();
        assert_eq!(read[0], Record { key: b"key", standing, value_octets: 5, value: b"value" });
        assert_eq!((read[1].key, read[1].standing.won, read[1].value), (&b"k"[..], true, &b""[..]));
        for end in 1..octets.len() {
            let whole = Records::of(&octets[..end]).filter(|record| record.is_ok()).count();
            assert_eq!(whole, usize::from(end >= 38), "{end}");
        }
    }
}
