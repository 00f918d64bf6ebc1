//! What stands on the stream: who leads, and the records of the log.
//!
//! ```text
//!  0      1     2       18      26      34
//!  | form | kind | log   | term  | first | ..
//!    kind 1, 2, 3: who leads       begun u32, name u8 + octets, terms u16: number u64, first u64
//!    kind 4: records               before u32, then records: length u32, octets
//! ```
//!
//! All numbers are little-endian. `first` is the number of the record that stands first, or would: it never falls from
//! message to message. A record that has no room goes on in the next message: `before` tells how many of its octets
//! came already. The last record of a message is cut short where its octets end before its length.

use crate::terms::{Term, Terms};
use thiserror::Error;

const FORM: u8 = 1;
const HEAD_OCTETS: usize = 34;
const RECORDS: u8 = 4;
/// Octets of a node's name.
pub const NAME_OCTETS_MAX: usize = 64;
/// Octets that a message has at least for records.
pub const ROOM_OCTETS_MIN: usize = 1024;
/// Octets of a record at most; a longer one is no log's.
pub const RECORD_OCTETS_MAX: usize = 16 << 20;

/// What a leader says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// It begins to lead: from here on all others are followers.
    Leads,
    /// It is still there.
    Beats,
    /// It leads no longer, by its own will.
    Yields,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Of who leads.
    Leader {
        /// What it says.
        word: Word,
        /// Its name.
        name: String,
        /// The terms, its own last.
        terms: Terms,
        /// The number of the next record.
        next: u64,
    },
    /// Records.
    Records(Records<'a>),
}

/// Records of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records<'a> {
    /// Whose log.
    pub log: u128,
    /// The term in which they were written.
    pub term: u64,
    /// The number of the first.
    pub first: u64,
    /// Octets of the first that came before.
    pub before: usize,
    octets: &'a [u8],
}

/// It is no message of this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a message of the stream is not of this program")]
pub struct Strange;

/// A part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The record's number.
    pub number: u64,
    /// What is here of it.
    pub octets: &'a [u8],
    /// Whether it ends here.
    pub ends: bool,
}

impl Message<'_> {
    /// Reads one.
    ///
    /// # Errors
    /// It is none.
    pub fn new(octets: &[u8]) -> Result<Message<'_>, Strange> {
        let mut rest = Rest(octets);
        let (form, kind) = (rest.u8()?, rest.u8()?);
        let (log, term, first) = (rest.u128()?, rest.u64()?, rest.u64()?);
        let word = match kind {
            _ if form != FORM || first == 0 || term == 0 => return Err(Strange),
            1 => Word::Leads,
            2 => Word::Beats,
            3 => Word::Yields,
            RECORDS => return records(log, term, first, rest).map(Message::Records),
            _ => return Err(Strange),
        };
        let begun = rest.u32()?;
        let octets = usize::from(rest.u8()?);
        let name = core::str::from_utf8(rest.take(octets)?).map_err(|_| Strange)?.to_owned();
        let count = usize::from(rest.u16()?);
        let list = (0..count).map(|_| Ok(Term { number: rest.u64()?, first: rest.u64()? }));
        let terms = Terms { log, begun, list: list.collect::<Result<_, Strange>>()? };
        let ordered = terms.list.windows(2).all(|two| two[0].number < two[1].number && two[0].first <= two[1].first);
        let sound = terms.newest().number == term && ordered && terms.list.iter().all(|term| term.first > 0);
        if sound && rest.0.is_empty() { Ok(Message::Leader { word, name, terms, next: first }) } else { Err(Strange) }
    }

    /// Whose log it is of.
    pub fn log(&self) -> u128 {
        match self {
            Message::Leader { terms, .. } => terms.log,
            Message::Records(records) => records.log,
        }
    }

    /// In which term it was said.
    pub fn term(&self) -> u64 {
        match self {
            Message::Leader { terms, .. } => terms.newest().number,
            Message::Records(records) => records.term,
        }
    }

    /// The number of the record that stands first in it, or would.
    pub fn first(&self) -> u64 {
        match self {
            Message::Leader { next, .. } => *next,
            Message::Records(records) => records.first,
        }
    }
}

fn records(log: u128, term: u64, first: u64, mut rest: Rest<'_>) -> Result<Records<'_>, Strange> {
    let before = rest.u32()? as usize;
    let records = Records { log, term, first, before, octets: rest.0 };
    let (mut whole, mut none) = (0, true);
    records.each(|part| {
        none = false;
        whole += part.octets.len() + 4;
    });
    if whole == rest.0.len() && !none { Ok(records) } else { Err(Strange) }
}

impl<'a> Records<'a> {
    /// Shows its records, the last of which may go on elsewhere.
    pub fn each(&self, mut see: impl FnMut(Part<'a>)) {
        let (mut rest, mut before, mut number) = (Rest(self.octets), self.before, self.first);
        while let Ok(length) = rest.u32() {
            let length = length as usize;
            if length > RECORD_OCTETS_MAX || length < before {
                return;
            }
            let here = (length - before).min(rest.0.len());
            let Ok(octets) = rest.take(here) else { return };
            see(Part { number, octets, ends: before + here == length });
            let Some(next) = number.checked_add(1) else { return };
            (before, number) = (0, next);
        }
    }
}

/// Writes what a leader says of itself.
pub fn leader(word: Word, name: &str, terms: &Terms, next: u64) -> Vec<u8> {
    let kind = match word {
        Word::Leads => 1,
        Word::Beats => 2,
        Word::Yields => 3,
    };
    let mut out = head(kind, terms, next);
    let name = &name.as_bytes()[..name.len().min(NAME_OCTETS_MAX)];
    out.extend_from_slice(&terms.begun.to_le_bytes());
    out.push(name.len() as u8);
    out.extend_from_slice(name);
    out.extend_from_slice(&(terms.list.len() as u16).to_le_bytes());
    for term in &terms.list {
        out.extend_from_slice(&term.number.to_le_bytes());
        out.extend_from_slice(&term.first.to_le_bytes());
    }
    out
}

fn head(kind: u8, terms: &Terms, first: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(&[FORM, kind]);
    out.extend_from_slice(&terms.log.to_le_bytes());
    out.extend_from_slice(&terms.newest().number.to_le_bytes());
    out.extend_from_slice(&first.to_le_bytes());
    out
}

/// A message of records that is being filled.
#[derive(Debug)]
pub struct Draft {
    /// As it goes to the stream.
    pub octets: Vec<u8>,
    /// The last record that ends in it; none if none does.
    pub last: Option<u64>,
}

impl Draft {
    /// One that begins with a record, of which so many octets went before.
    pub fn begin(terms: &Terms, first: u64, before: usize) -> Draft {
        let mut octets = head(RECORDS, terms, first);
        octets.extend_from_slice(&(before as u32).to_le_bytes());
        Draft { octets, last: None }
    }

    /// Appends a record, or what has room of it up to so many octets of the message. Octets of it that went until now;
    /// none if all did.
    pub fn put(&mut self, number: u64, record: &[u8], before: usize, most: usize) -> Option<usize> {
        let rest = &record[before..];
        let room = most.saturating_sub(self.octets.len() + 4);
        if room == 0 && !self.is_empty() {
            return Some(before);
        }
        let here = rest.len().min(room);
        self.octets.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.octets.extend_from_slice(&rest[..here]);
        if here == rest.len() {
            self.last = Some(number);
            return None;
        }
        Some(before + here)
    }

    /// Whether it has nothing.
    pub fn is_empty(&self) -> bool {
        self.octets.len() <= HEAD_OCTETS + 4
    }
}

/// Octets that are read from the front.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, octets: usize) -> Result<&'a [u8], Strange> {
        let (taken, rest) = self.0.split_at_checked(octets).ok_or(Strange)?;
        self.0 = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Strange> {
        self.take(N)?.try_into().map_err(|_| Strange)
    }

    fn u8(&mut self) -> Result<u8, Strange> {
        self.chunk().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16, Strange> {
        self.chunk().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Strange> {
        self.chunk().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Strange> {
        self.chunk().map(u64::from_le_bytes)
    }

    fn u128(&mut self) -> Result<u128, Strange> {
        self.chunk().map(u128::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_leader_says_is_read_as_it_was_said() {
        let terms = Terms::begin(1 << 100, 1_700_000_000, 5).next(9).next(9);
        for word in [Word::Leads, Word::Beats, Word::Yields] {
            let octets = leader(word, "north", &terms, 12);
            let read = Message::new(&octets).unwrap();
            assert_eq!(read, Message::Leader { word, name: "north".to_owned(), terms: terms.clone(), next: 12 });
            assert_eq!((read.log(), read.term(), read.first()), (1 << 100, 3, 12));
            for cut in 0..octets.len() {
                assert_eq!(Message::new(&octets[..cut]), Err(Strange), "cut at {cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn records_come_out_as_they_went_in(
            records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..40),
            most in 60_usize..200,
        ) {
            let terms = Terms::begin(7, 0, 1);
            let mut messages = Vec::new();
            let mut draft = Draft::begin(&terms, 1, 0);
            for (number, record) in (1..).zip(&records) {
                let mut before = 0;
                while let Some(went) = draft.put(number, record, before, most) {
                    before = went;
                    messages.push(std::mem::replace(&mut draft, Draft::begin(&terms, number, before)));
                }
            }
            messages.push(draft);
            let (mut found, mut part) = (Vec::new(), Vec::new());
            for draft in messages.iter().filter(|draft| !draft.is_empty()) {
                prop_assert!(draft.octets.len() <= most.max(HEAD_OCTETS + 8));
                let Ok(Message::Records(read)) = Message::new(&draft.octets) else { panic!("{draft:?}") };
                prop_assert_eq!((read.first, read.before), (found.len() as u64 + 1, part.len()));
                read.each(|piece| {
                    part.extend_from_slice(piece.octets);
                    if piece.ends {
                        found.push(std::mem::take(&mut part));
                    }
                });
                prop_assert_eq!(draft.last, draft.last.map(|_| found.len() as u64));
            }
            prop_assert_eq!(found, records);
        }

        #[test]
        fn anything_is_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..200), kind in 0_u8..6) {
            let _ = Message::new(&octets);
            let _ = Message::new(&[&[FORM, kind], &octets[..]].concat());
        }
    }
}
