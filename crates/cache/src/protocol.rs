//! memcached's protocols: octets in, requests out; nothing is allocated for a command.
//!
//! The oracle is memcached 1.6.18: where its documents (protocol.txt, protocol-binary.xml) are silent, what it does
//! holds, down to the words of its errors.

pub mod base64;
pub mod binary;
mod expiry;
pub mod glance;
pub mod meta;
pub mod number;
pub mod text;
pub mod udp;
pub mod words;

pub use expiry::{Now, RELATIVE_SECONDS_MAX};
