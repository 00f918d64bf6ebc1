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
    /// Calls with a verdict.
    pub bad: i64,
    /// Not answered, but brought to the called user, as [`Minute::ner`] counts.
    pub delivered: i64,
    /// Challenged with 401 or 407 and not tried again: no seizures.
    pub challenged: i64,
    /// Joined in mid-call: no new attempts, so no seizures.
    pub joined: i64,
}

/// How many counts a minute has.
pub const COUNTS: usize = 17;

/// What one call tells its minute.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Told {
    /// How it ended.
    pub state: CallState,
    /// Status code, 0 if there was none.
    pub code: u16,
    /// From answer to end, microseconds.
    pub duration_us: Option<i64>,
    /// Post-dial delay, microseconds; none if it did not ring.
    pub pdd_us: Option<i64>,
    /// Score.
    pub mos: Option<f32>,
    /// Whether it has a verdict.
    pub bad: bool,
}

impl Told {
    /// Whether a call that was not answered came as far as the called user: "user busy", "ring no answer" and "terminal
    /// rejection" of ITU-T E.425, which are the network's success.
    ///
    /// Of final responses these are the codes of RFC 6076 section 4.7 (SEER): 480, 486, 600, 603. Ring no answer is, in
    /// SIP, nearly always the caller's: CANCEL after 180 or 183.
    // Field: 408 may be a phone that rang in vain, and mostly is a proxy that found nobody (RFC 3261 section 21.4.9);
    // 403 may be the called user's and mostly is a network's. Neither counts.
    pub fn was_delivered(&self) -> bool {
        match self.state {
            CallState::Rejected => matches!(self.code, 480 | 486 | 600 | 603),
            CallState::Cancelled => self.pdd_us.is_some(),
            _ => false,
        }
    }
}

/// The minute of a time, since 1970.
pub fn minute_of(at_ns: i64) -> i64 {
    at_ns.div_euclid(MINUTE_NS)
}

/// What one call tells. Only columns of its row are looked at, so that it can be made from the stored row as well.
pub fn told(call: &Call) -> Told {
    Told {
        state: call.state,
        code: call.code,
        duration_us: duration_ns(call).map(|ns| ns / 1000),
        pdd_us: call.ringing_ns.map(|at| at.saturating_sub(call.start_ns) / 1000),
        mos: call.mos,
        bad: call.verdict.as_ref().is_some_and(|v| !v.kind.is_empty()),
    }
}

/// What one call counts.
pub fn of(call: &Call) -> Minute {
    let mut minute = Minute::default();
    minute.count(&told(call));
    minute
}

impl Minute {
    /// Counts a call.
    #[inline]
    pub fn count(&mut self, t: &Told) {
        self.started += 1;
        self.answered += i64::from(was_answered(t.state));
        match t.state {
            CallState::Completed => self.completed += 1,
            CallState::Cancelled => self.cancelled += 1,
            CallState::Redirected => self.redirected += 1,
            CallState::AuthChallenged => self.challenged += 1,
            CallState::JoinedMidCall => self.joined += 1,
            CallState::Rejected => {
                let class = usize::from(t.code / 100).checked_sub(4);
                class.and_then(|class| self.rejected.get_mut(class)).into_iter().for_each(|sum| *sum += 1);
            }
            _ => {}
        }
        self.duration_us = self.duration_us.saturating_add(t.duration_us.unwrap_or(0));
        self.pdd_us = self.pdd_us.saturating_add(t.pdd_us.unwrap_or(0));
        self.pdd_count += i64::from(t.pdd_us.is_some());
        self.mos_thousandths += t.mos.map_or(0, |mos| (f64::from(mos) * 1000.0).round() as i64);
        self.mos_count += i64::from(t.mos.is_some());
        self.bad += i64::from(t.bad);
        self.delivered += i64::from(t.was_delivered());
    }

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
    pub fn columns(&self) -> [i64; COUNTS] {
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
            self.bad,
            self.delivered,
            self.challenged,
            self.joined,
        ]
    }

    /// From counts in the order of the columns.
    pub fn from_columns(c: [i64; COUNTS]) -> Self {
        let [started, answered, completed, cancelled, redirected, four, five, six, rest @ ..] = c;
        let [duration_us, pdd_us, pdd_count, mos_thousandths, mos_count, bad, delivered, challenged, joined] = rest;
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
            bad,
            delivered,
            challenged,
            joined,
        }
    }

    /// Calls that were begun in this minute, joined ones left out.
    pub fn attempts(&self) -> i64 {
        self.started.saturating_sub(self.joined)
    }

    /// Attempts that were to lead somewhere: all but those redirected (RFC 6076 section 4.6) or only challenged, which
    /// come again as other calls or as none.
    pub fn seizures(&self) -> i64 {
        self.attempts().saturating_sub(self.redirected).saturating_sub(self.challenged)
    }

    /// Answer-seizure ratio, 0 to 1 (ITU-T E.425); none without seizures.
    pub fn asr(&self) -> Option<f64> {
        ratio(self.answered, self.seizures())
    }

    /// Network effectiveness ratio, 0 to 1 (ITU-T E.425): answered, busy, not answered by the called user, or rejected
    /// by that user; none without seizures. [`Told::was_delivered`] says which those are.
    pub fn ner(&self) -> Option<f64> {
        ratio(self.answered.saturating_add(self.delivered), self.seizures())
    }

    /// Average call duration: seconds from answer to end, of answered calls.
    pub fn acd_s(&self) -> Option<f64> {
        ratio(self.duration_us, self.answered).map(|us| us / 1e6)
    }

    /// Mean post-dial delay of the calls that rang, milliseconds.
    pub fn pdd_ms(&self) -> Option<f64> {
        ratio(self.pdd_us, self.pdd_count).map(|us| us / 1e3)
    }

    /// Mean of the scores.
    pub fn mos(&self) -> Option<f64> {
        ratio(self.mos_thousandths, self.mos_count).map(|thousandths| thousandths / 1e3)
    }
}

fn ratio(of: i64, all: i64) -> Option<f64> {
    (all > 0).then(|| of as f64 / all as f64)
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

    #[test]
    fn ratios_are_those_of_the_recommendation() {
        let mut sum = Minute::default();
        let mut add = |state, code, ringing_ns| {
            sum.add(&of(&Call { state, code, ringing_ns, ..Call::default() }), 1);
        };
        // Six reached the called user (one answered), three did not; two were no seizures.
        add(CallState::Completed, 200, Some(1_000_000));
        [480, 486, 600, 603].into_iter().for_each(|code| add(CallState::Rejected, code, None));
        add(CallState::Cancelled, 487, Some(3_000_000));
        add(CallState::Cancelled, 487, None);
        [404, 503].into_iter().for_each(|code| add(CallState::Rejected, code, None));
        add(CallState::AuthChallenged, 407, None);
        add(CallState::Redirected, 302, None);
        // Its beginning was not seen: no attempt of this capture.
        add(CallState::JoinedMidCall, 0, None);
        assert_eq!((sum.started, sum.attempts(), sum.seizures()), (12, 11, 9));
        assert_eq!((sum.asr(), sum.ner(), sum.pdd_ms()), (Some(1.0 / 9.0), Some(6.0 / 9.0), Some(2.0)));
        assert_eq!((sum.acd_s(), sum.mos(), Minute::default().asr()), (Some(0.0), None, None));
    }
}
