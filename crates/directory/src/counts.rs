//! What is counted: of the pool, of each server, of look-ups.

use std::sync::Arc;
use std::time::Duration;
use trunkline_kit::metrics::{Sample, labelled};
use trunkline_wire::ldap::name_of;

trunkline_kit::counters! {
    /// What the pool counts.
    pub struct PoolCounts {
        /// requests taken in
        submitted: "trunkline_directory_submitted_requests_total",
        /// requests that a server answered, well or not
        answered: "trunkline_directory_answered_requests_total",
        /// requests that have no answer
        failed: "trunkline_directory_failed_requests_total",
        /// requests refused because too many waited
        refused: "trunkline_directory_requests_overflow_total",
        /// requests sent to a second server
        failovers: "trunkline_directory_failover_requests_total",
    }
}

trunkline_kit::counters! {
    /// What is counted of a server.
    pub struct ServerCounts {
        /// requests sent
        operations: "trunkline_directory_server_sent_requests_total",
        /// requests that had no answer in time
        timeouts: "trunkline_directory_server_late_requests_total",
        /// responses that nobody waited for any more
        unasked: "trunkline_directory_server_unasked_responses_total",
        /// connections made
        opened: "trunkline_directory_server_opened_connections_total",
        /// connections that ended, or could not be made
        closed: "trunkline_directory_server_closed_connections_total",
        /// those of them that are failures
        failures: "trunkline_directory_server_failed_connections_total",
        /// times that the server went down
        downs: "trunkline_directory_server_downs_total",
    }
}

trunkline_kit::counters! {
    /// What is counted of look-ups. Those that wait for the same search as another are `joined`.
    pub struct LookUpCounts {
        /// look-ups of identities
        look_ups: "trunkline_directory_lookups_total",
        /// look-ups answered by a profile that was remembered
        remembered: "trunkline_directory_remembered_lookups_total",
        /// look-ups answered by the remembered absence of one
        remembered_absent: "trunkline_directory_remembered_absent_lookups_total",
        /// look-ups that waited for the search of another one
        joined: "trunkline_directory_joined_lookups_total",
        /// searches made
        searches: "trunkline_directory_searches_total",
        /// searches that found a profile
        found: "trunkline_directory_found_searches_total",
        /// searches that found none
        absent: "trunkline_directory_absent_searches_total",
        /// searches that failed
        failed: "trunkline_directory_failed_searches_total",
        /// look-ups answered by a profile past its time, because the directory did not answer
        stale: "trunkline_directory_stale_lookups_total",
        /// look-ups of identities that are none: empty, too long, of a kind that no filter is there for
        unfit: "trunkline_directory_unfit_lookups_total",
    }
}

/// Buckets of a [`Latency`]; the last has no upper end.
pub const BUCKETS: usize = 18;
/// Microseconds at which the first bucket ends; each other ends at twice the one before.
const FIRST_US: u64 = 64;

/// How long answers took, in buckets of doubling width from 64 us on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Answers of each bucket.
    pub buckets: [u64; BUCKETS],
}

impl Latency {
    /// Counts an answer.
    pub(crate) fn record(&mut self, took: Duration) {
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let doublings = (microseconds / FIRST_US).checked_ilog2().map_or(0, |n| n as usize + 1);
        self.buckets[doublings.min(BUCKETS - 1)] += 1;
    }

    /// Where a bucket ends; the last has no end.
    pub fn end(bucket: usize) -> Option<Duration> {
        (bucket + 1 < BUCKETS).then(|| Duration::from_micros(FIRST_US << bucket))
    }
}

/// A server as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerShown {
    /// Whether a connection is there.
    pub is_up: bool,
    /// Connections that are there.
    pub connections: usize,
    /// Requests that wait for their answer.
    pub in_flight: usize,
    /// Why it is not up, for people; empty if it is.
    pub trouble: Arc<str>,
    /// What is counted.
    pub counts: ServerCounts,
    /// Answers by result code; [`u32::MAX`] are codes that are not counted apart.
    pub codes: Vec<(u32, u64)>,
    /// How long answers took.
    pub latency: Latency,
}

/// All of it at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The pool.
    pub pool: PoolCounts,
    /// Requests that wait for room in a window.
    pub waiting: usize,
    /// Look-ups.
    pub look_ups: LookUpCounts,
    /// Entries and octets that the memory of profiles holds.
    pub remembered: (usize, usize),
    /// The servers, in the order of the settings, with their addresses.
    pub servers: Vec<(Arc<str>, ServerShown)>,
}

impl Shown {
    /// As metrics; servers are told apart by the label `server`.
    pub fn samples(&self) -> Vec<Sample> {
        let counted = self.look_ups.list().into_iter().chain(self.pool.list());
        let mut samples: Vec<Sample> = counted.map(Sample::from).collect();
        let mut gauge = |name, help, value: usize| samples.push(Sample::gauge(name, help, value as f64));
        gauge("trunkline_directory_waiting_requests_count", "requests that wait for room in a window", self.waiting);
        let (entries, octets) = self.remembered;
        gauge("trunkline_directory_remembered_profiles_count", "profiles that are remembered", entries);
        gauge("trunkline_directory_remembered_profiles_octets", "octets of profiles that are remembered", octets);
        self.servers.iter().for_each(|(name, server)| samples.extend(server.samples(name)));
        samples
    }
}

impl ServerShown {
    fn samples(&self, server: &str) -> Vec<Sample> {
        let mut samples = labelled(self.counts.list(), "server", server);
        let gauge = |name, help, value: usize| Sample::gauge(name, help, value as f64).label("server", server);
        let up = "whether the server is up";
        samples.push(gauge("trunkline_directory_server_up_ratio", up, usize::from(self.is_up)));
        let open = "connections to the server";
        samples.push(gauge("trunkline_directory_server_open_connections", open, self.connections));
        let waiting = "requests that the server has not answered yet";
        samples.push(gauge("trunkline_directory_server_flying_requests", waiting, self.in_flight));
        for (code, count) in &self.codes {
            let help = "answers of the server by their result";
            let sample = Sample::counter("trunkline_directory_server_results_total", help, *count);
            samples.push(sample.label("server", server).label("code", *code).label("result", name_of(*code)));
        }
        samples.extend(self.latency.samples(server));
        samples
    }
}

impl Latency {
    fn samples(&self, server: &str) -> Vec<Sample> {
        let help = "answers of the server that took at most so many seconds";
        let mut sum = 0;
        let mut sample = |(bucket, count): (usize, &u64)| {
            sum += count;
            let end = Latency::end(bucket).map_or("+Inf".to_owned(), |end| end.as_secs_f64().to_string());
            let sample = Sample::counter("trunkline_directory_server_answers_total", help, sum);
            sample.label("server", server).label("le", end)
        };
        self.buckets.iter().enumerate().map(&mut sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_in_the_bucket_that_they_end_in() {
        let mut latency = Latency::default();
        for microseconds in [0, 63, 64, 127, 128, 1_000_000, u64::MAX] {
            latency.record(Duration::from_micros(microseconds));
        }
        assert_eq!(latency.buckets[..3], [2, 2, 1]);
        assert_eq!((latency.buckets[14], latency.buckets[BUCKETS - 1]), (1, 1));
        assert!(Latency::end(14).is_some_and(|end| end > Duration::from_secs(1)));
        assert!(Latency::end(13).is_some_and(|end| end < Duration::from_secs(1)));
    }

    #[test]
    fn every_server_has_its_samples() {
        let server = ServerShown {
            is_up: true,
            connections: 2,
            in_flight: 3,
            trouble: "".into(),
            counts: ServerCounts { operations: 9, ..ServerCounts::default() },
            codes: vec![(0, 5), (32, 1)],
            latency: Latency::default(),
        };
        let shown = Shown { servers: vec![("a".into(), server)], ..Shown::default() };
        let text = trunkline_kit::metrics::exposition(&shown.samples());
        for line in [
            "trunkline_directory_server_sent_requests_total{server=\"a\"} 9",
            "trunkline_directory_server_results_total{server=\"a\",code=\"32\",result=\"noSuchObject\"} 1",
            "trunkline_directory_server_answers_total{server=\"a\",le=\"+Inf\"} 0",
            "trunkline_directory_waiting_requests_count 0",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
