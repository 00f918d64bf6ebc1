//! Times at which the world's tap is blind, over and over: a mirror port that overflows and tells nobody, and a ring
//! that overflows and says so. Only media is lost, so that calls stay what they are.

use trunkline_wire::{Decoded, decode};

const SECOND_NS: i64 = 1_000_000_000;
/// SIP's port: what goes there or comes from there is signalling.
const SIP: u16 = 5060;

/// How the tap is blind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blind {
    /// A mirror port loses packets of everybody, and nothing counts them.
    Mirror,
    /// A lane's ring is full: the kernel counts them.
    Ring,
}

/// A time that comes again.
struct Again {
    blind: Blind,
    /// When first, after the world began, how often, and for how long.
    first_ns: i64,
    every_ns: i64,
    lasts_ns: i64,
    /// Of 256 packets so many are lost.
    share: u32,
}

const TIMES: [Again; 2] = [
    Again {
        blind: Blind::Mirror,
        first_ns: 240 * SECOND_NS,
        every_ns: 540 * SECOND_NS,
        lasts_ns: 2 * SECOND_NS,
        share: 90,
    },
    Again { blind: Blind::Ring, first_ns: 420 * SECOND_NS, every_ns: 780 * SECOND_NS, lasts_ns: SECOND_NS, share: 128 },
];

/// Whether a packet is lost, so long after the world began; the answer is the same for each who asks.
pub fn lost(since_ns: i64, octets: &[u8]) -> Option<Blind> {
    let now =
        |again: &&Again| since_ns >= again.first_ns && (since_ns - again.first_ns) % again.every_ns < again.lasts_ns;
    let again = TIMES.iter().find(now)?;
    (chance(since_ns) % 256 < again.share && is_media(octets)).then_some(again.blind)
}

fn is_media(octets: &[u8]) -> bool {
    matches!(decode(1, octets), Decoded::Udp(d) if d.src_port != SIP && d.dst_port != SIP)
}

/// A number that time decides, spread evenly (the finalizer of splitmix64).
fn chance(at_ns: i64) -> u32 {
    let mut x = (at_ns as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 33) as u32
}
