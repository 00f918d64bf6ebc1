//! Calls rated by plans, beside the slow rater that counts second by second.

use crate::reference;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use reference::{Slow, rule_at, zone};
use std::collections::HashMap;
use trunkline_charge::account::{Identity, IdentityKind, ServiceKey};
use trunkline_charge::money::Money;
use trunkline_charge::session::{CallRated, CallRater, Core, Limits, Payers, Spoken};
use trunkline_charge::tariff::{Context, Plan, read};

const PLAN: &str = r#"
[plan]
name = "voice"
currency = "EUR"
time-zone = "Europe/Paris"
holidays = ["2026-11-11"]
[destinations]
national = ["33"]
mobile = ["336", "337"]
premium = ["3389"]
free = ["33800"]
[allowance.minutes]
unit = "seconds"
amount = "20 min"
period = "month"
roll-over = "3 min"
[cap.day]
period = "day"
limit = 900
then = "throttle"
[[version]]
from = "2026-01-01"
[[version.rule]]
name = "premium"
destinations = ["premium"]
outcome = "blocked"
[[version.rule]]
name = "free"
destinations = ["free"]
outcome = "free"
[[version.rule]]
name = "by day"
destinations = ["national", "mobile"]
days = ["weekday"]
times = ["08:00-20:00"]
unit = "seconds"
first-step = 60
step = 10
price = "3.5"
set-up = "7"
minimum = "20"
allowances = ["minutes"]
[[version.rule]]
name = "calls"
destinations = ["national", "mobile"]
unit = "seconds"
first-step = 60
step = 10
price = "1.25"
set-up = "5"
minimum = "10"
allowances = ["minutes"]
[[version]]
from = "2026-11-15"
[[version.rule]]
name = "all"
destinations = ["national"]
unit = "seconds"
step = 30
price = "2"
caps = ["day"]
"#;

/// A core with two accounts: the first has the bundle.
fn core(plan: &str) -> Core {
    let mut core = Core::new(Limits::default());
    core.set_plan(plan, 0).expect("a plan");
    for account in [1, 2] {
        core.set_account(account, "voice", Money(0), 0).expect("an account");
        let number = Identity::new(IdentityKind::E164, &format!("3361000000{account}"));
        core.set_subscriber(account, account, vec![number], 0).expect("a subscriber");
    }
    core.buy_allowance(1, "minutes", 1).expect("the bundle");
    core
}

fn rater(core: &Core) -> CallRater {
    CallRater::new(Payers::new(core.state().clone()), ServiceKey::default()).expect("plans that are read")
}

/// 2026-10-28T00:00:00Z: the bundle comes again within, and another version begins.
const FROM: i64 = 1_793_145_600;

fn spoken(calls: &[(i64, u64, u8, u8)]) -> Vec<(String, String, i64, u64)> {
    let mut all: Vec<_> = calls
        .iter()
        .map(|(at, seconds, account, to)| {
            let called = ["33123456789", "33612345678", "33899", "338001", "442071"][usize::from(*to)];
            (format!("3361000000{account}"), called.to_owned(), FROM + at, *seconds)
        })
        .collect();
    all.sort_by_key(|call| call.2);
    all
}

fn rate(rater: &mut CallRater, call: &(String, String, i64, u64)) -> CallRated {
    rater.rate(&Spoken { caller: &call.0, called: &call.1, begin: call.2, seconds: call.3 })
}

/// What the slow rater knows of an account.
struct Purse {
    month: (i16, i8),
    left: u64,
    rolled: u64,
    day: jiff::civil::Date,
    spent: i64,
}

fn slow(
    plan: &Plan,
    zone: &TimeZone,
    purse: &mut Purse,
    (called, begin, seconds): (&str, i64, u64),
    bundle: bool,
) -> Option<i64> {
    let plan = &only_for(plan, called);
    let at = |second: i64| jiff::Timestamp::from_second(second).expect("a time").to_zoned(zone.clone());
    let (local, context) = (at(begin), Context { destination: called, ..Context::default() });
    let month = (local.year(), local.month());
    if bundle && purse.month != month {
        // What is left of its own units goes over, and is used last; before the first call none was used.
        let own = if purse.month == (0, 0) { 1200 } else { purse.left.saturating_sub(purse.rolled) };
        (purse.month, purse.rolled) = (month, own.min(180));
        purse.left = purse.rolled + 1200;
    }
    let mut meter = Slow::default();
    let first = rule_at(plan, zone, &context, begin)?;
    for second in 0..seconds as i64 {
        let rule = rule_at(plan, zone, &context, begin + second)?;
        meter.left = if rule.allowances.is_empty() { Vec::new() } else { vec![purse.left] };
        meter.unit(rule);
        purse.left = meter.left.first().copied().unwrap_or(purse.left);
    }
    if purse.day != local.date() {
        (purse.day, purse.spent) = (local.date(), 0);
    }
    let due = meter.due();
    if first.caps.is_empty() {
        return Some(due);
    }
    let due = due.min((900 - purse.spent).max(0));
    purse.spent += due;
    Some(due)
}

/// The plan without the rules for other numbers: the table of each number here, by eye.
fn only_for(plan: &Plan, called: &str) -> Plan {
    let table = match called {
        "33123456789" => "national",
        "33612345678" => "mobile",
        other => panic!("{other}"),
    };
    let table = plan.destinations.names().iter().position(|name| name == table).expect("a table") as u16;
    let mut plan = plan.clone();
    plan.versions
        .iter_mut()
        .for_each(|version| version.rules.retain(|rule| rule.matches.destinations.contains(&table)));
    plan
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn calls_cost_what_counting_second_by_second_says(
        calls in proptest::collection::vec((0i64..25 * 86_400, 0u64..900, 1u8..3, 0u8..2), 1..40),
    ) {
        let plan = read("plan", PLAN).expect("a plan");
        let (zone, core) = (zone(&plan), core(PLAN));
        let mut rater = rater(&core);
        let mut purses: HashMap<String, Purse> = HashMap::new();
        for call in spoken(&calls) {
            let date = jiff::civil::date(1970, 1, 1);
            let fresh = Purse { month: (0, 0), left: 0, rolled: 0, day: date, spent: 0 };
            let purse = purses.entry(call.0.clone()).or_insert(fresh);
            let (bundle, crosses) = (call.0.ends_with('1'), |at: i64| plan.version(at).map(|version| version.from));
            // A call into another version has rules with other steps and caps: it is rated, and not by this reference.
            if crosses(call.2) != crosses(call.2 + call.3 as i64) {
                continue;
            }
            let expected = slow(&plan, &zone, purse, (&call.1, call.2, call.3), bundle);
            let rated = match rate(&mut rater, &call) {
                CallRated::Priced(price) => Some(price.money.0),
                CallRated::NoRule { .. } => None,
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(rated, expected, "{:?}", call);
        }
    }

    #[test]
    fn what_a_call_costs_does_not_depend_on_the_span(
        calls in proptest::collection::vec((0i64..40 * 86_400, 0u64..900, 1u8..3, 0u8..5), 1..40),
        from in 0i64..40 * 86_400,
    ) {
        let (core, calls, from) = (core(PLAN), spoken(&calls), FROM + from);
        let (mut whole, mut part) = (rater(&core), rater(&core));
        let all: Vec<_> = calls.iter().map(|call| rate(&mut whole, call)).collect();
        let since = part.since(from);
        prop_assert!(since <= from);
        for (call, rated) in calls.iter().zip(&all).filter(|(call, _)| call.2 >= since) {
            let again = rate(&mut part, call);
            prop_assert!(call.2 < from || again == *rated, "{:?}: {:?}, not {:?}", call, again, rated);
        }
    }
}

#[test]
fn what_has_no_price_says_why() {
    let core = core(PLAN);
    let mut rater = rater(&core);
    let call = |caller: &str, called: &str| (caller.to_owned(), called.to_owned(), FROM, 30);
    assert_eq!(rate(&mut rater, &call("33699", "33123")), CallRated::NobodyPays);
    assert_eq!(rate(&mut rater, &call("33610000001", "442071")), CallRated::NoRule { account: 1 });
    let blocked = CallRated::Blocked { account: 1, rule: "premium".to_owned() };
    assert_eq!(rate(&mut rater, &call("33610000001", "33899123")), blocked);
    let CallRated::Priced(free) = rate(&mut rater, &call("33610000002", "33800123")) else { panic!("free") };
    assert_eq!((free.money, free.rule.as_str(), free.version), (Money(0), "free", 1));
    let mut again = core.clone();
    again.set_plan(&PLAN.replace("1.25", "2.5"), 5).expect("another text");
    let mut rater = self::rater(&again);
    let CallRated::Priced(dear) = rate(&mut rater, &call("33610000002", "33123")) else { panic!("a price") };
    assert_eq!((dear.version, &*dear.plan, dear.account), (2, "voice", 2));
}
