//! Typed rows in day partitions, the filter language over them, and the backends that keep them.
//!
//! Jobs make [`row::Rows`]; [`Store`] keeps them and finds them again; [`json`] shows them to other programs.
#![forbid(unsafe_code)]

pub mod backend;
pub mod checked;
pub mod columns;
pub mod delay;
pub mod detail;
pub mod entry;
pub mod error;
#[doc(hidden)]
pub mod exercise;
pub mod filter;
pub mod gist;
pub mod journal;
pub mod json;
pub mod key;
pub mod ladder;
pub mod packed;
pub mod removal;
pub mod retention;
pub mod rollup;
pub mod row;
pub mod schema;
pub mod search;
pub mod stop;
pub mod store;
pub mod summary;
pub mod time;
pub mod worst;

pub use error::{Skipped, StoreError};
pub use filter::{Filter, FilterError};
pub use search::{Counts, Outcome, Search};
pub use stop::Stop;
pub use store::{Access, Cursor, Found, Order, Page, Query, SqlDone, SqlLimits, SqlValue, Store};
pub use summary::{Bucket, Summary, SummaryQuery};
