//! Retention of the store's rows: the settings as rules, what leaves by them, and letting it leave.

use crate::run::config::Settings;
use crate::show::figure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use trunkline_store::removal::{Class, DayHeld, Gone};
use trunkline_store::retention::{self, Plan, Rule, Rules};
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
    pub fn plan(&mut self, store: &Store, now_ns: i64) -> Result<Planned, StoreError> {
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
        Ok(Planned { plan: retention::plan(&held, &self.rules, now_ns), octets, skipped })
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

/// The thread that lets rows leave while a run goes on.
pub struct Running {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// From now on.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(settings: &Settings) -> std::io::Result<Self> {
        let folder = settings.data.folder.join("store");
        let rules = rules(settings, &settings.data.folder);
        if let Some(most) = rules.octets {
            tracing::info!("store: at most {} (store.limit = {})", figure::octets(most), settings.store.limit);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let work = move || {
            let mut keeper = Keeper::new(&folder, rules);
            let mut wait = FIRST;
            while !waited(wait, &stops) {
                round(&mut keeper, &folder, &stops);
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

/// Waits; whether it is told to stop.
fn waited(wait: Duration, stop: &AtomicBool) -> bool {
    let ends = std::time::Instant::now() + wait;
    loop {
        let left = ends.saturating_duration_since(std::time::Instant::now());
        if stop.load(Ordering::Relaxed) || left.is_zero() {
            return stop.load(Ordering::Relaxed);
        }
        std::thread::park_timeout(left);
    }
}

fn round(keeper: &mut Keeper, folder: &Path, stop: &AtomicBool) {
    let done = Store::open(folder, Access::Write).and_then(|mut store| {
        let planned = keeper.plan(&store, crate::run::now_ns())?;
        let left = leave(&mut store, &planned.plan, stop)?;
        Ok((planned, left))
    });
    let (planned, left) = match done {
        Ok(done) => done,
        Err(e) => return tracing::error!("store: no rows can leave: {e}"),
    };
    if left.gone.rows() > 0 {
        let (rows, octets) = (left.gone.rows(), left.octets);
        tracing::info!(rows, octets, days = left.gone.days, "store: rows left by retention");
    }
    planned.skipped.iter().for_each(|day| tracing::warn!("store: nothing leaves this day: {}", day.why));
    left.failed.iter().for_each(|why| tracing::warn!("store: rows could not leave: {why}"));
    if let Some(why) = contradiction(&planned.plan) {
        tracing::warn!("store: {why}");
    }
    if planned.plan.days_ahead > 0 {
        tracing::warn!(
            days = planned.plan.days_ahead,
            "store: days that begin after now never get old: a wrong clock made them"
        );
    }
}
