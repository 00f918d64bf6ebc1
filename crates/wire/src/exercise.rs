//! Drives every parser with any octets: one function per fuzz target, also called by the test that replays the corpora.

mod packets;

pub use packets::{decode, ip_reassembly, sctp, tcp_reassembly};
