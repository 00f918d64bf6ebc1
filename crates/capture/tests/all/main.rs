//! All integration tests of capture, one binary: it is linked once, and what tests share is compiled once.

mod captures;
mod filters;
mod forms;
mod fuzz_corpus;
mod live;
