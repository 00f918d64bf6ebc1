//! Octets in, values out: one file per protocol and file format.
//!
//! Nothing here does I/O, reads a clock or keeps more than it says. Every view is checked once when it is made; a value
//! that could not be read is an error with its place, never a panic.
#![forbid(unsafe_code)]

pub mod address;
pub mod decode;
#[doc(hidden)]
pub mod exercise;
pub mod pcap;
pub mod pcapng;

pub use address::{Address, Endpoint};
pub use decode::{Datagram, Decoded, Fragment, Layer, TcpHeader};
