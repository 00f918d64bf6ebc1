//! The demonstration: a simulated world as a source of packets, and what is planted in it.

mod blind;
mod charging;
mod load;
mod settings;
mod source;

pub use charging::Gateway;
pub use load::Load;
pub use settings::{settings, world};
pub use source::{Stage, Tapped};
