//! Charging: what usage costs, who pays, and how much may be used next.
//!
//! ```text
//!  request, now          decides by plan, state              applied as it is found       before the answer leaves
//!  +---------+   +------------------------------------+   +-------------------------+   +--------------------------+
//!  | Request |-->| Core: copies, usage, grants        |-->| Effect -> State         |-->| Entry: durable, then     |
//!  |         |   |  rate: steps, bundles, money, caps |   |  accounts, sessions     |   | Answer                   |
//!  +---------+   +------------------------------------+   +-------------------------+   +--------------------------+
//! ```
//!
//! A [`tariff::Plan`] is read from its file. [`rate`] says by one of its rules what usage costs, and how much money and
//! bundles pay for. [`session::Core`] takes credit-control requests (RFC 8506) without their octets, so that Diameter,
//! GTP' and CDRs of calls are all rated alike. What it does is an [`account::Entry`], and its state is the fold of all
//! entries. [`calendar`] knows days, windows and periods of a plan's time zone. [`gateway`] takes and sends records
//! over GTP' (TS 32.295), each to billing once.
//!
//! All of it but [`ledger`], which keeps entries and snapshots on a disk, is pure: time comes with each call, the rules
//! of time zones come with the program, and the same requests give the same answers. Money is [`money::Money`], whole
//! minor units; prices are millionths of them, added up exactly and rounded at one place ([`rate`]). Rules chosen where
//! the standards are silent stand at [`session`].
//!
//! **What is bounded**: a plan ([`tariff`]), units and money ([`units::UNITS_MAX`], [`money::MONEY_MAX`]), a request
//! ([`session::SERVICES_MAX`] and its neighbours), sessions ([`session::Limits`]), answers that are kept
//! ([`session::KEPT_MAX`]). Not bounded here are accounts and subscribers, which the operator makes.
#![forbid(unsafe_code)]

pub mod account;
pub mod calendar;
pub mod cdr;
pub mod clock;
pub mod compare;
pub mod exercise;
pub mod gateway;
pub mod gy;
pub mod job;
pub mod ledger;
pub mod money;
pub mod numbers;
mod pages;
pub mod peer;
pub mod profile;
pub mod quota;
pub mod rate;
pub mod session;
pub mod tariff;
pub mod traffic;
pub mod trust;
pub mod units;
