//! All integration tests of store, one binary: it is linked once, and what tests share is compiled once.

mod agreement;
mod broken;
mod crash;
mod removal;
mod replay;
mod sums;
mod versions;
