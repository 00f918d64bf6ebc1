//! Many files, written by one owner: samples wait until a file has several of them, and go to disk together.
//!
//! A file's rows and its header lie in different blocks, and the disk may write them in any order, or tear one. So what
//! is to be written to files goes to a redo file first, with checksums, and is synced there; then to the files, in no
//! order. A start repeats the redo file, which makes every file whole. [`redo`] says more.

mod cache;
mod pending;
mod redo;

use core::ops::ControlFlow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::archive::{Reading, Rows, Time};
use crate::disk::Disk;
use crate::fault::{Fault, Refused};
use crate::file::check_size;
use cache::{Headers, Known};
use pending::Pending;
use redo::{Piece, Redo};

pub use redo::{NAMES as REDO_NAMES, Recovered, RedoCheck, redo_check};

/// Reasons of refused samples that a flush tells; the others are counted.
pub const REFUSALS_TOLD_MAX: usize = 100;

/// How samples wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A file is written when it has so many samples.
    pub together: usize,
    /// Or when its first one has waited so long.
    pub age_s: i64,
    /// Octets of samples that wait in all; beyond it the files with the oldest are due at once, and then samples are
    /// refused.
    pub waiting_octets_max: usize,
    /// Octets of headers that are kept in memory; the one unused longest goes.
    pub header_octets_max: usize,
    /// Files that are open at once: those of one sync.
    pub files_per_sync_max: usize,
    /// Octets of each of the two redo files, at least 64 KiB; when one is full, all files are synced. Files whose
    /// header and one sample take more than a quarter of it cannot be written; 16 MiB have room for all that can be.
    pub redo_octets: u64,
}

/// Octets of a redo file that is checked at most: twice as many as are ever set.
pub const REDO_OCTETS_MAX: u64 = 8 << 30;

impl Default for Options {
    fn default() -> Options {
        Options {
            together: 30,
            age_s: 1800,
            waiting_octets_max: 512 << 20,
            header_octets_max: 256 << 20,
            files_per_sync_max: 512,
            redo_octets: 64 << 20,
        }
    }
}

/// What happened since the writer was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Samples that are in files.
    pub samples_stored_total: u64,
    /// Their values.
    pub values_stored_total: u64,
    /// Samples that files did not take as they came too late; after a start those are the ones that were there already.
    pub samples_past_total: u64,
    /// Samples that files did not take for other reasons.
    pub samples_refused_total: u64,
    /// Samples that were not taken as too many wait.
    pub samples_overflow_total: u64,
    /// Samples whose files are gone or damaged.
    pub samples_lost_total: u64,
    /// Files written, each as often as it was.
    pub files_written_total: u64,
    /// Files that were locked by others, and were left for the next flush.
    pub files_locked_total: u64,
    /// Headers that were in memory.
    pub headers_kept_total: u64,
    /// Headers that were read.
    pub headers_read_total: u64,
    /// Octets of the redo files.
    pub redo_octets_total: u64,
    /// Syncs of a redo file.
    pub redo_syncs_total: u64,
    /// Syncs of all files, when a redo file was full.
    pub full_syncs_total: u64,
}

/// A sample was not taken: too many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many samples wait for the disk")]
pub struct Full;

/// What a flush has done.
#[derive(Debug, Default)]
pub struct Flushed {
    /// Files, and the time of the highest sample that is on stable storage in each.
    pub stored: Vec<(u64, Time)>,
    /// Files that could not be written. Of those that are locked, and where the system failed, the samples wait on.
    pub failed: Vec<(u64, Fault)>,
    /// Samples that files refused, the first ones.
    pub refused: Vec<(u64, Time, Refused)>,
}

/// The owner of many files.
pub struct Writer<D: Disk> {
    disk: D,
    options: Options,
    waiting: HashMap<u64, Pending>,
    waiting_octets: usize,
    headers: Headers,
    redo: Redo<D>,
    rows: Rows,
    values: Vec<Reading>,
    /// Of files whose writes failed: written before anything else is.
    unwritten: HashMap<u64, Unwritten>,
    counters: Counters,
}

/// A file that is open, with what is to be written to it in the redo file's buffer.
struct Opened<F> {
    file: u64,
    entered: Entered<F>,
    pending: Pending,
}

/// Pieces that a file did not take, and the number of that file: another one of its name has no use for them.
struct Unwritten {
    number: u64,
    pieces: Vec<Piece>,
}

/// An open file, its header with the samples in it, its place in the redo file; how many samples and values.
struct Entered<F> {
    handle: F,
    known: Known,
    entry: redo::Place,
    samples: u64,
    values: u64,
}

impl<D: Disk> Writer<D> {
    /// Repeats what redo files hold, and begins new ones.
    ///
    /// # Errors
    /// [`Fault`]: the system's, or another process holds a lock: of the redo files, or of a file that is to be mended.
    pub fn open(disk: D, options: Options) -> Result<(Writer<D>, Recovered), Fault> {
        let (redo, recovered) = Redo::open(&disk, options.redo_octets)?;
        let writer = Writer {
            disk,
            options,
            waiting: HashMap::new(),
            waiting_octets: 0,
            headers: Headers::new(options.header_octets_max),
            redo,
            rows: Rows::default(),
            values: Vec::new(),
            unwritten: HashMap::new(),
            counters: Counters::default(),
        };
        Ok((writer, recovered))
    }

    /// What happened since.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether a sync has failed: nothing is written any more, samples wait until they are too many. Opened anew, a
    /// writer repeats what redo files hold, which makes up for what the system may have dropped.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.redo.is_broken()
    }

    /// Octets of the samples that wait.
    #[must_use]
    pub fn waiting_octets(&self) -> usize {
        self.waiting_octets
    }

    /// Whether samples of a file wait.
    #[must_use]
    pub fn waits(&self, file: u64) -> bool {
        self.waiting.contains_key(&file)
    }

    /// Takes a sample of a file: a reading for each data source that is not computed. It waits.
    ///
    /// # Errors
    /// [`Full`]: more wait than may; a flush makes room.
    pub fn put(&mut self, file: u64, time: Time, values: &[Reading], now_s: i64) -> Result<(), Full> {
        let octets = Pending::octets_of(values);
        if self.waiting_octets + octets > self.options.waiting_octets_max {
            self.counters.samples_overflow_total += 1;
            return Err(Full);
        }
        let pending = self.waiting.entry(file).or_insert_with(|| {
            self.waiting_octets += Pending::OCTETS;
            Pending::since(now_s)
        });
        pending.push(time, values);
        self.waiting_octets += octets;
        Ok(())
    }

    /// Writes files that have enough samples, or old ones. Where more than half of the room is taken, also those whose
    /// samples are the oldest, until less is. `path` names a file.
    ///
    /// # Errors
    /// [`Fault::Io`]: a redo file could not be written; nothing is lost, samples wait on, and it can be tried again.
    /// [`Fault::Unsynced`]: a sync has failed, now or before ([`Writer::is_broken`]).
    pub fn flush_due(&mut self, now_s: i64, path: impl Fn(u64) -> Option<PathBuf>) -> Result<Flushed, Fault> {
        let due = self.due(now_s);
        self.write(due, path)
    }

    /// Writes one file, so that who reads it next sees all.
    ///
    /// # Errors
    /// As above.
    pub fn flush(&mut self, file: u64, path: impl Fn(u64) -> Option<PathBuf>) -> Result<Flushed, Fault> {
        self.write(vec![file], path)
    }

    /// Writes all that waits.
    ///
    /// # Errors
    /// As above.
    pub fn flush_all(&mut self, path: impl Fn(u64) -> Option<PathBuf>) -> Result<Flushed, Fault> {
        let all = self.waiting.keys().copied().collect();
        self.write(all, path)
    }

    /// Forgets a file: it is gone, or is made anew. Its samples are dropped; how many they were.
    pub fn forget(&mut self, file: u64) -> u64 {
        self.headers.forget(file);
        self.unwritten.remove(&file);
        let Some(pending) = self.waiting.remove(&file) else { return 0 };
        self.waiting_octets -= pending.octets();
        pending.samples()
    }

    fn due(&self, now_s: i64) -> Vec<u64> {
        let is_due = |pending: &Pending| {
            pending.samples() >= self.options.together as u64 || now_s - pending.since_s >= self.options.age_s
        };
        let mut due: Vec<u64> = self.waiting.iter().filter(|(_, p)| is_due(p)).map(|(file, _)| *file).collect();
        let freed: usize = due.iter().filter_map(|file| self.waiting.get(file)).map(Pending::octets).sum();
        let mut left = self.waiting_octets - freed;
        let keep = self.options.waiting_octets_max / 2;
        if left > keep {
            let mut rest: Vec<_> = self.waiting.iter().filter(|(_, pending)| !is_due(pending)).collect();
            rest.sort_by_key(|(file, pending)| (pending.since_s, **file));
            for (file, pending) in rest {
                if left <= keep {
                    break;
                }
                left -= pending.octets();
                due.push(*file);
            }
        }
        due
    }

    /// In the order of files, a sync for as many as may be open and have room.
    fn write(&mut self, mut files: Vec<u64>, path: impl Fn(u64) -> Option<PathBuf>) -> Result<Flushed, Fault> {
        self.redo.check()?;
        files.sort_unstable();
        let mut flushed = Flushed::default();
        let mut opened = Vec::new();
        self.redo.clear();
        for file in files {
            while let Some(pending) = self.waiting.remove(&file) {
                self.waiting_octets -= pending.octets();
                let is_whole = self.prepare(file, pending, path(file), &mut opened, &mut flushed);
                if !is_whole || self.redo.is_full() || opened.len() >= self.options.files_per_sync_max {
                    self.commit(&mut opened, &mut flushed)?;
                }
                if is_whole {
                    break;
                }
            }
        }
        self.commit(&mut opened, &mut flushed)?;
        Ok(flushed)
    }

    /// Opens a file and puts what its samples change into the redo file's buffer. Says whether all were looked at: the
    /// others wait for room.
    fn prepare(
        &mut self,
        file: u64,
        mut pending: Pending,
        path: Option<PathBuf>,
        opened: &mut Vec<Opened<D::File>>,
        flushed: &mut Flushed,
    ) -> bool {
        let Some(path) = path else {
            self.lost(file, &pending, no_name(), flushed);
            return true;
        };
        let mut later = None;
        match self.enter(file, &mut pending, &mut later, &path, &mut flushed.refused) {
            Ok(Some(entered)) => opened.push(Opened { file, entered, pending }),
            Ok(None) => {}
            Err(fault @ (Fault::Format { .. } | Fault::Asked(_))) => self.lost(file, &pending, fault, flushed),
            Err(Fault::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                self.lost(file, &pending, error.into(), flushed);
            }
            Err(fault) => {
                self.counters.files_locked_total += u64::from(matches!(fault, Fault::Locked));
                self.wait_on(file, pending);
                flushed.failed.push((file, fault));
            }
        }
        let is_whole = later.is_none();
        later.into_iter().for_each(|later| self.wait_on(file, later));
        is_whole
    }

    fn lost(&mut self, file: u64, pending: &Pending, fault: Fault, flushed: &mut Flushed) {
        self.headers.forget(file);
        self.unwritten.remove(&file);
        self.counters.samples_lost_total += pending.samples();
        flushed.failed.push((file, fault));
    }

    /// Before those that wait already.
    fn wait_on(&mut self, file: u64, mut pending: Pending) {
        if let Some(later) = self.waiting.remove(&file) {
            self.waiting_octets -= later.octets();
            pending.append(later);
        }
        self.waiting_octets += pending.octets();
        self.waiting.insert(file, pending);
    }

    /// Samples that have no room go from `pending` to `later`.
    fn enter(
        &mut self,
        file: u64,
        pending: &mut Pending,
        later: &mut Option<Pending>,
        path: &Path,
        refused: &mut Vec<(u64, Time, Refused)>,
    ) -> Result<Option<Entered<D::File>>, Fault> {
        let handle = self.disk.open(path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Fault::Locked,
            _ => Fault::Io(error),
        })?;
        self.write_the_unwritten(file, &handle)?;
        let mut known = self.header(file, &handle)?;
        let room = self.redo.room(path, known.archive.shape())?;
        let from = known.archive.last();
        let mut values = core::mem::take(&mut self.values);
        let told = self.update(file, &mut known, pending, room, &mut values, refused);
        self.values = values;
        *later = pending.split_off(told.looked_at);
        if told.samples == 0 {
            self.headers.keep(file, known);
            return Ok(None);
        }
        let entry = self.redo.enter(path, &known, from, &self.rows);
        Ok(Some(Entered { handle, known, entry, samples: told.samples, values: told.values }))
    }

    /// Samples into the header and rows, as many as have room.
    fn update(
        &mut self,
        file: u64,
        known: &mut Known,
        pending: &Pending,
        room: usize,
        values: &mut Vec<Reading>,
        refused: &mut Vec<(u64, Time, Refused)>,
    ) -> Told {
        self.rows.clear();
        let mut told = Told::default();
        told.looked_at = pending.each(values, |time, values| {
            match known.archive.update(time, values, &mut self.rows) {
                Ok(()) => {
                    told.samples += 1;
                    told.values += values.len() as u64;
                }
                Err(why) => {
                    let past = matches!(why, Refused::Past(_));
                    self.counters.samples_past_total += u64::from(past);
                    self.counters.samples_refused_total += u64::from(!past);
                    if refused.len() < REFUSALS_TOLD_MAX {
                        refused.push((file, time, why));
                    }
                }
            }
            let (octets, pieces) = self.rows.size();
            if redo::octets_of(octets, pieces) > room { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        told
    }

    /// What is in the redo file and did not get into the file.
    fn write_the_unwritten(&mut self, file: u64, handle: &D::File) -> Result<(), Fault> {
        let Some(unwritten) = self.unwritten.get(&file) else { return Ok(()) };
        if unwritten.number == self.disk.mark(handle)?.number {
            let mut pieces = unwritten.pieces.iter();
            pieces.try_for_each(|piece| piece.write(|at, octets| self.disk.write(handle, at, octets)))?;
        }
        self.unwritten.remove(&file);
        Ok(())
    }

    /// Out of memory if the file is as it was left, else read.
    fn header(&mut self, file: u64, handle: &D::File) -> Result<Known, Fault> {
        let mark = self.disk.mark(handle)?;
        if let Some(known) = self.headers.take(file, &mark) {
            self.counters.headers_kept_total += 1;
            return Ok(known);
        }
        self.counters.headers_read_total += 1;
        let known = self.headers.read(mark, |at, into| Ok(self.disk.read(handle, at, into)?))?;
        let least = known.archive.shape().file_octets;
        if mark.octets < least {
            return Err(Fault::format(mark.octets, format!("the file ends here, and should have {least} octets")));
        }
        check_size(least)?;
        Ok(known)
    }

    /// To the redo file, and when that is on stable storage to the files.
    fn commit(&mut self, opened: &mut Vec<Opened<D::File>>, flushed: &mut Flushed) -> Result<(), Fault> {
        if opened.is_empty() {
            return Ok(());
        }
        let written = self.redo.commit(&self.disk, &mut self.counters);
        if let Err(fault) = written {
            opened.drain(..).for_each(|one| self.wait_on(one.file, one.pending));
            return Err(fault);
        }
        opened.drain(..).for_each(|one| self.put_in_place(one, flushed));
        self.redo.clear();
        Ok(())
    }

    /// What fails here is in the redo file; it is tried again before the file is written next, or at the next start.
    fn put_in_place(&mut self, one: Opened<D::File>, flushed: &mut Flushed) {
        let Opened { file, entered: Entered { handle, mut known, entry, samples, values }, .. } = one;
        let written = self.redo.apply(&entry, |at, octets| self.disk.write(&handle, at, octets));
        self.counters.samples_stored_total += samples;
        self.counters.values_stored_total += values;
        self.counters.files_written_total += 1;
        flushed.stored.push((file, known.archive.last()));
        match written.and_then(|()| self.disk.mark(&handle)) {
            Ok(mark) => {
                known.mark = mark;
                self.headers.keep(file, known);
            }
            Err(error) => {
                self.headers.forget(file);
                let unwritten = Unwritten { number: known.mark.number, pieces: self.redo.pieces(&entry) };
                self.unwritten.insert(file, unwritten);
                flushed.failed.push((file, error.into()));
            }
        }
    }
}

/// What became of a file's samples: how many were looked at, how many were taken, and their values.
#[derive(Default)]
struct Told {
    looked_at: u64,
    samples: u64,
    values: u64,
}

fn no_name() -> Fault {
    Fault::Io(io::Error::new(io::ErrorKind::NotFound, "a file without a name"))
}
