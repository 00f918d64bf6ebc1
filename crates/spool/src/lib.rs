//! Segments on disk: RAM first, written in aligned blocks, committed by rename; volumes, retention, repair.
//!
//! ```text
//!  lane            lane                  a volume's threads
//!  +--------+      +--------+            +---------------------------+      +---------+
//!  | Writer |----->| blocks |--hand----->| queue -> write (io_uring, |----->| sealer  |--> segment, index
//!  | append |      | 1 MiB  |  over      |  O_DIRECT, several in     |      | sync,   |    committed by
//!  +--------+      +--------+            |  flight) -> block is free |      | rename  |    rename
//!                       ^                +---------------------------+      +---------+
//!                       +-- pool: bounded memory, reserves by priority; queued blocks are packed when disks lag
//! ```
//!
//! A [`Writer`] belongs to one lane and never waits for a disk: an append is a copy into a block, and fails at once,
//! counted, when there is no memory for its priority or no volume that can be written. What was accepted and could not
//! be written later is counted too, and told by [`Spool::losses`]. The crate knows segments, not packets.
#![deny(unsafe_code)]

mod error;
mod event;
mod faults;
mod options;
mod repair;
mod spool;
mod stats;
mod writer;

pub use error::{Dropped, Place, SpoolError};
pub use event::{Event, Loss, What};
pub use faults::{Fault, Faults};
pub use options::{Direct, Engine, Limit, Options, Priority, Volume};
pub use repair::{Mend, PartFile, Repaired, repair};
pub use spool::{Opened, Spool};
pub use stats::{Amount, Counts, Drops, Memory, State, Stats, VolumeStats, Waits};
pub use writer::{Extra, Writer};
