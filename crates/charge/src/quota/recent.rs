//! Requests that were charged a moment ago, so that a copy that comes late is charged to nobody.

use crate::calendar::Moment;
use hashbrown::HashSet;
use std::collections::VecDeque;

/// Requests that are remembered; with so many, new ones are refused until some are old enough.
// Limit: GTP' requests remembered to recognise copies
// Beyond: further requests are dropped, and the gateway repeats them
// Seen in: `trunkline_charge_quota_dropped_total`
pub const RECENT_MAX: usize = 2_000_000;

/// By the slot of the session and what the octets come to.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    keys: HashSet<u64>,
    order: VecDeque<(Moment, u64)>,
    copies_s: Moment,
}

impl Recent {
    /// None yet; each is remembered so many seconds.
    pub fn new(copies_s: u32) -> Recent {
        Recent { copies_s: Moment::from(copies_s), ..Recent::default() }
    }

    /// Whether there is no room for another one.
    pub fn is_full(&mut self, now: Moment) -> bool {
        self.forget(now);
        self.order.len() >= RECENT_MAX
    }

    /// Whether such a request came a moment ago.
    pub fn has(&self, slot: u32, octets: u32) -> bool {
        self.keys.contains(&key(slot, octets))
    }

    /// Such a request came.
    pub fn put(&mut self, slot: u32, octets: u32, now: Moment) {
        self.forget(now);
        if self.keys.insert(key(slot, octets)) {
            self.order.push_back((now, key(slot, octets)));
        }
    }

    fn forget(&mut self, now: Moment) {
        while let Some((at, key)) = self.order.front().copied() {
            // What is of a time to come was put before the clock was set back.
            let is_recent = at.saturating_add(self.copies_s) >= now && at <= now.saturating_add(self.copies_s);
            if is_recent {
                return;
            }
            self.order.pop_front();
            self.keys.remove(&key);
        }
    }
}

fn key(slot: u32, octets: u32) -> u64 {
    u64::from(slot) << 32 | u64::from(octets)
}
