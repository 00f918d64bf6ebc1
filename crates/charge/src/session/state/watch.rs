//! When sessions are looked at: lists of them by the second.

use crate::calendar::Moment;
use std::collections::BTreeMap;

/// Slots by the moment at which they are looked at.
#[derive(Clone, Debug, Default)]
pub struct Watch(BTreeMap<Moment, Vec<u32>>);

impl Watch {
    /// The next moment.
    pub fn first(&self) -> Option<Moment> {
        self.0.first_key_value().map(|(at, _)| *at)
    }

    /// Adds a slot; its place in the list of that moment.
    pub fn insert(&mut self, at: Moment, slot: u32) -> u32 {
        let list = self.0.entry(at).or_default();
        list.push(slot);
        list.len() as u32 - 1
    }

    /// Removes the slot at a place; the slot that has this place from now on, if any does.
    pub fn remove(&mut self, at: Moment, place: u32) -> Option<u32> {
        let list = self.0.get_mut(&at)?;
        if (place as usize) < list.len() {
            list.swap_remove(place as usize);
        }
        let moved = list.get(place as usize).copied();
        if list.is_empty() {
            self.0.remove(&at);
        }
        moved
    }

    /// Takes the last slot of the next moment, if that has come.
    pub fn pop(&mut self, now: Moment) -> Option<u32> {
        let mut list = self.0.first_entry().filter(|list| *list.key() <= now)?;
        let slot = list.get_mut().pop();
        if list.get().is_empty() {
            list.remove();
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_when_their_moment_has_come() {
        let mut watch = Watch::default();
        let places: Vec<u32> = [(9, 1), (5, 2), (5, 3), (5, 4)].map(|(at, slot)| watch.insert(at, slot)).to_vec();
        assert_eq!((places, watch.first()), (vec![0, 0, 1, 2], Some(5)));
        // The last of the list takes the place of the one that goes.
        assert_eq!((watch.remove(5, 0), watch.remove(5, 1), watch.remove(7, 0)), (Some(4), None, None));
        assert_eq!(
            (watch.pop(4), watch.pop(5), watch.pop(8), watch.pop(9), watch.pop(9)),
            (None, Some(4), None, Some(1), None)
        );
        assert_eq!(watch.first(), None);
    }
}
