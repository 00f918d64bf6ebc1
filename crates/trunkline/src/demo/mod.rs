//! The demonstration: a simulated world as a source of packets, and what is planted in it.
//!
//! From the lanes on it is a run ([`crate::run`]). Its source takes the place of a ring: it hands out what is past as
//! fast as it is taken, and the rest at its time. Its graphs are polled from a farm of devices of `sim` on loopback;
//! their files are made with their past (docs/decisions/0064).

mod blind;
mod charging;
mod farm;
mod load;
mod past;
mod settings;
mod source;

pub use charging::Gateway;
pub use farm::Farming;
pub use load::Load;
pub use settings::{settings, templates_and_rules, world};
pub use source::{Stage, Tapped};
