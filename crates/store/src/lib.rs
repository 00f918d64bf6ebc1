//! Typed rows in day partitions, the filter language over them, and the backends that keep them.
//!
//! Jobs make [`row::Rows`]; [`Store`] keeps them and finds them again; [`json`] shows them to other programs.
#![forbid(unsafe_code)]

pub mod detail;
#[doc(hidden)]
pub mod exercise;
pub mod filter;
pub mod json;
pub mod ladder;
pub mod packed;
pub mod row;
pub mod time;
pub mod worst;

pub use filter::{Filter, FilterError};
