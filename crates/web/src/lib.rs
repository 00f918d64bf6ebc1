//! The HTTP API, sign-in, live events and the pages of the web UI: everything that people and programs see through a
//! browser or a token.
//!
//! What is shown comes from the store; what is asked of the packet log, of a running capture and of captures that a
//! user brings comes through the traits of [`sources`], which the program implements: this crate knows no job's inside
//! and needs no right to capture.
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
