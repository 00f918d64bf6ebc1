//! The shell around graphs: sockets and the clock.

mod polling;

pub use polling::{Polling, PollingOptions, SOCKETS_MAX};
