//! Requests that wait for an answer, and the copies of them that are on their way.

use super::kind::Kind;
use super::sessions::{Grant, SessionKey};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use trunkline_kit::random::mixed;

/// Which copy: the connection, by its place, and its number there (Hop-by-Hop Identifier).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyKey(u64);

impl CopyKey {
    /// Of a connection.
    pub fn new(connection: u32, hop_by_hop: u32) -> Self {
        CopyKey(u64::from(connection) << 32 | u64::from(hop_by_hop))
    }

    /// The connection that it went by.
    pub fn connection(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Mixes the one number that a [`CopyKey`] is.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, octets: &[u8]) {
        octets.iter().for_each(|octet| self.0 = mixed(self.0 ^ u64::from(*octet)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mixed(number);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A copy on its way.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The place of its request.
    pub exchange: u32,
    /// Whether it was sent on purpose besides another one.
    pub duplicate: bool,
}

/// What a first answer said, to be compared with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Over the result and all services.
    pub digest: u64,
    /// The result of the command.
    pub result: u32,
    /// Units granted in all services.
    pub granted: u64,
}

/// A request.
#[derive(Debug)]
pub struct Exchange {
    /// Its session; none of an event.
    pub session: Option<SessionKey>,
    /// Whose.
    pub subscriber: u32,
    /// The client that made it.
    pub client: u32,
    /// What it is about.
    pub kind: Kind,
    /// CC-Request-Number.
    pub number: u32,
    /// The connection that it went by first, and its number there.
    pub sent_by: (u32, u32),
    /// When it was due, in nanoseconds of the run.
    pub due_ns: u64,
    /// Copies that wait for an answer, or to be sent.
    pub copies: u32,
    /// How often it was sent, duplicates left out.
    pub tries: u32,
    /// Whether it stops a session only because the run is over.
    pub draining: bool,
    /// The first answer, or that it was given up.
    pub outcome: Outcome,
    /// The request, if it may be sent again.
    pub octets: Vec<u8>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing yet.
    Open,
    /// It was answered.
    Answered(Said),
    /// No answer came in time.
    GivenUp,
}

/// The requests of a thread.
#[derive(Debug)]
pub struct Exchanges {
    places: Vec<Exchange>,
    used: Vec<Grant>,
    free: Vec<u32>,
    spare: Vec<Vec<u8>>,
    groups: usize,
    /// Copies on their way, each with its deadline.
    copies: HashMap<CopyKey, (Sent, u64), BuildHasherDefault<KeyHasher>>,
    /// All wait equally long, so that the oldest one is the next. Those that were answered stand here until their time
    /// has come, when their key may be that of another copy.
    deadlines: VecDeque<(u64, CopyKey)>,
}

impl Exchanges {
    /// Of requests with this many rating groups.
    pub fn new(groups: usize) -> Self {
        Exchanges {
            places: Vec::new(),
            used: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            groups,
            copies: HashMap::default(),
            deadlines: VecDeque::new(),
        }
    }

    /// How many copies are on their way.
    pub fn waiting(&self) -> usize {
        self.copies.len()
    }

    /// Takes one in; its place.
    pub fn open(&mut self, mut exchange: Exchange) -> u32 {
        exchange.octets = self.spare.pop().unwrap_or_default();
        let Some(place) = self.free.pop() else {
            self.places.push(exchange);
            self.used.resize(self.places.len() * self.groups, Grant::default());
            return self.places.len() as u32 - 1;
        };
        self.places[place as usize] = exchange;
        self.used_of(place).fill(Grant::default());
        place
    }

    /// The one at a place.
    pub fn get(&mut self, place: u32) -> &mut Exchange {
        &mut self.places[place as usize]
    }

    /// What it reports as used, by rating group in the order of the plan.
    pub fn used_of(&mut self, place: u32) -> &mut [Grant] {
        let at = place as usize * self.groups;
        &mut self.used[at..at + self.groups]
    }

    /// A copy goes out.
    pub fn send(&mut self, key: CopyKey, sent: Sent, deadline_ns: u64) {
        self.copies.insert(key, (sent, deadline_ns));
        self.deadlines.push_back((deadline_ns, key));
    }

    /// Whether a copy waits.
    pub fn waits(&self, key: CopyKey) -> bool {
        self.copies.contains_key(&key)
    }

    /// A copy is over: answered or given up. None if it does not wait.
    pub fn take(&mut self, key: CopyKey) -> Option<Sent> {
        self.copies.remove(&key).map(|(sent, _)| sent)
    }

    /// A copy less, on its way or to be sent; without any, the request is forgotten.
    pub fn release(&mut self, place: u32) {
        let exchange = &mut self.places[place as usize];
        exchange.copies -= 1;
        if exchange.copies == 0 {
            let mut octets = std::mem::take(&mut exchange.octets);
            octets.clear();
            self.spare.push(octets);
            self.free.push(place);
        }
    }

    /// The next copy whose time is over.
    pub fn expired(&mut self, now_ns: u64) -> Option<(CopyKey, Sent)> {
        while let Some((deadline_ns, key)) = self.deadlines.front().copied() {
            let waits = self.copies.get(&key).is_some_and(|(_, its_ns)| *its_ns == deadline_ns);
            if waits && deadline_ns > now_ns {
                return None;
            }
            self.deadlines.pop_front();
            if waits {
                return self.take(key).map(|sent| (key, sent));
            }
        }
        None
    }

    /// All copies that went by a connection.
    pub fn take_all_of(&mut self, connection: u32) -> Vec<Sent> {
        let keys: Vec<CopyKey> = self.copies.keys().filter(|key| key.connection() == connection).copied().collect();
        keys.into_iter().filter_map(|key| self.take(key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange() -> Exchange {
        Exchange {
            session: None,
            subscriber: 0,
            client: 0,
            kind: Kind::Event,
            number: 0,
            sent_by: (0, 0),
            due_ns: 0,
            copies: 2,
            tries: 1,
            draining: false,
            outcome: Outcome::Open,
            octets: Vec::new(),
        }
    }

    #[test]
    fn copies_are_answered_expire_or_lose_their_connection() {
        let mut all = Exchanges::new(1);
        let place = all.open(exchange());
        let key = |client, number| CopyKey::new(client, number);
        let (first, again) = (Sent { exchange: place, duplicate: false }, Sent { exchange: place, duplicate: true });
        all.send(key(0, 1), first, 100);
        all.send(key(1, 1), again, 200);
        all.send(key(1, 2), again, 300);
        assert!(all.take(key(0, 1)).is_some() && all.take(key(0, 1)).is_none());
        assert!(all.expired(150).is_none() && all.expired(250).is_some_and(|(_, sent)| sent.duplicate));
        assert_eq!((all.take_all_of(0).len(), all.take_all_of(1).len(), all.waiting()), (0, 1, 0));
        // A key that is used again has the time of its second use.
        all.send(key(2, 1), first, 400);
        all.take(key(2, 1));
        all.send(key(2, 1), first, 500);
        assert!(all.expired(450).is_none() && all.waits(key(2, 1)) && all.expired(500).is_some());
        all.get(place).octets.push(1);
        all.used_of(place)[0].units = 5;
        all.release(place);
        all.release(place);
        let next = all.open(exchange());
        assert_eq!((next, all.used_of(next)[0].units), (place, 0));
        assert!(all.get(next).octets.is_empty() && all.get(next).octets.capacity() > 0);
    }
}
