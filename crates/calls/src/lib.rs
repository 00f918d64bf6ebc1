//! SIP dialogs and RTP streams to calls with quality and verdicts.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod exercise;
pub mod job;
pub mod payload;
pub mod stream;
