//! The HTTP API, sign-in, live events and the pages of the web UI: everything that people and programs see through a
//! browser or a token.
//!
//! What is shown comes from the store; what is asked of the packet log, of a running capture and of captures that a
//! user brings comes through the traits of [`sources`], which the program implements: this crate knows no job's inside
//! and needs no right to capture.
#![forbid(unsafe_code)]

pub mod auth;
pub mod sources;
