//! Orders of operators that bear a key, so that one that comes again is not done twice.

use crate::account::fields;
use crate::calendar::Moment;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Keys that are remembered; with so many that are still to be remembered an order with another one is refused.
// Limit: keys of orders remembered
// Beyond: an order with another key is refused
// Seen in: the error message
pub const ORDERS_MAX: usize = 1_000_000;

/// An order that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    pub key: Box<str>,
    /// What was ordered, in short.
    pub what: u64,
    /// The entry that did it.
    pub sequence: u64,
    pub until: Moment,
}

fields! {
    Done { key, what, sequence, until }
}

/// Those that are remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orders {
    by_key: HashMap<Arc<str>, Known>,
    /// In the order in which they were done.
    keys: VecDeque<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    what: u64,
    sequence: u64,
    until: Moment,
}

impl Orders {
    /// What was ordered by a key that is remembered at that moment, and the entry that did it.
    pub fn find(&self, key: &str, now: Moment) -> Option<(u64, u64)> {
        let known = self.by_key.get(key).filter(|known| known.until > now)?;
        Some((known.what, known.sequence))
    }

    /// Whether one more can be remembered at that moment.
    pub fn has_room(&self, now: Moment) -> bool {
        let oldest = self.keys.front().and_then(|key| self.by_key.get(key));
        self.keys.len() < ORDERS_MAX || oldest.is_none_or(|oldest| oldest.until <= now)
    }

    /// Remembers one; those whose time is over at `latest`, and the oldest beyond [`ORDERS_MAX`], are forgotten.
    pub fn remember(&mut self, done: Done, latest: Moment) {
        while let Some(oldest) = self.keys.front() {
            let over = self.by_key.get(oldest).is_none_or(|oldest| oldest.until <= latest);
            if !over && self.keys.len() < ORDERS_MAX {
                break;
            }
            self.by_key.remove(oldest);
            self.keys.pop_front();
        }
        let Done { key, what, sequence, until } = done;
        let key: Arc<str> = key.into();
        if self.by_key.insert(Arc::clone(&key), Known { what, sequence, until }).is_some() {
            self.keys.retain(|other| *other != key);
        }
        self.keys.push_back(key);
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Done> {
        self.keys.iter().filter_map(|key| {
            let Known { what, sequence, until } = *self.by_key.get(key)?;
            Some(Done { key: Box::from(&**key), what, sequence, until })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_remembered_for_their_time() {
        let mut orders = Orders::default();
        let done = |key: &str, sequence, until| Done { key: key.into(), what: 7, sequence, until };
        orders.remember(done("a", 1, 100), 0);
        orders.remember(done("b", 2, 200), 50);
        assert_eq!((orders.find("a", 99), orders.find("a", 100), orders.find("c", 0)), (Some((7, 1)), None, None));
        orders.remember(done("c", 3, 300), 100);
        assert_eq!(orders.iter().map(|done| done.sequence).collect::<Vec<_>>(), [2, 3]);
        // The same key, once its time was over: it is the newer order.
        orders.remember(done("b", 4, 400), 150);
        assert_eq!((orders.find("b", 150), orders.iter().count()), (Some((7, 4)), 2));
    }
}
