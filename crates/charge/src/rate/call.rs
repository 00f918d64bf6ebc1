//! What a call costs by a tariff alone, without an account: what a carrier may ask for it.

use super::{Meter, View, buy, pieces};
use crate::calendar::Moment;
use crate::tariff::{Context, Outcome, Plan, RULE_ALLOWANCES_MAX};
use crate::units::{Amounts, UNITS_MAX};

/// The price of a call, millionths of a minor unit, before it is rounded to one; none where no rule holds, or one that
/// denies it. Of its context the number that is called counts (digits, international), and what it is of. Bundles,
/// counters and caps are an account's and count for nothing.
pub fn price_of_call(plan: &Plan, context: &Context<'_>, begin: Moment, seconds: u64) -> Option<i64> {
    let seconds = seconds.min(UNITS_MAX);
    let used = Amounts { seconds, service_units: 1, ..Amounts::default() };
    let (view, mut meter, mut unit) =
        (View { left: [0; RULE_ALLOWANCES_MAX], ..View::default() }, Meter::default(), None);
    for piece in pieces(plan, context, begin, begin.saturating_add(seconds as i64), &used) {
        let rule = piece.rule?;
        match rule.outcome {
            Outcome::Priced => {
                let before = if unit.is_none_or(|unit| unit == rule.unit) { meter } else { meter.in_other_unit() };
                (meter, unit) = (buy(rule, before, &view, piece.used.amount).meter, Some(rule.unit));
            }
            Outcome::Free => {}
            Outcome::Blocked => return None,
        }
    }
    Some(if meter.paying { meter.owed.max(meter.floor) } else { 0 })
}
