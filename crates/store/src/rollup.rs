//! What a call adds to its minute. Whole numbers only: what was added can be taken out again to the last digit.

use crate::json::{duration_ns, was_answered};
use crate::row::{Call, CallState};
use crate::time::MINUTE_NS;

/// Calls of one minute, summed: the columns of [`crate::schema::MINUTES`] behind the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Minute {
    /// Calls that started in it.
    pub started: i64,
    /// Of these, with a 2xx.
    pub answered: i64,
    /// Of these, with a 2xx and BYE.
    pub completed: i64,
    /// Cancelled.
    pub cancelled: i64,
    /// Ended with 3xx.
    pub redirected: i64,
    /// Ended with 4xx, 5xx, 6xx.
    pub rejected: [i64; 3],
    /// Sum of durations, microseconds.
    pub duration_us: i64,
    /// Sum of post-dial delays, microseconds.
    pub pdd_us: i64,
    /// Calls that rang.
    pub pdd_count: i64,
    /// Sum of scores, thousandths.
    pub mos_thousandths: i64,
    /// Calls with a score.
    pub mos_count: i64,
}

/// The minute of a time, since 1970.
pub fn minute_of(at_ns: i64) -> i64 {
    at_ns.div_euclid(MINUTE_NS)
}

/// What one call counts. Only columns of its row are looked at, so that it can be made from the stored row as well.
pub fn of(call: &Call) -> Minute {
    let rejected = |class: u16| i64::from(call.state == CallState::Rejected && call.code / 100 == class);
    let pdd = call.ringing_ns.map(|at| at.saturating_sub(call.start_ns));
    Minute {
        started: 1,
        answered: i64::from(was_answered(call.state)),
        completed: i64::from(call.state == CallState::Completed),
        cancelled: i64::from(call.state == CallState::Cancelled),
        redirected: i64::from(call.state == CallState::Redirected),
        rejected: [rejected(4), rejected(5), rejected(6)],
        duration_us: duration_ns(call).unwrap_or(0) / 1000,
        pdd_us: pdd.unwrap_or(0) / 1000,
        pdd_count: i64::from(pdd.is_some()),
        mos_thousandths: call.mos.map_or(0, |mos| (f64::from(mos) * 1000.0).round() as i64),
        mos_count: i64::from(call.mos.is_some()),
    }
}

impl Minute {
    /// Adds another's counts, or takes them out.
    pub fn add(&mut self, other: &Minute, times: i64) {
        let add = |sum: i64, more: i64| match times {
            1 => sum.saturating_add(more),
            times => sum.saturating_add(more.saturating_mul(times)),
        };
        let mut sums = self.columns();
        for (sum, more) in sums.iter_mut().zip(other.columns()) {
            *sum = add(*sum, more);
        }
        *self = Self::from_columns(sums);
    }

    /// The counts in the order of the columns.
    pub fn columns(&self) -> [i64; 13] {
        let [four, five, six] = self.rejected;
        [
            self.started,
            self.answered,
            self.completed,
            self.cancelled,
            self.redirected,
            four,
            five,
            six,
            self.duration_us,
            self.pdd_us,
            self.pdd_count,
            self.mos_thousandths,
            self.mos_count,
        ]
    }

    /// From counts in the order of the columns.
    pub fn from_columns(c: [i64; 13]) -> Self {
        let [started, answered, completed, cancelled, redirected, four, five, six, rest @ ..] = c;
        let [duration_us, pdd_us, pdd_count, mos_thousandths, mos_count] = rest;
        let rejected = [four, five, six];
        Minute {
            started,
            answered,
            completed,
            cancelled,
            redirected,
            rejected,
            duration_us,
            pdd_us,
            pdd_count,
            mos_thousandths,
            mos_count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_comes_out_again() {
        let call = Call {
            state: CallState::Completed,
            ringing_ns: Some(1_500_000),
            answer_ns: Some(2_000_000),
            end_ns: Some(60_002_000_000),
            mos: Some(4.2),
            ..Call::default()
        };
        let mut sum = Minute::default();
        sum.add(&of(&call), 1);
        assert_eq!((sum.answered, sum.duration_us, sum.pdd_us, sum.mos_thousandths), (1, 60_000_000, 1500, 4200));
        assert_eq!(Minute::from_columns(sum.columns()), sum);
        sum.add(&of(&call), -1);
        assert_eq!(sum, Minute::default());
    }
}
