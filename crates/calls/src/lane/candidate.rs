//! Flows that look like RTP but were not announced: kept under observation until they prove it.
//!
//! A datagram that begins with version 2 is not RTP yet: many protocols begin so by chance. A stream is believed after
//! [`CANDIDATE_PACKETS`] packets of one SSRC whose sequence numbers go up by one (at most two missing between
//! neighbours), whose timestamps do not go back, within two seconds of each other, on unprivileged ports. RFC 3550 A.1
//! asks for two in sequence, but of a source that is known to speak RTP.
//!
//! The table is direct-mapped by the flow, and the lane of a flow follows from its place in the table, so that what is
//! found does not depend on the number of lanes.

use super::MediaPacket;
use crate::classify::{CANDIDATE_SLOTS, flow_slot};
use crate::limits::{CANDIDATE_PACKETS, SECOND_NS};
use trunkline_wire::rtp;

/// Octets of payload that are kept with a packet under observation: enough for RFC 4733 events.
const PAYLOAD_HELD: usize = 8;
/// A candidate this fresh is not pushed out by another flow.
const FRESH_NS: i64 = SECOND_NS / 5;
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
    pub file: u16,
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

#[derive(Debug, Default)]
struct Candidate {
    hash: u64,
    held: Vec<Held>,
}

/// Flows under observation.
#[derive(Debug, Default)]
pub struct Candidates {
    slots: Vec<Option<Box<Candidate>>>,
}

impl Candidates {
    /// Looks at a packet of a flow that nobody announced. Gives all its packets, this one included, once it is
    /// believed; and whether another flow was forgotten for it.
    pub fn see(&mut self, hash: u64, packet: &MediaPacket<'_>, media: &rtp::Packet<'_>) -> (Option<Vec<Held>>, bool) {
        if packet.datagram.src_port < 1024
            || packet.datagram.dst_port < 1024
            || !rtp::payload_type_in_use(media.header.payload_type)
        {
            return (None, false);
        }
        if self.slots.is_empty() {
            self.slots.resize_with(CANDIDATE_SLOTS, || None);
        }
        let slot = &mut self.slots[flow_slot(packet.datagram)];
        let held = Held::new(packet, media);
        let Some(candidate) = slot else {
            *slot = Some(Box::new(Candidate { hash, held: vec![held] }));
            return (None, false);
        };
        if candidate.hash != hash {
            return (None, candidate.replace(hash, held));
        }
        if !candidate.take(held) {
            return (None, false);
        }
        if candidate.held.len() < CANDIDATE_PACKETS {
            return (None, false);
        }
        (slot.take().map(|c| c.held), false)
    }
}

impl Candidate {
    /// Another flow wants this place.
    fn replace(&mut self, hash: u64, held: Held) -> bool {
        let fresh = self.held.last().is_some_and(|l| held.at_ns.saturating_sub(l.at_ns) < FRESH_NS);
        if fresh && self.held.len() > 1 {
            return false;
        }
        let forgotten = self.held.len() > 1;
        self.hash = hash;
        self.held.clear();
        self.held.push(held);
        forgotten
    }

    /// Whether the packet went on where the flow stood, or began it anew.
    fn take(&mut self, held: Held) -> bool {
        let Some(last) = self.held.last() else {
            self.held.push(held);
            return true;
        };
        let step = held.header.sequence.wrapping_sub(last.header.sequence);
        let ticks = held.header.timestamp.wrapping_sub(last.header.timestamp);
        let near = held.at_ns.saturating_sub(last.at_ns) < NEIGHBOUR_NS;
        if step == 0 && ticks == 0 && near {
            // A copy, as mirror ports make them: it proves nothing, but belongs to the stream.
            let copies = self.held.iter().filter(|h| h.header.sequence == held.header.sequence).count();
            if copies < 2 {
                self.held.push(held);
            }
            return false;
        }
        if !(1..=3).contains(&step) || ticks > u32::MAX / 2 || !near {
            self.held.clear();
        }
        self.held.push(held);
        self.distinct() >= CANDIDATE_PACKETS
    }

    fn distinct(&self) -> usize {
        let steps = self.held.windows(2).filter(|w| w[0].header.sequence != w[1].header.sequence).count();
        steps + usize::from(!self.held.is_empty())
    }
}
