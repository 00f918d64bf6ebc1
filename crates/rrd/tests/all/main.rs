//! All integration tests of rrd, one binary: it is linked once, and what tests share is compiled once.

mod crashes;
mod failures;
mod files;
mod numbers;
mod power;
mod replay;
mod spikes;
mod world;
mod writer;
