//! Usage is charged: by the rules of its time, to what was reserved first.

use super::request::{Asked, Side, Used};
use super::state::Service;
use super::{Given, Work, code};
use crate::account::{Account, Charge, Effect, Grant, ServiceKey, UnitsReason};
use crate::calendar::{Moment, NEVER};
use crate::money::Money;
use crate::rate::{Bought, Meter, Piece, Quantity, View, buy, pieces};
use crate::tariff::{Code, Outcome, Plan, Rounding, Rule, Then};
use crate::units::{Amounts, Unit};
use std::sync::LazyLock;

/// What is there for a service: what is free, and what it reserved itself.
pub(super) fn view(plan: &Plan, account: &Account, own: Option<&Grant>, rule: &Rule, at: Moment) -> View {
    let mut view = View::default();
    for (left, allowance) in view.left.iter_mut().zip(&rule.allowances) {
        let code = plan.allowances[usize::from(*allowance)].code;
        let mine =
            own.and_then(|own| own.taken.iter().find(|(taken, _)| *taken == code)).map_or(0, |(_, units)| *units);
        *left = account.bucket(code).map_or(0, |b| b.left.saturating_sub(b.reserved.saturating_sub(mine)));
    }
    view.counted = rule.counter.map_or(0, |(code, _)| account.counter(code, at).0.max(0) as u64);
    let rooms = rule.caps.iter().map(|cap| {
        let cap = &plan.caps[usize::from(*cap)];
        let (spent, reserved) = account.counter(cap.code, at);
        let mine = own.filter(|own| own.caps.contains(&cap.code)).map_or(0, |own| own.money.0);
        let others = if cap.then == Then::Block { (reserved - mine).max(0) } else { 0 };
        Money(cap.limit.0 - spent - others).or_nothing()
    });
    view.room = rooms.min();
    view
}

/// The charge of what was bought, without what only the account can say.
pub(super) fn charge(plan: &Plan, service: ServiceKey, piece: &Piece<'_>, rule: &Rule, bought: &Bought) -> Charge {
    let zone = &plan.calendar.zone;
    let mut counters = Vec::new();
    if let Some((code, period)) = rule.counter.filter(|_| bought.counted > 0) {
        counters.push((code, (period.end(zone, piece.at), bought.counted as i64)));
    }
    for cap in rule.caps.iter().map(|cap| &plan.caps[usize::from(*cap)]).filter(|_| bought.money > Money::ZERO) {
        counters.push((cap.code, (cap.period.end(zone, piece.at), bought.money.0)));
    }
    let taken = rule.allowances.iter().zip(bought.taken).filter(|(_, units)| *units > 0);
    Charge {
        service,
        rule: Code::of("rule", &rule.name),
        unit: rule.unit,
        units: piece.used.amount,
        used: Amounts::default(),
        money: bought.money,
        short: Money::ZERO,
        taken: taken.map(|(at, units)| (plan.allowances[usize::from(*at)].code, units)).collect(),
        counters,
        meter: bought.meter,
        until: piece.at,
    }
}

/// A report of a service at work.
struct Report<'a> {
    key: ServiceKey,
    /// The grant that it is of.
    own: Option<&'a Grant>,
    /// What it was charged so far.
    drawn: Money,
    /// What was reported and does not stand in the ledger yet.
    untold: Amounts,
}

impl Work<'_> {
    pub(super) fn service(&self, key: ServiceKey) -> Option<&Service> {
        self.state.session(self.slot)?.service(key)
    }

    pub(super) fn own_account(&self) -> &Account {
        static NONE: LazyLock<Account> = LazyLock::new(Account::default);
        self.state.account(self.account).unwrap_or(&NONE)
    }

    /// Bundles that have ended expire or come again.
    pub(super) fn renew(&mut self) {
        let ended: Vec<_> =
            self.own_account().buckets.iter().filter(|bucket| bucket.ends <= self.now).copied().collect();
        for bucket in ended {
            let kept = bucket.reserved.min(bucket.left);
            let known = self.plan.allowances.iter().find(|allowance| allowance.code == bucket.allowance);
            let again = known.and_then(|known| Some((known, known.period?)));
            let (reason, left, ends) = match again {
                Some((known, period)) => {
                    let over = (bucket.left - kept).min(known.roll_over);
                    (UnitsReason::Renewed, kept + over + known.amount, period.end(&self.plan.calendar.zone, self.now))
                }
                None => (UnitsReason::Expired, kept, bucket.ends),
            };
            let amount = left as i64 - bucket.left as i64;
            if amount != 0 || again.is_some() || left == 0 {
                let (account, allowance) = (self.account, bucket.allowance);
                self.effect(Effect::Units { account, allowance, reason, amount, ends });
            }
        }
    }

    /// What a service reports, and the end of its grant.
    pub(super) fn report(&mut self, asked: &Asked, late: bool) {
        let since = self.service(asked.key).map_or(self.now, |service| service.until);
        // What is late belongs to a grant that is gone: the one that is there is not its own.
        let own = self.service(asked.key).and_then(Service::grant).filter(|_| !late);
        let mut report = Report { key: asked.key, own: own.as_ref(), drawn: Money::ZERO, untold: Amounts::default() };
        for side in [None, Some(Side::Before), Some(Side::After)] {
            let used = asked.used.iter().filter(|used| used.side == side).fold(Amounts::default(), add);
            let change = own.as_ref().and_then(|own| own.change).map(|change| change.min(self.now));
            let (begin, end) = match (side, change) {
                (Some(Side::Before), Some(change)) => (since, change),
                (Some(Side::After), Some(change)) => (change, self.now),
                _ => (since, self.now),
            };
            if !used.is_nothing() {
                report.untold = used;
                self.used(&mut report, &used, (begin, end));
            }
        }
        if let Some(own) = own {
            self.effect(Effect::Granted { slot: self.slot, service: asked.key, grant: nothing(own.unit, self.now) });
        }
    }

    /// A part of a report.
    fn used(&mut self, report: &mut Report<'_>, used: &Amounts, (begin, end): (Moment, Moment)) {
        let (plan, key) = (self.plan, report.key);
        let pieces = pieces(plan, &Self::context(self.place(), key), begin, end, used);
        let whole = pieces.len() == 1;
        for piece in pieces {
            match piece.rule.map(|rule| (rule, rule.outcome)) {
                Some((rule, Outcome::Priced)) => self.piece(report, &piece, rule),
                Some((rule, Outcome::Free)) => self.free(report, piece, rule, used, whole),
                _ if whole => self.no_price(key, *used),
                _ => self.no_price(key, Amounts::of(piece.used.unit, piece.used.amount)),
            }
        }
    }

    /// Usage that costs nothing stands in the ledger, too, and moves no meter.
    fn free(&mut self, report: &mut Report<'_>, piece: Piece<'_>, rule: &Rule, used: &Amounts, whole: bool) {
        let service = self.service(report.key);
        let unit = service.filter(|_| whole).map_or(piece.used.unit, |service| service.unit);
        let amount = if whole { used.get(unit) } else { piece.used.amount };
        let meter = service.filter(|service| service.unit == unit).map_or(meter(service, rule), |s| s.meter);
        let bought = Bought { meter, taken: Default::default(), counted: 0, money: Money::ZERO };
        let piece = Piece { used: Quantity { unit, amount }, ..piece };
        let mut charge = charge(self.plan, report.key, &piece, rule, &bought);
        (charge.unit, charge.until, charge.used) = (unit, self.now, core::mem::take(&mut report.untold));
        self.effect(Effect::Charged { slot: self.slot, account: self.account, charge });
    }

    /// Charges usage at one price.
    fn piece(&mut self, report: &mut Report<'_>, piece: &Piece<'_>, rule: &Rule) {
        let (key, own) = (report.key, report.own);
        let account = self.own_account();
        let view = view(self.plan, account, own, rule, piece.at);
        let bought = buy(rule, meter(self.service(key), rule), &view, piece.used.amount);
        let reserved = own.map_or(Money::ZERO, |own| own.money);
        let pooled = self.pooled(key, own);
        let there = account.spendable().minus(account.reserved).plus(reserved).plus(pooled).or_nothing();
        let payable = bought.money.min(there);
        let mut charge = charge(self.plan, key, piece, rule, &Bought { money: payable, ..bought });
        charge.short = bought.money.minus(payable);
        (charge.until, charge.used) = (self.now, core::mem::take(&mut report.untold));
        if rule.rounding == Rounding::Report {
            charge.meter = charge.meter.after_report();
        }
        let before = report.drawn.minus(reserved).or_nothing();
        report.drawn = report.drawn.plus(payable);
        let beyond = report.drawn.minus(reserved).or_nothing().minus(before).min(pooled);
        self.effect(Effect::Charged { slot: self.slot, account: self.account, charge });
        self.draw(key, own.map_or(0, |own| own.pool), beyond);
    }

    /// What other services of the session reserve in the same pool.
    fn pooled(&self, key: ServiceKey, own: Option<&Grant>) -> Money {
        let Some(own) = own.filter(|own| own.pool > 0) else { return Money::ZERO };
        let services = self.state.session(self.slot).into_iter().flat_map(|session| &session.services);
        let others = services.filter(|service| service.key != key).filter_map(Service::grant);
        others.filter(|grant| grant.pool == own.pool).fold(Money::ZERO, |sum, grant| sum.plus(grant.money))
    }

    /// Takes from the reservations of a pool what a service used of them.
    fn draw(&mut self, key: ServiceKey, pool: u32, beyond: Money) {
        let mut beyond = beyond;
        while beyond > Money::ZERO && pool > 0 {
            let services = self.state.session(self.slot).into_iter().flat_map(|session| &session.services);
            let other = services.filter(|service| service.key != key).find_map(|service| {
                let grant = service.grant()?;
                (grant.pool == pool && grant.money > Money::ZERO).then_some((service.key, grant))
            });
            let Some((other, mut grant)) = other else { return };
            let part = grant.money.min(beyond);
            (grant.money, beyond) = (grant.money.minus(part), beyond.minus(part));
            self.effect(Effect::Granted { slot: self.slot, service: other, grant });
        }
    }
}

/// The meter of a service for a rule.
pub(super) fn meter(service: Option<&Service>, rule: &Rule) -> Meter {
    match service {
        Some(service) if service.unit == rule.unit => service.meter,
        Some(service) => service.meter.in_other_unit(),
        None => Meter::default(),
    }
}

/// A grant that gives back what was reserved.
pub(super) fn nothing(unit: Unit, now: Moment) -> Grant {
    Grant {
        unit,
        units: 0,
        money: Money::ZERO,
        taken: Vec::new(),
        caps: Vec::new(),
        since: now,
        change: None,
        until: NEVER,
        last: false,
        pool: 0,
    }
}

/// A service that is given nothing but a code.
pub(super) fn refused(key: ServiceKey, code: u32) -> Given {
    Given { key, code, ..Given::default() }
}

/// What an outcome that is no price is answered.
pub(super) fn unpriced(key: ServiceKey, rule: Option<&Rule>) -> Given {
    refused(
        key,
        match rule.map(|rule| rule.outcome) {
            Some(Outcome::Free) => code::NOT_APPLICABLE,
            Some(Outcome::Blocked) => code::SERVICE_DENIED,
            _ => code::RATING_FAILED,
        },
    )
}

/// The sum of two reports of one side.
fn add(sum: Amounts, used: &Used) -> Amounts {
    let more = &used.amounts;
    Amounts {
        octets: sum.octets.saturating_add(more.octets),
        octets_in: sum.octets_in.saturating_add(more.octets_in),
        octets_out: sum.octets_out.saturating_add(more.octets_out),
        seconds: sum.seconds.saturating_add(more.seconds),
        service_units: sum.service_units.saturating_add(more.service_units),
    }
}
