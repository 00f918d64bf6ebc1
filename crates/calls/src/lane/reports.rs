//! RTCP: sender and receiver reports laid against the streams they speak of (RFC 3550 section 6.4).

use super::{Lane, MediaPacket};
use crate::ledger::RECEIVED_MAX;
pub use crate::ledger::Received;
use smallvec::SmallVec;
use trunkline_wire::Address;
use trunkline_wire::rtcp::{Body, Packets, ReportBlock};

/// Takes a compound packet.
pub fn take(lane: &mut Lane, packet: &MediaPacket<'_>) {
    let (from, to) = (packet.datagram.src, packet.datagram.dst);
    for part in Packets::new(packet.payload) {
        match part.body {
            Body::SenderReport { ssrc, sender, reports } => {
                for at in lane.streams_of(ssrc, |src, _| src == from) {
                    if let Some(tracked) = lane.streams[at as usize].as_deref_mut() {
                        tracked.analyzer.rtcp_sender(packet.at_ns, &sender);
                        reports.for_each(|report| note(&mut tracked.received, &report));
                    }
                }
                reports.for_each(|report| receiver(lane, packet.at_ns, &report, from, to));
            }
            Body::ReceiverReport { reports, .. } => {
                reports.for_each(|report| receiver(lane, packet.at_ns, &report, from, to));
            }
            _ => {}
        }
    }
}

/// What `from` received, told to `to`: the stream went the other way. Behind network address translation or a mixer
/// only one of the two addresses need be the stream's.
fn receiver(lane: &mut Lane, at_ns: i64, report: &ReportBlock, from: Address, to: Address) {
    let streams = lane.streams_of(report.ssrc, |src, dst| src == to || dst == from);
    for at in &streams {
        if let Some(tracked) = lane.streams[*at as usize].as_deref_mut() {
            tracked.analyzer.rtcp_report(at_ns, report);
        }
    }
}

/// Notes what a sender says it receives: there may be no such stream here.
fn note(received: &mut SmallVec<[Received; 1]>, report: &ReportBlock) {
    if let Some(known) = received.iter_mut().find(|r| r.ssrc == report.ssrc) {
        known.packets = u64::from(report.highest_sequence.wrapping_sub(known.first));
        return;
    }
    // RFC 3550 section 6.4.1: a block is there only if something was received since the last report.
    if received.len() < RECEIVED_MAX && report.ssrc != 0 && report.highest_sequence != 0 {
        received.push(Received { ssrc: report.ssrc, first: report.highest_sequence, packets: 0 });
    }
}

impl Lane {
    /// Streams of an SSRC whose addresses fit.
    fn streams_of(&self, ssrc: u32, fits: impl Fn(Address, Address) -> bool) -> Vec<u32> {
        let Some(streams) = self.by_ssrc.get(&ssrc) else { return Vec::new() };
        let fits = |at: &&u32| {
            self.streams[**at as usize].as_ref().is_some_and(|s| fits(s.key.from.address, s.key.to.address))
        };
        streams.iter().filter(fits).copied().collect()
    }
}
