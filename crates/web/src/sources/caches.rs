//! A cache, as it tells of itself: the one of the run, or any server of memcached's protocol.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A cache that can be looked at.
pub trait Cache: Send + Sync {
    /// What people call it: its address, or that it is the run's own.
    fn name(&self) -> String;

    /// How it stands; none where there is none now (the run has no cache, or nothing runs). It may take some seconds,
    /// and not longer.
    ///
    /// # Errors
    /// Why it cannot be looked at, for people.
    fn look(&self) -> Result<Option<CacheSnapshot>, String>;
}

/// A cache as it stands. Counts are since it began: who wants rates takes the difference of two. What is null it does
/// not tell: a plain memcached tells less than ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CacheSnapshot {
    /// When it was taken, nanoseconds since 1970.
    pub at_ns: i64,
    /// Seconds since it began.
    pub uptime_s: Option<u64>,
    /// What it says that it is.
    pub version: String,
    /// Keys that were looked for.
    pub gets_total: Option<u64>,
    /// Of these, keys that were found.
    pub hits_total: Option<u64>,
    /// Values that came, stored or not.
    pub sets_total: Option<u64>,
    /// Keys that were to be deleted.
    pub deletes_total: Option<u64>,
    /// Items evicted for memory.
    pub evicted_total: Option<u64>,
    /// Of these, items that nobody had ever fetched.
    pub evicted_unfetched_total: Option<u64>,
    /// Items that expired, and whose memory was taken back.
    pub expired_total: Option<u64>,
    /// Octets taken from clients.
    pub received_octets_total: Option<u64>,
    /// Octets said to clients.
    pub sent_octets_total: Option<u64>,
    /// Items that are there.
    pub items: Option<u64>,
    /// Octets that everything may take.
    pub limit_octets: Option<u64>,
    /// Octets that are taken.
    pub used_octets: Option<u64>,
    /// What they are taken by.
    pub memory: Vec<CacheMemory>,
    /// Seconds since the last use of what was evicted last: how long an item stays that nobody uses.
    pub evicted_age_s: Option<u64>,
    /// Connections that are open.
    pub connections: Option<u64>,
    /// Connections that may be open.
    pub connections_max: Option<u64>,
    /// Connections that came.
    pub connections_total: Option<u64>,
    /// What was refused, by what and why; only what happened.
    pub refused: Vec<CacheRefused>,
    /// Items by age; null where that is not told.
    pub ages: Option<Vec<CacheBar>>,
    /// Items by size; null where that is not told.
    pub sizes: Option<Vec<CacheBar>>,
    /// The keys that are asked for most; null where that is not told.
    pub hot_keys: Option<Vec<CacheHotKey>>,
    /// The commands that took longest, the newest first; null where that is not told.
    pub slow_commands: Option<Vec<CacheSlowCommand>>,
    /// How it is set up.
    pub settings: Vec<CacheSetting>,
}

/// Memory by what it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheMemory {
    /// `items`, `large-values`, `table`, `buffers`.
    pub kind: String,
    /// Octets.
    pub octets: u64,
}

/// What was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheRefused {
    /// `connections`, `values`, `datagrams`, `answers`, `sign-ins`.
    pub what: String,
    /// Why, in words.
    pub cause: String,
    /// How often since it began.
    pub total: u64,
}

/// Items of one range of age or size: from where the bar before ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheBar {
    /// Where the range ends: seconds of an age, octets of a size; null without an end.
    pub up_to: Option<u64>,
    /// Items.
    pub items: u64,
    /// Octets that they take.
    pub octets: u64,
}

/// A key that is asked for often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CacheHotKey {
    /// The key; of one that is no text, octets are written as `\xf4`. Masked for who may not see whole numbers.
    pub key: String,
    /// Requests a second, about.
    pub requests_per_s: f64,
    /// The share of all requests, 0 to 1.
    pub share: f64,
}

/// A command that took long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CacheSlowCommand {
    /// When it ended, microseconds since 1970.
    pub unix_us: u64,
    /// How long it took, microseconds.
    pub took_us: u64,
    /// Its word.
    pub command: String,
    /// Its first key; masked for who may not see whole numbers.
    pub key: String,
    /// How many keys it had.
    pub keys: u64,
    /// Octets of the command and of its answer.
    pub octets: u64,
    /// Who asked.
    pub peer: String,
    /// How long of it was not waiting for the client, microseconds.
    pub served_us: u64,
    /// Whether most of it was waiting for the client.
    pub waited: bool,
}

/// One of its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheSetting {
    /// Its name, memcached's word.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What happens a second, between two looks; null where it is not told, or a count began anew in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CacheRates {
    /// The share of keys looked for that were found, 0 to 1; null where none was looked for.
    pub hit_ratio: Option<f64>,
    /// Keys looked for a second.
    pub gets_per_s: Option<f64>,
    /// Values that came a second.
    pub sets_per_s: Option<f64>,
    /// Keys to be deleted a second.
    pub deletes_per_s: Option<f64>,
    /// Items evicted a second.
    pub evicted_per_s: Option<f64>,
    /// Items that expired a second.
    pub expired_per_s: Option<f64>,
    /// Octets taken a second.
    pub received_octets_per_s: Option<f64>,
    /// Octets said a second.
    pub sent_octets_per_s: Option<f64>,
}

impl CacheRates {
    /// What happened a second from one look to a later one.
    pub fn between(before: &CacheSnapshot, now: &CacheSnapshot) -> Self {
        let seconds = now.at_ns.saturating_sub(before.at_ns) as f64 / 1e9;
        let more = |of: fn(&CacheSnapshot) -> Option<u64>| of(now)?.checked_sub(of(before)?);
        let rate = |of: fn(&CacheSnapshot) -> Option<u64>| {
            more(of).filter(|_| seconds > 0.0).map(|count| count as f64 / seconds)
        };
        let (gets, hits) = (more(|s| s.gets_total), more(|s| s.hits_total));
        let found = gets.zip(hits).filter(|(gets, hits)| *gets > 0 && hits <= gets);
        CacheRates {
            hit_ratio: found.map(|(gets, hits)| hits as f64 / gets as f64),
            gets_per_s: rate(|s| s.gets_total),
            sets_per_s: rate(|s| s.sets_total),
            deletes_per_s: rate(|s| s.deletes_total),
            evicted_per_s: rate(|s| s.evicted_total),
            expired_per_s: rate(|s| s.expired_total),
            received_octets_per_s: rate(|s| s.received_octets_total),
            sent_octets_per_s: rate(|s| s.sent_octets_total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64, gets: u64, hits: u64) -> CacheSnapshot {
        let (gets_total, hits_total) = (Some(gets), Some(hits));
        CacheSnapshot { at_ns: second * 1_000_000_000, gets_total, hits_total, ..CacheSnapshot::default() }
    }

    #[test]
    fn rates_are_differences() {
        let rates = CacheRates::between(&at(10, 100, 50), &at(20, 300, 200));
        assert_eq!((rates.gets_per_s, rates.hit_ratio, rates.sets_per_s), (Some(20.0), Some(0.75), None));
        let idle = CacheRates::between(&at(10, 100, 50), &at(20, 100, 50));
        assert_eq!((idle.gets_per_s, idle.hit_ratio), (Some(0.0), None));
    }

    #[test]
    fn counts_that_began_anew_give_no_rate() {
        let rates = CacheRates::between(&at(10, 100, 50), &at(20, 10, 60));
        assert_eq!((rates.gets_per_s, rates.hit_ratio), (None, None));
        assert_eq!(CacheRates::between(&at(10, 1, 1), &at(10, 2, 2)).gets_per_s, None, "no time passed");
    }
}
