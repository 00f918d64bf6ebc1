//! What RTP says about a leap of the packets' time: streams that were there shortly before it and are there after it.
//!
//! The numbers of a stream go up by one and its timestamps with the sender's own clock (RFC 3550 section 5.1). If the
//! next numbers come with the next timestamps, no time passed, whatever the capture's clock says; if the timestamps
//! went on as far as the clock did, the time passed; and if they went back as far, the packets are in the wrong order.

use super::SECOND_NS;
use crate::class::{PacketClass, classify, payload};
use hashbrown::HashMap;
use trunkline_capture::{Batch, Packet};
use trunkline_wire::rtp::Header;
use trunkline_wire::{Decoded, Endpoint};

/// A stream whose payload type has a clock of its own (RFC 3551) is the same after so many numbers at most.
const NUMBERS_MAX: u16 = 500;
/// Of one whose clock is not known, so few that their time is known well enough.
const NUMBERS_OF_ANY_CLOCK_MAX: u16 = 10;
/// The time between two packets of a stream whose clock is not known: nearly all send 50 in a second.
const PACKET_NS: i64 = 20_000_000;
/// What the clock and the timestamps say of one passage of time differs by less: delay, and clocks that are not exact.
const PASSED_NS: i64 = SECOND_NS / 2;
/// How much more, and how much less, than RTP tells the leap may be: two packets beside it are not of one moment.
const ROOM_NS: [i64; 2] = [60_000_000, 150_000_000];
/// Beside a leap back, where no pause can be meant.
const ROOM_BACK_NS: i64 = SECOND_NS;
/// Votes that are enough.
const VOTES_ENOUGH: usize = 64;
/// Clocks of dynamic payload types, ticks per second.
const CLOCKS: [i64; 6] = [8000, 16_000, 32_000, 44_100, 48_000, 90_000];

/// A packet of a stream, steady time.
#[derive(Clone, Copy, Debug)]
pub struct Witness {
    key: (Endpoint, Endpoint, u32),
    sequence: u16,
    timestamp: u32,
    payload_type: u8,
    /// When it came.
    pub at_ns: i64,
}

/// What a look at a packet shows.
pub enum Look {
    /// RTP.
    Media(Witness),
    /// Signalling.
    Signalling,
    /// Neither.
    Other,
}

/// Looks at a packet of a batch; `offset_ns` leads from its time to steady time.
pub fn look(batch: &Batch, packet: &Packet, offset_ns: i64) -> Look {
    let octets = batch.octets_of(packet);
    let decoded = trunkline_wire::decode(packet.link, octets);
    match (classify(&decoded, octets), &decoded) {
        (PacketClass::Rtp, Decoded::Udp(datagram)) => match Header::new(payload(datagram, octets)) {
            Some(header) => Look::Media(Witness {
                key: (datagram.from(), datagram.to(), header.ssrc),
                sequence: header.sequence,
                timestamp: header.timestamp,
                payload_type: header.payload_type,
                at_ns: packet.at_ns.saturating_sub(offset_ns),
            }),
            None => Look::Other,
        },
        (PacketClass::Signalling, _) => Look::Signalling,
        _ => Look::Other,
    }
}

/// What streams say about one leap.
#[derive(Debug, Default)]
pub struct Votes {
    before: HashMap<(Endpoint, Endpoint, u32), Witness>,
    /// Who sends a stream that went on without a pause, and by how much the clock leapt, as it tells.
    steps: Vec<(Endpoint, i64)>,
    /// Streams that say that the time passed, or went back.
    passed: usize,
    /// Signalling was seen next to the leap.
    pub signalled: bool,
}

impl Votes {
    /// A packet before the leap, the latest first: of one stream the last one counts.
    pub fn before(&mut self, witness: Witness) {
        self.before.entry(witness.key).or_insert(witness);
    }

    /// Whether a stream was there so shortly before.
    pub fn is_any_since(&self, since_ns: i64) -> bool {
        self.before.values().any(|witness| witness.at_ns >= since_ns)
    }

    /// A packet after a leap of so much. Whether enough is known.
    pub fn after(&mut self, now: &Witness, leap_ns: i64) -> bool {
        let Some(before) = self.before.get(&now.key) else { return false };
        let numbers = now.sequence.wrapping_sub(before.sequence);
        let ticks = i64::from(now.timestamp.wrapping_sub(before.timestamp) as i32);
        let clock_ns = now.at_ns.saturating_sub(before.at_ns);
        let rate = clock_of(now.payload_type).filter(|_| now.payload_type == before.payload_type);
        let passed = |rate: i64| clock_ns.saturating_sub(media_ns(ticks, rate)).saturating_abs() <= PASSED_NS;
        if rate.map_or_else(|| CLOCKS.into_iter().any(passed), passed) {
            self.passed += 1;
        } else if let Some(media_ns) = going_on(numbers, ticks, rate) {
            let rest_ns = clock_ns.saturating_sub(media_ns);
            let room_ns = if leap_ns < 0 { ROOM_BACK_NS } else { ROOM_NS[1] };
            if (-ROOM_NS[0]..=room_ns).contains(&leap_ns.saturating_sub(rest_ns)) {
                self.steps.push((now.key.0, rest_ns));
            }
        } else if numbers > u16::MAX / 2 && ticks > -90_000 {
            // Out of order: another packet of it is to come.
            return false;
        }
        self.before.remove(&now.key);
        self.before.is_empty() || self.steps.len() + self.passed >= VOTES_ENOUGH
    }

    /// By how much the clock leapt, as most say; none if it did not.
    pub fn step_ns(&mut self) -> Option<i64> {
        if self.steps.is_empty() || self.steps.len() <= 2 * self.passed {
            return None;
        }
        self.steps.sort_unstable_by_key(|step| step.1);
        Some(self.steps[self.steps.len() / 2].1)
    }

    /// Whether streams say that time is what the clock says, forward or back.
    pub fn is_passed(&self) -> bool {
        self.passed > 0
    }

    /// How many hosts sent streams that went on.
    pub fn senders(&self) -> usize {
        let mut senders: Vec<_> = self.steps.iter().map(|step| step.0.address).collect();
        senders.sort_unstable();
        senders.dedup();
        senders.len()
    }
}

/// How much media lies between two packets of a stream that went on, if it did.
fn going_on(numbers: u16, ticks: i64, rate: Option<i64>) -> Option<i64> {
    match rate {
        Some(rate) if (1..=NUMBERS_MAX).contains(&numbers) && ticks > 0 => Some(media_ns(ticks, rate)),
        // Video has several packets of one timestamp.
        _ if (1..=NUMBERS_OF_ANY_CLOCK_MAX).contains(&numbers) && (0..=90_000).contains(&ticks) => {
            Some(i64::from(numbers) * PACKET_NS)
        }
        _ => None,
    }
}

fn media_ns(ticks: i64, rate: i64) -> i64 {
    ticks.saturating_mul(SECOND_NS / 100) / (rate / 100)
}

/// The clock of a payload type (RFC 3551 section 6), ticks per second; none of dynamic ones and of video.
fn clock_of(payload_type: u8) -> Option<i64> {
    match payload_type {
        0 | 3..=5 | 7..=9 | 12 | 13 | 15 | 18 => Some(8000),
        6 => Some(16_000),
        10 | 11 => Some(44_100),
        _ => None,
    }
}
