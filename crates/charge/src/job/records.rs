//! Charging data records on disk: a thread follows the ledger behind what is durable, and writes what
//! [`crate::cdr`] makes of it into files. Requests never wait for it.
//!
//! What it has done is a cursor: the entry up to which all records are in files, with those files' lengths, written in
//! one rename. A start folds again from a checkpoint of the open records to the cursor, without a word, and then goes
//! on; what a crash left beyond the cursor is cut off and made again, with the same numbers. Where the disk of the
//! files fails, the ledger keeps everything, what waits is tried again, and beyond a bound no session begins.

pub mod checkpoint;
mod cursor;
mod follow;
mod series;
mod shared;

pub use cursor::{Cursor, Open};
use follow::went_on;
pub use follow::{Failure, Files, Step};
pub(super) use follow::{Made, fold_again};
pub(super) use series::count_of;
pub use series::{Closed, End, FILE_OCTETS_MAX, Form, Series, Settings};

use super::forward::{Forwarded, Settling};
use super::post::Owner;
use crate::account::Recording;
use crate::cdr::Cuts;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trunkline_commit::Disk;

/// How often it looks for new entries.
const PERIOD: Duration = Duration::from_millis(250);
/// How long the time that was asked for holds.
const TIME: Duration = Duration::from_millis(100);
/// Of the time that a step takes, it rests so many times as long...
const RESTS: u32 = 3;
/// ...unless so many entries wait.
const HURRY: u64 = 200_000;
/// How long it waits after a failure.
const AGAIN: Duration = Duration::from_secs(1);

/// How records are made.
#[derive(Debug)]
pub struct Setup<D> {
    /// Where the files go: a folder of their own.
    pub disk: Arc<D>,
    /// How files are made.
    pub settings: Settings,
    /// When records of a session are cut.
    pub cuts: Cuts,
    /// Entries without their records beyond which no session begins.
    pub behind_max: u64,
}

impl<D: Disk> Setup<D> {
    /// What this node says to others of how records are made, when it leads; none where it wants none.
    ///
    /// # Errors
    /// How far they have come cannot be read.
    pub(super) fn recording(&self) -> Result<Option<Recording>, String> {
        let recording = Recording::of(&self.settings, self.cuts);
        let goes_on = Cursor::load(&*self.disk)?.as_ref().and_then(went_on);
        Ok((recording.ber || recording.csv).then_some(Recording { goes_on, ..recording }))
    }
}

impl<D> Clone for Setup<D> {
    fn clone(&self) -> Self {
        let Setup { disk, settings, cuts, behind_max } = self;
        Setup { disk: Arc::clone(disk), settings: settings.clone(), cuts: *cuts, behind_max: *behind_max }
    }
}

/// How records get on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The entry up to which all records are on disk.
    pub entry: u64,
    /// The first entry that they still need: those before it may be given up.
    pub needed: u64,
    /// Records that were made, since the first entry.
    pub records: u64,
    /// Records that are open, as of the last checkpoint.
    pub open: u64,
    /// The number of the next one.
    pub number: u32,
    /// Files that were closed.
    pub files: u64,
    /// Records whose file was gone when it was to be written on.
    pub lost: u64,
    /// Times that files could not be written.
    pub failures: u64,
    /// NodeID of the file that is open, or of the next one.
    pub node: Box<str>,
    /// The file of rows that is open: its running count, and octets of it that count.
    pub rows: Option<(u32, u64)>,
    /// The running count of the file that is open, or of the next one, and octets of its records in BER that count.
    pub file: (u32, u64),
    /// Why they cannot be written, as long as that is so.
    pub failure: Option<String>,
}

/// What the thread tells, and is told.
#[derive(Debug, Default)]
pub struct Told {
    report: Mutex<Report>,
    /// The newest entry that is durable, as of its last look; and the bound.
    durable: AtomicU64,
    behind_max: AtomicU64,
    /// Whether no session may begin.
    holds: AtomicBool,
    /// Whether a checkpoint is wanted.
    wanted: AtomicBool,
    /// The first file that is to be kept as it is still to be sent on.
    spared: Mutex<Option<u32>>,
    /// How records are sent on, where they are.
    forwarded: Mutex<Option<Forwarded>>,
    /// Whether this node is set up to send records on.
    sends: AtomicBool,
    /// What is to become of packets that gateways refused.
    pub(super) settling: Settling,
    /// The entry up to which received records of several nodes are in files, where any are taken; and why they cannot
    /// be written.
    received: Mutex<(Option<u64>, Option<String>)>,
}

impl Told {
    /// How records get on.
    pub fn report(&self) -> Report {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner).0;
        Report { needed: received.map_or(report.needed, |entry| report.needed.min(entry + 1)), ..report }
    }

    /// Received records are in files up to this entry.
    pub(super) fn set_received(&self, entry: u64) {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(entry);
    }

    /// Why they cannot be written; that, if it is another reason than before.
    pub(super) fn set_received_failure(&self, failure: Option<String>) -> Option<String> {
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = failure.is_some() && received.1 != failure;
        received.1.clone_from(&failure);
        failure.filter(|_| is_new)
    }

    /// Durable entries without their records on disk, as of the last look.
    pub fn behind(&self) -> u64 {
        // Asked after each step: the entry alone, and no copy of all that is told.
        let entry = self.report.lock().unwrap_or_else(PoisonError::into_inner).entry;
        self.durable.load(Ordering::Relaxed).saturating_sub(entry)
    }

    /// Whether records are so far behind that no session may begin.
    pub fn holds(&self) -> bool {
        self.holds.load(Ordering::Relaxed)
    }

    /// What is wrong with them, a sentence each.
    pub fn troubles(&self) -> Vec<String> {
        let failure = self.report().failure.map(|why| format!("charging records cannot be written: {why}"));
        let behind = || format!("charging records are {} ledger entries behind: no session begins", self.behind());
        let sent = self.forwarded().into_iter().flat_map(|forwarded| forwarded.troubles());
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        let received = received.map(|why| format!("received records cannot be written: {why}"));
        let failure = failure.into_iter().chain(received);
        failure.chain(self.holds().then(behind)).chain(sent).collect()
    }

    /// How records are sent on to charging gateways; none where they are not.
    pub fn forwarded(&self) -> Option<Forwarded> {
        self.forwarded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether this node is set up to send records on.
    pub(super) fn sends(&self) -> bool {
        self.sends.load(Ordering::Relaxed)
    }

    /// It is, or it is not any more.
    pub(super) fn set_sends(&self, sends: bool) {
        self.sends.store(sends, Ordering::Relaxed);
    }

    /// They are sent on so; none is no more by this node.
    pub(super) fn set_forwarded(&self, forwarded: Option<Forwarded>) {
        *self.forwarded.lock().unwrap_or_else(PoisonError::into_inner) = forwarded;
    }

    /// Files from this one on are still to be sent on: they are not removed.
    pub(super) fn spare(&self, file: u32) {
        *self.spared.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }

    fn spared(&self) -> Option<u32> {
        *self.spared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A checkpoint is to be written soon, so that [`Report::needed`] is what it can be.
    pub fn want_checkpoint(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    fn change(&self, change: impl FnOnce(&mut Report)) {
        change(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// How far the ledger is; whether sessions may begin follows.
    fn look(&self, durable: u64) {
        self.durable.store(durable, Ordering::Relaxed);
        let holds = self.behind() > self.behind_max.load(Ordering::Relaxed);
        if self.holds.swap(holds, Ordering::Relaxed) != holds {
            match holds {
                true => tracing::error!("charging: records are too far behind the ledger: no session begins"),
                false => tracing::info!("charging: records have caught up: sessions begin again"),
            }
        }
    }
}

/// The thread; dropped, it writes what is durable, closes the file, and ends.
pub(super) struct Records {
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Records {
    /// Begins to follow a ledger, of which its owner says how far it may be read. Where several nodes make records,
    /// `since` is the entry from which on the ledger says how, or the next one.
    pub fn start<L, D>(
        ledger: Arc<L>,
        setup: Setup<D>,
        told: Arc<Told>,
        owner: impl Owner + 'static,
        since: Option<u64>,
    ) -> std::io::Result<Records>
    where
        L: Disk + Send + Sync + 'static,
        L::File: Send + 'static,
        D: Disk + Send + Sync + 'static,
        D::File: Send + 'static,
    {
        let (ends, ended) = channel();
        told.behind_max.store(setup.behind_max, Ordering::Relaxed);
        let runs = move || {
            // Where the system does not let it be lower it is as all others.
            let _lower = rustix::process::nice(10);
            Runner { ledger, setup, told, owner, since, ended, asked: Cell::new(0), time: Cell::new(None) }.run();
        };
        let thread = std::thread::Builder::new().name("charge-records".to_owned()).spawn(runs)?;
        Ok(Records { ends: Some(ends), thread: Some(thread) })
    }
}

impl Records {
    /// Whether it has failed: it ends by itself otherwise never.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        drop(self.ends.take());
        // A panic of it was told when it happened.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

struct Runner<L, D, O> {
    ledger: Arc<L>,
    setup: Setup<D>,
    told: Arc<Told>,
    owner: O,
    since: Option<u64>,
    /// When it asked for the time, and what that was.
    time: Cell<Option<(Instant, i64)>>,
    ended: Receiver<()>,
    /// The entry that says the end of a file, once it was asked for.
    asked: Cell<u64>,
}

impl<L: Disk, D: Disk, O: Owner> Runner<L, D, O> {
    fn run(&self) {
        let (mut files, mut told) = (None::<Files<L, D>>, None);
        loop {
            let (durable, began) = (self.owner.durable(), Instant::now());
            let done = self.step(&mut files, durable);
            let wait = match &done {
                // On a processor that has nothing to spare answers wait for a moment of it at most.
                Ok(Step::More) if self.told.behind() < HURRY => began.elapsed() * RESTS,
                Ok(Step::More) => Duration::ZERO,
                Ok(Step::Rests) => PERIOD,
                Err(_) => AGAIN,
            };
            match done {
                Ok(_) => told = None,
                Err(why) => self.fail(&why.to_string(), &mut told),
            }
            self.told.look(durable);
            match self.ended.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => break,
            }
        }
        self.end(files);
    }

    /// The time that charging goes by, as of some moments ago: steps are short, and the book is others'.
    fn now(&self) -> i64 {
        if let Some((_, now)) = self.time.get().filter(|(asked, _)| asked.elapsed() < TIME) {
            return now;
        }
        let now = self.owner.now();
        self.time.set(Some((Instant::now(), now)));
        now
    }

    fn step(&self, files: &mut Option<Files<L, D>>, durable: u64) -> Result<Step, Failure> {
        let mut open = files.take().map_or_else(|| self.open(), Ok)?;
        open.spare(self.told.spared());
        let done = open.step(durable, self.now());
        match &done {
            Ok(_) => {
                self.tell(&open);
                self.ask(&open);
            }
            // The others' disks are whole: their files are to end, too.
            Err(Failure::Files(_)) => self.ask(&open),
            // It begins again from what is on disk.
            Err(Failure::Ledger(_)) => return done,
        }
        *files = Some(open);
        done
    }

    /// Has the ledger say the end of a file whose time has come, once.
    fn ask(&self, files: &Files<L, D>) {
        let Some((file, closure)) = files.wants(self.now()) else { return };
        if files.entry() >= self.asked.get() {
            self.asked.set(self.owner.ends(file, closure).unwrap_or_default());
        }
    }

    fn open(&self) -> Result<Files<L, D>, Failure> {
        let Setup { disk, settings, cuts, .. } = &self.setup;
        let (ledger, disk) = (Arc::clone(&self.ledger), Arc::clone(disk));
        let files = match self.since {
            None => Files::open(ledger, disk, settings.clone(), *cuts),
            Some(since) => Files::open_shared(ledger, disk, settings.clone(), since),
        };
        let files = files.map_err(Failure::Ledger)?;
        self.tell(&files);
        Ok(files)
    }

    /// All that is durable, and a closed file.
    fn end(&self, files: Option<Files<L, D>>) {
        let files = files.map_or_else(|| self.open(), Ok);
        let ended = files.and_then(|mut files| {
            files.end(self.owner.durable(), self.owner.now())?;
            self.tell(&files);
            Ok(())
        });
        if let Err(why) = ended {
            tracing::error!("charging: records wait for the next start: {why}");
        }
    }

    fn tell(&self, files: &Files<L, D>) {
        self.told.change(|report| files.tell(report));
        if self.told.wanted.swap(false, Ordering::Relaxed) {
            files.want_checkpoint();
        }
    }

    fn fail(&self, why: &str, told: &mut Option<String>) {
        if told.as_deref() != Some(why) {
            tracing::error!("charging: records cannot be written, the ledger keeps everything: {why}");
            *told = Some(why.to_owned());
        }
        self.told.change(|report| {
            report.failures += 1;
            report.failure = Some(why.to_owned());
        });
    }
}
