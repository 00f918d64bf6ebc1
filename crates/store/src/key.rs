//! The number a call lies under in its day: calls in order of start, and room for those of one nanosecond.
//!
//! 47 bits of nanosecond within the day, then 16 bits of the identifier. Two calls may meet in one number (a capture
//! with coarse times): a backend then takes the next free one, up to [`PROBES_MAX`].

use crate::time::{DAY_NS, Day};
use trunkline_kit::Id;

/// How many numbers are tried for a call before it is refused (and counted).
pub const PROBES_MAX: i64 = 1024;

/// How long a slice of the index of calls is.
pub const SLICE_NS: i64 = 600 * crate::time::SECOND_NS;

/// Slices of a day.
pub const SLICES: i64 = DAY_NS / SLICE_NS;

/// The partition of what has this identifier.
pub fn day_of(id: Id) -> Day {
    Day::of(id.unix_ms().min(i64::MAX / 1_000_000) * 1_000_000)
}

/// The first number to try for a call. The identifier's millisecond decides the day, so that an identifier alone finds
/// its partition; `start_ns` only orders within the millisecond.
pub fn of_call(id: Id, start_ns: i64) -> i64 {
    let ms = id.unix_ms().rem_euclid(DAY_NS / 1_000_000);
    let ns = ms * 1_000_000 + start_ns.rem_euclid(1_000_000);
    let o = id.octets();
    ns << 16 | i64::from(u16::from_be_bytes([o[14], o[15]]))
}

/// The first number at or after a time within its day.
pub fn at(ns_of_day: i64) -> i64 {
    ns_of_day.clamp(0, DAY_NS) << 16
}

/// The slice of a number.
pub fn slice(key: i64) -> i64 {
    (key >> 16) / SLICE_NS
}

/// The numbers of a slice: the first, and the first behind them.
pub fn of_slice(slice: i64) -> (i64, i64) {
    let first = |slice: i64| (slice.clamp(0, SLICES + 1) * SLICE_NS) << 16;
    (first(slice), first(slice.saturating_add(1)))
}
