//! Events: debited at once or not at all, priced, checked.

use super::Work;
use super::charge::{charge, refused, unpriced, view};
use super::request::{Answer, Asked, Given, Kind, Request, code};
use crate::account::Effect;
use crate::money::Money;
use crate::rate::{Meter, Piece, Quantity, View, buy};
use crate::tariff::{Outcome, Rule, Then};
use crate::units::Amounts;

impl Work<'_> {
    /// Answers an event, service by service.
    pub(super) fn event(&mut self, request: &Request) -> Answer {
        let mut answer = Answer::of(code::SUCCESS);
        for asked in &request.services {
            let given = match request.kind {
                Kind::Refund => self.refund(request, asked, &mut answer),
                kind => self.event_of(kind, asked, &mut answer),
            };
            // A single service is told for the command, too: events have no other place for it (RFC 8506 section 6).
            if request.services.len() == 1 {
                answer.code = given.code;
            }
            answer.services.push(given);
        }
        answer
    }

    pub(super) fn event_of(&mut self, kind: Kind, asked: &Asked, answer: &mut Answer) -> Given {
        let (plan, key) = (self.plan, asked.key);
        let rule = match plan.rule(&Self::context(self.place(), key), self.now) {
            Some(rule) if rule.outcome == Outcome::Priced => rule,
            other => return unpriced(key, other),
        };
        let wanted = asked.requested.unwrap_or_default();
        let used = asked.used.first().map_or(wanted, |used| used.amounts);
        // An event that names no number is one.
        let units = used.get(rule.unit).max(1);
        let given = Given { granted: Some((rule.unit, units)), ..refused(key, code::SUCCESS) };
        match kind {
            Kind::PriceEnquiry => add(&mut answer.cost, buy(rule, Meter::default(), &self.all(rule), units).money),
            Kind::CheckBalance => {
                let enough = self.pays(rule, units).is_some();
                answer.enough = Some(answer.enough.unwrap_or(true) && enough);
            }
            _ => return self.debit(rule, units, given, answer),
        }
        given
    }

    /// What is free for an event.
    fn all(&self, rule: &Rule) -> View {
        view(self.plan, self.own_account(), None, rule, self.now)
    }

    /// What so many units cost, if that can be paid and no cap blocks it.
    fn pays(&self, rule: &Rule, units: u64) -> Option<crate::rate::Bought> {
        let mut all = self.all(rule);
        let blocks = rule.caps.iter().any(|cap| self.plan.caps[usize::from(*cap)].then == Then::Block);
        let room = if blocks { all.room.take() } else { None };
        let bought = buy(rule, Meter::default(), &all, units);
        let free = room.map_or(self.own_account().free(), |room| self.own_account().free().min(room));
        (bought.money <= free).then_some(bought)
    }

    fn debit(&mut self, rule: &Rule, units: u64, given: Given, answer: &mut Answer) -> Given {
        let Some(bought) = self.pays(rule, units) else { return refused(given.key, code::LIMIT_REACHED) };
        let used = Quantity { unit: rule.unit, amount: units };
        let piece = Piece { rule: None, at: self.now, used };
        let mut charge = charge(self.plan, given.key, &piece, rule, &bought);
        charge.used = Amounts::of(rule.unit, units);
        add(&mut answer.cost, charge.money);
        self.effect(Effect::Charged { slot: self.slot, account: self.account, charge });
        given
    }
}

pub(super) fn add(cost: &mut Option<Money>, more: Money) {
    *cost = Some(cost.unwrap_or_default().plus(more));
}
