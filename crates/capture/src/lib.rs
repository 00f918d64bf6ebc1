//! Sources of packets.
#![forbid(unsafe_code)]

pub mod batch;

pub use batch::{Batch, CaptureLoss, LossPlace, Packet};
