//! What every engine and job stands on: identifiers, configuration, counters, dates, metrics, exit codes,
//! latencies, repeatable chance.
#![forbid(unsafe_code)]

pub mod config;
pub mod counters;
pub mod date;
pub mod exit;
pub mod histogram;
pub mod id;
pub mod metrics;
pub mod nearest;
pub mod random;

pub use id::Id;
