//! RTCP: sender, receiver and extended reports laid against the streams they speak of (RFC 3550 section 6.4, RFC 3611).

use super::{Lane, MediaPacket, Tracked};
use crate::ledger::RECEIVED_MAX;
pub use crate::ledger::Received;
use crate::limits::PAUSE_NS;
use crate::stream::Place;
use smallvec::SmallVec;
use trunkline_wire::Endpoint;
use trunkline_wire::rtcp::{Body, ExtendedBlock, Packets, ReportBlock, VoipMetrics};

/// Between which endpoints reports go, and inside which flow of TURN.
#[derive(Clone, Copy)]
struct Way {
    from: Endpoint,
    to: Endpoint,
    outer: u32,
}

/// Takes a compound packet; `outer` is the flow of TURN around it, 0 where there is none.
pub fn take(lane: &mut Lane, packet: &MediaPacket<'_>, outer: u32) {
    let way = Way { from: packet.datagram.from(), to: packet.datagram.to(), outer };
    for part in Packets::new(packet.payload) {
        match part.body {
            Body::SenderReport { ssrc, sender, reports } => {
                for at in lane.streams_of(ssrc, way.from, way.to, outer) {
                    let Some(tracked) = lane.streams[at as usize].as_deref_mut() else { continue };
                    let is_own = way.from.address == tracked.key.from.address
                        || lane.directory.controls(&way.from, &tracked.key.from);
                    if is_own || !tracked.is_silent(packet.at_ns) {
                        tracked.analyzer.rtcp_sender(packet.at_ns, &sender);
                        reports.for_each(|report| note(&mut tracked.received, &report));
                    }
                }
                reports.for_each(|report| receiver(lane, packet.at_ns, &report, way));
            }
            Body::ReceiverReport { reports, .. } => {
                reports.for_each(|report| receiver(lane, packet.at_ns, &report, way));
            }
            Body::ExtendedReport { blocks, .. } => {
                blocks.for_each(|block| {
                    if let ExtendedBlock::VoipMetrics(metrics) = block {
                        extended(lane, &metrics, way);
                    }
                });
            }
            _ => {}
        }
    }
}

/// What one end received, told to the other one: the stream went the other way.
fn receiver(lane: &mut Lane, at_ns: i64, report: &ReportBlock, way: Way) {
    for at in lane.streams_of(report.ssrc, way.to, way.from, way.outer) {
        let tracked = lane.streams[at as usize].as_deref_mut();
        if let Some(tracked) = tracked.filter(|t| !t.is_about_another(at_ns, report)) {
            tracked.analyzer.rtcp_report(at_ns, report);
        }
    }
}

/// The same by VoIP metrics (RFC 3611 section 4.7).
fn extended(lane: &mut Lane, metrics: &VoipMetrics, way: Way) {
    for at in lane.streams_of(metrics.ssrc, way.to, way.from, way.outer) {
        if let Some(tracked) = lane.streams[at as usize].as_deref_mut() {
            tracked.analyzer.rtcp_metrics(metrics);
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

/// Whether RTCP of an endpoint belongs to its RTP: the next port (RFC 3550 section 11) or the same one (RFC 5761).
fn belongs(rtcp: Endpoint, rtp: Endpoint) -> bool {
    rtcp.address == rtp.address && (rtcp.port == rtp.port || rtcp.port == rtp.port.wrapping_add(1))
}

/// A source that goes on from or to another host (a re-INVITE, a translator) keeps its SSRC and counts on: what is told
/// of it from then on is about the stream there. The lanes of the two need not be the same, so that each stream decides
/// for itself.
impl Tracked {
    /// What the receiver has last came before the stream began, or comes since it is silent.
    fn is_about_another(&self, at_ns: i64, report: &ReportBlock) -> bool {
        match self.analyzer.place_of(report.highest_sequence as u16) {
            _ if report.highest_sequence == 0 => false,
            Place::Before => true,
            Place::Within => false,
            Place::Behind => self.is_silent(at_ns),
        }
    }

    fn is_silent(&self, at_ns: i64) -> bool {
        at_ns.saturating_sub(self.last_ns) > PAUSE_NS
    }
}

impl Lane {
    /// Streams of an SSRC whose sender's RTCP is at `sender` and whose receiver's is at `receiver`: next to their RTP,
    /// or where a description names it. Behind network address translation or a mixer only one of the two need be the
    /// stream's. Addresses alone are not enough: a relay sends the same SSRC to several, and some senders have one SSRC
    /// for all their calls.
    fn streams_of(&self, ssrc: u32, sender: Endpoint, receiver: Endpoint, outer: u32) -> Vec<u32> {
        let Some(streams) = self.by_ssrc.get(&ssrc) else { return Vec::new() };
        let belongs = |rtcp, rtp| belongs(rtcp, rtp) || self.directory.controls(&rtcp, &rtp);
        let fits = |at: &&u32| {
            let stream = self.streams[**at as usize].as_ref();
            stream
                .filter(|s| s.key.outer == outer)
                .is_some_and(|s| belongs(sender, s.key.from) || belongs(receiver, s.key.to))
        };
        streams.iter().filter(fits).copied().collect()
    }
}
