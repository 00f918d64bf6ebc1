//! SIP dialogs and RTP streams to calls with quality and verdicts.
#![forbid(unsafe_code)]

pub mod job;
