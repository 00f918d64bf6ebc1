//! A time zone as a list of offsets, read once from the data that comes with the program (IANA's).

use super::{DAY, Moment};
use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use trunkline_kit::date;
use trunkline_kit::nearest::suggestion;

/// Changes of the clock are known from this year on; before it the first offset holds.
pub const TRANSITIONS_FROM_YEAR: i64 = 2000;
/// Changes of the clock are known up to this year, by the rule of the zone; after it the last offset holds.
pub const TRANSITIONS_UNTIL_YEAR: i64 = 2100;
/// Changes of a zone that are kept: four each year are more than any zone has for long.
const TRANSITIONS_MAX: usize = 400;
/// What a local time differs from UTC at most, with room.
const OFFSET_MAX: i64 = 2 * DAY;

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    name: String,
    /// When each offset begins, ascending; the first holds since ever.
    begins: Vec<Moment>,
    /// Seconds that local time is ahead of UTC.
    offsets: Vec<i64>,
}

/// What the clock on the wall shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// Days since 1970-01-01.
    pub day: i64,
    /// Seconds since midnight by the clock, 0 to 86,399.
    pub second: u32,
}

impl Zone {
    /// The zone of that name, such as `Europe/Paris`.
    ///
    /// # Errors
    /// There is none; the nearest name.
    pub fn named(name: &str) -> Result<Zone, String> {
        let known = TimeZoneDatabase::bundled();
        let Ok(zone) = known.get(name) else {
            let names: Vec<String> = known.available().map(|name| name.as_str().to_owned()).collect();
            let near = suggestion(name, names.iter().map(String::as_str));
            // All names of the world help nobody.
            let near = if near.len() > 100 { "; names are such as 'Europe/Paris'".to_owned() } else { near };
            return Err(format!("no time zone '{name}'{near}"));
        };
        let edge = |year| date::days_of(year, 1, 1) * DAY;
        let first = Timestamp::from_second(edge(TRANSITIONS_FROM_YEAR)).map_err(|error| error.to_string())?;
        let mut found = Zone {
            name: name.to_owned(),
            begins: vec![Moment::MIN],
            offsets: vec![i64::from(zone.to_offset(first).seconds())],
        };
        let until = edge(TRANSITIONS_UNTIL_YEAR);
        for change in zone.following(first).take_while(|c| c.timestamp().as_second() < until).take(TRANSITIONS_MAX) {
            let offset = i64::from(change.offset().seconds());
            if found.offsets.last() != Some(&offset) {
                found.begins.push(change.timestamp().as_second());
                found.offsets.push(offset);
            }
        }
        Ok(found)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the clock on the wall shows.
    pub fn local(&self, at: Moment) -> Local {
        let seconds = at.saturating_add(self.offsets[self.index(at)]);
        Local { day: seconds.div_euclid(DAY), second: seconds.rem_euclid(DAY) as u32 }
    }

    /// When the clock is next put forward or back after `at`, if ever.
    pub fn next_change(&self, at: Moment) -> Option<Moment> {
        self.begins.get(self.index(at) + 1).copied()
    }

    /// The first moment at which the clock shows `second` of `day` or later. Where the clock is put back it is the
    /// earlier of both moments, where it leaps over that time, the moment of the leap.
    pub fn first_at(&self, day: i64, second: u32) -> Moment {
        let shown = day.saturating_mul(DAY).saturating_add(i64::from(second));
        for index in self.index(shown.saturating_sub(OFFSET_MAX))..self.begins.len() {
            let at = shown.saturating_sub(self.offsets[index]).max(self.begins[index]);
            if self.begins.get(index + 1).is_none_or(|next| at < *next) {
                return at;
            }
        }
        shown
    }

    fn index(&self, at: Moment) -> usize {
        self.begins.partition_point(|begin| *begin <= at).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-29 01:00 UTC and 2026-10-25 01:00 UTC (`zdump -v Europe/Paris`).
    const FORWARD: Moment = 1_774_746_000;
    const BACK: Moment = 1_792_890_000;

    #[test]
    fn the_clock_of_paris() {
        let paris = Zone::named("Europe/Paris").expect("Paris");
        let shown = |at| (paris.local(at).second / 3600, paris.local(at).second % 3600 / 60);
        assert_eq!((shown(FORWARD - 60), shown(FORWARD)), ((1, 59), (3, 0)));
        assert_eq!((shown(BACK - 60), shown(BACK)), ((2, 59), (2, 0)));
        assert_eq!(paris.next_change(FORWARD - 1), Some(FORWARD));
        assert_eq!(paris.next_change(FORWARD), Some(BACK));
    }

    #[test]
    fn times_that_are_not_and_times_that_are_twice() {
        let paris = Zone::named("Europe/Paris").expect("Paris");
        let (spring, autumn) = (paris.local(FORWARD).day, paris.local(BACK).day);
        assert_eq!(paris.first_at(spring, 2 * 3600 + 1800), FORWARD);
        assert_eq!(paris.first_at(autumn, 2 * 3600 + 1800), BACK - 1800);
        assert_eq!(paris.first_at(spring + 1, 0) - paris.first_at(spring, 0), 23 * 3600);
        assert_eq!(paris.first_at(autumn + 1, 0) - paris.first_at(autumn, 0), 25 * 3600);
    }

    #[test]
    fn zones_by_name() {
        let told = Zone::named("Europe/Pari").expect_err("no such zone");
        assert_eq!(told, "no time zone 'Europe/Pari'; did you mean 'Europe/Paris'?");
        assert!(Zone::named("nowhere at all").expect_err("no such zone").len() < 100);
        let kolkata = Zone::named("Asia/Kolkata").expect("Kolkata");
        assert_eq!(kolkata.local(0), Local { day: 0, second: 19_800 });
        assert_eq!(kolkata.next_change(0), None);
    }
}
