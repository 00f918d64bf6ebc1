//! Days of the Gregorian calendar, without a time zone. Years begin in March here, so that the leap day is the last
//! one.

/// Seconds of a day.
pub const DAY_SECONDS: i64 = 86_400;

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;
/// Days of four centuries.
const ERA_DAYS: i64 = 146_097;

/// Year, month and day of a day since 1970-01-01.
pub fn date(days: i64) -> (i64, i64, i64) {
    let since = days + DAYS_TO_1970;
    let (era, day) = (since.div_euclid(ERA_DAYS), since.rem_euclid(ERA_DAYS));
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// Days since 1970-01-01; none if there is no such date.
pub fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let year_of_march = year - i64::from(month <= 2);
    let (era, year_of_era) = (year_of_march.div_euclid(400), year_of_march.rem_euclid(400));
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * ERA_DAYS + day_of_era - DAYS_TO_1970;
    (date(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_a_century_and_more() {
        let mut before = date(-1);
        assert_eq!(before, (1969, 12, 31));
        for day in 0..60_000 {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), Some(day));
            assert!((year, month, of_month) > before && (of_month == before.2 + 1 || of_month == 1));
            before = (year, month, of_month);
        }
        assert_eq!((date(11_016), date(20_780)), ((2000, 2, 29), (2026, 11, 23)));
        for (year, month, day) in
            [(2026, 2, 29), (2100, 2, 29), (2026, 13, 1), (2026, 4, 31), (2026, 0, 1), (2026, 1, 0)]
        {
            assert_eq!(days(year, month, day), None, "{year}-{month}-{day}");
        }
    }
}
