//! A run from connecting to the report: fill, measure, add up.

use super::Load;
use super::drive::{Driver, Pace};
use super::link::Link;
use super::plan::Plan;
use super::report::Report;
use super::source::Source;
use super::tally::Tally;
use super::versions::Versions;
use crate::descriptors;
use crate::processor;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_show::failure::Failure;
use trunkline_show::stop::Stop;

/// Sets of a stream that wait at a time while a server is filled.
const FILL_IN_FLIGHT: usize = 32;

/// Fills, measures, adds up.
///
/// # Errors
/// Nobody listens, nothing is answered, or the server cannot be filled.
pub fn run(load: &Load, plan: &Plan) -> Result<Report, Failure> {
    let failed = |why: String| Failure::Failed(format!("{}: {why}", load.target));
    descriptors::allow(plan.connections as u64);
    let stop = Stop::on_signals();
    let flag = stop.flag();
    let versions = plan.verify.then(|| Versions::new(run_number(), plan.keys, !load.udp));
    let mut drivers = drivers(load, plan, &flag)?;
    if load.fill {
        fill(&mut drivers, plan, versions.as_ref(), load.udp).map_err(failed)?;
    }
    let before = load.pid.map(processor::time_of).transpose().map_err(Failure::Failed)?;
    let start = Instant::now();
    let end_ns = Some(plan.run.as_nanos() as u64);
    let tally = together(&mut drivers, start, |thread| {
        let source = Source::of_run(plan, versions.as_ref(), thread as u64);
        (source, Pace { due: due(plan, thread), end_ns, in_flight: plan.in_flight })
    });
    let elapsed = if stop.is_asked() { start.elapsed().min(plan.run) } else { plan.run };
    let after = load.pid.map(processor::time_of).transpose().map_err(Failure::Failed)?;
    if tally.requests == 0 {
        let why = tally.why.unwrap_or_else(|| format!("no answer within {} ms", plan.patience.as_millis()));
        return Err(failed(why));
    }
    let processor = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok(Report { elapsed, tally, rate: plan.rate, verified: plan.verify, processor })
}

/// First and step, in nanoseconds: the threads take turns.
fn due(plan: &Plan, thread: usize) -> Option<(f64, f64)> {
    let each = 1e9 / plan.rate? as f64;
    Some((each * thread as f64, each * plan.threads as f64))
}

fn drivers<'a>(load: &Load, plan: &'a Plan, stop: &'a AtomicBool) -> Result<Vec<Driver<'a>>, Failure> {
    let mut links: Vec<Vec<Link>> = (0..plan.threads).map(|_| Vec::new()).collect();
    for number in 0..plan.connections {
        links[number % plan.threads].push(Link::open(&load.target, load.udp, number as u32, plan)?);
    }
    let drivers = links.into_iter().map(|links| Driver::new(plan, links, stop)).collect::<Result<_, _>>();
    drivers.map_err(|e| Failure::Failed(format!("{}: {e}", load.target)))
}

fn fill(drivers: &mut [Driver<'_>], plan: &Plan, versions: Option<&Versions>, udp: bool) -> Result<(), String> {
    let in_flight = if udp { plan.in_flight } else { FILL_IN_FLIGHT };
    let bound = |thread: usize| (u64::from(plan.keys) * thread as u64 / plan.threads as u64) as u32;
    let tally = together(drivers, Instant::now(), |thread| {
        let keys = bound(thread)..bound(thread + 1);
        (Source::of_fill(plan, versions, thread as u64, keys), Pace { due: None, end_ns: None, in_flight })
    });
    let stored = tally.sets - tally.errors.min(tally.sets);
    if stored < u64::from(plan.keys) {
        let why = tally.why.unwrap_or_else(|| "it was stopped".to_owned());
        return Err(format!("stored {stored} of {} keys to begin with: {why}", plan.keys));
    }
    Ok(())
}

/// All threads at once; their tallies together.
fn together<'p>(drivers: &mut [Driver<'_>], start: Instant, of: impl Fn(usize) -> (Source<'p>, Pace) + Sync) -> Tally {
    let of = &of;
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let threads = drivers.iter_mut().enumerate().map(|(thread, driver)| {
            scope.spawn(move || {
                let (source, pace) = of(thread);
                driver.run(source, pace, start)
            })
        });
        let threads: Vec<_> = threads.collect();
        for thread in threads {
            match thread.join() {
                Ok(tally) => all.add(tally),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    all
}

/// Tells the values of this run from those that an earlier one has left.
fn run_number() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    trunkline_kit::random::mixed(since.as_nanos() as u64 ^ u64::from(std::process::id()) << 48) as u32
}
