//! What the reader of the log, the live capture and the keeper of the checkpoint know of each other.

use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trunkline_calls::limits::LINGER_NS;
use trunkline_kit::Id;
use trunkline_kit::metrics::Sample;
use trunkline_store::row::{Call, CallState, Stream};

/// Calls that are followed over a start; further ones have a row for each half, and are counted.
// Limit: calls continued over a restart
// Beyond: further calls have one row for each half
// Seen in: `trunkline_recovery_overflow_total`
pub const FOLLOWED_MAX: usize = 100_000;
/// Media of recovered calls that is known again.
const MEDIA_MAX: usize = 200_000;
/// What begins so much before the whole of which it would be the second half lies in the time before it: the clock was
/// set back between two runs.
const BEFORE_NS: i64 = 1_000_000_000;
/// What is said of a second half that has a row of its own.
const APART: &str = "the first half of this call is another row: the clock was set back between two runs";
const LATE: &str = "the first half of this call is another row: its end was waited for no longer after a restart";

trunkline_kit::counters! {
    /// What recovery counts.
    pub struct Counted {
        /// rows of calls made out of the packet log after a start
        calls: "trunkline_recovery_calls_total",
        /// packets of the packet log read for them
        packets: "trunkline_recovery_packets_total",
        /// times that the packet log was read
        passes: "trunkline_recovery_passes_total",
        /// segments of the packet log that could not be read to their end
        faults: "trunkline_recovery_broken_segments_total",
        /// rows of second halves of calls left out, because the whole call is read from the packet log
        halves: "trunkline_recovery_halves_total",
        /// second halves with a row of their own, as their clock was set back or they were waited for too long
        apart: "trunkline_recovery_apart_calls_total",
        /// starts at which the packet log ended later than now: the clock was set back between two runs
        set_back: "trunkline_recovery_clock_set_back_total",
        /// calls that were up at the last checkpoint and of whose time the packet log has nothing any more
        gone: "trunkline_recovery_gone_calls_total",
        /// times that reading paused because a ring filled
        pauses: "trunkline_recovery_pauses_total",
        /// calls and rows beyond the limits of recovery: a call may have a row for each half
        beyond: "trunkline_recovery_overflow_total",
        /// checkpoints written
        checkpoints: "trunkline_recovery_checkpoints_total",
        /// checkpoints that could not be written
        failures: "trunkline_recovery_checkpoint_failures_total",
    }
}

/// How far recovery is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// There is nothing to recover, or it is not wanted.
    #[default]
    Idle,
    /// Signalling is read: which calls were up is not known yet.
    Finding,
    /// Everything is read, for the media of calls.
    Reading,
    /// Calls that were up are waited for.
    Following,
    /// All is recovered.
    Done,
}

impl Phase {
    /// A word for people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Finding => "reading signalling",
            Phase::Reading => "reading media",
            Phase::Following => "waiting for calls that are still up",
            Phase::Done => "done",
        }
    }
}

/// A call that was up when the program before ended, or had ended only just.
#[derive(Clone, Copy, Debug, Default)]
pub struct Followed {
    /// When it began, nanoseconds since 1970.
    pub start_ns: i64,
    /// Its last packet in the log, nanoseconds since 1970.
    pub last_ns: i64,
    /// Its identifier if it was joined in mid-call.
    pub joined: Option<Id>,
    /// Its end was not seen, and is waited for.
    pub is_up: bool,
    /// It was answered.
    pub is_answered: bool,
    /// Its end was not seen, and is waited for no longer.
    pub is_given_up: bool,
}

impl Followed {
    /// As the log tells.
    pub fn of(call: &Call) -> Followed {
        let is_joined = call.state == CallState::JoinedMidCall;
        let is_over = matches!(
            call.state,
            CallState::Redirected | CallState::Rejected | CallState::Cancelled | CallState::Completed
        );
        Followed {
            start_ns: call.start_ns,
            last_ns: call.last_ns,
            joined: is_joined.then_some(call.id),
            is_up: call.end_ns.is_none() && !is_over,
            is_answered: is_joined || call.state == CallState::Answered,
            is_given_up: false,
        }
    }

    /// It is waited for no longer.
    pub fn give_up(&mut self) {
        (self.is_up, self.is_given_up) = (false, true);
    }

    /// Whether a row of the live capture has more of it than stragglers, which reading the log again would add.
    fn goes_on_in(&self, call: &Call) -> bool {
        let lingers_ns = self.last_ns.saturating_add(LINGER_NS);
        self.is_given_up || call.start_ns <= lingers_ns && call.last_ns > lingers_ns.saturating_add(LINGER_NS)
    }

    /// Whether a call of the live capture under its Call-ID belongs to it. Where the one that is followed has ended and
    /// is closed, and the other begins with an INVITE, the Call-ID is used again.
    fn has(&self, call: &Call) -> bool {
        let is_open = self.is_up || call.start_ns <= self.last_ns.saturating_add(LINGER_NS);
        is_open || call.state == CallState::JoinedMidCall
    }
}

/// What a stream is known by, whichever packet of it was seen first.
pub type Media = (u32, trunkline_wire::Endpoint, trunkline_wire::Endpoint);

/// That of a stream.
pub fn media_of(stream: &Stream) -> Media {
    (stream.ssrc, stream.src, stream.dst)
}

/// How it stands, for metrics and pages.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How far it is.
    pub phase: Phase,
    /// What was counted.
    pub counted: Counted,
    /// Calls whose end is waited for.
    pub up: u64,
    /// From when on the log is read, nanoseconds since 1970.
    pub from_ns: i64,
    /// Octets of segments that are read, and of these so many are.
    pub octets: (u64, u64),
    /// Why the checkpoint cannot be written.
    pub error: Option<String>,
}

/// Shared by all.
#[derive(Debug, Default)]
pub struct Recovery {
    state: Mutex<State>,
    wake: Condvar,
}

/// Behind the lock.
#[derive(Debug, Default)]
pub struct State {
    /// Set to end.
    pub stop: bool,
    /// Calls by their Call-ID.
    pub followed: HashMap<String, Followed>,
    /// Of these, such as the live capture saw end, and whose packets are not read again yet.
    pub ended: HashSet<String>,
    /// Media of rows that were recovered, and when it begins there, nanoseconds since 1970.
    pub media: HashMap<Media, i64>,
    /// Rows of the live capture that begin later are no second halves.
    pub until_ns: i64,
    /// See [`Report`].
    pub report: Report,
}

impl State {
    /// Whether a row of the live capture is the second half of a call that is followed; then its end is noted.
    ///
    /// Where its time lies before that of the first half, whoever reads the log by its times finds two calls: it keeps
    /// its row, which says so. So does one that nobody waits for any more.
    pub fn takes(&mut self, call: &mut Call) -> bool {
        let Some(followed) = self.followed.get_mut(&call.sip_call_id) else { return false };
        if call.start_ns > self.until_ns || !followed.has(call) {
            return false;
        }
        if call.start_ns < followed.start_ns.saturating_sub(BEFORE_NS) {
            if call.state == CallState::JoinedMidCall {
                followed.is_up = false;
                self.keep_apart(call, APART);
            }
            return false;
        }
        if self.report.phase == Phase::Done && followed.goes_on_in(call) {
            self.keep_apart(call, LATE);
            return false;
        }
        self.report.counted.halves += 1;
        if self.report.phase != Phase::Done {
            self.ended.insert(call.sip_call_id.clone());
        }
        true
    }

    fn keep_apart(&mut self, half: &mut Call, why: &str) {
        self.report.counted.apart += 1;
        let between = if half.capture.note.is_empty() { "" } else { "; " };
        half.capture.note.push_str(between);
        half.capture.note.push_str(why);
    }

    /// Follows a call.
    pub fn follow(&mut self, call_id: String, call: Followed) {
        if self.followed.len() >= FOLLOWED_MAX && !self.followed.contains_key(&call_id) {
            self.report.counted.beyond += 1;
            return;
        }
        self.followed.insert(call_id, call);
    }

    /// Notes media of a call that was recovered, which begins then.
    pub fn know(&mut self, media: Media, first_ns: i64) {
        if self.media.len() < MEDIA_MAX || self.media.contains_key(&media) {
            self.media.entry(media).and_modify(|known| *known = first_ns.min(*known)).or_insert(first_ns);
        }
    }

    /// Whether a stream of the live capture without a call is the second half of one of a recovered call.
    pub fn has_whole(&self, stream: &Stream) -> bool {
        let begins = |first_ns: &i64| stream.first_ns >= first_ns.saturating_sub(BEFORE_NS);
        stream.first_ns <= self.until_ns && self.media.get(&media_of(stream)).is_some_and(begins)
    }

    /// Calls whose end is waited for, or whose packets are to be read again.
    pub fn pending(&self) -> impl Iterator<Item = &Followed> {
        self.followed.iter().filter(|(id, call)| call.is_up || self.ended.contains(*id)).map(|(_, call)| call)
    }
}

impl Recovery {
    /// Locks it.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it, and wakes whoever waits.
    pub fn change<R>(&self, how: impl FnOnce(&mut State) -> R) -> R {
        let done = how(&mut self.lock());
        self.wake.notify_all();
        done
    }

    /// Waits for a change, at most so long; whether it is to end.
    pub fn wait(&self, patience: Duration) -> bool {
        let state = self.lock();
        if state.stop {
            return true;
        }
        let (state, _) = self.wake.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
        state.stop
    }

    /// Asks all threads of recovery to end.
    pub fn stop(&self) {
        self.change(|state| state.stop = true);
    }

    /// How it stands.
    pub fn report(&self) -> Report {
        let state = self.lock();
        Report { up: state.followed.values().filter(|call| call.is_up).count() as u64, ..state.report.clone() }
    }

    /// All metrics.
    pub fn samples(&self) -> Vec<Sample> {
        let report = self.report();
        let mut samples: Vec<Sample> = report.counted.list().into_iter().map(Sample::from).collect();
        let is_on = matches!(report.phase, Phase::Finding | Phase::Reading | Phase::Following);
        let is_reading = matches!(report.phase, Phase::Finding | Phase::Reading);
        for (name, help, value) in [
            (
                "trunkline_recovery_active",
                "whether calls of before the start are recovered",
                f64::from(u8::from(is_on)),
            ),
            (
                "trunkline_recovery_reading",
                "whether which calls to recover is not all known yet",
                f64::from(u8::from(is_reading)),
            ),
            ("trunkline_recovery_waiting_calls", "calls of before the start that are still up", report.up as f64),
            (
                "trunkline_recovery_segment_octets",
                "octets of the packet log that are being read",
                report.octets.0 as f64,
            ),
            ("trunkline_recovery_read_octets", "of these, octets that are read", report.octets.1 as f64),
        ] {
            samples.push(Sample::gauge(name, help, value));
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn call(state: CallState, start_ns: i64, end_ns: Option<i64>) -> Call {
        let last_ns = end_ns.unwrap_or(start_ns);
        Call { sip_call_id: "a".to_owned(), state, start_ns, end_ns, last_ns, ..Call::default() }
    }

    fn following(call: &Call) -> State {
        let mut state = State { until_ns: i64::MAX, ..State::default() };
        state.report.phase = Phase::Following;
        state.follow(call.sip_call_id.clone(), Followed::of(call));
        state
    }

    #[test]
    fn what_goes_on_under_the_call_id_of_a_call_that_is_up_is_its_second_half() {
        for (is, is_up) in [(CallState::Answered, true), (CallState::JoinedMidCall, true), (CallState::Ringing, true)] {
            let mut state = following(&call(is, 0, None));
            assert_eq!(state.pending().count(), usize::from(is_up));
            assert!(state.takes(&mut call(CallState::JoinedMidCall, 3_600 * SECOND, None)), "{is:?}");
            assert!(state.ended.contains("a"));
        }
    }

    /// Exchanges and generators of load use a Call-ID again: what comes after a call's end is no half of it, and a row
    /// that is left out would be missing until it is read.
    #[test]
    fn a_call_id_that_is_used_again_after_a_call_is_another_call() {
        let over = call(CallState::Redirected, 0, Some(SECOND));
        let mut state = following(&over);
        assert_eq!(state.pending().count(), 0);
        assert!(!state.takes(&mut call(CallState::Completed, SECOND + LINGER_NS + 1, None)));
        assert_eq!((state.ended.len(), state.report.counted.halves), (0, 0));
        // A repeated INVITE is a straggler, and so is what does not begin at all: read by hand it is no call.
        assert!(state.takes(&mut call(CallState::Ringing, SECOND + LINGER_NS, None)));
        assert!(state.takes(&mut call(CallState::JoinedMidCall, 3_600 * SECOND, None)));
        assert_eq!((state.ended.len(), state.report.counted.halves), (1, 2));
    }

    #[test]
    fn what_begins_after_all_is_recovered_is_no_half() {
        let mut state = following(&call(CallState::Completed, 0, Some(SECOND)));
        (state.until_ns, state.report.phase) = (5 * SECOND, Phase::Done);
        assert!(!state.takes(&mut call(CallState::JoinedMidCall, 6 * SECOND, None)));
        assert!(state.takes(&mut call(CallState::JoinedMidCall, 4 * SECOND, None)));
        assert!(state.ended.is_empty(), "nobody reads it again");
    }

    /// Nobody reads it again: a half that was left out would be lost, but a straggler is no half.
    #[test]
    fn a_half_that_nobody_waits_for_keeps_its_row() {
        let mut state = following(&call(CallState::Ringing, 0, None));
        state.followed.values_mut().for_each(Followed::give_up);
        assert_eq!(state.pending().count(), 0);
        (state.until_ns, state.report.phase) = (700 * SECOND, Phase::Done);
        let mut half = call(CallState::JoinedMidCall, 400 * SECOND, Some(600 * SECOND));
        assert!(!state.takes(&mut half));
        assert_eq!((&*half.capture.note, state.report.counted.apart), (LATE, 1));
        // The INVITE that a redirection was followed by was not captured.
        let mut state = following(&call(CallState::Redirected, 0, Some(SECOND)));
        (state.until_ns, state.report.phase) = (700 * SECOND, Phase::Done);
        let over_ns = SECOND + 2 * LINGER_NS;
        assert!(state.takes(&mut call(CallState::JoinedMidCall, 2 * SECOND, Some(over_ns))));
        assert!(!state.takes(&mut call(CallState::JoinedMidCall, 2 * SECOND, Some(over_ns + 1))));
        // What begins later under its Call-ID without an INVITE is no call for whoever reads the log.
        assert!(state.takes(&mut call(CallState::JoinedMidCall, 40 * SECOND, Some(500 * SECOND))));
    }

    /// The clock was set back by an hour between two runs: what comes now lies before the first half, and reading the
    /// packet log by its times makes two calls of them.
    #[test]
    fn a_second_half_of_an_earlier_time_than_its_first_keeps_its_row() {
        let hour = 3_600 * SECOND;
        let mut state = following(&call(CallState::Answered, hour, None));
        let mut half = call(CallState::JoinedMidCall, 20 * SECOND, Some(30 * SECOND));
        half.capture.note = "joined".to_owned();
        assert!(!state.takes(&mut half));
        assert_eq!(half.capture.note, format!("joined; {APART}"));
        assert_eq!((state.pending().count(), state.report.counted.halves, state.report.counted.apart), (0, 0, 1));
        // A call of its own under the same Call-ID is told of nothing.
        let mut other = call(CallState::Completed, 20 * SECOND, Some(30 * SECOND));
        assert!(!state.takes(&mut other));
        assert_eq!((&*other.capture.note, state.report.counted.apart), ("", 1));
        let begins = |first_ns| Stream { first_ns, ..Stream::default() };
        state.know(media_of(&begins(0)), hour);
        assert!(!state.has_whole(&begins(20 * SECOND)));
        assert!(state.has_whole(&begins(hour + SECOND)));
        state.know(media_of(&begins(0)), 10 * SECOND);
        assert!(state.has_whole(&begins(20 * SECOND)));
    }
}
