//! A run from connecting to the report: threads, the progress line, the files.

use super::Load;
use super::driver::{Driver, Epoch};
use super::ledger::{Ledger, Part};
use super::plan::Plan;
use super::report::Report;
use super::tally::Tally;
use super::timeline::{Row, Timeline};
use crate::descriptors;
use crate::processor;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_kit::random::mixed;
use trunkline_show::bar::{Bar, TICK};
use trunkline_show::failure::Failure;
use trunkline_show::figure::count;
use trunkline_show::stop::Stop;

/// How long connecting may take in all.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);

/// Plays, adds up.
///
/// # Errors
/// The server cannot be reached, or a file cannot be written.
pub fn run(load: &Load, plan: &Plan) -> Result<(Report, Vec<Row>), Failure> {
    descriptors::allow(u64::from(plan.clients) * plan.servers.len() as u64);
    let csv = load.csv.as_deref().map(create).transpose()?;
    let ledger = load.ledger.as_deref().map(create).transpose()?.map(Ledger::new);
    let (stop, timeline) = (Stop::on_signals(), Timeline::new(plan.threads, plan.protocol.kinds(), csv));
    let (flag, epoch) = (stop.flag(), epoch());
    let mut drivers = Vec::new();
    for thread in 0..plan.threads {
        let part = ledger.as_ref().map(|ledger| Part::new(ledger, plan, thread));
        let driver = Driver::new(plan, thread, epoch, &flag, &timeline, part);
        let mut driver = driver.map_err(|e| Failure::Failed(e.to_string()))?;
        driver.connect(CONNECT_PATIENCE).map_err(Failure::Failed)?;
        drivers.push(driver);
    }
    let before = load.pid.map(processor::time_of).transpose().map_err(Failure::Failed)?;
    let start = Instant::now();
    let tally = together(drivers, start, plan, &timeline);
    let elapsed = start.elapsed().min(plan.run);
    let after = load.pid.map(processor::time_of).transpose().map_err(Failure::Failed)?;
    let failed = |path: &Option<std::path::PathBuf>| {
        let path = path.clone().unwrap_or_default();
        move |e: std::io::Error| Failure::Failed(format!("{}: {e}", path.display()))
    };
    let rows = timeline.rows().map_err(failed(&load.csv))?;
    ledger.map_or(Ok(()), Ledger::end).map_err(failed(&load.ledger))?;
    let processor = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok((
        Report { elapsed, tally, kinds: plan.protocol.kinds(), due_per_second: plan.due_per_second(), processor },
        rows,
    ))
}

/// Plays on one thread, with nothing to look at, until it is over or told to stop.
///
/// # Errors
/// The server cannot be reached.
pub fn quietly(plan: &Plan, stop: &AtomicBool) -> Result<(), Failure> {
    let timeline = Timeline::new(plan.threads, plan.protocol.kinds(), None);
    let driver = Driver::new(plan, 0, epoch(), stop, &timeline, None);
    let mut driver = driver.map_err(|e| Failure::Failed(e.to_string()))?;
    driver.connect(CONNECT_PATIENCE).map_err(Failure::Failed)?;
    driver.play(Instant::now());
    Ok(())
}

/// All threads at once, with a progress line; their tallies together.
fn together(drivers: Vec<Driver<'_>>, start: Instant, plan: &Plan, timeline: &Timeline) -> Tally {
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = drivers.into_iter().map(|mut driver| scope.spawn(move || driver.play(start))).collect();
        let mut bar = Bar::start();
        while threads.iter().any(|thread| !thread.is_finished()) {
            let done = (start.elapsed().as_millis() as u64).min(plan.run.as_millis() as u64);
            bar.draw(done, plan.run.as_millis() as u64, || timeline.last().map_or_else(String::new, progress));
            // The end of a run is seen at once, within a tick that nobody notices.
            std::thread::park_timeout(TICK / 5);
        }
        bar.end();
        for thread in threads {
            match thread.join() {
                Ok(tally) => all.add(tally),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    all
}

fn progress(row: Row) -> String {
    let (answered, failed) = (row.all(|kind| kind.answered), row.all(|kind| kind.failed + kind.timeouts));
    let p99_ms = row.p99_ns as f64 / 1e6;
    format!("{} requests/s, p99 {p99_ms:.2} ms, {} failed", count(answered), count(failed))
}

/// Creates a file, or empties it.
///
/// # Errors
/// As the system tells them.
pub fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))
}

fn epoch() -> Epoch {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let run = mixed(since.as_nanos() as u64 ^ u64::from(std::process::id()) << 48) as u32;
    Epoch { unix_seconds: since.as_secs() as i64, run }
}
