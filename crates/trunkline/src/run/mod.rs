//! `trunkline run`: capture, packet log and analysis as one running program.

pub mod bursts;
pub mod cards;
pub mod charging;
pub mod config;
mod day_sums;
pub mod engine;
pub mod jobs;
pub mod lane;
pub mod log;
pub mod metrics;
pub mod only;
pub mod packet_log;
pub mod recover;
pub mod rows;
pub mod service;
pub mod socket;
pub mod standing;
pub mod status;
pub mod stopped;
pub mod view;

use std::time::{SystemTime, UNIX_EPOCH};

/// The system's time, nanoseconds since 1970.
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Keeps this thread on one processor; where the system refuses, it runs anywhere.
pub fn pin(processor: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(processor);
    if let Err(error) = rustix::thread::sched_setaffinity(None, &set) {
        tracing::warn!(processor, "a lane cannot stay on its processor: {error}");
    }
}
