//! What the tests write, and how they know it again.

use std::path::Path;

use trunkline_spool::{Dropped, Extra, Kinds, Mend, Options, PartFile, Volume, Whole, Writer};

/// Names of the tests' files.
pub const KINDS: Kinds = Kinds { segment: "seg", beside: &["idx"] };

/// Small blocks and little memory, so that all limits are met soon.
pub fn options(volume: Volume) -> Options {
    let mut options = Options { block: 64 << 10, keep_free: 0, ..Options::new(vec![volume]) };
    options = options.memory(4 << 20);
    options
}

pub fn volume(path: &Path) -> Volume {
    Volume::new(path)
}

pub fn extra(octets: &[u8]) -> Extra {
    Extra { extension: "idx".to_owned(), octets: octets.to_vec() }
}

/// All files below a folder, relative to it, sorted.
pub fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

/// Records whose content follows from a seed, their number and nothing else:
/// length (u32), seed (u32), number (u64), content, sum of the content (u32).
pub struct Pattern {
    seed: u64,
    next: u64,
    octets: u64,
    buffer: Vec<u8>,
}

/// Octets of a record beside its content.
const FRAME: usize = 20;

impl Pattern {
    pub fn new(seed: u64) -> Pattern {
        Pattern { seed, next: 0, octets: 0, buffer: Vec::new() }
    }

    /// Appends the next record; its number is used up only if it is accepted.
    pub fn append(&mut self, writer: &mut Writer, at_ns: i64) -> Result<u64, Dropped> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        record(self.seed, self.next, &mut buffer);
        let (head, rest) = buffer.split_at(16);
        let offset = writer.append(at_ns, &[head, rest]);
        if let Ok(offset) = offset {
            assert_eq!(offset + buffer.len() as u64, writer.position());
            self.next += 1;
            self.octets += buffer.len() as u64;
        }
        self.buffer = buffer;
        offset
    }

    /// The octets accepted so far.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// The records accepted so far.
    pub fn records(&self) -> u64 {
        self.next
    }

    /// Whether these octets are all the records accepted so far.
    pub fn is(&self, octets: &[u8]) -> bool {
        let whole = prefix(self.seed, octets);
        (whole.records, whole.octets, octets.len() as u64) == (self.next, self.octets, self.octets)
    }
}

/// The whole records at the beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub records: u64,
    pub octets: u64,
}

/// How far `octets` are the records of this seed from number 0 on.
pub fn prefix(seed: u64, octets: &[u8]) -> Prefix {
    prefix_from(seed, 0, octets)
}

/// The same from a number on.
pub fn prefix_from(seed: u64, first: u64, octets: &[u8]) -> Prefix {
    let (mut at, mut number, mut buffer) = (0, first, Vec::new());
    loop {
        buffer.clear();
        record(seed, number, &mut buffer);
        if octets.get(at..at + buffer.len()) != Some(&buffer[..]) {
            return Prefix { records: number - first, octets: at as u64 };
        }
        at += buffer.len();
        number += 1;
    }
}

/// The number of the first record in a file.
pub fn first_number(octets: &[u8]) -> Option<u64> {
    octets.get(8..16).map(|o| u64::from_le_bytes(o.try_into().unwrap()))
}

fn record(seed: u64, number: u64, buffer: &mut Vec<u8>) {
    let mut x = (seed << 40) ^ number;
    let mut random = || {
        x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ (z >> 31)
    };
    let length = (random() % 400) as usize;
    buffer.extend_from_slice(&((length + FRAME) as u32).to_le_bytes());
    buffer.extend_from_slice(&(seed as u32).to_le_bytes());
    buffer.extend_from_slice(&number.to_le_bytes());
    let content = random().to_le_bytes();
    buffer.extend((0..length).map(|i| content[i % 8]));
    let sum: u32 = content.iter().map(|o| u32::from(*o)).sum::<u32>().wrapping_mul(length as u32) ^ number as u32;
    buffer.extend_from_slice(&sum.to_le_bytes());
}

/// Keeps the whole records of a part, whosever they are.
pub fn mend(part: &PartFile) -> std::io::Result<Mend> {
    Ok(Mend::Keep { octets: whole(part)?.octets, extra: vec![extra(b"made anew")] })
}

/// The whole records of a part, whosever they are.
pub fn whole(part: &PartFile) -> std::io::Result<Whole> {
    let octets = std::fs::read(&part.path)?;
    let (Some(seed), Some(first)) = (octets.get(4..8), first_number(&octets)) else { return Ok(Whole::default()) };
    let seed = u32::from_le_bytes(seed.try_into().unwrap());
    let Prefix { records, octets } = prefix_from(u64::from(seed), first, &octets);
    Ok(Whole { records, octets })
}
