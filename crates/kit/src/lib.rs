//! What every engine and job stands on: identifiers, configuration, counters, dates, metrics, exit codes, octets,
//! latencies, repeatable chance, passwords in files, and (feature `tls`) TLS with servers.
#![forbid(unsafe_code)]

pub mod config;
pub mod counters;
pub mod date;
pub mod exit;
pub mod histogram;
pub mod id;
pub mod metrics;
pub mod nearest;
pub mod octets;
pub mod random;
pub mod secret;
#[cfg(feature = "tls")]
pub mod tls;

pub use id::Id;
