//! A rule from its section: names looked up, numbers beside each other checked.

use super::super::settings::RuleSection;
use super::super::{
    Code, FinalAction, Granting, Match, Outcome, Plan, RULE_ALLOWANCES_MAX, RULE_CAPS_MAX, Rounding, Rule, TIERS_MAX,
    Tier,
};
use super::{Keys, words};
use crate::calendar::Days;
use crate::money::Price;
use crate::units::{Amount, Unit};
use trunkline_kit::nearest::suggestion;

/// A key and what is wrong with its value.
type Wrong = Vec<(&'static str, String)>;

/// The rule that a section means, and what is wrong with it.
pub fn rule(section: RuleSection, keys: &Keys, plan: &Plan) -> (Rule, Wrong) {
    let mut wrong = Wrong::new();
    together(&section, keys, &mut wrong);
    let matches = matches(&section, plan, &mut wrong);
    let counter =
        (!section.counter.is_empty()).then(|| (Code::of("counter", &section.counter), section.counter_period));
    let rule = Rule {
        matches,
        outcome: section.outcome,
        unit: section.unit,
        first: section.first_step.unwrap_or(section.step).0,
        next: section.step.0,
        tiers: tiers(&section, &mut wrong),
        counter,
        set_up: section.set_up.0,
        minimum: section.minimum.0,
        free: section.free.0,
        rounding: section.rounding,
        allowances: allowances(&section, plan, &mut wrong),
        caps: caps(&section, plan, &mut wrong),
        grant: granting(&section),
        name: section.name,
    };
    (rule, wrong)
}

/// What values say of each other.
fn together(section: &RuleSection, keys: &Keys, wrong: &mut Wrong) {
    let mut check = |is_wrong: bool, key: &'static str, what: &str| {
        if is_wrong {
            wrong.push((key, what.to_owned()));
        }
    };
    let first = section.first_step.unwrap_or(section.step).0;
    let priced = section.outcome == Outcome::Priced;
    check(section.name.is_empty(), "name", "[[version.rule]] needs a name");
    check(!first.is_multiple_of(section.step.0), "first-step", "first-step is a multiple of step");
    check(priced && !keys.has("price") && !keys.has("tiers"), "outcome", "price, tiers, or another outcome is missing");
    check(keys.has("price") && keys.has("tiers"), "tiers", "either price or tiers");
    check(section.tiers.len() > 1 && section.counter.is_empty(), "tiers", "tiers go by a counter: counter = \"NAME\"");
    let redirects = section.last == FinalAction::Redirect;
    check(redirects && section.redirect.is_empty(), "last", "redirect = \"URL\" says where to");
    check(section.redirect.len() > 1024, "redirect", "at most 1024 octets");
    check(!redirects && !section.redirect.is_empty(), "redirect", "it is for last = \"redirect\"");
    let by_report = section.rounding == Rounding::Report;
    check(by_report && section.minimum.0 > 0, "minimum", "the minimum is a session's, and rounding a report's");
    let tranche = section.tranche.map_or(u64::MAX, |tranche| tranche.0);
    check(section.tranche_least.0 > tranche, "tranche-least", "tranche-least is at most tranche");
    let plain = first == section.step.0 && section.tiers.len() <= 1 && section.allowances.is_empty();
    let plain = plain && section.set_up.0 == 0 && section.minimum.0 == 0 && section.free.0 == 0;
    check(
        section.pool > 0 && !plain,
        "pool",
        "a pool takes one price: no tiers, set-up, minimum, free units, allowances",
    );
}

fn matches(section: &RuleSection, plan: &Plan, wrong: &mut Wrong) -> Match {
    let mut networks = Vec::new();
    for name in &section.networks {
        let names = plan.networks.iter().map(|(name, _)| name.as_str());
        match names.clone().position(|known| known == name) {
            Some(at) => networks.push(Some(at as u16)),
            None if name == "other" => networks.push(None),
            None => wrong.push(("networks", format!("no set '{name}'{}", suggestion(name, names.chain(["other"]))))),
        }
    }
    let tables = plan.destinations.names().iter().map(String::as_str);
    let mut times = Vec::new();
    for text in &section.times {
        words::window(text).map_or_else(|what| wrong.push(("times", what)), |window| times.push(window));
    }
    Match {
        rating_groups: section.rating_groups.clone(),
        services: section.services.clone(),
        apns: section.apns.iter().map(|apn| apn.to_ascii_lowercase()).collect(),
        networks,
        rats: section.rats.clone(),
        destinations: named(&section.destinations, tables, "destinations", wrong),
        days: days(&section.days, plan.calendar.weekend, wrong),
        times,
    }
}

fn days(names: &[String], weekend: Days, wrong: &mut Wrong) -> Days {
    if names.is_empty() {
        return Days::ALL;
    }
    names.iter().fold(Days(0), |days, name| {
        let found = match name.as_str() {
            "weekend" => weekend,
            "weekday" => Days(!weekend.0 & !Days::HOLIDAY.0),
            name => words::day(name).unwrap_or_else(|what| {
                wrong.push(("days", what));
                Days(0)
            }),
        };
        Days(days.0 | found.0)
    })
}

fn tiers(section: &RuleSection, wrong: &mut Wrong) -> Vec<Tier> {
    if section.tiers.is_empty() {
        return vec![Tier { from: 0, price: section.price.unwrap_or_default() }];
    }
    let mut tiers: Vec<Tier> = Vec::new();
    for text in &section.tiers {
        let read = text.split_once(':').map(|(from, price)| (Amount::read(from.trim()), Price::read(price.trim())));
        match read {
            Some((Ok(from), Ok(price))) => tiers.push(Tier { from: from.0, price }),
            _ => wrong.push(("tiers", format!("'{text}' is no tier such as \"1 GiB: 0.5\""))),
        }
    }
    if tiers.first().is_some_and(|tier| tier.from != 0) || tiers.windows(2).any(|two| two[0].from >= two[1].from) {
        wrong.push(("tiers", "tiers begin at 0 and ascend".to_owned()));
    }
    if tiers.len() > TIERS_MAX {
        wrong.push(("tiers", format!("more than {TIERS_MAX} tiers")));
    }
    tiers
}

fn allowances(section: &RuleSection, plan: &Plan, wrong: &mut Wrong) -> Vec<u16> {
    let names = plan.allowances.iter().map(|allowance| allowance.name.as_str());
    let mut found = named(&section.allowances, names, "allowances", wrong);
    for at in &found {
        let allowance = &plan.allowances[usize::from(*at)];
        if allowance.unit != section.unit {
            let (own, other) = (Unit::ALL[section.unit as usize].1, Unit::ALL[allowance.unit as usize].1);
            wrong.push(("allowances", format!("'{}' is of {other}, the rule counts {own}", allowance.name)));
        }
    }
    if found.len() > RULE_ALLOWANCES_MAX {
        wrong.push(("allowances", format!("more than {RULE_ALLOWANCES_MAX} allowances")));
    }
    // Stable: among equals, those that are named first.
    found.sort_by_key(|at| plan.allowances[usize::from(*at)].priority);
    found
}

fn caps(section: &RuleSection, plan: &Plan, wrong: &mut Wrong) -> Vec<u16> {
    let found = named(&section.caps, plan.caps.iter().map(|cap| cap.name.as_str()), "caps", wrong);
    if found.len() > RULE_CAPS_MAX {
        wrong.push(("caps", format!("more than {RULE_CAPS_MAX} caps")));
    }
    found
}

/// The places of names; a name stands once.
fn named<'a>(
    wanted: &[String],
    names: impl Iterator<Item = &'a str> + Clone,
    key: &'static str,
    wrong: &mut Wrong,
) -> Vec<u16> {
    let mut found = Vec::new();
    for name in wanted {
        match names.clone().position(|known| known == name) {
            Some(at) if found.contains(&(at as u16)) => wrong.push((key, format!("'{name}' stands twice"))),
            Some(at) => found.push(at as u16),
            None => wrong.push((key, format!("there is no '{name}'{}", suggestion(name, names.clone())))),
        }
    }
    found
}

fn granting(section: &RuleSection) -> Granting {
    let usual = match section.unit {
        Unit::Seconds => 3600,
        Unit::Octets | Unit::OctetsIn | Unit::OctetsOut => 10 << 20,
        Unit::ServiceUnits | Unit::Events => 1,
    };
    Granting {
        most: section.tranche.map_or(usual.max(section.tranche_least.0), |tranche| tranche.0),
        least: section.tranche_least.0,
        validity: section.validity.as_secs() as u32,
        holding: section.holding.as_secs() as u32,
        threshold: section.threshold,
        last: section.last,
        redirect: section.redirect.clone(),
        pool: section.pool,
    }
}
