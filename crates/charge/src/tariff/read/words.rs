//! Days, dates and times as they are written.

use crate::calendar::{DAY, Days, Moment, Zone};
use trunkline_kit::date;
use trunkline_kit::nearest::suggestion;

/// A day of the week, or `holiday`.
pub fn day(name: &str) -> Result<Days, String> {
    match Days::NAMES.iter().position(|known| *known == name) {
        Some(bit) => Ok(Days(1 << bit)),
        None => Err(format!("no day '{name}'{}", suggestion(name, Days::NAMES.into_iter()))),
    }
}

/// `2026-12-25`, as days since 1970-01-01.
pub fn date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let days = date::days_of(i64::from(year), month, day);
    ((1..=12).contains(&month) && date::of_days(days) == (i64::from(year), month, day)).then_some(days)
}

/// `2026-12-25` or `2026-12-25 06:00`, by the clock of a zone.
pub fn moment(text: &str, zone: &Zone) -> Option<Moment> {
    let (day, time) = text.split_once(' ').unwrap_or((text, "00:00"));
    Some(zone.first_at(date(day)?, second(time).filter(|second| i64::from(*second) < DAY)?))
}

/// `22:00-06:00`: the first second, and the one after the last.
pub fn window(text: &str) -> Result<(u32, u32), String> {
    let read = || {
        let (begin, end) = text.split_once('-')?;
        Some((second(begin)?, second(end)?)).filter(|(begin, end)| begin != end && i64::from(*begin) < DAY)
    };
    read().ok_or_else(|| format!("'{text}' is no time of the day such as \"08:00-18:00\""))
}

/// Seconds of `06:30`; `24:00` is the end of the day.
fn second(text: &str) -> Option<u32> {
    let (hour, minute) = text.trim().split_once(':')?;
    let (hour, minute) = (number(hour)?, number(minute)?);
    let second = hour.checked_mul(3600)? + minute * 60;
    (hour <= 24 && minute < 60 && i64::from(second) <= DAY).then_some(second)
}

fn number(digits: &str) -> Option<u32> {
    let whole = (1..=4).contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_digit());
    whole.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times() {
        assert_eq!((date("2028-02-29"), date("2026-02-29"), date("2026-13-01")), (Some(21_243), None, None));
        assert_eq!((date("26-1-1"), date("2026-01-01-"), date("")), (None, None, None));
        assert_eq!(window("08:00-18:30"), Ok((28_800, 66_600)));
        assert_eq!(window("00:00-24:00"), Ok((0, 86_400)));
        for wrong in ["8-18", "08:00", "08:00-08:00", "24:00-06:00", "08:60-09:00", "25:00-26:00"] {
            assert!(window(wrong).is_err(), "{wrong}");
        }
        let paris = Zone::named("Europe/Paris").expect("Paris");
        assert_eq!(moment("1970-01-02 01:00", &paris), Some(86_400));
        assert_eq!(moment("1970-01-02 24:00", &paris), None);
    }
}
