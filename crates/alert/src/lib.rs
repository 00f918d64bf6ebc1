//! Alerts.
#![forbid(unsafe_code)]
pub mod counts;
pub mod rule;
