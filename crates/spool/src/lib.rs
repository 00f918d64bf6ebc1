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

mod ahead;
mod block;
mod disk;
mod engine;
mod error;
mod event;
mod faults;
mod folder;
mod idle;
mod leave;
mod lock;
mod name;
mod options;
mod packed;
mod packing;
mod pool;
mod progress;
mod queue;
mod repair;
pub mod retention;
mod rewrite;
mod sealing;
mod segment;
mod shared;
mod spool;
mod stats;
mod volume;
mod writer;
mod writing;

pub use ahead::{AHEAD_OCTETS_MAX, AHEAD_PIECES_MAX, Ahead};
pub use error::{Dropped, Place, SpoolError};
pub use event::{EVENTS_MAX, Event, LOSSES_MAX, Loss, What};
pub use faults::{Fault, Faults};
pub use folder::Listing;
pub use idle::idle;
pub use lock::read_lock;
pub use name::{Kinds, PACKED};
pub use options::{Direct, Engine, KEEP_FREE_OCTETS, Limit, Options, PAGE, PRIORITIES, Priority, Volume};
pub use repair::{Mend, PartFile, Repaired, Whole, repair, repair_listed};
pub use rewrite::{Outcome, Rewritten, rewrite};
pub use spool::{Ended, Opened, Spool};
pub use stats::{Amount, Counts, Drops, Memory, State, Stats, VolumeStats, WAIT_BUCKETS, Waits};
pub use writer::{APPEND_OCTETS_MAX, Extra, Writer};
