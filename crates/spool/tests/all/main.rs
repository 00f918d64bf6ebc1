//! All integration tests of spool, one binary: it is linked once, and what tests share is compiled once.

#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
mod faults;
mod kill;
mod random;
mod retention;
mod small_disk;
mod support;
mod writing;
