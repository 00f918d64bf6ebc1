//! A disk that loses power, or whose process is killed, at any operation: what was not synced is lost in part, sector
//! by sector; names that were removed since the folder was synced may come back.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use trunkline_commit::Disk;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

#[derive(Debug, Default)]
pub struct World(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<String, Arc<Mutex<Octets>>>,
    /// Removed, and not gone for certain.
    removed: BTreeMap<String, Arc<Mutex<Octets>>>,
    /// Operations until the end; none: no end.
    left: Option<u32>,
    /// Octets that there is room for.
    room: Option<usize>,
    random: u64,
}

/// A file as its readers see it, and as the disk has it.
#[derive(Clone, Debug, Default)]
struct Octets {
    seen: Vec<u8>,
    stable: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The kernel goes on: what was written stays to be seen, but is not stable yet.
    Killed,
    /// The power: each sector that was not synced is there or not.
    Power,
}

impl World {
    /// Lets so many operations succeed from now on.
    pub fn ends_after(&self, operations: u32) {
        self.0.lock().unwrap().left = Some(operations);
    }

    /// So much room from now on; none: no end of it.
    pub fn has_room(&self, octets: Option<usize>) {
        self.0.lock().unwrap().room = octets;
    }

    /// The next life begins, with what the last one left.
    pub fn again(&self, end: End, seed: u64) {
        let mut state = self.0.lock().unwrap();
        state.left = None;
        state.random ^= seed;
        let removed = std::mem::take(&mut state.removed);
        if end == End::Killed {
            state.removed = removed;
            return;
        }
        for (name, file) in removed {
            if state.chance() {
                state.files.entry(name).or_insert(file);
            }
        }
        for file in state.files.values().cloned().collect::<Vec<_>>() {
            let mut octets = file.lock().unwrap();
            octets.lose(|| state.chance());
        }
    }

    /// Changes an octet of a file.
    pub fn spoil(&self, name: &str, at: usize) {
        let file = Arc::clone(&self.0.lock().unwrap().files[name]);
        let mut octets = file.lock().unwrap();
        octets.seen[at] ^= 0x10;
        octets.stable = octets.seen.clone();
    }

    /// The names of a log's segments.
    pub fn segments(&self) -> Vec<String> {
        self.list().unwrap().into_iter().filter(|name| name.ends_with(".log")).collect()
    }

    /// Where each block of a log begins: its segment, its place, its first record.
    pub fn blocks(&self) -> Vec<(String, usize, u64)> {
        let mut blocks = Vec::new();
        for name in self.segments() {
            let (octets, mut at) = (self.octets(&name), 32);
            while octets.get(at..at + 4).is_some_and(|mark| mark == b"TLBK") {
                let word = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
                blocks.push((name.clone(), at, u64::from(word(at + 8))));
                at = (at + 24 + word(at + 4) as usize).next_multiple_of(8);
            }
        }
        blocks
    }

    /// Another disk with the same files.
    pub fn copied(&self) -> World {
        let state = self.0.lock().unwrap();
        let copy = |file: &Arc<Mutex<Octets>>| Arc::new(Mutex::new(file.lock().unwrap().clone()));
        let files = state.files.iter().map(|(name, file)| (name.clone(), copy(file))).collect();
        World(Mutex::new(State { files, random: state.random, ..State::default() }))
    }

    /// What a file holds.
    pub fn octets(&self, name: &str) -> Vec<u8> {
        self.0.lock().unwrap().files[name].lock().unwrap().seen.clone()
    }

    /// A file holds this.
    pub fn put(&self, name: &str, octets: Vec<u8>) {
        let file = Octets { stable: octets.clone(), seen: octets };
        self.0.lock().unwrap().files.insert(name.to_owned(), Arc::new(Mutex::new(file)));
    }

    /// A file ends there.
    pub fn cut(&self, name: &str, at: usize) {
        let mut octets = self.octets(name);
        octets.truncate(at);
        self.put(name, octets);
    }

    /// Zeros in place of what was there.
    pub fn zero(&self, name: &str, from: usize, octets: usize) {
        let mut all = self.octets(name);
        let end = all.len().min(from + octets);
        all[from.min(end)..end].fill(0);
        self.put(name, all);
    }

    /// Two files have each other's names.
    pub fn swap(&self, one: &str, other: &str) {
        let (first, second) = (self.octets(one), self.octets(other));
        self.put(one, second);
        self.put(other, first);
    }

    /// Removes a file for good.
    pub fn lose(&self, name: &str) {
        self.0.lock().unwrap().files.remove(name).unwrap();
    }
}

impl State {
    fn chance(&mut self) -> bool {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) & 1 == 1
    }

    /// Whether this operation is still done, and whether all of it.
    fn step(&mut self) -> (bool, io::Result<()>) {
        let over = || Err(io::Error::other("the end"));
        match &mut self.left {
            None => (true, Ok(())),
            Some(0) => (false, over()),
            Some(left) => {
                *left -= 1;
                match *left {
                    0 => (self.chance(), over()),
                    _ => (true, Ok(())),
                }
            }
        }
    }
}

impl Octets {
    fn lose(&mut self, mut stays: impl FnMut() -> bool) {
        self.stable.resize(self.seen.len(), 0);
        for (seen, stable) in self.seen.chunks(SECTOR).zip(self.stable.chunks_mut(SECTOR)) {
            if seen != stable && stays() {
                stable.copy_from_slice(seen);
            }
        }
        self.seen = self.stable.clone();
    }
}

#[derive(Debug)]
pub struct File(Arc<Mutex<Octets>>);

impl Disk for World {
    type File = File;

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().unwrap().files.keys().cloned().collect())
    }

    fn make(&self, name: &str, octets: u64) -> io::Result<File> {
        let mut state = self.0.lock().unwrap();
        let octets = usize::try_from(octets).unwrap();
        if let Some(room) = &mut state.room {
            *room = room.checked_sub(octets).ok_or(io::ErrorKind::StorageFull)?;
        }
        let (done, result) = state.step();
        let file = Arc::new(Mutex::new(Octets { seen: vec![0; octets], stable: vec![0; octets] }));
        if done {
            state.files.insert(name.to_owned(), Arc::clone(&file));
        }
        result.map(|()| File(file))
    }

    fn open(&self, name: &str) -> io::Result<File> {
        let state = self.0.lock().unwrap();
        state.files.get(name).map(|file| File(Arc::clone(file))).ok_or(io::ErrorKind::NotFound.into())
    }

    fn read(&self, file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let octets = file.0.lock().unwrap();
        let rest = octets.seen.get(usize::try_from(at).unwrap()..).unwrap_or(&[]);
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write(&self, file: &File, at: u64, octets: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        let mut own = file.0.lock().unwrap();
        let (at, end) = (usize::try_from(at).unwrap(), usize::try_from(at).unwrap() + octets.len());
        if let Some(room) = &mut state.room {
            *room = room.checked_sub(end.saturating_sub(own.seen.len())).ok_or(io::ErrorKind::StorageFull)?;
        }
        let (done, result) = state.step();
        drop(state);
        if done {
            if own.seen.len() < end {
                own.seen.resize(end, 0);
            }
            own.seen[at..end].copy_from_slice(octets);
        }
        result
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let (done, result) = self.0.lock().unwrap().step();
        let mut own = file.0.lock().unwrap();
        if done {
            own.stable = own.seen.clone();
        }
        result
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        let (done, result) = state.step();
        if done {
            let file = state.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
            state.files.insert(to.to_owned(), file);
            state.removed.clear();
        }
        result
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        let (done, result) = state.step();
        if done {
            let file = state.files.remove(name).ok_or(io::ErrorKind::NotFound)?;
            state.removed.insert(name.to_owned(), file);
        }
        result
    }

    fn salt(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        state.chance();
        state.random
    }
}
