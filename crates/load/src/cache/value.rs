//! Values that say whose they are: run, key, version and length, a checksum over everything, then octets by chance.

use trunkline_kit::random::mixed;

/// Octets of the shortest value that can be checked.
pub const OCTETS_LEAST: usize = 24;
/// Octets before the checksum.
const STAMP_OCTETS: usize = 16;

/// Whose a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The run of the load program that wrote it.
    pub run: u32,
    /// Number of its key.
    pub key: u32,
    /// How often the key had been written in this run, this time included.
    pub version: u32,
}

/// Appends a value of so many octets, at least [`OCTETS_LEAST`].
pub fn write(out: &mut Vec<u8>, stamp: Stamp, octets: usize) {
    let start = out.len();
    for word in [stamp.run, stamp.key, stamp.version, octets as u32] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out.extend_from_slice(&[0; 8]);
    let mut word = mixed(u64::from(stamp.key) << 32 | u64::from(stamp.version));
    while out.len() < start + octets {
        out.extend_from_slice(&word.to_be_bytes());
        word = word.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
    }
    out.truncate(start + octets.max(OCTETS_LEAST));
    let sum = checksum(&out[start..]);
    out[start + STAMP_OCTETS..start + OCTETS_LEAST].copy_from_slice(&sum.to_be_bytes());
}

/// Whose a value is; nobody's where a part is missing or of another value.
pub fn read(value: &[u8]) -> Option<Stamp> {
    let word = |at: usize| Some(u32::from_be_bytes(value.get(at..at + 4)?.try_into().ok()?));
    let sum = u64::from_be_bytes(value.get(STAMP_OCTETS..OCTETS_LEAST)?.try_into().ok()?);
    let whole = word(12)? as usize == value.len() && checksum(value) == sum;
    whole.then_some(Stamp { run: word(0)?, key: word(4)?, version: word(8)? })
}

/// Over everything but its own place. Against a store's mistakes, not against people's intent.
fn checksum(value: &[u8]) -> u64 {
    let mut sum = 0x51_7c_c1_b7_27_22_0a_95;
    for part in [&value[..STAMP_OCTETS], &value[OCTETS_LEAST..]] {
        let mut words = part.chunks_exact(8);
        for word in &mut words {
            sum = step(sum, word.try_into().map_or(0, u64::from_le_bytes));
        }
        sum = words.remainder().iter().fold(sum, |sum, octet| step(sum, u64::from(*octet) + 1));
    }
    mixed(sum)
}

fn step(sum: u64, word: u64) -> u64 {
    (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for octets in [24, 25, 31, 32, 100, 1000, 65_537] {
            let (stamp, mut value) = (Stamp { run: 9, key: 7, version: 3 }, b"before".to_vec());
            write(&mut value, stamp, octets);
            assert_eq!((value.len(), read(&value[6..])), (6 + octets, Some(stamp)));
        }
    }

    #[test]
    fn a_change_anywhere_is_seen() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        write(&mut one, Stamp { run: 1, key: 1, version: 1 }, 99);
        write(&mut other, Stamp { run: 1, key: 1, version: 2 }, 99);
        for at in 0..one.len() {
            let mut value = one.clone();
            value[at] ^= 0x10;
            assert_eq!(read(&value), None, "octet {at}");
            assert_eq!(read(&one[..at]), None, "{at} octets");
            // The beginning of one value and the end of another.
            let torn = [&one[..at], &other[at..]].concat();
            assert_eq!(read(&torn).is_some(), torn == one || torn == other, "torn at {at}");
        }
    }
}
