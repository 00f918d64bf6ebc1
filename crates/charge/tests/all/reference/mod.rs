//! A rater as one would write it on a sheet of paper: unit by unit, second by second, with dates of jiff. It shares no
//! code with the crate, only the plan that was read.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use trunkline_charge::tariff::{Context, Plan, Rule};

/// What a session has bought.
#[derive(Clone, Debug, Default)]
pub struct Slow {
    pub rest: u64,
    pub position: u64,
    pub micros: i128,
    pub floor: i128,
    pub paid: bool,
    pub left: Vec<u64>,
    pub counter: u64,
}

impl Slow {
    /// Uses one unit.
    pub fn unit(&mut self, rule: &Rule) {
        if self.rest == 0 {
            let steps = if self.position == 0 { rule.first / rule.next } else { 1 };
            for _ in 0..steps {
                self.step(rule);
            }
        }
        self.rest -= 1;
    }

    fn step(&mut self, rule: &Rule) {
        let bundle = self.left.iter().position(|left| *left >= rule.next);
        if self.position < rule.free {
        } else if let Some(bundle) = bundle {
            self.left[bundle] -= rule.next;
        } else {
            let price = rule.tiers.iter().rev().find(|tier| tier.from <= self.counter).map_or(0, |tier| tier.price.0);
            self.micros += i128::from(price) + if self.paid { 0 } else { i128::from(rule.set_up) };
            self.floor = self.floor.max(i128::from(rule.minimum));
            self.paid = true;
        }
        self.position += rule.next;
        self.counter += rule.next;
        self.rest += rule.next;
    }

    /// Minor units that are due, rounded up.
    pub fn due(&self) -> i64 {
        let micros = if self.paid { self.micros.max(self.floor) } else { 0 };
        let mut minor = micros / 1_000_000;
        if minor * 1_000_000 < micros {
            minor += 1;
        }
        minor as i64
    }
}

/// The zone of a plan.
pub fn zone(plan: &Plan) -> TimeZone {
    TimeZoneDatabase::bundled().get(plan.calendar.zone.name()).expect("a zone")
}

/// The rule at a second, by what the calendar on the wall says.
pub fn rule_at<'a>(plan: &'a Plan, zone: &TimeZone, context: &Context<'_>, at: i64) -> Option<&'a Rule> {
    let local = Timestamp::from_second(at).expect("a time").to_zoned(zone.clone());
    let version = plan.versions.iter().rev().find(|version| version.from <= at)?;
    let date = local.date();
    let days = date.since(jiff::civil::date(1970, 1, 1)).expect("days").get_days();
    let holiday = plan.calendar.holidays.contains(&i64::from(days));
    let bit = if holiday { 7 } else { date.weekday().to_monday_zero_offset() as u32 };
    let second = local.hour() as u32 * 3600 + local.minute() as u32 * 60 + local.second() as u32;
    version.rules.iter().find(|rule| {
        let m = &rule.matches;
        let inside = |(begin, end): &(u32, u32)| {
            if begin < end { *begin <= second && second < *end } else { *begin <= second || second < *end }
        };
        (m.rating_groups.is_empty() || context.rating_group.is_some_and(|group| m.rating_groups.contains(&group)))
            && m.days.0 & (1 << bit) != 0
            && (m.times.is_empty() || m.times.iter().any(inside))
    })
}
