//! A block: records that became durable together, behind a head with a checksum.
//!
//! ```text
//!  0        4        8                 16       20       24
//!  | "TLBK" | octets | first record    | count  | crc32  | records: length u32, octets; then zeros up to 8
//! ```
//!
//! All numbers are little-endian. `octets` is the length of the records without padding. The checksum (CRC-32 of
//! ISO 3309) is over salt, head without checksum, and records.
//!
//! A block with "TLGP" in place of "TLBK" is a gap: `count` records that a repair gave up, whose octets are not read.
//! It keeps their numbers, and the places of the blocks behind it. It has no more records than a block could have, so
//! that whoever takes records block by block needs no more memory for one; more are several gaps.

/// Octets of a record at most.
// Limit: size of one record of a log (ledger, inventory, alerts)
// Beyond: the record is refused
// Seen in: the error message
pub const RECORD_OCTETS_MAX: usize = 1 << 20;
/// Octets of all records of a block at most.
pub const BLOCK_OCTETS_MAX: usize = 16 << 20;
/// Records of a gap at most: as many as a block has room for.
pub const GAP_RECORDS_MAX: u32 = (BLOCK_OCTETS_MAX / RECORD_HEAD_OCTETS) as u32;
/// Octets of a head.
pub const HEAD_OCTETS: usize = 24;
/// Blocks begin at multiples of this.
pub const ALIGNED: usize = 8;

/// Octets of a gap without its head at most: a block, and what is less than another head behind it.
const GAP_OCTETS_MAX: usize = BLOCK_OCTETS_MAX + HEAD_OCTETS;
/// Octets of a record's length.
const RECORD_HEAD_OCTETS: usize = 4;
const MARK: [u8; 4] = *b"TLBK";
const GAP: [u8; 4] = *b"TLGP";

/// The head of a block, checked for its limits but not for its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Octets of the records.
    pub octets: usize,
    /// The number of the first.
    pub first: u64,
    /// How many.
    pub count: u32,
    /// Whether the records were given up: there are numbers, and no octets of theirs.
    pub gap: bool,
    checksum: u32,
}

impl Head {
    /// Reads a head; none if there cannot be one.
    pub fn of(octets: &[u8]) -> Option<Head> {
        let head: &[u8; HEAD_OCTETS] = octets.first_chunk()?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let first = u64::from(word(8)) | u64::from(word(12)) << 32;
        let octets = word(4) as usize;
        let (gap, count) = (head[..4] == GAP, word(16));
        let fits = match gap {
            true => octets <= GAP_OCTETS_MAX,
            false => head[..4] == MARK && octets <= BLOCK_OCTETS_MAX,
        };
        let ends = first.checked_add(u64::from(count)).is_some();
        (fits && ends).then(|| Head { octets, first, count, gap, checksum: word(20) })
    }

    /// What is wrong with the head of a block whose checksum fits, if anything is: a gap of more records than one has
    /// is neither believed nor passed over, as its numbers may have been used.
    pub fn excess(&self) -> Option<String> {
        let more = self.gap && self.count > GAP_RECORDS_MAX;
        more.then(|| {
            format!("a gap of {} records from {} on: one has {GAP_RECORDS_MAX} at most", self.count, self.first)
        })
    }

    /// Octets of the whole block, with its padding.
    pub fn block_octets(&self) -> usize {
        (HEAD_OCTETS + self.octets).next_multiple_of(ALIGNED)
    }

    /// The number behind the last record.
    pub fn next(&self) -> u64 {
        self.first + u64::from(self.count)
    }

    /// Shows what [`records`](Self::records) gave, one by one: a gap has none. The octets that are left where the
    /// records do not follow each other, or are not as many as the head says.
    pub fn each<'a>(&self, records: &'a [u8], mut see: impl FnMut(&'a [u8])) -> Result<(), usize> {
        if self.gap {
            return Ok(());
        }
        let mut count = 0_u64;
        each(records, |record| {
            count += 1;
            see(record);
        })?;
        if count == u64::from(self.count) { Ok(()) } else { Err(0) }
    }

    /// The records, if the checksum fits all of it.
    pub fn records<'a>(&self, block: &'a [u8], salt: u64) -> Option<&'a [u8]> {
        let records = block.get(HEAD_OCTETS..HEAD_OCTETS + self.octets)?;
        (checksum(salt, &block[..HEAD_OCTETS - 4], records) == self.checksum).then_some(records)
    }
}

/// Begins a block in an empty buffer: room for its head.
pub fn begin(into: &mut Vec<u8>) {
    into.resize(HEAD_OCTETS, 0);
}

/// Appends a record to a block that was begun.
pub fn put(into: &mut Vec<u8>, record: &[u8]) {
    let octets = u32::try_from(record.len()).expect("records have a limit");
    into.extend_from_slice(&octets.to_le_bytes());
    into.extend_from_slice(record);
}

/// Octets that a record takes in a block.
pub fn record_octets(record: usize) -> usize {
    RECORD_HEAD_OCTETS + record
}

/// Completes a block: writes its head and pads it.
pub fn end(block: &mut Vec<u8>, first: u64, count: u32, salt: u64) {
    let octets = u32::try_from(block.len() - HEAD_OCTETS).expect("blocks have a limit");
    block[..4].copy_from_slice(&MARK);
    block[4..8].copy_from_slice(&octets.to_le_bytes());
    block[8..16].copy_from_slice(&first.to_le_bytes());
    block[16..20].copy_from_slice(&count.to_le_bytes());
    seal_again(block, salt);
    block.resize(block.len().next_multiple_of(ALIGNED), 0);
}

/// A block of zeros, as long as `octets` says with its head, in place of records that were given up.
pub fn gap(first: u64, count: u32, octets: usize, salt: u64) -> Vec<u8> {
    debug_assert!(count <= GAP_RECORDS_MAX, "{count} records from {first} on");
    let mut block = vec![0; octets.max(HEAD_OCTETS)];
    block[..4].copy_from_slice(&GAP);
    let records = u32::try_from(block.len() - HEAD_OCTETS).expect("segments have a limit");
    block[4..8].copy_from_slice(&records.to_le_bytes());
    block[8..16].copy_from_slice(&first.to_le_bytes());
    block[16..20].copy_from_slice(&count.to_le_bytes());
    seal_again(&mut block, salt);
    block
}

/// Gives a whole block without its padding another salt.
pub fn seal_again(block: &mut [u8], salt: u64) {
    let (head, records) = block.split_at(HEAD_OCTETS);
    let checksum = checksum(salt, &head[..HEAD_OCTETS - 4], records);
    block[20..24].copy_from_slice(&checksum.to_le_bytes());
}

/// The records of a block one by one; the octets that are left where they do not follow each other as they should.
fn each<'a>(mut records: &'a [u8], mut see: impl FnMut(&'a [u8])) -> Result<(), usize> {
    while !records.is_empty() {
        let (octets, rest) = records.split_first_chunk::<4>().ok_or(records.len())?;
        let octets = u32::from_le_bytes(*octets) as usize;
        if octets > rest.len() {
            return Err(records.len());
        }
        let (record, rest) = rest.split_at(octets);
        see(record);
        records = rest;
    }
    Ok(())
}

fn checksum(salt: u64, head: &[u8], records: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&salt.to_le_bytes());
    sum.update(head);
    sum.update(records);
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(records: &[&[u8]], first: u64, salt: u64) -> Vec<u8> {
        let mut block = Vec::new();
        begin(&mut block);
        records.iter().for_each(|record| put(&mut block, record));
        end(&mut block, first, u32::try_from(records.len()).unwrap(), salt);
        block
    }

    #[test]
    fn its_octets() {
        let block = block(&[b"a", b"", b"bcd"], 0x0102_0304_0506, 7);
        assert_eq!(block.len() % ALIGNED, 0);
        assert_eq!(&block[..20], b"TLBK\x10\0\0\0\x06\x05\x04\x03\x02\x01\0\0\x03\0\0\0");
        assert_eq!(&block[24..], b"\x01\0\0\0a\0\0\0\0\x03\0\0\0bcd");
        let head = Head::of(&block).unwrap();
        assert_eq!((head.octets, head.first, head.count), (16, 0x0102_0304_0506, 3));
        let mut seen = Vec::new();
        each(head.records(&block, 7).unwrap(), |record| seen.push(record.to_vec())).unwrap();
        assert_eq!(seen, [b"a".to_vec(), b"".to_vec(), b"bcd".to_vec()]);
    }

    #[test]
    fn every_changed_bit_is_seen() {
        let whole = block(&[b"one", b"another"], 9, 1);
        let fits = |block: &[u8], salt| Head::of(block).is_some_and(|head| head.records(block, salt).is_some());
        assert!(fits(&whole, 1) && !fits(&whole, 2));
        let told = HEAD_OCTETS + Head::of(&whole).unwrap().octets;
        for bit in 0..told * 8 {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!fits(&changed, 1), "bit {bit}");
        }
        for cut in 0..told {
            assert!(!fits(&whole[..cut], 1), "cut at {cut}");
        }
    }

    #[test]
    fn a_gap_has_numbers_and_no_records() {
        let gap = gap(7, 3, 64, 1);
        assert_eq!((gap.len(), &gap[..20]), (64, &b"TLGP\x28\0\0\0\x07\0\0\0\0\0\0\0\x03\0\0\0"[..]));
        let head = Head::of(&gap).unwrap();
        assert_eq!((head.gap, head.first, head.next(), head.block_octets()), (true, 7, 10, 64));
        let mut seen = 0;
        head.each(head.records(&gap, 1).unwrap(), |record| seen += 1 + record.len()).unwrap();
        assert_eq!((seen, head.records(&gap, 2)), (0, None));
    }

    #[test]
    fn a_gap_has_no_more_than_a_block() {
        let mut gap = gap(7, GAP_RECORDS_MAX, 64, 1);
        assert_eq!(Head::of(&gap).unwrap().excess(), None);
        gap[16..20].copy_from_slice(&(GAP_RECORDS_MAX + 1).to_le_bytes());
        let excess = Head::of(&gap).unwrap().excess();
        assert_eq!(excess.unwrap(), "a gap of 4194305 records from 7 on: one has 4194304 at most");
        gap[4..8].copy_from_slice(&0xfb00_0010_u32.to_le_bytes());
        assert_eq!(Head::of(&gap), None, "no more octets than there is memory for");
    }

    #[test]
    fn records_that_do_not_follow_each_other_are_told() {
        assert_eq!(each(b"\x02\0\0\0ab\x03\0\0\0cd", |_| {}), Err(6));
        assert_eq!(each(b"\x02\0\0", |_| {}), Err(3));
    }
}
