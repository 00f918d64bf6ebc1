//! Periods of the calendar: days, weeks, months of a plan's time zone.

use super::{Moment, Zone};
use trunkline_kit::date;

trunkline_kit::choices! {
    /// What comes again. A period begins at the first moment of its first local day.
    pub enum Period {
        /// From midnight to midnight.
        Day = "day",
        /// From Monday to Sunday.
        Week = "week",
        /// From the 1st to the last of a month.
        Month = "month",
    }
}

impl Period {
    /// When the period that holds `at` ends, and the next begins.
    ///
    /// Where the clock is put back over midnight the hour that comes twice belongs to the new day at once: a period
    /// never begins twice.
    pub fn end(self, zone: &Zone, at: Moment) -> Moment {
        let mut next = self.next(self.first_day(zone.local(at).day));
        loop {
            let end = zone.first_at(next, 0);
            if end > at {
                return end;
            }
            next = self.next(next);
        }
    }

    /// When the period that holds `at` began: no earlier moment is in it.
    pub fn begin(self, zone: &Zone, at: Moment) -> Moment {
        zone.first_at(self.first_day(zone.local(at).day), 0).min(at)
    }

    /// The first day of the period that holds a day.
    fn first_day(self, day: i64) -> i64 {
        match self {
            Period::Day => day,
            // 1970-01-01 was a Thursday.
            Period::Week => day - (day + 3).rem_euclid(7),
            Period::Month => {
                let (year, month, _) = date::of_days(day);
                date::days_of(year, month, 1)
            }
        }
    }

    /// The first day of the next period.
    fn next(self, first: i64) -> i64 {
        match self {
            Period::Day => first + 1,
            Period::Week => first + 7,
            Period::Month => self.first_day(first + 31),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DAY;
    use super::*;

    #[test]
    fn ends_of_months_with_a_leap_day() {
        let utc = Zone::named("UTC").expect("UTC");
        let at = |year, month, day| date::days_of(year, month, day) * DAY;
        assert_eq!(Period::Month.end(&utc, at(2028, 2, 29) + 5), at(2028, 3, 1));
        assert_eq!(Period::Month.end(&utc, at(2028, 1, 31)), at(2028, 2, 1));
        assert_eq!(Period::Month.end(&utc, at(2028, 12, 31)), at(2029, 1, 1));
        // 2028-02-29 is a Tuesday.
        assert_eq!(Period::Week.end(&utc, at(2028, 2, 29)), at(2028, 3, 6));
        assert_eq!(Period::Day.end(&utc, at(2028, 2, 28)), at(2028, 2, 29));
    }

    #[test]
    fn periods_of_a_zone_follow_each_other() {
        // Clocks of Havana are put back at 01:00 to 00:00, and forward at 00:00 to 01:00.
        for name in ["Europe/Paris", "America/Havana", "Asia/Kathmandu", "Australia/Lord_Howe"] {
            let zone = Zone::named(name).expect(name);
            for period in Period::ALL {
                let mut at = date::days_of(2026, 1, 1) * DAY;
                for _ in 0..400 {
                    let end = period.end(&zone, at);
                    assert!(end > at, "{name}");
                    assert_eq!(period.end(&zone, end - 1), end, "{name}");
                    let clock = (zone.local(end).day, zone.local(end - 1).day);
                    assert!(clock.0 > clock.1, "{name}: a period begins with a new day");
                    at = end;
                }
            }
        }
    }
}
