//! Retention of the store's rows: the settings as rules, what leaves by them, and letting it leave.

pub mod clock;

use crate::run::config::Settings;
use crate::show::figure;
use clock::{Clock, Moment};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use trunkline_kit::metrics::Sample;
use trunkline_store::removal::{Class, DayHeld, Gone};
use trunkline_store::retention::{self, Now, Plan, Rule, Rules};
use trunkline_store::time::Day;
use trunkline_store::{Access, Skipped, Store, StoreError};

/// How long after the start of a run rows leave first.
const FIRST: Duration = Duration::from_secs(60);
/// How often they do then.
const EVERY: Duration = Duration::from_secs(3600);

/// The rules of these settings on the file system of the data folder.
pub fn rules(settings: &Settings, data: &Path) -> Rules {
    let ns = |age: Duration| i64::try_from(age.as_nanos()).unwrap_or(i64::MAX);
    let rule = |class: Class| {
        let kept = settings.retained(class);
        Rule {
            keep_age_ns: kept.keep_age.map(ns),
            keep_octets: kept.keep_size.map(|size| size.0),
            keep_at_least_ns: kept.keep_at_least.map(ns),
        }
    };
    // Where the file system does not tell its size, there is no limit to be had of it.
    let size = rustix::fs::statvfs(data).map(|found| found.f_blocks.saturating_mul(found.f_frsize));
    Rules { classes: Class::ALL.map(rule), octets: size.ok().map(|size| settings.store.limit.of(size)) }
}

/// What tells a file from what it was.
type Stamp = [(u64, Option<SystemTime>); 2];

/// Looks at the days of a store; what has not changed since the last time is not read again.
pub struct Keeper {
    folder: PathBuf,
    rules: Rules,
    known: BTreeMap<Day, (Stamp, DayHeld)>,
}

/// What leaves, and what could not be looked at.
pub struct Planned {
    /// What leaves.
    pub plan: Plan,
    /// Octets of all days.
    pub octets: u64,
    /// Days that could not be read: nothing leaves them.
    pub skipped: Vec<Skipped>,
}

/// What left.
#[derive(Default)]
pub struct Left {
    /// Rows.
    pub gone: Gone,
    /// Octets that all files have less.
    pub octets: u64,
    /// What could not leave, a line each.
    pub failed: Vec<String>,
}

impl Keeper {
    /// For the store in a folder.
    pub fn new(folder: &Path, rules: Rules) -> Self {
        Keeper { folder: folder.to_owned(), rules, known: BTreeMap::new() }
    }

    /// What leaves at this time.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn plan(&mut self, store: &Store, now: Now) -> Result<Planned, StoreError> {
        let days = store.days()?;
        let octets = octets(store, &days);
        let (mut held, mut skipped) = (vec![], vec![]);
        if self.rules.ask_for_classes(octets) {
            self.known.retain(|day, _| days.binary_search(day).is_ok());
            for day in days {
                match self.held(store, day) {
                    Ok(found) => held.extend(found),
                    Err(e @ (StoreError::Day { .. } | StoreError::Disk { .. })) => {
                        skipped.push(Skipped { day, why: e.to_string() });
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(Planned { plan: retention::plan(&held, &self.rules, now), octets, skipped })
    }

    fn held(&mut self, store: &Store, day: Day) -> Result<Option<DayHeld>, StoreError> {
        let stamp = ["", "-wal"].map(|suffix| {
            let found = std::fs::metadata(self.folder.join(format!("{day}.sqlite{suffix}")));
            found.map_or((0, None), |m| (m.len(), m.modified().ok()))
        });
        if let Some((_, held)) = self.known.get(&day).filter(|(known, _)| *known == stamp) {
            return Ok(Some(held.clone()));
        }
        let held = store.held(day)?;
        if let Some(held) = &held {
            self.known.insert(day, (stamp, held.clone()));
        }
        Ok(held)
    }
}

fn octets(store: &Store, days: &[Day]) -> u64 {
    days.iter().map(|day| store.octets(*day)).sum()
}

/// Lets rows leave, a day at a time, until it is told to stop.
///
/// # Errors
/// The folder cannot be read.
pub fn leave(store: &mut Store, plan: &Plan, stop: &AtomicBool) -> Result<Left, StoreError> {
    let mut by_day: BTreeMap<Day, Vec<Class>> = BTreeMap::new();
    plan.leave.iter().for_each(|leave| by_day.entry(leave.day).or_default().push(leave.class));
    let days = store.days()?;
    let before = octets(store, &days);
    let mut left = Left::default();
    for (day, classes) in by_day {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match store.remove_classes(day, &classes) {
            Ok(gone) => left.gone.add(&gone),
            Err(e) => left.failed.push(format!("{day}: {e}")),
        }
    }
    left.octets = before.saturating_sub(octets(store, &days));
    Ok(left)
}

/// Why more stays than a size allows; none if it does not.
pub fn contradiction(plan: &Plan) -> Option<String> {
    (plan.over_octets > 0).then(|| {
        let over = figure::octets(plan.over_octets);
        format!("{over} more stay than sizes allow: rows of today, and what keep-at-least protects")
    })
}

trunkline_kit::counters! {
    /// What retention counts.
    pub struct Counts {
        /// times that it was looked what has to leave
        rounds: "trunkline_store_retention_rounds_total",
        /// rows that left because of age or size
        rows: "trunkline_store_retention_rows_total",
        /// octets that the store's files got smaller by
        octets: "trunkline_store_retention_octets_total",
        /// days that left as a whole
        days: "trunkline_store_retention_days_total",
        /// days and classes of days that should have left and could not
        failed: "trunkline_store_retention_failures_total",
        /// times that the clock was in doubt, so that nothing left because of its age
        doubts: "trunkline_store_retention_clock_doubts_total",
    }
}

/// What the last round found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All rounds.
    pub counts: Counts,
    /// When the last round was, nanoseconds since 1970; none before the first.
    pub at_ns: Option<i64>,
    /// Octets of the store.
    pub octets: u64,
    /// Octets that it may have.
    pub octets_max: Option<u64>,
    /// Octets beyond a size that stay.
    pub over_octets: u64,
    /// What keeps rows from leaving, a line each.
    pub trouble: Vec<String>,
    /// Whether the clock is in doubt.
    pub clock_in_doubt: bool,
}

impl Report {
    /// For Prometheus.
    pub fn samples(&self) -> Vec<Sample> {
        let gauge = |name, help, value: u64| Sample::gauge(name, help, value as f64);
        let mut samples: Vec<Sample> = self.counts.list().into_iter().map(Sample::from).collect();
        if self.at_ns.is_some() {
            samples.extend([
                gauge("trunkline_store_octets", "octets of the store's files, at the last round", self.octets),
                gauge("trunkline_store_retention_over_octets", "octets beyond a size that stay", self.over_octets),
                gauge(
                    "trunkline_store_retention_clock_in_doubt",
                    "whether the clock is in doubt, so that nothing leaves because of its age",
                    u64::from(self.clock_in_doubt),
                ),
            ]);
        }
        samples.extend(self.octets_max.map(|most| gauge("trunkline_store_limit_octets", "store.limit, octets", most)));
        samples
    }
}

/// The report of the last round, for whoever looks.
pub type Shown = Arc<Mutex<Report>>;

/// The thread that lets rows leave while a run goes on.
pub struct Running {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// From now on; what each round found is put into `shown`.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(settings: &Settings, shown: Shown) -> std::io::Result<Self> {
        let data = settings.data.folder.clone();
        let rules = rules(settings, &data);
        if let Some(most) = rules.octets {
            tracing::info!("store: at most {} (store.limit = {})", figure::octets(most), settings.store.limit);
        }
        held(&shown).octets_max = rules.octets;
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let work = move || {
            let mut rounds = Rounds {
                keeper: Keeper::new(&data.join("store"), rules),
                clock: Clock::open(&data, &Moment::now()),
                folder: data.join("store"),
                shown,
            };
            let mut wait = FIRST;
            while !waited(wait, &stops) {
                rounds.round(&stops);
                wait = EVERY;
            }
        };
        let thread = std::thread::Builder::new().name("retention-rows".to_owned()).spawn(work)?;
        Ok(Running { stop, thread: Some(thread) })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Waits, unless the thread is unparked with `stop` set; whether it is told to stop.
pub fn waited(wait: Duration, stop: &AtomicBool) -> bool {
    let ends = std::time::Instant::now() + wait;
    loop {
        let left = ends.saturating_duration_since(std::time::Instant::now());
        if stop.load(Ordering::Relaxed) || left.is_zero() {
            return stop.load(Ordering::Relaxed);
        }
        std::thread::park_timeout(left);
    }
}

struct Rounds {
    keeper: Keeper,
    clock: Clock,
    folder: PathBuf,
    shown: Shown,
}

impl Rounds {
    fn round(&mut self, stop: &AtomicBool) {
        let moment = Moment::now();
        let now = self.clock.look(&moment);
        let mut trouble = Vec::new();
        if !now.is_believed {
            trouble.push(self.clock.doubt(&moment));
        } else if let Err(e) = self.clock.note(&moment) {
            trouble.push(format!("the time of this round could not be noted: {e}"));
        }
        let done = Store::open(&self.folder, Access::Write).and_then(|mut store| {
            let planned = self.keeper.plan(&store, now)?;
            let left = leave(&mut store, &planned.plan, stop)?;
            Ok((planned, left))
        });
        match done {
            Err(e) => {
                tracing::error!("store: no rows can leave: {e}");
                trouble.push(format!("no rows can leave: {e}"));
                self.show(&moment, trouble, None);
            }
            Ok((planned, left)) => {
                trouble.extend(planned.skipped.iter().map(|day| format!("nothing leaves this day: {}", day.why)));
                trouble.extend(left.failed.iter().map(|why| format!("rows could not leave: {why}")));
                trouble.extend(contradiction(&planned.plan));
                if planned.plan.days_ahead > 0 {
                    let days = figure::of(planned.plan.days_ahead as u64, "day begins", "days begin");
                    trouble.push(format!("{days} after now and never get old: a wrong clock made them"));
                }
                trouble.iter().for_each(|why| tracing::warn!("store: {why}"));
                if left.gone.rows() > 0 {
                    let (rows, octets) = (left.gone.rows(), left.octets);
                    tracing::info!(rows, octets, days = left.gone.days, "store: rows left by retention");
                }
                self.show(&moment, trouble, Some((&planned, &left)));
            }
        }
    }

    fn show(&self, moment: &Moment, trouble: Vec<String>, done: Option<(&Planned, &Left)>) {
        let mut shown = held(&self.shown);
        shown.at_ns = Some(moment.wall_ns);
        shown.clock_in_doubt = self.clock.is_in_doubt();
        shown.trouble = trouble;
        let counts = &mut shown.counts;
        counts.rounds += 1;
        counts.doubts += u64::from(self.clock.is_in_doubt());
        let Some((planned, left)) = done else {
            counts.failed += 1;
            return;
        };
        counts.rows += left.gone.rows();
        counts.octets += left.octets;
        counts.days += left.gone.days;
        counts.failed += (left.failed.len() + planned.skipped.len()) as u64;
        shown.octets = planned.octets.saturating_sub(left.octets);
        shown.over_octets = planned.plan.over_octets;
    }
}

/// The report, also where a thread that held it panicked.
pub fn held(shown: &Shown) -> MutexGuard<'_, Report> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}
