//! What is not closed yet, asked of the owner of the signalling on its way through the gatherer: when it is answered,
//! the rows of all that was closed before are on their way to the store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use trunkline_calls::live::Owner;
use trunkline_calls::signalling::Standing;

/// Asked by one thread, answered by two.
#[derive(Debug, Default)]
pub struct Stands {
    wanted: AtomicBool,
    given: Mutex<Given>,
}

#[derive(Debug, Default)]
struct Given {
    /// By how many epochs, and what stood then.
    noted: Option<(u64, Standing)>,
    answer: Option<Standing>,
    last: Option<Standing>,
}

impl Stands {
    /// Asks; what was answered before is forgotten.
    pub fn ask(&self) {
        self.with(|given| (given.noted, given.answer) = (None, None));
        self.wanted.store(true, Ordering::Release);
    }

    /// The answer, once it is there.
    pub fn answer(&self) -> Option<Standing> {
        self.with(|given| given.answer.take())
    }

    /// What stood when the capture ended.
    pub fn last(&self) -> Option<Standing> {
        self.with(|given| given.last.take())
    }

    /// By the owner, behind each epoch.
    pub fn note(&self, owner: &Owner) {
        if self.wanted.swap(false, Ordering::AcqRel) {
            let noted = Some((owner.epochs(), owner.standing()));
            self.with(|given| given.noted = noted);
        }
    }

    /// By the owner, behind the last epoch.
    pub fn note_last(&self, owner: &Owner) {
        let last = owner.last_standing();
        self.with(|given| given.last = last);
    }

    /// By the gatherer: whether the rows of the epochs that were noted are joined, and have to be handed over.
    pub fn is_due(&self, joined: u64) -> bool {
        self.with(|given| given.noted.as_ref().is_some_and(|(epochs, _)| *epochs <= joined))
    }

    /// By the gatherer: they are handed over.
    pub fn handed_over(&self) {
        self.with(|given| given.answer = given.noted.take().map(|(_, standing)| standing));
    }

    fn with<R>(&self, how: impl FnOnce(&mut Given) -> R) -> R {
        how(&mut self.given.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_answered_only_when_the_epochs_before_are_handed_over() {
        let (stands, owner) = (Stands::default(), Owner::new(1));
        stands.note(&owner);
        assert!(!stands.is_due(u64::MAX), "nobody asked");
        stands.ask();
        assert_eq!((stands.is_due(u64::MAX), stands.answer()), (false, None));
        stands.note(&owner);
        assert_eq!(stands.answer(), None);
        assert!(stands.is_due(0), "no epoch was given out");
        stands.handed_over();
        assert_eq!((stands.answer(), stands.answer()), (Some(owner.standing()), None));
    }
}
