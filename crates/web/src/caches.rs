//! Caches that are looked at: each by a task of its own, so that one which does not answer holds up nobody. Every ten
//! seconds, and more often while somebody watches; the last hour is kept.

use crate::auth::mask;
use crate::moment;
use crate::paths;
use crate::sources::{Cache, CacheRates, CacheSnapshot};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use trunkline_store::time::{SECOND_NS, rfc3339};
use utoipa::ToSchema;

/// Moments that are kept of each cache: an hour.
// Limit: moments kept of each cache
// Beyond: the oldest leaves
// Seen in: the graphs of the page Cache begin later
pub const HISTORY_MAX: usize = 360;
/// Seconds from one to the next.
pub const HISTORY_EVERY_S: i64 = 10;
/// How often a cache is looked at while somebody watches.
const EVERY: Duration = Duration::from_secs(2);
/// Of these, how many lie between two looks while nobody does.
const IDLE_TICKS: u64 = 5;
/// How long after the last question somebody still watches.
const WATCHED_NS: i64 = 15 * SECOND_NS;

/// A cache at one time; what is null is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct CacheMoment {
    /// When, RFC 3339.
    pub at: String,
    /// What happened a second since the moment before.
    #[serde(flatten)]
    pub rates: CacheRates,
    /// Items that were there.
    pub items: Option<u64>,
    /// Octets that were taken.
    pub used_octets: Option<u64>,
    /// Connections that were open.
    pub connections: Option<u64>,
}

/// A cache as it was seen last.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CacheState {
    /// What it is called.
    pub name: String,
    /// Why it cannot be looked at; null if it can.
    pub trouble: Option<String>,
    /// When it was looked at last, RFC 3339; null before that.
    pub at: Option<String>,
    /// How it stands; null where that is not known.
    pub now: Option<CacheSnapshot>,
    /// What happens a second; null before the second look.
    pub rates: Option<CacheRates>,
    /// The share of keys looked for in the last hour that were found; null where that is not known.
    pub hour_hit_ratio: Option<f64>,
    /// Since when that is counted, RFC 3339: the last hour, or less.
    pub hour_since: Option<String>,
}

/// One cache, and what was seen of it.
pub struct Board {
    cache: Arc<dyn Cache>,
    seen: Mutex<Seen>,
    asked_ns: AtomicI64,
}

/// What was seen of a cache.
#[derive(Default)]
struct Seen {
    last: Option<CacheSnapshot>,
    rates: Option<CacheRates>,
    trouble: Option<String>,
    moments: VecDeque<Kept>,
    /// When the last moment was kept, and what was seen then.
    moment_ns: Option<i64>,
    moment_look: Option<CacheSnapshot>,
}

/// A moment, and the look that it was made of.
struct Kept {
    moment: CacheMoment,
    look: Option<Counted>,
}

/// The counts of a look that rates over a time need.
#[derive(Clone, Copy)]
struct Counted {
    at_ns: i64,
    gets: Option<u64>,
    hits: Option<u64>,
}

impl Board {
    /// Of a cache that nobody has looked at yet.
    pub fn new(cache: Arc<dyn Cache>) -> Self {
        Board { cache, seen: Mutex::default(), asked_ns: AtomicI64::new(0) }
    }

    /// What it is called.
    pub fn name(&self) -> String {
        named(&self.cache.name())
    }

    /// How it stands; none where there is no cache behind the name, and never was trouble with it. Keys are masked for
    /// who may not see whole numbers.
    pub fn state(&self, masked: bool) -> Option<CacheState> {
        self.asked_ns.store(moment::now_ns(), Ordering::Relaxed);
        let seen = self.seen();
        if seen.last.is_none() && seen.trouble.is_none() {
            return None;
        }
        let mut now = seen.last.clone();
        if masked {
            now.iter_mut().for_each(mask::cache);
        }
        let hour = seen.hour();
        Some(CacheState {
            name: self.name(),
            trouble: seen.trouble.clone(),
            at: now.as_ref().map(|now| rfc3339(now.at_ns)),
            now,
            rates: seen.rates,
            hour_hit_ratio: hour.and_then(|(_, ratio)| ratio),
            hour_since: hour.map(|(since_ns, _)| rfc3339(since_ns)),
        })
    }

    /// The last hour, oldest first.
    pub fn history(&self) -> Vec<CacheMoment> {
        self.asked_ns.store(moment::now_ns(), Ordering::Relaxed);
        self.seen().moments.iter().map(|kept| kept.moment.clone()).collect()
    }

    fn is_watched(&self) -> bool {
        moment::now_ns().saturating_sub(self.asked_ns.load(Ordering::Relaxed)) < WATCHED_NS
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sentence without the way to files; that of a socket stands behind a colon.
fn named(text: &str) -> String {
    paths::named(&text.replace("unix:/", "unix: /")).replace("unix: ", "unix:")
}

/// Looks at a cache until the server ends.
pub async fn watch(board: Arc<Board>, mut stopping: watch::Receiver<bool>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for tick in 0u64.. {
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => return,
            _ = ticks.tick() => {}
        }
        if tick % IDLE_TICKS != 0 && !board.is_watched() {
            continue;
        }
        let cache = Arc::clone(&board.cache);
        let looked = tokio::task::spawn_blocking(move || cache.look()).await;
        let looked = looked.unwrap_or_else(|_| Err("looking at it failed; this is a defect of Trunkline".to_owned()));
        board.seen().take(looked, moment::now_ns());
    }
}

impl Seen {
    fn take(&mut self, looked: Result<Option<CacheSnapshot>, String>, now_ns: i64) {
        let (now, trouble) = match looked {
            Ok(now) => (now, None),
            Err(why) => (None, Some(named(&why))),
        };
        self.rates = self.last.as_ref().zip(now.as_ref()).map(|(before, now)| CacheRates::between(before, now));
        self.trouble = trouble;
        // A second early is in time: looks lie two seconds apart.
        let since = |kept_ns: i64| now_ns.saturating_sub(kept_ns);
        let due = self.moment_ns.is_none_or(|kept_ns| since(kept_ns) >= (HISTORY_EVERY_S - 1) * SECOND_NS);
        let is_known = now.is_some() || !self.moments.is_empty();
        if due && is_known {
            self.moment_ns = Some(now_ns);
            self.keep(now.as_ref(), now_ns);
        }
        self.last = now;
    }

    fn keep(&mut self, now: Option<&CacheSnapshot>, now_ns: i64) {
        let mut moment = CacheMoment { at: rfc3339(now_ns), ..CacheMoment::default() };
        if let Some(now) = now {
            let rates = self.moment_look.as_ref().map(|before| CacheRates::between(before, now));
            moment.rates = rates.unwrap_or_default();
            (moment.items, moment.used_octets, moment.connections) = (now.items, now.used_octets, now.connections);
        }
        let look = now.map(|now| Counted { at_ns: now.at_ns, gets: now.gets_total, hits: now.hits_total });
        self.moment_look = now.cloned();
        if self.moments.len() >= HISTORY_MAX {
            self.moments.pop_front();
        }
        self.moments.push_back(Kept { moment, look });
    }

    /// Since when the hour is counted, and its hit ratio: over what is known without a break.
    fn hour(&self) -> Option<(i64, Option<f64>)> {
        let mut looks = self.moments.iter().rev().map_while(|kept| kept.look);
        let last = looks.next()?;
        let mut first = last;
        for look in looks {
            if look.gets > first.gets || look.hits > first.hits {
                break;
            }
            first = look;
        }
        let (gets, hits) = (last.gets?.checked_sub(first.gets?)?, last.hits?.checked_sub(first.hits?)?);
        Some((first.at_ns, (gets > 0 && hits <= gets).then(|| hits as f64 / gets as f64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64, gets: u64, hits: u64) -> CacheSnapshot {
        let (gets_total, hits_total, items) = (Some(gets), Some(hits), Some(7));
        CacheSnapshot { at_ns: second * SECOND_NS, gets_total, hits_total, items, ..CacheSnapshot::default() }
    }

    fn taken(looks: &[(i64, Result<Option<CacheSnapshot>, String>)]) -> Seen {
        let mut seen = Seen::default();
        looks.iter().for_each(|(second, look)| seen.take(look.clone(), second * SECOND_NS));
        seen
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let looks: Vec<_> =
            (0..2000).map(|n| (1000 + n * 2, Ok(Some(at(1000 + n * 2, n as u64 * 20, n as u64 * 15))))).collect();
        let seen = taken(&looks);
        assert_eq!(seen.moments.len(), HISTORY_MAX);
        let moment = &seen.moments[5].moment;
        assert_eq!((moment.rates.gets_per_s, moment.rates.hit_ratio, moment.items), (Some(10.0), Some(0.75), Some(7)));
        let (since_ns, ratio) = seen.hour().unwrap();
        assert_eq!(ratio, Some(0.75));
        assert_eq!(since_ns, (1000 + 3998 - 8 - 3590) * SECOND_NS);
    }

    #[test]
    fn what_cannot_be_looked_at_leaves_a_gap() {
        let why = Err("nobody listens at /srv/secret/cache.sock".to_owned());
        let seen = taken(&[(0, Ok(Some(at(0, 100, 50)))), (10, why.clone()), (20, Ok(Some(at(20, 300, 250))))]);
        let gap = &seen.moments[1].moment;
        assert_eq!((gap.items, gap.rates.gets_per_s), (None, None));
        assert_eq!((seen.trouble.clone(), seen.rates), (None, None), "a rate over the gap would be a guess");
        assert_eq!(seen.hour(), Some((20 * SECOND_NS, None)));
        let told = taken(&[(0, why)]);
        assert!(told.trouble.as_ref().is_some_and(|why| !why.contains("/srv")), "{:?}", told.trouble);
        assert!(told.moments.is_empty(), "of who never answered there is no history");
    }

    #[test]
    fn a_restart_begins_the_hour_anew() {
        let looks = [(0, 500, 400), (10, 600, 500), (20, 10, 5), (30, 110, 55)];
        let looks: Vec<_> = looks.map(|(second, gets, hits)| (second, Ok(Some(at(second, gets, hits))))).to_vec();
        let seen = taken(&looks);
        assert_eq!(seen.hour(), Some((20 * SECOND_NS, Some(0.5))));
    }
}
