//! Records of this ledger on their way to charging gateways: a thread of the node that leads reads the record files
//! behind what is durable, and sends them by GTP'.
//!
//! What its sender comes to are entries of the ledger, and so is the place of the files up to which it has come: a
//! start goes on where they end, on this node or on another one that leads then, with the same numbers of requests.
//! Nothing leaves before the entry that it follows from is durable, and nothing at all while this node does not lead.

mod settling;
mod tail;

pub use settling::{Settle, Settled, Settling};

use super::Shared;
use super::house::present;
use super::ports::{Ports, endpoint};
use super::records::Told;
use crate::gateway::Sender;
use crate::gateway::sender::{Change, Counts, Entry, Settings};
use crate::session::Mark;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tail::Tail;
use trunkline_wire::Address;
use trunkline_wire::gtpp::cause;

/// Packets on their way at a time, but for those that were refused.
const PACKETS: usize = 256;
/// Packets that gateways refused, with which nothing more is sent until somebody has looked.
// Limit: packets that gateways refused
// Beyond: nothing more is sent until an operator decides
// Seen in: `trunkline_charge_sender_packets_kept_refused`
const REFUSED_MAX: usize = 1000;
/// Octets of an entry of the ledger: the servers of a stream take a million.
const ENTRY_OCTETS: usize = 128 << 10;
/// How long it waits at most when nothing is due, and when an entry is on its way to the disk.
const PATIENCE: Duration = Duration::from_millis(200);
const SOON: Duration = Duration::from_millis(2);
/// How long it waits after a failure.
const AGAIN: Duration = Duration::from_secs(1);
/// How often it tells how far it is, and how often it looks how much waits.
const TELL: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_secs(5);

/// How records are sent on.
#[derive(Clone, Debug)]
pub struct ForwardSetup {
    /// Where their files are.
    pub folder: PathBuf,
    /// The gateways, the first choice first; no two with one address.
    pub gateways: Vec<SocketAddr>,
    /// The address that they are sent from: gateways know senders by it.
    pub from: IpAddr,
    /// How long an answer is waited for (T3-RESPONSE).
    pub t3: Duration,
    /// How often a request is sent before its gateway is silent (N3-REQUESTS).
    pub n3: u32,
}

/// How far records were sent on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// The gateways, and whether each answers, as far as that is known.
    pub gateways: Vec<(SocketAddr, bool)>,
    /// The running count of the file up to which they were queued, and octets of it.
    pub file: u32,
    /// See `file`.
    pub octets: u64,
    /// Packets that are on their way, or wait for a gateway.
    pub packets: usize,
    /// Packets that a gateway refused, which are kept and sent no more, and the cause of the first one.
    pub refused: usize,
    /// See `refused`.
    pub cause: Option<u8>,
    /// Octets of files that were not queued yet, as of some seconds ago.
    pub waiting_octets: u64,
    /// Files that were gone before all of them was queued, since this start.
    pub gone_files: u64,
    /// What was counted since this start.
    pub counts: Counts,
    /// Why nothing is sent, if so.
    pub failure: Option<String>,
}

impl Forwarded {
    /// What is wrong, a sentence each.
    pub fn troubles(&self) -> Vec<String> {
        let failure = self.failure.as_ref().map(|why| format!("charging records are not sent on: {why}"));
        let silent = !self.gateways.is_empty() && self.gateways.iter().all(|(_, up)| !up);
        let silent = silent.then(|| "charging records are not sent on: no charging gateway answers".to_owned());
        let refused = self.cause.map(|cause| {
            let (name, count) = (cause::name(cause).unwrap_or_default(), self.refused);
            format!("charging gateways refused {count} packets of records, the first one with {cause} {name}")
        });
        failure.into_iter().chain(silent).chain(refused).collect()
    }
}

/// The thread; dropped, it ends: what is on its way goes on with the next start.
pub(super) struct Forward {
    ends: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Forward {
    pub fn start(shared: Arc<Shared>, told: Arc<Told>, setup: ForwardSetup) -> io::Result<Forward> {
        let (ends, ended) = channel();
        told.settling.forget();
        told.set_sends(true);
        let mut runner = Runner { shared, told, setup, ended, gone: 0 };
        let thread = std::thread::Builder::new().name("charge-send".to_owned()).spawn(move || runner.run())?;
        Ok(Forward { ends: Some(ends), thread: Some(thread) })
    }

    /// Whether it has failed: it ends by itself otherwise never.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        drop(self.ends.take());
        // A panic of it was told when it happened.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

struct Runner {
    shared: Arc<Shared>,
    told: Arc<Told>,
    setup: ForwardSetup,
    ended: Receiver<()>,
    gone: u64,
}

impl Runner {
    fn run(&mut self) {
        let mut said = None;
        while let Err(why) = self.serve() {
            let why = why.to_string();
            if said.as_ref() != Some(&why) {
                tracing::error!("charging: records are not sent on: {why}");
            }
            let known = self.told.forwarded().unwrap_or_default();
            self.told.set_forwarded(Some(Forwarded { failure: Some(why.clone()), ..known }));
            said = Some(why);
            if self.ended.recv_timeout(AGAIN) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        self.told.set_sends(false);
        self.told.set_forwarded(None);
    }

    fn is_over(&self) -> bool {
        self.ended.try_recv() != Err(TryRecvError::Empty)
    }

    /// Sends until it is to end.
    fn serve(&mut self) -> io::Result<()> {
        self.told.settling.forget();
        let Some((at, is_known)) = self.begin() else { return Ok(()) };
        let mut work = Work::new(self, at)?;
        work.first = (!is_known).then_some(at);
        while !self.is_over() {
            work.step(self)?;
        }
        Ok(())
    }

    /// Where to go on, and whether the ledger says so; none if it is to end before that is known. Where nothing was
    /// ever sent on it is the file that is open now.
    fn begin(&self) -> Option<(Mark, bool)> {
        let book = &self.shared.book;
        // Only this thread changes it: read once, it is durable some time, however many entries come meanwhile.
        let (sequence, at) = book.look(|core| {
            let state = core.state();
            (state.sequence(), state.forwarding().map(|forwarding| forwarding.at))
        });
        loop {
            let report = self.told.report();
            // What the state has may not be durable yet, and how far files are is told when they are open.
            if book.durable() >= sequence && !report.node.is_empty() {
                return Some((at.unwrap_or(Mark { file: report.file.0, octets: 0 }), at.is_some()));
            }
            if self.ended.recv_timeout(SOON) != Err(RecvTimeoutError::Timeout) {
                return None;
            }
        }
    }
}

/// A sender at work.
struct Work {
    sender: Sender,
    ports: Ports,
    tail: Tail,
    begun: Instant,
    /// Where it begins, as long as the ledger does not say so: else a start would begin elsewhere.
    first: Option<Mark>,
    /// Entries that the book did not take yet, with the place of the files up to which packets were queued.
    pending: VecDeque<(Entry, Option<Mark>)>,
    /// Entries of the ledger that are not durable yet, each with the last of the sender's own and a place of the files.
    waits: VecDeque<(u64, u64, Option<Mark>)>,
    /// What an order came to, and the last of the sender's entries then.
    settling: Option<(Settled, u64)>,
    /// The sender's entries up to this one are durable.
    durable: u64,
    told: Option<Instant>,
    looked: Option<Instant>,
    waiting_octets: u64,
}

impl Work {
    fn new(runner: &Runner, at: Mark) -> io::Result<Work> {
        let setup = &runner.setup;
        let state = |core: &crate::session::Core| core.state().forwarding().map(|known| known.sender.clone());
        let state = runner.shared.book.look(state).unwrap_or_default();
        let durable = state.sequence();
        let settings = Settings {
            address: Address::from(setup.from),
            gateways: setup.gateways.iter().map(endpoint).collect(),
            t3: setup.t3,
            n3: setup.n3,
            ..Settings::default()
        };
        runner.told.spare(at.file);
        Ok(Work {
            sender: Sender::new(settings, state, Duration::ZERO),
            ports: Ports::open(setup.from)?,
            tail: Tail::new(setup.folder.clone(), at),
            begun: Instant::now(),
            first: None,
            pending: VecDeque::new(),
            waits: VecDeque::new(),
            settling: None,
            durable,
            told: None,
            looked: None,
            waiting_octets: 0,
        })
    }

    fn step(&mut self, runner: &mut Runner) -> io::Result<()> {
        let (now, mut entries) = (self.begun.elapsed(), Vec::new());
        self.ports.receive(&mut self.sender, now, &mut entries)?;
        // While nothing may leave, nothing has its time: a gateway that was not asked is not silent.
        let leads = runner.shared.book.leads();
        if leads && self.sender.due().is_some_and(|due| due <= now) {
            self.sender.handle_timeout(now, &mut entries);
        }
        self.pending.extend(entries.into_iter().map(|entry| (entry, None)));
        if leads {
            self.settle(&runner.told.settling);
        }
        self.queue(runner)?;
        self.hand_over(runner);
        let durable = runner.shared.book.durable();
        while let Some((_, sent, at)) = self.waits.front().copied().filter(|(entry, ..)| *entry <= durable) {
            self.sender.durable(sent);
            self.durable = self.durable.max(sent);
            at.iter().for_each(|at| runner.told.spare(at.file));
            self.waits.pop_front();
        }
        self.settled(&runner.told.settling);
        // One that was stopped while another one took over must not speak in its place.
        self.ports.send(&mut self.sender, now, || runner.shared.book.leads());
        self.tell(runner)?;
        let settled = self.pending.is_empty() && self.waits.is_empty();
        let due = self.sender.due().filter(|_| leads).map_or(PATIENCE, |due| due.saturating_sub(now));
        self.ports.wait(due.min(if settled { PATIENCE } else { SOON }))
    }

    /// Queues as many packets as there is room for. While the ledger takes nothing none is.
    fn queue(&mut self, runner: &mut Runner) -> io::Result<()> {
        let (refused, open) = (self.sender.state().refused().count(), runner.told.report().file);
        while self.pending.len() < PACKETS
            && self.sender.state().len() - refused < PACKETS
            && refused < REFUSED_MAX
            && runner.shared.book.leads()
        {
            let Some(records) = self.tail.next(open)? else { break };
            // Its number is too far from the oldest one that is on its way: it is read again.
            let Ok(entry) = self.sender.queue(records) else { break };
            self.pending.push_back((entry, Some(self.tail.take())));
        }
        runner.gone += self.tail.forget_gone();
        Ok(())
    }

    /// Has the ledger say what the sender came to.
    fn hand_over(&mut self, runner: &Runner) {
        let book = &runner.shared.book;
        if self.first.is_some() {
            if book.desk().forward(self.first, Vec::new(), present()).is_none() {
                return;
            }
            self.first = None;
            book.flush();
        }
        while !self.pending.is_empty() {
            let (mut count, mut octets) = (0, 0);
            while let Some((entry, _)) = self.pending.get(count).filter(|_| octets < ENTRY_OCTETS) {
                octets += octets_of(entry);
                count += 1;
            }
            let some = self.pending.range(..count);
            let at = some.clone().rev().find_map(|(_, at)| *at);
            let sent: Vec<Entry> = some.map(|(entry, _)| entry.clone()).collect();
            let last = sent.last().map_or(0, |entry| entry.sequence);
            let taken = book.desk().forward(at, sent, present());
            let Some(entry) = taken else { break };
            self.pending.drain(..count);
            self.waits.push_back((entry, last, at));
            book.flush();
        }
    }

    /// Tells how far it is, now and then.
    fn tell(&mut self, runner: &Runner) -> io::Result<()> {
        if self.told.is_some_and(|told| told.elapsed() < TELL) {
            return Ok(());
        }
        self.told = Some(Instant::now());
        let open = runner.told.report().file;
        // The folder is looked into now and then; that nothing waits is never said by what it was before.
        let is_quick = self.waiting_octets == 0 || self.tail.at().file == open.0;
        if is_quick || self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.looked = Some(Instant::now());
            self.waiting_octets = self.tail.waiting(open)?;
        }
        let gateways = self.sender.gateways().map(|(gateway, up)| {
            let address = SocketAddr::new(gateway.address.to_ip(), gateway.port);
            (address, up)
        });
        let at = self.tail.at();
        let refused: Vec<(u64, u8)> = self.sender.state().refused().collect();
        runner.told.set_forwarded(Some(Forwarded {
            gateways: gateways.collect(),
            file: at.file,
            octets: at.octets,
            packets: self.sender.state().len() - refused.len(),
            refused: refused.len(),
            cause: refused.first().map(|(_, cause)| *cause),
            waiting_octets: self.waiting_octets,
            gone_files: runner.gone,
            counts: *self.sender.counts(),
            failure: None,
        }));
        Ok(())
    }
}

/// About what an entry comes to in the ledger.
fn octets_of(entry: &Entry) -> usize {
    64 + match &entry.change {
        Change::Queued { records, .. } => records.octets().len(),
        _ => 0,
    }
}
