//! The flows of the segment that is being recorded: a hash table, and the pages of each flow as gaps.
//!
//! Two cache lines hold all of a flow that a packet touches: key, times, and the last gaps. When these are full they go
//! to an arena in chunks that are chained; nothing is allocated but when a table grows, and it never shrinks.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use super::codec::put_varint;
use super::{FLOWS_MAX, GAPS_OCTETS_MAX};

/// Octets of gaps that a flow holds before they go to the arena.
const HELD_OCTETS: usize = 46;
/// Octets of a chunk of the arena: the next chunk's number, octets used, gaps.
const CHUNK_OCTETS: usize = 4 + 1 + HELD_OCTETS;
const NONE: u32 = u32::MAX;
/// Flows that a new table has room for.
const FLOWS_AT_FIRST: usize = 1 << 10;

/// A flow's innermost endpoints, lower first, and what else tells it apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub(super) a: u128,
    pub(super) b: u128,
    /// The port of `a` in the upper half.
    pub(super) ports: u32,
    /// The number of its outermost headers and one; 0 where they do not differ.
    pub(super) outer: u32,
    pub(super) vlan: u16,
    pub(super) protocol: u8,
    pub(super) kind: u8,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    pub(super) packets: u32,
    /// The page of the latest record.
    page: u32,
    /// First and last chunk.
    head: u32,
    tail: u32,
    pub(super) flags: u8,
    held: u8,
    gaps: [u8; HELD_OCTETS],
}

/// A place of the hash table: the upper half of the hash, and which flow.
#[derive(Clone, Copy, Debug)]
struct Place {
    tag: u32,
    flow: u32,
}

const EMPTY: Place = Place { tag: 0, flow: NONE };

/// The flows.
#[derive(Debug)]
pub(super) struct Table {
    seed: u64,
    places: Vec<Place>,
    entries: Vec<Entry>,
    chunks: Vec<u8>,
    flows_max: usize,
    gaps_octets_max: usize,
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            seed: RandomState::new().hash_one(0x7472_756e_6b6c_696e_u64),
            places: vec![EMPTY; FLOWS_AT_FIRST * 2],
            entries: Vec::with_capacity(FLOWS_AT_FIRST),
            chunks: Vec::new(),
            flows_max: FLOWS_MAX,
            gaps_octets_max: GAPS_OCTETS_MAX,
        }
    }

    /// With other limits, for tests.
    #[cfg(test)]
    pub(super) fn limited(flows_max: usize, gaps_octets_max: usize) -> Table {
        Table { flows_max, gaps_octets_max, ..Table::new() }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Counts a packet of a flow whose record begins in this page. False where there is no room for it.
    #[inline]
    pub(super) fn count(&mut self, key: &Key, at_ns: i64, page: u32, flags: u8) -> bool {
        let Some(at) = self.find(key) else { return self.add(key, at_ns, page, flags) };
        let Some(entry) = self.entries.get_mut(at) else { return false };
        entry.first_ns = entry.first_ns.min(at_ns);
        entry.last_ns = entry.last_ns.max(at_ns);
        entry.flags |= flags;
        let gap = page.wrapping_sub(entry.page);
        if gap != 0 {
            if gap < 0x80 && usize::from(entry.held) < HELD_OCTETS {
                entry.gaps[usize::from(entry.held)] = gap as u8;
                entry.held += 1;
            } else if !self.append(at, gap) {
                return false;
            }
            self.entries[at].page = page;
        }
        let entry = &mut self.entries[at];
        entry.packets = entry.packets.saturating_add(1);
        true
    }

    /// Forgets the flows and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.places.fill(EMPTY);
        self.entries.clear();
        self.chunks.clear();
    }

    /// Appends the gaps of a flow, the first one being the number of the first page and one.
    pub(super) fn gaps(&self, entry: &Entry, out: &mut Vec<u8>) {
        let mut chunk = entry.head;
        while chunk != NONE {
            let start = chunk as usize * CHUNK_OCTETS;
            let Some(octets) = self.chunks.get(start..start + CHUNK_OCTETS) else { break };
            out.extend_from_slice(&octets[5..5 + usize::from(octets[4]).min(HELD_OCTETS)]);
            chunk = u32::from_le_bytes([octets[0], octets[1], octets[2], octets[3]]);
        }
        out.extend_from_slice(&entry.gaps[..usize::from(entry.held)]);
    }

    #[inline]
    fn find(&self, key: &Key) -> Option<usize> {
        let hash = self.hash(key);
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let place = self.places[at & mask];
            if place.flow == NONE {
                return None;
            }
            if place.tag == (hash >> 32) as u32 && self.entries[place.flow as usize].key == *key {
                return Some(place.flow as usize);
            }
            at += 1;
        }
    }

    /// Folds 128-bit products, as wyhash does, seeded so that nobody can aim at a place.
    #[inline]
    fn hash(&self, key: &Key) -> u64 {
        const MULTIPLIERS: [u64; 4] =
            [0x9e37_79b9_7f4a_7c15, 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3];
        let fold = |a: u64, b: u64| {
            let product = u128::from(a).wrapping_mul(u128::from(b));
            (product >> 64) as u64 ^ product as u64
        };
        let rest = u64::from(key.ports) << 32 | u64::from(key.outer);
        let last = u64::from(key.vlan) << 16 | u64::from(key.protocol) << 8 | u64::from(key.kind);
        let a = fold(key.a as u64 ^ MULTIPLIERS[0], (key.a >> 64) as u64 ^ self.seed);
        let b = fold(key.b as u64 ^ MULTIPLIERS[1], (key.b >> 64) as u64 ^ self.seed.rotate_left(17));
        let c = fold(rest ^ MULTIPLIERS[2], last ^ self.seed.rotate_left(37));
        fold(a ^ c.rotate_left(23), b ^ MULTIPLIERS[3])
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, key: &Key, at_ns: i64, page: u32, flags: u8) -> bool {
        if self.entries.len() >= self.flows_max {
            return false;
        }
        let mut gaps = [0; HELD_OCTETS];
        let held = put_varint(&mut gaps, u64::from(page) + 1) as u8;
        self.entries.push(Entry {
            key: *key,
            first_ns: at_ns,
            last_ns: at_ns,
            packets: 1,
            page,
            head: NONE,
            tail: NONE,
            flags,
            held,
            gaps,
        });
        if self.entries.len() * 2 > self.places.len() {
            self.places = vec![EMPTY; self.places.len() * 2];
            (0..self.entries.len()).for_each(|flow| self.place(flow));
        } else {
            self.place(self.entries.len() - 1);
        }
        true
    }

    fn place(&mut self, flow: usize) {
        let hash = self.hash(&self.entries[flow].key);
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        while self.places[at & mask].flow != NONE {
            at += 1;
        }
        self.places[at & mask] = Place { tag: (hash >> 32) as u32, flow: flow as u32 };
    }

    /// Appends a gap that is long, or for which there is no room left beside the flow.
    #[inline(never)]
    fn append(&mut self, at: usize, gap: u32) -> bool {
        let entry = &mut self.entries[at];
        let mut octets = [0; 5];
        let n = put_varint(&mut octets, u64::from(gap));
        let held = usize::from(entry.held);
        if let Some(room) = entry.gaps.get_mut(held..held + n) {
            room.copy_from_slice(&octets[..n]);
            entry.held += n as u8;
            return true;
        }
        if self.chunks.len() + CHUNK_OCTETS > self.gaps_octets_max {
            return false;
        }
        let chunk = (self.chunks.len() / CHUNK_OCTETS) as u32;
        self.chunks.extend_from_slice(&NONE.to_le_bytes());
        self.chunks.push(entry.held);
        self.chunks.extend_from_slice(&entry.gaps);
        if entry.head == NONE {
            entry.head = chunk;
        } else if let Some(next) = self.chunks.get_mut(entry.tail as usize * CHUNK_OCTETS..) {
            next[..4].copy_from_slice(&chunk.to_le_bytes());
        }
        entry.tail = chunk;
        entry.gaps[..n].copy_from_slice(&octets[..n]);
        entry.held = n as u8;
        true
    }
}
