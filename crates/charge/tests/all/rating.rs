//! The rater beside one that goes unit by unit, over a year of calendar.

use crate::reference;
use proptest::prelude::*;
use reference::{Slow, rule_at, zone};
use trunkline_charge::calendar::Zone;
use trunkline_charge::money::{Money, Price};
use trunkline_charge::rate::{Meter, View, affordable, buy, dearer, pieces};
use trunkline_charge::tariff::{Context, Plan, Rule, Tier, read};
use trunkline_charge::units::{Amounts, Unit};

/// 2028-01-01 00:00 UTC: a leap year.
const LEAP_YEAR: i64 = 1_830_297_600;
const DAYS: i64 = 366;

const CALENDAR: &str = r#"
[plan]
name = "calendar"
time-zone = "ZONE"
holidays = ["2028-01-01", "2028-02-29", "2028-05-01", "2028-12-25", "2028-12-31"]

[[version]]
from = "2020-01-01"

[[version.rule]]
name = "peak"
days = ["weekday"]
times = ["08:00-18:00"]
unit = "seconds"
first-step = 60
price = "0.9"
set-up = "2.5"

[[version.rule]]
name = "night"
times = ["22:30-02:30"]
unit = "seconds"
step = 10
price = "1"
minimum = "7"

[[version.rule]]
name = "holiday"
days = ["holiday", "sunday"]
unit = "seconds"
step = "1 min"
price = "11.000001"

[[version.rule]]
name = "else"
unit = "seconds"
price = "0.333333"

[[version]]
from = "2028-07-14 12:34"

[[version.rule]]
name = "peak"
days = ["weekday", "saturday"]
times = ["07:15-19:45", "21:00-24:00"]
unit = "seconds"
step = 6
price = "5"

[[version.rule]]
name = "else"
unit = "seconds"
price = "0.4"
"#;

const ZONES: [&str; 5] = ["Europe/Paris", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"];

fn plan(zone: &str) -> Plan {
    read("plan", &CALENDAR.replace("ZONE", zone)).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

/// The rule of each quarter of an hour, and each change, as the calendar on the wall says.
#[test]
fn a_year_of_rules_is_that_of_the_calendar_on_the_wall() {
    for name in ZONES {
        let (plan, context) = (plan(name), Context::default());
        let zone = zone(&plan);
        let mut changes = 0;
        let mut at = LEAP_YEAR;
        let end = LEAP_YEAR + DAYS * 86_400;
        while at < end {
            let holds = rule_at(&plan, &zone, &context, at);
            assert_eq!(plan.rule(&context, at), holds, "{name} {at}");
            let change = plan.next_change(&context, at, end).unwrap_or(end);
            for between in (at..change).step_by(899).chain([change - 1]) {
                assert_eq!(rule_at(&plan, &zone, &context, between), holds, "{name} {between}");
            }
            assert!(change == end || rule_at(&plan, &zone, &context, change) != holds, "{name} {change}");
            (at, changes) = (change, changes + 1);
        }
        assert!(changes > 1000, "{name}: {changes}");
    }
}

/// A second before, at and after each change of the clock and each end of a month.
#[test]
fn calls_over_changes_of_the_clock_and_ends_of_months() {
    for name in ZONES {
        let plan = plan(name);
        let utc = Zone::named(name).expect("a zone");
        let mut edges: Vec<i64> = (0..DAYS).map(|day| LEAP_YEAR + day * 86_400).filter(|at| at % 7 == 0).collect();
        edges.extend(utc.next_change(LEAP_YEAR));
        edges.extend(utc.next_change(LEAP_YEAR).and_then(|at| utc.next_change(at)));
        for edge in edges {
            for (before, seconds) in [(1, 2), (3600, 7300), (30, 61), (7000, 20_000)] {
                compare(&plan, edge - before, seconds);
            }
        }
    }
}

/// A call from `begin` on, as long as it was: with all it costs.
fn compare(plan: &Plan, begin: i64, seconds: u64) {
    let (context, zone) = (Context::default(), zone(plan));
    let mut slow = Slow::default();
    for second in 0..seconds as i64 {
        slow.unit(rule_at(plan, &zone, &context, begin + second).expect("a rule"));
    }
    let used = Amounts::of(Unit::Seconds, seconds);
    let (mut meter, mut money) = (Meter::default(), Money::ZERO);
    for piece in pieces(plan, &context, begin, begin + seconds as i64, &used) {
        let bought = buy(piece.rule.expect("a rule"), meter, &View::default(), piece.used.amount);
        (meter, money) = (bought.meter, money.plus(bought.money));
    }
    assert_eq!((money.0, meter.rest, meter.position), (slow.due(), slow.rest, slow.position), "{begin} {seconds}");
}

/// A rule with steps of all kinds.
fn rules() -> impl Strategy<Value = Rule> {
    let tiers = prop::collection::vec((1u64..400, 0i64..3_000_000), 0..3);
    (1u64..20, 1u64..4, tiers, 0i64..4_000_000, (0i64..9_000_000, 0u64..50, 0usize..4)).prop_map(
        |(next, first, tiers, set_up, (minimum, free, allowances))| {
            let mut rule = plan("UTC").versions[0].rules[3].clone();
            (rule.next, rule.first, rule.set_up, rule.minimum, rule.free) = (next, next * first, set_up, minimum, free);
            rule.allowances = (0..allowances as u16).collect();
            let mut from = 0;
            rule.tiers = vec![Tier { from: 0, price: Price(1_234_567) }];
            for (more, price) in tiers {
                from += more;
                rule.tiers.push(Tier { from, price: Price(price) });
            }
            rule
        },
    )
}

fn views() -> impl Strategy<Value = View> {
    (prop::collection::vec(0u64..100, 3), 0u64..500, prop::option::of(0i64..60)).prop_map(|(left, counted, room)| {
        let mut view = View { counted, room: room.map(Money), ..View::default() };
        view.left[..3].copy_from_slice(&left);
        view
    })
}

/// The view after something was bought.
fn after(view: &View, bought: &trunkline_charge::rate::Bought) -> View {
    let mut after = *view;
    for (left, taken) in after.left.iter_mut().zip(bought.taken) {
        *left -= taken;
    }
    after.counted += bought.counted;
    after.room = after.room.map(|room| room.minus(bought.money));
    after
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// What is bought by the run is what is bought unit by unit, in however many reports.
    #[test]
    fn reports_cost_what_their_units_cost(
        rule in rules(), view in views(), reports in prop::collection::vec(0u64..150, 1..6),
    ) {
        let view = View { room: None, ..view };
        let mut slow = Slow {
            left: view.left[..rule.allowances.len()].to_vec(), counter: view.counted, ..Slow::default()
        };
        let (mut meter, mut seen, mut money) = (Meter::default(), view, Money::ZERO);
        for units in reports {
            let bought = buy(&rule, meter, &seen, units);
            (meter, money, seen) = (bought.meter, money.plus(bought.money), after(&seen, &bought));
            (0..units).for_each(|_| slow.unit(&rule));
            prop_assert_eq!(money.0, slow.due());
            prop_assert_eq!(meter.rest, slow.rest);
            prop_assert_eq!(&seen.left[..slow.left.len()], &slow.left[..]);
            prop_assert_eq!(seen.counted, slow.counter);
        }
    }

    /// A grant can be paid, and one more unit could not; used in any number of reports it costs what it was to cost.
    #[test]
    fn grants_can_be_paid_and_no_more(
        rule in rules(), view in views(), used in 0u64..90, money in 0i64..80, most in 0u64..600,
        cuts in prop::collection::vec(0u64..200, 0..4),
    ) {
        let before = buy(&rule, Meter::default(), &view, used);
        let (meter, view) = (before.meter, after(&view, &before));
        let granted = affordable(&rule, meter, &view, Money(money), most);
        prop_assert!(granted <= most);
        let reserved = buy(&rule, meter, &view, granted).money;
        prop_assert!(reserved <= Money(money));
        if granted < most {
            prop_assert!(buy(&rule, meter, &view, granted + 1).money > Money(money));
        }
        let (mut meter, mut seen, mut spent, mut left) = (meter, view, Money::ZERO, granted);
        for cut in cuts.into_iter().chain([granted]) {
            let bought = buy(&rule, meter, &seen, cut.min(left));
            (meter, seen, spent) = (bought.meter, after(&seen, &bought), spent.plus(bought.money));
            left -= cut.min(left);
        }
        prop_assert_eq!(spent, reserved);
    }

    /// However usage is split between two rules of the same steps, the dearer of both covers it.
    #[test]
    fn no_split_is_dearer_than_the_dearer(
        now in rules(), prices in (0i64..4_000_000, 0i64..4_000_000, 0i64..9_000_000), view in views(),
        before in 0u64..300, later in 0u64..300,
    ) {
        let mut other = now.clone();
        (other.set_up, other.minimum) = (prices.1, prices.2);
        other.tiers = vec![Tier { from: 0, price: Price(prices.0) }];
        let both = dearer(&now, &other).expect("their steps are the same");
        let first = buy(&now, Meter::default(), &view, before);
        let second = buy(&other, first.meter, &after(&view, &first), later);
        let reserved = buy(&both, Meter::default(), &view, before + later).money;
        prop_assert!(first.money.plus(second.money) <= reserved);
    }

    /// Calls that begin at any second of the year.
    #[test]
    fn calls_cost_what_their_seconds_cost(zone in 0usize..5, begin in 0i64..DAYS * 86_400, seconds in 0u64..9000) {
        compare(&plan(ZONES[zone]), LEAP_YEAR + begin, seconds);
    }
}

#[test]
fn usage_without_a_split_is_shared_by_time() {
    let plan = plan("UTC");
    // Monday 2028-01-03, from 07:59:00: a minute before the peak. Half of the time was used.
    let begin = LEAP_YEAR + 2 * 86_400 + 8 * 3600 - 60;
    let used = Amounts { seconds: 61, octets: 5, ..Amounts::default() };
    let amounts: Vec<u64> =
        pieces(&plan, &Context::default(), begin, begin + 121, &used).iter().map(|piece| piece.used.amount).collect();
    assert_eq!(amounts, [30, 31]);
}

#[test]
fn no_number_of_units_is_too_large() {
    let mut rule = plan("UTC").versions[0].rules[3].clone();
    rule.tiers = vec![Tier { from: 0, price: Price(trunkline_charge::money::PRICE_MAX) }];
    let bought = buy(&rule, Meter::default(), &View::default(), u64::MAX);
    assert_eq!(bought.money, Money(trunkline_charge::money::MONEY_MAX));
    assert_eq!(affordable(&rule, Meter::default(), &View::default(), Money(i64::MAX), u64::MAX), 1 << 50);
}
