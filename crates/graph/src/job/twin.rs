//! The inventory twice: one that everybody sees, and one that is being changed. They take turns, so that a change costs
//! what it changes and not a copy of everything, and who looks on waits for nobody.

use crate::inventory::{Entry, Inventory, Refusal};
use std::sync::{Arc, Mutex, PoisonError};

/// The one that is changed, and what the other one does not have yet.
#[derive(Debug)]
pub(super) struct Twin {
    /// What is shown.
    shown: Arc<Inventory>,
    /// Ahead of what is shown by `batch`; none while both are the same.
    work: Option<Inventory>,
    /// Entries since what is shown.
    batch: Vec<Entry>,
    /// What was shown before, and the entries that it lacks.
    former: Option<(Arc<Inventory>, Vec<Entry>)>,
}

impl Twin {
    pub fn new(shown: Arc<Inventory>) -> Twin {
        Twin { shown, work: None, batch: Vec::new(), former: None }
    }

    /// With all entries so far.
    pub fn newest(&self) -> &Inventory {
        self.work.as_ref().unwrap_or(&self.shown)
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
        self.batch.extend_from_slice(entries);
        Ok(())
    }

    /// Undoes the last entries, so many of them.
    pub fn undo(&mut self, entries: usize) {
        self.batch.truncate(self.batch.len() - entries);
        self.work = None;
        self.restore();
    }

    /// The one to be changed again, with the entries that were not shown yet.
    fn restore(&mut self) {
        if !self.batch.is_empty() {
            self.work = Some(self.another());
        }
    }

    /// What is shown, with the batch: what was shown before brought up to it, or a copy if somebody still looks at
    /// that.
    fn another(&mut self) -> Inventory {
        let free = self.former.take().and_then(|(former, missing)| Some((Arc::try_unwrap(former).ok()?, missing)));
        let brought = free.and_then(|(mut inventory, missing)| {
            missing.iter().try_for_each(|entry| inventory.apply(entry)).ok().map(|()| inventory)
        });
        let mut inventory = brought.unwrap_or_else(|| (*self.shown).clone());
        for entry in &self.batch {
            // They were applied to the same state before.
            if inventory.apply(entry).is_err() {
                tracing::error!("graphs: entry {} is not to be repeated", entry.sequence);
            }
        }
        inventory
    }

    /// Shows what there is.
    pub fn show(&mut self, to: &Mutex<Arc<Inventory>>) {
        let Some(work) = self.work.take() else { return };
        let before = core::mem::replace(&mut self.shown, Arc::new(work));
        *to.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&self.shown);
        self.former = Some((before, core::mem::take(&mut self.batch)));
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
