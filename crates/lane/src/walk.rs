//! The one way of packets to the jobs.

use crate::class::{PacketClass, classify, payload};
use crate::counters::DecodeCounters;
use crate::job::{LaneJob, SeenPacket};
use core::ops::ControlFlow;
use trunkline_capture::{Batch, Packet};
use trunkline_wire::Decoded;
use trunkline_wire::rtcp::Packets;

/// What is particular about packets of a source: what has to be set in them before jobs see them.
pub trait Origin {
    /// Sets what the source could not know (a number that no other lane gives), and says the packet's steady time.
    fn admit(&mut self, packet: &mut Packet) -> i64;
}

/// Decodes and classifies each packet of a batch, once, and passes it to the jobs in order. Behind it the batch's
/// packets bear steady time, and the place that a job set. What decoding counted.
pub fn walk<J: LaneJob>(batch: &mut Batch, origin: &mut impl Origin, jobs: &mut J) -> DecodeCounters {
    let mut counters = DecodeCounters { packets: batch.packets.len() as u64, ..DecodeCounters::default() };
    for at in 0..batch.packets.len() {
        let mut packet = batch.packets[at];
        let steady_ns = origin.admit(&mut packet);
        let octets = batch.octets_of(&packet);
        let decoded = trunkline_wire::decode(packet.link, octets);
        counters.see(&decoded);
        let class = classify(&decoded, octets);
        // By reference: copies would cost some nanoseconds a packet.
        let seen = SeenPacket { at: at as u32, packet: &mut packet, steady_ns, octets, decoded: &decoded, class };
        let on = jobs.take(&mut { seen });
        if class == PacketClass::Rtcp && on == ControlFlow::Continue(()) {
            counters.rtcp += rtcp_packets(&decoded, octets);
        }
        packet.at_ns = steady_ns;
        batch.packets[at] = packet;
    }
    counters
}

/// RTCP packets of a compound.
fn rtcp_packets(decoded: &Decoded, octets: &[u8]) -> u64 {
    match decoded {
        Decoded::Udp(datagram) => Packets::new(payload(datagram, octets)).count() as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
