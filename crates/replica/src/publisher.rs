//! What a leader publishes: each message behind the one before it or not at all, and what is known of them.
//!
//! A message is published with the place that the one before it has on the stream (`Nats-Expected-Last-Sequence`), so
//! each of ours can stand at one place only. One behind others that are still on their way has to name the one before
//! it as well (`Nats-Expected-Last-Msg-Id`): at the place of that one another may have come to stand, which ends all
//! that we have on its way. Whenever it is not known
//! what became of a message, the stream is read: what stands there is ours, and counts, or another's, and ends the
//! term.

use crate::message::{Draft, Message, Word, leader};
use crate::terms::Terms;
use std::collections::VecDeque;

/// Messages that are on their way at a time.
pub const FLIGHT_MAX: usize = 256;
/// Octets of those at a time; one message may be more.
pub const FLIGHT_OCTETS_MAX: usize = 8 << 20;

/// How a leader stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It publishes.
    Leads,
    /// It has to read the stream behind the last message that it knows of.
    Unsure,
    /// It has handed over, and that is acknowledged.
    Yielded,
    /// It leads no longer: why, for people. Nothing more of it will ever be acknowledged.
    Fenced(String),
}

#[derive(Debug)]
struct Outgoing {
    id: u64,
    octets: Vec<u8>,
    /// The last record that ends in it.
    last: Option<u64>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Records,
    Beats,
    Yields,
}

/// A message to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publish<'a> {
    /// The place of the message before it.
    pub after: u64,
    /// Its name, among those of this term; and that of the one before it, where it is not known to stand.
    pub id: u64,
    /// See there.
    pub follows: Option<u64>,
    /// Whether it is of who leads, and not records.
    pub of_leader: bool,
    /// What it is.
    pub octets: &'a [u8],
}

/// See the module.
#[derive(Debug)]
pub struct Publisher {
    terms: Terms,
    name: String,
    message_octets: usize,
    /// Those that are not acknowledged; the first of them were sent.
    queue: VecDeque<Outgoing>,
    sent: usize,
    sent_octets: usize,
    octets: usize,
    /// The place of the last message that is acknowledged.
    place: u64,
    /// The last record that is.
    acknowledged: u64,
    next: u64,
    /// Messages that were made.
    named: u64,
    standing: Standing,
}

impl Publisher {
    /// Of a node that has just begun to lead, by a message at `place`. Messages have at most so many octets.
    pub fn new(terms: Terms, name: &str, place: u64, message_octets: usize) -> Publisher {
        let next = terms.newest().first;
        Publisher {
            terms,
            name: name.to_owned(),
            message_octets,
            queue: VecDeque::new(),
            sent: 0,
            sent_octets: 0,
            octets: 0,
            place,
            acknowledged: next - 1,
            next,
            named: 0,
            standing: Standing::Leads,
        }
    }

    /// How it stands.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// The last record that is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The place of the last message that is.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// Octets of messages that are not.
    pub fn waiting_octets(&self) -> usize {
        self.octets
    }

    /// Messages that are on their way.
    pub fn in_flight(&self) -> usize {
        self.sent
    }

    /// The number of the next record.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Takes the next records.
    pub fn append<'a>(&mut self, records: impl Iterator<Item = &'a [u8]>) {
        let mut draft = Draft::begin(&self.terms, self.next, 0);
        for record in records {
            let mut before = 0;
            while let Some(went) = draft.put(self.next, record, before, self.message_octets) {
                before = went;
                let next = Draft::begin(&self.terms, self.next, before);
                self.put(core::mem::replace(&mut draft, next));
            }
            self.next += 1;
        }
        self.put(draft);
    }

    fn put(&mut self, draft: Draft) {
        if !draft.is_empty() {
            self.enqueue(draft.octets, draft.last, Kind::Records);
        }
    }

    fn enqueue(&mut self, octets: Vec<u8>, last: Option<u64>, kind: Kind) {
        self.octets += octets.len();
        self.named += 1;
        self.queue.push_back(Outgoing { id: self.named, octets, last, kind });
    }

    /// Says that it is there, unless that waits already.
    pub fn beat(&mut self) {
        if !self.queue.iter().any(|out| out.kind != Kind::Records) {
            let octets = leader(Word::Beats, &self.name, &self.terms, self.next);
            self.enqueue(octets, None, Kind::Beats);
        }
    }

    /// Hands over behind all that was appended. Nothing may be appended after it.
    pub fn hand_over(&mut self) {
        if !self.queue.iter().any(|out| out.kind == Kind::Yields) {
            let octets = leader(Word::Yields, &self.name, &self.terms, self.next);
            self.enqueue(octets, None, Kind::Yields);
        }
    }

    /// The next message that is to be published.
    pub fn poll(&mut self) -> Option<Publish<'_>> {
        let full = self.sent >= FLIGHT_MAX || (self.sent > 0 && self.sent_octets >= FLIGHT_OCTETS_MAX);
        if self.standing != Standing::Leads || full {
            return None;
        }
        let out = self.queue.get(self.sent)?;
        let after = self.place + self.sent as u64;
        let (id, follows) = (out.id, (self.sent > 0).then(|| out.id - 1));
        self.sent += 1;
        self.sent_octets += out.octets.len();
        Some(Publish { after, id, follows, of_leader: out.kind != Kind::Records, octets: &out.octets })
    }

    /// The stream has a message of ours at a place, and so all before it. What tells of a place at which nothing of
    /// ours can be tells nothing.
    pub fn acked(&mut self, place: u64) {
        if self.standing == Standing::Leads && place <= self.place + self.sent as u64 {
            (self.place..place).for_each(|_| self.stands());
        }
    }

    /// The first that waits stands on the stream.
    fn stands(&mut self) {
        let Some(out) = self.queue.pop_front() else { return };
        self.place += 1;
        self.octets -= out.octets.len();
        if self.sent > 0 {
            self.sent -= 1;
            self.sent_octets -= out.octets.len();
        }
        self.acknowledged = out.last.unwrap_or(self.acknowledged);
        if out.kind == Kind::Yields {
            self.standing = Standing::Yielded;
        }
    }

    /// It is not known what became of what is on its way: refused, or the connection is lost.
    pub fn unsure(&mut self) {
        if self.standing == Standing::Leads {
            self.standing = Standing::Unsure;
        }
    }

    /// The stream has this at the place behind the last that is acknowledged.
    pub fn found(&mut self, octets: &[u8]) {
        if self.standing != Standing::Unsure {
            return;
        }
        if self.queue.front().is_some_and(|out| out.octets == octets) {
            self.stands();
            return;
        }
        self.standing = Standing::Fenced(match Message::new(octets) {
            Ok(Message::Leader { name, terms, .. }) if terms.log == self.terms.log => {
                format!("{name} leads since term {}", terms.newest().number)
            }
            _ => "somebody else writes to the stream".to_owned(),
        });
    }

    /// The stream has nothing more: what waits is published again.
    pub fn found_end(&mut self) {
        if self.standing == Standing::Unsure {
            self.standing = Standing::Leads;
            (self.sent, self.sent_octets) = (0, 0);
        }
    }

    /// The stream ends before a place that it has acknowledged.
    pub fn lost(&mut self, end: u64) {
        self.standing = Standing::Fenced(format!(
            "the stream ends at message {end} and has acknowledged {}: it has lost what it had",
            self.place
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publisher() -> Publisher {
        Publisher::new(Terms::begin(7, 0, 1), "north", 10, 1024)
    }

    fn append(publisher: &mut Publisher, records: &[&str]) {
        publisher.append(records.iter().map(|record| record.as_bytes()));
    }

    #[test]
    fn records_count_when_their_message_stands() {
        let mut publisher = publisher();
        append(&mut publisher, &["a", "b"]);
        append(&mut publisher, &["c"]);
        let mut polled = || publisher.poll().map(|publish| (publish.after, publish.id, publish.follows));
        assert_eq!([polled(), polled(), polled()], [Some((10, 1, None)), Some((11, 2, Some(1))), None]);
        assert_eq!((publisher.acknowledged(), publisher.in_flight()), (0, 2));
        publisher.acked(11);
        assert_eq!((publisher.acknowledged(), publisher.place()), (2, 11));
        // An answer that comes twice, or of nothing that was sent, tells nothing.
        publisher.acked(11);
        publisher.acked(99);
        assert_eq!((publisher.acknowledged(), publisher.place()), (2, 11));
        publisher.acked(12);
        assert_eq!((publisher.acknowledged(), publisher.place(), publisher.waiting_octets()), (3, 12, 0));
    }

    #[test]
    fn what_is_not_known_is_read_from_the_stream() {
        let mut publisher = publisher();
        append(&mut publisher, &["a"]);
        append(&mut publisher, &["b"]);
        let first = publisher.poll().unwrap().octets.to_vec();
        publisher.poll();
        publisher.unsure();
        assert!(publisher.poll().is_none());
        publisher.found(&first);
        assert_eq!((publisher.acknowledged(), publisher.place()), (1, 11));
        publisher.found_end();
        assert_eq!(publisher.poll().map(|publish| publish.after), Some(11));
        assert!(publisher.poll().is_none());
    }

    #[test]
    fn who_finds_another_leader_leads_no_more() {
        let mut publisher = publisher();
        append(&mut publisher, &["a"]);
        publisher.poll();
        publisher.unsure();
        publisher.found(&leader(Word::Leads, "south", &Terms::begin(7, 0, 1).next(1), 1));
        assert_eq!(*publisher.standing(), Standing::Fenced("south leads since term 2".to_owned()));
        publisher.found_end();
        publisher.acked(11);
        assert!(publisher.poll().is_none());
        assert!(matches!(publisher.standing(), Standing::Fenced(_)));
    }

    #[test]
    fn it_yields_behind_all_that_was_appended() {
        let mut publisher = publisher();
        append(&mut publisher, &["a"]);
        publisher.hand_over();
        publisher.hand_over();
        publisher.beat();
        assert_eq!(std::iter::from_fn(|| publisher.poll().map(|publish| publish.after)).count(), 2);
        publisher.acked(12);
        assert_eq!((publisher.standing(), publisher.acknowledged()), (&Standing::Yielded, 1));
    }

    #[test]
    fn so_much_is_on_its_way_and_no_more() {
        let mut publisher = publisher();
        (0..FLIGHT_MAX + 5).for_each(|_| append(&mut publisher, &["a"]));
        assert_eq!(std::iter::from_fn(|| publisher.poll().map(|publish| publish.after)).count(), FLIGHT_MAX);
        publisher.acked(13);
        assert_eq!(std::iter::from_fn(|| publisher.poll().map(|publish| publish.after)).last(), Some(10 + 258));
    }
}
