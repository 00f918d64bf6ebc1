//! The fold of the ledger: accounts, subscribers, sessions. Nothing changes it but [`State::apply`].

use crate::account::{Account, Charge, Effect, Entry, Grant, Identity, Kept, Place, ServiceKey};
use crate::calendar::Moment;
use crate::rate::Meter;
use core::ops::Bound;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Answers of a session that are kept. A client waits for one before it asks again; another one for what is late.
pub const KEPT_MAX: usize = 2;
/// Names of clients that are shared by their sessions; sessions of more have their own.
const ORIGINS_MAX: usize = 10_000;
/// Request numbers of a session that are told apart, the newest and those before it.
pub const NUMBERS_MAX: u32 = 64;

/// Everything that the ledger says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub(super) accounts: HashMap<u64, Box<Account>>,
    pub(super) subscribers: HashMap<u64, Subscriber>,
    pub(super) identities: HashMap<Identity, u64>,
    pub(super) sessions: Vec<Option<Box<Session>>>,
    free: Vec<u32>,
    /// Names of clients, one for all of their sessions.
    origins: Aside<HashSet<Arc<str>>>,
    names: HashMap<Arc<str>, u32>,
    /// When to look at sessions: at their deadline or, as most deadlines only move on, before it.
    pub(super) watch: Aside<BTreeSet<(Moment, u32)>>,
    pub(super) sequence: u64,
    pub(super) latest: Moment,
    pub(super) unrated: u64,
    /// Sessions that the client is to be asked about: after a restart those that did not ask again since are told once
    /// more.
    pub(super) pushes: Aside<VecDeque<u32>>,
}

/// What is remembered beside the state, and is no part of it: two that differ in it alone are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Aside<T>(pub T);

impl<T> PartialEq for Aside<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A subscriber.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Subscriber {
    pub account: u64,
    pub identities: Vec<Identity>,
}

/// A session, open or closed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Session {
    pub name: Arc<str>,
    pub origin: Arc<str>,
    pub subscriber: u64,
    pub account: u64,
    pub place: Place,
    pub services: Vec<Service>,
    pub kept: Vec<Kept>,
    /// The highest request number, and of those before it which ones came, a bit each.
    pub number: u32,
    pub seen: u64,
    pub deadline: Moment,
    /// When it is looked at: at its deadline or before it.
    pub watched: Aside<Moment>,
    pub phase: Phase,
    /// Whether the client is to ask again.
    pub push: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    Open,
    Aborting,
    Closed,
}

/// A service of a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Service {
    pub key: ServiceKey,
    pub meter: Meter,
    /// What the meter counts.
    pub unit: crate::units::Unit,
    /// Since when what is reported next was used: the last report or grant.
    pub until: Moment,
    pub grant: Option<Box<Grant>>,
}

impl Session {
    pub fn service(&self, key: ServiceKey) -> Option<&Service> {
        self.services.iter().find(|service| service.key == key)
    }

    /// Whether a request of that number came before; none if it is too old to say.
    pub fn has_seen(&self, number: u32) -> Option<bool> {
        match self.number.checked_sub(number) {
            None => Some(false),
            Some(back) if back < NUMBERS_MAX => Some(self.seen >> back & 1 == 1),
            Some(_) => None,
        }
    }

    fn see(&mut self, number: u32) {
        if number > self.number || self.seen == 0 {
            let ahead = number.saturating_sub(self.number);
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
            self.number = number;
        } else if let Some(back) = self.number.checked_sub(number).filter(|back| *back < NUMBERS_MAX) {
            self.seen |= 1 << back;
        }
    }
}

impl State {
    /// The accounts with their numbers, in no order.
    pub fn accounts(&self) -> impl Iterator<Item = (u64, &Account)> {
        self.accounts.iter().map(|(number, account)| (*number, &**account))
    }

    /// An account.
    pub fn account(&self, number: u64) -> Option<&Account> {
        self.accounts.get(&number).map(|account| &**account)
    }

    /// What the sessions of an account were granted.
    pub fn grants(&self, account: u64) -> impl Iterator<Item = &Grant> {
        let slots = self.accounts.get(&account).into_iter().flat_map(|account| &account.sessions);
        let sessions = slots.filter_map(|slot| self.session(*slot));
        sessions.flat_map(|session| &session.services).filter_map(|service| service.grant.as_deref())
    }

    /// Sessions that are open.
    pub fn open_sessions(&self) -> usize {
        self.sessions.iter().flatten().filter(|session| session.phase != Phase::Closed).count()
    }

    /// The number of the newest entry.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Reports of usage for which there was no price or no session.
    pub fn unrated(&self) -> u64 {
        self.unrated
    }

    pub(super) fn session(&self, slot: u32) -> Option<&Session> {
        self.sessions.get(slot as usize)?.as_deref()
    }

    fn session_mut(&mut self, slot: u32) -> Option<&mut Session> {
        self.sessions.get_mut(slot as usize)?.as_deref_mut()
    }

    pub(super) fn slot(&self, session: &str) -> Option<u32> {
        self.names.get(session).copied()
    }

    /// Where the next session goes.
    pub(super) fn next_slot(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.sessions.len() as u32)
    }

    /// Does what an entry says.
    pub(super) fn apply_entry(&mut self, entry: &Entry) {
        entry.effects.iter().for_each(|effect| self.apply(effect));
        self.sequence = entry.sequence;
        self.latest = self.latest.max(entry.at);
    }

    /// Does what an effect says; one that names what is not there does nothing.
    pub(super) fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Account { account, plan, credit } => {
                let found = self.accounts.entry(*account).or_default();
                (found.plan, found.credit) = (*plan, *credit);
                self.push(*account, true);
            }
            Effect::Subscriber { subscriber, account, identities } => self.subscribe(*subscriber, *account, identities),
            Effect::Money { account, amount, .. } => {
                self.with(*account, |account| account.balance = account.balance.plus(*amount));
                self.push(*account, false);
            }
            Effect::Units { account, allowance, reason, amount, ends } => {
                let expires = *reason == crate::account::UnitsReason::Expired;
                self.with(*account, |account| account.add_units(*allowance, *amount, *ends, expires));
                self.push(*account, false);
            }
            Effect::Opened { slot, session, origin, subscriber, account, place } => {
                self.open(*slot, session, origin, (*subscriber, *account), place);
            }
            Effect::Moved { slot, place } => {
                self.session_mut(*slot).into_iter().for_each(|session| session.place = place.clone());
            }
            Effect::Charged { slot, account, charge } => self.charge(*slot, *account, charge),
            Effect::Granted { slot, service, grant } => self.grant(*slot, *service, grant),
            Effect::Unrated { .. } => self.unrated += 1,
            Effect::Answered { slot, kept, deadline } => self.answered(*slot, kept, *deadline),
            Effect::Aborting { slot, deadline } => {
                self.set_deadline(*slot, *deadline);
                self.session_mut(*slot).into_iter().for_each(|session| session.phase = Phase::Aborting);
                self.pushes.0.push_back(*slot);
            }
            Effect::Closed { slot, cause: _, deadline } => self.close(*slot, *deadline),
            Effect::Forgotten { slot, .. } => self.forget(*slot),
        }
    }

    fn with(&mut self, account: u64, change: impl FnOnce(&mut Account)) {
        if let Some(account) = self.accounts.get_mut(&account) {
            change(account);
        }
    }

    fn subscribe(&mut self, number: u64, account: u64, identities: &[Identity]) {
        let made = Subscriber { account, identities: identities.to_vec() };
        if let Some(before) = self.subscribers.insert(number, made) {
            for identity in before.identities {
                self.identities.remove(&identity);
            }
        }
        self.identities.extend(identities.iter().map(|identity| (identity.clone(), number)));
    }

    fn open(&mut self, slot: u32, name: &str, origin: &str, (subscriber, account): (u64, u64), place: &Place) {
        let name: Arc<str> = name.into();
        let session = Session {
            name: name.clone(),
            origin: self.origin(origin),
            subscriber,
            account,
            place: place.clone(),
            services: Vec::new(),
            kept: Vec::new(),
            number: 0,
            seen: 0,
            deadline: Moment::MAX,
            watched: Aside(Moment::MAX),
            phase: Phase::Open,
            push: false,
        };
        match self.sessions.get_mut(slot as usize) {
            Some(place) => {
                *place = Some(Box::new(session));
                // The slot is the newest that was freed (`next_slot`).
                self.free.pop();
            }
            None => self.sessions.push(Some(Box::new(session))),
        }
        self.names.insert(name, slot);
        self.with(account, |account| account.sessions.push(slot));
    }

    fn origin(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.origins.0.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        if self.origins.0.len() < ORIGINS_MAX {
            self.origins.0.insert(name.clone());
        }
        name
    }

    fn charge(&mut self, slot: u32, account: u64, charge: &Charge) {
        self.with(account, |account| account.charge(charge));
        if let Some(service) = self.service_mut(slot, charge.service, charge.unit, charge.until) {
            (service.meter, service.unit, service.until) = (charge.meter, charge.unit, charge.until);
        }
    }

    fn grant(&mut self, slot: u32, key: ServiceKey, grant: &Grant) {
        self.release(slot, key);
        let Some(account) = self.session(slot).map(|session| session.account) else { return };
        if grant.units == 0 && !grant.last {
            return;
        }
        self.with(account, |account| account.reserve(grant));
        if let Some(service) = self.service_mut(slot, key, grant.unit, grant.since) {
            // What is reported next was used since then.
            service.until = grant.since;
            service.grant = Some(Box::new(grant.clone()));
        }
    }

    /// Gives back what a service reserves.
    fn release(&mut self, slot: u32, key: ServiceKey) {
        let Some(session) = self.session_mut(slot) else { return };
        let account = session.account;
        let grant = session.services.iter_mut().find(|service| service.key == key).and_then(|s| s.grant.take());
        if let Some(grant) = grant {
            self.with(account, |account| account.release(&grant));
        }
    }

    fn service_mut(
        &mut self,
        slot: u32,
        key: ServiceKey,
        unit: crate::units::Unit,
        since: Moment,
    ) -> Option<&mut Service> {
        let services = &mut self.session_mut(slot)?.services;
        let at = services.iter().position(|service| service.key == key).unwrap_or_else(|| {
            services.reserve_exact(1);
            services.push(Service { key, meter: Meter::default(), unit, until: since, grant: None });
            services.len() - 1
        });
        services.get_mut(at)
    }

    fn answered(&mut self, slot: u32, kept: &Kept, deadline: Moment) {
        self.set_deadline(slot, deadline);
        let Some(session) = self.session_mut(slot) else { return };
        session.see(kept.number);
        session.push = false;
        if session.kept.len() == KEPT_MAX {
            session.kept.remove(0);
        }
        session.kept.reserve_exact(1);
        session.kept.push(kept.clone());
    }

    fn close(&mut self, slot: u32, deadline: Moment) {
        self.set_deadline(slot, deadline);
        let Some(session) = self.session_mut(slot) else { return };
        session.phase = Phase::Closed;
        let account = session.account;
        let services = core::mem::take(&mut session.services);
        self.with(account, |account| {
            services.iter().filter_map(|service| service.grant.as_deref()).for_each(|grant| account.release(grant));
            account.sessions.retain(|other| *other != slot);
        });
    }

    fn forget(&mut self, slot: u32) {
        let Some(session) = self.sessions.get_mut(slot as usize).and_then(Option::take) else { return };
        self.names.remove(&session.name);
        self.watch.0.remove(&(session.watched.0, slot));
        self.free.push(slot);
    }

    fn set_deadline(&mut self, slot: u32, deadline: Moment) {
        let Some(session) = self.session_mut(slot) else { return };
        session.deadline = deadline;
        if deadline < session.watched.0 {
            self.watch(slot, deadline);
        }
    }

    /// Looks at a session at that moment, and no more at the one before.
    fn watch(&mut self, slot: u32, at: Moment) {
        let Some(session) = self.session_mut(slot) else { return };
        let before = core::mem::replace(&mut session.watched.0, at);
        self.watch.0.remove(&(before, slot));
        self.watch.0.insert((at, slot));
    }

    /// Sessions whose deadline has come, at most so many; those whose deadline has moved on are watched anew.
    pub(super) fn due(&mut self, now: Moment, most: usize) -> Vec<u32> {
        let (mut due, mut after) = (Vec::new(), Bound::Unbounded);
        while due.len() < most {
            let next = self.watch.0.range((after, Bound::Unbounded)).next().copied();
            let Some((at, slot)) = next.filter(|(at, _)| *at <= now) else { break };
            after = Bound::Excluded((at, slot));
            let deadline = self.session(slot).map_or(now, |session| session.deadline);
            match deadline <= now {
                true => due.push(slot),
                false => self.watch(slot, deadline),
            }
        }
        due
    }

    /// Asks clients to ask again: those of all sessions of an account, or of those that were told that nothing is
    /// left.
    pub(super) fn push(&mut self, account: u64, all: bool) {
        let slots = self.accounts.get(&account).map_or(Vec::new(), |account| account.sessions.clone());
        for slot in slots {
            let Some(session) = self.session_mut(slot) else { continue };
            let last = session.services.iter().any(|s| s.grant.as_ref().is_some_and(|grant| grant.last));
            if (all || last) && !session.push {
                session.push = true;
                self.pushes.0.push_back(slot);
            }
        }
    }
}
