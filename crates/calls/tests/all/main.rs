//! All integration tests of calls, one binary: it is linked once, and what tests share is compiled once.

mod captures;
mod kinds;
mod live;
mod losses;
mod ports;
mod replay;
mod reported;
mod tap;
mod truth;
mod unread;
mod world;
mod worlds;
