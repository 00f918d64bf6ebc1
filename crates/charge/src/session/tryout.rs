//! A plan is tried out: what usage that was charged would have cost under another text.
//!
//! The usage of the ledger is charged anew by the core's own rules, in a state of its own that begins with what the
//! accounts had, and in which money and bundles go as they would have gone. What nobody can know stays as it was: who
//! is refused uses less, and who pays less uses more. Nothing is reserved: a bundle that two sessions share pays for
//! whoever reports first.

use super::request::{Asked, Kind, Side, Used};
use super::state::{Phase, State};
use super::{Answer, Limits, Work, code, plan_code};
use crate::account::{Cause, Charge, Effect, Entry, Grant, ServiceKey, UnitsReason};
use crate::calendar::Moment;
use crate::money::Money;
use crate::tariff::{Code, Plan};
use crate::trust::Trust;
use crate::units::Amounts;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Rating groups that are told apart; what is of further ones is told together.
pub const GROUPS_MAX: usize = 1000;
/// Accounts that are told one by one: those whose charges differ most.
pub const DIFFERENCES_MAX: usize = 100;

/// What usage came to, and would come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TryOut {
    /// All of it.
    pub all: GroupTried,
    /// By rating group; none is usage without one.
    pub groups: Vec<(Option<u32>, GroupTried)>,
    /// Of rating groups beyond [`GROUPS_MAX`].
    pub others: GroupTried,
    /// Accounts that used something.
    pub accounts: u64,
    /// Of these, those that would pay more.
    pub dearer: u64,
    /// Of these, those that would pay less.
    pub cheaper: u64,
    /// The accounts whose charges differ most, at most [`DIFFERENCES_MAX`].
    pub differences: Vec<AccountTried>,
}

/// Of a rating group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTried {
    /// Reports of usage.
    pub reports: u64,
    /// What was debited.
    pub was: Money,
    /// What would be.
    pub would: Money,
    /// What should have been debited, too, and was not there.
    pub was_short: Money,
    /// What would not be there.
    pub would_short: Money,
    /// Reports for which not all money would be there, or events that would be refused for that.
    pub would_lack: u64,
    /// Reports for which there was no price.
    pub was_unrated: u64,
    /// Reports for which there would be none: no rule, or one that denies the service.
    pub would_unrated: u64,
}

/// Of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountTried {
    /// Its number.
    pub account: u64,
    /// What was debited.
    pub was: Money,
    /// What would be.
    pub would: Money,
}

/// A plan on trial.
#[derive(Debug)]
pub struct Trial {
    plan: Plan,
    code: Code,
    state: State,
    all: GroupTried,
    groups: BTreeMap<Option<u32>, GroupTried>,
    others: GroupTried,
    accounts: HashMap<u64, (Money, Money)>,
}

/// What an entry reports of a service.
#[derive(Debug)]
struct Report {
    slot: u32,
    account: u64,
    key: ServiceKey,
    charges: Vec<Charge>,
    /// What had no price, where nothing of the report had one.
    unrated: Amounts,
}

impl Trial {
    /// Begins with what the accounts have.
    pub fn new(plan: Plan, mut state: State) -> Trial {
        state.forget_answers();
        Trial {
            code: plan_code(&plan.name),
            plan,
            state,
            all: GroupTried::default(),
            groups: BTreeMap::new(),
            others: GroupTried::default(),
            accounts: HashMap::new(),
        }
    }

    /// The number of the newest entry that was taken.
    pub fn sequence(&self) -> u64 {
        self.state.sequence()
    }

    /// Takes an entry from before the time that is looked at.
    pub fn before(&mut self, entry: &Entry) {
        let matters = |effect: &&Effect| !matches!(effect, Effect::Answered { .. } | Effect::Ordered { .. });
        entry.effects.iter().filter(matters).for_each(|effect| self.state.apply(effect));
        self.came_to(entry);
    }

    /// Takes an entry of that time: usage of accounts under the plan is charged by it.
    pub fn take(&mut self, entry: &Entry) {
        let ends = |effect: &Effect| matches!(effect, Effect::Closed { cause: Cause::Event, .. });
        let is_event = entry.effects.iter().any(ends);
        let mut open: Option<Report> = None;
        for effect in &entry.effects {
            let Some(report) = self.report_of(effect) else {
                self.charge(open.take(), entry.at, is_event);
                self.other(effect);
                continue;
            };
            match &mut open {
                Some(known) if (known.slot, known.key) == (report.slot, report.key) => known.add(report),
                _ => self.charge(open.replace(report), entry.at, is_event),
            }
        }
        self.charge(open, entry.at, is_event);
        self.came_to(entry);
    }

    fn came_to(&mut self, entry: &Entry) {
        self.state.sequence = entry.sequence;
        self.state.latest = self.state.latest.max(entry.at);
    }

    fn is_tried(&self, account: u64) -> bool {
        self.state.account(account).is_some_and(|account| account.plan == self.code)
    }

    /// What an effect reports of an account under the plan.
    fn report_of(&self, effect: &Effect) -> Option<Report> {
        match effect {
            Effect::Charged { slot, account, charge } if self.is_tried(*account) => {
                let (key, charges) = (charge.service, vec![charge.clone()]);
                Some(Report { slot: *slot, account: *account, key, charges, unrated: Amounts::default() })
            }
            Effect::Unrated { session, service, used } => {
                let slot = self.state.sessions.find(session)?;
                // What comes after the end is of no session.
                let open = self.state.session(slot).filter(|session| session.phase != Phase::Closed);
                let account = open.map(|session| session.account);
                let account = account.filter(|account| self.is_tried(*account))?;
                Some(Report { slot, account, key: *service, charges: Vec::new(), unrated: *used })
            }
            _ => None,
        }
    }

    /// Does what else an effect says, as far as it is not the doing of the plan that held.
    fn other(&mut self, effect: &Effect) {
        match effect {
            Effect::Answered { .. } | Effect::Ordered { .. } | Effect::Plan { .. } | Effect::Stray { .. } => {}
            Effect::Recording { .. } | Effect::Filed { .. } | Effect::Refundable { .. } => {}
            Effect::Forwarded { .. } | Effect::Sent { .. } | Effect::Received { .. } | Effect::Lost { .. } => {}
            Effect::Units { account, reason: UnitsReason::Renewed | UnitsReason::Expired, .. }
                if self.is_tried(*account) => {}
            Effect::Granted { slot, service, grant } => {
                // It says since when usage is reported; nothing is reserved here.
                let (taken, caps) = (Vec::new(), Vec::new());
                let grant = Grant { money: Money::ZERO, taken, caps, pool: 0, ..grant.clone() };
                self.state.apply(&Effect::Granted { slot: *slot, service: *service, grant });
            }
            effect => self.state.apply(effect),
        }
    }

    /// Charges a report anew.
    fn charge(&mut self, report: Option<Report>, at: Moment, is_event: bool) {
        let Some(report) = report else { return };
        let mut tried = report.was();
        let (slot, account) = (report.slot, report.account);
        let (state, plan, limits, trust) = (&mut self.state, &self.plan, Limits::default(), Trust::default());
        let mut work = Work { plan, state, effects: Vec::new(), slot, account, now: at, limits, trust: &trust };
        work.renew();
        let asked = report.asked(work.service(report.key).and_then(|service| service.grant()?.change).is_some());
        if is_event {
            let mut answer = Answer::of(code::SUCCESS);
            let given = work.event_of(Kind::DirectDebit, &asked, &mut answer);
            tried.would_lack += u64::from(given.code == code::LIMIT_REACHED);
            tried.would_unrated += u64::from(matches!(given.code, code::SERVICE_DENIED | code::RATING_FAILED));
        } else {
            work.report(&asked, false);
        }
        for effect in &work.effects {
            match effect {
                Effect::Charged { charge, .. } => {
                    (tried.would, tried.would_short) =
                        (tried.would.plus(charge.money), tried.would_short.plus(charge.short));
                }
                Effect::Unrated { .. } => tried.would_unrated = 1,
                _ => {}
            }
        }
        tried.would_lack += u64::from(tried.would_short > Money::ZERO);
        self.note(report.account, report.key.rating_group, &tried);
    }

    fn note(&mut self, account: u64, group: Option<u32>, tried: &GroupTried) {
        self.all.add(tried);
        let full = self.groups.len() >= GROUPS_MAX && !self.groups.contains_key(&group);
        let of = if full { &mut self.others } else { self.groups.entry(group).or_default() };
        of.add(tried);
        let (was, would) = self.accounts.entry(account).or_default();
        (*was, *would) = (was.plus(tried.was), would.plus(tried.would));
    }

    /// What it came to.
    pub fn finish(self) -> TryOut {
        let mut all: Vec<AccountTried> = self
            .accounts
            .iter()
            .map(|(account, (was, would))| AccountTried { account: *account, was: *was, would: *would })
            .collect();
        let (accounts, more) = (all.len() as u64, all.iter().filter(|one| one.would > one.was).count() as u64);
        let less = all.iter().filter(|one| one.would < one.was).count() as u64;
        all.retain(|one| one.was != one.would);
        all.sort_unstable_by_key(|one| (core::cmp::Reverse(one.would.minus(one.was).0.unsigned_abs()), one.account));
        all.truncate(DIFFERENCES_MAX);
        let groups = self.groups.into_iter().collect();
        TryOut { all: self.all, groups, others: self.others, accounts, dearer: more, cheaper: less, differences: all }
    }
}

impl Report {
    /// More of the same report.
    fn add(&mut self, more: Report) {
        self.charges.extend(more.charges);
        self.unrated = if self.unrated.is_nothing() { more.unrated } else { self.unrated };
    }

    /// What it came to.
    fn was(&self) -> GroupTried {
        let sum = |of: fn(&Charge) -> Money| self.charges.iter().fold(Money::ZERO, |sum, charge| sum.plus(of(charge)));
        GroupTried {
            reports: 1,
            was: sum(|charge| charge.money),
            was_short: sum(|charge| charge.short),
            was_unrated: u64::from(!self.unrated.is_nothing()),
            ..GroupTried::default()
        }
    }

    /// The same usage, as it was reported: each charge that tells what was used begins a part of it.
    fn asked(&self, changes: bool) -> Asked {
        let told = self.charges.iter().map(|charge| charge.used).filter(|used| !used.is_nothing());
        let mut parts: Vec<Amounts> = told.collect();
        if parts.is_empty() {
            parts.push(self.unrated);
        }
        let sides = parts.len() == 2 && changes;
        let side = |at: usize| sides.then_some(if at == 0 { Side::Before } else { Side::After });
        let used = parts.iter().enumerate().map(|(at, amounts)| Used { amounts: *amounts, side: side(at) });
        Asked { key: self.key, requested: None, used: used.collect() }
    }
}

impl GroupTried {
    fn add(&mut self, more: &GroupTried) {
        self.reports += more.reports;
        (self.was, self.would) = (self.was.plus(more.was), self.would.plus(more.would));
        self.was_short = self.was_short.plus(more.was_short);
        self.would_short = self.would_short.plus(more.would_short);
        self.would_lack += more.would_lack;
        self.was_unrated += more.was_unrated;
        self.would_unrated += more.would_unrated;
    }
}
