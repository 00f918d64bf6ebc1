//! The threads of a capture that is being analysed: lanes, the owner of the signalling, the gatherer, the store.

use super::bursts::{Bucket, Meter};
use super::lane::{self, LanePlan, LaneReport, Rings};
use super::rows::Writing;
use super::standing::Stands;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};
use trunkline_calls::job::Sink;
use trunkline_calls::join::{Joiner, Names};
use trunkline_calls::lane::LaneOutput;
use trunkline_calls::ledger::file_of_lane;
use trunkline_calls::live::{Gatherer, Owned, Owner, Totals};
use trunkline_calls::signalling::CallUp;
use trunkline_calls::tap::TapCounters;
use trunkline_capture::{CaptureLoss, LossPlace};
use trunkline_kit::counters::Counted;
use trunkline_lane::DecodeCounters;
use trunkline_lane::clock::Steps;
use trunkline_spool::Loss;

/// What lanes have told and the owner has not taken, by lane.
const TOLD_RING: usize = 256;
/// Epochs that a lane has not followed.
const EPOCH_RING: usize = 1024;
/// Answers that the gatherer has not taken, by lane.
const ANSWER_RING: usize = 1024;
/// Epochs are not made more often than this, so that their cost does not grow with the rate of blocks.
const EPOCH_EVERY: Duration = Duration::from_millis(5);
/// An epoch is made at least so often, even if time stands still (a clock was set back).
const EPOCH_FORCED: Duration = Duration::from_secs(1);
/// How long a thread sleeps that has nothing to do, unless it is woken.
const NAP: Duration = Duration::from_millis(5);
/// How often rows are handed to the store though they are few.
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// Losses that wait for one lane to tell them, or for the end of the program. Beyond it those of one lane or interface
/// and place become one, and that is counted: their packets are told all the same, with the span of all of them.
// Limit: reports of losses waiting for one lane
// Beyond: reports of the same lane or interface and place are joined into one; no packet is left out
// Seen in: `trunkline_run_losses_joined_total`
const LOSSES_WAITING_MAX: usize = 4096;
/// How often threads publish what they count.
const PUBLISH: Duration = Duration::from_millis(250);
/// Calls that are up and are listed for one question.
// Limit: active calls listed in one answer
// Beyond: further ones are not listed
// Seen in: the number of active calls beside the list
pub const CALLS_UP_MAX: usize = 500;
/// How long the owner of the signalling may take to list them; then the list is what it was.
const LIST_PATIENCE: Duration = Duration::from_millis(500);

/// A lane's answer to an epoch.
pub struct Answer {
    /// The epoch's number.
    pub epoch: u64,
    /// What the lane finished in it.
    pub output: LaneOutput,
}

/// What the threads share: wishes and reports, nothing on the way of a packet.
pub struct Shared {
    /// Set to end: what was captured is analysed and committed.
    pub stop: AtomicBool,
    /// Reports by lane.
    pub lanes: Vec<Mutex<LaneReport>>,
    /// The most blocks of each lane's ring that were filled or in use since the status line took it.
    fills: Vec<AtomicU32>,
    /// Packets of each lane that were recorded and then lost with their disk, or that its interface lost before it, for
    /// the lane to tell.
    lost_later: Vec<Mutex<LostLater>>,
    /// Such losses that no lane was there to tell.
    untold: Mutex<Vec<CaptureLoss>>,
    /// How many of them became one with others.
    joined: AtomicU64,
    /// Milliseconds that each lane has counted, and how many it left out.
    buckets: Vec<Mutex<(Vec<Bucket>, u64)>>,
    owner: Mutex<OwnerReport>,
    /// How many calls that are up somebody wants to have listed; 0 nobody.
    wanted: AtomicUsize,
    listed: Mutex<Listed>,
    listing: Condvar,
    gathered: Mutex<GatherReport>,
    owner_thread: OnceLock<Thread>,
    gather_thread: OnceLock<Thread>,
    /// Steps of the system's clock.
    pub steps: Arc<Steps>,
    /// What is not closed, for the checkpoint.
    pub stands: Stands,
}

/// Losses that a lane is to tell.
#[derive(Debug, Default)]
struct LostLater {
    losses: Vec<CaptureLoss>,
    /// The lane has told its last.
    is_over: bool,
}

/// What the owner of the signalling shows.
#[derive(Clone, Debug, Default)]
pub struct OwnerReport {
    /// All its counters.
    pub counters: Vec<Counted>,
    /// Calls that are up or not yet closed.
    pub calls: u64,
    /// Calls that have not ended.
    pub up: u64,
}

/// The newest calls that are up, as they were listed last.
#[derive(Debug, Default)]
struct Listed {
    calls: Vec<CallUp>,
    /// Grows with each list.
    number: u64,
}

/// What the gatherer shows.
#[derive(Clone, Debug, Default)]
pub struct GatherReport {
    /// What is over.
    pub totals: Totals,
    /// What decoding counted.
    pub decoded: DecodeCounters,
    /// What the watch over the tap counted.
    pub tap: TapCounters,
    /// Why it ended early.
    pub failed: Option<String>,
}

impl Shared {
    /// Of so many lanes.
    pub fn new(lanes: usize) -> Self {
        Shared {
            stop: AtomicBool::new(false),
            lanes: (0..lanes).map(|_| Mutex::default()).collect(),
            fills: (0..lanes).map(|_| AtomicU32::default()).collect(),
            lost_later: (0..lanes).map(|_| Mutex::default()).collect(),
            untold: Mutex::default(),
            joined: AtomicU64::new(0),
            buckets: (0..lanes).map(|_| Mutex::default()).collect(),
            owner: Mutex::default(),
            wanted: AtomicUsize::new(0),
            listed: Mutex::default(),
            listing: Condvar::new(),
            gathered: Mutex::default(),
            owner_thread: OnceLock::new(),
            gather_thread: OnceLock::new(),
            steps: Arc::default(),
            stands: Stands::default(),
        }
    }

    /// Something lies in a ring to the owner.
    pub fn wake_owner(&self) {
        self.owner_thread.get().into_iter().for_each(Thread::unpark);
    }

    /// Something lies in a ring to the gatherer.
    pub fn wake_gatherer(&self) {
        self.gather_thread.get().into_iter().for_each(Thread::unpark);
    }

    /// A lane's report.
    pub fn report(&self, lane: u16, report: LaneReport) {
        if let Some(place) = self.lanes.get(usize::from(lane)) {
            *lock(place) = report;
        }
    }

    /// What each lane reported last.
    pub fn lane_reports(&self) -> Vec<LaneReport> {
        self.lanes.iter().map(|l| lock(l).clone()).collect()
    }

    /// So many blocks of a lane's ring are filled or in use.
    pub fn fill(&self, lane: u16, blocks: u32) {
        if let Some(fill) = self.fills.get(usize::from(lane)) {
            fill.fetch_max(blocks, Ordering::Relaxed);
        }
    }

    /// The most that [`Shared::fill`] was told since this was asked last.
    pub fn take_fill(&self, lane: usize) -> u32 {
        self.fills.get(lane).map_or(0, |fill| fill.swap(0, Ordering::Relaxed))
    }

    /// Takes over what a lane's meter has counted.
    pub fn give_buckets(&self, lane: u16, meter: &mut Meter) {
        if let Some(given) = self.buckets.get(usize::from(lane)) {
            let (buckets, left_out) = &mut *lock(given);
            *left_out += meter.take(buckets);
        }
    }

    /// What [`Shared::give_buckets`] took over of a lane.
    pub fn take_buckets(&self, lane: usize) -> (Vec<Bucket>, u64) {
        self.buckets.get(lane).map(|given| core::mem::take(&mut *lock(given))).unwrap_or_default()
    }

    /// Packets of a lane that were recorded and then lost.
    pub fn lost_later(&self, loss: &Loss) {
        self.lost_elsewhere(loss.tag as u16, lost_on_disk(loss));
    }

    /// A loss that a lane is to tell although it happened elsewhere; if the lane has ended, another one, which says as
    /// well whose it is.
    pub fn lost_elsewhere(&self, lane: u16, loss: CaptureLoss) {
        let lanes = self.lost_later.len();
        let in_turn = (0..lanes).filter_map(|n| self.lost_later.get(usize::from(lane).wrapping_add(n) % lanes));
        for lost in in_turn {
            let mut lost = lock(lost);
            if !lost.is_over {
                return self.wait_to_be_told(&mut lost.losses, loss);
            }
        }
        self.wait_to_be_told(&mut lock(&self.untold), loss);
    }

    fn wait_to_be_told(&self, losses: &mut Vec<CaptureLoss>, loss: CaptureLoss) {
        losses.push(loss);
        if losses.len() > LOSSES_WAITING_MAX {
            let joined = join_losses(losses) as u64;
            self.joined.fetch_add(joined, Ordering::Relaxed);
        }
    }

    /// Losses that became one with others of their place, because too many waited to be told.
    pub fn joined_losses(&self) -> u64 {
        self.joined.load(Ordering::Relaxed)
    }

    /// Takes what [`Shared::lost_elsewhere`] was told of a lane.
    pub fn take_lost_elsewhere(&self, lane: u16) -> Vec<CaptureLoss> {
        let lost = self.lost_later.get(usize::from(lane));
        lost.map(|lost| core::mem::take(&mut lock(lost).losses)).unwrap_or_default()
    }

    /// The same for the last time: from now on this lane is given none.
    pub fn take_last_lost_elsewhere(&self, lane: u16) -> Vec<CaptureLoss> {
        let Some(lost) = self.lost_later.get(usize::from(lane)) else { return Vec::new() };
        let mut lost = lock(lost);
        lost.is_over = true;
        core::mem::take(&mut lost.losses)
    }

    /// Takes what [`Shared::lost_elsewhere`] was told when no lane was there any more.
    pub fn take_untold(&self) -> Vec<CaptureLoss> {
        core::mem::take(&mut *lock(&self.untold))
    }

    /// What the owner reported last.
    pub fn owner_report(&self) -> OwnerReport {
        lock(&self.owner).clone()
    }

    /// The newest calls that are up, at most so many and at most [`CALLS_UP_MAX`]: asked of the owner of the
    /// signalling, who looks when it is between two batches.
    pub fn calls_up(&self, limit: usize) -> Vec<CallUp> {
        let limit = limit.min(CALLS_UP_MAX);
        let listed = lock(&self.listed);
        let before = listed.number;
        self.wanted.fetch_max(limit, Ordering::Relaxed);
        self.wake_owner();
        let waited = self.listing.wait_timeout_while(listed, LIST_PATIENCE, |listed| listed.number == before);
        let (listed, _) = waited.unwrap_or_else(PoisonError::into_inner);
        listed.calls.iter().take(limit).cloned().collect()
    }

    fn list_calls(&self, owner: &Owner) {
        let wanted = self.wanted.swap(0, Ordering::Relaxed);
        if wanted > 0 {
            let calls = owner.newest_up(wanted);
            let mut listed = lock(&self.listed);
            (listed.calls, listed.number) = (calls, listed.number.wrapping_add(1));
            self.listing.notify_all();
        }
    }

    /// What the gatherer reported last.
    pub fn gather_report(&self) -> GatherReport {
        lock(&self.gathered).clone()
    }
}

/// What a lane recorded and the disk lost, as the calls' ledger and rows know it.
pub fn lost_on_disk(loss: &Loss) -> CaptureLoss {
    let (since_ns, at_ns) = loss.span_ns;
    CaptureLoss { since_ns, at_ns, packets: loss.records, file: file_of_lane(loss.tag as u16), place: LossPlace::Disk }
}

/// Makes one of all losses of the same lane or interface and place; how many there are fewer.
fn join_losses(losses: &mut Vec<CaptureLoss>) -> usize {
    let before = losses.len();
    let mut joined: Vec<CaptureLoss> = Vec::new();
    for loss in losses.drain(..) {
        match joined.iter_mut().find(|sum| (sum.file, sum.place) == (loss.file, loss.place)) {
            Some(sum) => {
                (sum.since_ns, sum.at_ns) = (sum.since_ns.min(loss.since_ns), sum.at_ns.max(loss.at_ns));
                sum.packets = sum.packets.saturating_add(loss.packets);
            }
            None => joined.push(loss),
        }
    }
    *losses = joined;
    before - losses.len()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running capture.
pub struct Engine {
    /// What its threads share.
    pub shared: Arc<Shared>,
    /// The way of its rows to the store.
    pub writing: Arc<Writing>,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts the threads.
    ///
    /// # Errors
    /// A thread could not be started.
    pub fn start(
        plans: Vec<LanePlan>,
        names: Arc<dyn Names>,
        writing: Arc<Writing>,
        rows: Box<dyn Sink>,
    ) -> std::io::Result<Engine> {
        let shared = Arc::new(Shared::new(plans.len()));
        let mut threads = Vec::new();
        let (mut told, mut epochs, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for (me, plan) in plans.into_iter().enumerate() {
            let (told_to, told_from) = rtrb::RingBuffer::new(TOLD_RING);
            let (epoch_to, epoch_from) = rtrb::RingBuffer::new(EPOCH_RING);
            let (answer_to, answer_from) = rtrb::RingBuffer::new(ANSWER_RING);
            told.push(told_from);
            epochs.push(epoch_to);
            answers.push(answer_from);
            let rings = Rings { told: told_to, epochs: epoch_from, answers: answer_to };
            let shared = Arc::clone(&shared);
            threads.push(spawn(&format!("lane-{me}"), move || {
                if let Some(processor) = plan.processor {
                    super::pin(processor);
                }
                lane::run(me as u16, plan, rings, &shared);
            })?);
        }
        let (owned_to, owned_from) = rtrb::RingBuffer::new(EPOCH_RING);
        let owner = Arc::clone(&shared);
        threads.push(spawn("signalling", move || own(told, epochs, owned_to, &owner))?);
        let gatherer = Arc::clone(&shared);
        threads.push(spawn("gatherer", move || gather(owned_from, answers, names, rows, &gatherer))?);
        Ok(Engine { shared, writing, threads })
    }

    /// Whether all threads have ended by themselves (files are read, or sources failed).
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Asks the threads to end: what was captured until now is analysed and handed over.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for the threads; whether one of them failed.
    pub fn join(self) -> bool {
        self.threads.into_iter().map(|t| t.join().is_err()).fold(false, |a, b| a | b)
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Pushes into a ring, however long that takes: who takes out of it never waits for us.
fn push<T>(ring: &mut rtrb::Producer<T>, mut value: T) {
    while let Err(rtrb::PushError::Full(back)) = ring.push(value) {
        if ring.is_abandoned() {
            return;
        }
        value = back;
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// The owner of the signalling.
fn own(
    mut told: Vec<rtrb::Consumer<trunkline_calls::live::Told>>,
    mut epochs: Vec<rtrb::Producer<Arc<trunkline_calls::live::Epoch>>>,
    mut owned_to: rtrb::Producer<Owned>,
    shared: &Shared,
) {
    let _ = shared.owner_thread.set(std::thread::current());
    let mut owner = Owner::new(told.len());
    let (mut advanced, mut published) = (Instant::now(), Instant::now());
    loop {
        let mut any = false;
        for ring in &mut told {
            while let Ok(told) = ring.pop() {
                owner.tell(told);
                any = true;
            }
        }
        shared.list_calls(&owner);
        let since = advanced.elapsed();
        if (since >= EPOCH_EVERY || owner.is_ending())
            && let Some(owned) = owner.advance(since >= EPOCH_FORCED)
        {
            advanced = Instant::now();
            let last = owned.epoch.last;
            shared.stands.note(&owner);
            give_out(owned, &mut epochs, &mut owned_to);
            shared.wake_gatherer();
            if last {
                shared.stands.note_last(&owner);
                publish_owner(&owner, shared);
                return;
            }
        }
        if published.elapsed() >= PUBLISH {
            published = Instant::now();
            publish_owner(&owner, shared);
        }
        if !any {
            std::thread::park_timeout(NAP);
        }
    }
}

fn give_out(
    mut owned: Owned,
    epochs: &mut [rtrb::Producer<Arc<trunkline_calls::live::Epoch>>],
    owned_to: &mut rtrb::Producer<Owned>,
) {
    let epoch = Arc::new(core::mem::take(&mut owned.epoch));
    owned.epoch.until_ns = epoch.until_ns;
    owned.epoch.last = epoch.last;
    push(owned_to, owned);
    for lane in epochs {
        push(lane, Arc::clone(&epoch));
    }
}

fn publish_owner(owner: &Owner, shared: &Shared) {
    *lock(&shared.owner) = OwnerReport { counters: owner.counters(), calls: owner.calls(), up: owner.calls_up() };
}

/// The gatherer: joins what belongs together and hands rows to the store's thread.
fn gather(
    mut owned: rtrb::Consumer<Owned>,
    mut answers: Vec<rtrb::Consumer<Answer>>,
    names: Arc<dyn Names>,
    mut rows: Box<dyn Sink>,
    shared: &Shared,
) {
    let _ = shared.gather_thread.set(std::thread::current());
    let mut gatherer = Gatherer::new(answers.len(), Joiner::new(names, rows.as_mut()));
    let (mut flushed, mut published) = (Instant::now(), Instant::now());
    let mut failed = None;
    while !gatherer.is_done() {
        let mut any = false;
        while let Ok(Owned { epoch, output, losses, counters }) = owned.pop() {
            failed = gatherer.epoch(epoch.until_ns, epoch.last, output, losses, counters).err().or(failed);
            any = true;
        }
        for ring in &mut answers {
            while let Ok(answer) = ring.pop() {
                failed = gatherer.lane(answer.epoch, answer.output).err().or(failed);
                any = true;
            }
        }
        let is_due = shared.stands.is_due(gatherer.joined());
        if flushed.elapsed() >= FLUSH_EVERY || is_due {
            flushed = Instant::now();
            failed = gatherer.flush().err().or(failed);
        }
        if is_due {
            shared.stands.handed_over();
        }
        if published.elapsed() >= PUBLISH || gatherer.is_done() {
            published = Instant::now();
            *lock(&shared.gathered) = GatherReport {
                totals: gatherer.totals(),
                decoded: gatherer.decoded(),
                tap: gatherer.tap(),
                failed: failed.clone(),
            };
        }
        if !any {
            std::thread::park_timeout(NAP);
        }
    }
}

#[cfg(test)]
mod tests;
