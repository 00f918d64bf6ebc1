//! Calls of the store rated by plans, as the web asks for it, with what they come to by destination, prefix and rule.

use super::compare::{ITEMS_MAX, PAYERS_MAX, failed, texts, while_wanted};
use crate::charge::bill::rated::{self, By, Sums};
use crate::charge::bill::{Which, told};
use crate::charge::{configured, damage};
use std::collections::BTreeMap;
use std::path::Path;
use trunkline_charge::account::ServiceKey;
use trunkline_charge::gy::decimals;
use trunkline_commit::Folder;
use trunkline_store::{Access, Skipped, Store};
use trunkline_web::sources::{
    Cancel, ChargeRateAsk, ChargeRated, ChargeRatedCall, ChargeRatedTotal, Progress, SourceError, Trouble,
};

/// Destinations, prefixes, rules and accounts that are told apart, each; the dearest.
const TOTALS_MAX: usize = 500;
/// Destinations, prefixes and rules that are added up apart, each.
const KEYS_MAX: usize = 100_000;

/// Does it, and tells each call.
///
/// # Errors
/// As of [`trunkline_web::sources::Charging::rate_calls`].
pub fn rate(
    data: &Path,
    ask: &ChargeRateAsk,
    tell: &mut dyn FnMut(&ChargeRatedCall),
    progress: &Progress,
    cancel: &Cancel,
) -> Result<ChargeRated, SourceError> {
    let (profile, text) = texts(&ask.profile, ask.plan.as_ref().map(|(text, _)| text.as_str()))?;
    let absent = |_| SourceError::new(Trouble::NotFound, "There is no ledger of charging here, and so no plan.");
    let disk = Folder::beside(&configured::ledger(data)).map_err(absent)?;
    let store = Store::open(&data.join("store"), Access::Read).map_err(|error| failed(error.into()))?;
    let version = ask.plan.as_ref().map_or(0, |(_, version)| *version);
    let plan_name = ask.plan_name.clone().or_else(|| text.as_ref().map(|plan| plan.name.clone()));
    let key = ServiceKey { rating_group: ask.rating_group, service: ask.service };
    let text = text.map(|plan| (plan, version));
    let by = By { text, plan_name, payers_max: PAYERS_MAX, items_max: ITEMS_MAX, ..By::plans(key) };
    let which = Which { filter: ask.filter.clone(), from_ns: ask.span_ns.0, to_ns: ask.span_ns.1 };
    let mut totals = Totals::default();
    let (sums, skipped) = while_wanted(progress, cancel, |waiting| {
        let rater = rated::rater(&disk, &damage::witnesses(data), &by, waiting).map_err(failed)?;
        let mut each = |call: &rated::Told| {
            let call = told::rated(call);
            totals.add(&call);
            tell(&call);
            waiting.goes_on()
        };
        rated::rate(&store, rater, (&profile.numbers, &by), &which, waiting, &mut each).map_err(failed)
    })?;
    Ok(totals.told(&sums, &skipped, ask.span_ns))
}

/// By plan and currency, then by name and, of a prefix, its destination.
type Key = (Option<String>, String, Option<String>, Option<String>);

/// What calls come to.
#[derive(Debug, Default)]
struct Totals {
    sums: BTreeMap<Key, ChargeRatedTotal>,
    destinations: BTreeMap<Key, ChargeRatedTotal>,
    prefixes: BTreeMap<Key, ChargeRatedTotal>,
    rules: BTreeMap<Key, ChargeRatedTotal>,
    accounts: BTreeMap<Key, ChargeRatedTotal>,
}

impl Totals {
    fn add(&mut self, call: &ChargeRatedCall) {
        // What nobody pays for, and other legs, are in no sum.
        let Some((account, currency)) = call.account.zip(call.currency.clone()) else { return };
        let key = |name: &Option<String>, destination: Option<&String>| {
            (call.plan.clone(), currency.clone(), name.clone(), destination.cloned())
        };
        note(&mut self.sums, (None, currency.clone(), None, None), call);
        note(&mut self.destinations, key(&call.destination, None), call);
        note(&mut self.prefixes, key(&call.prefix, call.destination.as_ref()), call);
        note(&mut self.rules, key(&call.rule, None), call);
        note(&mut self.accounts, key(&Some(account.to_string()), None), call);
    }

    fn told(self, sums: &Sums, skipped: &[Skipped], span: (i64, i64)) -> ChargeRated {
        let time = |ns: i64| told::time(ns.div_euclid(1_000_000));
        ChargeRated {
            from: time(span.0),
            to: time(span.1),
            priced: sums.priced,
            incomplete: sums.incomplete,
            unanswered: sums.unanswered,
            open: sums.open,
            legs: sums.legs,
            not_understood: sums.not_understood,
            nobody_pays: sums.nobody,
            nobody_pays_numbers: sums.nobody_numbers,
            no_rule: sums.no_rule,
            blocked: sums.blocked,
            other_plan: sums.other_plan,
            sums: dearest(self.sums),
            destinations: dearest(self.destinations),
            prefixes: dearest(self.prefixes),
            rules: dearest(self.rules),
            accounts: dearest(self.accounts),
            skipped: skipped.iter().map(|day| day.why.clone()).collect(),
        }
    }
}

/// Adds a call to what it is of; of more than [`KEYS_MAX`] to the others of its currency.
fn note(of: &mut BTreeMap<Key, ChargeRatedTotal>, key: Key, call: &ChargeRatedCall) {
    let full = of.len() >= KEYS_MAX && !of.contains_key(&key);
    // No plan is without a name, so that this key is none of theirs.
    let key = if full { (Some(String::new()), key.1, None, None) } else { key };
    let total = of.entry(key).or_insert_with_key(|(plan, currency, name, destination)| ChargeRatedTotal {
        name: name.clone(),
        destination: destination.clone(),
        plan: plan.clone().filter(|_| !full),
        others: full,
        currency: currency.clone(),
        decimals: u32::try_from(decimals(currency)).unwrap_or_default(),
        ..ChargeRatedTotal::default()
    });
    let Some(money) = call.money else {
        total.without_price += 1;
        return;
    };
    total.calls += 1;
    total.seconds = total.seconds.saturating_add(call.seconds);
    total.bundle_seconds = total.bundle_seconds.saturating_add(call.bundle_seconds.unwrap_or(0));
    total.money = total.money.saturating_add(money);
    if !call.complete {
        total.incomplete_money = total.incomplete_money.saturating_add(money);
    }
}

/// The dearest first; what is beyond [`TOTALS_MAX`] is told together, by currency.
fn dearest(of: BTreeMap<Key, ChargeRatedTotal>) -> Vec<ChargeRatedTotal> {
    let (mut all, mut others): (Vec<_>, Vec<ChargeRatedTotal>) = of.into_values().partition(|total| !total.others);
    all.sort_by_key(|total| (std::cmp::Reverse(total.money), std::cmp::Reverse(total.calls)));
    for beyond in all.split_off(all.len().min(TOTALS_MAX)) {
        match others.iter_mut().find(|total| total.currency == beyond.currency) {
            Some(total) => total.join(&beyond),
            None => others.push(ChargeRatedTotal { name: None, destination: None, plan: None, others: true, ..beyond }),
        }
    }
    all.extend(others);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(prefix: u32, money: i64) -> ChargeRatedCall {
        ChargeRatedCall {
            account: Some(1),
            currency: Some("EUR".to_owned()),
            plan: Some("voice".to_owned()),
            prefix: Some(prefix.to_string()),
            money: Some(money),
            seconds: 60,
            ..ChargeRatedCall::default()
        }
    }

    #[test]
    fn nothing_is_left_out_of_totals_that_are_too_many() {
        let mut totals = Totals::default();
        let count = KEYS_MAX as u32 + 10;
        (0..count).for_each(|n| totals.add(&call(n, i64::from(n % 1000))));
        let told = totals.told(&Sums::default(), &[], (0, 1));
        assert_eq!((told.prefixes.len(), told.rules.len(), told.sums.len()), (TOTALS_MAX + 1, 1, 1));
        assert!(told.prefixes[0].money == 999 && told.prefixes[TOTALS_MAX].others);
        let sum = |of: &[ChargeRatedTotal]| {
            of.iter()
                .map(|total| (total.calls, total.money, total.seconds))
                .fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2))
        };
        let all = sum(&told.sums);
        assert_eq!(all, (u64::from(count), (0..count).map(|n| i64::from(n % 1000)).sum(), u64::from(count) * 60));
        assert_eq!((sum(&told.prefixes), sum(&told.rules), sum(&told.accounts)), (all, all, all));
    }
}
