//! The inventory several times: one that everybody sees, one that is being changed, and those that were seen before.
//! They take turns, so that a change costs what it changes and not a copy of everything, and who looks on waits for
//! nobody.

use crate::inventory::{Entry, Inventory, Refusal};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Inventories that were seen before. While somebody looks at one of them, the other one is changed.
const FORMERS_MAX: usize = 2;
/// Changes that an inventory may lack to be brought up to what is shown; with more it is dropped, and copied when
/// it is needed.
const MISSING_MAX: usize = 100_000;

/// The one that is changed, and what the others do not have yet.
#[derive(Debug)]
pub(super) struct Twin {
    /// What is shown.
    shown: Arc<Inventory>,
    /// Ahead of what is shown by the batch; none while both are the same.
    work: Option<Inventory>,
    /// What was shown before, the oldest first.
    formers: VecDeque<Arc<Inventory>>,
    /// The entries that one of these lacks, and behind them the batch: entries since what is shown.
    entries: VecDeque<Entry>,
    /// Copies that were made of everything.
    copies: u64,
}

impl Twin {
    pub fn new(shown: Arc<Inventory>) -> Twin {
        Twin { shown, work: None, formers: VecDeque::new(), entries: VecDeque::new(), copies: 0 }
    }

    /// With all entries so far.
    pub fn newest(&self) -> &Inventory {
        self.work.as_ref().unwrap_or(&self.shown)
    }

    /// Copies that were made of the whole inventory, since the start.
    pub fn copies(&self) -> u64 {
        self.copies
    }

    /// Does what entries say.
    ///
    /// # Errors
    /// It cannot be done; all is as it was.
    pub fn apply(&mut self, entries: &[Entry]) -> Result<(), Refusal> {
        let mut work = self.work.take().unwrap_or_else(|| self.another());
        if let Err(why) = entries.iter().try_for_each(|entry| work.apply(entry)) {
            self.restore();
            return Err(why);
        }
        self.work = Some(work);
        self.entries.extend(entries.iter().cloned());
        Ok(())
    }

    /// Undoes the last entries, so many of them.
    pub fn undo(&mut self, entries: usize) {
        self.entries.truncate(self.entries.len() - entries);
        self.work = None;
        self.restore();
    }

    /// The one to be changed again, with the entries that were not shown yet.
    fn restore(&mut self) {
        if self.entries.back().is_some_and(|entry| entry.sequence > self.shown.sequence()) {
            self.work = Some(self.another());
        }
    }

    /// What is shown, with the batch: what was shown before brought up to it, or a copy if somebody still looks at
    /// all of those.
    fn another(&mut self) -> Inventory {
        if let Some(former) = self.free().and_then(|former| self.brought(former).ok()) {
            return former;
        }
        let copy = self.copy();
        self.brought(copy).unwrap_or_else(|why| {
            // They were applied to the same state before.
            tracing::error!("graphs: entries of the inventory are not to be repeated: {why}");
            self.copy()
        })
    }

    /// With the entries that it lacks.
    fn brought(&self, mut inventory: Inventory) -> Result<Inventory, Refusal> {
        for entry in &self.entries {
            if entry.sequence > inventory.sequence() {
                inventory.apply(entry)?;
            }
        }
        Ok(inventory)
    }

    fn copy(&mut self) -> Inventory {
        self.copies += 1;
        (*self.shown).clone()
    }

    /// What was shown before at which nobody looks any more: the one that lacks least.
    fn free(&mut self) -> Option<Inventory> {
        let free = self.formers.iter().rposition(|former| Arc::strong_count(former) == 1)?;
        // Nobody can have got it since: another one is shown.
        Arc::try_unwrap(self.formers.remove(free)?).ok()
    }

    /// Shows what there is.
    pub fn show(&mut self, to: &Mutex<Arc<Inventory>>) {
        let Some(work) = self.work.take() else { return };
        let before = core::mem::replace(&mut self.shown, Arc::new(work));
        *to.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&self.shown);
        self.formers.push_back(before);
        self.forget();
        while self.formers.len() > FORMERS_MAX || self.missing() > MISSING_MAX {
            self.formers.pop_front();
            self.forget();
        }
    }

    /// Changes that the oldest one lacks.
    fn missing(&self) -> usize {
        self.entries.iter().map(|entry| entry.changes.len()).sum()
    }

    /// Whether there are more than are needed where nobody looks on.
    pub fn has_spare(&self) -> bool {
        self.formers.len() > 1
    }

    /// Lets go of what is only needed while others look on and all changes.
    pub fn rest(&mut self) {
        while self.has_spare() {
            self.formers.pop_front();
        }
        self.forget();
    }

    /// Forgets the entries that nobody lacks.
    fn forget(&mut self) {
        let oldest = self.formers.front().unwrap_or(&self.shown).sequence();
        let known = self.entries.iter().take_while(|entry| entry.sequence <= oldest).count();
        self.entries.drain(..known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Change, Device};

    fn entry(sequence: u64, name: &str) -> Entry {
        let device = Box::new(Device::new(name, "127.0.0.1"));
        let changes = vec![Change::Device { id: sequence as u32, device }];
        Entry { sequence, at_ms: 0, by: "test".into(), changes }
    }

    #[test]
    fn what_is_shown_is_what_was_applied_however_long_others_look_on() {
        let (mut twin, shown) = (Twin::new(Arc::default()), Mutex::new(Arc::<Inventory>::default()));
        let mut looks_on = Vec::new();
        for number in 1..20u64 {
            twin.apply(&[entry(number, &format!("device-{number}"))]).unwrap();
            if number % 3 == 0 {
                assert!(twin.apply(&[entry(number + 1, "device-1")]).is_err());
            }
            assert_eq!(twin.newest().devices().len() as u64, number);
            if number % 2 == 0 {
                twin.show(&shown);
                let now = Arc::clone(&shown.lock().unwrap());
                assert_eq!((now.sequence(), now.devices().len() as u64), (number, number));
                if number % 4 == 0 {
                    looks_on.push((number, now));
                }
            }
        }
        for (number, seen) in looks_on {
            assert_eq!((seen.sequence(), seen.devices().len() as u64), (number, number));
        }
    }

    #[test]
    fn all_is_copied_no_more_often_than_somebody_keeps_looking_at_it() {
        let (mut twin, shown) = (Twin::new(Arc::default()), Mutex::new(Arc::<Inventory>::default()));
        let mut number = 0;
        let mut turns = |twin: &mut Twin, turns: u64| {
            for _ in 0..turns {
                number += 1;
                twin.apply(&[entry(number, &format!("device-{number}"))]).unwrap();
                twin.show(&shown);
                assert_eq!((twin.newest().sequence(), twin.newest().devices().len() as u64), (number, number));
            }
            Arc::clone(&shown.lock().unwrap())
        };
        turns(&mut twin, 100);
        assert_eq!(twin.copies(), 1, "the one to begin with");
        // Who looks on over many changes costs one copy; then there are enough of them.
        for _ in 0..20 {
            let looks_on = turns(&mut twin, 1);
            turns(&mut twin, 10);
            drop(looks_on);
        }
        assert_eq!(twin.copies(), 2);
        assert!(twin.entries.len() <= 11 && twin.missing() <= 11, "{twin:?}");
        // What was for them goes when it is calm, and those that are left do.
        assert!(twin.has_spare());
        twin.rest();
        assert!(!twin.has_spare() && twin.entries.len() == 1, "{twin:?}");
        turns(&mut twin, 10);
        assert_eq!(twin.copies(), 2);
    }

    #[test]
    fn what_lacks_too_much_is_not_brought_up_and_no_entries_are_kept_for_it() {
        let (mut twin, shown) = (Twin::new(Arc::default()), Mutex::new(Arc::<Inventory>::default()));
        let many = (1..=MISSING_MAX as u32 + 1).map(|id| {
            let device = Box::new(Device::new(&format!("device-{id}"), "127.0.0.1"));
            Change::Device { id, device }
        });
        let large = Entry { sequence: 1, at_ms: 0, by: "test".into(), changes: many.collect() };
        twin.apply(&[large]).unwrap();
        twin.show(&shown);
        assert_eq!((twin.formers.len(), twin.entries.len(), twin.missing()), (0, 0, 0));
        let name = |number: u64| format!("device-{number}");
        let more = Change::Device { id: MISSING_MAX as u32 + 2, device: Box::new(Device::new("more", "127.0.0.1")) };
        twin.apply(&[Entry { sequence: 2, at_ms: 0, by: "test".into(), changes: vec![more] }]).unwrap();
        twin.show(&shown);
        let now = shown.lock().unwrap();
        assert!(now.device_named("more").is_some() && now.device_named(&name(MISSING_MAX as u64 + 1)).is_some());
        assert_eq!(twin.copies(), 2);
    }

    #[test]
    fn entries_that_the_log_did_not_take_are_undone_alone() {
        let (mut twin, shown) = (Twin::new(Arc::default()), Mutex::new(Arc::<Inventory>::default()));
        twin.apply(&[entry(1, "a")]).unwrap();
        twin.apply(&[entry(2, "b"), entry(3, "c")]).unwrap();
        twin.undo(2);
        assert_eq!(twin.newest().devices().len(), 1);
        twin.apply(&[entry(2, "d")]).unwrap();
        twin.show(&shown);
        let now = shown.lock().unwrap();
        assert!(now.device_named("d").is_some() && now.device_named("b").is_none());
    }
}
