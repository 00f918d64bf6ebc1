//! What leaves the packet log, and when: by age and size of its class, by size and free space of its volume, the oldest
//! first, never what is pinned or being read.
//!
//! [`plan`] decides and touches nothing; [`Retention`] lists the files, asks it, and removes or moves them.

mod pins;
mod plan;
mod shell;

pub use pins::{PINS_MAX, Pin, Pins};
pub use plan::{Action, ClassRule, Reason, Rules, Step, Stored, VolumeRule, plan};
pub use shell::{Removed, Retention, RetentionOptions, Swept};
pub use trunkline_kit::clock_watch::{CONFIRM, ClockWatch, JUMP};
