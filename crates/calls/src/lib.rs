//! SIP dialogs and RTP streams to calls with quality and verdicts.
//!
//! A packet comes decoded and classified from the lane engine (`trunkline-lane`), of which this is a job: [`pipeline`]
//! for files, [`live`] for rings. [`transport`] makes SIP messages of what is signalling; [`signalling`] makes calls,
//! registrations and events of those and tells the lanes ([`media`]) what to expect; a [`lane`] follows RTP and RTCP;
//! [`join`] brings both together, with the [`ledger`] of the capture, the watch over the [`tap`] and a [`verdict`].
//! What is neither is named and counted ([`unread`]). Where the capture's [`clock`] was set, all of them see a time
//! that goes on; what several files hold alike is there once ([`copies`]). None of these does I/O or reads a clock;
//! [`pipeline`] and [`job`] drive them.
#![forbid(unsafe_code)]

pub mod clock;
pub mod copies;
#[doc(hidden)]
pub mod exercise;
pub mod job;
pub mod join;
pub mod lane;
pub mod ledger;
pub mod limits;
pub mod live;
pub mod media;
pub mod payload;
pub mod pipeline;
pub mod seen;
pub mod signalling;
pub mod stream;
pub mod tap;
pub mod transport;
pub mod unread;
pub mod verdict;
