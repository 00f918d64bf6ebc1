//! Group commit: threads append, one thread writes what has gathered while the disk was busy.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::block;
use crate::counts::Counts;
use crate::disk::Disk;
use crate::fault::{Fault, Refused};
use crate::log::{Group, Log, Options, make};

/// How long it waits before it tries again to make a segment for which there was no room.
const AGAIN: Duration = Duration::from_secs(1);
/// Empty groups whose memory is kept.
const KEPT: usize = 4;

/// What the writing thread tells.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All records up to this number are durable.
    Durable(u64),
    /// No room for the next segment: what waits is tried again each second, and appends are refused meanwhile.
    Room(&'a Fault),
    /// A write failed: what waits is lost, and nothing is taken any more.
    Closed(&'a Fault),
}

/// What waits for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Records.
    pub records: u64,
    /// Octets of memory.
    pub octets: usize,
}

/// The handle of a log that a thread of its own writes. Dropped, it writes what waits, and ends.
#[derive(Debug)]
pub struct Committer {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    maker: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    state: Mutex<State>,
    /// Something was appended, or it ends.
    appended: Condvar,
    durable: AtomicU64,
    sealed: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// Groups that wait; the last one takes more.
    groups: VecDeque<Group>,
    empty: Vec<Group>,
    waiting: Waiting,
    /// The number of the next record that is appended.
    next: u64,
    refused: Option<Refused>,
    ends: bool,
    counts: Counts,
}

impl Committer {
    /// Starts the threads of a log. `tell` is called by the writing thread, between two writes: it has to be short.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start<D>(
        log: Log<D>,
        options: Options,
        tell: impl FnMut(Progress<'_>) + Send + 'static,
    ) -> std::io::Result<Committer>
    where
        D: Disk + Send + Sync + 'static,
        D::File: Send + 'static,
    {
        let shared = Arc::new(Shared::new(&log, options));
        let (wanted, wants) = sync_channel(1);
        let (sender, made) = sync_channel(1);
        let disk = Arc::clone(log.disk());
        let maker = named("commit-make")
            .spawn(move || while let (Ok(()), Ok(())) = (wants.recv(), sender.send(make(&*disk, options))) {})?;
        let writer = Writer { shared: Arc::clone(&shared), log, wanted, made, asked: false, tell };
        let mut committer = Committer { shared, writer: None, maker: Some(maker) };
        committer.writer = Some(named("commit").spawn(move || writer.run())?);
        Ok(committer)
    }

    /// Appends records, which follow each other in the log without others between; the number of the last one. They are
    /// durable when [`Progress::Durable`] tells of that number, together with all that was appended before. A crash may
    /// leave the first of them without the others: what belongs together is one record.
    ///
    /// # Errors
    /// None of them is appended.
    pub fn append<'a>(&self, records: impl Iterator<Item = &'a [u8]> + Clone) -> Result<u64, Refused> {
        let mut state = self.shared.lock();
        if let Some(refused) = state.refused {
            return Err(refused);
        }
        let last = state.append(&self.shared.options, records)?;
        drop(state);
        self.shared.appended.notify_one();
        Ok(last)
    }

    /// The number of the last record that is durable.
    pub fn durable(&self) -> u64 {
        self.shared.durable.load(Ordering::Acquire)
    }

    /// The last record of the segments that are closed: up to it [`crate::read_sealed`] can read.
    pub fn sealed(&self) -> u64 {
        self.shared.sealed.load(Ordering::Acquire)
    }

    /// What waits for the disk.
    pub fn waiting(&self) -> Waiting {
        self.shared.lock().waiting
    }

    /// Why appends are refused now, if they are.
    pub fn refused(&self) -> Option<Refused> {
        self.shared.lock().refused
    }

    /// What was done since the log was opened.
    pub fn counts(&self) -> Counts {
        self.shared.lock().counts
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.appended.notify_all();
        for thread in [self.writer.take(), self.maker.take()].into_iter().flatten() {
            // A panic of theirs was told when it happened.
            let _ended = thread.join();
        }
    }
}

impl State {
    fn append<'a>(
        &mut self,
        options: &Options,
        records: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<u64, Refused> {
        let lengths = || records.clone().map(<[u8]>::len);
        if lengths().any(|octets| octets > options.record_octets()) {
            return Err(Refused::Long);
        }
        let octets: usize = lengths().map(block::record_octets).sum();
        if self.waiting.octets + octets > options.waiting_octets {
            return Err(Refused::Waiting);
        }
        for record in records.clone() {
            self.put(options, record);
        }
        let count = records.count() as u64;
        self.next += count;
        self.waiting.records += count;
        self.waiting.octets += octets;
        Ok(self.next - 1)
    }

    /// Puts a record that fits into a group into the last one, or another one behind it.
    fn put(&mut self, options: &Options, record: &[u8]) {
        let put = self.groups.back_mut().is_some_and(|group| group.put(record).is_ok());
        if !put {
            let mut group = self.empty.pop().unwrap_or_else(|| Group::new(options));
            let _fits_an_empty_one = group.put(record);
            self.groups.push_back(group);
        }
    }
}

impl Shared {
    fn new<D: Disk>(log: &Log<D>, options: Options) -> Shared {
        let state = State {
            groups: VecDeque::new(),
            empty: Vec::new(),
            waiting: Waiting::default(),
            next: log.next(),
            refused: None,
            ends: false,
            counts: log.counts(),
        };
        Shared {
            options,
            state: Mutex::new(state),
            appended: Condvar::new(),
            durable: AtomicU64::new(log.next() - 1),
            sealed: AtomicU64::new(log.sealed()),
        }
    }

    /// Nothing that holds the lock can panic half-way.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that writes.
struct Writer<D: Disk, T: FnMut(Progress<'_>)> {
    shared: Arc<Shared>,
    log: Log<D>,
    /// To the maker of segments, and from it.
    wanted: SyncSender<()>,
    made: Receiver<Result<D::File, Fault>>,
    /// One was asked for and did not come yet.
    asked: bool,
    tell: T,
}

impl<D: Disk, T: FnMut(Progress<'_>)> Writer<D, T> {
    fn run(mut self) {
        self.ask();
        while let Some(mut group) = self.shared.take() {
            let waited = Waiting { records: u64::from(group.count()), octets: group.record_octets() };
            let Some(last) = self.write(&mut group) else { return };
            self.shared.durable.store(last, Ordering::Release);
            self.shared.sealed.store(self.log.sealed(), Ordering::Release);
            self.shared.written(waited, group, self.log.counts());
            (self.tell)(Progress::Durable(last));
            self.ask();
        }
        if let Err(fault) = self.log.sync_mark() {
            (self.tell)(Progress::Closed(&fault));
        }
    }

    /// Writes a group, which may take until there is room; the number of its last record, none if it is over.
    fn write(&mut self, group: &mut Group) -> Option<u64> {
        while !self.log.fits(group) && !self.fetch() {
            if !self.shared.pause(AGAIN) {
                return None;
            }
        }
        let committed = self.log.commit(group);
        if let Err(fault) = &committed {
            self.shared.refuse(Some(Refused::Closed));
            (self.tell)(Progress::Closed(fault));
        }
        committed.ok()
    }

    /// Has the next segment made while the one before it is written.
    fn ask(&mut self) {
        if !self.asked && self.log.wants_spare() {
            self.asked = self.wanted.try_send(()).is_ok();
        }
    }

    /// Waits for the next segment; whether it is there.
    fn fetch(&mut self) -> bool {
        if !self.log.wants_spare() {
            return true;
        }
        self.ask();
        self.asked = false;
        match self.made.recv() {
            Ok(Ok(file)) => {
                self.log.give(file);
                self.shared.refuse(None);
                true
            }
            Ok(Err(fault)) => {
                self.shared.refuse(Some(Refused::Room));
                (self.tell)(Progress::Room(&fault));
                false
            }
            // The maker has panicked: the log makes its segments itself.
            Err(_) => true,
        }
    }
}

/// Nobody is to wait for a thread that has failed.
impl<D: Disk, T: FnMut(Progress<'_>)> Drop for Writer<D, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.refuse(Some(Refused::Closed));
            (self.tell)(Progress::Closed(&Fault::Panicked));
        }
    }
}

impl Shared {
    /// The next group, once there is one; none if it ends and all is written.
    fn take(&self) -> Option<Group> {
        let mut state = self.lock();
        loop {
            if let Some(group) = state.groups.pop_front() {
                return Some(group);
            }
            if state.ends {
                return None;
            }
            state = self.appended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A group was written, and its memory can be used again.
    fn written(&self, waited: Waiting, group: Group, counts: Counts) {
        let mut state = self.lock();
        state.waiting.records -= waited.records;
        state.waiting.octets -= waited.octets;
        state.counts = counts;
        if state.empty.len() < KEPT {
            state.empty.push(group);
        }
    }

    fn refuse(&self, refused: Option<Refused>) {
        self.lock().refused = refused;
    }

    /// Waits; false if it ends meanwhile.
    fn pause(&self, time: Duration) -> bool {
        let state = self.lock();
        let waited = self.appended.wait_timeout_while(state, time, |state| !state.ends);
        !waited.unwrap_or_else(PoisonError::into_inner).0.ends
    }
}

fn named(name: &str) -> Builder {
    Builder::new().name(name.to_owned())
}
