//! How gateways are reached that have sessions: by which thread, and over what. Only those are known that were charged
//! something lately; whoever invents ports finds the others there still.

use super::Way;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::collections::HashMap;

/// Gateways whose way is known; one more is not asked for anything.
// Limit: gateways that the node can ask by GTP'
// Beyond: a gateway that was silent for long gives way, else a further one is not asked
// Seen in: `trunkline_charge_gtpp_unreached_total`
const WAYS_MAX: usize = 100_000;
/// One that has said nothing for so long is forgotten when there is no room: its sessions would have come again.
const AGE: Duration = Duration::from_secs(3600);
/// How often it is looked who may be forgotten.
const SWEEP: Duration = Duration::from_secs(1);

/// By their names in the ledger.
#[derive(Debug, Default)]
pub(super) struct Ways {
    known: HashMap<Box<str>, Known>,
    swept: Duration,
}

#[derive(Debug)]
struct Known {
    way: (u16, Way),
    /// The second in which it was heard last.
    heard: AtomicU64,
}

impl Ways {
    /// The way to a gateway, and the thread that asks it.
    pub fn get(&self, origin: &str) -> Option<(u16, Way)> {
        self.known.get(origin).map(|known| known.way)
    }

    /// A gateway was heard; whether it is known by that way.
    pub fn hear(&self, origin: &str, way: (u16, Way), now: Duration) -> bool {
        let Some(known) = self.known.get(origin).filter(|known| known.way == way) else { return false };
        known.heard.store(now.as_secs(), Relaxed);
        true
    }

    /// A gateway is reached by that way from now on; whether there was room for it.
    pub fn set(&mut self, origin: &str, way: (u16, Way), now: Duration) -> bool {
        if self.known.len() >= WAYS_MAX && !self.known.contains_key(origin) {
            self.forget(now);
        }
        let room = self.known.len() < WAYS_MAX || self.known.contains_key(origin);
        if room {
            self.known.insert(origin.into(), Known { way, heard: AtomicU64::new(now.as_secs()) });
        }
        room
    }

    fn forget(&mut self, now: Duration) {
        if now >= self.swept + SWEEP {
            self.swept = now;
            self.known.retain(|_, known| now.as_secs().saturating_sub(known.heard.load(Relaxed)) < AGE.as_secs());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_net::ConnectionId;

    #[test]
    fn those_that_are_silent_make_room_and_the_others_stay() {
        let (mut ways, way) = (Ways::default(), (0, Way::Tcp(ConnectionId::NONE)));
        let at = Duration::from_secs;
        (0..WAYS_MAX).for_each(|n| assert!(ways.set(&format!("gateway {n}"), way, at(10))));
        assert!(!ways.set("late", way, at(20)) && ways.get("late").is_none());
        assert!(ways.set("gateway 7", way, at(20)));
        assert!(ways.hear("gateway 9", way, at(3000)) && !ways.hear("gateway 9", (1, way.1), at(3000)));
        assert!(ways.set("late", way, at(3615)));
        assert!(ways.get("gateway 9").is_some() && ways.get("gateway 7").is_some() && ways.get("gateway 8").is_none());
        assert_eq!(ways.known.len(), 3);
    }
}
