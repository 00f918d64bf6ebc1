//! Network interfaces and the clock of this machine, as the kernel tells of them.

pub mod clock;
pub mod ethtool;
