//! All integration tests of alert, one binary: it is linked once, and what tests share is compiled once.

mod answers;
mod channels;
mod crash;
mod forget;
mod replay;
mod report;
mod world;
