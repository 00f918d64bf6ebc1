//! Streams over TCP (RFC 4571, RFC 8656): what of them the capture lacks, it lost itself, as TCP loses nothing.

use super::{Begun, Carried, Carrier, Key, Lane, MediaPacket, reports};
use crate::media::{OfTcp, Reassembled};
use hashbrown::HashMap;
use trunkline_wire::{Endpoint, rtcp, rtp};

/// Streams over TCP that one lane knows. Beyond it all are forgotten and counted: what the capture lost of them is then
/// told as not sent.
// Limit: RTP streams over TCP of one lane
// Beyond: all are forgotten
// Seen in: `trunkline_calls_media_flows_overflow_total`
pub const STREAMS_OVER_TCP_MAX: usize = 1 << 13;

/// A stream that came over TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverTcp {
    /// Packets of it in parts of the connection that the capture does not hold.
    pub lost_at_tap: u64,
    /// Places that the capture lacks, and the sequence number, up to its last packet.
    last: (u32, u16),
}

/// Who sends to whom, the source, and the flow of TURN around it.
type Of = (Endpoint, Endpoint, u32, u32);

/// The streams over TCP of one lane.
#[derive(Debug, Default)]
pub struct Streams {
    all: HashMap<Of, OverTcp>,
    /// Of the message in hand: places before it that the capture lacks.
    gaps: Option<u32>,
    /// Times that all were forgotten.
    pub overflow: u64,
}

fn of(key: &Key) -> Of {
    (key.from, key.to, key.ssrc, key.outer)
}

impl Streams {
    /// Takes a packet, if it came over TCP.
    pub fn take(&mut self, key: &Key, sequence: u16) {
        let Some(gaps) = self.gaps else { return };
        if self.all.len() >= STREAMS_OVER_TCP_MAX && !self.all.contains_key(&of(key)) {
            self.all.clear();
            self.overflow += 1;
        }
        let last = (gaps, sequence);
        let Some(stream) = self.all.get_mut(&of(key)) else {
            self.all.insert(of(key), OverTcp { lost_at_tap: 0, last });
            return;
        };
        let step = sequence.wrapping_sub(stream.last.1);
        if gaps != stream.last.0 && (1..0x8000).contains(&step) {
            stream.lost_at_tap += u64::from(step) - 1;
        }
        stream.last = last;
    }

    /// What is known of a stream so far; none if it does not come over TCP.
    pub(super) fn of(&self, key: &Key) -> Option<OverTcp> {
        self.all.get(&of(key)).copied()
    }

    /// What is known of a stream that is finished; none if it did not come over TCP.
    pub(super) fn release(&mut self, key: &Key) -> Option<OverTcp> {
        self.all.remove(&of(key))
    }
}

impl Lane {
    /// Takes what was put together.
    pub(super) fn reassembled(&mut self, number: u64, r: &Reassembled) {
        let Reassembled { at_ns, offset, file, datagram, octets, tcp } = r;
        let packet =
            MediaPacket { at_ns: *at_ns, number, offset: *offset, file: *file, datagram, payload: octets.as_slice() };
        let gaps = match *tcp {
            None => return self.rtp(&packet),
            Some(OfTcp::Message(gaps)) => gaps,
            Some(vain) => return self.in_vain(&packet, vain == OfTcp::Refused),
        };
        self.aside.get_or_insert_default().over_tcp.gaps = Some(gaps);
        if rtcp::looks_like_rtcp(octets) {
            reports::take(self, &packet, 0);
        } else {
            self.over_tcp(&packet);
        }
        self.aside.get_or_insert_default().over_tcp.gaps = None;
    }

    fn over_tcp(&mut self, packet: &MediaPacket<'_>) {
        let (from, to) = (packet.datagram.from(), packet.datagram.to());
        let begun = self.begun;
        self.rtp(packet);
        let Some(header) = rtp::Header::new(packet.payload) else { return };
        let key = Key { from, to, ssrc: header.ssrc, outer: 0 };
        self.aside.get_or_insert_default().over_tcp.take(&key, header.sequence);
        if self.begun > begun && self.directory.owner(from, to, packet.at_ns).is_none() {
            // It is some call's, and nothing says whose.
            let begun = Begun { first_ns: packet.at_ns, from, to };
            self.output.carried.push(Carried { carrier: Carrier::Tcp, begun });
        }
    }
}
