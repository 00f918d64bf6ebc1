//! Typed rows in day partitions, the filter language over them, and the backends that keep them.
#![forbid(unsafe_code)]

pub mod row;
