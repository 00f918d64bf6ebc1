//! What a run does, after all options were checked.

use std::time::Duration;

/// Octets of the shortest name of a key: `k` and all digits of the highest number.
pub const NAME_OCTETS_LEAST: usize = 11;
/// Octets of the longest, which is memcached's limit of a key.
pub const NAME_OCTETS_MAX: usize = 250;

/// What a run does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Connections of all threads.
    pub connections: usize,
    /// Requests of a connection that wait for an answer at a time.
    pub in_flight: usize,
    /// Keys of a get.
    pub multi_get: usize,
    /// Keys in all.
    pub keys: u32,
    /// Octets of a key's name.
    pub name_octets: usize,
    /// The letter that their names begin with.
    pub letter: u8,
    /// Seconds until what is stored expires, least and most.
    pub ttl: Lengths,
    /// How long values are.
    pub lengths: Lengths,
    /// Sets among requests, 0 to 1.
    pub sets: f64,
    /// Requests a second in all; closed loop without it.
    pub rate: Option<u64>,
    /// Whether values carry what they are checked by.
    pub verify: bool,
    /// Whether mg and ms are used.
    pub meta: bool,
    /// Skew of the keys.
    pub zipf: Option<f64>,
    /// Where chance begins.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
    /// Whether each value of an answer may be a message of its own.
    pub old_numbering: bool,
    /// How long requests are sent.
    pub run: Duration,
    /// How long an answer is waited for.
    pub patience: Duration,
}

/// Octets of values, or seconds, least and most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// The shortest.
    pub least: u32,
    /// The longest.
    pub most: u32,
}

/// Octets of the longest value.
const VALUE_OCTETS_MAX: u32 = 64 << 20;

impl std::str::FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        let lengths = least.parse().ok().zip(most.parse().ok()).map(|(least, most)| Lengths { least, most });
        let good = lengths.filter(|lengths| lengths.least <= lengths.most && lengths.most <= VALUE_OCTETS_MAX);
        good.ok_or_else(|| format!("octets, or A-B, at most {VALUE_OCTETS_MAX}"))
    }
}

/// Appends the name of a key, of so many octets, the first one a letter.
pub fn push_name(out: &mut Vec<u8>, letter: u8, key: u32, octets: usize) {
    let begin = out.len();
    out.resize(begin + octets, b'0');
    out[begin] = letter;
    let mut rest = key;
    for place in out[begin + 1..].iter_mut().rev().take(NAME_OCTETS_LEAST - 1) {
        *place += (rest % 10) as u8;
        rest /= 10;
    }
}

/// The key that has this name, with any letter: what another load has stored is told by its value.
pub fn named(name: &[u8]) -> Option<u32> {
    let (zeros, digits) = name
        .split_first()
        .filter(|(letter, _)| letter.is_ascii_lowercase())?
        .1
        .split_last_chunk::<{ NAME_OCTETS_LEAST - 1 }>()?;
    let number = digits.iter().fold(0u64, |number, digit| number * 10 + u64::from(digit.wrapping_sub(b'0')));
    let good = digits.iter().all(u8::is_ascii_digit) && zeros.iter().all(|digit| *digit == b'0');
    u32::try_from(number).ok().filter(|_| good)
}

/// The key nearest to one that this connection alone writes, so that its versions come in order. There are at least as
/// many keys as connections.
pub fn own(key: u32, connection: u32, connections: u32, keys: u32) -> u32 {
    let own = u64::from(key - key % connections) + u64::from(connection);
    if own < u64::from(keys) { own as u32 } else { own as u32 - connections }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        for (key, octets) in [(0, 11), (7, 32), (123_456, 250), (u32::MAX, 11)] {
            let mut name = b"x".to_vec();
            push_name(&mut name, b'k', key, octets);
            assert_eq!((name.len(), named(&name[1..])), (octets + 1, Some(key)));
        }
        let mut name = Vec::new();
        push_name(&mut name, b'a', 42, 12);
        assert_eq!(name, b"a00000000042");
        let none: [&[u8]; 5] = [b"k42", b"00000000042", b"k9999999999", b"k10000000042", b"k00000000:42"];
        assert_eq!(none.map(named), [None; 5]);
    }

    #[test]
    fn a_key_is_written_by_one_connection() {
        for key in 0..10 {
            for connection in 0..4 {
                let own = own(key, connection, 4, 10);
                assert!(own < 10 && own % 4 == connection, "{key} of {connection}: {own}");
            }
        }
    }

    #[test]
    fn lengths_as_they_are_typed() {
        assert_eq!("100".parse(), Ok(Lengths { least: 100, most: 100 }));
        assert_eq!("1-2000".parse(), Ok(Lengths { least: 1, most: 2000 }));
        assert!(["", "2-1", "x", "1-", "99999999"].iter().all(|text| text.parse::<Lengths>().is_err()));
    }
}
