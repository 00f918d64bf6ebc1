//! The cache: memcached's protocols over a store of log-structured segments that is read without locks.
//!
//! The design of the store, and the races in it, are described at [`store`].
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod exercise;
pub mod image;
pub mod job;
pub mod peer;
pub mod protocol;
pub mod route;
pub mod service;
pub mod store;
