//! What every engine and job stands on: identifiers, counters, exit codes.
#![forbid(unsafe_code)]

pub mod counters;
pub mod exit;
pub mod id;

pub use id::Id;
