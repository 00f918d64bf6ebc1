//! What is recorded, how much of each packet, and when a segment ends.

use crate::class::Class;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use trunkline_wire::Decoded;

/// How much of a packet is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snap {
    /// All that was captured.
    Whole,
    /// So many octets from its beginning.
    Octets(u32),
    /// Its headers: up to the transport's payload, and of RTP the header with its CSRC list and extension.
    Headers,
}

/// What is done with one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRules {
    /// Whether it is recorded at all; otherwise its packets are counted as left out by rule.
    pub record: bool,
    /// How much of each packet.
    pub snap: Snap,
}

/// What is done with a lane's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// By class, in the order of [`Class::ALL`].
    pub classes: [ClassRules; 3],
    /// A segment ends when a packet of a later interval of this length comes, nanoseconds. A minute by default: segment
    /// names count minutes.
    pub segment_ns: i64,
    /// A segment ends before it would grow beyond this, octets.
    pub segment_octets: u64,
    /// What was recorded is on its way to the disk after this time, nanoseconds.
    pub flush_ns: i64,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            classes: [ClassRules { record: true, snap: Snap::Whole }; 3],
            segment_ns: 60_000_000_000,
            segment_octets: 1 << 30,
            flush_ns: 1_000_000_000,
        }
    }
}

/// The rules that lanes follow, and that may be others while they record. A lane that looks whether they changed reads
/// one number.
#[derive(Debug, Default)]
pub struct RulesInForce {
    version: AtomicU64,
    rules: Mutex<Rules>,
}

impl RulesInForce {
    /// Begins with these.
    pub fn new(rules: Rules) -> Self {
        RulesInForce { version: AtomicU64::new(1), rules: Mutex::new(rules) }
    }

    /// From now on these.
    pub fn set(&self, rules: Rules) {
        *self.rules.lock().unwrap_or_else(PoisonError::into_inner) = rules;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The rules, if they are others than at this version, which becomes the new one. Versions begin with 1.
    #[inline]
    pub fn changed(&self, version: &mut u64) -> Option<Rules> {
        let now = self.version.load(Ordering::Acquire);
        (now != core::mem::replace(version, now)).then(|| *self.rules.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Rules {
    /// The rules of a class.
    pub fn of(&self, class: Class) -> &ClassRules {
        &self.classes[class as usize]
    }
}

impl Snap {
    /// How many of a packet's captured octets are kept.
    #[inline]
    pub fn keep(self, octets: &[u8], decoded: &Decoded) -> usize {
        match self {
            Snap::Whole => octets.len(),
            Snap::Octets(n) => octets.len().min(n as usize),
            Snap::Headers => headers(octets, decoded).min(octets.len()),
        }
    }
}

/// Octets up to the transport's payload, with the RTP header if the payload is RTP (RFC 3550 sections 5.1 and 5.3.1).
/// What is no datagram keeps its first 128 octets: link and network headers with room for tunnels.
fn headers(octets: &[u8], decoded: &Decoded) -> usize {
    /// Octets of what cannot be told to have a payload.
    const UNKNOWN_OCTETS: usize = 128;
    let start = match decoded {
        Decoded::Udp(d) => d.payload_start as usize,
        Decoded::Tcp(d, _) | Decoded::Sctp(d) => return d.payload_start as usize,
        _ => return UNKNOWN_OCTETS,
    };
    let payload = octets.get(start..).unwrap_or_default();
    let Some(&[first, _]) = payload.first_chunk::<2>() else { return start };
    if first >> 6 != 2 {
        return start;
    }
    let fixed = 12 + 4 * usize::from(first & 15);
    if first & 0x10 == 0 {
        return start + fixed;
    }
    match payload.get(fixed + 2..fixed + 4) {
        Some(length) => start + fixed + 4 + 4 * usize::from(u16::from_be_bytes([length[0], length[1]])),
        None => start + fixed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UDP with this payload, from and to documentation addresses, as raw IPv4.
    fn udp(payload: &[u8]) -> Vec<u8> {
        let length = (28 + payload.len()) as u16;
        let mut octets = vec![0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0, 0, 64, 17, 0, 0];
        octets.extend([192, 0, 2, 1, 192, 0, 2, 2, 0x27, 0x10, 0x27, 0x12]);
        octets.extend((length - 20).to_be_bytes());
        octets.extend([0, 0]);
        octets.extend(payload);
        octets
    }

    fn kept(payload: &[u8]) -> usize {
        let octets = udp(payload);
        Snap::Headers.keep(&octets, &trunkline_wire::decode(101, &octets))
    }

    #[test]
    fn headers_end_before_the_payload_of_rtp() {
        let rtp = [&[0x80, 8][..], &[0; 10], &[0xd5; 160]].concat();
        assert_eq!(kept(&rtp), 28 + 12);
        let sources = [&[0x82, 8][..], &[0; 10], &[0; 8], &[0xd5; 160]].concat();
        assert_eq!(kept(&sources), 28 + 20);
        let extension = [&[0x90, 8][..], &[0; 10], &[0xbe, 0xde, 0, 2], &[0; 8], &[0xd5; 160]].concat();
        assert_eq!(kept(&extension), 28 + 12 + 12);
        assert_eq!(kept(b"no RTP at all"), 28);
        assert_eq!(kept(&[0x9f, 8, 0]), 28 + 3, "never more than there is");
    }

    #[test]
    fn a_number_of_octets_is_the_most_that_is_kept() {
        let octets = udp(&[0; 100]);
        let decoded = trunkline_wire::decode(101, &octets);
        assert_eq!(Snap::Octets(64).keep(&octets, &decoded), 64);
        assert_eq!(Snap::Octets(1000).keep(&octets, &decoded), 128);
        assert_eq!(Snap::Whole.keep(&octets, &decoded), 128);
    }
}
