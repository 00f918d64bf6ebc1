//! The cache as the program runs it and looks at it: what the command line and the configuration set up alike, and what
//! is told of a cache, whether it runs here or is asked by its own protocol.

pub mod answer;
pub mod ask;
pub mod configured;
pub mod files;
pub mod here;
pub use trunkline_load::cache::target;
pub mod told;
