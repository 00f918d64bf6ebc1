//! What a node that does not lead knows: the records in their order, who leads, and since when nothing was said.

use crate::message::{Message, Part, RECORD_OCTETS_MAX, Records, Strange, Word, leader};
use crate::terms::{Alien, Terms};
use core::time::Duration;
use thiserror::Error;

/// The stream and this node's log are not of one history, or the stream is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// A message of somebody else.
    #[error(transparent)]
    Strange(#[from] Strange),
    /// Of another log, or one that cannot be compared.
    #[error(transparent)]
    Alien(#[from] Alien),
    /// A message is missing, or one does not follow from those before it.
    #[error("message {place} of the stream does not follow from those before it: {what}")]
    Broken {
        /// Its place.
        place: u64,
        /// What is wrong.
        what: &'static str,
    },
}

/// What a message brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Brought {
    /// Whole records, from a number on; those that the own log has already are left out.
    Records {
        /// The number of the first.
        first: u64,
        /// Each.
        records: Vec<Vec<u8>>,
    },
    /// A node leads: its terms are to be kept before any record of them is.
    Terms(Terms),
    /// Another term has begun with records that the own log has otherwise: those were never acknowledged. The stream is
    /// to be joined anew.
    Anew,
    /// Nothing that is new.
    Nothing,
}

/// See the module.
#[derive(Debug)]
pub struct Follower {
    /// What is known of terms, of the stream or from before.
    terms: Terms,
    leader: Option<String>,
    /// The last record of the own log.
    own: u64,
    /// The place of the last message that was taken.
    place: u64,
    /// The number of the next record of the stream; none before the first message.
    next: Option<u64>,
    /// What came of it already.
    part: Vec<u8>,
    /// The term of the last message that was taken.
    said: u64,
    /// When it came, or following began.
    heard: Duration,
    yielded: bool,
}

impl Follower {
    /// Of a node whose log ends with record `own`, from the message behind `place` on: that in which record `own + 1`
    /// begins, or one before it.
    pub fn new(terms: Terms, own: u64, place: u64, now: Duration) -> Follower {
        let part = Vec::new();
        Follower { terms, leader: None, own, place, next: None, part, said: 0, heard: now, yielded: false }
    }

    /// The place of the last message that was taken.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// The last record that is known to be here.
    pub fn own(&self) -> u64 {
        self.own
    }

    /// The number of the next record of the stream; none before the first message.
    pub fn next(&self) -> Option<u64> {
        self.next
    }

    /// The terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Who leads, as far as it was said.
    pub fn leader(&self) -> Option<&str> {
        self.leader.as_deref()
    }

    /// Whether the leader has handed over.
    pub fn is_yielded(&self) -> bool {
        self.yielded
    }

    /// Takes the message at the next place.
    ///
    /// # Errors
    /// It does not follow; nothing more can be taken.
    pub fn take(&mut self, place: u64, octets: &[u8], now: Duration) -> Result<Brought, Fault> {
        let broken = |what| Fault::Broken { place, what };
        let message = Message::new(octets)?;
        if place != self.place + 1 {
            return Err(broken("those before it are not there any more"));
        }
        if message.log() != self.terms.log {
            return Err(Alien::Other.into());
        }
        if self.next.is_some_and(|next| next != message.first()) {
            return Err(broken("its first record is not the next"));
        }
        if message.term() < self.said {
            return Err(broken("its term was over"));
        }
        (self.place, self.heard, self.said) = (place, now, message.term());
        match message {
            Message::Leader { word, name, terms, next } => self.leads(place, word, name, terms, next),
            Message::Records(records) => self.records(place, &records),
        }
    }

    fn leads(&mut self, place: u64, word: Word, name: String, terms: Terms, next: u64) -> Result<Brought, Fault> {
        let (known, seen) = (self.terms.newest().number, self.next.is_some());
        self.next = Some(next);
        if word == Word::Leads {
            // A record of which the leader before has only told the beginning is nobody's.
            self.part.clear();
        }
        if terms.newest().number >= known {
            (self.leader, self.yielded) = (Some(name), word == Word::Yields);
        }
        if terms.newest().number <= known {
            return Ok(Brought::Nothing);
        }
        let last = self.terms.cut(&terms)?;
        if last.is_some_and(|last| last < self.own) {
            return Ok(Brought::Anew);
        }
        if seen && word != Word::Leads {
            return Err(Fault::Broken { place, what: "nobody has begun its term" });
        }
        self.terms = terms.clone();
        Ok(Brought::Terms(terms))
    }

    fn records(&mut self, place: u64, records: &Records<'_>) -> Result<Brought, Fault> {
        let broken = |what| Fault::Broken { place, what };
        if records.term > self.terms.newest().number {
            let seen = self.next.is_some();
            return if seen { Err(broken("nobody has begun its term")) } else { Ok(Brought::Anew) };
        }
        if self.next.is_none() && records.first <= self.own {
            // Of a record that is here already the beginning may stand in a message that was not asked for.
            self.part = vec![0; records.before];
        }
        if records.before != self.part.len() {
            return Err(broken("it does not go on where the one before ended"));
        }
        let (mut whole, mut next, mut long, mut over) = (Vec::new(), records.first, false, false);
        records.each(|Part { number, octets, ends }| {
            self.part.extend_from_slice(octets);
            long = long || self.part.len() > RECORD_OCTETS_MAX;
            if ends {
                let record = core::mem::take(&mut self.part);
                match number.checked_add(1) {
                    Some(after) => next = after,
                    None => over = true,
                }
                if number > self.own {
                    whole.push(record);
                }
            }
        });
        if over {
            return Err(broken("no number comes after its last one"));
        }
        self.next = Some(next);
        let first = next - whole.len() as u64;
        if long || (!whole.is_empty() && first != self.own + 1) {
            return Err(broken("records before it are missing"));
        }
        self.own += whole.len() as u64;
        Ok(if whole.is_empty() { Brought::Nothing } else { Brought::Records { first, records: whole } })
    }

    /// Nothing could be heard until now: that tells nothing of the leader.
    pub fn excuse(&mut self, now: Duration) {
        self.heard = now;
    }

    /// Whether the leader has handed over, or nothing came for so long; asked where the stream has nothing more.
    pub fn is_vacant(&self, now: Duration, silence: Duration) -> bool {
        self.yielded || now.saturating_sub(self.heard) >= silence
    }

    /// What this node would publish behind [`Follower::place`] to lead from now on, and its terms then. Records of the
    /// own log behind those of the stream are to be published after it.
    pub fn candidacy(&self, name: &str) -> (Terms, Vec<u8>) {
        let next = self.next.unwrap_or(self.own + 1);
        let terms = self.terms.next(next);
        let octets = leader(Word::Leads, name, &terms, next);
        (terms, octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publisher::Publisher;

    const NOW: Duration = Duration::from_secs(9);

    fn stream(publisher: &mut Publisher) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| publisher.poll().map(|publish| publish.octets.to_vec())).collect()
    }

    #[test]
    fn records_come_once_and_whole() {
        let terms = Terms::begin(7, 0, 1);
        let mut publisher = Publisher::new(terms.clone(), "north", 1, 1024);
        let long = vec![9; 3000];
        publisher.append([&b"a"[..], &long, b"b"].into_iter());
        let messages = stream(&mut publisher);
        assert_eq!(messages.len(), 4);
        let mut follower = Follower::new(terms, 1, 1, NOW);
        let mut records = Vec::new();
        for (place, octets) in (2..).zip(&messages) {
            if let Brought::Records { first, records: more } = follower.take(place, octets, NOW).unwrap() {
                assert_eq!(first, 2 + records.len() as u64);
                records.extend(more);
            }
        }
        assert_eq!(records, [long, b"b".to_vec()]);
        assert_eq!((follower.own(), follower.place()), (3, 5));
    }

    #[test]
    fn what_does_not_follow_is_refused() {
        let terms = Terms::begin(7, 0, 1);
        let mut publisher = Publisher::new(terms.clone(), "north", 0, 1024);
        for record in [&b"a"[..], b"b", b"c"] {
            publisher.append([record].into_iter());
        }
        let messages = stream(&mut publisher);
        let mut follower = Follower::new(terms.clone(), 0, 0, NOW);
        follower.take(1, &messages[0], NOW).unwrap();
        assert!(follower.take(2, &messages[2], NOW).is_err(), "a record is missing");
        assert!(follower.take(3, &messages[1], NOW).is_err(), "a message is missing");
        follower.take(2, &messages[1], NOW).unwrap();
        let mut strange = Publisher::new(Terms::begin(8, 0, 3), "west", 2, 1024);
        strange.append([&b"c"[..]].into_iter());
        assert_eq!(follower.take(3, &stream(&mut strange)[0], NOW), Err(Fault::Alien(Alien::Other)));
        assert_eq!(follower.take(3, b"abc", NOW), Err(Fault::Strange(Strange)));
        let ahead = terms.next(3).next(3);
        let mut another = Publisher::new(ahead, "south", 2, 1024);
        another.append([&b"c"[..]].into_iter());
        assert!(follower.take(3, &stream(&mut another)[0], NOW).is_err(), "nobody has begun its term");
    }

    #[test]
    fn the_last_of_all_numbers_is_refused() {
        let first = 0x1122_3344_5566_7788_u64;
        let terms = Terms::begin(7, 0, first);
        let mut publisher = Publisher::new(terms.clone(), "north", 0, 1024);
        publisher.append([&b"a"[..]].into_iter());
        let mut message = stream(&mut publisher).remove(0);
        let at = message.windows(8).position(|octets| octets == first.to_le_bytes()).unwrap();
        message[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        let mut follower = Follower::new(terms, u64::MAX - 1, 0, NOW);
        let what = "no number comes after its last one";
        assert_eq!(follower.take(1, &message, NOW), Err(Fault::Broken { place: 1, what }));
    }

    #[test]
    fn a_log_with_more_than_the_next_leader_had_is_cut() {
        let terms = Terms::begin(7, 0, 1);
        let second = terms.next(3);
        let leads = leader(Word::Leads, "south", &second, 3);
        let mut long = Follower::new(terms.clone(), 4, 5, NOW);
        assert_eq!(long.take(6, &leads, NOW), Ok(Brought::Anew));
        let mut even = Follower::new(terms, 2, 5, NOW);
        assert_eq!(even.take(6, &leads, NOW), Ok(Brought::Terms(second)));
        assert_eq!(even.leader(), Some("south"));
    }

    #[test]
    fn a_seat_is_vacant_after_silence_or_by_its_leaders_will() {
        let terms = Terms::begin(7, 0, 1);
        let mut follower = Follower::new(terms.clone(), 0, 0, NOW);
        let silence = Duration::from_secs(5);
        assert!(!follower.is_vacant(NOW + Duration::from_secs(4), silence));
        assert!(follower.is_vacant(NOW + silence, silence));
        let later = NOW + silence;
        follower.take(1, &leader(Word::Beats, "north", &terms, 1), later).unwrap();
        assert!(!follower.is_vacant(later, silence));
        follower.take(2, &leader(Word::Yields, "north", &terms, 1), later).unwrap();
        assert!(follower.is_vacant(later, silence));
        let (next, octets) = follower.candidacy("south");
        assert_eq!(next.newest().number, 2);
        assert_eq!(Message::new(&octets).unwrap().first(), 1);
    }
}
