//! Values too large for a segment: blocks of their own, found by a number that stands in the item.

use super::account::{Account, Kind};
use super::memory::{BLOCK_OCTETS, paged};
use super::rules::Refused;
use super::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use super::sync::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError};
use trunkline_net::{Pages, Room};

/// Octets that a block takes beside its own.
const BLOCK_EXTRA_OCTETS: u64 = 48;
/// Octets that a large value takes beside its blocks: its places on the shelf above all.
pub const LARGE_EXTRA_OCTETS: u64 = 256;
/// The part of the limit that values held by readers may have together; one alone may be of any length. What the
/// values on their way of one address and the buffers of connections may have is as much each: together they leave room
/// for items.
const HELD_PART: u64 = 4;

/// Octets taken of an account; given back when dropped.
#[derive(Debug)]
pub struct Charged {
    account: Arc<Account>,
    octets: u64,
}

impl Charged {
    /// Octets that were charged for already.
    pub fn taken(account: &Arc<Account>, octets: u64) -> Self {
        Charged { account: Arc::clone(account), octets }
    }

    /// Adds more that were charged for already.
    pub fn add(&mut self, octets: u64) {
        self.octets += octets;
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.account.uncharge(Kind::Large, self.octets);
    }
}

/// A piece of a value. All but the last one are full when the value is whole.
#[derive(Debug)]
struct Block {
    room: Room,
    octets: usize,
    octets_max: usize,
}

impl Block {
    fn filled(&self) -> &[u8] {
        &self.room[..self.octets]
    }
}

/// A value in blocks.
#[derive(Debug)]
pub struct LargeValue {
    blocks: Vec<Block>,
    octets: u64,
    holds: AtomicU32,
    charged: Charged,
}

impl LargeValue {
    /// An empty value, whose [`LARGE_EXTRA_OCTETS`] were charged.
    pub fn new(charged: Charged) -> Self {
        LargeValue { blocks: Vec::new(), octets: 0, holds: 0.into(), charged }
    }

    /// Octets of the value.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Octets that fit what was made.
    pub fn room(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.octets_max - block.octets)
    }

    /// Octets to charge for the next block, of a value of which `missing` octets are still to come.
    pub fn block_charge(missing: u64) -> u64 {
        paged(missing.min(BLOCK_OCTETS as u64)) + BLOCK_EXTRA_OCTETS
    }

    /// Makes the next block, which was charged for.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn make_block(&mut self, missing: u64, pages: &Arc<Pages>) -> Result<(), Refused> {
        self.charged.add(Self::block_charge(missing));
        let room = pages.take().ok_or(Refused::NoMemory)?;
        self.blocks.push(Block { room, octets: 0, octets_max: missing.min(BLOCK_OCTETS as u64) as usize });
        Ok(())
    }

    /// Adds as many octets as there is room for; returns how many.
    pub fn append(&mut self, octets: &[u8]) -> usize {
        let fits = octets.len().min(self.room());
        if let Some(block) = self.blocks.last_mut() {
            block.room[block.octets..block.octets + fits].copy_from_slice(&octets[..fits]);
            block.octets += fits;
        }
        self.octets += fits as u64;
        fits
    }

    /// The octets from `at` on that lie together.
    pub fn piece(&self, at: u64) -> &[u8] {
        let Ok(at) = usize::try_from(at) else { return &[] };
        let block = self.blocks.get(at / BLOCK_OCTETS);
        block.and_then(|block| block.filled().get(at % BLOCK_OCTETS..)).unwrap_or_default()
    }

    /// Adds all octets to `output`.
    pub fn copy(&self, output: &mut Vec<u8>) {
        self.blocks.iter().for_each(|block| output.extend_from_slice(block.filled()));
    }
}

/// A value that stays readable while it is held, whatever becomes of its item.
#[derive(Debug)]
pub struct Hold {
    kind: HoldKind,
}

#[derive(Debug)]
enum HoldKind {
    Copy(Vec<u8>),
    Large(Arc<LargeValue>),
}

impl Hold {
    /// A hold of a copy.
    pub(super) fn of_copy(octets: Vec<u8>) -> Self {
        Hold { kind: HoldKind::Copy(octets) }
    }

    /// A hold of a large value, if holds do not keep too much already.
    pub(super) fn of_large(value: Arc<LargeValue>) -> Result<Self, Refused> {
        if value.holds.fetch_add(1, Relaxed) == 0 {
            value.charged.account.hold(value.octets);
        }
        let account = Arc::clone(&value.charged.account);
        let hold = Hold { kind: HoldKind::Large(value) };
        let held = account.held();
        if held > account.limit() / HELD_PART && held > hold.octets() { Err(Refused::NoMemory) } else { Ok(hold) }
    }

    /// Octets of the value.
    pub fn octets(&self) -> u64 {
        match &self.kind {
            HoldKind::Copy(octets) => octets.len() as u64,
            HoldKind::Large(value) => value.octets,
        }
    }

    /// The octets from `at` on, as many as lie together; empty at the end.
    pub fn piece(&self, at: u64) -> &[u8] {
        match &self.kind {
            HoldKind::Copy(octets) => usize::try_from(at).ok().and_then(|at| octets.get(at..)).unwrap_or_default(),
            HoldKind::Large(value) => value.piece(at),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let HoldKind::Large(value) = &self.kind
            && value.holds.fetch_sub(1, Relaxed) == 1
        {
            value.charged.account.unhold(value.octets);
        }
    }
}

/// A large value that an item names.
#[derive(Clone, Debug)]
pub struct Shelved {
    /// The value.
    pub value: Arc<LargeValue>,
    /// The hash of the item's key.
    pub hash: u64,
}

/// All large values that items name, oldest first.
#[derive(Debug, Default)]
pub struct Shelf {
    numbers: AtomicU64,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    values: HashMap<u64, Shelved>,
    /// Numbers, with their place in the order in which things are evicted; of those removed, some.
    line: VecDeque<(u64, u64)>,
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a value on the shelf; returns its number, which no other value ever has.
    pub fn put(&self, shelved: Shelved, sequence: u64) -> u64 {
        let number = self.numbers.fetch_add(1, Relaxed) + 1;
        let mut inside = self.lock();
        inside.values.insert(number, shelved);
        inside.line.push_back((number, sequence));
        number
    }

    /// The value of a number.
    pub fn get(&self, number: u64) -> Option<Shelved> {
        self.lock().values.get(&number).cloned()
    }

    /// Takes a value off the shelf.
    pub fn remove(&self, number: u64) -> Option<Shelved> {
        let mut inside = self.lock();
        let shelved = inside.values.remove(&number);
        if inside.line.len() > 2 * inside.values.len() + 64 {
            let Inside { values, line } = &mut *inside;
            line.retain(|(number, _)| values.contains_key(number));
        }
        shelved
    }

    /// The place of the oldest value in the order in which things are evicted.
    pub fn oldest(&self) -> Option<u64> {
        let mut inside = self.lock();
        let Inside { values, line } = &mut *inside;
        while line.front().is_some_and(|(number, _)| !values.contains_key(number)) {
            line.pop_front();
        }
        line.front().map(|&(_, sequence)| sequence)
    }

    /// Takes the oldest value out of the line, to be removed or to come again.
    pub fn next(&self) -> Option<(u64, u64)> {
        let mut inside = self.lock();
        let Inside { values, line } = &mut *inside;
        loop {
            let (number, _) = line.pop_front()?;
            if let Some(shelved) = values.get(&number) {
                return Some((number, shelved.hash));
            }
        }
    }

    /// Puts a value at the line's end again.
    pub fn again(&self, number: u64, sequence: u64) {
        let mut inside = self.lock();
        if inside.values.contains_key(&number) {
            inside.line.push_back((number, sequence));
        }
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.lock().values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::blocks;

    fn value(account: &Arc<Account>, octets: &[u8]) -> LargeValue {
        let pages = blocks();
        assert!(account.charge(Kind::Large, LARGE_EXTRA_OCTETS, 0));
        let mut value = LargeValue::new(Charged::taken(account, LARGE_EXTRA_OCTETS));
        let mut rest = octets;
        while !rest.is_empty() {
            let missing = rest.len() as u64;
            if value.room() == 0 {
                assert!(account.charge(Kind::Large, LargeValue::block_charge(missing), 0));
                value.make_block(missing, &pages).expect("memory");
            }
            let taken = value.append(rest);
            rest = &rest[taken..];
        }
        value
    }

    #[test]
    fn a_value_in_blocks_reads_as_it_came_and_gives_its_memory_back() {
        let account = Arc::new(Account::new(1 << 20));
        let octets: Vec<u8> = (0..150_000u32).map(|n| n as u8).collect();
        let value = value(&account, &octets);
        let mut read = Vec::new();
        while !value.piece(read.len() as u64).is_empty() {
            read.extend_from_slice(value.piece(read.len() as u64));
        }
        assert_eq!(read, octets);
        assert!(account.used() >= 150_000 && account.used() < 155_000, "whole pages");
        drop(value);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn holds_keep_a_bounded_part_of_the_memory() {
        let account = Arc::new(Account::new(400_000));
        let values = [150_000, 150_000].map(|octets| Arc::new(value(&account, &vec![7; octets])));
        let hold = Hold::of_large(Arc::clone(&values[0])).expect("alone it may be as large as any value");
        let again = Hold::of_large(Arc::clone(&values[0])).expect("counts once");
        assert!(Hold::of_large(Arc::clone(&values[1])).is_err());
        drop((values, again));
        assert!(account.used() >= 150_000 && hold.piece(149_999) == [7]);
        drop(hold);
        assert_eq!((account.used(), account.held()), (0, 0));
    }

    #[test]
    fn the_shelf_gives_the_oldest_first() {
        let account = Arc::new(Account::new(1 << 20));
        let shelf = Shelf::default();
        let put = |hash, sequence| shelf.put(Shelved { value: Arc::new(value(&account, b"x")), hash }, sequence);
        let (first, second, third) = (put(1, 10), put(2, 20), put(3, 30));
        assert!(shelf.remove(first).is_some() && shelf.remove(first).is_none());
        assert_eq!((shelf.oldest(), shelf.next()), (Some(20), Some((second, 2))));
        shelf.again(second, 40);
        assert_eq!((shelf.next(), shelf.next(), shelf.next()), (Some((third, 3)), Some((second, 2)), None));
    }
}
