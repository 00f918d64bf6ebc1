//! An account: what it has, what is reserved of it, and what it used in its periods.

use super::codec::{Octets, fields};
use super::entry::{Charge, Grant, Refund};
use crate::calendar::Moment;
use crate::money::Money;
use crate::tariff::Code;

/// An account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Its plan.
    pub plan: Code,
    /// What it may owe: zero is prepaid.
    pub credit: Money,
    /// What it has; below zero, what it owes.
    pub balance: Money,
    /// Money that grants reserve.
    pub reserved: Money,
    /// Grants that have units.
    pub grants: u32,
    /// What is left of allowances.
    pub buckets: Vec<Bucket>,
    /// What was used or spent in periods.
    pub counters: Vec<Counter>,
    /// Its open sessions.
    pub sessions: Vec<u32>,
    /// Whom it pays for.
    pub subscribers: Payees,
}

/// The subscribers of an account by their numbers, ascending. It follows from the subscribers: accounts that differ in
/// it alone are the same.
#[derive(Clone, Debug, Default)]
pub struct Payees(Vec<u64>);

impl PartialEq for Payees {
    fn eq(&self, _: &Payees) -> bool {
        true
    }
}

impl Eq for Payees {}

impl Payees {
    /// Their numbers.
    pub fn numbers(&self) -> &[u64] {
        &self.0
    }

    /// One more.
    pub(crate) fn add(&mut self, subscriber: u64) {
        let Err(at) = self.0.binary_search(&subscriber) else { return };
        // Most accounts have one, and there are many of them.
        self.0.reserve_exact(usize::from(self.0.len() < 4));
        self.0.insert(at, subscriber);
    }

    /// One less.
    pub(crate) fn remove(&mut self, subscriber: u64) {
        let Ok(at) = self.0.binary_search(&subscriber) else { return };
        self.0.remove(at);
    }
}

/// What is left of an allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The allowance.
    pub allowance: Code,
    /// Units, those that are reserved among them.
    pub left: u64,
    /// Units that grants reserve. What is reserved when the bucket ends stays until it is reported.
    pub reserved: u64,
    /// When it expires or comes again.
    pub ends: Moment,
}

/// Units of a counter, or money of a cap, in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The counter or the cap.
    pub code: Code,
    /// When the period ends.
    pub ends: Moment,
    /// Units or minor units.
    pub used: i64,
    /// Of a cap, what grants reserve.
    pub reserved: i64,
}

fields! {
    Bucket { allowance, left, reserved, ends }
    Counter { code, ends, used, reserved }
}

impl Account {
    /// What may be spent, reserved or not.
    pub fn spendable(&self) -> Money {
        self.balance.plus(self.credit)
    }

    /// What may be spent and is not reserved.
    pub fn free(&self) -> Money {
        self.spendable().minus(self.reserved).or_nothing()
    }

    /// The bucket of an allowance.
    pub fn bucket(&self, allowance: Code) -> Option<&Bucket> {
        self.buckets.iter().find(|bucket| bucket.allowance == allowance)
    }

    /// What a counter shows, and what is reserved of it, in the period that holds `at`.
    pub fn counter(&self, code: Code, at: Moment) -> (i64, i64) {
        let found = self.counters.iter().find(|counter| counter.code == code);
        found.map_or((0, 0), |counter| (if counter.ends > at { counter.used } else { 0 }, counter.reserved))
    }

    pub(crate) fn put_without_sessions(&self, out: &mut Vec<u8>) {
        let Account { plan, credit, balance, reserved, grants, buckets, counters, sessions: _, subscribers: _ } = self;
        (*plan, (*credit, (*balance, (*reserved, *grants)))).put(out);
        buckets.put(out);
        counters.put(out);
    }

    pub(crate) fn take_without_sessions(from: &mut &[u8]) -> Option<Account> {
        let (plan, (credit, (balance, (reserved, grants)))) = Octets::take(from)?;
        let (buckets, counters) = (Octets::take(from)?, Octets::take(from)?);
        let (sessions, subscribers) = (Vec::new(), Payees::default());
        Some(Account { plan, credit, balance, reserved, grants, buckets, counters, sessions, subscribers })
    }

    /// A session of it begins.
    pub(crate) fn opened(&mut self, slot: u32) {
        // Most have one, and there are many of them.
        self.sessions.reserve_exact(usize::from(self.sessions.len() < 4));
        self.sessions.push(slot);
    }

    /// Adds units to a bucket or takes them away; one without units goes when it expires.
    pub(crate) fn add_units(&mut self, allowance: Code, amount: i64, ends: Moment, expires: bool) {
        if self.bucket(allowance).is_none() {
            self.buckets.push(Bucket { allowance, left: 0, reserved: 0, ends });
        }
        for bucket in self.buckets.iter_mut().filter(|bucket| bucket.allowance == allowance) {
            (bucket.left, bucket.ends) = (bucket.left.saturating_add_signed(amount), ends);
        }
        self.buckets
            .retain(|bucket| !expires || bucket.allowance != allowance || bucket.left > 0 || bucket.reserved > 0);
    }

    pub(crate) fn charge(&mut self, charge: &Charge) {
        self.balance = self.balance.minus(charge.money);
        self.use_units(charge);
        for (code, (ends, amount)) in &charge.counters {
            let counter = self.counter_mut(*code, *ends);
            // What is reported late counts in the period that is now.
            if *ends > counter.ends {
                (counter.ends, counter.used) = (*ends, 0);
            }
            counter.used = counter.used.saturating_add(*amount);
        }
    }

    /// What was debited comes back: money, units of bundles that are there still, and what it moved in periods that
    /// have not ended.
    pub(crate) fn refund(&mut self, refund: &Refund) {
        self.balance = self.balance.plus(refund.money);
        self.refund_units(&refund.taken);
        for (code, (ends, amount)) in &refund.counters {
            let same = |counter: &&mut Counter| counter.code == *code && counter.ends == *ends;
            for counter in self.counters.iter_mut().filter(same) {
                counter.used = counter.used.saturating_sub(*amount);
            }
        }
    }

    pub(crate) fn refund_units(&mut self, taken: &[(Code, u64)]) {
        for (code, units) in taken {
            if let Some(bucket) = self.buckets.iter_mut().find(|bucket| bucket.allowance == *code) {
                bucket.left = bucket.left.saturating_add(*units);
            }
        }
    }

    /// What bundles paid of a charge.
    pub(crate) fn use_units(&mut self, charge: &Charge) {
        for (code, units) in &charge.taken {
            if let Some(bucket) = self.buckets.iter_mut().find(|bucket| bucket.allowance == *code) {
                bucket.left = bucket.left.saturating_sub(*units);
            }
        }
    }

    pub(crate) fn reserve(&mut self, grant: &Grant) {
        self.reserved = self.reserved.plus(grant.money);
        self.grants += u32::from(grant.units > 0);
        for (code, units) in &grant.taken {
            if let Some(bucket) = self.buckets.iter_mut().find(|bucket| bucket.allowance == *code) {
                bucket.reserved = bucket.reserved.saturating_add(*units);
            }
        }
        for code in &grant.caps {
            let counter = self.counter_mut(*code, Moment::MIN);
            counter.reserved = counter.reserved.saturating_add(grant.money.0);
        }
    }

    pub(crate) fn release(&mut self, grant: &Grant) {
        self.reserved = self.reserved.minus(grant.money);
        self.grants = self.grants.saturating_sub(u32::from(grant.units > 0));
        for (code, units) in &grant.taken {
            if let Some(bucket) = self.buckets.iter_mut().find(|bucket| bucket.allowance == *code) {
                bucket.reserved = bucket.reserved.saturating_sub(*units);
            }
        }
        for code in &grant.caps {
            let counter = self.counter_mut(*code, Moment::MIN);
            counter.reserved = counter.reserved.saturating_sub(grant.money.0);
        }
    }

    fn counter_mut(&mut self, code: Code, ends: Moment) -> &mut Counter {
        let at = self.counters.iter().position(|counter| counter.code == code).unwrap_or_else(|| {
            self.counters.push(Counter { code, ends, used: 0, reserved: 0 });
            self.counters.len() - 1
        });
        &mut self.counters[at]
    }
}
