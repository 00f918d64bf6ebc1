//! The charging gateway function: its receiver on a disk, what it answers, and what passes to billing.
//!
//! ```text
//!  net-0, net-1, ..   Receiver::handle -> entry -> log (group commit)        one lock a message
//!  commit             durable up to n -> threads with answers that wait
//!  net-0, net-1, ..   Receiver::poll: answers of entries up to n
//!  charge-received    5 times a second: records of entries up to n -> files, then the cursor; snapshots of the state
//! ```
//!
//! Snapshots stand for entries whose records are in files, and no more: a start reads the entries since, and what of them
//! the cursor does not know goes to files again.

use super::book::Told;
use super::gtpp::Way;
use super::received::Files;
use crate::gateway::Records;
use crate::gateway::receiver::{Counts, Entry, Receiver, Restoring, Settings, State};
use core::time::Duration;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_commit::{Committer, Fault, Folder, Keep, Log, Options, Progress, Snapshot, SnapshotWriter};
use trunkline_wire::gtpp::message_type;
use trunkline_wire::{Address, Endpoint};

/// How often records go to files.
const PERIOD: Duration = Duration::from_millis(200);
/// Octets of a segment of its log: they are there to be read by a start, and removed.
const SEGMENT_OCTETS: u64 = 16 << 20;
/// Octets of records that may wait for files; with more, transfers are dropped, and come again.
const PASSED_OCTETS_MAX: usize = 64 << 20;
/// Senders, by port, whose answers find their way; the oldest is given up for one more.
const WAYS_MAX: usize = 65_536;
/// Entries that are billed and in no file since the cursor was written last.
const CURSOR_ENTRIES: u64 = 10_000;

/// A gateway that serves; dropped, it puts what is durable into files, and ends.
pub(super) struct Gateway {
    desk: Arc<Desk>,
    ends: Option<Sender<()>>,
    files: Option<JoinHandle<()>>,
}

struct Desk {
    inner: Mutex<Inner>,
    committer: Committer,
    told: Arc<Told>,
}

struct Inner {
    receiver: Receiver,
    ways: Ways,
    /// Entries that the log did not take yet.
    outbox: VecDeque<Vec<u8>>,
    /// What passes to billing, with its entries.
    passed: VecDeque<(u64, Records)>,
    passed_octets: usize,
    durable: u64,
}

/// How a sender is answered.
#[derive(Default)]
struct Ways {
    ways: HashMap<Endpoint, Way>,
    order: VecDeque<Endpoint>,
}

impl Ways {
    fn set(&mut self, to: Endpoint, way: Way) {
        if self.ways.insert(to, way).is_none() {
            self.order.push_back(to);
        }
        if self.order.len() > WAYS_MAX {
            self.order.pop_front().map(|oldest| self.ways.remove(&oldest));
        }
    }
}

/// Where a gateway keeps what it has.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its log.
    pub log: PathBuf,
    /// The files for billing.
    pub files: PathBuf,
    /// Who it is, in the names of the files.
    pub node: String,
}

/// What was read of it at a start.
struct Found {
    log: Log<Folder>,
    state: State,
    passed: VecDeque<(u64, Records)>,
    files: Files,
}

impl Gateway {
    /// Reads its log, and begins.
    ///
    /// # Errors
    /// The log or the files are damaged, or not there as they were left; the system's.
    pub fn start(place: &Place, options: Options, told: &Arc<Told>) -> io::Result<Gateway> {
        let options = Options { segment_octets: options.segment_octets.min(SEGMENT_OCTETS), ..options };
        let Found { log, state, passed, files } = read(place, options).map_err(io::Error::other)?;
        let (disk, tells) = (Arc::clone(log.disk()), Arc::clone(told));
        let folded = log.found().snapshot;
        let committer = Committer::start(log, options, move |progress| tell(&tells, &progress))?;
        let settings = Settings { restart_counter: files.cursor().restart_counter, ..Settings::default() };
        let durable = state.sequence();
        let inner = Inner {
            receiver: Receiver::new(settings, state),
            ways: Ways::default(),
            outbox: VecDeque::new(),
            passed_octets: passed.iter().map(|(_, records)| records.octets().len()).sum(),
            passed,
            durable,
        };
        let desk = Arc::new(Desk { inner: Mutex::new(inner), committer, told: Arc::clone(told) });
        let (ends, ended) = channel();
        let mut keeper = Keeper { desk: Arc::clone(&desk), place: place.clone(), files: Some(files), disk, folded };
        let runs = move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                keeper.look();
            }
            keeper.finish();
        };
        let files = std::thread::Builder::new().name("charge-received".to_owned()).spawn(runs)?;
        Ok(Gateway { desk, ends: Some(ends), files: Some(files) })
    }

    /// Takes a message; what is said to it at once is appended.
    pub fn take(&self, from: SocketAddr, way: Way, octets: &[u8], now: Duration, ready: &mut Vec<(Way, Vec<u8>)>) {
        let mut inner = self.desk.lock();
        let changes = octets.get(1) == Some(&message_type::DATA_RECORD_TRANSFER_REQUEST);
        if changes && (!inner.outbox.is_empty() || inner.passed_octets >= PASSED_OCTETS_MAX) {
            return inner.receiver.drop_one();
        }
        let endpoint = Endpoint::new(Address::from(from.ip()), from.port());
        inner.ways.set(endpoint, way);
        if let Some(outcome) = inner.receiver.handle(endpoint, octets, now) {
            inner.outbox.push_back(outcome.entry.encode());
            inner.pass(outcome.entry.sequence, outcome.passed);
            self.desk.flush(&mut inner);
        }
        inner.poll(ready);
    }

    /// Appends what may be said by now.
    pub fn collect(&self, ready: &mut Vec<(Way, Vec<u8>)>) {
        let mut inner = self.desk.lock();
        self.desk.flush(&mut inner);
        inner.durable = self.desk.committer.durable();
        let durable = inner.durable;
        inner.receiver.durable(durable);
        inner.poll(ready);
    }

    /// Whether answers wait for the disk.
    pub fn waits(&self) -> bool {
        self.desk.lock().receiver.waits()
    }

    /// The thread is woken when more is durable than is now; whether more is already than was collected.
    pub fn wait(&self, thread: u16) -> bool {
        self.desk.told.wait(thread);
        self.desk.committer.durable() > self.desk.lock().durable
    }

    /// Why its log cannot be written any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.desk.told.failure()
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        *self.desk.lock().receiver.counts()
    }

    /// Packets that are held apart, and their octets.
    pub fn held(&self) -> (usize, usize) {
        self.desk.lock().receiver.state().held()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.ends.take());
        // A panic of it was told when it happened.
        let _ended = self.files.take().map(JoinHandle::join);
    }
}

impl Desk {
    /// Nothing that holds it can panic half-way through a change.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands entries to the log. What it does not take stays, and nothing more is taken meanwhile.
    fn flush(&self, inner: &mut Inner) {
        if inner.outbox.is_empty() {
            return;
        }
        match self.committer.append(inner.outbox.iter().map(Vec::as_slice)) {
            Ok(_) => inner.outbox.clear(),
            Err(why) => tracing::debug!("charging gateway: entries wait for the log: {why}"),
        }
    }
}

impl Inner {
    fn pass(&mut self, entry: u64, passed: Vec<Records>) {
        self.passed_octets += passed.iter().map(|records| records.octets().len()).sum::<usize>();
        self.passed.extend(passed.into_iter().map(|records| (entry, records)));
    }

    fn poll(&mut self, ready: &mut Vec<(Way, Vec<u8>)>) {
        while let Some(sent) = self.receiver.poll() {
            let way = self.ways.ways.get(&sent.to).copied();
            ready.extend(way.map(|way| (way, sent.octets)));
        }
    }

    /// Takes what is durable and passes to billing.
    fn take_passed(&mut self, durable: u64) -> Vec<(u64, Records)> {
        let mut taken = Vec::new();
        while self.passed.front().is_some_and(|(entry, _)| *entry <= durable) {
            let Some((entry, records)) = self.passed.pop_front() else { break };
            self.passed_octets -= records.octets().len();
            taken.push((entry, records));
        }
        taken
    }
}

fn tell(told: &Told, progress: &Progress<'_>) {
    match progress {
        Progress::Durable(_) => told.wake(),
        Progress::Room(fault) => {
            tracing::error!("charging gateway: no room for its log, no records are taken: {fault}")
        }
        Progress::Closed(fault) => {
            tracing::error!("charging gateway: its log cannot be written, no records are taken any more: {fault}");
            told.fail(format!("the log of the charging gateway cannot be written: {fault}"));
        }
    }
}

/// The thread that writes files and snapshots.
struct Keeper {
    desk: Arc<Desk>,
    place: Place,
    /// None after an error: they are opened anew.
    files: Option<Files>,
    disk: Arc<Folder>,
    folded: u64,
}

impl Keeper {
    fn look(&mut self) {
        if let Err(error) = self.write() {
            tracing::error!("charging gateway: {}: {error}", self.place.files.display());
            self.files = None;
        }
        if let Err(fault) = self.fold() {
            tracing::error!("charging gateway: no snapshot could be made, a start will take longer: {fault}");
        }
    }

    /// Writes what is durable to files.
    fn write(&mut self) -> io::Result<()> {
        if self.files.is_none() {
            self.reopen()?;
        }
        let Some(files) = &mut self.files else { return Ok(()) };
        let durable = self.desk.committer.durable();
        let passed = self.desk.lock().take_passed(durable);
        let now = present();
        for packet in passed.iter().filter_map(|(_, records)| records.packet()) {
            files.append(&packet, now)?;
        }
        if passed.is_empty() && durable < files.cursor().entry + CURSOR_ENTRIES {
            return files.close_due(now);
        }
        files.commit(durable, now)
    }

    /// After an error of the files: what they have not goes to them again.
    fn reopen(&mut self) -> io::Result<()> {
        let files = Files::open(&self.place.files, &self.place.node, 0)?;
        let durable = self.desk.committer.durable();
        let (_, passed) = state_at(&self.disk, durable, files.cursor().entry).map_err(io::Error::other)?;
        let mut inner = self.desk.lock();
        inner.passed.retain(|(entry, _)| *entry > durable);
        passed.into_iter().rev().for_each(|one| inner.passed.push_front(one));
        inner.passed_octets = inner.passed.iter().map(|(_, records)| records.octets().len()).sum();
        self.files = Some(files);
        Ok(())
    }

    /// Makes a snapshot of the closed segments whose records are all in files; segments that no start needs are removed.
    fn fold(&mut self) -> Result<(), Fault> {
        let (sealed, billed) = (self.desk.committer.sealed(), self.files.as_ref().map_or(0, |f| f.cursor().entry));
        if sealed <= self.folded || sealed > billed {
            return Ok(());
        }
        let (state, _) = state_at(&self.disk, sealed, sealed)?;
        let mut writer = SnapshotWriter::begin(&*self.disk, sealed)?;
        state.snapshot(|record| writer.put(record))?;
        writer.finish(Keep::Needed)?;
        self.folded = sealed;
        Ok(())
    }

    fn finish(&mut self) {
        let finished = self.write().and_then(|()| self.files.as_mut().map_or(Ok(()), |files| files.finish(present())));
        if let Err(error) = finished {
            tracing::error!("charging gateway: {}: {error}", self.place.files.display());
        }
    }
}

/// Seconds since 1970.
fn present() -> i64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(unix.as_secs()).unwrap_or(i64::MAX)
}

/// What entries come to as they are read.
#[derive(Default)]
struct Reading {
    restoring: Option<Restoring>,
    state: State,
    /// Records of entries after this one are wanted.
    billed: u64,
    passed: VecDeque<(u64, Records)>,
}

impl Reading {
    fn snapshot(&mut self, record: &[u8]) -> Result<(), String> {
        self.restoring.get_or_insert_default().take(record).map_err(|none| none.to_string())
    }

    fn settle(&mut self) -> Result<(), String> {
        if let Some(restoring) = self.restoring.take() {
            self.state = restoring.state().map_err(|none| none.to_string())?;
        }
        Ok(())
    }

    fn entry(&mut self, number: u64, record: &[u8]) -> Result<(), String> {
        self.settle()?;
        let entry = Entry::decode(record).ok_or("not an entry of a charging gateway of this version")?;
        if entry.sequence != number || number != self.state.sequence() + 1 {
            return Err(format!("entry {} comes after {}", entry.sequence, self.state.sequence()));
        }
        let passed = self.state.fold(&entry);
        if number > self.billed {
            self.passed.extend(passed.into_iter().map(|records| (number, records)));
        }
        Ok(())
    }
}

fn read(place: &Place, options: Options) -> Result<Found, String> {
    let text = |path: &Path, error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
    // Where there is no log, peers are told that their numbers begin anew.
    let restart_counter = present() as u8;
    let files = Files::open(&place.files, &place.node, restart_counter).map_err(|e| text(&place.files, &e))?;
    let disk = Folder::open(&place.log).map_err(|e| text(&place.log, &e))?;
    let billed = files.cursor().entry;
    let reading = RefCell::new(Reading { billed, ..Reading::default() });
    let log = Log::open(
        Arc::new(disk),
        options,
        |record| reading.borrow_mut().snapshot(record),
        |number, record| reading.borrow_mut().entry(number, record),
    );
    let log = log.map_err(|e| text(&place.log, &e))?;
    let mut reading = reading.into_inner();
    reading.settle()?;
    if billed > reading.state.sequence() {
        let ends = reading.state.sequence();
        return Err(text(&place.files, &format!("files go up to entry {billed}, the log ends with {ends}")));
    }
    Ok(Found { log, state: reading.state, passed: reading.passed, files })
}

/// What entries up to one come to, and what passed to billing after another one.
fn state_at(disk: &Folder, to: u64, billed: u64) -> Result<(State, VecDeque<(u64, Records)>), Fault> {
    let mut reading = Reading { billed, ..Reading::default() };
    let snapshots = Snapshot::all(disk)?;
    let newest = snapshots.iter().find(|snapshot| snapshot.last <= to.min(billed));
    if let Some(snapshot) = newest {
        snapshot.each(disk, |record| reading.snapshot(record))?;
    }
    let from = newest.map_or(0, |snapshot| snapshot.last) + 1;
    if from <= to {
        trunkline_commit::read(disk, from, |number, record| {
            if number > to {
                return Ok(core::ops::ControlFlow::Break(()));
            }
            reading.entry(number, record).map(core::ops::ControlFlow::Continue)
        })?;
    }
    reading.settle().map_err(|why| Fault::Refused { number: to, why })?;
    Ok((reading.state, reading.passed))
}
