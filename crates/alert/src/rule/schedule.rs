//! When reports are made, and of which time they tell, by the clocks of a zone.

use super::week::{DAYS, MINUTES_OF_DAY, Zone, clock, days};
use core::fmt;
use jiff::ToSpan;
use jiff::civil::{Date, DateTime};
use trunkline_kit::config::{Raw, Value, quoted};

/// Days that lie between two times of a schedule at most, and some.
const DAYS_APART_MAX: usize = 40;
/// Days, weeks or months of a length.
const COUNT_MAX: u16 = 400;

/// A time of a schedule: `daily 06:30`, `Mon 07:00`, `Mon-Fri 07:00`, `1st 06:00`, `last day 06:00`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    days: Days,
    /// Minutes since midnight.
    minute: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Days {
    Every,
    Week([bool; 7]),
    /// Of the month; a month that is shorter has its last day instead.
    Month(i8),
    Last,
}

impl When {
    /// Reads one.
    pub fn parse(text: &str) -> Option<When> {
        let (left, right) = text.trim().rsplit_once(char::is_whitespace)?;
        let minute = clock(right).filter(|minute| *minute < MINUTES_OF_DAY)?;
        let words: Vec<String> = left.split_whitespace().map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let days = match words.as_slice() {
            ["daily"] => Days::Every,
            ["last"] | ["last", "day"] => Days::Last,
            [one] => days(one).map(Days::Week).or_else(|| day_of_month(one).map(Days::Month))?,
            _ => return None,
        };
        Some(When { days, minute })
    }

    /// Whether it is at a day.
    fn takes(&self, date: Date) -> bool {
        match &self.days {
            Days::Every => true,
            Days::Week(days) => days[usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0) % 7],
            Days::Month(day) => date.day() == (*day).min(date.days_in_month()),
            Days::Last => date.day() == date.days_in_month(),
        }
    }

    fn of(&self, date: Date) -> DateTime {
        let (hour, minute) = (self.minute / 60, self.minute % 60);
        date.at(i8::try_from(hour).unwrap_or(0), i8::try_from(minute).unwrap_or(0), 0, 0)
    }

    /// Whether it follows the ends of months.
    fn is_at_end(&self) -> bool {
        matches!(self.days, Days::Last | Days::Month(29..))
    }

    /// When it is next after a time, seconds since 1970.
    pub fn next_after(&self, zone: &Zone, at_s: i64) -> Option<i64> {
        // Where clocks are put forward a time of the day before may lie in this one.
        let first = zone.civil(at_s).date().yesterday().ok()?;
        let dates = core::iter::successors(Some(first), |date| date.tomorrow().ok()).take(DAYS_APART_MAX);
        dates.filter(|date| self.takes(*date)).find_map(|date| zone.at(self.of(date)).filter(|next| *next > at_s))
    }
}

/// When a schedule is next after a time, seconds since 1970.
pub fn next_after(schedule: &[When], zone: &Zone, at_s: i64) -> Option<i64> {
    schedule.iter().filter_map(|when| when.next_after(zone, at_s)).min()
}

/// `1st`, `2nd`, `23rd`, `31st`.
fn day_of_month(text: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| text.strip_suffix(end))?;
    let day = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
    day.filter(|day| (1..=31).contains(day))
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.days {
            Days::Every => f.write_str("daily")?,
            Days::Last => f.write_str("last day")?,
            Days::Week(days) => {
                let names: Vec<&str> = (0..7).filter(|day| days[*day]).map(|day| DAYS[day]).collect();
                f.write_str(&names.join(","))?;
            }
            Days::Month(day) => {
                let end = match (day % 10, day / 10) {
                    (1, 0 | 2 | 3) => "st",
                    (2, 0 | 2) => "nd",
                    (3, 0 | 2) => "rd",
                    _ => "th",
                };
                write!(f, "{day}{end}")?;
            }
        }
        write!(f, " {:02}:{:02}", self.minute / 60, self.minute % 60)
    }
}

impl Value for When {
    fn kind() -> String {
        "a time such as \"Mon 07:00\", \"daily 06:30\", \"1st 06:00\" or \"last day 06:00\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        raw.as_text().and_then(When::parse).ok_or_else(wrong)
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

/// How much time a report tells of: `1 day`, `2 weeks`, `1 month`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    count: u16,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Day,
    Week,
    Month,
}

impl Length {
    /// A day.
    pub const DAY: Length = Length { count: 1, unit: Unit::Day };

    /// Reads one.
    pub fn parse(text: &str) -> Option<Length> {
        let (count, unit) = text.trim().split_once(char::is_whitespace)?;
        let unit = match unit.trim() {
            "day" | "days" => Unit::Day,
            "week" | "weeks" => Unit::Week,
            "month" | "months" => Unit::Month,
            _ => return None,
        };
        let count = count.parse().ok().filter(|count| (1..=COUNT_MAX).contains(count))?;
        Some(Length { count, unit })
    }

    /// When the span began that ends at a time: the same time of the day so many days or months before. For a schedule
    /// that follows the ends of months, at the end of that month.
    pub fn begin(&self, schedule: &[When], zone: &Zone, end_s: i64) -> i64 {
        let (civil, is_at_end) = nominal(schedule, zone, end_s);
        let back = match self.unit {
            Unit::Day => i64::from(self.count).days(),
            Unit::Week => i64::from(self.count).weeks(),
            Unit::Month => i64::from(self.count).months(),
        };
        let Ok(mut begin) = civil.checked_sub(back) else { return end_s };
        if self.unit == Unit::Month && is_at_end && civil.date().day() == civil.date().days_in_month() {
            begin = begin.date().last_of_month().to_datetime(begin.time());
        }
        zone.at(begin).unwrap_or(end_s)
    }
}

/// What a schedule means by a time, and whether it follows the ends of months: where clocks are put forward they show
/// another time then.
fn nominal(schedule: &[When], zone: &Zone, at_s: i64) -> (DateTime, bool) {
    let shown = zone.civil(at_s);
    let dates = [shown.date().yesterday().ok(), Some(shown.date())];
    for date in dates.into_iter().flatten() {
        let meant = |when: &&When| when.takes(date) && zone.at(when.of(date)) == Some(at_s);
        if let Some(when) = schedule.iter().find(meant) {
            return (when.of(date), when.is_at_end());
        }
    }
    (shown, false)
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Day => "day",
            Unit::Week => "week",
            Unit::Month => "month",
        };
        write!(f, "{} {unit}{}", self.count, if self.count == 1 { "" } else { "s" })
    }
}

impl Value for Length {
    fn kind() -> String {
        "a length such as \"1 day\", \"1 week\" or \"1 month\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        raw.as_text().and_then(Length::parse).ok_or_else(wrong)
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn zone(name: &str) -> Zone {
        Zone::of(&Raw::Text(name.to_owned())).unwrap()
    }

    fn when(text: &str) -> When {
        When::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn times_are_read_and_written() {
        for (text, written) in [
            ("Mon 07:00", "mon 07:00"),
            ("daily 06:30", "daily 06:30"),
            ("1st 06:00", "1st 06:00"),
            ("22nd 6:05", "22nd 06:05"),
            ("13th 23:59", "13th 23:59"),
            ("last day 06:00", "last day 06:00"),
            ("Fri-Mon 00:00", "mon,fri,sat,sun 00:00"),
        ] {
            assert_eq!(when(text).to_string(), written);
            assert_eq!(When::parse(written), Some(when(text)));
        }
        for wrong in ["", "07:00", "Mon", "Mon 24:00", "0th 06:00", "32nd 06:00", "first 06:00", "Mon 7", "1 06:00"] {
            assert_eq!(When::parse(wrong), None, "{wrong}");
        }
        for (text, right) in [("1 day", true), ("2 weeks", true), ("1 month", true), ("0 days", false), ("week", false)]
        {
            assert_eq!(Length::parse(text).map(|length| length.to_string()), right.then(|| text.to_owned()));
        }
    }

    /// `TZ=Europe/Berlin date -d 'YYYY-MM-DD HH:MM' +%s`.
    #[test]
    fn spans_are_exact_by_the_calendar() {
        let berlin = zone("Europe/Berlin");
        let at = |text: &str| berlin.read(text).unwrap();
        let begin = |length: &str, schedule: &str, end: &str| {
            let begin = Length::parse(length).unwrap().begin(&[when(schedule)], &berlin, at(end));
            berlin.written(begin)[..16].to_owned()
        };
        // 23 and 25 hours.
        assert_eq!(begin("1 day", "daily 06:00", "2026-03-29 06:00"), "2026-03-28 06:00");
        assert_eq!(at("2026-03-29 06:00") - at("2026-03-28 06:00"), 23 * 3600);
        assert_eq!(begin("1 week", "Mon 07:00", "2026-10-26 07:00"), "2026-10-19 07:00");
        assert_eq!(at("2026-10-26 07:00") - at("2026-10-19 07:00"), 169 * 3600);
        assert_eq!(begin("1 month", "1st 06:00", "2026-03-01 06:00"), "2026-02-01 06:00");
        // Ends of months follow each other without a gap.
        assert_eq!(begin("1 month", "last day 06:00", "2028-03-31 06:00"), "2028-02-29 06:00");
        assert_eq!(begin("1 month", "31st 06:00", "2028-02-29 06:00"), "2028-01-31 06:00");
        assert_eq!(begin("1 month", "28th 06:00", "2026-02-28 06:00"), "2026-01-28 06:00");
        // 02:30 does not come on the 29th of March: half past three is told of the day since half past two.
        assert_eq!(begin("1 day", "daily 02:30", "2026-03-29 03:30"), "2026-03-28 02:30");
        assert_eq!(begin("1 day", "daily 02:30", "2026-03-30 02:30"), "2026-03-29 03:30");
    }

    /// As the definition says it, by looking at each minute: the first that shows the time at a day; if none does, the
    /// time by the clocks of the day before.
    fn slowly(text: &str, zone: &Zone, from_s: i64, days: i64) -> Vec<i64> {
        let (left, clock) = text.rsplit_once(' ').unwrap();
        let (hour, minute) = clock.split_once(':').unwrap();
        let (hour, minute): (i64, i64) = (hour.parse().unwrap(), minute.parse().unwrap());
        let mut by_date: Vec<(Date, Vec<(i64, i64)>)> = Vec::new();
        for at_s in (from_s..from_s + days * 86_400).step_by(60) {
            let shown = zone.civil(at_s);
            if by_date.last().is_none_or(|(date, _)| *date != shown.date()) {
                by_date.push((shown.date(), Vec::new()));
            }
            let of_day = i64::from(shown.hour()) * 60 + i64::from(shown.minute());
            by_date.last_mut().unwrap().1.push((at_s, of_day));
        }
        // Days at the ends are not whole.
        let whole = by_date.len() - 1;
        let mut times = Vec::new();
        for pair in by_date[..whole].windows(2) {
            let ((_, before), (date, minutes)) = (&pair[0], &pair[1]);
            let last = date.tomorrow().unwrap().month() != date.month();
            let takes = match left {
                "daily" => true,
                "last day" => last,
                "Mon" | "Sun" => format!("{:?}", date.weekday()).starts_with(left),
                nth => {
                    let day: i8 = nth[..nth.len() - 2].parse().unwrap();
                    date.day() == day || last && date.day() < day
                }
            };
            if takes {
                let wanted = hour * 60 + minute;
                let shown = minutes.iter().find(|(_, of_day)| *of_day == wanted).map(|(at_s, _)| *at_s);
                let (last_s, last) = before[before.len() - 1];
                times.push(shown.unwrap_or(last_s + (wanted + 1440 - last) * 60));
            }
        }
        times
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn all_times_are_those_of_a_simple_model(
            zone_name in prop::sample::select(vec![
                "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Santiago",
            ]),
            left in prop::sample::select(vec!["daily", "Mon", "Sun", "1st", "15th", "29th", "31st", "last day"]),
            hour in 0_i64..24,
            minute in prop::sample::select(vec![0_i64, 15, 30, 59]),
            // 2027-11-01 to 2028-03-01: leap day, ends of months, clocks of both halves of the world.
            start_day in 0_i64..360,
        ) {
            let zone = zone(zone_name);
            let text = format!("{left} {hour:02}:{minute:02}");
            let from_s = 1_824_940_800 + start_day * 86_400;
            let expected = slowly(&text, &zone, from_s, 70);
            let schedule = [when(&text)];
            let Some(mut at_s) = expected.first().map(|first| first - 1) else { return Ok(()) };
            for time in &expected {
                at_s = next_after(&schedule, &zone, at_s).unwrap();
                prop_assert_eq!(at_s, *time, "{} {}", text, zone.written(*time));
                let length = if left == "daily" { "1 day" } else { "1 month" };
                let begin = Length::parse(length).unwrap().begin(&schedule, &zone, at_s);
                prop_assert!(begin < at_s);
            }
            // What a daily report tells of begins where the one before ended.
            if left == "daily" {
                for pair in expected.windows(2) {
                    prop_assert_eq!(Length::DAY.begin(&schedule, &zone, pair[1]), pair[0]);
                }
            }
        }
    }
}
