//! All integration tests of graph, one binary: it is linked once, and what tests share is compiled once.

mod answers;
mod around;
mod cacti;
#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
mod expressions;
mod farm;
mod full;
mod house;
mod kill;
mod mended;
mod metrics;
mod objects;
mod picture;
mod polling;
mod probes;
mod realtime;
mod replay;
mod run;
mod scope;
mod world;
