//! All integration tests of cache, one binary: it is linked once, and what tests share is compiled once.

#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
mod hits;
mod image;
mod limits;
mod memcached;
mod model;
mod replay;
mod route;
mod threads;
