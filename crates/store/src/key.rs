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

/// First and last identifier that begin with these digits; none if it is not the beginning of an identifier.
pub fn ids_of_prefix(text: &str) -> Option<(Id, Id)> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if digits.len() < 4 || digits.len() > 32 {
        return None;
    }
    let value = u128::from_str_radix(&digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
    let rest = 4 * (32 - digits.len() as u32);
    let first = value.checked_shl(rest).unwrap_or(0);
    let last = first | (1u128.checked_shl(rest).unwrap_or(0)).wrapping_sub(1);
    Some((Id::from_octets(first.to_be_bytes()), Id::from_octets(last.to_be_bytes())))
}

/// Narrows a range of identifiers to those of a day.
pub fn within_day(first: Id, last: Id, day: Day) -> (Id, Id) {
    let ms = |ns: i64| (ns.max(0) / 1_000_000) as u128;
    let day_first = Id::from_octets((ms(day.start_ns()) << 80).to_be_bytes());
    let day_last = Id::from_octets(((ms(day.end_ns()) << 80).wrapping_sub(1)).to_be_bytes());
    (first.max(day_first), last.min(day_last))
}
