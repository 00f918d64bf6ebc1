//! How much may be used next: what can be paid, in fair tranches, for as long as the price is known.

use super::Work;
use super::charge::{meter, nothing, refused, unpriced, view};
use super::request::{Action, Final, Given, code};
use crate::account::{Effect, Grant, ServiceKey};
use crate::calendar::Moment;
use crate::money::Money;
use crate::rate::{Meter, View, affordable, buy, dearer};
use crate::tariff::{Code, FinalAction, Outcome, Rule, Then};
use crate::units::Amounts;
use std::borrow::Cow;

/// Until when a grant may be used, by which rule it is reserved, and when the price changes meanwhile.
struct Term<'a> {
    reserve: Cow<'a, Rule>,
    until: Moment,
    change: Option<Moment>,
}

/// How much is granted.
struct Tranche {
    units: u64,
    /// Units that are paid: a step more where a pool rounds each service up.
    paid: u64,
    last: bool,
}

impl Work<'_> {
    /// Grants a service what can be paid.
    pub(super) fn grant(&mut self, key: ServiceKey, wanted: &Amounts) -> Given {
        let plan = self.plan;
        if self.state.session(self.slot).is_none_or(|session| !session.has_room(key)) {
            return refused(key, code::UNABLE_TO_COMPLY);
        }
        let context = Self::context(self.place(), key);
        let rule = match plan.rule(&context, self.now) {
            Some(rule) if rule.outcome == Outcome::Priced => rule,
            other => return unpriced(key, other),
        };
        let term = self.term(&context, rule);
        let meter = meter(self.service(key), rule);
        let tranche = self.tranche(&term.reserve, meter, wanted.get(rule.unit));
        if tranche.units == 0 {
            return self.exhausted(key, rule);
        }
        let full = self.open_view(&term.reserve);
        let bought = buy(&term.reserve, meter, &full, tranche.paid);
        let taken = rule.allowances.iter().zip(bought.taken).filter(|(_, units)| *units > 0);
        let block = |cap: &&u16| plan.caps[usize::from(**cap)].then == Then::Block;
        let grant = Grant {
            units: tranche.units,
            money: bought.money,
            taken: taken.map(|(at, units)| (plan.allowances[usize::from(*at)].code, units)).collect(),
            caps: rule.caps.iter().filter(block).map(|cap| plan.caps[usize::from(*cap)].code).collect(),
            since: self.now,
            change: term.change,
            until: term.until,
            last: tranche.last,
            pool: rule.grant.pool,
            ..nothing(rule.unit, self.now)
        };
        let given = given(key, rule, &grant, self.now, full.room == Some(Money::ZERO));
        self.effect(Effect::Granted { slot: self.slot, service: key, grant });
        given
    }

    fn term<'r>(&self, context: &crate::tariff::Context<'_>, rule: &'r Rule) -> Term<'r> {
        let (plan, account) = (self.plan, self.own_account());
        let ends = |at: &u16| account.bucket(plan.allowances[usize::from(*at)].code).map(|bucket| bucket.ends);
        let buckets = rule.allowances.iter().filter_map(ends).filter(|ends| *ends > self.now);
        let caps = rule.caps.iter().map(|cap| plan.caps[usize::from(*cap)].period.end(&plan.calendar.zone, self.now));
        let valid = self.now.saturating_add(i64::from(rule.grant.validity));
        let until = buckets.chain(caps).fold(valid, Moment::min);
        // Other services may move the counter meanwhile: tiers are reserved at the dearest.
        let own = if rule.tiers.len() > 1 {
            dearer(rule, rule).map_or(Cow::Borrowed(rule), Cow::Owned)
        } else {
            Cow::Borrowed(rule)
        };
        let Some(change) = plan.next_change(context, self.now, until - 1) else {
            return Term { reserve: own, until, change: None };
        };
        let later = plan.rule(context, change).filter(|later| later.outcome == Outcome::Priced);
        match later.and_then(|later| dearer(rule, later)) {
            Some(both) => {
                let second = plan.next_change(context, change, until - 1);
                Term { reserve: Cow::Owned(both), until: second.unwrap_or(until), change: Some(change) }
            }
            None => Term { reserve: own, until: change, change: None },
        }
    }

    /// What is free for a grant: nobody's reservation, no bundle that has ended; caps that block limit money instead.
    fn open_view(&self, rule: &Rule) -> View {
        let (plan, account) = (self.plan, self.own_account());
        let mut open = view(plan, account, None, rule, self.now);
        for (left, at) in open.left.iter_mut().zip(&rule.allowances) {
            let bucket = account.bucket(plan.allowances[usize::from(*at)].code);
            *left = if bucket.is_some_and(|bucket| bucket.ends > self.now) { *left } else { 0 };
        }
        open.room = self.room(rule, Then::Throttle);
        open
    }

    /// What caps of a kind leave.
    fn room(&self, rule: &Rule, then: Then) -> Option<Money> {
        let caps = rule.caps.iter().map(|cap| &self.plan.caps[usize::from(*cap)]).filter(|cap| cap.then == then);
        let rooms = caps.map(|cap| {
            let (spent, reserved) = self.own_account().counter(cap.code, self.now);
            let others = if then == Then::Block { reserved } else { 0 };
            Money(cap.limit.0 - spent - others).or_nothing()
        });
        rooms.min()
    }

    fn tranche(&self, rule: &Rule, meter: Meter, wanted: u64) -> Tranche {
        let account = self.own_account();
        let full = self.open_view(rule);
        let free = self.room(rule, Then::Block).map_or(account.free(), |room| account.free().min(room));
        let equal = Money(account.spendable().0 / (i64::from(account.grants) + 1)).or_nothing();
        let share = Money((i128::from(free.0) * i128::from(self.plan.share) / 100) as i64).min(equal);
        let most = if wanted == 0 { rule.grant.most } else { wanted.min(rule.grant.most) };
        let extra = if rule.grant.pool > 0 { rule.next } else { 0 };
        let most_paid = most.saturating_add(extra);
        let fair = self.fair(&full, rule, account.grants);
        let least = rule.grant.least.min(most).saturating_add(extra);
        let mut paid = affordable(rule, meter, &fair, share, most_paid);
        if paid < least {
            paid = affordable(rule, meter, &full, free, least);
            // A step that has to be bought is granted whole.
            paid = affordable(rule, meter, &full, buy(rule, meter, &full, paid).money, most_paid).max(paid);
        }
        let alone = account.grants == 0 && paid < most_paid;
        let last = alone && affordable(rule, meter, &full, free, most_paid) == paid;
        Tranche { units: paid.saturating_sub(extra), paid, last }
    }

    /// Of bundles, what is there for each open grant of the account.
    fn fair(&self, full: &View, rule: &Rule, others: u32) -> View {
        let mut fair = *full;
        for left in fair.left.iter_mut().filter(|_| others > 0) {
            *left = (*left / (u64::from(others) + 1)).max((*left).min(rule.first));
        }
        fair
    }

    /// Nothing can be paid: the service ends, or goes on as its rule says, until the client asks again.
    fn exhausted(&mut self, key: ServiceKey, rule: &Rule) -> Given {
        let until = self.now.saturating_add(i64::from(rule.grant.validity));
        // Who tops up wants the client to ask again: the grant of nothing remembers it.
        let grant = Grant { last: true, since: self.now, until, ..nothing(rule.unit, self.now) };
        let given = match rule.grant.last {
            FinalAction::Terminate => refused(key, code::LIMIT_REACHED),
            _ => Given {
                granted: Some((rule.unit, 0)),
                validity: Some(rule.grant.validity),
                last: Some(last(rule)),
                ..refused(key, code::SUCCESS)
            },
        };
        self.effect(Effect::Granted { slot: self.slot, service: key, grant });
        given
    }
}

/// The grant in the words of the answer.
fn given(key: ServiceKey, rule: &Rule, grant: &Grant, now: Moment, throttled: bool) -> Given {
    let threshold = (u128::from(grant.units) * u128::from(rule.grant.threshold) / 100) as u64;
    Given {
        granted: Some((grant.unit, grant.units)),
        validity: u32::try_from(grant.until - now).ok(),
        holding: Some(rule.grant.holding).filter(|holding| *holding > 0),
        threshold: Some(threshold).filter(|threshold| *threshold > 0),
        change: grant.change,
        last: grant.last.then(|| last(rule)),
        pool: (grant.pool > 0).then(|| (grant.pool, unit_value(rule))),
        throttled,
        ..refused(key, code::SUCCESS)
    }
}

fn last(rule: &Rule) -> Final {
    Final { action: Action::from(rule.grant.last), redirect: rule.grant.redirect.as_str().into() }
}

/// The price of a unit, minor units, as digits and exponent (Unit-Value, RFC 8506 section 8.8): millionths, so rounded
/// up to the twelfth place.
fn unit_value(rule: &Rule) -> (i64, i64) {
    let price = rule.tiers.first().map_or(0, |tier| tier.price.0);
    let digits = (i128::from(price) * 1_000_000).div_euclid(i128::from(rule.next));
    let up = i128::from((i128::from(price) * 1_000_000).rem_euclid(i128::from(rule.next)) != 0);
    (i64::try_from(digits + up).unwrap_or(i64::MAX), -12)
}

/// The name of a plan in the ledger.
pub(super) fn plan_code(name: &str) -> Code {
    Code::of("plan", name)
}
