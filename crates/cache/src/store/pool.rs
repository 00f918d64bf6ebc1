//! The segments' states, and who may use which: changed under one lock, a few times for each segment filled.

use super::account::{Account, Kind};
use super::memory::{Ground, Memory};
use super::segment::{About, Geometry, Map, Queue};
use super::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use super::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::PoisonError;

/// Segments that are kept for carrying items on, while others are reclaimed.
const RESERVE: usize = 1;
/// Segments that are looked at in one search for those that are dead or sparse.
const WINDOW: usize = 64;
/// A segment whose items that are there fill less than this part of it is reclaimed before any item is evicted.
pub const SPARSE_PERCENT: u64 = 50;
/// The same before a segment more takes memory, as long as there is some: what is written over again and again should
/// not fill the limit with what nobody sees any more.
pub const FORSAKEN_PERCENT: u64 = 25;
/// The part of segments that new items may have before they go first (S3-FIFO's small queue).
const SMALL_PERCENT: usize = 10;

/// All segments.
#[derive(Debug)]
pub struct Pool {
    geometry: Geometry,
    ground: Ground,
    generation: AtomicU64,
    inside: Mutex<Inside>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is no memory for it.
    Vacant,
    /// It has memory, and nothing in it.
    Free,
    /// A writer fills it, or reclaims it.
    Owned,
    /// It is full, and waits in a queue under this number.
    Sealed(u64),
}

#[derive(Debug, Default)]
struct Inside {
    map: Arc<Map>,
    states: Vec<State>,
    free: Vec<u32>,
    vacant: Vec<u32>,
    queues: [VecDeque<(u32, u64)>; 2],
    sealed: [usize; 2],
    sequence: u64,
    window: usize,
    retired: Vec<Memory>,
    /// Segments that somebody reclaims just now.
    claimed: usize,
    /// Segments that were emptied, or given up and came back, so far.
    regained: u64,
}

/// A segment to be reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its number.
    pub segment: u32,
    /// What becomes of its items.
    pub fate: Fate,
}

/// A segment in which items may have expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its number.
    pub segment: u32,
    /// Whether all its items are gone.
    pub is_dead: bool,
    /// The first second at which one of them may have expired.
    pub expiry_first: u64,
}

/// What becomes of the items of a segment that is reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All are gone already: expired, or flushed.
    Dead,
    /// All that are there are carried on.
    Sparse,
    /// Those that were used are carried on, the others evicted.
    Evict(Queue),
}

/// The number of segments in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// With memory.
    pub all: usize,
    /// Of these, with nothing in it.
    pub free: usize,
    /// Of these, full of new items.
    pub small: usize,
    /// Of these, full of items that were used again.
    pub main: usize,
}

impl Pool {
    /// A pool of no segment.
    pub fn new(geometry: Geometry) -> Self {
        Pool { geometry, ground: Ground::new(geometry), generation: 1.into(), inside: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a segment for new items would have to be made.
    pub fn is_short(&self) -> bool {
        self.lock().free.len() <= RESERVE
    }

    /// The number of the map as it is now: another one after each change.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Acquire)
    }

    /// The map, and its number.
    pub fn map(&self) -> (Arc<Map>, u64) {
        let inside = self.lock();
        (Arc::clone(&inside.map), self.generation.load(Relaxed))
    }

    /// An empty segment. For new items, one is left; for items to be carried on, it is the last one, too.
    pub fn take(&self, account: &Account, carry: bool) -> Option<(u32, Memory)> {
        let mut inside = self.lock();
        let reserve = if carry { 0 } else { RESERVE };
        let segment =
            if inside.free.len() > reserve { inside.free.pop()? } else { self.make(&mut inside, account, reserve)? };
        inside.states[segment as usize] = State::Owned;
        let memory = inside.map.get(segment)?;
        Some((segment, memory.clone()))
    }

    /// Makes a segment, if the account has the memory for it and for the reserve.
    fn make(&self, inside: &mut Inside, account: &Account, reserve: usize) -> Option<u32> {
        let missing = reserve.saturating_sub(inside.free.len()) as u64;
        let is_full = inside.vacant.is_empty() && inside.states.len() >= self.geometry.segments_max();
        if is_full || !account.charge(Kind::Segments, self.geometry.octets(), missing * self.geometry.octets()) {
            return None;
        }
        let Some(memory) = self.ground.memory() else {
            account.uncharge(Kind::Segments, self.geometry.octets());
            return None;
        };
        let segment = inside.vacant.pop().unwrap_or(inside.states.len() as u32);
        if segment as usize == inside.states.len() {
            inside.states.push(State::Free);
        }
        self.put(inside, segment, Some(memory));
        Some(segment)
    }

    /// Makes the next map, with other memory for one segment; returns the memory that it had.
    fn put(&self, inside: &mut Inside, segment: u32, memory: Option<Memory>) -> Option<Memory> {
        let before = Arc::make_mut(&mut inside.map).set(segment, memory);
        self.generation.fetch_add(1, Release);
        before
    }

    /// Takes a segment that is full into its queue.
    pub fn seal(&self, segment: u32, queue: Queue) {
        let mut inside = self.lock();
        inside.sequence += 1;
        let sequence = inside.sequence;
        inside.states[segment as usize] = State::Sealed(sequence);
        inside.queues[queue as usize].push_back((segment, sequence));
        inside.sealed[queue as usize] += 1;
    }

    /// Takes a segment back into its queue, behind the others: it was claimed, and could not be emptied.
    pub fn unclaim(&self, segment: u32, queue: Queue) {
        self.lock().claimed -= 1;
        self.seal(segment, queue);
    }

    /// The next number of the order in which things are evicted.
    pub fn next_sequence(&self) -> u64 {
        let mut inside = self.lock();
        inside.sequence += 1;
        inside.sequence
    }

    /// Takes back a segment that was claimed and has been emptied.
    pub fn free(&self, segment: u32) {
        let mut inside = self.lock();
        inside.claimed -= 1;
        inside.regained += 1;
        inside.states[segment as usize] = State::Free;
        inside.free.push(segment);
    }

    /// A segment whose items are all gone, or fill less than a part of it.
    pub fn claim_dead_or_sparse(&self, now: u32, epoch: u32, sparse_percent: u64) -> Option<Victim> {
        let mut inside = self.lock();
        let count = inside.states.len();
        for _ in 0..WINDOW.min(count) {
            let segment = (inside.window % count) as u32;
            inside.window = segment as usize + 1;
            if !matches!(inside.states[segment as usize], State::Sealed(_)) {
                continue;
            }
            let Some(fate) = inside.map.get(segment).and_then(|memory| fate(memory, now, epoch, sparse_percent)) else {
                continue;
            };
            inside.claim(segment);
            return Some(Victim { segment, fate });
        }
        None
    }

    /// The segment that S3-FIFO gives up next, and its number in the order: the oldest one of new items, if these have
    /// more than their part, else the oldest one of the others.
    pub fn oldest(&self) -> Option<(Victim, u64)> {
        let mut inside = self.lock();
        let [small, main] = inside.sealed;
        let preferred = if small * 100 > (small + main) * SMALL_PERCENT { Queue::Small } else { Queue::Main };
        let other = if preferred == Queue::Small { Queue::Main } else { Queue::Small };
        [preferred, other].into_iter().find_map(|queue| {
            let (segment, sequence) = inside.front(queue)?;
            Some((Victim { segment, fate: Fate::Evict(queue) }, sequence))
        })
    }

    /// Takes a segment out of its queue; false if somebody else did.
    pub fn claim(&self, segment: u32, sequence: u64) -> bool {
        let mut inside = self.lock();
        let is_there = inside.states[segment as usize] == State::Sealed(sequence);
        if is_there {
            inside.claim(segment);
        }
        is_there
    }

    /// A sealed segment that comes after `cursor` and may hold items that have expired. It is not claimed. `None` if
    /// there is none up to the end; `cursor` goes along.
    pub fn due_after(&self, cursor: &mut u32, now: u32, epoch: u32) -> Option<Due> {
        let inside = self.lock();
        while (*cursor as usize) < inside.states.len() {
            let segment = *cursor;
            *cursor += 1;
            if !matches!(inside.states[segment as usize], State::Sealed(_)) {
                continue;
            }
            let Some(about) = inside.map.get(segment).map(|memory| About::of(memory)) else { continue };
            let is_dead = about.epoch() != epoch || about.is_expired(now);
            let expiry_first = about.expiry_first();
            if is_dead || expiry_first <= u64::from(now) {
                return Some(Due { segment, is_dead, expiry_first });
            }
        }
        None
    }

    /// Takes a segment that is sealed, whatever its number in the order.
    pub fn claim_sealed(&self, segment: u32) -> bool {
        let mut inside = self.lock();
        let is_there = matches!(inside.states[segment as usize], State::Sealed(_));
        if is_there {
            inside.claim(segment);
        }
        is_there
    }

    /// Gives up the memory of free segments but the reserve, up to `octets`: as soon as no thread has them at hand.
    /// True if some is, or will be, given back.
    pub fn shed(&self, account: &Account, octets: u64) -> bool {
        let mut inside = self.lock();
        self.settle(&mut inside, account);
        let pending = inside.retired.len() as u64 * self.geometry.octets();
        let mut missing = octets.saturating_sub(pending);
        while missing > 0 && inside.free.len() > RESERVE {
            let Some(segment) = inside.free.pop() else { break };
            inside.states[segment as usize] = State::Vacant;
            inside.vacant.push(segment);
            let memory = self.put(&mut inside, segment, None);
            inside.retired.extend(memory);
            missing = missing.saturating_sub(self.geometry.octets());
        }
        let waits = !inside.retired.is_empty();
        self.settle(&mut inside, account);
        waits
    }

    /// Gives back what no thread has at hand any more.
    fn settle(&self, inside: &mut Inside, account: &Account) {
        let before = inside.retired.len();
        inside.retired.retain(|memory| memory.holders() > 1);
        let given = (before - inside.retired.len()) as u64;
        inside.regained += given;
        account.uncharge(Kind::Segments, given * self.geometry.octets());
    }

    /// How many segments were emptied, or given up and came back, so far: who waits for one sees that there was one,
    /// whoever took it.
    pub fn regained(&self) -> u64 {
        self.lock().regained
    }

    /// Whether some are on their way: given up, and still at hand somewhere, or being reclaimed.
    pub fn expects(&self) -> bool {
        let inside = self.lock();
        inside.claimed > 0 || !inside.retired.is_empty()
    }

    /// Octets given up that some thread still has at hand.
    pub fn retired_octets(&self) -> u64 {
        self.lock().retired.len() as u64 * self.geometry.octets()
    }

    /// All segments that may hold items, those first that would be given up first: of each queue the oldest ones, then
    /// those that are being filled.
    pub fn in_order(&self) -> Vec<u32> {
        let inside = self.lock();
        let place = |segment: u32| match inside.states[segment as usize] {
            State::Vacant | State::Free => None,
            State::Owned => Some(u64::MAX),
            State::Sealed(sequence) => Some(sequence),
        };
        let with_place = |segment: u32| {
            let queue = About::of(inside.map.get(segment)?).queue() as usize;
            Some(((queue, place(segment)?), segment))
        };
        let mut all: Vec<_> = (0..inside.states.len() as u32).filter_map(with_place).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, segment)| segment).collect()
    }

    /// How many segments there are.
    pub fn tally(&self) -> Tally {
        let inside = self.lock();
        Tally {
            all: inside.states.len() - inside.vacant.len(),
            free: inside.free.len(),
            small: inside.sealed[Queue::Small as usize],
            main: inside.sealed[Queue::Main as usize],
        }
    }
}

impl Inside {
    /// The oldest segment of a queue.
    fn front(&mut self, queue: Queue) -> Option<(u32, u64)> {
        let line = &mut self.queues[queue as usize];
        while let Some(&(segment, sequence)) = line.front() {
            if self.states[segment as usize] == State::Sealed(sequence) {
                return Some((segment, sequence));
            }
            line.pop_front();
        }
        None
    }

    fn claim(&mut self, segment: u32) {
        let queue = self.map.get(segment).map_or(Queue::Main, |memory| About::of(memory).queue());
        self.states[segment as usize] = State::Owned;
        self.sealed[queue as usize] -= 1;
        self.claimed += 1;
        let line = &mut self.queues[queue as usize];
        if line.front().is_some_and(|&(front, _)| front == segment) {
            line.pop_front();
        } else if line.len() > 2 * self.states.len() + WINDOW {
            let states = &self.states;
            line.retain(|&(segment, sequence)| states[segment as usize] == State::Sealed(sequence));
        }
    }
}

/// Whether a sealed segment should be reclaimed before anything is evicted.
fn fate(memory: &Memory, now: u32, epoch: u32, sparse_percent: u64) -> Option<Fate> {
    let about = About::of(memory);
    if about.epoch() != epoch || about.is_expired(now) || about.live() == 0 {
        return Some(Fate::Dead);
    }
    (about.live() * 100 < memory.len() as u64 * sparse_percent).then_some(Fate::Sparse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(segments: u64) -> (Account, Pool) {
        let geometry = Geometry::for_limit(1 << 20);
        (Account::new(segments * geometry.octets()), Pool::new(geometry))
    }

    fn sealed(account: &Account, pool: &Pool, queue: Queue, live: usize) -> u32 {
        let (segment, memory) = pool.take(account, true).expect("memory");
        let about = About::of(&memory);
        about.open(1, 0, queue);
        about.expires(0);
        about.come(live);
        pool.seal(segment, queue);
        segment
    }

    #[test]
    fn new_items_leave_one_segment_for_carrying() {
        let (account, pool) = pool(3);
        assert!(pool.take(&account, false).is_some() && pool.take(&account, false).is_some());
        assert!(pool.take(&account, false).is_none());
        assert!(pool.take(&account, true).is_some() && pool.take(&account, true).is_none());
    }

    #[test]
    fn the_oldest_of_the_small_queue_goes_first_while_it_is_too_large() {
        let (account, pool) = pool(20);
        let main: Vec<u32> = (0..9).map(|_| sealed(&account, &pool, Queue::Main, 4000)).collect();
        let small: Vec<u32> = (0..2).map(|_| sealed(&account, &pool, Queue::Small, 4000)).collect();
        let (victim, sequence) = pool.oldest().expect("sealed");
        assert_eq!(victim, Victim { segment: small[0], fate: Fate::Evict(Queue::Small) });
        assert!(pool.claim(victim.segment, sequence) && !pool.claim(victim.segment, sequence));
        pool.free(victim.segment);
        assert_eq!(pool.oldest().expect("sealed").0.segment, main[0]);
        assert_eq!(pool.claim_dead_or_sparse(1, 0, SPARSE_PERCENT), None);
        let sparse = sealed(&account, &pool, Queue::Main, 1000);
        assert_eq!(
            pool.claim_dead_or_sparse(1, 0, SPARSE_PERCENT),
            Some(Victim { segment: sparse, fate: Fate::Sparse })
        );
    }

    #[test]
    fn memory_is_given_back_when_no_thread_has_it_at_hand() {
        let (account, pool) = pool(4);
        let taken: Vec<u32> = (0..4).map(|_| pool.take(&account, true).expect("memory").0).collect();
        let (map, generation) = pool.map();
        for segment in taken {
            pool.seal(segment, Queue::Small);
            assert!(pool.claim_sealed(segment) && pool.expects());
            pool.free(segment);
        }
        let before = pool.regained();
        assert!(!pool.expects() && pool.shed(&account, 1) && pool.expects() && pool.generation() != generation);
        assert_eq!(account.used(), account.limit(), "an older map has it");
        drop(map);
        assert!(!pool.shed(&account, 0) && !pool.expects());
        assert_eq!(pool.regained(), before + 1);
        assert_eq!(account.excess() + account.used(), account.limit() * 3 / 4);
    }
}
