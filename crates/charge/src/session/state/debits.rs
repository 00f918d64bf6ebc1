//! What sessions were debited and can be given back: of clients that may do so, the newest.

use super::{Aside, SESSION_SERVICES_MAX};
use crate::account::{Account, Charge, ServiceKey, fields};
use crate::calendar::Moment;
use crate::money::Money;
use crate::tariff::Code;
use crate::units::Unit;
use core::hash::Hash;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Sessions of which it is known what they were debited; with one more the oldest is forgotten, and counted.
// Limit: ended sessions that can still be refunded
// Beyond: the oldest is forgotten
// Seen in: `trunkline_charge_debits_forgotten_total`
pub const DEBITS_MAX: usize = 200_000;

/// What a session was debited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debit {
    /// The session's slot while it is open.
    pub slot: Option<u32>,
    /// Session-Id.
    pub session: Box<str>,
    /// CC-Correlation-Id; none has no octets.
    pub correlation: Box<[u8]>,
    /// Origin-Host of its client.
    pub origin: Box<str>,
    /// Whose session it was.
    pub subscriber: u64,
    /// Who paid.
    pub account: u64,
    /// Until when it can be given back.
    pub until: Moment,
    /// What each service was debited; what has no place of a session's services cannot be given back.
    pub parts: Vec<Part>,
}

/// What a service was debited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The service.
    pub service: ServiceKey,
    /// How many units it was charged for. What another unit was counted in is given back in equal parts with them.
    pub units: (Unit, u64),
    /// Money.
    pub money: Money,
    /// Units of allowances, and when those ended.
    pub taken: Vec<(Code, (Moment, u64))>,
    /// What counters and caps moved by, and when their periods ended.
    pub counters: Vec<(Code, (Moment, i64))>,
    /// It was given back, in part or wholly: that is done once.
    pub refunded: bool,
}

fields! {
    Debit { slot, session, correlation, origin, subscriber, account, until, parts }
    Part { service, units, money, taken, counters, refunded }
}

/// Debits by the numbers of the entries in which their sessions began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Debits {
    all: BTreeMap<u64, Debit>,
    /// The numbers of a name, of which there are few.
    sessions: HashMap<Box<str>, Vec<u64>>,
    correlations: HashMap<Box<[u8]>, Vec<u64>>,
    slots: HashMap<u32, u64>,
    /// Those that were forgotten for want of room, since the start.
    pub forgotten: Aside<u64>,
}

impl Debits {
    /// One more begins.
    pub fn open(&mut self, number: u64, debit: Debit, now: Moment) {
        let mut count = self.all.len();
        while let Some(oldest) = self.all.first_entry() {
            let is_over = oldest.get().until <= now;
            if !is_over && count < DEBITS_MAX {
                break;
            }
            let (oldest, debit) = oldest.remove_entry();
            count -= 1;
            self.forgotten.0 += u64::from(!is_over);
            leave(&mut self.sessions, &debit.session, oldest);
            leave(&mut self.correlations, &debit.correlation, oldest);
            if let Some(slot) = debit.slot {
                self.slots.remove(&slot);
            }
        }
        self.restore(number, debit);
    }

    /// One that is there.
    pub fn restore(&mut self, number: u64, debit: Debit) {
        self.sessions.entry(debit.session.clone()).or_default().push(number);
        if !debit.correlation.is_empty() {
            self.correlations.entry(debit.correlation.clone()).or_default().push(number);
        }
        self.slots.extend(debit.slot.map(|slot| (slot, number)));
        self.all.insert(number, debit);
    }

    /// A session is charged, by an account as it was before.
    pub fn charge(&mut self, slot: u32, account: Option<&Account>, charge: &Charge) {
        let number = self.slots.get(&slot);
        let Some(debit) = number.and_then(|number| self.all.get_mut(number)) else { return };
        let ends = |code: Code| account.and_then(|account| account.bucket(code)).map_or(Moment::MAX, |b| b.ends);
        debit.add(charge, ends);
    }

    /// A session has ended.
    pub fn close(&mut self, slot: u32, until: Moment) {
        let debit = self.slots.remove(&slot).and_then(|number| self.all.get_mut(&number));
        debit.into_iter().for_each(|debit| (debit.slot, debit.until) = (None, debit.until.max(until)));
    }

    /// A service was given back.
    pub fn refund(&mut self, number: u64, service: ServiceKey) {
        let parts = self.all.get_mut(&number).into_iter().flat_map(|debit| &mut debit.parts);
        parts.filter(|part| part.service == service).for_each(|part| part.refunded = true);
    }

    /// Those of a session, and of a correlation if it is one, the oldest first.
    pub fn find(&self, session: &str, correlation: &[u8]) -> impl Iterator<Item = (u64, &Debit)> {
        let of_session = self.sessions.get(session).into_iter().flatten();
        let of_correlation = self.correlations.get(correlation).into_iter().flatten();
        let mut numbers: Vec<u64> = of_session.chain(of_correlation).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().filter_map(|number| Some((number, self.all.get(&number)?)))
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Debit)> {
        self.all.iter().map(|(number, debit)| (*number, debit))
    }
}

fn leave<K: Eq + Hash>(names: &mut HashMap<K, Vec<u64>>, name: &K, number: u64) {
    if let Some(numbers) = names.get_mut(name) {
        numbers.retain(|one| *one != number);
        if numbers.is_empty() {
            names.remove(name);
        }
    }
}

impl Debit {
    fn add(&mut self, charge: &Charge, ends: impl Fn(Code) -> Moment) {
        let known = self.parts.iter().position(|part| part.service == charge.service);
        if known.is_none() && self.parts.len() >= SESSION_SERVICES_MAX {
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.parts.push(Part::new(charge));
            self.parts.len() - 1
        });
        self.parts[at].add(charge, ends);
    }
}

impl Part {
    fn new(charge: &Charge) -> Part {
        let (taken, counters) = (Vec::new(), Vec::new());
        let (service, units) = (charge.service, (charge.unit, 0));
        Part { service, units, money: Money::ZERO, taken, counters, refunded: false }
    }

    fn add(&mut self, charge: &Charge, ends: impl Fn(Code) -> Moment) {
        if self.units.0 == charge.unit {
            self.units.1 = self.units.1.saturating_add(charge.units);
        }
        self.money = self.money.plus(charge.money);
        for (code, units) in &charge.taken {
            let ends = ends(*code);
            match self.taken.iter_mut().find(|(known, (end, _))| *known == *code && *end == ends) {
                Some((_, (_, sum))) => *sum = sum.saturating_add(*units),
                None => self.taken.push((*code, (ends, *units))),
            }
        }
        for (code, (ends, by)) in &charge.counters {
            match self.counters.iter_mut().find(|(known, (end, _))| *known == *code && *end == *ends) {
                Some((_, (_, sum))) => *sum = sum.saturating_add(*by),
                None => self.counters.push((*code, (*ends, *by))),
            }
        }
    }
}
