//! The calendar of a plan: its time zone, local days, holidays, periods. Nothing here asks the machine: the zones come
//! with the program, and time is a number that the caller brings.

mod period;
mod zone;

pub use period::Period;
pub use zone::{Local, TRANSITIONS_FROM_YEAR, TRANSITIONS_UNTIL_YEAR, Zone};

/// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
pub type Moment = i64;

/// A moment after all others: what never ends.
pub const NEVER: Moment = i64::MAX;
/// Seconds of a day without a change of the clock.
pub const DAY: i64 = 86_400;

/// Days of the week, Monday first, and holidays, a bit each; a holiday is no other day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days(pub u8);

impl Days {
    /// Every day.
    pub const ALL: Days = Days(0xff);
    /// Holidays.
    pub const HOLIDAY: Days = Days(1 << 7);
    /// Saturday and Sunday.
    pub const SATURDAY_SUNDAY: Days = Days(0b110_0000);
    /// Names of the bits.
    pub const NAMES: [&str; 8] =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "holiday"];

    /// Whether they have a day in common.
    pub fn meets(self, other: Days) -> bool {
        self.0 & other.0 != 0
    }
}

/// A time zone with weekends and holidays.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// The zone.
    pub zone: Zone,
    /// Days of the weekend.
    pub weekend: Days,
    /// Holidays, in days since 1970-01-01, ascending.
    pub holidays: Vec<i64>,
}

impl Calendar {
    /// Which day of the week, or a holiday, a local day is.
    pub fn day(&self, day: i64) -> Days {
        if self.holidays.binary_search(&day).is_ok() {
            return Days::HOLIDAY;
        }
        // 1970-01-01 was a Thursday.
        Days(1 << (day + 3).rem_euclid(7))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_week_and_holidays() {
        let zone = Zone::named("UTC").expect("UTC");
        // 2026-12-25 is a Friday, and a holiday here; the day after is a Saturday.
        let christmas = 20_812;
        let calendar = Calendar { zone, weekend: Days::SATURDAY_SUNDAY, holidays: vec![christmas] };
        assert_eq!((calendar.day(0), calendar.day(christmas - 1)), (Days(1 << 3), Days(1 << 3)));
        assert_eq!(calendar.day(christmas), Days::HOLIDAY);
        assert!(calendar.day(christmas + 1).meets(Days::SATURDAY_SUNDAY));
        assert!(!calendar.day(christmas).meets(Days(0x7f)));
    }
}
