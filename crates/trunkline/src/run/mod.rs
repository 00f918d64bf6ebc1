//! `trunkline run`: capture, packet log and analysis as one running program.

pub mod engine;
pub mod lane;
pub mod rows;

use std::time::{SystemTime, UNIX_EPOCH};

/// The system's time, nanoseconds since 1970.
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
