//! The HTTP API, sign-in, live events and the pages of the web UI: everything that people and programs see through a
//! browser or a token.
//!
//! ```text
//!  browser --- web: API, pages, sign-in --+-- store             read in SQLite's own way, beside its writer
//!                                         +-- Packets --------- packet log, captures
//!                                         +-- Live ------+----- view of the run in this process
//!                                         |              +----- DATA/spool/run.sock of a run in another one
//!                                         +-- Reader ---------- captures that a user brings, into the store
//!                                         +-- Ages ------------ the time by which kept captures and entries get old
//!                                         +-- Cache -----+----- that of the run, by the same two ways
//!                                         |              +----- servers of memcached's protocol, asked by `stats`
//!                                         +-- Graphing --+----- the job of this process, by `contract::Node`
//!                                         |              +----- DATA/graphs/control.sock of one in another process
//!                                         +-- Alerting -------- DATA/alert/control.sock
//!                                         +-- Charging --+----- DATA/charge/control.sock: orders to the node
//!                                                        +----- DATA/charge/ledger, read beside the node
//!                                                        +----- the store: calls beside a bill, or beside charges
//! ```
//!
//! What is shown comes from the store; the rest comes through the traits of [`sources`], which the program implements,
//! and through contracts: this crate knows no job's inside and cannot tell whether a job is in this process. A job of
//! another version says so, and nothing of it is shown. So the web runs in the process of the capture, in one of its
//! own without rights, or with no capture at all. It asks nobody outside but the identity provider, where one is
//! configured and somebody signs in through it, and the caches that the configuration names. What it writes lies in a
//! folder of its process alone, locked (`spool`), leaves a reserve of the disk ([`room`]), and takes nothing from the
//! packet log's share of it (`trunkline-spool`, `retention/shell.rs`).
//!
//! ```no_run
//! # use trunkline_web::{Mode, Options, Server, Sources};
//! let bound = Server::bind(Options::new("data", Mode::Web))?; // privileges may be dropped after this
//! let handle = bound.serve(Sources::of_store("data/store"))?;
//! println!("{}", handle.link().unwrap_or_else(|| handle.url()));
//! handle.stop();
//! # Ok::<(), trunkline_web::ServeError>(())
//! ```
//!
//! A request goes: connection ([`server`]) -> who is it from and may they (`guard`, by [`auth`]) -> its endpoint
//! (`api`, a file each) -> the store on a bounded number of threads (`stores`).
#![forbid(unsafe_code)]

pub mod api;
pub mod auth;
mod caches;
#[cfg(test)]
#[path = "../../kit/tests/shared/eventually.rs"]
mod eventually;
#[doc(hidden)]
pub mod exercise;
mod guard;
mod live;
mod moment;
mod pages;
mod paths;
mod problem;
pub mod room;
pub mod server;
mod sight;
pub mod sources;
mod spool;
mod state;
mod stores;
pub mod tls;
mod work;

pub use server::{Bound, Handle, Mode, Options, ServeError, Server, Sources};
