//! For how long rows of each class stay, by the rules and by what came lately.

use crate::doctor::Finding;
use crate::doctor::facts::Rows;
use crate::show::figure;
use trunkline_store::removal::Class;
use trunkline_store::retention::Rule;
use trunkline_store::time::DAY_NS;

/// What stays for longer is not told in days.
const DAYS_MAX: u64 = 36_500;

pub fn judge(rows: &Rows) -> Vec<Finding> {
    let limit = by_limit(rows);
    Class::ALL
        .iter()
        .zip(rows.classes)
        .zip(rows.rules.classes)
        .filter(|((_, octets), rule)| *octets > 0 || *rule != Rule::default())
        .map(|((class, octets), rule)| of_class(*class, octets, rule, limit, rows.days))
        .collect()
}

fn of_class(class: Class, octets: u64, rule: Rule, limit: u64, seen_days: u32) -> Finding {
    let age = days_of(rule.keep_age_ns);
    let size = rule.keep_octets.and_then(|most| most.checked_div(octets)).unwrap_or(DAYS_MAX);
    let (room, by) = if size < limit { (size, "keep-size") } else { (limit, "store.limit") };
    let least = rule.keep_at_least_ns.map_or(0, |ns| (ns / DAY_NS).unsigned_abs());
    let name = class.name();
    let rate =
        format!("{} a day ({})", figure::octets(octets), figure::of(u64::from(seen_days), "whole day", "whole days"));
    let section = format!("store.{name}");
    if least > room {
        let seen = format!(
            "{rate}: keep-at-least {} needs {}, {by} holds {}: the store gets larger than it may",
            days(least),
            figure::octets(octets.saturating_mul(least)),
            days(room)
        );
        return Finding::warn("rows", &section, seen)
            .fix(format!("in the configuration: more for {by}; the disk has to hold it"));
    }
    if age <= DAYS_MAX && age > room {
        let seen = format!("{rate}: kept for {} by {by}, not for the {} of keep-age", days(room), days(age));
        return Finding::warn("rows", &section, seen)
            .fix(format!("in the configuration: more for {by}, or less for keep-age"));
    }
    let (kept, by) = if age <= room { (age, "keep-age") } else { (room, by) };
    let how_long =
        if kept >= DAYS_MAX { "no rule ends them soon".to_owned() } else { format!("kept for {} ({by})", days(kept)) };
    Finding::good("rows", &section, format!("{rate}: {how_long}"))
}

/// Days until the whole store has as many octets as it may: each class has those of its own rules, and no more.
fn by_limit(rows: &Rows) -> u64 {
    let Some(most) = rows.rules.octets else { return DAYS_MAX };
    let beside = rows.octets.saturating_sub(rows.classes.iter().sum());
    let octets = |days: u64| {
        let of = rows.classes.iter().zip(rows.rules.classes).map(|(octets, rule)| {
            let size = rule.keep_octets.unwrap_or(u64::MAX).max(*octets);
            octets.saturating_mul(days.min(days_of(rule.keep_age_ns))).min(size)
        });
        of.sum::<u64>().saturating_add(beside.saturating_mul(days))
    };
    let (mut fits, mut over) = (0, DAYS_MAX + 1);
    while over - fits > 1 {
        let middle = fits.midpoint(over);
        if octets(middle) <= most { fits = middle } else { over = middle }
    }
    fits
}

/// Days of an age; more than are told if there is none.
fn days_of(age_ns: Option<i64>) -> u64 {
    age_ns.map_or(DAYS_MAX + 1, |ns| (ns / DAY_NS).unsigned_abs())
}

fn days(count: u64) -> String {
    figure::of(count, "day", "days")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;
    use trunkline_store::retention::Rules;

    const MB: u64 = 1_000_000;

    fn rows(calls: Rule, intervals: Rule, limit: u64) -> Rows {
        let rule = |class: Class| match class {
            Class::Calls => calls,
            Class::Intervals => intervals,
            _ => Rule::default(),
        };
        let octets = |class: Class| match class {
            Class::Calls => 2 * MB,
            Class::Intervals => 10 * MB,
            _ => 0,
        };
        let rules = Rules { classes: Class::ALL.map(rule), octets: Some(limit) };
        Rows { rules, days: 7, classes: Class::ALL.map(octets), octets: 13 * MB }
    }

    fn told(rows: &Rows) -> Vec<(State, String)> {
        judge(rows)
            .into_iter()
            .map(|finding| (finding.state, format!("{}: {}", finding.subject, finding.seen)))
            .collect()
    }

    #[test]
    fn days_come_of_the_rules_and_of_what_came_lately() {
        let age = |days: i64| Rule { keep_age_ns: Some(days * DAY_NS), ..Rule::default() };
        // 10 MB a day for 14 days, then 3 MB a day of the rest.
        let found = told(&rows(Rule::default(), age(14), 440 * MB));
        assert_eq!(
            found[0],
            (State::Good, "store.intervals: 10.0 MB a day (7 whole days): kept for 14 days (keep-age)".to_owned())
        );
        assert_eq!(
            found[1],
            (State::Good, "store.calls: 2.0 MB a day (7 whole days): kept for 100 days (store.limit)".to_owned())
        );
        assert_eq!(found.len(), 2, "of a class without rows and rules nothing is told");
        let early = told(&rows(age(180), age(14), 440 * MB));
        assert!(
            early[1].0 == State::Warn && early[1].1.contains("kept for 100 days by store.limit, not for the 180 days")
        );
        let size = Rule { keep_octets: Some(20 * MB), ..Rule::default() };
        assert!(told(&rows(size, age(14), 440 * MB))[1].1.ends_with("kept for 10 days (keep-size)"));
        assert!(told(&rows(Rule::default(), Rule::default(), u64::MAX))[0].1.ends_with("no rule ends them soon"));
    }

    #[test]
    fn what_the_law_asks_for_and_the_limit_does_not_hold_is_told() {
        let law = Rule { keep_at_least_ns: Some(1095 * DAY_NS), ..Rule::default() };
        let found = judge(&rows(law, Rule::default(), 130 * MB)).remove(1);
        assert_eq!(
            found.seen,
            "2.0 MB a day (7 whole days): keep-at-least 1,095 days needs 2.2 GB, store.limit holds 10 days: the store gets larger than it may"
        );
        assert!(found.state == State::Warn && found.fix.is_some());
    }
}
