//! Blocks in the making: of items that come one after the other, a block for each rank.

use super::block::{BLOCK_OCTETS_MAX, BlockHead, HEAD_OCTETS, Kind};
use super::record::{RECORD_HEAD_OCTETS, push};
use crate::store::Standing;

/// A block that is filled with items of one rank.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    rank: u8,
    /// Room for the head, then items.
    octets: Vec<u8>,
    items: u32,
    cost: u64,
}

impl Pack {
    /// An empty block.
    pub fn new(rank: u8) -> Self {
        Pack { rank, octets: vec![0; HEAD_OCTETS], ..Pack::default() }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Items in it.
    pub fn items(&self) -> u32 {
        self.items
    }

    /// Octets of memory that its items took.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// The rank of its items.
    pub fn rank(&self) -> u8 {
        self.rank
    }

    /// Octets of the block with its head.
    pub fn whole_octets(&self) -> u64 {
        self.octets.len() as u64
    }

    /// Whether an item of so many octets fits in.
    pub fn has_room(&self, key: &[u8], value_octets: u64) -> bool {
        let octets = (RECORD_HEAD_OCTETS + key.len()) as u64 + value_octets;
        octets + self.octets.len() as u64 <= (HEAD_OCTETS + BLOCK_OCTETS_MAX) as u64
    }

    /// Adds an item that took `cost` octets of memory; `value` appends its `value_octets`.
    pub fn push(
        &mut self,
        key: &[u8],
        standing: &Standing,
        value_octets: u64,
        cost: u64,
        value: impl FnOnce(&mut Vec<u8>),
    ) {
        push(key, standing, value_octets, &mut self.octets);
        value(&mut self.octets);
        (self.items, self.cost) = (self.items + 1, self.cost + cost);
    }

    /// The whole block, for octet `at` of the file.
    pub fn seal(&mut self, kind: Kind, at: u64) -> &[u8] {
        let head = BlockHead::new(kind, self.rank, self.items, self.cost, &self.octets[HEAD_OCTETS..]);
        self.octets[..HEAD_OCTETS].copy_from_slice(&head.octets(at));
        &self.octets
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.octets.truncate(HEAD_OCTETS);
        (self.items, self.cost) = (0, 0);
    }

    /// Adds octets of a value in pieces, as many as fit; returns what is left.
    pub fn fill<'v>(&mut self, value: &'v [u8]) -> &'v [u8] {
        let room = HEAD_OCTETS + BLOCK_OCTETS_MAX - self.octets.len();
        let (fits, rest) = value.split_at(room.min(value.len()));
        self.octets.extend_from_slice(fits);
        rest
    }

    /// Whether nothing more fits in.
    pub fn is_full(&self) -> bool {
        self.octets.len() == HEAD_OCTETS + BLOCK_OCTETS_MAX
    }
}

/// Octets that an item takes in the file whose value is written in pieces: blocks that are full, and the last one.
pub fn large_octets(key: &[u8], value_octets: u64) -> u64 {
    let octets = (RECORD_HEAD_OCTETS + key.len()) as u64 + value_octets;
    octets + octets.div_ceil(BLOCK_OCTETS_MAX as u64) * HEAD_OCTETS as u64
}

#[cfg(test)]
mod tests {
    use super::super::Records;
    use super::*;

    #[test]
    fn a_block_is_filled_and_sealed() {
        let mut pack = Pack::new(2);
        assert!(pack.is_empty() && pack.has_room(b"k", BLOCK_OCTETS_MAX as u64 - 31));
        assert!(!pack.has_room(b"k", BLOCK_OCTETS_MAX as u64 - 30));
        pack.push(b"key", &Standing::default(), 3, 50, |output| output.extend_from_slice(b"abc"));
        let block = pack.seal(Kind::Items, 64).to_vec();
        let head = BlockHead::read(&block, 64).expect("sealed");
        assert_eq!((head.rank, head.items, head.cost, head.whole_octets()), (2, 1, 50, block.len() as u64));
        assert_eq!(head.check(&block[HEAD_OCTETS..]), Ok(()));
        let record = Records::of(&block[HEAD_OCTETS..]).next().expect("one").expect("whole");
        assert_eq!((record.key, record.value), (&b"key"[..], &b"abc"[..]));
        pack.clear();
        assert!(pack.is_empty() && pack.whole_octets() == HEAD_OCTETS as u64);
    }

    #[test]
    fn a_value_in_pieces_fills_blocks() {
        let mut pack = Pack::new(0);
        let value = vec![7; 2 * BLOCK_OCTETS_MAX];
        pack.push(b"key", &Standing::default(), value.len() as u64, 0, |_| ());
        let (mut rest, mut octets) = (pack.fill(&value), 0);
        while pack.is_full() {
            octets += pack.whole_octets();
            pack.clear();
            rest = pack.fill(rest);
        }
        assert!(rest.is_empty());
        assert_eq!(octets + pack.whole_octets(), large_octets(b"key", value.len() as u64));
    }
}
