//! Alerts: rules over series and rows, the states of what they watch, and how people are told.
//!
//! ```text
//!  rules (TOML) ---> rule::read ---> Rules
//!                                      |
//!  samples, rows --> engine::Engine ---+--> transitions --> delivery::Delivery --> messages --> channels
//!                    one subject for     ok, pending,       routes, groups,       (job)         webhook, mail,
//!                    a rule and what     firing, ..         escalation, retries                 syslog, command
//!                    it watches                |                     |
//!                                              +-----> entries <-----+
//!                                              a log on disk (commit): what was told is never told again
//! ```
//!
//! [`rule`], [`engine`], [`delivery`] and [`report`] do no I/O and ask no clock; all that changes what they know is an
//! [`Entry`], so that a log of entries is their memory. [`job`] has the log, the threads and the channels.
#![forbid(unsafe_code)]

pub mod counts;
pub mod delivery;
pub mod engine;
mod entry;
pub mod exercise;
pub mod job;
pub mod report;
pub mod rule;

pub use entry::{Entry, Undecodable};
