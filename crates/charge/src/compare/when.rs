//! When a line says that a call began: the ways in which carriers write it.

use super::profile::DateOrder;
use crate::calendar::Zone;
use trunkline_kit::date::days_of;

/// Milliseconds since 1970 of what is written; without an offset it is a time of `zone`.
///
/// `2026-11-20T10:00:05.250+01:00` (with a space or `T`, with `Z`, an offset or neither), `20/11/2026 10:00:05` with
/// `/`, `.` or `-` by the order of days and months, `20261120100005`, and seconds since 1970 (nine or ten digits).
pub fn moment(text: &str, order: DateOrder, zone: &Zone) -> Option<i64> {
    let text = text.trim();
    if text.bytes().all(|octet| octet.is_ascii_digit()) && !text.is_empty() {
        return match text.len() {
            9 | 10 => text.parse::<i64>().ok()?.checked_mul(1000),
            12 | 14 => compact(text, zone),
            _ => None,
        };
    }
    let (date, rest) = text.split_once(['T', ' '])?;
    let (year, month, day) = day_of(date, order)?;
    let rest = rest.trim();
    let (clock, offset) = clock_and_offset(rest)?;
    at((year, month, day), clock_of(clock)?, offset, zone)
}

fn compact(text: &str, zone: &Zone) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let seconds = if text.len() == 14 { part(12, 14)? } else { 0 };
    let clock = (part(8, 10)?, part(10, 12)?, seconds, 0);
    at((part(0, 4)?.into(), part(4, 6)?, part(6, 8)?), clock, None, zone)
}

fn day_of(date: &str, order: DateOrder) -> Option<(i64, u32, u32)> {
    let mark = date.chars().find(|c| matches!(c, '-' | '/' | '.'))?;
    let parts: Vec<&str> = date.split(mark).collect();
    let [a, b, c] = parts[..] else { return None };
    let number = |text: &str| {
        let sound = (1..=4).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_digit());
        sound.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (year, month, day) = match order {
        _ if a.len() == 4 => (number(a)?, number(b)?, number(c)?),
        DateOrder::DayFirst => (number(c)?, number(b)?, number(a)?),
        DateOrder::MonthFirst => (number(c)?, number(a)?, number(b)?),
    };
    let year = if (c.len() == 2 && a.len() != 4) && year < 100 { year + 2000 } else { year };
    (year >= 1970).then_some((i64::from(year), month, day))
}

/// The clock, and seconds east of Greenwich if an offset is told.
fn clock_and_offset(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock.trim_end(), Some(0)));
    }
    let Some(place) = text.rfind(['+', '-']) else { return Some((text, None)) };
    let (clock, offset) = text.split_at(place);
    let digits: String = offset[1..].chars().filter(|c| *c != ':').collect();
    let sound = matches!(digits.len(), 2 | 4) && digits.bytes().all(|octet| octet.is_ascii_digit());
    let hours: i64 = sound.then(|| digits[..2].parse().ok()).flatten()?;
    let minutes: i64 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0 };
    let east = hours * 3600 + minutes * 60;
    let whole = hours <= 18 && minutes < 60;
    whole.then_some((clock.trim_end(), Some(if offset.starts_with('-') { -east } else { east })))
}

/// Hours, minutes, seconds, milliseconds.
fn clock_of(text: &str) -> Option<(u32, u32, u32, u32)> {
    let (clock, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let mut parts = clock.split(':');
    let mut next = || {
        let part = parts.next()?;
        let sound = (1..=2).contains(&part.len()) && part.bytes().all(|octet| octet.is_ascii_digit());
        sound.then(|| part.parse::<u32>().ok()).flatten()
    };
    let (hour, minute) = (next()?, next()?);
    let second = if clock.matches(':').count() == 2 { next()? } else { 0 };
    if parts.next().is_some() || fraction.is_empty() || !fraction.bytes().all(|octet| octet.is_ascii_digit()) {
        return None;
    }
    let milli = format!("{fraction:0<3}")[..3].parse().ok()?;
    Some((hour, minute, second, milli))
}

fn at(
    (year, month, day): (i64, u32, u32),
    (hour, minute, second, milli): (u32, u32, u32, u32),
    offset: Option<i64>,
    zone: &Zone,
) -> Option<i64> {
    let days = days_of(year, month, day);
    let is_day = (1..=12).contains(&month) && trunkline_kit::date::of_days(days) == (year, month, day);
    if !is_day || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let of_day = hour * 3600 + minute * 60 + second;
    let seconds = match offset {
        Some(east) => days * 86_400 + i64::from(of_day) - east,
        None => zone.first_at(days, of_day),
    };
    Some(seconds * 1000 + i64::from(milli))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_as_carriers_write_them() {
        let paris = Zone::named("Europe/Paris").expect("Paris");
        let read = |text| moment(text, DateOrder::DayFirst, &paris);
        // 2026-11-20T10:00:05 in Paris is 09:00:05 in Greenwich.
        let at = 1_795_165_205_000;
        for text in [
            "2026-11-20 10:00:05",
            "2026-11-20T09:00:05Z",
            "2026-11-20T10:00:05+01:00",
            "2026-11-20 04:00:05 -0500",
            "20/11/2026 10:00:05",
            "20.11.26 10:00:05",
            "20261120100005",
            "1795165205",
            " 2026-11-20T10:00:05.000+01 ",
        ] {
            assert_eq!(read(text), Some(at), "{text}");
        }
        assert_eq!(moment("11/20/2026 10:00", DateOrder::MonthFirst, &paris), Some(at - 5000));
        assert_eq!(read("2026-11-20 10:00:05.25"), Some(at + 250));
        for wrong in [
            "",
            "2026-11-20",
            "2026-13-01 00:00",
            "31/02/2026 10:00",
            "20-11 10:00",
            "2026-11-20 25:00",
            "x y",
            "2026-11-20 10",
            "2026-11-20 10:00:05+99:00",
            "123",
            "2026-11-20 10:00:00:00",
            "é 10:00",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
