//! Probes: what is read otherwise than by SNMP, and whether devices are up. No sockets, no processes and no clock.
//!
//! A [`Prober`] owns devices, each with data sources that are read by a [`Check`] (ICMP echo, a port, a program, a
//! page) and with rounds that tell whether it is up ([`Availability`](crate::inventory::Availability)). It says what is
//! to be done ([`Prober::orders`]), is told what came of it ([`Prober::handle`], [`Prober::handle_echo`]) and what time
//! it is ([`Prober::handle_timeout`], due at [`Prober::next_timeout_ns`]); what it has found are samples as those of
//! [`poller`](crate::poller), and [`Event`]s.
//!
//! ```text
//!  due by its step and phase --> round: what can be on its way at once goes, the rest waits in its order
//!       |                          |  answers, each known by its number      |  its time is over
//!       | the last one still runs  v                                         v
//!       +--> missed, counted     all is known or given up --> a sample; up or down, flapping; what is wrong, in words
//! ```
//!
//! What is on its way at once is bounded for each kind. A device that is down costs nobody else's time: its programs
//! are not started and its documents are not asked for, while echoes, ports and pages whose answer is a reading go on.
//!
//! **Answers are known.** An echo reply counts if it comes from the address that was asked, bears the sequence of a
//! request that is on its way, and the number by chance that this request had; so one to another program's request, a
//! late one and a forged one do not.

mod cadence;
pub mod certificate;
mod counts;
pub mod echo;
mod event;
mod flapping;
mod flight;
pub mod json;
pub mod output;
pub mod page;
mod prober;
pub mod prometheus;
mod round;
mod target;
#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use event::{Event, FAULT_CHARS_MAX};
pub use flapping::{FLAPPING_ROUNDS, Flapping};
pub use flight::{ECHOES_MAX, PAGES_MAX, PORTS_MAX, PROGRAMS_MAX};
pub use prober::{Limits, Order, Outcome, Prober, Standing};
pub use target::{Check, PROBE_DEVICES_MAX, PageKind, Reads, SOURCES_MAX, Source, Target, TargetError};
