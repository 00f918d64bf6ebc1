//! Blocks: what is written and read at once.

use super::{Wrong, u32_at, u64_at};

/// Octets of a block's head.
pub const HEAD_OCTETS: usize = 32;
/// Octets that follow the head, at most.
pub const BLOCK_OCTETS_MAX: usize = 1 << 20;
const MAGIC: u32 = u32::from_le_bytes(*b"blk:");

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole items.
    Items = 1,
    /// The head of an item, its key, and the first piece of its value.
    First = 2,
    /// The next piece of the value.
    Next = 3,
    /// Entries of the index.
    Index = 4,
}

impl Kind {
    fn of(octet: u8) -> Option<Self> {
        [Kind::Items, Kind::First, Kind::Next, Kind::Index].into_iter().find(|kind| *kind as u8 == octet)
    }
}

/// What stands before the octets of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHead {
    /// What the block holds.
    pub kind: Kind,
    /// The rank of its items.
    pub rank: u8,
    /// How many items begin in it.
    pub items: u32,
    /// Octets that follow the head.
    pub octets: u32,
    /// Octets of memory that its items took.
    pub cost: u64,
    sum: u32,
}

impl BlockHead {
    /// The head of a block of these octets.
    pub fn new(kind: Kind, rank: u8, items: u32, cost: u64, octets: &[u8]) -> Self {
        BlockHead { kind, rank, items, octets: octets.len() as u32, cost, sum: crc32fast::hash(octets) }
    }

    /// As octets, of a block that lies at octet `at` of the file.
    pub fn octets(&self, at: u64) -> [u8; HEAD_OCTETS] {
        let mut octets = [0; HEAD_OCTETS];
        octets[..4].copy_from_slice(&MAGIC.to_le_bytes());
        (octets[4], octets[5]) = (self.kind as u8, self.rank);
        octets[8..12].copy_from_slice(&self.items.to_le_bytes());
        octets[12..16].copy_from_slice(&self.octets.to_le_bytes());
        octets[16..24].copy_from_slice(&self.cost.to_le_bytes());
        octets[24..28].copy_from_slice(&self.sum.to_le_bytes());
        let sum = sum_at(&octets[..28], at);
        octets[28..].copy_from_slice(&sum.to_le_bytes());
        octets
    }

    /// Reads the head that lies at octet `at` of the file.
    ///
    /// # Errors
    /// Octets are missing, or are not those of a head that was written there.
    pub fn read(octets: &[u8], at: u64) -> Result<Self, Wrong> {
        let octets = octets.get(..HEAD_OCTETS).ok_or(Wrong::Cut)?;
        if u32_at(octets, 0) != MAGIC || u32_at(octets, 28) != sum_at(&octets[..28], at) {
            return Err(Wrong::Damaged);
        }
        let kind = Kind::of(octets[4]).ok_or(Wrong::Senseless)?;
        let (items, length) = (u32_at(octets, 8), u32_at(octets, 12));
        if length as usize > BLOCK_OCTETS_MAX || items > length {
            return Err(Wrong::Senseless);
        }
        let (cost, sum) = (u64_at(octets, 16), u32_at(octets, 24));
        Ok(BlockHead { kind, rank: octets[5], items, octets: length, cost, sum })
    }

    /// Whether these are the octets that the head was made for.
    ///
    /// # Errors
    /// They are not.
    pub fn check(&self, octets: &[u8]) -> Result<(), Wrong> {
        if octets.len() < self.octets as usize {
            return Err(Wrong::Cut);
        }
        if crc32fast::hash(octets) == self.sum { Ok(()) } else { Err(Wrong::Damaged) }
    }

    /// Octets of head and what follows.
    pub fn whole_octets(&self) -> u64 {
        HEAD_OCTETS as u64 + u64::from(self.octets)
    }
}

/// The checksum of octets that lie at octet `at` of the file.
pub fn sum_at(octets: &[u8], at: u64) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(octets);
    hasher.update(&at.to_le_bytes());
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_good_for_its_octets_and_its_place() {
        let head = BlockHead::new(Kind::First, 3, 2, 500, b"payload");
        let octets = head.octets(64);
        assert_eq!(BlockHead::read(&octets, 64), Ok(head));
        assert_eq!((head.whole_octets(), head.check(b"payload")), (39, Ok(())));
        assert_eq!((head.check(b"paylaod"), head.check(b"pay")), (Err(Wrong::Damaged), Err(Wrong::Cut)));
        assert_eq!(BlockHead::read(&octets, 65), Err(Wrong::Damaged));
        assert_eq!(BlockHead::read(&octets[..31], 64), Err(Wrong::Cut));
        for at in 0..HEAD_OCTETS {
            let mut wrong = octets;
            wrong[at] ^= 1;
            assert_eq!(BlockHead::read(&wrong, 64), Err(Wrong::Damaged), "octet {at}");
        }
        let many = BlockHead { items: 8, ..head };
        assert_eq!(BlockHead::read(&many.octets(0), 0), Err(Wrong::Senseless));
    }
}
