//! All integration tests of record, one binary: it is linked once, and what tests share is compiled once.

mod crash;
mod damage;
#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
mod faults;
mod housekeeping;
mod log;
mod packed;
mod queries;
mod replay;
mod support;
mod traffic;
