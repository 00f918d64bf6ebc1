//! Where profiles are remembered between look-ups.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// A memory of profiles: the program may put a cache of its own in place of [`Bounded`].
///
/// Its calls come from the engine's thread, one after the other, and must not wait. A memory may forget what it will
/// whenever it will: then the directory is asked.
pub trait Memory: Send {
    /// What was set under that key and is there still.
    fn get(&mut self, key: &[u8]) -> Option<Vec<u8>>;
    /// Keeps a value; it is of no use any more after that time.
    fn set(&mut self, key: &[u8], value: Vec<u8>, time_to_live: Duration);
    /// Forgets it.
    fn remove(&mut self, key: &[u8]);
    /// Entries, and octets of their keys and values; both 0 where that is not known.
    fn held(&self) -> (usize, usize);
}

/// Octets that an entry takes beside its key, which is held twice, and its value: about.
const ENTRY_OCTETS: usize = 128;

/// A memory of so many entries and octets: what was not asked for since its turn came last goes first.
///
/// It looks at no clock: what is past its time goes when its turn comes, as everything does.
#[derive(Debug)]
pub struct Bounded {
    entries_max: usize,
    octets_max: usize,
    octets: usize,
    held: HashMap<Box<[u8]>, Held>,
    /// Keys in the order of their turns, with the number of the entry that was meant.
    turns: VecDeque<(Box<[u8]>, u64)>,
    last: u64,
}

#[derive(Debug)]
struct Held {
    value: Vec<u8>,
    number: u64,
    was_asked: bool,
}

impl Bounded {
    /// With room for so many entries, and octets in all.
    pub fn new(entries_max: usize, octets_max: usize) -> Bounded {
        let (held, turns) = (HashMap::new(), VecDeque::new());
        Bounded { entries_max, octets_max, octets: 0, held, turns, last: 0 }
    }

    fn make_room(&mut self) {
        while self.held.len() > self.entries_max || self.octets > self.octets_max {
            let Some((key, number)) = self.turns.pop_front() else { return };
            match self.held.get_mut(&key).filter(|held| held.number == number) {
                Some(held) if held.was_asked => {
                    held.was_asked = false;
                    self.turns.push_back((key, number));
                }
                Some(_) => self.remove(&key),
                None => {}
            }
        }
    }

    /// Turns of what is not held any more are dropped when they are most.
    fn drop_turns(&mut self) {
        if self.turns.len() > 2 * self.held.len() + 16 {
            self.turns.retain(|(key, number)| self.held.get(key).is_some_and(|held| held.number == *number));
        }
    }
}

fn octets_of(key: &[u8], value: &[u8]) -> usize {
    2 * key.len() + value.len() + ENTRY_OCTETS
}

impl Memory for Bounded {
    fn get(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let held = self.held.get_mut(key)?;
        held.was_asked = true;
        Some(held.value.clone())
    }

    fn set(&mut self, key: &[u8], value: Vec<u8>, _time_to_live: Duration) {
        self.remove(key);
        self.last += 1;
        self.octets += octets_of(key, &value);
        self.turns.push_back((key.into(), self.last));
        self.held.insert(key.into(), Held { value, number: self.last, was_asked: false });
        self.make_room();
        self.drop_turns();
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some(held) = self.held.remove(key) {
            self.octets -= octets_of(key, &held.value);
        }
    }

    fn held(&self) -> (usize, usize) {
        (self.held.len(), self.octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(memory: &mut Bounded, key: usize, octets: usize) {
        memory.set(&key.to_be_bytes(), vec![0; octets], Duration::ZERO);
    }

    fn has(memory: &mut Bounded, key: usize) -> bool {
        memory.get(&key.to_be_bytes()).is_some()
    }

    #[test]
    fn what_was_asked_for_stays() {
        let mut memory = Bounded::new(3, usize::MAX);
        (0..3).for_each(|key| set(&mut memory, key, 1));
        assert!(has(&mut memory, 0));
        set(&mut memory, 3, 1);
        assert_eq!([0, 1, 2, 3].map(|key| has(&mut memory, key)), [true, false, true, true]);
    }

    #[test]
    fn entries_octets_and_turns_are_bounded() {
        let mut memory = Bounded::new(100, 10_000);
        for key in 0..100_000 {
            set(&mut memory, key % 150, key % 300);
            if key % 7 == 0 {
                memory.remove(&(key % 150).to_be_bytes());
            }
            let (entries, octets) = memory.held();
            assert!(entries <= 100 && octets <= 10_000 && memory.turns.len() <= 2 * entries + 20);
        }
        assert!(memory.held().0 > 20);
        set(&mut memory, 0, 20_000);
        assert!(!has(&mut memory, 0) && memory.held() == (0, 0));
    }
}
