//! All integration tests of calls, one binary: it is linked once, and what tests share is compiled once.

mod captures;
mod clock;
mod fax;
mod field;
mod forks;
mod holes;
mod ice;
mod keys;
mod kinds;
mod legs;
mod live;
mod losses;
mod nat;
mod over_tcp;
mod ports;
mod replay;
mod reported;
mod setup;
mod tap;
mod tape;
mod truth;
mod turn;
mod unreachable;
mod unread;
mod world;
mod worlds;
