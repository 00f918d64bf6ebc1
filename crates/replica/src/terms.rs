//! Terms: who has led a log, from which record on. What was written by whom follows from it, and so what of a node's
//! own log is not the log's.

use thiserror::Error;

/// Terms that are told of; a node that knows none of them has to be given a copy of the log.
// Limit: terms of leadership remembered by a node
// Beyond: a node that knows none of them needs a copy of the log
// Seen in: the error message at its start
pub const TERMS_MAX: usize = 64;

/// A node that led, from a record on until the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Its number, from 1 on.
    pub number: u64,
    /// The first record that was written in it.
    pub first: u64,
}

/// The terms of a log, and which log it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The log, by chance.
    pub log: u128,
    /// When it was first led, seconds since 1970.
    pub begun: u32,
    /// The newest ones, in order; never empty.
    pub list: Vec<Term>,
}

/// Two tellings of terms that are not of one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Alien {
    /// Another log's.
    #[error("the stream is of another log")]
    Other,
    /// What this node knows is newer.
    #[error("the stream ends with term {told}, and this node knows term {known}: the stream has lost what it had")]
    Older {
        /// The newest of the stream.
        told: u64,
        /// The newest here.
        known: u64,
    },
    /// Too many terms have gone by.
    #[error("this node knows terms up to {known}, and the stream tells of none before {oldest}: it needs a copy")]
    Gone {
        /// The newest here.
        known: u64,
        /// The oldest that is told of.
        oldest: u64,
    },
}

impl Terms {
    /// Of a log that nobody led yet; its next record is `first`.
    pub fn begin(log: u128, begun: u32, first: u64) -> Terms {
        Terms { log, begun, list: vec![Term { number: 1, first }] }
    }

    /// The newest.
    pub fn newest(&self) -> Term {
        self.list.last().copied().unwrap_or(Term { number: 0, first: 1 })
    }

    /// The next one, from a record on.
    pub fn next(&self, first: u64) -> Terms {
        let mut next = self.clone();
        next.list.push(Term { number: self.newest().number + 1, first });
        let beyond = next.list.len().saturating_sub(TERMS_MAX);
        next.list.drain(..beyond);
        next
    }

    /// The last record of a node's own log that is the log's, where another node led since: what comes after it was
    /// never acknowledged. None if nobody did.
    ///
    /// # Errors
    /// They are not of one history, or it cannot be told.
    pub fn cut(&self, told: &Terms) -> Result<Option<u64>, Alien> {
        let (known, newest) = (self.newest().number, told.newest().number);
        if self.log != told.log {
            return Err(Alien::Other);
        }
        if newest < known {
            return Err(Alien::Older { told: newest, known });
        }
        let oldest = told.list.first().map_or(0, |term| term.number);
        if oldest > known + 1 {
            return Err(Alien::Gone { known, oldest });
        }
        Ok(told.list.iter().find(|term| term.number > known).map(|term| term.first - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_after_another_led_is_cut_off() {
        let first = Terms::begin(7, 0, 1);
        let second = first.next(100);
        let third = second.next(150);
        assert_eq!(third.newest(), Term { number: 3, first: 150 });
        assert_eq!((first.cut(&first), first.cut(&second), first.cut(&third)), (Ok(None), Ok(Some(99)), Ok(Some(99))));
        assert_eq!((second.cut(&third), third.cut(&third)), (Ok(Some(149)), Ok(None)));
        assert_eq!(third.cut(&second), Err(Alien::Older { told: 2, known: 3 }));
        assert_eq!(first.cut(&Terms::begin(8, 0, 1)), Err(Alien::Other));
    }

    #[test]
    fn terms_that_nobody_tells_of_any_more_are_not_guessed() {
        let first = Terms::begin(7, 0, 1);
        let mut told = first.clone();
        for at in 0..TERMS_MAX as u64 {
            told = told.next(10 + at);
        }
        assert_eq!(told.list.len(), TERMS_MAX);
        assert_eq!(first.cut(&told), Ok(Some(9)));
        assert_eq!(first.cut(&told.next(900)), Err(Alien::Gone { known: 1, oldest: 3 }));
    }
}
