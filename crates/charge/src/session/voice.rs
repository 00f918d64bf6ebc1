//! Calls are rated by the plans of the accounts that pay for them, without a session: what each would cost, in the
//! order in which they were answered.
//!
//! The rules are those of [`super::charge`]: rule by time and destination, steps, bundles, counters, caps, tiers. What
//! is particular to calls that are rated afterwards:
//!
//! - **Who pays** is the account of the subscriber that has the caller's number (`e164:`).
//! - **Nothing is debited and nothing is short**: the sum of money stands beside the ledger, not in it.
//! - **Bundles, counters and caps** are those of the calls alone. They begin anew with their period: who asks for a
//!   span brings the calls since [`CallRater::since`], so that what a call costs does not depend on the span. Bundles
//!   that are bought once pay for nothing here: only the ledger knows what was left of them then.
//! - **What rolls over** is what the period before left of its own units; what had come over to that one is used last,
//!   and goes no further. So one period more is enough to know it. A period without calls leaves all.

use super::Payers;
use super::charge::{charge, view};
use crate::account::{Account, ServiceKey};
use crate::calendar::Moment;
use crate::money::Money;
use crate::rate::{Bought, Meter, buy, pieces};
use crate::session::PlanFault;
use crate::tariff::{Code, Context, Outcome, Plan, Rounding, Rule, read};
use crate::units::{Amounts, UNITS_MAX, Unit};
use hashbrown::HashMap;
use std::sync::Arc;

/// A call that was answered and has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spoken<'a> {
    /// Digits of the caller's international number.
    pub caller: &'a str,
    /// Digits of the number that was called.
    pub called: &'a str,
    /// When it was answered.
    pub begin: Moment,
    /// How long it was, a second that began counted as whole.
    pub seconds: u64,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallRated {
    /// It has a price, which may be nothing.
    Priced(CallPrice),
    /// No subscriber has the caller's number.
    NobodyPays,
    /// The plan has no rule for it: there is no prefix for the number, or no version holds then.
    NoRule {
        /// Who would pay.
        account: u64,
    },
    /// The rule of that time denies it, and yet it was there.
    Blocked {
        /// Who would pay.
        account: u64,
        /// The rule.
        rule: String,
    },
}

/// What a call costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPrice {
    /// Who pays.
    pub account: u64,
    /// The plan.
    pub plan: Arc<str>,
    /// The number of the plan's text, from 1 on: the same call by the same text costs the same. 0 is one that the
    /// ledger does not have.
    pub version: u32,
    /// The first rule that rated it; it begins with that one.
    pub rule: String,
    /// What it costs, minor units.
    pub money: Money,
    /// The plan's currency.
    pub currency: Arc<str>,
    /// Seconds that bundles paid for.
    pub bundle_units: u64,
}

/// Who pays for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPayer {
    /// The account.
    pub account: u64,
    /// Its plan and the number of the plan's text; none where it has one that is not there.
    pub plan: Option<(Arc<str>, u32)>,
    /// That plan's currency.
    pub currency: Option<Arc<str>>,
}

/// A plan and the number of its text.
#[derive(Debug)]
struct Known {
    plan: Plan,
    name: Arc<str>,
    currency: Arc<str>,
    version: u32,
}

/// What calls add up to as they are rated.
#[derive(Debug)]
pub struct CallRater {
    payers: Payers,
    plans: HashMap<Code, Known>,
    /// Accounts with the bundles and counters of calls.
    purses: HashMap<u64, Purse>,
    key: ServiceKey,
}

impl CallRater {
    /// Rates by what the ledger says: its accounts, subscribers and plans. Calls are usage of that service.
    ///
    /// # Errors
    /// This program does not read the text of a plan that holds.
    pub fn new(payers: Payers, key: ServiceKey) -> Result<CallRater, PlanFault> {
        let mut plans = HashMap::new();
        for known in payers.plans() {
            let fault = |mistakes| PlanFault { name: known.name.clone(), version: known.version, mistakes };
            let plan = read("plan", &known.text).map_err(fault)?;
            let (name, currency) = (Arc::from(&*known.name), Arc::from(plan.currency.as_str()));
            plans.insert(super::plan_code(&known.name), Known { plan, name, currency, version: known.version });
        }
        Ok(CallRater { payers, plans, purses: HashMap::new(), key })
    }

    /// Has a text hold in place of the one of its name; `version` is its number, 0 where the ledger does not have it.
    ///
    /// # Errors
    /// There is no plan of that name, which is given back.
    pub fn with_plan(mut self, plan: Plan, version: u32) -> Result<CallRater, String> {
        let Some(known) = self.plans.get_mut(&super::plan_code(&plan.name)) else { return Err(plan.name) };
        let (name, currency) = (Arc::from(plan.name.as_str()), Arc::from(plan.currency.as_str()));
        *known = Known { plan, name, currency, version };
        Ok(self)
    }

    /// Who pays for the calls of a number, and by which plan; none where nobody does.
    pub fn payer(&self, caller: &str) -> Option<CallPayer> {
        let account = self.payers.account(caller)?;
        let known = self.payers.of(account).and_then(|there| self.plans.get(&there.plan));
        let plan = known.map(|known| (Arc::clone(&known.name), known.version));
        Some(CallPayer { account, plan, currency: known.map(|known| Arc::clone(&known.currency)) })
    }

    /// Where a number is by the plan of an account: the name of the table of destinations, and the prefix in it.
    pub fn destination<'a>(&'a self, account: u64, called: &'a str) -> Option<(&'a str, &'a str)> {
        let there = self.payers.of(account)?;
        self.plans.get(&there.plan)?.plan.destinations.named(called)
    }

    /// Since when calls have to be brought, so that those from `from` on are rated as they always are: the begin of
    /// the earliest period of a counter or a cap that holds it, and of that the begin of the earliest period of a
    /// bundle, or of the one before if units roll over.
    pub fn since(&self, from: Moment) -> Moment {
        let begins = self.plans.values().flat_map(|known| {
            let plan = &known.plan;
            let rules = plan.versions.iter().flat_map(|version| &version.rules);
            let counters = rules.filter_map(|rule| rule.counter).map(|(_, period)| period);
            let periods = counters.chain(plan.caps.iter().map(|cap| cap.period));
            periods.map(|period| period.begin(&plan.calendar.zone, from)).min()
        });
        let counted = begins.min().unwrap_or(from).min(from);
        let bundles = self.plans.values().flat_map(|known| {
            let again = known.plan.allowances.iter().filter_map(|allowance| Some((allowance, allowance.period?)));
            again.map(|(allowance, period)| {
                let begin = period.begin(&known.plan.calendar.zone, counted);
                let rolls = allowance.roll_over > 0;
                if rolls { period.begin(&known.plan.calendar.zone, begin - 1) } else { begin }
            })
        });
        bundles.min().unwrap_or(counted).min(counted)
    }

    /// Rates a call; they come in the order in which they were answered.
    pub fn rate(&mut self, call: &Spoken<'_>) -> CallRated {
        let Some(account) = self.payers.account(call.caller) else {
            return CallRated::NobodyPays;
        };
        let known = self.payers.of(account).and_then(|there| self.plans.get(&there.plan).map(|plan| (there, plan)));
        let Some((there, known)) = known else { return CallRated::NoRule { account } };
        let purse = self.purses.entry(account).or_insert_with(|| Purse::of(there, &known.plan, call.begin));
        purse.renew(&known.plan, call.begin);
        let work = Rating { plan: &known.plan, key: self.key, purse: &mut purse.account };
        work.rate(call, account, known)
    }
}

/// What an account has for calls.
#[derive(Debug)]
struct Purse {
    account: Account,
    /// What came over from the period before, as `account.buckets`.
    rolled: Vec<u64>,
}

impl Purse {
    /// As an account begins with: the bundles that come again, which it has, are whole, and nothing was used before.
    fn of(there: &Account, plan: &Plan, at: Moment) -> Purse {
        let mut account = Account { plan: there.plan, ..Account::default() };
        for allowance in &plan.allowances {
            let Some(period) = allowance.period.filter(|_| there.bucket(allowance.code).is_some()) else { continue };
            let ends = period.end(&plan.calendar.zone, at);
            let rolled = allowance.amount.min(allowance.roll_over);
            account.add_units(allowance.code, allowance.amount.saturating_add(rolled) as i64, ends, false);
        }
        let amounts = account.buckets.iter().map(|bucket| {
            let known = plan.allowances.iter().find(|known| known.code == bucket.allowance);
            known.map_or(0, |allowance| allowance.amount.min(allowance.roll_over))
        });
        Purse { rolled: amounts.collect(), account }
    }

    /// Bundles whose period has ended come again.
    fn renew(&mut self, plan: &Plan, now: Moment) {
        let ended = self.account.buckets.iter_mut().zip(&mut self.rolled).filter(|(bucket, _)| bucket.ends <= now);
        for (bucket, rolled) in ended {
            let known = plan.allowances.iter().find(|known| known.code == bucket.allowance);
            let Some((allowance, period)) = known.and_then(|known| Some((known, known.period?))) else { continue };
            let follows = bucket.ends >= period.begin(&plan.calendar.zone, now);
            let own = if follows { bucket.left.saturating_sub(*rolled) } else { allowance.amount };
            *rolled = own.min(allowance.roll_over);
            bucket.left = allowance.amount.saturating_add(*rolled);
            bucket.ends = period.end(&plan.calendar.zone, now);
        }
    }
}

/// A call at work.
struct Rating<'a> {
    plan: &'a Plan,
    key: ServiceKey,
    purse: &'a mut Account,
}

impl Rating<'_> {
    fn rate(mut self, call: &Spoken<'_>, account: u64, known: &Known) -> CallRated {
        let context = Context {
            rating_group: self.key.rating_group,
            service: self.key.service,
            destination: call.called,
            ..Context::default()
        };
        let seconds = call.seconds.min(UNITS_MAX);
        let used = Amounts { seconds, service_units: 1, ..Amounts::default() };
        let parts = pieces(self.plan, &context, call.begin, call.begin.saturating_add(seconds as i64), &used);
        let mut sum = Sum::default();
        for piece in &parts {
            match piece.rule.map(|rule| (rule, rule.outcome)) {
                Some((rule, Outcome::Priced)) => self.charge(&mut sum, piece, rule),
                Some((rule, Outcome::Free)) => sum.name(rule),
                Some((rule, Outcome::Blocked)) => return CallRated::Blocked { account, rule: rule.name.clone() },
                None => return CallRated::NoRule { account },
            }
        }
        CallRated::Priced(CallPrice {
            account,
            plan: Arc::clone(&known.name),
            version: known.version,
            rule: sum.rule,
            money: sum.money,
            currency: Arc::clone(&known.currency),
            bundle_units: sum.bundle_units,
        })
    }

    fn charge(&mut self, sum: &mut Sum, piece: &crate::rate::Piece<'_>, rule: &Rule) {
        let view = view(self.plan, self.purse, None, rule, piece.at);
        let meter = if sum.unit == Some(rule.unit) { sum.meter } else { sum.meter.in_other_unit() };
        let bought: Bought = buy(rule, meter, &view, piece.used.amount);
        let charge = charge(self.plan, self.key, piece, rule, &bought);
        self.purse.charge(&charge);
        sum.name(rule);
        (sum.money, sum.unit) = (sum.money.plus(bought.money), Some(rule.unit));
        sum.bundle_units += charge.taken.iter().map(|(_, units)| units).sum::<u64>();
        sum.meter = if rule.rounding == Rounding::Report { bought.meter.after_report() } else { bought.meter };
    }
}

/// What the pieces of a call come to.
#[derive(Default)]
struct Sum {
    rule: String,
    money: Money,
    bundle_units: u64,
    meter: Meter,
    unit: Option<Unit>,
}

impl Sum {
    fn name(&mut self, rule: &Rule) {
        if self.rule.is_empty() {
            self.rule.clone_from(&rule.name);
        }
    }
}
