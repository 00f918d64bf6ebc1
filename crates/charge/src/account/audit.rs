//! The books are balanced: sums of entries beside the state that the program goes by.

use super::refunds::Refunds;
use super::{Account, Effect, Entry};
use crate::money::Money;
use crate::session::State;
use crate::tariff::Code;
use hashbrown::HashMap;

/// An account that is not what its entries say, or holds what it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The account.
    pub account: u64,
    /// What is wrong, for people.
    pub what: String,
}

/// Adds up all entries, from the first on, and compares the sums with the state.
pub fn audit<'a>(entries: impl IntoIterator<Item = &'a Entry>, state: &State) -> Vec<Difference> {
    let mut sums = Sums::default();
    entries.into_iter().for_each(|entry| sums.add(entry));
    sums.differences(state)
}

/// What entries come to, account by account, by their amounts alone; and whether what was given back was debited
/// before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    accounts: HashMap<u64, Sum>,
    refunds: Refunds,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    money: i64,
    units: Vec<(Code, i64)>,
}

impl Sum {
    fn add(&mut self, allowance: Code, amount: i64) {
        match self.units.iter_mut().find(|(code, _)| *code == allowance) {
            Some((_, sum)) => *sum = sum.saturating_add(amount),
            None => self.units.push((allowance, amount)),
        }
    }
}

impl Sums {
    /// The balances of a state: what entries come to that are not there any more.
    pub fn opening(state: &State) -> Sums {
        let sum = |account: &Account| {
            let units = account.buckets.iter().map(|bucket| (bucket.allowance, bucket.left as i64));
            Sum { money: account.balance.0, units: units.collect() }
        };
        let accounts = state.accounts().map(|(number, account)| (number, sum(account))).collect();
        Sums { accounts, refunds: Refunds::opening(state) }
    }

    /// Adds the amounts of an entry.
    pub fn add(&mut self, entry: &Entry) {
        for effect in &entry.effects {
            self.refunds.add(entry.sequence, effect);
            match effect {
                Effect::Money { account, amount, .. } => self.money(*account, amount.0),
                Effect::Units { account, allowance, amount, .. } => self.of(*account).add(*allowance, *amount),
                Effect::Charged { account, charge, .. } => {
                    self.money(*account, charge.money.0.saturating_neg());
                    let taken = charge.taken.iter();
                    taken.for_each(|(code, units)| self.of(*account).add(*code, (*units as i64).saturating_neg()));
                }
                Effect::Refunded { refund, .. } => {
                    self.money(refund.account, refund.money.0);
                    let back = refund.taken.iter();
                    back.for_each(|(code, units)| self.of(refund.account).add(*code, *units as i64));
                }
                _ => {}
            }
        }
    }

    /// Refunds that older versions wrote, which name no debit: how many, and what they come to.
    pub fn untied(&self) -> (u64, Money) {
        self.refunds.untied()
    }

    fn of(&mut self, account: u64) -> &mut Sum {
        self.accounts.entry(account).or_default()
    }

    fn money(&mut self, account: u64, amount: i64) {
        let sum = self.of(account);
        sum.money = sum.money.saturating_add(amount);
    }

    /// Where a state is not what the sums say. Also what must hold at any time: reservations are those of the grants,
    /// and are there; nothing is below zero but what a credit limit lets be.
    pub fn differences(&self, state: &State) -> Vec<Difference> {
        let mut found = self.refunds.differences(state);
        for (number, account) in state.accounts() {
            let mut differs = |what: String| found.push(Difference { account: number, what });
            sums(account, self.accounts.get(&number).unwrap_or(&Sum::default()), &mut differs);
            held(number, account, state, &mut differs);
        }
        let nobody = self.accounts.keys().filter(|number| state.account(**number).is_none());
        let what = || "there are entries of it, and it is not there".to_owned();
        found.extend(nobody.map(|account| Difference { account: *account, what: what() }));
        found
    }
}

fn sums(account: &Account, sum: &Sum, differs: &mut impl FnMut(String)) {
    if account.balance.0 != sum.money {
        differs(format!("the balance is {}, its entries are {}", account.balance, sum.money));
    }
    for (allowance, sum) in &sum.units {
        let left = account.bucket(*allowance).map_or(0, |bucket| bucket.left);
        if i64::try_from(left) != Ok(*sum) {
            differs(format!("allowance {} holds {left}, its entries are {sum}", allowance.0));
        }
    }
    let known = |code: Code| sum.units.iter().any(|(allowance, _)| *allowance == code);
    for bucket in account.buckets.iter().filter(|bucket| bucket.left > 0 && !known(bucket.allowance)) {
        differs(format!("allowance {} holds {}, and has no entries", bucket.allowance.0, bucket.left));
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
        let taken = grants().flat_map(|grant| grant.taken).filter(|(code, _)| *code == bucket.allowance);
        let reserved: u64 = taken.map(|(_, units)| units).sum();
        if bucket.reserved != reserved || reserved > bucket.left {
            let (allowance, left) = (bucket.allowance.0, bucket.left);
            differs(format!("allowance {allowance}: {} of {left} is reserved, grants say {reserved}", bucket.reserved));
        }
    }
}
