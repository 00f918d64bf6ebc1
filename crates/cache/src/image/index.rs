//! The index: where which blocks lie; and which of them are read where there is less room than they take.

use super::block::{BlockHead, Kind, sum_at};
use super::{Wrong, u32_at, u64_at};

/// Octets of an entry.
pub const ENTRY_OCTETS: usize = 32;
/// Octets of the end.
pub const END_OCTETS: usize = 32;
/// Entries of an index: some TiB of blocks. What would be more is not written, and an index of more is not read.
pub const ENTRIES_MAX: u64 = 1 << 22;
const END_MAGIC: [u8; 8] = *b"TLCEND\r\n";

/// A block of items, or all pieces of one item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The octet at which it lies.
    pub at: u64,
    /// Its octets, heads included.
    pub octets: u64,
    /// Its items.
    pub items: u32,
    /// Their rank.
    pub rank: u8,
    /// Octets of memory that they took.
    pub cost: u64,
}

impl Entry {
    /// As octets.
    pub fn octets(&self) -> [u8; ENTRY_OCTETS] {
        let mut octets = [0; ENTRY_OCTETS];
        octets[..8].copy_from_slice(&self.at.to_le_bytes());
        octets[8..16].copy_from_slice(&self.octets.to_le_bytes());
        octets[16..20].copy_from_slice(&self.items.to_le_bytes());
        octets[20] = self.rank;
        octets[24..].copy_from_slice(&self.cost.to_le_bytes());
        octets
    }

    /// The entries that a block of the index holds.
    pub fn read_all(octets: &[u8]) -> impl Iterator<Item = Entry> + '_ {
        octets.chunks_exact(ENTRY_OCTETS).map(|octets| Entry {
            at: u64_at(octets, 0),
            octets: u64_at(octets, 8),
            items: u32_at(octets, 16),
            rank: octets[20],
            cost: u64_at(octets, 24),
        })
    }
}

/// The last octets of an image that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The octet at which the index begins; it goes up to the end.
    pub index_at: u64,
    /// Its entries.
    pub entries: u64,
}

impl End {
    /// As octets, for octet `at` of the file.
    pub fn octets(&self, at: u64) -> [u8; END_OCTETS] {
        let mut octets = [0; END_OCTETS];
        octets[..8].copy_from_slice(&END_MAGIC);
        octets[8..16].copy_from_slice(&self.index_at.to_le_bytes());
        octets[16..24].copy_from_slice(&self.entries.to_le_bytes());
        let sum = sum_at(&octets[..28], at);
        octets[28..].copy_from_slice(&sum.to_le_bytes());
        octets
    }

    /// Reads it at octet `at` of the file.
    ///
    /// # Errors
    /// It is not there, or says what cannot be.
    pub fn read(octets: &[u8], at: u64) -> Result<Self, Wrong> {
        let octets = octets.get(..END_OCTETS).ok_or(Wrong::Cut)?;
        if !octets.starts_with(&END_MAGIC) {
            return Err(Wrong::Cut);
        }
        if u32_at(octets, 28) != sum_at(&octets[..28], at) {
            return Err(Wrong::Damaged);
        }
        let end = End { index_at: u64_at(octets, 8), entries: u64_at(octets, 16) };
        if end.index_at > at || end.entries > ENTRIES_MAX { Err(Wrong::Senseless) } else { Ok(end) }
    }
}

/// Finds the entries of an image without an index, from the heads of its blocks, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    entries: Vec<Entry>,
    /// Whether the last entry is an item in pieces.
    in_pieces: bool,
}

impl Scan {
    /// The head at octet `at`, where the last block ended. False at the end: the index begins, or there are too many.
    pub fn head(&mut self, at: u64, head: &BlockHead) -> bool {
        match head.kind {
            Kind::Index => return false,
            Kind::Next if self.in_pieces => {
                let octets = head.whole_octets();
                self.entries.iter_mut().last().into_iter().for_each(|entry| entry.octets += octets);
            }
            // What begins in the midst is nothing without its beginning.
            Kind::Next => {}
            Kind::Items | Kind::First => {
                self.in_pieces = head.kind == Kind::First;
                let (octets, items) = (head.whole_octets(), head.items);
                self.entries.push(Entry { at, octets, items, rank: head.rank, cost: head.cost });
            }
        }
        (self.entries.len() as u64) < ENTRIES_MAX
    }

    /// What was found.
    pub fn entries(self) -> Vec<Entry> {
        self.entries
    }
}

/// What is read, and what is left out because there is no room for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What is read, in this order.
    pub entries: Vec<Entry>,
    /// Items that are read.
    pub items: u64,
    /// Octets of the file that are read.
    pub octets: u64,
    /// Items that are left out.
    pub items_left_out: u64,
}

/// What is to be read where there are `room` octets of memory: what ranks highest and, within a rank, would have been
/// given up last; of that, what would have been given up first comes first, as it came into the store before the rest.
pub fn plan(mut entries: Vec<Entry>, room: u64) -> Plan {
    entries.sort_by_key(|entry| (entry.rank, entry.at));
    let mut left = room;
    let fits = |entry: &&Entry| {
        let rest = left.checked_sub(entry.cost);
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let taken = entries.iter().rev().take_while(fits).count();
    let read = entries.split_off(entries.len() - taken);
    Plan {
        items: read.iter().map(|entry| u64::from(entry.items)).sum(),
        octets: read.iter().map(|entry| entry.octets).fold(0, u64::saturating_add),
        items_left_out: entries.iter().map(|entry| u64::from(entry.items)).sum(),
        entries: read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: u64, rank: u8, cost: u64) -> Entry {
        Entry { at, octets: 100, items: 10, rank, cost }
    }

    #[test]
    fn entries_and_the_end_read_as_they_were_written() {
        let entries = [entry(64, 3, 500), Entry { at: u64::MAX, octets: 7, items: 1, rank: 0, cost: 1 << 40 }];
        let octets = entries.map(|entry| entry.octets()).concat();
        assert!(Entry::read_all(&octets).eq(entries));
        let end = End { index_at: 1000, entries: 2 };
        let octets = end.octets(2000);
        assert_eq!(End::read(&octets, 2000), Ok(end));
        assert_eq!(End::read(&octets, 2001), Err(Wrong::Damaged));
        assert_eq!(End::read(&octets[1..], 2000), Err(Wrong::Cut));
        assert_eq!(End::read(&End { index_at: 3000, ..end }.octets(2000), 2000), Err(Wrong::Senseless));
        assert_eq!(End::read(&End { entries: 1 << 40, ..end }.octets(2000), 2000), Err(Wrong::Senseless));
    }

    #[test]
    fn what_would_have_gone_first_is_left_out_first_and_read_first() {
        let all = vec![entry(1, 0, 10), entry(2, 3, 10), entry(3, 0, 10), entry(4, 1, 10)];
        let order = |plan: &Plan| plan.entries.iter().map(|entry| entry.at).collect::<Vec<_>>();
        let whole = plan(all.clone(), 40);
        assert_eq!((order(&whole), whole.items, whole.octets, whole.items_left_out), (vec![1, 3, 4, 2], 40, 400, 0));
        let some = plan(all.clone(), 39);
        assert_eq!((order(&some), some.items_left_out), (vec![3, 4, 2], 10));
        assert_eq!(plan(all, 9).items_left_out, 40);
    }

    #[test]
    fn blocks_are_found_without_an_index() {
        let head = |kind, octets: &[u8]| BlockHead::new(kind, 1, 1, 5, octets);
        let mut scan = Scan::default();
        assert!(scan.head(10, &head(Kind::Next, b"lost")) && scan.head(20, &head(Kind::Items, b"items")));
        assert!(scan.head(30, &head(Kind::First, b"first")) && scan.head(40, &head(Kind::Next, b"next")));
        assert!(!scan.head(50, &head(Kind::Index, b"")));
        let found: Vec<_> = scan.entries().iter().map(|entry| (entry.at, entry.octets)).collect();
        assert_eq!(found, [(20, 37), (30, 37 + 36)]);
    }
}
