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
    /// When the sender last reported.
    pub(super) counted_ns: Option<i64>,
    /// Longest round trip since the last interval ended.
    pub(super) interval_round_trip_ms: Option<f32>,
    jitter_max: u32,
    /// What the receiver's first report counted that cannot be of this capture: it began earlier.
    before: i64,
    /// What came by here when a receiver last reported.
    here: Here,
    /// Share of the packets that the receiver lost since it began, of 256, by its VoIP metrics.
    loss_rate: u8,
}

/// What came by here of the numbers that a report is about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Here {
    /// Packets missing here, as the receiver counts: copies hide losses.
    pub(super) missing: u64,
    /// Numbers that never came here.
    pub(super) never_came: u64,
    /// Distinct packets that came by; 0 where the report does not tell which numbers it is about.
    pub(super) passed: u64,
}

/// Of what a receiver says it lost in all, so much more than its highest loss between two reports (RFC 3550 section
/// 6.4.1) is rounding, as a share. More is from before the capture, or made up.
const ROUNDING_MAX: f64 = 0.02;

/// Of what the receiver's first report counts beyond what is missing here, that which is from before: more than came by
/// here, or more than the share of it that it says it lost lately, of a source that went on from another host.
fn before(block: &ReportBlock, here: Here, beyond: i64) -> i64 {
    let covered = (here.passed + here.never_came) as f64;
    let lately = covered * (f64::from(block.fraction_lost) + 1.0) / 256.0;
    let earlier = f64::from(block.lost) - lately;
    match () {
        () if beyond > here.passed as i64 => beyond,
        () if block.fraction_lost > 0 && earlier > covered * ROUNDING_MAX => (earlier as i64).clamp(0, beyond.max(0)),
        () => 0,
    }
}

impl Reports {
    pub(super) fn sender(&mut self, at_ns: i64, sender: &SenderInfo) {
        self.summary.sender_reports = self.summary.sender_reports.saturating_add(1);
        self.summary.sent = Some(sender.packets);
        self.counted_ns = Some(at_ns);
        self.sent[usize::from(self.next) % SENDER_REPORTS_KEPT] = ((sender.ntp >> 16) as u32, at_ns);
        self.next = (self.next + 1) % SENDER_REPORTS_KEPT as u8;
    }

    /// A receiver's block. The round trip is that from the tap to the receiver and back: the time on the capture's
    /// clock since the sender report that the block names (LSR) less the time the receiver held it (DLSR). Measured
    /// from another tap nearer to the sender it is longer; the sender's own figure is that of a tap at the sender.
    pub(super) fn receiver(&mut self, at_ns: i64, block: &ReportBlock, here: Here) {
        let summary = &mut self.summary;
        let beyond = i64::from(block.lost) - here.never_came as i64;
        if summary.receiver_reports == 0 {
            self.before = before(block, here, beyond);
        }
        self.here = here;
        summary.receiver_reports = summary.receiver_reports.saturating_add(1);
        summary.lost = Some(block.lost);
        summary.missing_here = Some(here.missing);
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

    /// VoIP metrics: their round trip and their loss where reports tell none.
    pub(super) fn metrics(&mut self, metrics: &VoipMetrics, here: Here) {
        self.loss_rate = metrics.loss_rate;
        if self.summary.receiver_reports == 0 {
            self.here = here;
        }
        if self.summary.round_trip_ms.is_none() && metrics.round_trip_ms > 0 {
            self.summary.round_trip_ms = Some(f32::from(metrics.round_trip_ms));
        }
    }

    pub(super) fn summary(&self, clock_rate: u32) -> RtcpSummary {
        let known = self.summary.receiver_reports > 0 && clock_rate > 0;
        let jitter_max_ms = known.then(|| (f64::from(self.jitter_max) * 1000.0 / f64::from(clock_rate)) as f32);
        let (lost_after_tap, passed) = self.after_tap();
        RtcpSummary { jitter_max_ms, lost_after_tap, passed, ..self.summary }
    }

    /// Packets that came by here and that the receiver lost, and of how many.
    fn after_tap(&self) -> (u64, u64) {
        let Here { never_came, passed, .. } = self.here;
        let share = |lost: u64| lost as f64 / passed.max(1) as f64;
        let by_metrics = || {
            let lost = (u64::from(self.loss_rate) * (passed + never_came)).div_ceil(256);
            lost.saturating_sub(never_came)
        };
        let Some(lost) = self.summary.lost else { return (by_metrics(), passed) };
        let lost = u64::try_from(i64::from(lost) - never_came as i64 - self.before).unwrap_or(0);
        let most = f64::from(self.summary.fraction_max) / 256.0;
        if share(lost) > most + ROUNDING_MAX { (0, 0) } else { (lost.min(passed), passed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Here = Here { missing: 10, never_came: 10, passed: 990 };

    /// Lost behind the tap after reports of these losses, and of these fractions of 256.
    fn after(reports: &[(i32, u8)]) -> (u64, u64) {
        let mut r = Reports::default();
        for (lost, fraction_lost) in reports {
            let block = ReportBlock {
                ssrc: 1,
                fraction_lost: *fraction_lost,
                lost: *lost,
                highest_sequence: 1,
                jitter: 0,
                last_sender_report: 0,
                delay_since: 0,
            };
            r.receiver(1, &block, HERE);
        }
        let s = r.summary(8000);
        (s.lost_after_tap, s.passed)
    }

    #[test]
    fn lost_behind_the_tap_is_what_is_not_missing_here() {
        assert_eq!(after(&[(208, 51)]), (198, 990));
        assert_eq!(after(&[(10, 2)]), (0, 990), "the receiver lost what is missing here");
        assert_eq!(after(&[(-5, 0)]), (0, 990), "copies");
        // Counted before the capture began: no report says that any is lost now.
        assert_eq!(after(&[(500, 0)]), (0, 0));
        assert_eq!(after(&[(5000, 0), (5010, 3)]), (10, 990));
        // Noise.
        assert_eq!(after(&[(8_293_549, 208)]), (0, 990));
    }

    #[test]
    fn voip_metrics_tell_losses_where_no_report_does() {
        let mut octets = [0u8; 32];
        octets[4] = 51;
        let xr = [&[0x80, 207, 0, 10, 0, 0, 0, 9, 7, 0, 0, 8][..], &octets].concat();
        let mut r = Reports::default();
        for packet in trunkline_wire::rtcp::Packets::new(&xr) {
            let trunkline_wire::rtcp::Body::ExtendedReport { blocks, .. } = packet.body else { panic!() };
            for block in blocks {
                let trunkline_wire::rtcp::ExtendedBlock::VoipMetrics(metrics) = block else { panic!() };
                r.metrics(&metrics, HERE);
            }
        }
        let s = r.summary(8000);
        assert_eq!((s.lost_after_tap, s.passed), (190, 990));
    }

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
        r.receiver(1_540_000_000, &block, HERE);
        let s = r.summary(8000);
        assert_eq!((s.lost, s.fraction_max, s.jitter_max_ms, s.sent), (Some(-2), 3, Some(10.0), Some(9)));
        assert!((s.round_trip_ms.unwrap() - 40.0).abs() < 0.001);
        // A shorter one later in the interval.
        r.sender(2_000_000_000, &SenderInfo { ntp: 0x1234_5679_9abc_def0, timestamp: 0, packets: 9, octets: 0 });
        r.receiver(2_520_000_000, &ReportBlock { last_sender_report: 0x5679_9abc, ..block }, HERE);
        assert!((r.summary(8000).round_trip_ms.unwrap() - 20.0).abs() < 0.001);
        assert!((r.interval_round_trip_ms.unwrap() - 40.0).abs() < 0.001);
    }
}
