//! All integration tests of directory, one binary: it is linked once, and what tests share is compiled once.

#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
#[path = "../../../kit/tests/shared/ports.rs"]
mod ports;
mod slapd;
mod strange_servers;
