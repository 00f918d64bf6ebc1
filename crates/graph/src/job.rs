//! The shell around graphs: sockets and the clock.

mod drawing;
mod polling;

pub use drawing::{Drawing, DrawingCounters, DrawingOptions, NotDrawn, PICTURE_OCTETS_MAX};
pub use polling::{Polling, PollingOptions, SOCKETS_MAX};
