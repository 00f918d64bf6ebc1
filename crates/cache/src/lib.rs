//! The cache: memcached's protocols over a store of log-structured segments that is read without locks.
//!
//! The design of the store, and the races in it, are described at [`store`].
#![forbid(unsafe_code)]

pub mod store;
