//! Accounts that begin with money.

use super::Core;
use super::grant::plan_code;
use super::operate::{NUMBER_MAX, Refused};
use crate::account::{Effect, Entry, MoneyReason};
use crate::calendar::Moment;
use crate::money::{MONEY_MAX, Money};

impl Core {
    /// Makes an account that has money from the beginning, in one entry; one that is there stays as it is.
    ///
    /// # Errors
    /// There is no such plan, the account is there already, or an amount is beyond what an account may hold.
    pub fn open_account(
        &mut self,
        account: u64,
        plan: &str,
        credit: Money,
        balance: Money,
        now: Moment,
    ) -> Result<Entry, Refused> {
        let plan = Some(plan_code(plan)).filter(|code| self.plans.contains_key(code)).ok_or(Refused::NoPlan)?;
        let range = 0..=MONEY_MAX;
        if account > NUMBER_MAX || !range.contains(&credit.0) || !range.contains(&balance.0) {
            return Err(Refused::TooMuch);
        }
        if self.state.account(account).is_some() {
            return Err(Refused::AccountThere);
        }
        let mut effects = vec![Effect::Account { account, plan, credit }];
        if balance > Money::ZERO {
            let note = Box::from("opened with");
            effects.push(Effect::Money { account, reason: MoneyReason::TopUp, amount: balance, note });
        }
        Ok(self.write(effects, now))
    }
}
