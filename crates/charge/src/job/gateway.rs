//! The charging gateway function: its receiver on a disk, what it answers, and what passes to billing.
//!
//! ```text
//!  net-0, net-1, ..   Receiver::handle -> entry -> log (group commit)        one lock a message
//!  commit             durable up to n -> threads with answers that wait
//!  net-0, net-1, ..   Receiver::poll: answers of entries up to n
//!  charge-received    5 times a second: records of entries up to n -> files, then the cursor; snapshots of the state
//! ```
//!
//! Snapshots stand for entries whose records are in files, and no more: a start reads the entries since, and what of
//! them the cursor does not know goes to files again.
//!
//! One of several nodes has no log of its own: the receiver's entries are those of the ledger, and each node writes
//! files out of that ([`super::received`]).

mod keeper;
mod reading;

use super::book::{Book, Told};
use super::gtpp::Way;
use super::house::present;
use crate::gateway::Records;
use crate::gateway::receiver::{Change, Counts, Entry, PEERS_MAX, Receiver, Settings};
use crate::session::Core;
use core::hash::BuildHasher;
use core::time::Duration;
use keeper::Keeper;
use reading::{Found, read};
use std::collections::{HashMap, VecDeque};
use std::hash::RandomState;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use trunkline_commit::{Committer, Options, Progress};
use trunkline_net::Networks;
use trunkline_wire::gtpp::{cause, message_type};
use trunkline_wire::{Address, Endpoint};

/// How often records go to files.
const PERIOD: Duration = Duration::from_millis(200);
/// Octets of a segment of its log: they are there to be read by a start, and removed.
const SEGMENT_OCTETS: u64 = 16 << 20;
/// Octets of records that may wait for files; with more, transfers are dropped, and come again.
// Limit: received records waiting to be written to files
// Beyond: further transfers are dropped, and their senders repeat them
// Seen in: `trunkline_charge_gateway_dropped_total`
const PASSED_OCTETS_MAX: usize = 64 << 20;
/// How often it is told that peers make room for others.
const TOLD_LEAST: Duration = Duration::from_secs(60);
/// Senders, by port, whose answers find their way; the oldest is given up for one more.
const WAYS_MAX: usize = 65_536;

/// A gateway that serves; dropped, it puts what is durable into files, and ends.
pub(super) struct Gateway {
    desk: Arc<Desk>,
    ends: Option<Sender<()>>,
    files: Option<JoinHandle<()>>,
}

struct Desk {
    inner: Mutex<Inner>,
    log: Option<Own>,
}

/// A log of its own.
struct Own {
    committer: Committer,
    told: Arc<Told>,
}

struct Inner {
    receiver: Receiver,
    ways: Ways,
    /// Entries that the log did not take yet.
    outbox: VecDeque<Entry>,
    /// Entries of the ledger that are not durable yet, and the last of the receiver's in each.
    waits: VecDeque<(u64, u64)>,
    /// The entry of the ledger with which this node began to lead: nothing is taken before it counts.
    begun: u64,
    /// What passes to billing, with its entries.
    passed: VecDeque<(u64, Records)>,
    passed_octets: usize,
    durable: u64,
    settled: u64,
    /// When it was told last that peers make room for others.
    told: Option<Duration>,
}

/// A message, who sent it, and when.
pub(super) struct Came<'a> {
    pub from: SocketAddr,
    pub way: Way,
    pub octets: &'a [u8],
    pub now: Duration,
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

impl Gateway {
    /// Reads its log, and begins.
    ///
    /// # Errors
    /// The log or the files are damaged, or not there as they were left; the system's.
    pub fn start(place: &Place, allow: &Networks, options: Options, told: &Arc<Told>) -> io::Result<Gateway> {
        let options = Options { segment_octets: options.segment_octets.min(SEGMENT_OCTETS), ..options };
        let Found { log, state, passed, files } = read(place, options).map_err(io::Error::other)?;
        let (disk, tells) = (Arc::clone(log.disk()), Arc::clone(told));
        let folded = log.found().snapshot;
        let committer = Committer::start(log, options, move |progress| tell(&tells, &progress))?;
        let settings = settings(files.restart_counter(), allow);
        let durable = state.sequence();
        let inner = Inner {
            passed_octets: passed.iter().map(|(_, records)| records.octets().len()).sum(),
            passed,
            durable,
            ..Inner::new(Receiver::new(settings, state), 0)
        };
        let log = Some(Own { committer, told: Arc::clone(told) });
        let desk = Arc::new(Desk { inner: Mutex::new(inner), log });
        let (ends, ended) = channel();
        let mut keeper = Keeper::new(Arc::clone(&desk), files, disk, folded);
        let runs = move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                keeper.look();
            }
            keeper.finish();
        };
        let files = std::thread::Builder::new().name("charge-received".to_owned()).spawn(runs)?;
        Ok(Gateway { desk, ends: Some(ends), files: Some(files) })
    }

    /// One whose entries are those of the ledger, with what that has come to.
    pub fn of_ledger(core: &Core, allow: &Networks, restart_counter: u8) -> Gateway {
        let (begun, state) = (core.state().sequence(), core.state().received().cloned().unwrap_or_default());
        let settings = settings(restart_counter, allow);
        let durable = state.sequence();
        let inner = Inner { durable, ..Inner::new(Receiver::new(settings, state), begun) };
        Gateway { desk: Arc::new(Desk { inner: Mutex::new(inner), log: None }), ends: None, files: None }
    }

    /// Whether its entries are those of the ledger, which goes on elsewhere when this node ends.
    pub fn is_of_ledger(&self) -> bool {
        self.desk.log.is_none()
    }

    /// Takes a message; what is said to it at once is appended.
    pub fn take(&self, book: &Book, message: Came<'_>, ready: &mut Vec<(Way, Vec<u8>)>) {
        let Came { from, way, octets, now } = message;
        let mut inner = self.desk.lock();
        if self.is_of_ledger() && (inner.begun > book.durable() || !book.leads()) {
            // What it knows may not count yet, or no more.
            return inner.receiver.drop_one();
        }
        let changes = octets.get(1) == Some(&message_type::DATA_RECORD_TRANSFER_REQUEST);
        if changes && (!inner.outbox.is_empty() || inner.passed_octets >= PASSED_OCTETS_MAX) {
            return inner.receiver.drop_one();
        }
        let endpoint = Endpoint::new(Address::from(from.ip()), from.port());
        inner.ways.set(endpoint, way);
        if let Some(outcome) = inner.receiver.handle(endpoint, octets, now) {
            if !self.is_of_ledger() {
                inner.pass(outcome.entry.sequence, outcome.passed);
            }
            inner.tell_of_strangers(&outcome.entry, now);
            inner.outbox.push_back(outcome.entry);
            self.desk.flush(book, &mut inner);
        }
        inner.poll(ready);
    }

    /// Appends what may be said by now.
    pub fn collect(&self, book: &Book, ready: &mut Vec<(Way, Vec<u8>)>) {
        let mut inner = self.desk.lock();
        self.desk.flush(book, &mut inner);
        let durable = self.desk.durable(book, &mut inner);
        inner.durable = durable;
        inner.receiver.durable(durable);
        inner.poll(ready);
    }

    /// Whether answers wait for the disk.
    pub fn waits(&self) -> bool {
        self.desk.lock().receiver.waits()
    }

    /// The thread is woken when more is durable than is now; whether more is already than was collected.
    pub fn wait(&self, book: &Book, thread: u16) -> bool {
        match &self.desk.log {
            Some(log) => log.told.wait(thread),
            None => book.wait(thread),
        }
        let mut inner = self.desk.lock();
        self.desk.durable(book, &mut inner) > inner.durable
    }

    /// Senders that have spoken are asked to go elsewhere, as this one ends.
    pub fn redirect(&self, to: Option<Address>) {
        self.desk.lock().receiver.redirect(cause::THIS_NODE_GOES_DOWN, to, None, Duration::ZERO);
    }

    /// Whether one of them has not answered yet.
    pub fn is_redirecting(&self) -> bool {
        self.desk.lock().receiver.due().is_some()
    }

    /// Why its log cannot be written any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.desk.log.as_ref().and_then(|log| log.told.failure())
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
    fn flush(&self, book: &Book, inner: &mut Inner) {
        if inner.outbox.is_empty() {
            return;
        }
        let Some(log) = &self.log else { return inner.enter(book) };
        let records: Vec<Vec<u8>> = inner.outbox.iter().map(Entry::encode).collect();
        match log.committer.append(records.iter().map(Vec::as_slice)) {
            Ok(_) => inner.outbox.clear(),
            Err(why) => tracing::debug!("charging gateway: entries wait for the log: {why}"),
        }
    }

    /// The last of the receiver's entries that is durable.
    fn durable(&self, book: &Book, inner: &mut Inner) -> u64 {
        match &self.log {
            Some(log) => log.committer.durable(),
            None => inner.settled(book.durable()),
        }
    }

    /// The log, where it has one.
    fn own(&self) -> (u64, u64) {
        self.log.as_ref().map_or((0, 0), |log| (log.committer.durable(), log.committer.sealed()))
    }
}

impl Inner {
    fn new(receiver: Receiver, begun: u64) -> Inner {
        Inner {
            receiver,
            ways: Ways::default(),
            outbox: VecDeque::new(),
            waits: VecDeque::new(),
            begun,
            passed: VecDeque::new(),
            passed_octets: 0,
            durable: 0,
            settled: 0,
            told: None,
        }
    }

    /// A peer has made room for another one: that is told now and then, and counted always.
    fn tell_of_strangers(&mut self, entry: &Entry, now: Duration) {
        let Change::Instead { forgotten, .. } = &entry.change else { return };
        if self.told.is_none_or(|told| now >= told + TOLD_LEAST) {
            self.told = Some(now);
            let forgotten = forgotten.to_ip();
            tracing::warn!(
                "charging gateway: {PEERS_MAX} peers are known, and a new one took the place of {forgotten}: \
                 charge.gtpp.allow says who may send records"
            );
        }
    }

    /// Has the ledger say what came.
    fn enter(&mut self, book: &Book) {
        while let Some(last) = self.outbox.back().map(|entry| entry.sequence) {
            let Some(entry) = book.desk().receive(self.outbox.iter().cloned().collect(), present()) else { return };
            self.waits.push_back((entry, last));
            self.outbox.clear();
            book.flush();
        }
    }

    /// The last of the receiver's entries of which the ledger's entry is durable.
    fn settled(&mut self, durable: u64) -> u64 {
        while let Some((_, last)) = self.waits.front().copied().filter(|(entry, _)| *entry <= durable) {
            self.settled = last;
            self.waits.pop_front();
        }
        self.settled.max(self.durable)
    }

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

/// How a receiver is set up; the secret is another one with each start.
fn settings(restart_counter: u8, allow: &Networks) -> Settings {
    let secret = RandomState::new().hash_one(restart_counter) | 1;
    Settings { restart_counter, allow: allow.clone(), secret, ..Settings::default() }
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
