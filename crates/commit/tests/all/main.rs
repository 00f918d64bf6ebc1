//! All integration tests of commit, one binary: it is linked once, and what tests share is compiled once.

mod another;
mod committer;
mod copy;
mod crashes;
mod damage;
mod follow;
mod gaps;
mod redact;
mod replay;
mod world;
