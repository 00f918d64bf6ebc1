//! Overload control (RFC 7683), the side that reports: clients that know of it are asked to send less while the disk is
//! behind, before they have to be refused.

use crate::calendar::Moment;
use crate::job::BUSY_PERCENT;
use trunkline_wire::diameter::credit::OverloadReport;

/// What we know of it: the default algorithm, loss (section 7.2), as the octets of OC-Feature-Vector.
pub const FEATURES: [u8; 16] = [0, 0, 2, 0x6e, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 1];
/// How far the disk is behind, percent, when the first report is made: before anything is refused.
const FIRST_PERCENT: usize = BUSY_PERCENT[0] / 2;
/// Reductions are multiples of it, so that a report is not another one with each answer.
const STEP: u32 = 10;
/// The highest: some have to come, or nobody would see that it is over.
const MOST: u32 = 90;
/// Seconds that a reduction stands before a lower one takes its place.
const HOLD_S: Moment = 5;
/// Seconds that a report holds (OC-Validity-Duration), and for which its end is told.
const VALIDITY_S: u32 = 30;

/// The report as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overload {
    percent: u32,
    sequence: u64,
    since: Moment,
}

impl Overload {
    /// What clients are told now, with the disk so many percent behind. None: there is nothing to tell.
    pub fn report(&mut self, behind: usize, now: Moment) -> Option<OverloadReport> {
        let wanted = reduction(behind);
        let held = (self.since..self.since.saturating_add(HOLD_S)).contains(&now);
        if wanted > self.percent || (wanted < self.percent && !held) {
            // Higher than before a restart, too: the clock has gone on since (section 7.4).
            let at = u64::try_from(now).unwrap_or(0) << 16;
            *self = Overload { percent: wanted, sequence: at.max(self.sequence + 1), since: now };
        }
        let ended = (self.since..self.since.saturating_add(Moment::from(VALIDITY_S))).contains(&now);
        let validity = match self.percent {
            0 if self.sequence == 0 || !ended => return None,
            0 => 0,
            _ => VALIDITY_S,
        };
        Some(OverloadReport {
            sequence_number: self.sequence,
            // HOST_REPORT: of this node.
            report_type: 0,
            reduction_percent: Some(self.percent),
            validity_s: Some(validity),
        })
    }
}

/// None below the first mark, [`MOST`] where everything is refused, in steps between.
fn reduction(behind: usize) -> u32 {
    let (over, range) = (behind.saturating_sub(FIRST_PERCENT), BUSY_PERCENT[1] - FIRST_PERCENT);
    let percent = u32::try_from(over.min(range) * 100 / range).unwrap_or(MOST);
    (percent / STEP * STEP).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(report: Option<OverloadReport>) -> Option<(Option<u32>, Option<u32>)> {
        report.map(|report| (report.reduction_percent, report.validity_s))
    }

    #[test]
    fn a_reduction_rises_at_once_falls_slowly_and_ends_with_a_word() {
        let mut overload = Overload::default();
        assert_eq!(overload.report(12, 1000), None);
        let first = overload.report(25, 1000).expect("a report");
        assert_eq!(told(Some(first)), Some((Some(20), Some(30))));
        let second = overload.report(75, 1001).expect("a report");
        assert_eq!(second.reduction_percent, Some(90));
        assert!(second.sequence_number > first.sequence_number);
        // It holds for a while, then there is less of it, then none.
        assert_eq!(overload.report(30, 1003), Some(second));
        assert_eq!(told(overload.report(30, 1006)), Some((Some(20), Some(30))));
        let end = overload.report(0, 1020).expect("its end is told");
        assert_eq!(told(Some(end)), Some((Some(0), Some(0))));
        assert!(end.sequence_number > second.sequence_number);
        assert_eq!(overload.report(0, 1049), Some(end));
        assert_eq!(overload.report(0, 1050), None);
    }

    #[test]
    fn numbers_grow_over_restarts_and_clocks_that_go_back() {
        let mut before = Overload::default();
        let last = (0..50).map(|n| before.report(if n % 2 == 0 { 80 } else { 0 }, 1000 + 6 * n)).last();
        let mut after = Overload::default();
        let first = after.report(80, 1400).expect("a report");
        assert!(last.flatten().is_some_and(|last| last.sequence_number < first.sequence_number));
        let back = after.report(0, 900).expect("its end is told");
        assert!(back.sequence_number > first.sequence_number && back.reduction_percent == Some(0));
    }
}
