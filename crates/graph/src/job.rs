//! The shell around graphs: sockets, processes and the clock.

mod polling;
mod probing;

pub use polling::{Polling, PollingOptions, SOCKETS_MAX};
pub use probing::{EchoRight, OwnMetrics, Probing, ProbingOptions};
