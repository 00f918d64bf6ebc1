//! The bounded memory between lanes and disks: blocks that are taken and given back, and what packed ones hold.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::block::Block;
use crate::options::{Options, PRIORITIES, Priority};
use crate::stats::Memory;

/// How long a block that was written rests before it is used again, if there is memory for another one. To fill it at
/// once took twice the time, most likely because its octets still lie in the caches of who wrote them to the disk.
const REST: Duration = Duration::from_millis(40);
/// The part of the memory that blocks at rest may take, as one in so many.
const RESTING_PART: usize = 4;

/// Blocks and packed octets, together never more than the limit; locked once per block, never per record.
#[derive(Debug)]
pub(crate) struct Pool {
    block: usize,
    limit: usize,
    reserves: [usize; PRIORITIES],
    state: Mutex<Used>,
    /// Octets in use as of the last change: so that who is refused for each record need not lock.
    hint: AtomicUsize,
}

#[derive(Debug, Default)]
struct Used {
    /// Those that rest longest first, with the moment when they came back.
    idle: VecDeque<(Block, Option<Instant>)>,
    /// Blocks with a writer, in a queue, or being written.
    out: usize,
    packed: usize,
    packed_from: usize,
    /// Octets of other kinds that wait: indexes to be committed.
    extra: usize,
}

impl Pool {
    pub(crate) fn new(options: &Options) -> Pool {
        Pool {
            block: options.block,
            limit: options.memory,
            reserves: options.reserves,
            state: Mutex::new(Used::default()),
            hint: AtomicUsize::new(0),
        }
    }

    pub(crate) fn block_octets(&self) -> usize {
        self.block
    }

    /// A block, if the memory holds it and leaves free what is reserved for priorities above. Its content is anything.
    pub(crate) fn take(&self, priority: Priority) -> Option<Block> {
        let needed = self.block + self.reserves[priority.index()];
        let is_short = |used: usize| self.limit.saturating_sub(used) < needed;
        if is_short(self.hint.load(Ordering::Relaxed)) {
            return None;
        }
        let mut used = self.lock();
        if is_short(used.octets(self.block)) {
            return None;
        }
        let block = self.idle(&mut used).or_else(|| self.more(&mut used)).or_else(|| used.pop())?;
        used.out += 1;
        self.show(&used);
        Some(block)
    }

    /// Takes a block back.
    pub(crate) fn give(&self, block: Block) {
        let mut used = self.lock();
        used.out = used.out.saturating_sub(1);
        self.keep(&mut used, block);
        self.show(&used);
    }

    /// A block of `from` octets was packed into `octets`, and is given back.
    pub(crate) fn give_packed(&self, block: Block, octets: usize, from: usize) {
        let mut used = self.lock();
        used.out = used.out.saturating_sub(1);
        used.packed += octets;
        used.packed_from += from;
        self.keep(&mut used, block);
        self.show(&used);
    }

    /// What was packed is unpacked again, or lost.
    pub(crate) fn forget_packed(&self, octets: usize, from: usize) {
        let mut used = self.lock();
        used.packed = used.packed.saturating_sub(octets);
        used.packed_from = used.packed_from.saturating_sub(from);
        self.show(&used);
    }

    /// Octets that are there anyway and leave less for blocks.
    pub(crate) fn charge(&self, octets: usize) {
        let mut used = self.lock();
        used.extra += octets;
        self.show(&used);
    }

    /// See [`Pool::charge`].
    pub(crate) fn discharge(&self, octets: usize) {
        let mut used = self.lock();
        used.extra = used.extra.saturating_sub(octets);
        self.show(&used);
    }

    pub(crate) fn memory(&self) -> Memory {
        let used = self.lock();
        Memory { limit: self.limit, used: used.octets(self.block), packed: used.packed, packed_from: used.packed_from }
    }

    /// The block that rests longest, if that is long enough or too many rest.
    fn idle(&self, used: &mut Used) -> Option<Block> {
        let is_rested = used.idle.front()?.1.is_none_or(|since| since.elapsed() >= REST);
        let are_many = used.idle.len() * self.block >= self.limit / RESTING_PART;
        if is_rested || are_many { used.pop() } else { None }
    }

    /// A new block, if the memory holds another one; those that share its page are kept for the next who ask.
    fn more(&self, used: &mut Used) -> Option<Block> {
        let there = used.octets(self.block) + used.idle.len() * self.block;
        let room = self.limit.saturating_sub(there) / self.block;
        let mut blocks = if room > 0 { Block::several(self.block, room).ok()? } else { Vec::new() };
        let block = blocks.pop()?;
        blocks.into_iter().for_each(|block| used.idle.push_front((block, None)));
        Some(block)
    }

    /// Keeps a block for the next who asks, or gives it to the system when packed octets took its place.
    fn keep(&self, used: &mut Used, block: Block) {
        if used.octets(self.block) + (used.idle.len() + 1) * self.block <= self.limit {
            used.idle.push_back((block, Some(Instant::now())));
        }
    }

    fn show(&self, used: &Used) {
        self.hint.store(used.octets(self.block), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Used {
    fn pop(&mut self) -> Option<Block> {
        self.idle.pop_front().map(|(block, _)| block)
    }

    fn octets(&self, block: usize) -> usize {
        self.out * block + self.packed + self.extra
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        let options = Options { block: 4096, reserves: [0, 4096, 8192], ..Options::new(Vec::new()) };
        Pool::new(&Options { memory: 4 * 4096, ..options })
    }

    #[test]
    fn the_lowest_is_refused_first() {
        let pool = pool();
        let mut taken = Vec::new();
        for (priority, count) in [(Priority::Lowest, 2), (Priority::Middle, 1), (Priority::Highest, 1)] {
            let before = taken.len();
            while let Some(block) = pool.take(priority) {
                taken.push(block);
            }
            assert_eq!(taken.len() - before, count, "{priority:?}");
        }
        for block in taken.drain(..) {
            pool.give(block);
        }
        assert_eq!(pool.memory().used, 0);
        assert!(pool.take(Priority::Lowest).is_some());
    }

    #[test]
    fn a_block_rests_where_there_is_memory_for_another() {
        let options = Options { block: 4096, ..Options::new(Vec::new()) };
        let pool = Pool::new(&options.memory(16 * 4096));
        let first = pool.take(Priority::Highest).unwrap();
        let address = first.as_ptr();
        pool.give(first);
        // The new ones, then the one that was used, though it has hardly rested: no more than the memory.
        let taken: Vec<Block> = (0..16).map_while(|_| pool.take(Priority::Highest)).collect();
        assert_eq!(taken.len(), 16);
        assert!(taken.iter().position(|b| b.as_ptr() == address).is_some_and(|at| at > 10));
        assert!(pool.take(Priority::Highest).is_none());
        taken.into_iter().for_each(|block| pool.give(block));
        assert_eq!(pool.lock().idle.len(), 16);
        // Too many rest: the one that came back first is next.
        let next = pool.lock().idle[0].0.as_ptr();
        assert_eq!(pool.take(Priority::Highest).unwrap().as_ptr(), next);
    }

    #[test]
    fn packed_octets_count_and_blocks_make_way_for_them() {
        let pool = pool();
        let blocks: Vec<Block> = (0..4).map_while(|_| pool.take(Priority::Highest)).collect();
        for block in blocks {
            pool.give_packed(block, 2000, 4096);
        }
        assert_eq!(pool.memory().used, 8000);
        assert!(pool.lock().idle.len() <= 2);
        let again: Vec<Block> = (0..4).map_while(|_| pool.take(Priority::Highest)).collect();
        assert_eq!(again.len(), 2);
        pool.forget_packed(8000, 4 * 4096);
        assert_eq!(pool.memory().packed, 0);
        drop(again);
    }
}
