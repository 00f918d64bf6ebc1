//! The cache: memcached's protocols over a store of log-structured segments that is read without locks.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod exercise;
pub mod protocol;
pub mod service;
pub mod store;
