//! What servers are sorted by.

use std::cmp::Ordering;
use trunkline_web::sources::{CacheRates, CacheSnapshot};

/// What servers are sorted by; of figures the most stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// Address.
    Name,
    /// Keys looked for a second.
    Gets,
    /// Hit ratio.
    Hits,
    /// Values that come a second.
    Sets,
    /// Items evicted a second.
    Evictions,
    /// Items that are there.
    Items,
    /// Memory in use.
    Memory,
    /// Connections.
    Connections,
}

impl Order {
    /// The figure; none where it is not told.
    fn of(self, now: &CacheSnapshot, rates: &CacheRates) -> Option<f64> {
        let level = |level: Option<u64>| level.map(|level| level as f64);
        match self {
            Order::Name => None,
            Order::Gets => rates.gets_per_s,
            Order::Hits => rates.hit_ratio,
            Order::Sets => rates.sets_per_s,
            Order::Evictions => rates.evicted_per_s,
            Order::Items => level(now.items),
            Order::Memory => level(now.used_octets),
            Order::Connections => level(now.connections),
        }
    }

    /// Which of two servers stands first: by name from a to z, by figures the most; what is not known comes last.
    pub fn compare(self, one: (&CacheSnapshot, &CacheRates), other: (&CacheSnapshot, &CacheRates)) -> Ordering {
        let (one, other) = (self.of(one.0, one.1), self.of(other.0, other.1));
        other.unwrap_or(-1.0).total_cmp(&one.unwrap_or(-1.0))
    }
}
