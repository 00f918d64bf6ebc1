//! Live capture in a network namespace with a pair of veth interfaces, which each test makes for itself.
//!
//! Skipped, with the reason printed, where the process may not make one.
//!
//! Test group: waits: for packets on a wire.

mod packet;
mod traffic;
mod wire;
mod xdp;
