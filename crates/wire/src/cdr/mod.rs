//! Charging data records: the packet gateway's record in BER (3GPP TS 32.298) and the files they are stored in
//! (TS 32.297).
//!
//! [`PgwRecord`] is written in one pass from its end to its beginning, so that every length is known when it is written
//! and nothing is built in between; it is read back to be checked and shown. [`mod@file`] writes and reads the headers
//! of files and of the records in them.
//!
//! Left out on purpose: records of other nodes, quality of service in records, the packed encoding rules.

pub mod ber;
mod container;
mod display;
pub(crate) mod exercise;
pub mod file;
mod record;
mod value;

#[cfg(test)]
mod tests;

pub use container::{ServiceUsage, TrafficVolume, service_condition};
pub use record::{PgwRecord, closing};
pub use value::{Digits, List, ListValues, RecordTime};
