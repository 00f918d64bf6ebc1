//! The lane engine: each packet is decoded and classified once and passed to the jobs.
//!
//! [`walk`] takes a batch of any source, looks at each packet once ([`class`]) and hands the [`SeenPacket`] to one
//! [`LaneJob`] after the other: the packet log, the analysis of calls. A job decodes nothing itself and calls no other
//! job. Which jobs there are, and in which order, is said by who builds the lane: a tuple of jobs is a job, and an
//! `Option` is one that may be disabled. See docs/decisions/0082.
#![forbid(unsafe_code)]

pub mod class;
pub mod clock;
mod counters;
pub mod files;
mod job;
pub mod live;
mod walk;

pub use class::PacketClass;
pub use counters::DecodeCounters;
pub use job::{LaneJob, NOT_RECORDED, SeenPacket};
pub use walk::{Origin, walk};
