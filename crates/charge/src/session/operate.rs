//! What the operator does: plans, accounts, subscribers, money, bundles, the end of a session.

use super::grant::plan_code;
use super::request::{IDENTITIES_MAX, TEXT_OCTETS_MAX};
use super::state::{Phase, PlanText};
use super::{Core, Limits};
use crate::account::{Effect, Entry, Identity, MoneyReason, UnitsReason};
use crate::calendar::{Moment, NEVER};
use crate::money::{MONEY_MAX, Money};
use crate::tariff::{Code, Plan, read};
use crate::units::UNITS_MAX;
use trunkline_kit::config::{Mistake, Place};

/// The highest number of an account or a subscriber: all readers of JSON take it for exact.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;
/// Plans at most.
// Limit: tariff plans
// Beyond: a further plan is refused
// Seen in: the error message
pub const PLANS_MAX: usize = 256;
/// Bundles of an account.
// Limit: bundles of one account
// Beyond: a further bundle is refused
// Seen in: the error message
const BUCKETS_MAX: usize = 64;

/// Why something is not done. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no such plan.
    NoPlan,
    /// There is no such account.
    NoAccount,
    /// There is such an account already.
    AccountThere,
    /// There is no such allowance in the account's plan.
    NoAllowance,
    /// There is no such open session.
    NoSession,
    /// An identity belongs to another subscriber.
    IdentityTaken,
    /// An account changes only while the subscriber has no open session.
    SessionsOpen,
    /// A text, a list or an amount is beyond its limit.
    TooMuch,
    /// So much is not there, or is reserved.
    NotThere,
    /// A key is empty or too long.
    BadKey,
    /// A key was another order's.
    KeyTaken,
    /// Too many keys are remembered.
    TooManyKeys,
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Refused::NoPlan => "no such plan",
            Refused::NoAccount => "no such account",
            Refused::AccountThere => "the account already exists",
            Refused::NoAllowance => "no such allowance in the account's plan",
            Refused::NoSession => "no such open session",
            Refused::IdentityTaken => "an identity belongs to another subscriber",
            Refused::SessionsOpen => "the subscriber has open sessions",
            Refused::TooMuch => "beyond the limit",
            Refused::NotThere => "so much is not there, or is reserved",
            Refused::BadKey => "a key has 1 to 64 octets",
            Refused::KeyTaken => "the key was used for another order",
            Refused::TooManyKeys => "too many keys of orders are remembered: try again later",
        })
    }
}

impl std::error::Error for Refused {}

impl Core {
    /// What it holds at most.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Adds a plan, or puts it in the place of the one of its name: sessions under it are asked to come again. Its
    /// text stands in the ledger, so that a start needs nothing else; what was charged stays as it was.
    ///
    /// # Errors
    /// All mistakes of the text (as of a file named `plan`); more than [`PLANS_MAX`] plans, or a name that is another
    /// plan's in the ledger ([`Code`]).
    pub fn set_plan(&mut self, text: &str, now: Moment) -> Result<Entry, Vec<Mistake>> {
        let plan = read("plan", text)?;
        let wrong = |what: String| {
            let place = Place::File { path: "plan".to_owned(), line: 1, column: 1 };
            Err(vec![Mistake { place, what }])
        };
        let code = plan_code(&plan.name);
        match self.state.plan(code).map(|known| &*known.name) {
            Some(known) if known != plan.name => {
                return wrong(format!("'{}' and '{known}' are the same in the ledger: rename it", plan.name));
            }
            None if self.plans.len() >= PLANS_MAX => return wrong(format!("more than {PLANS_MAX} plans")),
            _ => {}
        }
        let effect = Effect::Plan { name: plan.name.as_str().into(), text: text.into() };
        self.plans.insert(code, plan);
        Ok(self.write(vec![effect], now))
    }

    /// The plans that hold, in no certain order.
    pub fn plans(&self) -> impl Iterator<Item = &PlanText> {
        self.state.plans()
    }

    /// A plan by its name.
    pub fn plan(&self, name: &str) -> Option<&Plan> {
        self.plans.get(&plan_code(name))
    }

    /// Makes an account, or changes its plan or credit limit.
    ///
    /// # Errors
    /// There is no such plan; the limit is beyond what an account may hold.
    pub fn set_account(&mut self, account: u64, plan: &str, credit: Money, now: Moment) -> Result<Entry, Refused> {
        let plan = Some(plan_code(plan)).filter(|code| self.plans.contains_key(code)).ok_or(Refused::NoPlan)?;
        if account > NUMBER_MAX || !(0..=MONEY_MAX).contains(&credit.0) {
            return Err(Refused::TooMuch);
        }
        let known = self.state.account(account);
        if known.is_some_and(|known| known.balance.plus(credit) < known.reserved) {
            return Err(Refused::NotThere);
        }
        Ok(self.write(vec![Effect::Account { account, plan, credit }], now))
    }

    /// Makes a subscriber, or changes its account or identities; several subscribers may share an account.
    ///
    /// # Errors
    /// There is no such account; an identity is another subscriber's; its account changes while a session is open.
    pub fn set_subscriber(
        &mut self,
        subscriber: u64,
        account: u64,
        identities: Vec<Identity>,
        now: Moment,
    ) -> Result<Entry, Refused> {
        self.state.account(account).ok_or(Refused::NoAccount)?;
        let short = identities.iter().all(|identity| identity.text.len() <= TEXT_OCTETS_MAX);
        if subscriber > NUMBER_MAX || identities.len() > IDENTITIES_MAX || !short {
            return Err(Refused::TooMuch);
        }
        let owner = |identity: &Identity| self.state.subscribers.find(identity);
        if identities.iter().filter_map(owner).any(|owner| owner != subscriber) {
            return Err(Refused::IdentityTaken);
        }
        let before = self.state.subscribers.get(subscriber).map(|known| known.account);
        if before.is_some_and(|before| before != account && self.has_session(before, subscriber)) {
            return Err(Refused::SessionsOpen);
        }
        Ok(self.write(vec![Effect::Subscriber { subscriber, account, identities }], now))
    }

    pub(super) fn has_session(&self, account: u64, subscriber: u64) -> bool {
        let slots = self.state.account(account).into_iter().flat_map(|account| &account.sessions);
        slots.filter_map(|slot| self.state.session(*slot)).any(|session| session.subscriber == subscriber)
    }

    /// Money comes, or where it is an adjustment, goes: never more than is there and not reserved.
    ///
    /// # Errors
    /// There is no such account; so much is not there, or would be too much.
    pub fn add_money(
        &mut self,
        account: u64,
        reason: MoneyReason,
        amount: Money,
        note: &str,
        now: Moment,
    ) -> Result<Entry, Refused> {
        let known = self.state.account(account).ok_or(Refused::NoAccount)?;
        let after = known.balance.plus(amount);
        let comes = reason != MoneyReason::Adjustment && amount.0 < 0;
        if comes || note.len() > TEXT_OCTETS_MAX || amount.0.unsigned_abs() > MONEY_MAX as u64 || after.0 > MONEY_MAX {
            return Err(Refused::TooMuch);
        }
        if amount.0 < 0 && amount.0.saturating_neg() > known.free().0 {
            return Err(Refused::NotThere);
        }
        let effect = Effect::Money { account, reason, amount, note: note.into() };
        Ok(self.write(vec![effect], now))
    }

    /// A bundle of the account's plan is bought: its units come; one that comes again does so from now on. What is left
    /// of one that was bought before is added, and lasts as long as the new one.
    ///
    /// # Errors
    /// There is no such account or allowance; the account has too many.
    pub fn buy_allowance(&mut self, account: u64, name: &str, now: Moment) -> Result<Entry, Refused> {
        let known = self.state.account(account).ok_or(Refused::NoAccount)?;
        let plan = self.plans.get(&known.plan).ok_or(Refused::NoPlan)?;
        let code = Code::of("allowance", name);
        let allowance = plan.allowances.iter().find(|allowance| allowance.code == code).ok_or(Refused::NoAllowance)?;
        let (left, ended) = known.bucket(code).map_or((0, false), |bucket| (bucket.left, bucket.ends <= now));
        let full = left.saturating_add(allowance.amount) > UNITS_MAX;
        if full || (known.buckets.len() >= BUCKETS_MAX && known.bucket(code).is_none()) {
            return Err(Refused::TooMuch);
        }
        let ends = match (allowance.period, allowance.lasts) {
            (Some(period), _) => period.end(&plan.calendar.zone, now),
            (None, Some(lasts)) => now.saturating_add(lasts),
            (None, None) => NEVER,
        };
        let units = |reason, amount| Effect::Units { account, allowance: code, reason, amount, ends };
        let mut effects = Vec::new();
        let reserved = known.bucket(code).map_or(0, |bucket| bucket.reserved.min(bucket.left));
        if ended && left > reserved {
            effects.push(units(UnitsReason::Expired, reserved as i64 - left as i64));
        }
        effects.push(units(UnitsReason::Bought, allowance.amount as i64));
        Ok(self.write(effects, now))
    }

    /// Ends a session: nothing more is granted, and the client is asked to end it (ASR). What it reports is charged;
    /// where nothing comes the supervision ends it.
    ///
    /// # Errors
    /// There is no such open session.
    pub fn abort(&mut self, session: &str, now: Moment) -> Result<Entry, Refused> {
        let slot = self.state.sessions.find(session).ok_or(Refused::NoSession)?;
        let known = self.state.session(slot).filter(|session| session.phase != Phase::Closed);
        let deadline = known.ok_or(Refused::NoSession)?.deadline;
        Ok(self.write(vec![Effect::Aborting { slot, deadline }], now))
    }
}
