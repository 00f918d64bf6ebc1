//! The packet log: every packet kept in pcapng segments with an index, and found again.
#![forbid(unsafe_code)]

pub mod class;
pub mod index;
pub mod query;

pub use class::Class;
