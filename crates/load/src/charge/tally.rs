//! What is counted, a tally for each thread, added up at the end.

use super::kind::{KINDS, Kind, Level, is_refusal, is_success};
use trunkline_kit::histogram::Histogram;

/// Differences between answers to copies that are told one by one.
const TOLD_MAX: usize = 10;

/// Counts of one kind of request. What was sent was answered, timed out, or was lost, by the end.
#[derive(Clone, Debug, Default)]
pub struct KindTally {
    /// Requests that were sent, their copies not among them.
    pub sent: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Those whose answer was a success, as a whole.
    pub succeeded: u64,
    /// Requests without an answer in time.
    pub timeouts: u64,
    /// Requests whose connection ended before the answer.
    pub lost: u64,
    /// Requests that were due and could not be sent before the end.
    pub unsent: u64,
    /// How often each result came that is no success.
    pub failures: Vec<((Level, u32), u64)>,
    /// Nanoseconds from when a request was due (open loop) or sent, to its first answer.
    pub latency: Histogram,
}

impl KindTally {
    /// Counts a result that is no success.
    pub fn failure(&mut self, level: Level, code: u32, times: u64) {
        match self.failures.iter_mut().find(|(key, _)| *key == (level, code)) {
            Some((_, count)) => *count += times,
            None => self.failures.push(((level, code), times)),
        }
    }

    /// Answers that were no success as a whole.
    pub fn failed(&self) -> u64 {
        self.answered - self.succeeded
    }

    fn add(&mut self, other: KindTally) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.succeeded += other.succeeded;
        self.timeouts += other.timeouts;
        self.lost += other.lost;
        self.unsent += other.unsent;
        other.failures.into_iter().for_each(|((level, code), times)| self.failure(level, code, times));
        self.latency.add(&other.latency);
    }

    /// Counts requests that were due from `oldest_ns` ago on, evenly, and never sent, as having waited that long: a
    /// server that stands still must not look fast by what it never got.
    pub fn unsent(&mut self, requests: u64, oldest_ns: u64) {
        self.latency.record_evenly(oldest_ns, requests);
        self.unsent += requests;
    }
}

/// Counts of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By kind, in the order of [`Kind::ALL`].
    pub kinds: [KindTally; KINDS],
    /// Sessions that began: their first request was sent.
    pub begun: u64,
    /// Sessions whose last request was answered with success.
    pub completed: u64,
    /// Sessions that ended before: refused, timed out, lost.
    pub broken_off: u64,
    /// Sessions that stood at the end and were stopped then; their requests are not among the others.
    pub drained: u64,
    /// Those of them whose stop was answered with success.
    pub drained_well: u64,
    /// The most sessions at a time.
    pub held_most: u64,
    /// Copies that were sent on purpose, with the T bit.
    pub duplicates: u64,
    /// Those that were answered as the first copy was.
    pub same: u64,
    /// Those that were answered otherwise.
    pub different: u64,
    /// Those without an answer in time.
    pub duplicates_unanswered: u64,
    /// What was different, the first ones.
    pub differences: Vec<String>,
    /// Requests sent again because of a time-out or the end of a connection.
    pub resent: u64,
    /// Answers that belong to no request that waits.
    pub late: u64,
    /// Answers that cannot be read, or do not fit their request.
    pub malformed: u64,
    /// Connections that ended before the run did.
    pub closed: u64,
    /// Connections that were opened again.
    pub reconnected: u64,
    /// Re-Auth-Requests.
    pub re_auths: u64,
    /// Abort-Session-Requests.
    pub aborts: u64,
    /// Device-Watchdog-Requests.
    pub watchdogs: u64,
    /// Units reported as used, and answered with success.
    pub used_acknowledged: u64,
    /// Units reported as used, without such an answer.
    pub used_unacknowledged: u64,
    /// Units granted.
    pub granted: u64,
    /// Octets sent, without headers of the network.
    pub sent_octets: u64,
    /// Octets received.
    pub received_octets: u64,
    /// The first thing that went wrong.
    pub why: Option<String>,
}

impl Tally {
    /// That of a kind.
    pub fn of(&mut self, kind: Kind) -> &mut KindTally {
        &mut self.kinds[kind.place()]
    }

    /// A count over all kinds.
    pub fn all(&self, count: impl Fn(&KindTally) -> u64) -> u64 {
        self.kinds.iter().map(count).sum()
    }

    /// Latencies of all kinds together.
    pub fn latency(&self) -> Histogram {
        let mut all = Histogram::default();
        self.kinds.iter().for_each(|kind| all.add(&kind.latency));
        all
    }

    /// Remembers what went wrong, if it is the first.
    pub fn trouble(&mut self, why: impl FnOnce() -> String) {
        self.why.get_or_insert_with(why);
    }

    /// Counts an answer to a copy that is not the one to the first copy.
    pub fn differs(&mut self, what: impl FnOnce() -> String) {
        self.different += 1;
        if self.differences.len() < TOLD_MAX {
            self.differences.push(what());
        }
    }

    /// Whether nothing says that the server, or the way to it, is unhealthy: refusals for want of money are none.
    pub fn is_healthy(&self) -> bool {
        let unhealthy = |code: u32| !is_success(code) && !is_refusal(code);
        let failures = self.kinds.iter().flat_map(|kind| &kind.failures);
        let refused = failures.clone().any(|((level, code), _)| *level == Level::Command && unhealthy(*code));
        let missing = self.all(|kind| kind.timeouts + kind.lost) + self.duplicates_unanswered;
        !refused && missing + self.different + self.malformed + self.closed == 0 && self.drained == self.drained_well
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: Tally) {
        self.kinds.iter_mut().zip(other.kinds).for_each(|(mine, theirs)| mine.add(theirs));
        let mine = [
            (&mut self.begun, other.begun),
            (&mut self.completed, other.completed),
            (&mut self.broken_off, other.broken_off),
            (&mut self.drained, other.drained),
            (&mut self.drained_well, other.drained_well),
            (&mut self.held_most, other.held_most),
            (&mut self.duplicates, other.duplicates),
            (&mut self.same, other.same),
            (&mut self.different, other.different),
            (&mut self.duplicates_unanswered, other.duplicates_unanswered),
            (&mut self.resent, other.resent),
            (&mut self.late, other.late),
            (&mut self.malformed, other.malformed),
            (&mut self.closed, other.closed),
            (&mut self.reconnected, other.reconnected),
            (&mut self.re_auths, other.re_auths),
            (&mut self.aborts, other.aborts),
            (&mut self.watchdogs, other.watchdogs),
            (&mut self.used_acknowledged, other.used_acknowledged),
            (&mut self.used_unacknowledged, other.used_unacknowledged),
            (&mut self.granted, other.granted),
            (&mut self.sent_octets, other.sent_octets),
            (&mut self.received_octets, other.received_octets),
        ];
        mine.into_iter().for_each(|(mine, theirs)| *mine += theirs);
        let room = TOLD_MAX - self.differences.len().min(TOLD_MAX);
        self.differences.extend(other.differences.into_iter().take(room));
        self.why = self.why.take().or(other.why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_went_out_waited() {
        let mut kind = KindTally::default();
        kind.unsent(10_000, 1_000_000);
        kind.unsent(0, 5);
        let half = kind.latency.quantile(0.5);
        assert_eq!((kind.unsent, kind.latency.most()), (10_000, 1_000_000));
        assert!((490_000..510_000).contains(&half), "{half}");
    }

    #[test]
    fn tallies_add_up_and_tell_health() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        one.of(Kind::Update).failure(Level::Service, 5031, 1);
        one.of(Kind::Update).failure(Level::Command, 4012, 1);
        assert!(one.is_healthy());
        other.of(Kind::Update).failure(Level::Command, 4012, 2);
        other.of(Kind::Initial).failure(Level::Command, 3004, 1);
        other.trouble(|| "first".to_owned());
        (0..20).for_each(|n| other.differs(|| n.to_string()));
        one.add(other);
        assert_eq!(one.of(Kind::Update).failures, [((Level::Service, 5031), 1), ((Level::Command, 4012), 3)]);
        assert_eq!((one.different, one.differences.len(), one.why.as_deref()), (20, TOLD_MAX, Some("first")));
        one.different = 0;
        assert!(!one.is_healthy());
        let mut late = Tally::default();
        late.of(Kind::Event).timeouts = 1;
        assert!(!late.is_healthy() && late.all(|kind| kind.timeouts) == 1);
    }
}
