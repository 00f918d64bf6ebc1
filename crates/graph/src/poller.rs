//! Polling: what is asked of devices by SNMP, when, and what comes of it. No sockets and no clock.
//!
//! A [`Lane`] owns devices. It is told what has come ([`Lane::handle`]) and what time it is
//! ([`Lane::handle_timeout`], due at [`Lane::next_timeout_ns`]); it says what is to be sent ([`Lane::transmits`]) and
//! what it has found ([`Lane::batch`]).
//!
//! ```text
//!  due by its step and phase --> cycle: sysUpTime and the first readings --> the rest, packed, several on their way
//!       |                          |  no answer: the cycle is over, once     |  tooBig, noSuchName: smaller ones
//!       | the last one still runs  v                                         v
//!       +--> missed, counted     all readings are known or why they are not --> samples, up or down, restarted
//! ```
//!
//! A device that does not answer costs one small request a cycle: it delays nobody. What is on its way at once is
//! bounded for each device and for the lane. What was found and what is to be sent is for the caller to take after each
//! call: neither is kept from growing by anything else.

mod counts;
mod cycle;
mod device;
mod health;
mod lane;
mod outstanding;
mod pace;
mod requests;
mod responses;
mod sample;
mod secured;
mod target;
#[cfg(test)]
mod tests;
mod timers;
mod uptime;
mod variables;
mod walk;

pub use counts::Counts;
pub(crate) use health::is_check_near;
pub use health::{Change, Health};
pub use lane::{Lane, LaneOptions, Now};
pub use outstanding::OUTSTANDING_MAX;
pub use sample::{Batch, Event, Reading, Sample, Unknown, Walked};
pub use target::{Access, DEVICES_MAX, Security, Settings, Source, Target, TargetError, User, VARIABLES_MAX};
pub use walk::{WALK_VARIABLES_MAX, WALKS_MAX, WalkEnd, WalkError};
