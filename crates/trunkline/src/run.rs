//! What `trunkline run` is made of: its configuration, its log, its metrics and its status line.

pub mod config;
#[allow(dead_code, reason = "for the live driver")]
pub mod log;
#[allow(dead_code, reason = "for the live driver")]
pub mod metrics;
#[allow(dead_code, reason = "for the live driver")]
pub mod status;
