//! The keeper: follows the journal and brings its samples into their files, which it makes, tunes and removes.

mod places;
mod spikes;

use super::said::Swept;
use super::status::Troubles;
use super::{OpenError, Shared};
use crate::files;
use crate::journal;
use places::Places;
pub use spikes::{Despiked, NoSpikes, SpikeShown};
use std::collections::{HashMap, VecDeque};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use trunkline_commit::{Folder, Follower, Keep, SnapshotWriter};
use trunkline_kit::place;
use trunkline_rrd::{self as rrd, Counters, Fault, Flushed, RrdFile, SpikeSearch, Time, Value, Writer};

/// How often it looks whether files are due, and tries again what could not be done.
const LOOK: Duration = Duration::from_secs(1);
/// How often what is in files is noted, so that the journal can be cut.
const NOTE: Duration = Duration::from_secs(30);
/// Records of the journal between two looks whether somebody asks.
const RECORDS_AT_ONCE: usize = 256;

/// What the keeper is told.
#[derive(Debug)]
pub(super) enum ToKeeper {
    /// There is more in the journal.
    More,
    /// What waits for these files is to be in them.
    Flush(Vec<u32>, SyncSender<()>),
    /// These files go: device and data source.
    Remove(Vec<(u32, u32)>),
    /// What these files take may be different.
    Changed(Vec<u32>),
    /// Spikes of a file are told, and go if that is wanted.
    Spikes(u32, SpikeSearch, bool, SyncSender<Result<Despiked, NoSpikes>>),
    /// It ends when all is in files.
    Stop,
}

/// What files have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// What was written.
    pub counters: Counters,
    /// Octets of samples in memory.
    pub waiting_octets: usize,
    /// Files that were made.
    pub files_made: u64,
    /// Files that were removed.
    pub files_removed: u64,
    /// Files of data sources that are gone, which the run before had left; they were removed at the start.
    pub files_swept: u64,
    /// Files of data sources that there never were: they were put aside at the start.
    pub files_aside: u64,
    /// Samples of data sources that are gone, or whose files cannot be made or do not fit their templates.
    pub samples_lost: u64,
    /// What went wrong lately, the newest last.
    pub troubles: Vec<String>,
}

/// The disk does not take anything at present: it is tried again.
struct Blocked;

/// See the module.
pub(super) struct Keeper {
    shared: Arc<Shared>,
    journal: Arc<Folder>,
    follower: Follower<Folder>,
    writer: Writer<rrd::Folder>,
    places: Places,
    /// Records of the journal that were read and are not brought yet.
    records: VecDeque<(u64, Vec<u8>)>,
    brought: u64,
    /// For each file with samples that wait the record of the first one, in the order of records; and the last such
    /// record of a file.
    waits: VecDeque<(u64, u32)>,
    since: HashMap<u32, u64>,
    noted: u64,
    noted_at: Instant,
    looked_at: Instant,
    kept: Kept,
    troubles: Troubles,
}

/// Says of redo files that are damaged what that costs: the writer repeats what is whole.
fn tell_redo(folder: &Path) {
    for name in rrd::REDO_NAMES {
        let path = folder.join(name);
        let what = match place::read(&path, rrd::REDO_OCTETS_MAX).map(|octets| rrd::redo_check(&octets)) {
            Ok(rrd::RedoCheck::Head) => "its head is damaged",
            Ok(rrd::RedoCheck::Entry(_)) => "an entry is damaged, and whole ones are behind it",
            _ => continue,
        };
        let lost = "what was being written to round-robin files at the last end is not repeated from there";
        tracing::error!("graphs: {}: {what}: {lost}", path.display());
    }
}

impl Keeper {
    /// Opens what writes files; the journal is followed from the record after `filed` on.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(
        shared: Arc<Shared>,
        journal: Arc<Folder>,
        options: rrd::Options,
        filed: u64,
        swept: &Swept,
    ) -> Result<Keeper, OpenError> {
        tell_redo(&shared.folder);
        let disk = rrd::Folder::open(&shared.folder);
        let disk = disk.map_err(|error| OpenError::Io(shared.folder.display().to_string(), error))?;
        let (writer, recovered) = Writer::open(disk, options).map_err(OpenError::Files)?;
        if recovered != rrd::Recovered::default() {
            let rrd::Recovered { entries, gone, changed } = recovered;
            tracing::info!(entries, gone, changed, "graphs: what was being written to files is written again");
        }
        Ok(Keeper {
            shared,
            journal,
            follower: Follower::new(filed + 1),
            writer,
            places: Places::default(),
            records: VecDeque::new(),
            brought: filed,
            waits: VecDeque::new(),
            since: HashMap::new(),
            noted: filed,
            noted_at: Instant::now(),
            looked_at: Instant::now(),
            kept: Kept { files_swept: swept.removed, files_aside: swept.aside, ..Kept::default() },
            troubles: Troubles::default(),
        })
    }

    pub fn run(mut self, hears: &Receiver<ToKeeper>) {
        loop {
            let is_idle = self.follow();
            let patience = if is_idle { LOOK.saturating_sub(self.looked_at.elapsed()) } else { Duration::ZERO };
            let mut told = hears.recv_timeout(patience).map_err(|error| match error {
                RecvTimeoutError::Timeout => TryRecvError::Empty,
                RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
            });
            loop {
                match told {
                    Ok(ToKeeper::Stop) | Err(TryRecvError::Disconnected) => return self.end(),
                    Ok(told) => self.hear(told),
                    Err(TryRecvError::Empty) => break,
                }
                told = hears.try_recv();
            }
            if self.looked_at.elapsed() >= LOOK {
                self.looked_at = Instant::now();
                if self.shared.flow.is_closed.load(Ordering::Acquire) {
                    self.shared.fail(self.shared.flow.trouble().unwrap_or_default());
                }
                self.flush(None);
                self.note(NOTE);
            }
            self.show();
        }
    }

    fn hear(&mut self, told: ToKeeper) {
        match told {
            ToKeeper::More | ToKeeper::Stop => self.shared.flow.heard(),
            ToKeeper::Flush(files, reply) => {
                while !self.follow() {}
                for file in files {
                    if self.writer.waits(file.into()) {
                        self.flush(Some(file));
                    }
                }
                // Who asked may have gone.
                let _ = reply.send(());
            }
            ToKeeper::Remove(files) => files.into_iter().for_each(|(device, source)| self.remove(device, source)),
            ToKeeper::Changed(sources) => sources.into_iter().for_each(|source| self.changed(source)),
            ToKeeper::Spikes(source, search, apply, reply) => {
                // Who asked may have gone.
                let _ = reply.send(self.spikes(source, &search, apply));
            }
        }
    }

    /// All that is in the journal goes into files, as far as the disk takes it.
    fn end(mut self) {
        while !self.follow() {}
        if self.settle().is_err() {
            // All of it is in the journal.
            return self.show();
        }
        let _held = self.shared.files.write().unwrap_or_else(PoisonError::into_inner);
        let flushed = self.writer.flush_all(|file| path(&self.shared, file));
        drop(_held);
        self.flushed(flushed);
        self.note(Duration::ZERO);
        self.show();
    }

    fn show(&mut self) {
        self.kept.counters = self.writer.counters();
        self.kept.waiting_octets = self.writer.waiting_octets();
        self.kept.troubles = self.troubles.told(|_| true).cloned().collect();
        self.kept.clone_into(&mut self.shared.keeper.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn trouble(&mut self, what: String) {
        self.troubles.remember(what);
    }

    /// Brings some of what is in the journal; whether there is nothing more to be done now, or nothing that the disk
    /// takes.
    fn follow(&mut self) -> bool {
        let durable = self.shared.flow.durable.load(Ordering::Acquire);
        if self.records.is_empty() {
            let records = &mut self.records;
            let polled = self.follower.poll(&self.journal, durable, |number, _, record| {
                records.push_back((number, record.to_vec()));
                Ok(())
            });
            match polled {
                Ok(true) => {}
                Ok(false) => return true,
                Err(fault) => {
                    self.records.clear();
                    self.shared.fail(format!("the journal of samples cannot be read: {fault}"));
                    return true;
                }
            }
        }
        for _ in 0..RECORDS_AT_ONCE {
            let Some((number, record)) = self.records.pop_front() else { break };
            if self.bring(number, &record).is_err() {
                // What was put of it already is not taken twice: a file takes a time once.
                self.records.push_front((number, record));
                return true;
            }
            self.brought = number;
            let behind = &self.shared.flow.behind_octets;
            let less = |octets: u64| Some(octets.saturating_sub(record.len() as u64));
            let _ = behind.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
        false
    }

    fn bring(&mut self, number: u64, record: &[u8]) -> Result<(), Blocked> {
        // One that a repair gave up: told at the start.
        if record.is_empty() {
            return Ok(());
        }
        let mut samples = Vec::new();
        let whole = journal::each(record, |source, at_ms, values| samples.push((source, at_ms, values.to_vec())));
        if let Err(why) = whole {
            self.trouble(format!("record {number} of the journal: {why}"));
        }
        for (source, at_ms, values) in samples {
            self.put(number, source, at_ms, values)?;
        }
        Ok(())
    }

    fn put(&mut self, number: u64, source: u32, at_ms: i64, mut values: Vec<Value<'static>>) -> Result<(), Blocked> {
        let at = Time { seconds: at_ms.div_euclid(1000), microseconds: (at_ms.rem_euclid(1000) * 1000) as u32 };
        if !self.places.knows(source) && !self.find(source, at)? {
            self.kept.samples_lost += 1;
            return Ok(());
        }
        if !self.places.order(source, &mut values) {
            self.kept.samples_lost += 1;
            return Ok(());
        }
        let (file, now_s) = (u64::from(source), super::clock::unix_ms() / 1000);
        let is_first = !self.writer.waits(file);
        if self.writer.put(file, at, &values, now_s).is_err() {
            self.flush(None);
            // Counted there as an overflow, though it is not lost: it stays in the journal until there is room.
            self.writer.put(file, at, &values, now_s).map_err(|_| Blocked)?;
        }
        if is_first || !self.since.contains_key(&source) {
            self.waits.push_back((number, source));
            self.since.insert(source, number);
        }
        Ok(())
    }

    /// Files that were made are on stable storage under their names.
    fn settle(&mut self) -> Result<(), Blocked> {
        match self.places.settle(&self.shared) {
            Ok(unnamed) => unnamed.into_iter().for_each(|why| self.trouble(why)),
            Err(why) => {
                self.trouble(why);
                return Err(Blocked);
            }
        }
        Ok(())
    }

    /// Looks at the file of a data source, or makes it; whether there is one that takes its samples.
    fn find(&mut self, source: u32, at: Time) -> Result<bool, Blocked> {
        if self.places.is_full() {
            self.settle()?;
        }
        let _held = self.shared.files.write().unwrap_or_else(PoisonError::into_inner);
        match self.places.find(&self.shared, source, at) {
            Ok(was_made) => {
                self.kept.files_made += u64::from(was_made);
                Ok(true)
            }
            Err(places::NoFile::Blocked(why)) => {
                drop(_held);
                self.trouble(why);
                Err(Blocked)
            }
            Err(places::NoFile::Gone) => Ok(false),
            Err(places::NoFile::Never(why)) => {
                drop(_held);
                self.trouble(why);
                Ok(false)
            }
        }
    }

    /// Writes one file, or those that are due.
    fn flush(&mut self, file: Option<u32>) {
        if self.settle().is_err() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let held = shared.files.write().unwrap_or_else(PoisonError::into_inner);
        let flushed = match file {
            Some(file) => self.writer.flush(file.into(), |file| path(&shared, file)),
            None => self.writer.flush_due(super::clock::unix_ms() / 1000, |file| path(&shared, file)),
        };
        drop(held);
        self.flushed(flushed);
        while let Some((record, source)) = self.waits.front() {
            let is_still = self.since.get(source) == Some(record) && self.writer.waits(u64::from(*source));
            if is_still {
                break;
            }
            if self.since.get(source) == Some(record) {
                self.since.remove(source);
            }
            self.waits.pop_front();
        }
    }

    fn flushed(&mut self, flushed: Result<Flushed, Fault>) {
        match flushed {
            Err(fault) => self.trouble(format!("files cannot be written at present: {fault}")),
            Ok(flushed) => {
                for (file, fault) in flushed.failed {
                    // A file that is gone is made again, one that is another is looked at again.
                    self.places.forget(file as u32);
                    self.trouble(format!("file of data source {file}: {fault}"));
                }
            }
        }
    }

    /// Notes up to which record all is in files, if that is more than before and time has passed: the journal before
    /// it is not needed any more.
    fn note(&mut self, every: Duration) {
        let first = self
            .waits
            .iter()
            .find(|(record, source)| self.since.get(source) == Some(record) && self.writer.waits(u64::from(*source)));
        let filed = first.map_or(self.brought, |(record, _)| record - 1).min(self.brought);
        self.shared.flow.filed.store(filed, Ordering::Release);
        if filed <= self.noted || self.noted_at.elapsed() < every {
            return;
        }
        self.noted_at = Instant::now();
        let noted = SnapshotWriter::begin(&*self.journal, filed).and_then(|mut note| {
            note.put(&filed.to_le_bytes())?;
            note.finish(Keep::Needed)
        });
        match noted {
            Ok(_) => self.noted = filed,
            Err(fault) => self.trouble(format!("the journal cannot be cut: {fault}")),
        }
    }

    fn remove(&mut self, device: u32, source: u32) {
        if self.places.has_drafts() {
            // What has no name yet gets one first, and is removed as all others; the disk has said why if not.
            let _ = self.settle();
        }
        let _held = self.shared.files.write().unwrap_or_else(PoisonError::into_inner);
        self.writer.forget(source.into());
        self.places.remove(source);
        self.shared.said.forget(source);
        let path = self.shared.folder.join(files::path(device, source));
        let removed = std::fs::remove_file(&path);
        spikes::remove_backups(&path);
        // The last one takes the folder with it; any other finds that it is not empty.
        let _ = path.parent().map(std::fs::remove_dir);
        drop(_held);
        match removed {
            Ok(()) => self.kept.files_removed += 1,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.trouble(format!("{}: {error}", path.display())),
        }
    }

    /// Has a file take what the speed of its row and the step of its device are now.
    fn changed(&mut self, source: u32) {
        let _ = self.settle();
        self.places.forget(source);
        let Some(path) = path(&self.shared, source.into()).map(|path| self.shared.folder.join(path)) else { return };
        if self.writer.waits(source.into()) {
            self.flush(Some(source));
        }
        if self.writer.waits(source.into()) || !path.exists() {
            return;
        }
        let _held = self.shared.files.write().unwrap_or_else(PoisonError::into_inner);
        let (inventory, library) = (self.shared.inventory(), self.shared.library());
        let changes = RrdFile::open(&path).map(|file| files::changes(&inventory, &library, source, file.archive()));
        let tuned = changes.and_then(|changes| match changes.is_empty() {
            true => Ok(()),
            false => RrdFile::tune(&path, &changes),
        });
        self.writer.forget(source.into());
        drop(_held);
        if let Err(fault) = tuned {
            self.trouble(format!("{}: {fault}", path.display()));
        }
    }
}

/// Where a file is within the folder; none if its data source is gone.
fn path(shared: &Shared, file: u64) -> Option<PathBuf> {
    let source = u32::try_from(file).ok()?;
    let device = shared.inventory().sources().get(source)?.device;
    Some(files::path(device, source))
}
