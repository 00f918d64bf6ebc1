//! Charging: what usage costs, who pays, and how much may be used next.
//!
//! A [`tariff::Plan`] is read from its file; [`rate`] says by one of its rules what usage costs and how much money and
//! bundles pay for; [`calendar`] knows days, windows and periods of the plan's time zone. All of it is pure: time comes
//! with each call, and a zone's rules come with the program. Money is [`money::Money`], whole minor units; prices are
//! millionths of them, and are rounded once ([`rate`]).
#![forbid(unsafe_code)]

pub mod account;
pub mod calendar;
pub mod money;
pub mod rate;
pub mod session;
pub mod tariff;
pub mod units;
