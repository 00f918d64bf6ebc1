//! What every engine and job stands on: identifiers, configuration, counters, metrics, exit codes.
#![forbid(unsafe_code)]

pub mod config;
pub mod counters;
pub mod exit;
pub mod id;
pub mod metrics;
pub mod nearest;

pub use id::Id;
