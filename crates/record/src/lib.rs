//! The packet log: every packet kept in pcapng segments with an index, and found again.
#![forbid(unsafe_code)]

pub mod class;
#[doc(hidden)]
#[cfg(test)]
#[path = "../../kit/tests/shared/eventually.rs"]
mod eventually;
pub mod exercise;
pub mod extract;
pub mod identity;
pub mod index;
pub mod job;
pub mod lane;
pub mod names;
pub mod packed;
pub mod query;
pub mod rules;
pub mod segment;

pub use class::Class;
pub use job::Recorder;
pub use lane::{LaneLog, NotRecorded, Recorded, Standing};
pub use names::Segments;
pub use rules::{ClassRules, Rules, RulesInForce, Snap};
