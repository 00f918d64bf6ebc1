//! Which rows leave the store, by class, age and size. It does not ask the time and touches no file.
//!
//! Rows leave by whole days (UTC): a class leaves a day when all of the day is older than its age, and for size the
//! oldest day first. The day of now and those behind it never leave.

use crate::removal::{Class, DayHeld};
use crate::time::Day;
use std::collections::BTreeSet;

/// For how long a class is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rule {
    /// It leaves when it is so old, nanoseconds; none for as long as there is room.
    pub keep_age_ns: Option<i64>,
    /// Its oldest days leave when its tables have more octets.
    pub keep_octets: Option<u64>,
    /// Before it is so old it does not leave, whatever else is said.
    pub keep_at_least_ns: Option<i64>,
}

/// For how long all of them are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rules {
    /// Of each class, in the order of [`Class::ALL`].
    pub classes: [Rule; Class::ALL.len()],
    /// Octets of all files.
    pub octets: Option<u64>,
}

/// The time by which rows get old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Nanoseconds since 1970.
    pub ns: i64,
    /// Whether the clock can be believed. If not, nothing leaves because of its age, and nothing that has a minimum
    /// age.
    pub is_believed: bool,
}

impl Now {
    /// A time that is believed.
    pub fn believed(ns: i64) -> Now {
        Now { ns, is_believed: true }
    }
}

impl Rules {
    /// That of a class.
    pub fn of(&self, class: Class) -> Rule {
        Class::ALL.iter().zip(self.classes).find(|(one, _)| **one == class).map_or(Rule::default(), |(_, rule)| rule)
    }

    /// Whether a class of a day may not leave yet.
    pub fn protects(&self, class: Class, day: Day, now: Now) -> bool {
        let age_ns = now.ns.saturating_sub(day.end_ns());
        self.of(class).keep_at_least_ns.is_some_and(|least_ns| age_ns < least_ns || !now.is_believed)
    }

    /// Whether it has to be known what there is of each class, for files of so many octets in all.
    pub fn ask_for_classes(&self, octets: u64) -> bool {
        let of_class = |rule: &Rule| rule.keep_age_ns.is_some() || rule.keep_octets.is_some();
        self.classes.iter().any(of_class) || self.octets.is_some_and(|most| octets > most)
    }
}

/// Why rows leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// They are as old as their class may get.
    Age,
    /// Their class has more octets than it may.
    Size,
    /// The store has.
    Limit,
}

impl Why {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Why::Age => "keep-age",
            Why::Size => "keep-size",
            Why::Limit => "limit",
        }
    }
}

/// A class that leaves a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// The day.
    pub day: Day,
    /// The class.
    pub class: Class,
    /// Its rows.
    pub rows: u64,
    /// Octets of its tables.
    pub octets: u64,
    /// Why.
    pub why: Why,
}

/// What leaves.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Plan {
    /// Oldest day first.
    pub leave: Vec<Leave>,
    /// Octets beyond a size that stay, as minimum ages or the day of now protect them.
    pub over_octets: u64,
    /// Days that begin after now: they never get old enough until their time comes.
    pub days_ahead: usize,
}

/// What leaves of these days, the oldest first, at this time.
pub fn plan(days: &[DayHeld], rules: &Rules, now: Now) -> Plan {
    let mut today = Day::of(now.ns);
    if let Some(newest) = days.last().filter(|_| !now.is_believed) {
        // Whatever day it is, that is the one which is written.
        today = today.min(newest.day);
    }
    let mut leaves = Leaves { days, rules, now, today, gone: BTreeSet::new(), plan: Plan::default() };
    leaves.plan.days_ahead = days.iter().filter(|d| d.day > today).count();
    for (class, rule) in Class::ALL.into_iter().zip(rules.classes) {
        leaves.by_age(class, rule);
        leaves.by_size(class, rule);
    }
    leaves.by_limit();
    leaves.plan.leave.sort_by_key(|leave| (leave.day, leave.class));
    leaves.plan
}

struct Leaves<'a> {
    days: &'a [DayHeld],
    rules: &'a Rules,
    now: Now,
    today: Day,
    gone: BTreeSet<(Day, Class)>,
    plan: Plan,
}

impl Leaves<'_> {
    /// Lets a class leave a day if there is any of it and it may; the octets of its tables.
    fn leave(&mut self, held: &DayHeld, class: Class, why: Why) -> Option<u64> {
        let (day, of) = (held.day, held.of(class));
        let may = day < self.today && !self.rules.protects(class, day, self.now);
        if of.rows == 0 || !may || !self.gone.insert((day, class)) {
            return None;
        }
        self.plan.leave.push(Leave { day, class, rows: of.rows, octets: of.octets, why });
        Some(of.octets)
    }

    fn by_age(&mut self, class: Class, rule: Rule) {
        let Some(age_ns) = rule.keep_age_ns.filter(|_| self.now.is_believed) else { return };
        let (days, now_ns) = (self.days, self.now.ns);
        for held in days.iter().filter(|d| now_ns.saturating_sub(d.day.end_ns()) >= age_ns) {
            self.leave(held, class, Why::Age);
        }
    }

    fn by_size(&mut self, class: Class, rule: Rule) {
        let Some(most) = rule.keep_octets else { return };
        let stays = self.days.iter().filter(|d| d.of(class).rows > 0 && !self.gone.contains(&(d.day, class)));
        let mut octets: u64 = stays.map(|d| d.of(class).octets).sum();
        for held in self.days {
            if octets > most {
                octets -= self.leave(held, class, Why::Size).unwrap_or(0);
            }
        }
        self.plan.over_octets += octets.saturating_sub(most);
    }

    fn by_limit(&mut self) {
        let Some(most) = self.rules.octets else { return };
        let mut octets: u64 = self.days.iter().map(|held| self.octets_left(held)).sum();
        for held in self.days {
            for class in Class::ALL {
                if octets <= most {
                    return;
                }
                let before = self.octets_left(held);
                if self.leave(held, class, Why::Limit).is_some() {
                    octets -= before - self.octets_left(held);
                }
            }
        }
        self.plan.over_octets += octets.saturating_sub(most);
    }

    /// Octets of a day's files once it has left what leaves: none if that is all.
    fn octets_left(&self, held: &DayHeld) -> u64 {
        let (goes, stays): (Vec<Class>, Vec<Class>) = Class::ALL
            .into_iter()
            .filter(|class| held.of(*class).rows > 0)
            .partition(|class| self.gone.contains(&(held.day, *class)));
        if stays.is_empty() && !goes.is_empty() {
            return 0;
        }
        held.octets.saturating_sub(goes.iter().map(|class| held.of(*class).octets).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::removal::Held;
    use crate::time::{DAY_NS, SECOND_NS};

    const NOW: i64 = 1_795_132_800_000_000_000 + 40 * DAY_NS + 7 * SECOND_NS;

    /// Forty days before now, the day of now and one ahead, each with ten octets a class and five of its own.
    fn days() -> Vec<DayHeld> {
        let day = |n: i64| Day::of(NOW - n * DAY_NS);
        let classes = [Held { rows: 3, octets: 10 }; Class::ALL.len()];
        (-1..=40).rev().map(|n| DayHeld { day: day(n), octets: 65, classes }).collect()
    }

    fn rules(of: &[(Class, Rule)], octets: Option<u64>) -> Rules {
        let rule = |class: &Class| of.iter().find(|(one, _)| one == class).map_or(Rule::default(), |(_, rule)| *rule);
        Rules { classes: Class::ALL.each_ref().map(rule), octets }
    }

    fn ages(plan: &Plan, class: Class) -> Vec<i64> {
        let of = plan.leave.iter().filter(|leave| leave.class == class);
        of.map(|leave| i64::from(Day::of(NOW).number() - leave.day.number())).collect()
    }

    #[test]
    fn without_rules_all_stays() {
        let plan = plan(&days(), &Rules::default(), Now::believed(NOW));
        assert_eq!(plan, Plan { days_ahead: 1, ..Plan::default() });
        assert!(!Rules::default().ask_for_classes(u64::MAX));
    }

    #[test]
    fn a_class_leaves_when_all_of_a_day_is_old_enough() {
        let age = Rule { keep_age_ns: Some(38 * DAY_NS), ..Rule::default() };
        let plan = plan(&days(), &rules(&[(Class::Intervals, age)], None), Now::believed(NOW));
        assert_eq!(ages(&plan, Class::Intervals), [40, 39], "the day before began 38 days ago and ended later");
        assert!(plan.leave.iter().all(|leave| (leave.rows, leave.octets, leave.why) == (3, 10, Why::Age)));
        assert_eq!(plan.leave.len(), 2);
    }

    #[test]
    fn a_class_keeps_its_size_and_never_gives_up_today() {
        let size = |keep_octets| Rule { keep_octets: Some(keep_octets), ..Rule::default() };
        let of = |octets| plan(&days(), &rules(&[(Class::Losses, size(octets))], None), Now::believed(NOW));
        assert_eq!(ages(&of(405), Class::Losses), [40, 39]);
        let all = of(0);
        assert_eq!((ages(&all, Class::Losses).len(), all.over_octets), (40, 20));
    }

    #[test]
    fn for_the_limit_the_oldest_days_go_first_and_what_is_needed_least_of_them() {
        let of = |octets| plan(&days(), &rules(&[], Some(octets)), Now::believed(NOW));
        let all = 42 * 65;
        assert_eq!(of(all).leave, []);
        let one = of(all - 15);
        assert_eq!(
            one.leave.iter().map(|l| l.class).collect::<BTreeSet<_>>(),
            [Class::Streams, Class::Intervals].into()
        );
        assert!(one.leave.iter().all(|leave| leave.why == Why::Limit && leave.day == days()[0].day));
        // A day of which nothing is left takes its file along.
        assert_eq!(of(all - 65).leave.len(), Class::ALL.len());
        assert_eq!(of(all - 66).leave.len(), Class::ALL.len() + 1);
        assert_eq!(of(100).over_octets, 30);
    }

    #[test]
    fn a_minimum_age_holds_against_age_size_and_limit() {
        let least = Rule { keep_age_ns: Some(DAY_NS), keep_octets: Some(0), keep_at_least_ns: Some(30 * DAY_NS) };
        let rules = rules(&[(Class::Charges, least)], Some(0));
        let plan = plan(&days(), &rules, Now::believed(NOW));
        assert_eq!(ages(&plan, Class::Charges), (31..=40).rev().collect::<Vec<_>>());
        assert_eq!(ages(&plan, Class::Calls).len(), 40);
        // Charges and files of thirty days, and today and tomorrow; the charges of the class once more.
        assert_eq!(plan.over_octets, (30 * 15 + 2 * 65) + (30 + 2) * 10);
        let day = |n: i64| Day::of(NOW - n * DAY_NS);
        let protects = |n| rules.protects(Class::Charges, day(n), Now::believed(NOW));
        assert!(protects(30) && !protects(31));
    }

    #[test]
    fn a_clock_in_doubt_ages_nothing_and_gives_up_nothing_that_the_law_asks_for() {
        let rule = Rule { keep_age_ns: Some(DAY_NS), keep_at_least_ns: Some(DAY_NS), ..Rule::default() };
        let size = Rule { keep_octets: Some(0), ..Rule::default() };
        let rules = rules(&[(Class::Charges, rule), (Class::Calls, rule), (Class::Losses, size)], Some(0));
        // A clock that is wrong by ten years, and one that is wrong by as much the other way.
        for (ns, gone) in [(NOW + 3650 * DAY_NS, 41), (NOW - 3650 * DAY_NS, 0)] {
            let plan = plan(&days(), &rules, Now { ns, is_believed: false });
            let of = |class| plan.leave.iter().filter(|leave| leave.class == class).count();
            assert_eq!((of(Class::Charges), of(Class::Calls)), (0, 0));
            // All but the newest day, for which there is no room, may leave.
            assert_eq!((of(Class::Losses), of(Class::Intervals)), (gone, gone));
            assert!(plan.leave.iter().all(|leave| leave.why != Why::Age) && plan.over_octets > 0);
        }
    }

    #[test]
    fn what_left_before_does_not_leave_again() {
        let mut days = days();
        days.iter_mut().for_each(|d| d.classes[0] = Held { rows: 0, octets: 4 });
        let age = Rule { keep_age_ns: Some(0), keep_octets: Some(0), ..Rule::default() };
        assert_eq!(plan(&days, &rules(&[(Class::Intervals, age)], None), Now::believed(NOW)).leave, []);
    }
}
