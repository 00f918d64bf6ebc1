//! Calls that were up when the program ended, or whose rows were not stored yet, are made anew out of the packet log at
//! the next start, beside the live capture.
//!
//! A [`checkpoint`] says from where. What is read is what `trunkline read` would read of the same segments ([`pass`]):
//! first signalling alone, which says which calls were up, then all, for their media. Calls that go on are read once
//! more when the live capture has seen their end, from their beginning to their end, so that each has one row; what the
//! live capture alone makes of their second half is left out ([`live`]). Decision 0075 has the reasons.

pub mod checkpoint;
mod keeper;
mod live;
mod pass;
mod reader;
mod running;
mod state;

pub use running::{Prepared, Running};
pub use state::Recovery;

/// What the note of a call begins with whose row was made out of the packet log after a restart.
pub const NOTE: &str = "recovered from the packet log after a restart";
