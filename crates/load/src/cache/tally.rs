//! What is counted, a tally for each thread, added up at the end.

use super::versions::Fault;
use trunkline_kit::histogram::Histogram;

/// Counts of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests that were answered, those with errors among them.
    pub requests: u64,
    /// Gets among them.
    pub gets: u64,
    /// Sets among them.
    pub sets: u64,
    /// Keys that were asked for and answered, and keys that were set.
    pub keys: u64,
    /// Keys asked for that had a value.
    pub hits: u64,
    /// Keys asked for that had none.
    pub misses: u64,
    /// Answers that were errors.
    pub errors: u64,
    /// Requests without an answer in time.
    pub lost: u64,
    /// Datagrams that belong to no request that waits.
    pub late: u64,
    /// Connections that ended or no longer made sense.
    pub closed: u64,
    /// Requests that were due and could not be sent before the end.
    pub unsent: u64,
    /// Values whose checksum did not hold.
    pub torn: u64,
    /// Values of another key than was asked for.
    pub foreign: u64,
    /// Versions that nobody had sent.
    pub unknown: u64,
    /// Versions older than a confirmed one.
    pub stale: u64,
    /// Octets sent, without headers of the network.
    pub sent_octets: u64,
    /// Octets received.
    pub received_octets: u64,
    /// Nanoseconds from when a request was due (open loop) or sent, to its whole answer.
    pub latency: Histogram,
    /// The first thing that went wrong.
    pub why: Option<String>,
}

impl Tally {
    /// Remembers what went wrong, if it is the first.
    pub fn trouble(&mut self, why: impl FnOnce() -> String) {
        self.why.get_or_insert_with(why);
    }

    /// Counts what is wrong with a value.
    pub fn fault(&mut self, fault: Fault) {
        let count = match fault {
            Fault::Torn => &mut self.torn,
            Fault::Foreign => &mut self.foreign,
            Fault::Unknown => &mut self.unknown,
            Fault::Stale => &mut self.stale,
        };
        *count += 1;
    }

    /// Values that are not what they must be.
    pub fn wrong(&self) -> u64 {
        self.torn + self.foreign + self.unknown + self.stale
    }

    /// Counts requests that were due from `oldest_ns` ago on, evenly, and never sent, as having waited that long: a
    /// server that stands still must not look fast by what it never got.
    pub fn unsent(&mut self, requests: u64, oldest_ns: u64) {
        self.latency.record_evenly(oldest_ns, requests);
        self.unsent += requests;
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: Tally) {
        let mine = [
            (&mut self.requests, other.requests),
            (&mut self.gets, other.gets),
            (&mut self.sets, other.sets),
            (&mut self.keys, other.keys),
            (&mut self.hits, other.hits),
            (&mut self.misses, other.misses),
            (&mut self.errors, other.errors),
            (&mut self.lost, other.lost),
            (&mut self.late, other.late),
            (&mut self.closed, other.closed),
            (&mut self.unsent, other.unsent),
            (&mut self.torn, other.torn),
            (&mut self.foreign, other.foreign),
            (&mut self.unknown, other.unknown),
            (&mut self.stale, other.stale),
            (&mut self.sent_octets, other.sent_octets),
            (&mut self.received_octets, other.received_octets),
        ];
        mine.into_iter().for_each(|(mine, theirs)| *mine += theirs);
        self.latency.add(&other.latency);
        self.why = self.why.take().or(other.why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_went_out_waited() {
        let mut tally = Tally::default();
        tally.unsent(10_000, 1_000_000);
        tally.unsent(0, 5);
        assert_eq!((tally.unsent, tally.latency.most()), (10_000, 1_000_000));
        let half = tally.latency.quantile(0.5);
        assert!((490_000..510_000).contains(&half), "{half}");
        let mut all = Tally { why: Some("first".to_owned()), ..Tally::default() };
        tally.trouble(|| "second".to_owned());
        all.add(tally);
        assert_eq!((all.unsent, all.why.as_deref()), (10_000, Some("first")));
    }
}
