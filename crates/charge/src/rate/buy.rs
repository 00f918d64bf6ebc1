//! Steps are bought: by the run, not one by one.

use super::{Meter, View};
use crate::money::{MICROS, MONEY_MAX, Money, Price};
use crate::tariff::{RULE_ALLOWANCES_MAX, Rounding, Rule, Tier};
use crate::units::UNITS_MAX;

/// What a session owes at most, millionths: more than any account can hold, so that sums stay within 63 bits.
const OWED_MAX: i128 = MONEY_MAX as i128 * MICROS as i128;

/// What usage costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bought {
    /// The meter afterwards.
    pub meter: Meter,
    /// Units taken from each allowance of the rule.
    pub taken: [u64; RULE_ALLOWANCES_MAX],
    /// Units that the counter moves.
    pub counted: u64,
    /// What is charged: what is due now and was not before, as far as caps leave room.
    pub money: Money,
}

/// What so many more units cost, at most [`UNITS_MAX`] of them.
pub fn buy(rule: &Rule, meter: Meter, view: &View, units: u64) -> Bought {
    let from_rest = units.min(UNITS_MAX).min(meter.rest);
    let wanted = units.min(UNITS_MAX) - from_rest;
    let steps = steps(rule, meter, wanted);
    let mut purchase = Purchase {
        rule,
        view,
        meter: Meter { rest: meter.rest - from_rest, ..meter },
        taken: [0; RULE_ALLOWANCES_MAX],
        counted: 0,
    };
    let mut left = steps;
    while left > 0 {
        left -= purchase.run(left);
    }
    purchase.meter.rest += steps * rule.next - wanted;
    let due = purchase.meter.due();
    let owing = due.minus(purchase.meter.settled).or_nothing();
    purchase.meter.settled = purchase.meter.settled.max(due);
    Bought {
        meter: purchase.meter,
        taken: purchase.taken,
        counted: purchase.counted,
        money: view.room.map_or(owing, |room| owing.min(room.or_nothing())),
    }
}

/// Steps that so many units need.
fn steps(rule: &Rule, meter: Meter, units: u64) -> u64 {
    if units == 0 {
        return 0;
    }
    let units = if meter.position == 0 { units.max(rule.first) } else { units };
    units.div_ceil(rule.next)
}

struct Purchase<'a> {
    rule: &'a Rule,
    view: &'a View,
    meter: Meter,
    taken: [u64; RULE_ALLOWANCES_MAX],
    counted: u64,
}

impl Purchase<'_> {
    /// Buys steps that are all paid in the same way, at most so many; how many it were.
    fn run(&mut self, most: u64) -> u64 {
        let step = self.rule.next;
        let steps = if self.meter.position < self.rule.free {
            (self.rule.free - self.meter.position).div_ceil(step).min(most)
        } else if let Some(at) = self.allowance() {
            let steps = ((self.view.left[at] - self.taken[at]) / step).min(most);
            self.taken[at] += steps * step;
            steps
        } else {
            self.pay(most)
        };
        self.meter.position = self.meter.position.saturating_add(steps * step);
        self.counted = self.counted.saturating_add(steps * step);
        steps
    }

    /// The first allowance that holds a step.
    fn allowance(&self) -> Option<usize> {
        let named = 0..self.rule.allowances.len().min(RULE_ALLOWANCES_MAX);
        named.into_iter().find(|at| self.view.left[*at].saturating_sub(self.taken[*at]) >= self.rule.next)
    }

    fn pay(&mut self, most: u64) -> u64 {
        let counter = self.view.counted.saturating_add(self.counted);
        let (tier, until) = tier(&self.rule.tiers, counter);
        let steps = until.map_or(most, |until| (until - counter).div_ceil(self.rule.next).min(most));
        if !self.meter.paying {
            self.meter.paying = true;
            self.owe(i128::from(self.rule.set_up));
        }
        self.meter.floor = self.meter.floor.max(self.rule.minimum);
        self.owe(i128::from(tier.0) * i128::from(steps));
        steps
    }

    fn owe(&mut self, micros: i128) {
        self.meter.owed = (i128::from(self.meter.owed) + micros).min(OWED_MAX) as i64;
    }
}

/// The price of a step that begins at so many units of the counter, and where the next tier begins.
fn tier(tiers: &[Tier], counter: u64) -> (Price, Option<u64>) {
    let at = tiers.partition_point(|tier| tier.from <= counter);
    let price = at.checked_sub(1).and_then(|at| tiers.get(at)).map_or(Price::default(), |tier| tier.price);
    (price, tiers.get(at).map(|tier| tier.from))
}

/// The most units, at most `most`, that `money` pays for: never more than can be paid, and one more could not.
///
/// What is free, left of a step or in an allowance costs nothing; where a cap throttles, that is all beyond it.
pub fn affordable(rule: &Rule, meter: Meter, view: &View, money: Money, most: u64) -> u64 {
    let pays = |units| buy(rule, meter, view, units).money <= money;
    let most = most.min(UNITS_MAX);
    if pays(most) {
        return most;
    }
    // What is due never shrinks with more units.
    let (mut payable, mut beyond) = (0, most);
    while beyond - payable > 1 {
        let middle = payable + (beyond - payable) / 2;
        if pays(middle) { payable = middle } else { beyond = middle }
    }
    payable
}

/// A rule that no split of usage between these two is dearer than; none where their steps or who pays for them differ,
/// so that no such rule can be told, and where a split would be rounded twice, or pools are shared.
///
/// Its one tier is the dearest of all: other services of the account may move the counter.
pub fn dearer(now: &Rule, later: &Rule) -> Option<Rule> {
    let same = now.outcome == later.outcome
        && (now.unit, now.first, now.next, now.free) == (later.unit, later.first, later.next, later.free)
        && (&now.allowances, &now.caps) == (&later.allowances, &later.caps)
        && (now.rounding, later.rounding) == (Rounding::Session, Rounding::Session)
        && (now.grant.pool, later.grant.pool) == (0, 0);
    if !same {
        return None;
    }
    let top = |rule: &Rule| rule.tiers.iter().map(|tier| tier.price).max().unwrap_or_default();
    Some(Rule {
        tiers: vec![Tier { from: 0, price: top(now).max(top(later)) }],
        set_up: now.set_up.max(later.set_up),
        minimum: now.minimum.max(later.minimum),
        ..now.clone()
    })
}
