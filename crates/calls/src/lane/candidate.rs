//! Flows that look like RTP but were not announced: kept under observation until they prove it.
//!
//! A datagram that begins with version 2 is not RTP yet: many protocols begin so by chance. A stream is believed
//! after [`CANDIDATE_PACKETS`] packets of one SSRC whose sequence numbers go up by one (at most two missing between
//! neighbours, or more where the timestamps go on at the same pace), whose timestamps do not go back, within two
//! seconds of each other, on unprivileged ports. RFC 3550 A.1 asks for two in sequence, but of a source that is known
//! to speak RTP.
//!
//! A flow has its place in the table, with room for [`WAYS_MAX`] sources, because audio and video may share their ports
//! (RFC 8843). The lane of a flow follows from its place, so that what is found does not depend on the number of lanes.

use super::MediaPacket;
use crate::limits::{CANDIDATE_PACKETS, SECOND_NS};
use trunkline_lane::class::CANDIDATE_SLOTS;
use trunkline_wire::rtp;

/// Octets of payload that are kept with a packet under observation: enough for RFC 4733 events.
const PAYLOAD_HELD: usize = 8;
/// A candidate this fresh is not pushed out by another flow.
const FRESH_NS: i64 = SECOND_NS / 5;
/// Sources under observation at one place of the table. A further one takes the place of one that is not fresh or has
/// nothing in sequence, or is not looked at.
const WAYS_MAX: usize = 4;
/// Sequence numbers of neighbours are at most this far apart.
const STEP_MAX: u16 = 3;
/// So far apart they are at most where the timestamps go on at the pace of the neighbours before: heavy loss.
const EVEN_STEP_MAX: u16 = 50;
/// Packets of one place kept under observation, shared by its sources; one that is not believed by then is observed
/// anew.
const HELD_MAX: usize = 64;
/// Neighbours of a stream are at most this far apart.
const NEIGHBOUR_NS: i64 = 2 * SECOND_NS;

/// What is kept of a packet under observation.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub at_ns: i64,
    pub number: u64,
    pub offset: u64,
    pub header: rtp::Header,
    pub wire: u32,
    pub file: u32,
    pub dscp: u8,
    octets: [u8; PAYLOAD_HELD],
    held: u8,
}

impl Held {
    /// What is kept of this packet.
    pub fn new(packet: &MediaPacket<'_>, media: &rtp::Packet<'_>) -> Self {
        let held = media.payload.len().min(PAYLOAD_HELD);
        let mut octets = [0; PAYLOAD_HELD];
        octets[..held].copy_from_slice(&media.payload[..held]);
        Held {
            at_ns: packet.at_ns,
            number: packet.number,
            offset: packet.offset,
            header: media.header,
            wire: media.payload_wire,
            file: packet.file,
            dscp: packet.datagram.dscp,
            octets,
            held: held as u8,
        }
    }

    /// The first octets of its payload.
    pub fn payload(&self) -> &[u8] {
        &self.octets[..usize::from(self.held)]
    }
}

#[derive(Debug)]
struct Candidate {
    hash: u64,
    /// All its packets so far; a stream has lost packets and copies before it is believed, too.
    held: Vec<Held>,
    /// The packet that the next one is laid against, and how many in a row went on from each other.
    last: (u16, u32, i64),
    run: usize,
    /// Ticks of the timestamp from one number to the next, by the last two in order; 0 if they do not tell.
    pace: u32,
}

/// Flows under observation.
#[derive(Debug, Default)]
pub struct Candidates {
    slots: Vec<Vec<Candidate>>,
}

impl Candidates {
    /// Looks at a packet of a flow that nobody announced, whose place is `slot`. Gives all its packets, this one
    /// included, once it is believed; and whether another flow was forgotten for it.
    pub fn see(
        &mut self,
        slot: usize,
        hash: u64,
        packet: &MediaPacket<'_>,
        media: &rtp::Packet<'_>,
    ) -> (Option<Vec<Held>>, bool) {
        if packet.datagram.src_port < 1024
            || packet.datagram.dst_port < 1024
            || !rtp::payload_type_in_use(media.header.payload_type)
        {
            return (None, false);
        }
        if self.slots.is_empty() {
            self.slots.resize_with(CANDIDATE_SLOTS, Vec::new);
        }
        let slot = &mut self.slots[slot];
        let held = Held::new(packet, media);
        let Some(at) = slot.iter().position(|c| c.hash == hash) else {
            return (None, make_room(slot, Candidate::new(hash, held)));
        };
        let room = HELD_MAX / slot.len();
        if !slot[at].take(held, room) {
            return (None, false);
        }
        (Some(slot.swap_remove(at).held), false)
    }
}

/// Puts a newcomer under observation; whether one with packets in sequence was forgotten for it.
fn make_room(slot: &mut Vec<Candidate>, newcomer: Candidate) -> bool {
    if slot.len() < WAYS_MAX {
        slot.push(newcomer);
        return false;
    }
    let now_ns = newcomer.last.2;
    let gives_way = |c: &&mut Candidate| c.run <= 1 || now_ns.saturating_sub(c.last.2) >= FRESH_NS;
    let Some(oldest) = slot.iter_mut().filter(gives_way).min_by_key(|c| c.last.2) else { return false };
    let forgotten = oldest.run > 1;
    *oldest = newcomer;
    forgotten
}

impl Candidate {
    fn new(hash: u64, held: Held) -> Self {
        let last = (held.header.sequence, held.header.timestamp, held.at_ns);
        Candidate { hash, held: vec![held], last, run: 1, pace: 0 }
    }

    /// Keeps the packet, of `room` at most; whether the flow is believed now.
    fn take(&mut self, held: Held, room: usize) -> bool {
        let (sequence, timestamp, at_ns) = self.last;
        let step = held.header.sequence.wrapping_sub(sequence);
        let ticks = held.header.timestamp.wrapping_sub(timestamp);
        if held.at_ns.saturating_sub(at_ns) >= NEIGHBOUR_NS || self.held.len() >= room {
            // What came before this silence, or so many packets without order, is not this stream's beginning.
            self.held.clear();
            self.run = 0;
        }
        let is_even = self.pace > 0 && step <= EVEN_STEP_MAX && ticks == self.pace.wrapping_mul(step.into());
        match step {
            // A copy, as mirror ports make them, proves nothing but belongs to the stream.
            0 if ticks == 0 && self.run > 0 => {}
            1..=STEP_MAX if ticks <= u32::MAX / 2 && self.run > 0 => self.run += 1,
            1.. if is_even && self.run > 0 => self.run += 1,
            _ => self.run = 1,
        }
        if step > 0 {
            let whole = ticks <= u32::MAX / 2 && ticks.is_multiple_of(step.into());
            self.pace = if whole { ticks / u32::from(step) } else { 0 };
        }
        self.last = (held.header.sequence, held.header.timestamp, held.at_ns);
        self.held.push(held);
        self.run >= CANDIDATE_PACKETS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::{Address, Datagram};

    fn datagram() -> Datagram {
        let here = Address::v4([192, 0, 2, 1]);
        Datagram {
            src: here,
            dst: here,
            src_port: 4000,
            dst_port: 5000,
            payload_start: 0,
            payload_captured: 12,
            payload_wire: 12,
            vlan: 0,
            tunnels: 0,
            dscp: 0,
        }
    }

    /// After how many packets of these numbers, each so many ticks above the one before, a flow is believed.
    fn believed(numbers: impl IntoIterator<Item = u16>, ticks: impl Fn(u16) -> u32, ms: i64) -> Option<usize> {
        let mut candidates = Candidates::default();
        let datagram = datagram();
        for (at, sequence) in numbers.into_iter().enumerate() {
            let ([high, low], timestamp) = (sequence.to_be_bytes(), ticks(sequence).to_be_bytes());
            let octets = [&[0x80, 18, high, low], &timestamp[..], &[0, 0, 0, 7]].concat();
            let (at_ns, number) = (i64::from(sequence) * ms * 1_000_000, at as u64);
            let packet = MediaPacket { at_ns, number, offset: 0, file: 0, datagram: &datagram, payload: &octets };
            let media = rtp::Packet::new(&octets, 12).unwrap();
            if candidates.see(0, 7, &packet, &media).0.is_some() {
                return Some(at + 1);
            }
        }
        None
    }

    #[test]
    fn heavy_loss_is_no_reason_to_disbelieve() {
        // Three of eight are missing, wherever they are; and eight packets are all there is.
        for missing in 0..256u32 {
            let came: Vec<u16> = (0..8).filter(|n| missing & 1 << n == 0).collect();
            let pairs = came.windows(2).filter(|w| w[1] - w[0] == 1).count();
            if missing.count_ones() == 3 && pairs > 0 && came[1] - came[0] <= STEP_MAX {
                assert!(believed(came.clone(), |n| u32::from(n) * 160, 20).is_some(), "{came:?}");
            }
        }
        // Runs of ten and of five, over and over, at any packet time.
        for ms in [10u16, 20, 30, 60] {
            let ticks = |n: u16| u32::from(n) * u32::from(ms) * 8;
            assert!(believed((0..100).filter(|n| n % 12 < 2), ticks, ms.into()).is_some(), "{ms}");
            assert!(believed((0..100).filter(|n| n % 8 < 3), ticks, ms.into()).is_some(), "{ms}");
        }
        // Numbers that jump with timestamps that do not go with them are no stream.
        assert_eq!(believed((0..1000).filter(|n| n % 12 < 2), |n| u32::from(n) * 160 + u32::from(n % 7), 20), None);
        assert_eq!(believed((0..1000).map(|n| n * 7), |n| u32::from(n).pow(2), 20), None);
    }

    #[test]
    fn sources_that_share_their_ports_are_observed_beside_each_other() {
        let datagram = datagram();
        let mut candidates = Candidates::default();
        let mut believed = Vec::new();
        for number in 0..2 * CANDIDATE_PACKETS as u64 {
            let (ssrc, sequence) = (number % 2, number / 2);
            let octets = [0x80, 0, 0, sequence as u8, 0, 0, sequence as u8, 0, 0, 0, 0, ssrc as u8];
            let at_ns = number as i64;
            let packet = MediaPacket { at_ns, number, offset: 0, file: 0, datagram: &datagram, payload: &octets };
            let media = rtp::Packet::new(&octets, 12).unwrap();
            believed.extend(candidates.see(0, ssrc, &packet, &media).0.map(|held| (ssrc, held.len())));
        }
        assert_eq!(believed, [(0, CANDIDATE_PACKETS), (1, CANDIDATE_PACKETS)]);
    }
}
