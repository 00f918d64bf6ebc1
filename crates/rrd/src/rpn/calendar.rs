//! Days, weeks, months and years where the people are who look at the graph.

/// Where the people are.
pub trait Zone {
    /// Seconds that local time is ahead of UTC at a time of Unix.
    fn ahead_s(&self, unix_s: i64) -> i64;
}

/// UTC itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utc;

impl Zone for Utc {
    fn ahead_s(&self, _: i64) -> i64 {
        0
    }
}

/// What `LTIME`, `NEWDAY` and their like, and `NOW` need to know of the world.
#[derive(Clone, Copy)]
pub struct Calendar<'a> {
    /// Where the people are.
    pub zone: &'a dyn Zone,
    /// The day that a week begins with, Sunday is 0.
    pub first_weekday: u8,
    /// Seconds of Unix, what `NOW` is.
    pub now_s: i64,
}

impl Calendar<'static> {
    /// In UTC, weeks from Sunday on.
    #[must_use]
    pub fn utc(now_s: i64) -> Calendar<'static> {
        Calendar { zone: &Utc, first_weekday: 0, now_s }
    }
}

/// A day in the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub year: i64,
    pub month: u8,
    pub day: u8,
    pub weekday: u8,
}

impl Calendar<'_> {
    pub(super) fn local_s(&self, unix_s: i64) -> i64 {
        unix_s.wrapping_add(self.zone.ahead_s(unix_s))
    }

    /// The Gregorian calendar from days since 1970, by 400-year cycles that begin in March.
    pub(super) fn date(&self, unix_s: i64) -> Date {
        let days = self.local_s(unix_s).div_euclid(86_400);
        let shifted = days + 719_468;
        let (cycle, of_cycle) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
        let of_year = of_cycle - (365 * year + year / 4 - year / 100);
        let march = (5 * of_year + 2) / 153;
        let month = if march < 10 { march + 3 } else { march - 9 };
        Date {
            year: year + cycle * 400 + i64::from(month <= 2),
            month: month as u8,
            day: (of_year - (153 * march + 2) / 5 + 1) as u8,
            weekday: (days + 4).rem_euclid(7) as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let date = |unix_s| {
            let date = Calendar::utc(0).date(unix_s);
            (date.year, date.month, date.day, date.weekday)
        };
        // `date -u -d @N +'%Y %m %d %w'`
        assert_eq!(date(0), (1970, 1, 1, 4));
        assert_eq!(date(951_782_400), (2000, 2, 29, 2));
        assert_eq!(date(1_735_689_599), (2024, 12, 31, 2));
        assert_eq!(date(1_735_689_600), (2025, 1, 1, 3));
        assert_eq!(date(-1), (1969, 12, 31, 3));
    }
}
