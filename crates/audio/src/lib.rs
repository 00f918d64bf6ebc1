//! Codecs and what is published about them, jitter-buffer models and scores of speech quality.
//!
//! No I/O, no clock, no memory from the heap: what arrives and when is told by the caller.
#![forbid(unsafe_code)]

pub mod buffer;
pub mod codec;
pub mod e_model;
pub mod playout;
pub mod voipmonitor;

pub use codec::Codec;
