//! Whether what was given back was debited before, from the same account, and once: added up beside the state.

use super::audit::Difference;
use super::{Charge, Effect, MoneyReason, Refund, ServiceKey};
use crate::money::Money;
use crate::session::State;
use crate::tariff::Code;
use hashbrown::HashMap;

/// Differences that are told; all are counted.
const TOLD_MAX: usize = 1000;

/// What debits come to that can be given back, by the entries in which their sessions began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refunds {
    debits: HashMap<u64, Debited>,
    /// The debits of sessions that are open.
    slots: HashMap<u32, u64>,
    wrong: Vec<Difference>,
    more: u64,
    untied: (u64, Money),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Debited {
    account: u64,
    services: HashMap<ServiceKey, Service>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Service {
    money: i64,
    taken: Vec<(Code, u64)>,
    refunded: bool,
}

impl Service {
    fn take(&mut self, code: Code, units: u64) {
        match self.taken.iter_mut().find(|(known, _)| *known == code) {
            Some((_, sum)) => *sum = sum.saturating_add(units),
            None => self.taken.push((code, units)),
        }
    }

    fn taken(&self, code: Code) -> u64 {
        self.taken.iter().find(|(known, _)| *known == code).map_or(0, |(_, sum)| *sum)
    }
}

impl Refunds {
    /// What a state knows of entries that are not there any more.
    pub fn opening(state: &State) -> Refunds {
        let mut refunds = Refunds::default();
        for (number, debit) in state.debits() {
            let mut known = Debited { account: debit.account, ..Debited::default() };
            for part in &debit.parts {
                let mut service = Service { money: part.money.0, taken: Vec::new(), refunded: part.refunded };
                part.taken.iter().for_each(|(code, (_, units))| service.take(*code, *units));
                known.services.insert(part.service, service);
            }
            refunds.slots.extend(debit.slot.map(|slot| (slot, number)));
            refunds.debits.insert(number, known);
        }
        refunds
    }

    /// Goes on by an effect of an entry.
    pub fn add(&mut self, sequence: u64, effect: &Effect) {
        match effect {
            Effect::Refundable { slot, .. } => {
                self.slots.insert(*slot, sequence);
                self.debits.insert(sequence, Debited::default());
            }
            Effect::Charged { slot, account, charge } => self.charge(*slot, *account, charge),
            Effect::Closed { slot, .. } => {
                self.slots.remove(slot);
            }
            Effect::Refunded { refund, .. } => {
                if let Some(what) = self.refund(refund) {
                    let what = format!("entry {sequence}: {what}");
                    match self.wrong.len() < TOLD_MAX {
                        true => self.wrong.push(Difference { account: refund.account, what }),
                        false => self.more += 1,
                    }
                }
            }
            Effect::Money { reason: MoneyReason::Refund, amount, .. } => {
                self.untied = (self.untied.0 + 1, self.untied.1.plus(*amount));
            }
            _ => {}
        }
    }

    fn charge(&mut self, slot: u32, account: u64, charge: &Charge) {
        let number = self.slots.get(&slot);
        let Some(debit) = number.and_then(|number| self.debits.get_mut(number)) else { return };
        debit.account = account;
        let service = debit.services.entry(charge.service).or_default();
        service.money = service.money.saturating_add(charge.money.0);
        charge.taken.iter().for_each(|(code, units)| service.take(*code, *units));
    }

    /// What is wrong with a refund, if something is.
    fn refund(&mut self, refund: &Refund) -> Option<String> {
        let Some(debit) = self.debits.get_mut(&refund.debit) else {
            return Some(format!("{} is given back of entry {}, which debited nothing", refund.money, refund.debit));
        };
        let account = debit.account;
        let Some(service) = debit.services.get_mut(&refund.service) else {
            return Some(format!("{} is given back of a service that was debited nothing", refund.money));
        };
        if account != refund.account {
            return Some(format!("{} is given back that account {account} paid", refund.money));
        }
        if core::mem::replace(&mut service.refunded, true) {
            return Some(format!("{} is given back a second time", refund.money));
        }
        if refund.money.0 > service.money || refund.money < Money::ZERO {
            return Some(format!("{} is given back of {} that were debited", refund.money, service.money));
        }
        let beyond = refund.taken.iter().find(|(code, units)| *units > service.taken(*code));
        beyond.map(|(code, units)| {
            format!("{units} units of allowance {} are given back of {} that were taken", code.0, service.taken(*code))
        })
    }

    /// What is wrong. Where entries are gone it cannot be said: what they debited is not known.
    pub fn differences(&self, state: &State) -> Vec<Difference> {
        if state.lost() > 0 {
            return Vec::new();
        }
        let mut found = self.wrong.clone();
        if let Some(last) = found.last_mut().filter(|_| self.more > 0) {
            last.what = format!("{}; {} more refunds are wrong", last.what, self.more);
        }
        found
    }

    pub fn untied(&self) -> (u64, Money) {
        self.untied
    }
}
