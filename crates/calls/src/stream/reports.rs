//! What RTCP says about a stream.

use trunkline_store::row::RtcpSummary;
use trunkline_wire::rtcp::{ReportBlock, SenderInfo, VoipMetrics};

/// Sender reports that a receiver's report may refer to.
const SENDER_REPORTS_KEPT: usize = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    pub(super) summary: RtcpSummary,
    /// Middle of the NTP time and capture time of the last sender reports.
    sent: [(u32, i64); SENDER_REPORTS_KEPT],
    next: u8,
    /// When a receiver last reported.
    pub(super) reported_ns: Option<i64>,
    /// Longest round trip since the last interval ended.
    pub(super) interval_round_trip_ms: Option<f32>,
    jitter_max: u32,
}

impl Reports {
    pub(super) fn sender(&mut self, at_ns: i64, sender: &SenderInfo) {
        self.summary.sender_reports = self.summary.sender_reports.saturating_add(1);
        self.summary.sent = Some(sender.packets);
        self.sent[usize::from(self.next) % SENDER_REPORTS_KEPT] = ((sender.ntp >> 16) as u32, at_ns);
        self.next = (self.next + 1) % SENDER_REPORTS_KEPT as u8;
    }

    /// A receiver's block. The round trip is that from the tap to the receiver and back: the time on the capture's
    /// clock since the sender report that the block names (LSR) less the time the receiver held it (DLSR). Measured
    /// from another tap nearer to the sender it is longer; the sender's own figure is that of a tap at the sender.
    pub(super) fn receiver(&mut self, at_ns: i64, block: &ReportBlock, missing: u64) {
        let summary = &mut self.summary;
        summary.receiver_reports = summary.receiver_reports.saturating_add(1);
        summary.lost = Some(block.lost);
        summary.missing_here = Some(missing);
        self.reported_ns = Some(at_ns);
        summary.fraction_max = summary.fraction_max.max(block.fraction_lost);
        self.jitter_max = self.jitter_max.max(block.jitter);
        if block.last_sender_report == 0 {
            return;
        }
        let named = self.sent.iter().find(|(middle, at)| *middle == block.last_sender_report && *at != 0);
        if let Some(&(_, sent_ns)) = named {
            let held_ms = f64::from(block.delay_since) * 1000.0 / 65_536.0;
            let ms = at_ns.saturating_sub(sent_ns) as f64 * 1e-6 - held_ms;
            // A result below zero by less than the clocks' rounding is zero.
            if (-1.0..60_000.0).contains(&ms) {
                let ms = ms.max(0.0) as f32;
                summary.round_trip_ms = Some(ms);
                self.interval_round_trip_ms = Some(self.interval_round_trip_ms.map_or(ms, |most| most.max(ms)));
            }
        }
    }

    /// VoIP metrics: their round trip where none was computed from reports.
    pub(super) fn metrics(&mut self, metrics: &VoipMetrics) {
        if self.summary.round_trip_ms.is_none() && metrics.round_trip_ms > 0 {
            self.summary.round_trip_ms = Some(f32::from(metrics.round_trip_ms));
        }
    }

    pub(super) fn summary(&self, clock_rate: u32) -> RtcpSummary {
        let known = self.summary.receiver_reports > 0 && clock_rate > 0;
        let jitter_max_ms = known.then(|| (f64::from(self.jitter_max) * 1000.0 / f64::from(clock_rate)) as f32);
        RtcpSummary { jitter_max_ms, ..self.summary }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_trip_is_seen_from_the_tap() {
        let mut r = Reports::default();
        r.sender(1_000_000_000, &SenderInfo { ntp: 0x1234_5678_9abc_def0, timestamp: 0, packets: 9, octets: 0 });
        let block = ReportBlock {
            ssrc: 1,
            fraction_lost: 3,
            lost: -2,
            highest_sequence: 0,
            jitter: 80,
            last_sender_report: 0x5678_9abc,
            delay_since: 0x8000,
        };
        r.receiver(1_540_000_000, &block, 1);
        let s = r.summary(8000);
        assert_eq!((s.lost, s.fraction_max, s.jitter_max_ms, s.sent), (Some(-2), 3, Some(10.0), Some(9)));
        assert!((s.round_trip_ms.unwrap() - 40.0).abs() < 0.001);
        // A shorter one later in the interval.
        r.sender(2_000_000_000, &SenderInfo { ntp: 0x1234_5679_9abc_def0, timestamp: 0, packets: 9, octets: 0 });
        r.receiver(2_520_000_000, &ReportBlock { last_sender_report: 0x5679_9abc, ..block }, 1);
        assert!((r.summary(8000).round_trip_ms.unwrap() - 20.0).abs() < 0.001);
        assert!((r.interval_round_trip_ms.unwrap() - 40.0).abs() < 0.001);
    }
}
