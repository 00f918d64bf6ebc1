//! The demonstration: a simulated world as a source of packets, and what is planted in it.

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
