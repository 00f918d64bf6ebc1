//! Requests that are on their way, found by the number that their answer will bear.

use trunkline_kit::random::Random;
use trunkline_wire::snmp::REQUEST_ID_MIN;

/// Requests of a lane that are on their way at once: as many as there are numbers for.
// Limit: SNMP requests of one polling thread in flight
// Beyond: devices wait
// Seen in: `trunkline_graph_held_total`
pub const OUTSTANDING_MAX: usize = 1 << 16;

/// The part of all places that devices which were never asked may take, and those that did not answer when they were
/// asked last: one in so many. What never answers keeps its place until it is given up, so that otherwise a few devices
/// that are away would take all of them.
const NEW_PART: usize = 2;
const UNWELL_PART: usize = 16;

/// What is known of a device that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It did not answer when it was asked last.
    Unwell,
    /// It was never asked.
    New,
    /// It has answered.
    Well,
}

impl Standing {
    /// In the order in which they have their turn: first those that can take least.
    pub(super) const ALL: [Standing; 3] = [Standing::Unwell, Standing::New, Standing::Well];
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Whose engine answers there, of version 3.
    Engine,
    /// sysUpTime alone.
    Probe,
    /// Places `from..to` of the order of a cycle.
    Piece { from: u32, to: u32, with_uptime: bool },
    /// The next names of the first walk.
    Walk,
}

impl Asked {
    /// Whether it belongs to a cycle, or to a walk.
    pub(super) fn is_of_cycle(self) -> bool {
        self != Asked::Walk
    }
}

/// A request that is on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// The device's slot.
    pub(super) device: u32,
    /// Whose part of all places it takes.
    pub(super) standing: Standing,
    /// What it asks for.
    pub(super) asked: Asked,
    /// Its `request-id` and `msgID`.
    pub(super) id: i32,
    /// When it was sent last.
    pub(super) sent_ns: u64,
    /// Until when its answer is waited for.
    pub(super) deadline_ns: u64,
    /// How often it was sent.
    pub(super) tries: u8,
    /// How often the device has asked for it to be said in another way (reports of version 3).
    pub(super) reports: u8,
}

/// All of a lane. The number of a request holds its place; the rest is by chance, so that a stranger who does not see
/// the requests cannot answer them.
#[derive(Debug)]
pub(super) struct Outstanding {
    places: Vec<Place>,
    free: Vec<u16>,
    /// Places that are taken, by standing.
    taken: [usize; 3],
    random: Random,
    most: usize,
}

#[derive(Debug, Default)]
struct Place {
    /// The part by chance of the last number: the next one has another, so that an answer that is late is not taken
    /// for the answer to what has its place now.
    chance: u32,
    request: Option<Request>,
}

/// The lowest part by chance, and how many there are.
const CHANCE_FIRST: u32 = (REQUEST_ID_MIN >> 16) as u32;
const CHANCES: u32 = 0x8000 - CHANCE_FIRST;

impl Outstanding {
    pub(super) fn new(most: usize, seed: u64) -> Outstanding {
        let most = most.clamp(1, OUTSTANDING_MAX);
        Outstanding { places: Vec::new(), free: Vec::new(), taken: [0; 3], random: Random::new(seed, 0), most }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there is room for another one of a device.
    pub(super) fn has_room(&self, standing: Standing) -> bool {
        let most = match standing {
            Standing::Unwell => (self.most / UNWELL_PART).max(1),
            Standing::New => (self.most / NEW_PART).max(1),
            Standing::Well => self.most,
        };
        self.len() < self.most && self.taken[standing as usize] < most
    }

    /// A place for a request; none if there are too many. Its number is written into it.
    pub(super) fn insert(&mut self, mut request: Request) -> Option<u16> {
        if !self.has_room(request.standing) {
            return None;
        }
        self.taken[request.standing as usize] += 1;
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.places.push(Place::default());
                (self.places.len() - 1) as u16
            }
        };
        let found = &mut self.places[usize::from(place)];
        found.chance = (found.chance + 1 + self.random.below(CHANCES - 1)) % CHANCES;
        request.id = ((CHANCE_FIRST + found.chance) << 16 | u32::from(place)) as i32;
        found.request = Some(request);
        Some(place)
    }

    pub(super) fn get(&mut self, place: u16) -> Option<&mut Request> {
        self.places.get_mut(usize::from(place))?.request.as_mut()
    }

    /// The one that has this number.
    pub(super) fn find(&mut self, id: i32) -> Option<(u16, Request)> {
        let place = id as u16;
        self.get(place).filter(|request| request.id == id).map(|request| (place, *request))
    }

    pub(super) fn remove(&mut self, place: u16) -> Option<Request> {
        let request = self.places.get_mut(usize::from(place))?.request.take()?;
        self.free.push(place);
        self.taken[request.standing as usize] -= 1;
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_one_place_differ_and_find_it() {
        let mut outstanding = Outstanding::new(2, 1);
        let request = Request {
            device: 7,
            standing: Standing::Well,
            asked: Asked::Probe,
            id: 0,
            sent_ns: 0,
            deadline_ns: 0,
            tries: 0,
            reports: 0,
        };
        let other = outstanding.insert(request).expect("there is room");
        let mut last = 0;
        for _ in 0..100_000 {
            let place = outstanding.insert(request).expect("there is room");
            assert!(!outstanding.has_room(Standing::Well) && outstanding.insert(request).is_none());
            let id = outstanding.get(place).expect("it is there").id;
            assert!(id >= REQUEST_ID_MIN && id != last && outstanding.find(last).is_none());
            assert_eq!(outstanding.find(id).map(|(at, found)| (at, found.device)), Some((place, 7)));
            outstanding.remove(place);
            last = id;
        }
        assert!(outstanding.remove(other).is_some() && outstanding.remove(other).is_none() && outstanding.len() == 0);
    }
    #[test]
    fn those_that_do_not_answer_never_take_all_places() {
        let mut outstanding = Outstanding::new(64, 1);
        let request = |standing| Request {
            device: 7,
            standing,
            asked: Asked::Probe,
            id: 0,
            sent_ns: 0,
            deadline_ns: 0,
            tries: 0,
            reports: 0,
        };
        let fill = |outstanding: &mut Outstanding, standing| {
            core::iter::from_fn(|| outstanding.insert(request(standing))).collect::<Vec<_>>()
        };
        let unwell = fill(&mut outstanding, Standing::Unwell);
        let new = fill(&mut outstanding, Standing::New);
        assert_eq!((unwell.len(), new.len(), fill(&mut outstanding, Standing::Well).len()), (4, 32, 28));
        outstanding.remove(unwell[0]);
        assert!(fill(&mut outstanding, Standing::New).is_empty());
        assert_eq!(fill(&mut outstanding, Standing::Unwell).len(), 1);
        // However few there are, everybody has a turn.
        let mut few = Outstanding::new(1, 1);
        assert_eq!(fill(&mut few, Standing::Unwell).len(), 1);
    }
}
