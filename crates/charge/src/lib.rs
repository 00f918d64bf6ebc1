//! Charging.
#![forbid(unsafe_code)]

pub mod calendar;
pub mod money;
pub mod rate;
pub mod tariff;
pub mod units;
