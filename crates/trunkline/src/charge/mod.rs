//! Charging as the program runs it: what the command line and the configuration set up alike.

pub mod asked;
pub mod bill;
pub mod configured;
pub mod damage;
pub mod gtpp;
pub mod here;
pub mod seat;

mod memory;
pub mod records;
pub mod rows;
