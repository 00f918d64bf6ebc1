//! The books are balanced: sums of entries beside the state that the program goes by.

use super::{Account, Effect, Entry};
use crate::money::Money;
use crate::session::State;
use crate::tariff::Code;
use std::collections::BTreeMap;

/// An account that is not what its entries say, or holds what it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The account.
    pub account: u64,
    /// What is wrong, for people.
    pub what: String,
}

/// Adds up all entries, from the first on, and compares the sums with the state.
///
/// Looks at nothing but the entries' amounts. Then at what must hold at any time: reservations are those of the
/// grants, and are there; nothing is below zero but what a credit limit lets be.
pub fn audit<'a>(entries: impl IntoIterator<Item = &'a Entry>, state: &State) -> Vec<Difference> {
    let (mut money, mut units) = (BTreeMap::new(), BTreeMap::new());
    for effect in entries.into_iter().flat_map(|entry| &entry.effects) {
        match effect {
            Effect::Money { account, amount, .. } => *money.entry(*account).or_insert(0) += amount.0,
            Effect::Units { account, allowance, amount, .. } => {
                *units.entry((*account, *allowance)).or_insert(0) += amount
            }
            Effect::Charged { account, charge, .. } => {
                *money.entry(*account).or_insert(0) -= charge.money.0;
                for (allowance, taken) in &charge.taken {
                    *units.entry((*account, *allowance)).or_insert(0) -= *taken as i64;
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (number, account) in state.accounts() {
        let mut differs = |what: String| found.push(Difference { account: number, what });
        sums(number, account, &money, &units, &mut differs);
        held(number, account, state, &mut differs);
    }
    found
}

fn sums(
    number: u64,
    account: &Account,
    money: &BTreeMap<u64, i64>,
    units: &BTreeMap<(u64, Code), i64>,
    differs: &mut impl FnMut(String),
) {
    let sum = money.get(&number).copied().unwrap_or_default();
    if account.balance.0 != sum {
        differs(format!("the balance is {}, its entries are {sum}", account.balance));
    }
    for ((_, allowance), sum) in units.range((number, Code(0))..=(number, Code(u32::MAX))) {
        let left = account.bucket(*allowance).map_or(0, |bucket| bucket.left);
        if i64::try_from(left) != Ok(*sum) {
            differs(format!("allowance {} holds {left}, its entries are {sum}", allowance.0));
        }
    }
}

fn held(number: u64, account: &Account, state: &State, differs: &mut impl FnMut(String)) {
    let grants = || state.grants(number);
    let reserved: i64 = grants().map(|grant| grant.money.0).sum();
    if account.reserved.0 != reserved {
        differs(format!("{} is reserved, grants say {reserved}", account.reserved));
    }
    // A credit limit that was lowered leaves what was granted before.
    if account.reserved > Money::ZERO && account.reserved > account.spendable() && account.credit == Money::ZERO {
        differs(format!("{} is reserved of {}", account.reserved, account.spendable()));
    }
    if account.balance < Money::ZERO && account.credit == Money::ZERO {
        differs(format!("prepaid, and at {}", account.balance));
    }
    for bucket in &account.buckets {
        let taken = grants().flat_map(|grant| &grant.taken).filter(|(code, _)| *code == bucket.allowance);
        let reserved: u64 = taken.map(|(_, units)| units).sum();
        if bucket.reserved != reserved || reserved > bucket.left {
            let (allowance, left) = (bucket.allowance.0, bucket.left);
            differs(format!("allowance {allowance}: {} of {left} is reserved, grants say {reserved}", bucket.reserved));
        }
    }
}
