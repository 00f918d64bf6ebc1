//! What was debited is given back: to where it came from, once.

use super::Work;
use super::charge::refused;
use super::event::add;
use super::request::{Answer, Asked, Given, Kind, Request, code};
use super::state::{Debit, Part};
use crate::account::{Effect, Refund, ServiceKey};
use crate::money::Money;

/// Seconds for which it is known what a session that has ended was debited, so that it can be given back.
pub const REFUND_KEPT_S: i64 = 7 * 86_400;

impl Work<'_> {
    /// A session begins: where its client, or another one of its set, may give back, what it is debited is remembered.
    pub(super) fn remember(&mut self, request: &Request) {
        let debits = !request.kind.is_event() || request.kind == Kind::DirectDebit;
        if debits && self.trust.is_refundable(&request.origin) {
            let until = self.now.saturating_add(REFUND_KEPT_S);
            self.effect(Effect::Refundable { slot: self.slot, correlation: request.correlation.clone(), until });
        }
    }

    /// Gives back what a service was debited.
    pub(super) fn refund(&mut self, request: &Request, asked: &Asked, answer: &mut Answer) -> Given {
        let wanted = asked.used.first().map_or(asked.requested, |used| Some(used.amounts)).unwrap_or_default();
        let Some(session) = self.state.session(self.slot) else { return refused(asked.key, code::UNABLE_TO_COMPLY) };
        let (name, origin, subscriber) = (session.name.clone(), session.access.origin.clone(), session.subscriber);
        let is_of = |debit: &Debit| {
            let is_over = debit.slot.is_none() && debit.until > self.now;
            is_over && debit.subscriber == subscriber && self.trust.same(&debit.origin, &request.origin)
        };
        let debits = self.state.debits.find(&request.session, &request.correlation).filter(|(_, debit)| is_of(debit));
        let (mut backs, mut units_back, mut left) = (Vec::new(), None, None);
        for (number, debit) in debits {
            let all = asked.key == ServiceKey::default();
            for part in debit.parts.iter().filter(|part| !part.refunded && (all || part.service == asked.key)) {
                let (unit, units) = part.units;
                let left = left.get_or_insert_with(|| Some(wanted.get(unit)).filter(|wanted| *wanted > 0));
                let share = left.map_or(units, |left: u64| left.min(units));
                let back = self.back((number, debit), part, share);
                if back.money == Money::ZERO && back.taken.is_empty() {
                    continue;
                }
                *left = left.map(|left| left - share);
                let before = units_back.map_or(0, |(_, before): (_, u64)| before);
                units_back = Some((unit, before.saturating_add(share)));
                backs.push(back);
            }
        }
        if backs.is_empty() {
            return refused(asked.key, code::UNABLE_TO_COMPLY);
        }
        for refund in backs {
            add(&mut answer.cost, refund.money);
            let (session, origin) = (name.clone(), origin.clone());
            self.effect(Effect::Refunded { slot: self.slot, session, origin, subscriber, refund });
        }
        Given { granted: units_back, ..refused(asked.key, code::SUCCESS) }
    }

    /// So many units of those that a part was charged for; of bundles, what has not ended since.
    fn back(&self, (number, debit): (u64, &Debit), part: &Part, share: u64) -> Refund {
        let of = |amount: u64| match part.units.1 {
            0 => amount,
            units => (u128::from(amount) * u128::from(share) / u128::from(units)) as u64,
        };
        let of_signed = |amount: i64| i64::try_from(of(amount.max(0).unsigned_abs())).unwrap_or(0);
        let account = self.state.account(debit.account);
        let there = |code, ends| account.and_then(|a| a.bucket(code)).is_some_and(|bucket| bucket.ends == ends);
        let taken = part.taken.iter().filter(|(code, (ends, _))| there(*code, *ends));
        let taken = taken.map(|(code, (_, units))| (*code, of(*units))).filter(|(_, units)| *units > 0);
        let counters = part.counters.iter().map(|(code, (ends, by))| (*code, (*ends, of_signed(*by))));
        Refund {
            debit: number,
            account: debit.account,
            service: part.service,
            units: share,
            money: Money(of_signed(part.money.0)),
            taken: taken.collect(),
            counters: counters.filter(|(_, (_, by))| *by > 0).collect(),
        }
    }
}
