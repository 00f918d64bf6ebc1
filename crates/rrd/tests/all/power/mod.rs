//! A disk in memory that loses power, or fails.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use trunkline_rrd::{Disk, Mark};

/// What a disk keeps or loses as a whole.
const SECTOR: usize = 512;

#[derive(Default)]
struct State {
    number: u64,
    /// As it is read now.
    now: Vec<u8>,
    stable: Vec<u8>,
    /// Sectors that were written since the last sync, with all that they were.
    unsynced: BTreeMap<usize, Vec<Vec<u8>>>,
}

impl State {
    /// What was written since the last one; what a sync has dropped stays lost.
    fn sync(&mut self) {
        for (sector, _) in core::mem::take(&mut self.unsynced) {
            let at = sector * SECTOR;
            let end = (at + SECTOR).min(self.now.len());
            self.stable[at..end].copy_from_slice(&self.now[at..end]);
        }
    }
}

/// A disk that loses power after so many operations, or fails in other ways.
#[derive(Default)]
struct Power {
    files: RefCell<HashMap<PathBuf, State>>,
    left: Cell<Option<u32>>,
    fails: Cell<Option<Fails>>,
}

/// How an operation is to fail, once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fails {
    /// A sync, as Linux has it: what was to be written counts as written, is read as it was, and is nowhere.
    Sync,
    /// A sync of all files.
    SyncAll,
    /// Writes to one file, until it is said otherwise.
    Writes(&'static str),
}

#[derive(Clone, Default)]
pub struct World(Rc<Power>);

impl World {
    fn step(&self) -> io::Result<()> {
        match self.0.left.get() {
            Some(0) => Err(io::Error::other("no power")),
            Some(left) => {
                self.0.left.set(Some(left - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// So many operations are done before the power is lost.
    pub fn last_for(&self, operations: u32) {
        self.0.left.set(Some(operations));
    }

    pub fn fail(&self, fails: Option<Fails>) {
        self.0.fails.set(fails);
    }

    fn fails(&self, how: Fails) -> bool {
        let fails = self.0.fails.get() == Some(how);
        if fails {
            self.0.fails.set(None);
        }
        fails
    }

    /// Of each sector that was not synced what it was or one of what it became.
    pub fn lose_power(&self, mut chance: u64) {
        for state in self.0.files.borrow_mut().values_mut() {
            for (sector, versions) in core::mem::take(&mut state.unsynced) {
                chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let kept = (chance >> 33) as usize % (versions.len() + 1);
                if let Some(octets) = versions.get(kept) {
                    let at = sector * SECTOR;
                    let end = (at + SECTOR).min(state.stable.len());
                    state.stable[at..end].copy_from_slice(&octets[..end - at]);
                }
            }
            state.now.clone_from(&state.stable);
        }
        self.0.left.set(None);
    }

    pub fn put(&self, path: &Path, octets: Vec<u8>) {
        let number = self.0.files.borrow().len() as u64 + 1;
        let state = State { number, stable: octets.clone(), now: octets, unsynced: BTreeMap::new() };
        self.0.files.borrow_mut().insert(path.to_owned(), state);
    }

    pub fn octets(&self, path: &Path) -> Vec<u8> {
        self.0.files.borrow()[path].now.clone()
    }
}

impl Disk for World {
    type File = PathBuf;

    fn open(&self, path: &Path) -> io::Result<PathBuf> {
        let there = self.0.files.borrow().contains_key(path);
        there.then(|| path.to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn make(&self, path: &Path, octets: u64) -> io::Result<PathBuf> {
        if !self.0.files.borrow().contains_key(path) {
            self.put(path, vec![0; octets as usize]);
        }
        Ok(path.to_owned())
    }

    fn mark(&self, file: &PathBuf) -> io::Result<Mark> {
        let state = &self.0.files.borrow()[file];
        Ok(Mark { number: state.number, octets: state.now.len() as u64, written_ns: 0 })
    }

    fn read(&self, file: &PathBuf, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let files = self.0.files.borrow();
        let rest = files[file].now.get(at as usize..).unwrap_or(&[]);
        let got = rest.len().min(into.len());
        into[..got].copy_from_slice(&rest[..got]);
        Ok(got)
    }

    fn write(&self, file: &PathBuf, at: u64, octets: &[u8]) -> io::Result<()> {
        self.step()?;
        if self.0.fails.get().is_some_and(|fails| matches!(fails, Fails::Writes(name) if Path::new(name) == file)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut files = self.0.files.borrow_mut();
        let state = files.get_mut(file).unwrap();
        let (from, to) = (at as usize, at as usize + octets.len());
        state.now[from..to].copy_from_slice(octets);
        for sector in from / SECTOR..to.div_ceil(SECTOR) {
            let mut version = state.now[sector * SECTOR..((sector + 1) * SECTOR).min(state.now.len())].to_vec();
            version.resize(SECTOR, 0);
            state.unsynced.entry(sector).or_default().push(version);
        }
        Ok(())
    }

    fn sync(&self, file: &PathBuf) -> io::Result<()> {
        self.step()?;
        let fails = self.fails(Fails::Sync);
        let mut files = self.0.files.borrow_mut();
        let state = files.get_mut(file).unwrap();
        if fails {
            state.unsynced.clear();
            return Err(io::Error::other("the disk has failed"));
        }
        state.sync();
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.step()?;
        let mut files = self.0.files.borrow_mut();
        if self.fails(Fails::SyncAll) {
            files.values_mut().for_each(|state| state.unsynced.clear());
            return Err(io::Error::other("the disk has failed"));
        }
        files.values_mut().for_each(State::sync);
        Ok(())
    }
}
