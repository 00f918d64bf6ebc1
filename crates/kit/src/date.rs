//! Days of the proleptic Gregorian calendar, counted from 1970-01-01.

/// Year, month (1 to 12) and day (1 to 31) of a number of days since 1970-01-01, by eras of 400 years, whose days are
/// always as many (Hinnant, "chrono-compatible low-level date algorithms").
#[inline]
pub fn of_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Years that begin in March: a leap day is the last of its year.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970-01-01 of a date: the inverse of [`of_days`]. A day that its month has not is counted on: February
/// 30th is as many days after the 1st as the number says.
#[inline]
pub fn days_of(year: i64, month: u32, day: u32) -> i64 {
    let (month, day) = (i64::from(month), i64::from(day));
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + year * 365 + year / 4 - year / 100 + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `date -u -d DATE +%s` over 86,400.
    #[test]
    fn known_days() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (19_782, (2024, 2, 29)),
            (20_777, (2026, 11, 20)),
            (47_541, (2100, 3, 1)),
            (-25_509, (1900, 2, 28)),
        ] {
            assert_eq!(of_days(days), date, "{days}");
            assert_eq!(days_of(date.0, date.1, date.2), days, "{date:?}");
        }
    }

    #[test]
    fn each_day_of_eight_centuries_follows_the_one_before() {
        let mut before = of_days(-146_098);
        for days in -146_097..146_097 {
            let (year, month, day) = of_days(days);
            assert_eq!(days_of(year, month, day), days);
            let follows = match before {
                (y, m, d) if d < day => (y, m, d + 1) == (year, month, day),
                (y, 12, 31) => (y + 1, 1, 1) == (year, month, day),
                (y, m, d) => d >= 28 && (y, m + 1, 1) == (year, month, day),
            };
            assert!(follows, "{before:?} {:?}", (year, month, day));
            before = (year, month, day);
        }
    }
}
