//! Things by their number.

use std::collections::BTreeMap;

/// Things by numbers from 1 on. A number is given once: that of something that is gone is not given again.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots<T> {
    things: BTreeMap<u32, T>,
    next: u32,
    takes: Takes,
}

/// Which numbers things that are new may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// The next one.
    Next,
    /// While a snapshot is read: those that were given before, as they come.
    Given,
    /// Behind entries that are gone: all, as nobody knows which were given in those.
    All,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { things: BTreeMap::new(), next: 1, takes: Takes::Next }
    }
}

impl<T> Slots<T> {
    /// The thing of that number.
    pub fn get(&self, id: u32) -> Option<&T> {
        self.things.get(&id)
    }

    /// Whether there is a thing of that number.
    pub fn has(&self, id: u32) -> bool {
        self.things.contains_key(&id)
    }

    /// The number that the next new thing gets.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// All of them with their numbers, in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &T)> + Clone {
        self.things.iter().map(|(id, thing)| (*id, thing))
    }

    /// Whether a thing of that number may be put: there is one, or it is the next number.
    pub(super) fn fits(&self, id: u32) -> bool {
        let is_free = match self.takes {
            Takes::Next => id == self.next,
            Takes::Given => (1..self.next).contains(&id),
            Takes::All => id > 0,
        };
        is_free || self.has(id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.things.get_mut(&id)
    }

    /// Puts a thing to its number, which [`Slots::fits`]; what was there.
    pub(super) fn put(&mut self, id: u32, thing: T) -> Option<T> {
        self.next = self.next.max(id.saturating_add(1));
        self.things.insert(id, thing)
    }

    pub(super) fn remove(&mut self, id: u32) -> Option<T> {
        self.things.remove(&id)
    }

    /// Numbers were given up to `next`: their things come now, until [`Slots::filled`].
    pub(super) fn fill(&mut self, next: u32) {
        self.next = next;
        self.takes = Takes::Given;
    }

    /// Things may have been put and removed that nobody knows of, until [`Slots::filled`].
    pub(super) fn gap(&mut self) {
        self.takes = Takes::All;
    }

    /// All things are there again.
    pub(super) fn filled(&mut self) {
        self.takes = Takes::Next;
    }
}
