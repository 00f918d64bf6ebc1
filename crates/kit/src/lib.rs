//! What every engine and job stands on: identifiers, checksums of contents and of small texts, clocks that are not
//! believed, configuration, counters, dates, metrics, exit codes, octets, latencies, repeatable chance, files that are
//! put in place, passwords in files, text that strangers wrote, numbers that are forgotten in texts; TLS with servers
//! (feature `tls`), requests to them (`http`) and programs that are run (`program`).
#![forbid(unsafe_code)]

pub mod clock_watch;
pub mod config;
pub mod counters;
pub mod date;
pub mod exit;
pub mod forgotten;
pub mod hash;
pub mod histogram;
#[cfg(feature = "http")]
pub mod http;
pub mod id;
pub mod metrics;
pub mod nearest;
pub mod octets;
pub mod place;
#[cfg(feature = "program")]
pub mod program;
pub mod random;
pub mod sealed;
pub mod secret;
pub mod sums;
#[cfg(feature = "tls")]
pub mod tls;
pub mod untrusted;

pub use id::Id;
