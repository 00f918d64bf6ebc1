//! Charging as the program runs it: what the command line and the configuration set up alike.

pub mod configured;
pub mod here;
pub mod seat;

mod memory;
