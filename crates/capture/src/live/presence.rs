//! An interface that goes away and comes back, and rings that are opened again for it.

use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::error::LiveError;
use super::interface;

/// Time between two looks whether an interface is back.
pub(crate) const LOOK: Duration = Duration::from_millis(200);

/// Whether an interface is there.
pub(crate) struct Presence {
    name: String,
    /// The number of the interface that was opened.
    index: u32,
    /// If it is away: when it is looked for again.
    away: Option<Instant>,
}

/// What a look showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is still away, or was looked for just now.
    Away,
    /// The same interface is up again.
    Same,
    /// Another one of its name is up.
    Another,
}

impl Presence {
    pub(crate) fn new(name: &str, index: u32) -> Self {
        Presence { name: name.to_owned(), index, away: None }
    }

    pub(crate) fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// It went away: how.
    pub(crate) fn leave(&mut self) -> LiveError {
        self.away = Some(Instant::now());
        let name = self.name.clone();
        match interface::is_up(&name) {
            Some((index, _)) if index == self.index => LiveError::Down(name),
            _ => LiveError::Gone(name),
        }
    }

    /// It is back, under this number.
    pub(crate) fn come_back(&mut self, index: u32) {
        (self.index, self.away) = (index, None);
    }

    /// Whether it went away without a word.
    pub(crate) fn is_missing(&self) -> bool {
        interface::is_up(&self.name) != Some((self.index, true))
    }

    /// Looks for it, now and then.
    pub(crate) fn look(&mut self) -> Seen {
        let now = Instant::now();
        if self.away.is_none_or(|next| next > now) {
            return Seen::Away;
        }
        self.away = Some(now + LOOK);
        match interface::is_up(&self.name) {
            Some((index, true)) if index == self.index => Seen::Same,
            Some((_, true)) => Seen::Another,
            _ => Seen::Away,
        }
    }
}

/// The rings of an interface, opened together: each is taken by its lane once, and once more after each time they were
/// opened again, for which the first lane to come sees to all.
pub(crate) struct Together<T> {
    opened: Mutex<(u64, Vec<Option<T>>)>,
}

impl<T> Together<T> {
    pub(crate) fn new(rings: Vec<T>) -> Self {
        Together { opened: Mutex::new((0, rings.into_iter().map(Some).collect())) }
    }

    /// The ring of a lane that has none.
    pub(crate) fn take(&self, number: u16) -> Option<T> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.1.get_mut(usize::from(number))?.take()
    }

    /// The ring of a lane whose ring is of a `generation` that is over, and the new one's number.
    pub(crate) fn again(
        &self,
        number: u16,
        generation: u64,
        open: impl FnOnce() -> Result<Vec<T>, LiveError>,
    ) -> Result<Option<(T, u64)>, LiveError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.0 == generation {
            // What was opened for lanes that never came has to go first.
            opened.1.clear();
            match open() {
                Ok(rings) => *opened = (generation + 1, rings.into_iter().map(Some).collect()),
                Err(error @ (LiveError::NotPermitted { .. } | LiveError::Unsupported(_))) => return Err(error),
                // It may have gone again; another look comes soon.
                Err(_) => return Ok(None),
            }
        }
        let newest = opened.0;
        Ok(opened.1.get_mut(usize::from(number)).and_then(Option::take).map(|ring| (ring, newest)))
    }
}
