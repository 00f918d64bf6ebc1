//! Local time: spans of a week, hours of a week.

use core::fmt;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use trunkline_kit::config::{Raw, Value, quoted};
use trunkline_kit::nearest::suggestion;

/// Hours of a week, from Monday, 0 o'clock on.
pub const HOURS_OF_WEEK: usize = 168;
pub(super) const MINUTES_OF_DAY: u32 = 24 * 60;
const MINUTES_OF_WEEK: u32 = 7 * MINUTES_OF_DAY;
pub(super) const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// A time zone by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Self {
        Zone(TimeZone::UTC)
    }
}

/// Where a time lies in its week, by the clock of its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Weeks since Monday, 1969-12-29.
    pub week: i64,
    /// Minutes since Monday, 0 o'clock. Where clocks are put back an hour comes twice, where they are put forward one
    /// does not come.
    pub minute: u32,
}

impl Place {
    /// The hour of the week, less than [`HOURS_OF_WEEK`].
    pub fn hour(self) -> usize {
        (self.minute / 60) as usize % HOURS_OF_WEEK
    }
}

impl Zone {
    /// Where a time lies in its week.
    pub fn place(&self, at_s: i64) -> Place {
        let at = Timestamp::from_second(at_s).unwrap_or_default();
        let local_s = at.as_second() + i64::from(self.0.to_offset(at).seconds());
        // 1970-01-01 was a Thursday.
        let minutes = local_s.div_euclid(60) + 3 * i64::from(MINUTES_OF_DAY);
        let week = i64::from(MINUTES_OF_WEEK);
        Place { week: minutes.div_euclid(week), minute: minutes.rem_euclid(week) as u32 }
    }

    /// A time as people there write it: `2026-11-23 21:15:00`.
    pub fn written(&self, at_s: i64) -> String {
        let at = Timestamp::from_second(at_s).unwrap_or_default();
        at.to_zoned(self.0.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// What its clocks show.
    pub fn civil(&self, at_s: i64) -> DateTime {
        Timestamp::from_second(at_s).unwrap_or_default().to_zoned(self.0.clone()).datetime()
    }

    /// Seconds since 1970 when its clocks show this: for the first time where they do twice; where they never do, as
    /// much later as they are put forward.
    pub fn at(&self, civil: DateTime) -> Option<i64> {
        Some(self.0.to_ambiguous_zoned(civil).compatible().ok()?.timestamp().as_second())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Seconds since 1970 of `2026-11-23 22:00` by its clocks, or of a time with an offset (RFC 3339).
    pub fn read(&self, text: &str) -> Option<i64> {
        if let Ok(at) = text.parse::<Timestamp>() {
            return Some(at.as_second());
        }
        self.at(text.parse().ok()?)
    }
}

impl Value for Zone {
    fn kind() -> String {
        "a time zone such as \"Europe/Paris\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let name = raw.as_text().ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))?;
        let known = TimeZoneDatabase::bundled();
        known.get(name).map(Zone).map_err(|_| {
            let names: Vec<String> = known.available().map(|name| name.as_str().to_owned()).collect();
            let near = suggestion(name, names.iter().map(String::as_str));
            // All names of the world help nobody.
            format!("no time zone '{name}'{}", if near.len() > 100 { "" } else { &near })
        })
    }

    fn text(&self) -> String {
        quoted(self.name())
    }
}

/// A span of every week: `Mon-Fri 08:00-18:00`, `Sat`, `Fri 22:00-06:00` (into the next day).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    days: [bool; 7],
    from: u32,
    to: u32,
}

impl Span {
    /// Whether a place of the week lies in it.
    pub fn holds(&self, place: Place) -> bool {
        let (day, minute) = ((place.minute / MINUTES_OF_DAY) as usize % 7, place.minute % MINUTES_OF_DAY);
        let today = self.days[day];
        let yesterday = self.days[(day + 6) % 7];
        match self.from < self.to {
            true => today && (self.from..self.to).contains(&minute),
            false => today && minute >= self.from || yesterday && minute < self.to,
        }
    }

    /// Reads one.
    pub fn parse(text: &str) -> Option<Span> {
        let mut words = text.split_whitespace();
        let (first, second) = (words.next()?, words.next());
        if words.next().is_some() {
            return None;
        }
        let (days, times) = match (days(first), second) {
            (Some(days), times) => (days, times),
            (None, None) => ([true; 7], Some(first)),
            (None, Some(_)) => return None,
        };
        let (from, to) = match times {
            None => (0, MINUTES_OF_DAY),
            Some(times) => {
                let (from, to) = times.split_once('-')?;
                (clock(from)?, clock(to)?)
            }
        };
        (from != to && from < MINUTES_OF_DAY).then_some(Span { days, from, to })
    }
}

pub(super) fn days(text: &str) -> Option<[bool; 7]> {
    let mut days = [false; 7];
    for part in text.split(',') {
        let day = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        // `Sat-Mon` goes over the end of the week.
        (0..7).filter(|n| *n <= (last + 7 - first) % 7).for_each(|n| days[(first + n) % 7] = true);
    }
    Some(days)
}

pub(super) fn clock(text: &str) -> Option<u32> {
    let (hour, minute) = text.split_once(':')?;
    if hour.len() > 2 || minute.len() != 2 {
        return None;
    }
    let minutes = hour.parse::<u32>().ok()? * 60 + minute.parse::<u32>().ok().filter(|minute| *minute < 60)?;
    (minutes <= MINUTES_OF_DAY).then_some(minutes)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days: Vec<&str> = (0..7).filter(|day| self.days[*day]).map(|day| DAYS[day]).collect();
        let clock = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        write!(f, "{} {}-{}", days.join(","), clock(self.from), clock(self.to))
    }
}

impl Value for Span {
    fn kind() -> String {
        "a span of the week such as \"Mon-Fri 08:00-18:00\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        raw.as_text().and_then(Span::parse).ok_or_else(wrong)
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::of(&Raw::Text(name.to_owned())).unwrap()
    }

    #[test]
    fn spans_of_the_week() {
        // Monday, 2026-11-23: `date -u -d 2026-11-23 +%s`.
        let monday = 1_795_392_000;
        let at = |day: i64, hour: i64| Zone::default().place(monday + day * 86_400 + hour * 3600);
        assert_eq!(at(0, 0).minute, 0);
        let work = Span::parse("Mon-Fri 08:00-18:00").unwrap();
        assert!(work.holds(at(0, 8)) && work.holds(at(4, 17)) && !work.holds(at(0, 18)) && !work.holds(at(5, 9)));
        let night = Span::parse("fri 22:00-06:00").unwrap();
        assert!(night.holds(at(4, 23)) && night.holds(at(5, 5)) && !night.holds(at(5, 6)) && !night.holds(at(4, 3)));
        let weekend = Span::parse("Sat-Sun").unwrap();
        assert!(weekend.holds(at(6, 23)) && !weekend.holds(at(7, 0)));
        assert!(Span::parse("02:00-03:00").unwrap().holds(at(3, 2)));
        assert_eq!(Span::parse(&night.to_string()), Some(night));
        for wrong in ["", "Mon-Fry", "Mon 8-18", "Mon 25:00-26:00", "Mon 08:00-08:00", "Mon 08:00-18:00 x", "8:0-9:0"] {
            assert_eq!(Span::parse(wrong), None, "{wrong}");
        }
    }

    /// `TZ=Europe/Berlin date -d @N +'%a %H:%M'` around both changes of 2026.
    #[test]
    fn clocks_are_put_forward_and_back() {
        let berlin = zone("Europe/Berlin");
        for (at_s, day, hour) in [
            (1_774_745_999, 6, 1), // Sun 29 March 01:59:59
            (1_774_746_000, 6, 3), // an hour later by no time
            (1_792_886_400, 6, 2), // Sun 25 October, 02:00 for the first time
            (1_792_890_000, 6, 2), // and again
            (1_792_893_600, 6, 3),
        ] {
            assert_eq!(berlin.place(at_s).hour(), day * 24 + hour, "{at_s}");
        }
        assert_eq!(berlin.read("2026-10-25 03:00"), Some(1_792_893_600));
        assert_eq!(berlin.read("2026-10-25T02:00:00Z"), Some(1_792_893_600));
        assert_eq!(berlin.written(1_792_893_600), "2026-10-25 03:00:00");
        assert!(Zone::of(&Raw::Text("Europe/Berlim".to_owned())).unwrap_err().contains("'Europe/Berlin'"));
    }
}
