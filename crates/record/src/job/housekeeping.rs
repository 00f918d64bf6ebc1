//! What goes on beside recording, in threads of their own and with the lowest priority at the disk: old segments leave,
//! new ones are rewritten to take less room, and a program is run for each.

pub mod errand;
mod packing;
#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use trunkline_kit::counters::Counted;
use trunkline_spool::retention::{Action, ClassRule, Retention, RetentionOptions, Swept};
use trunkline_spool::{Event, Limit, Listing, Options, Rewritten, SpoolError, Volume, What, idle};

use super::{FOLDER, KINDS, PINS};
use crate::class::Class;
use errand::Ending;

/// How often it is looked what has to leave.
const ROUND: Duration = Duration::from_secs(2);
/// With very many segments a look takes longer: then so many times its length lie between two.
const ROUND_SHARE: u32 = 20;
/// Segments that were finished and not yet noticed by retention. Beyond, all are listed anew, and that is counted.
// Limit: finished segments that retention has not taken in
// Beyond: all segments are listed again
// Seen in: `trunkline_record_retention_listings_total`
pub const FINISHED_MAX: usize = 4096;
/// Segments that wait for the program. For more it is not run, and that is counted.
// Limit: finished segments waiting for the program of `exec`
// Beyond: the program is not run for further ones
// Seen in: `trunkline_record_exec_overflow_total`
pub const ERRANDS_MAX: usize = 1024;
/// Segments that are handed to the thread that rewrites them at once.
// Limit: segments handed over for compression at once
// Beyond: the next round hands over the others
// Seen in: not counted
pub const PACKS_MAX: usize = 64;
/// News that nobody has asked for. Beyond, the oldest are forgotten, and that is counted.
// Limit: reports of retention and `exec` that wait to be shown
// Beyond: the oldest is forgotten
// Seen in: `trunkline_record_news_overflow_total`
pub const NEWS_MAX: usize = 256;

trunkline_kit::counters! {
    /// What housekeeping counts.
    pub struct HousekeepingCounters {
        /// segments deleted by retention
        deleted: "trunkline_record_deleted_segments_total",
        /// octets of them
        deleted_octets: "trunkline_record_deleted_octets_total",
        /// segments moved to the slow tier
        moved: "trunkline_record_moved_segments_total",
        /// octets of them
        moved_octets: "trunkline_record_moved_octets_total",
        /// segments that could not be deleted or moved
        stuck: "trunkline_record_stuck_segments_total",
        /// rounds of retention that failed
        failed_rounds: "trunkline_record_retention_failures_total",
        /// listings made again because too many segments were finished at once
        relisted: "trunkline_record_retention_listings_total",
        /// programs run for finished segments that ended with exit code 0
        errands: "trunkline_record_exec_done_total",
        /// such programs that ended otherwise or could not be started
        errands_failed: "trunkline_record_exec_failed_total",
        /// such programs that took too long and were killed
        errands_killed: "trunkline_record_exec_killed_total",
        /// finished segments for which no program was run, because too many waited or the recorder ended
        errands_left_out: "trunkline_record_exec_overflow_total",
        /// segments rewritten as zstd
        packed: "trunkline_record_compressed_segments_total",
        /// octets of them before
        packed_in_octets: "trunkline_record_compressed_in_octets_total",
        /// octets of them after
        packed_out_octets: "trunkline_record_compressed_out_octets_total",
        /// segments that could not be rewritten and stay as they were
        unpackable: "trunkline_record_compress_failures_total",
        /// segments that were not rewritten when it was their turn: no room for both forms; they are tried again
        roomless: "trunkline_record_compress_no_room_total",
        /// news forgotten because nobody asked for them
        news_forgotten: "trunkline_record_news_overflow_total",
    }
}

/// What is kept, and what is done with what is new; may change while the recorder runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Limits of the classes, in the order of [`Class::ALL`].
    pub classes: [ClassRule; 3],
    /// How much of each volume may be used, and of the slow tier.
    pub limit: Limit,
    /// Whether finished segments of the classes are rewritten as zstd, in the order of [`Class::ALL`]; those that are
    /// there already, too, the newest first.
    pub compress: [bool; 3],
    /// The program that is run for each finished segment, its path the only argument; of a class that is rewritten, for
    /// what it was rewritten to.
    pub exec: Option<PathBuf>,
    /// How long it may take.
    pub exec_patience: Duration,
}

impl Default for Keep {
    fn default() -> Self {
        Keep {
            classes: [ClassRule::default(); 3],
            limit: Limit::Percent(80),
            compress: [false; 3],
            exec: None,
            exec_patience: Duration::from_secs(60),
        }
    }
}

/// What is worth a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Segments left.
    Left(Swept),
    /// Retention does not work: nothing leaves. Told once, until it works again.
    Suspended(String),
    /// Retention works again.
    Resumed,
    /// The program failed for a segment.
    Errand(PathBuf, Ending),
    /// A segment could not be rewritten, and why; it stays as it is.
    NotPacked(PathBuf, String),
    /// There is no room for both forms of a segment, so many octets are free too few; it waits. Told once, until none
    /// waits any more.
    NoRoom(PathBuf, u64),
}

/// How things are.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Counts.
    pub counters: HousekeepingCounters,
    /// Octets of the segments that are there, by class.
    pub octets: [u64; 3],
    /// Time of the oldest of them, nanoseconds since 1970, by class.
    pub oldest_ns: [Option<i64>; 3],
    /// Segments that would have left but are being read.
    pub in_use: usize,
    /// The clock jumped: nothing leaves because of its age.
    pub ages_suspended: bool,
    /// Segments that wait for the program.
    pub waiting: usize,
    /// Segments that are to be rewritten and wait for room.
    pub roomless: usize,
}

impl Report {
    /// All counters.
    pub fn list(&self) -> Vec<Counted> {
        self.counters.list()
    }
}

/// A segment that was finished.
#[derive(Clone, Debug)]
struct Finished {
    path: PathBuf,
    octets: u64,
    span_ns: (i64, i64),
}

/// The threads.
#[derive(Debug)]
pub(super) struct Housekeeping {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    packer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    begun: Instant,
}

#[derive(Debug)]
struct State {
    keep: Keep,
    /// `keep` is other than it was.
    changed: bool,
    finished: VecDeque<Finished>,
    relist: bool,
    errands: VecDeque<PathBuf>,
    /// Segments to be rewritten.
    packs: VecDeque<PathBuf>,
    /// Those for which the program is to be run once they are.
    due: HashSet<PathBuf>,
    /// Those that were, before retention knows.
    rewritten: Vec<(PathBuf, Rewritten)>,
    /// Those that cannot be.
    unpackable: HashSet<PathBuf>,
    /// Those that there was no room for.
    roomless: HashSet<PathBuf>,
    /// Of these, those that were tried again since all of them were: each has its turn.
    retried: HashSet<PathBuf>,
    /// Nothing more is rewritten.
    packing_over: bool,
    /// No more segments will be finished.
    closing: bool,
    /// After this time no program is begun any more.
    until: Option<Instant>,
    news: VecDeque<News>,
    report: Report,
}

impl Housekeeping {
    /// Starts the threads; the volumes were listed and these segments repaired just now.
    pub(super) fn start(
        options: &Options,
        keep: Keep,
        listings: Vec<Listing>,
        repaired: Vec<PathBuf>,
    ) -> Result<Housekeeping, SpoolError> {
        let shared =
            Arc::new(Shared { state: Mutex::new(State::new(keep)), wake: Condvar::new(), begun: Instant::now() });
        repaired.into_iter().for_each(|path| shared.lock().run_for(path));
        let mut house = Housekeeping { shared, threads: Vec::new(), packer: None };
        // Less than what retention keeps free: else there would never be room on a volume that it keeps full.
        let (shared, keep_free) = (Arc::clone(&house.shared), options.keep_free);
        house.packer = Some(spawn("compress", move || packing::run(&shared, keep_free))?);
        let (shared, options) = (Arc::clone(&house.shared), options.clone());
        let keeper = Keeper { shared, options, listings, retention: None, trouble: None };
        house.threads.push(spawn("retention", move || keeper.run())?);
        let shared = Arc::clone(&house.shared);
        house.threads.push(spawn("exec", move || run_errands(&shared))?);
        Ok(house)
    }

    /// From now on this is kept.
    pub(super) fn keep(&self, keep: Keep) {
        let mut state = self.shared.lock();
        state.changed |= state.keep != keep;
        state.keep = keep;
        self.shared.wake.notify_all();
    }

    /// Takes in the segments that were finished.
    pub(super) fn take_in(&self, events: &[Event]) {
        for event in events {
            if let What::Sealed { path, octets, span_ns } = &event.what {
                self.finished(Finished { path: path.clone(), octets: *octets, span_ns: *span_ns });
            }
        }
    }

    fn finished(&self, segment: Finished) {
        let mut state = self.shared.lock();
        state.run_for(segment.path.clone());
        if state.finished.len() < FINISHED_MAX {
            state.finished.push_back(segment);
        } else if !core::mem::replace(&mut state.relist, true) {
            state.report.counters.relisted += 1;
        }
        self.shared.wake.notify_all();
    }

    /// How things are.
    pub(super) fn report(&self) -> Report {
        let state = self.shared.lock();
        let (waiting, roomless) = (state.errands.len(), state.roomless.len());
        Report { waiting, roomless, ..state.report.clone() }
    }

    /// What is worth telling, since the last call.
    pub(super) fn news(&self) -> Vec<News> {
        self.shared.lock().news.drain(..).collect()
    }

    /// Ends. Programs that wait are run for as long as `patience`.
    pub(super) fn close(&mut self, patience: Duration) {
        self.shared.lock().packing_over = true;
        self.shared.wake.notify_all();
        if let Some(packer) = self.packer.take() {
            let _ = packer.join();
        }
        let mut state = self.shared.lock();
        for path in core::mem::take(&mut state.due) {
            state.errand(path);
        }
        state.closing = true;
        state.until = Some(Instant::now() + patience);
        drop(state);
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing to hand over.
            let _ = thread.join();
        }
    }
}

impl Drop for Housekeeping {
    fn drop(&mut self) {
        self.close(Duration::ZERO);
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, SpoolError> {
    let work = move || {
        // Recording goes first; where there is no such priority, it goes without.
        idle();
        work();
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(SpoolError::Thread)
}

impl State {
    fn new(keep: Keep) -> State {
        State {
            keep,
            changed: false,
            finished: VecDeque::new(),
            relist: false,
            errands: VecDeque::new(),
            packs: VecDeque::new(),
            due: HashSet::new(),
            rewritten: Vec::new(),
            unpackable: HashSet::new(),
            roomless: HashSet::new(),
            retried: HashSet::new(),
            packing_over: false,
            closing: false,
            until: None,
            news: VecDeque::new(),
            report: Report::default(),
        }
    }

    /// The program is to be run for a segment: once it is rewritten, if it will be.
    fn run_for(&mut self, path: PathBuf) {
        let is_packed_first = self.keep.is_packed(&path) && self.due.len() < ERRANDS_MAX;
        match (&self.keep.exec, is_packed_first) {
            (None, _) => {}
            (Some(_), true) => _ = self.due.insert(path),
            (Some(_), false) => self.errand(path),
        }
    }

    /// The program can be run for a segment.
    fn errand(&mut self, path: PathBuf) {
        if self.errands.len() < ERRANDS_MAX {
            self.errands.push_back(path);
        } else {
            self.report.counters.errands_left_out += 1;
        }
    }

    /// There is no room to rewrite a segment; whether it is the first that waits for some.
    fn no_room(&mut self, path: &Path) -> bool {
        if self.roomless.len() >= packing::ROOMLESS_MAX {
            self.roomless.clear();
        }
        let is_first = self.roomless.is_empty();
        let is_new = self.roomless.insert(path.to_path_buf());
        self.report.counters.roomless += u64::from(is_new);
        is_first
    }

    /// What is to be rewritten next, given which segments are plain: the newest, so many at most, but for some.
    fn next_packs(&mut self, plain: impl Fn(usize, &HashSet<PathBuf>) -> Vec<PathBuf>) -> VecDeque<PathBuf> {
        // What the program waits for first: newer segments may come faster than they are rewritten.
        let waiting = self.due.iter().filter(|path| !self.unpackable.contains(*path)).take(PACKS_MAX);
        let mut packs: VecDeque<PathBuf> = waiting.cloned().collect();
        let room = PACKS_MAX - packs.len();
        let without = |left_out: &HashSet<PathBuf>| plain(room, &self.unpackable.union(left_out).cloned().collect());
        let mut others = without(&self.roomless);
        if others.is_empty() {
            // Large ones that there is no room for must not hold up small ones; and of many each is tried in turn.
            others = without(&self.retried);
            if others.is_empty() && !self.retried.is_empty() {
                self.retried.clear();
                others = plain(room, &self.unpackable);
            }
            // Those of them that are not there any more are forgotten when all have had their turn.
            self.retried.extend(others.iter().cloned());
        }
        packs.extend(others.into_iter().filter(|path| !self.due.contains(path)));
        packs
    }
}

impl Keep {
    /// Whether a segment's class is rewritten.
    fn is_packed(&self, path: &Path) -> bool {
        // packets/CLASS/YYYY/MM/DD/HH/FILE
        let class = path.iter().rev().nth(5).and_then(|name| Class::of_name(name.to_str()?));
        class.is_some_and(|class| self.compress.get(class as usize).is_some_and(|wanted| *wanted))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be rewritten next; and segments that will not be any more do not wait for it.
    fn hand_to_packer(&self, keep: &Keep, retention: &Retention, swept: Option<&Swept>) {
        let mut state = self.lock();
        let removed: HashSet<&Path> = swept.iter().flat_map(|s| &s.removed).map(|r| r.path.as_path()).collect();
        let over: Vec<PathBuf> = state
            .due
            .iter()
            .filter(|path| removed.contains(path.as_path()) || !keep.is_packed(path))
            .cloned()
            .collect();
        for path in over {
            state.due.remove(&path);
            // What retention took away before it was rewritten is there no more under this name.
            if removed.contains(path.as_path()) {
                state.report.counters.errands_left_out += 1;
            } else {
                state.errand(path);
            }
        }
        state.roomless.retain(|path| !removed.contains(path.as_path()) && keep.is_packed(path));
        if keep.compress.contains(&true) && state.packs.is_empty() {
            state.packs = state.next_packs(|max, skip| retention.plain(&keep.compress, max, skip));
        }
        drop(state);
        self.wake.notify_all();
    }

    fn tell(&self, news: News) {
        let mut state = self.lock();
        if state.news.len() == NEWS_MAX {
            state.news.pop_front();
            state.report.counters.news_forgotten += 1;
        }
        state.news.push_back(news);
    }
}

/// The thread of retention.
struct Keeper {
    shared: Arc<Shared>,
    options: Options,
    /// How the volumes were when the recorder was opened.
    listings: Vec<Listing>,
    retention: Option<Retention>,
    trouble: Option<String>,
}

impl Keeper {
    fn run(mut self) {
        loop {
            let begun = Instant::now();
            let round = self.round();
            self.tell(round);
            let pause = ROUND.max(begun.elapsed() * ROUND_SHARE);
            let shared = Arc::clone(&self.shared);
            let (state, _) = shared
                .wake
                .wait_timeout_while(shared.lock(), pause, |s| !s.closing && !s.changed)
                .unwrap_or_else(PoisonError::into_inner);
            if state.closing {
                return;
            }
        }
    }

    /// Takes in what is new and lets go what is old.
    fn round(&mut self) -> Result<Swept, SpoolError> {
        let mut state = self.shared.lock();
        let keep = state.keep.clone();
        state.changed = false;
        if core::mem::take(&mut state.relist) {
            self.retention = None;
        }
        let finished = core::mem::take(&mut state.finished);
        let rewritten = core::mem::take(&mut state.rewritten);
        drop(state);
        let listings = core::mem::take(&mut self.listings);
        let now = self.shared.begun.elapsed();
        let retention = match &mut self.retention {
            Some(retention) => retention,
            None => {
                let options = retention_options(&self.options, &keep);
                self.retention.insert(Retention::open_listed(options, &listings, now)?)
            }
        };
        for segment in finished {
            retention.committed(&segment.path, segment.octets, segment.span_ns, now);
        }
        rewritten.iter().for_each(|(from, to)| retention.rewritten(from, to));
        retention.limit(&keep.classes, keep.limit);
        let swept = retention.run(SystemTime::now(), now);
        self.shared.hand_to_packer(&keep, retention, swept.as_ref().ok());
        swept
    }

    fn tell(&mut self, round: Result<Swept, SpoolError>) {
        match round {
            Ok(swept) => {
                self.shared.lock().report.take(&swept);
                if self.trouble.take().is_some() {
                    self.shared.tell(News::Resumed);
                }
                if !swept.removed.is_empty() || !swept.failed.is_empty() {
                    self.shared.tell(News::Left(swept));
                }
            }
            Err(error) => {
                self.shared.lock().report.counters.failed_rounds += 1;
                let why = error.to_string();
                if self.trouble.as_ref() != Some(&why) {
                    self.trouble = Some(why.clone());
                    self.shared.tell(News::Suspended(why));
                }
            }
        }
    }
}

/// Folders of the data folder where extractions and captures that somebody brought lie for a while.
const PASSING: [&str; 2] = ["spool/web", "captures"];

fn retention_options(options: &Options, keep: &Keep) -> RetentionOptions {
    let slow = options.slow.as_ref().map(|path| Volume { limit: keep.limit, ..Volume::new(path) });
    let first = options.volumes.first().map(|v| v.path.clone()).unwrap_or_default();
    RetentionOptions {
        folder: FOLDER.into(),
        classes: Class::ALL.iter().zip(keep.classes).map(|(class, rule)| (class.name().to_owned(), rule)).collect(),
        volumes: options.volumes.clone(),
        slow,
        kinds: KINDS,
        keep_free: keep_free(options),
        passing: PASSING.iter().map(|name| first.join(name)).collect(),
        pins: first.join(PINS),
    }
}

/// Octets that stay free on a volume: segments leave before writing stops.
fn keep_free(options: &Options) -> u64 {
    options.keep_free.saturating_add(options.keep_free / 4)
}

impl HousekeepingCounters {
    fn ended(&mut self, ending: &Ending) {
        *(match ending {
            Ending::Done => &mut self.errands,
            Ending::TimedOut => &mut self.errands_killed,
            _ => &mut self.errands_failed,
        }) += 1;
    }
}

impl Report {
    fn take(&mut self, swept: &Swept) {
        for removed in &swept.removed {
            let (segments, octets) = match removed.action {
                Action::Delete => (&mut self.counters.deleted, &mut self.counters.deleted_octets),
                Action::Move => (&mut self.counters.moved, &mut self.counters.moved_octets),
            };
            *segments += 1;
            *octets += removed.octets;
        }
        self.counters.stuck += swept.failed.len() as u64;
        self.in_use = swept.in_use;
        self.ages_suspended = swept.ages_suspended;
        self.octets = core::array::from_fn(|i| swept.octets.get(i).copied().unwrap_or_default());
        self.oldest_ns = core::array::from_fn(|i| swept.oldest_ns.get(i).copied().flatten());
    }
}

/// The thread of the program: one segment after the other.
fn run_errands(shared: &Shared) {
    loop {
        let waiting = shared.wake.wait_while(shared.lock(), |s| s.errands.is_empty() && !s.closing);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        let left = state.until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            let left_out = state.errands.drain(..).count();
            state.report.counters.errands_left_out += left_out as u64;
        }
        let Some(path) = state.errands.pop_front() else { return };
        let Some(program) = state.keep.exec.clone() else { continue };
        let patience = state.keep.exec_patience.min(left.unwrap_or(Duration::MAX));
        drop(state);
        let ending = errand::run(&program, &path, patience);
        shared.lock().report.counters.ended(&ending);
        if ending != Ending::Done {
            shared.tell(News::Errand(path, ending));
        }
    }
}
