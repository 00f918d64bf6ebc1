//! All integration tests of directory, one binary: it is linked once, and what tests share is compiled once.

mod slapd;
mod strange_servers;
