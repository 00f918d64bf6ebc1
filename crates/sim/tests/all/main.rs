//! All integration tests of sim, one binary: it is linked once, and what tests share is compiled once.

mod farm;
mod oracle;
mod world;
