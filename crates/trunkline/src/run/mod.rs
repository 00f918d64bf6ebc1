//! `trunkline run`: capture, packet log and analysis as one running program, with the jobs beside it ([`jobs`]).
//!
//! ```text
//!  interface     a lane's thread, one for each ring (lane::live)           signalling       gatherer     store
//!  +-------+   +----------+   +----------+   +---------------------+ told +------------+ +----------+ +------+
//!  | ring  |-->| walk:    |-->| LaneLog: |-->| Front: SIP and RTCP |----->| Owner:     |>| Gatherer |>| rows |
//!  | of the|   | decode,  |   | record,  |   | are told, RTP waits |<-----| merges by  | | joins an | | a day|
//!  | kernel|   | classify |   | index    |   | in the ring, then   |epochs| time       | | epoch    | +------+
//!  +-------+   +----------+   +----+-----+   | is followed         |--------------------->| answered |
//!                                  |         +---------------------+  answers           +----------+
//!                                  v
//!                     spool: blocks, disk threads, segment with its index
//! ```
//!
//! Each ring of an interface has a thread, and the kernel gives both directions of a flow to the same ring
//! (`capture::live::fanout`). [`lane`] says in one tuple which jobs its packets go to: the packet log copies a packet
//! into a block of the segment of its class and enters it in the segment's index, and that place is what rows name as
//! the packet's file and offset; then calls takes it. How lanes and signalling find each other without sharing anything
//! on the way of a packet is docs/decisions/0016.
//!
//! Rings and sockets are opened first, then privileges are given up, then files are opened and threads started
//! ([`service`]). What the network card and the kernel lost before any ring is read from their counters each second
//! ([`cards`]). Rows that the store does not take wait in a journal on disk ([`rows`]), encoded by `store::journal`;
//! rows of charging go to the same writer, and stay in their own files until they are committed (`rows/asked.rs`).
//! Calls that were up when the run before ended are read again from the packet log ([`recover`],
//! docs/decisions/0075). Under pressure the packet log gives up other packets before RTP before SIP, by reserves of
//! memory, and every packet that is not recorded or not seen is counted with its place and interval, and becomes a row
//! of losses.

pub mod bursts;
pub mod cards;
pub mod charging;
pub mod config;
mod day_sums;
pub mod engine;
pub mod jobs;
pub mod lane;
pub mod log;
pub mod metrics;
pub mod only;
pub mod packet_log;
pub mod recover;
pub mod rows;
pub mod service;
pub mod socket;
pub mod standing;
pub mod status;
pub mod stopped;
pub mod view;

use std::time::{SystemTime, UNIX_EPOCH};

/// The system's time, nanoseconds since 1970.
pub fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Keeps this thread on one processor; where the system refuses, it runs anywhere.
pub fn pin(processor: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(processor);
    if let Err(error) = rustix::thread::sched_setaffinity(None, &set) {
        tracing::warn!(processor, "a lane cannot stay on its processor: {error}");
    }
}
