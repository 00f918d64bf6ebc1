//! What every engine and job stands on: identifiers, configuration, counters, dates, metrics, exit codes.
#![forbid(unsafe_code)]

pub mod config;
pub mod counters;
pub mod date;
pub mod exit;
pub mod id;
pub mod metrics;
pub mod nearest;

pub use id::Id;
