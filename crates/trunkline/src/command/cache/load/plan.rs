//! What a run does, after all options were checked.

use std::time::Duration;

/// Octets of a key's name.
pub const NAME_OCTETS: usize = 11;

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

/// The name of a key.
pub fn name(letter: u8, key: u32) -> [u8; NAME_OCTETS] {
    let (mut name, mut rest) = ([b'0'; NAME_OCTETS], key);
    name[0] = letter;
    for place in name[1..].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    name
}

/// The key that has this name, with any letter: what another load has stored is told by its value.
pub fn named(name: &[u8]) -> Option<u32> {
    let (_, digits) =
        name.split_first().filter(|(letter, _)| name.len() == NAME_OCTETS && letter.is_ascii_lowercase())?;
    std::str::from_utf8(digits).ok()?.parse().ok()
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
        for key in [0, 7, 123_456, u32::MAX] {
            assert_eq!(named(&name(b'k', key)), Some(key));
        }
        assert_eq!(&name(b'a', 42), b"a0000000042");
        assert_eq!([named(b"k42"), named(b"00000000042"), named(b"k99999999999")], [None; 3]);
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
