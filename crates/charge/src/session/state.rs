//! The fold of the ledger: accounts, subscribers, sessions, plans. Nothing changes it but [`State::fold`].

mod answers;
mod debits;
mod forwarding;
mod free;
mod orders;
mod session;
mod shards;
mod slots;
mod snapshot;
mod subscribers;
mod watch;

pub use answers::KEPT_MAX;
pub use debits::{DEBITS_MAX, Debit, Part};
pub use forwarding::{Forwarding, Mark};
pub use orders::ORDERS_MAX;
pub use session::{NUMBERS_MAX, SESSION_SERVICES_MAX};
pub(super) use session::{Phase, Service, Session};
pub use snapshot::{NoSnapshot, RECEIVED, Restoring, SNAPSHOT_VERSION};

use crate::account::{
    Account, Charge, Effect, Entry, Grant, Identity, IdentityKind, Kept, NoEntry, Place, Recording, ServiceKey,
};
use crate::calendar::Moment;
use crate::gateway::receiver;
use crate::tariff::Code;
use answers::Answers;
use debits::Debits;
use hashbrown::HashMap;
use orders::{Done, Orders};
use session::{Accesses, Watched};
use slots::Slots;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use subscribers::Subscribers;
use watch::Watch;

/// Former texts of a plan that are known.
// Limit: former texts kept of one plan
// Beyond: the oldest is forgotten
// Seen in: the list of versions
pub const FORMER_MAX: usize = 100;
/// Requests of no session that are remembered, so that copies of them are not told again; the newest.
pub const STRAYS_MAX: usize = 1000;

/// Everything that the ledger says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    accounts: HashMap<u64, Box<Account>>,
    pub(super) subscribers: Subscribers,
    pub(super) sessions: Slots,
    plans: BTreeMap<Code, PlanText>,
    strays: VecDeque<Stray>,
    orders: Orders,
    /// What can be given back.
    pub(super) debits: Debits,
    recorded: Option<Box<Recorded>>,
    forwarding: Option<Box<Forwarding>>,
    received: Option<Box<receiver::State>>,
    accesses: Aside<Accesses>,
    watch: Aside<Watch>,
    pub(super) sequence: u64,
    pub(super) latest: Moment,
    unrated: u64,
    /// Entries that are gone.
    lost: u64,
    /// Sessions that are not closed.
    open: usize,
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

/// A plan as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanText {
    /// Its name.
    pub name: Box<str>,
    /// Its file.
    pub text: Arc<str>,
    /// How many texts of this name there were, this one among them.
    pub version: u32,
    /// The entry since which it holds.
    pub since: u64,
    /// The entries of its texts before this one, the newest [`FORMER_MAX`] of them, the oldest first.
    pub former: Vec<u64>,
}

/// How several nodes make records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The first entry that said how.
    pub since: u64,
    /// How they are made now.
    pub recording: Recording,
}

/// A request of no session whose usage was told.
#[derive(Clone, Debug, PartialEq)]
struct Stray {
    origin: Box<str>,
    end_to_end: u32,
    sequence: u64,
    until: Moment,
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
    pub fn grants(&self, account: u64) -> impl Iterator<Item = Grant> {
        let slots = self.accounts.get(&account).into_iter().flat_map(|account| &account.sessions);
        slots.filter_map(|slot| self.session(*slot)).flat_map(Session::grants)
    }

    /// The account that pays for who is known by an identity.
    pub fn payer(&self, identity: &Identity) -> Option<u64> {
        self.subscribers.get(self.subscribers.find(identity)?).map(|subscriber| subscriber.account)
    }

    /// How many accounts there are.
    pub fn account_count(&self) -> usize {
        self.accounts.len()
    }

    /// How many subscribers there are.
    pub fn subscriber_count(&self) -> usize {
        self.subscribers.len()
    }

    /// Sessions that are open.
    pub fn open_sessions(&self) -> usize {
        self.open
    }

    /// Sessions, those among them that have ended and whose answers are kept.
    pub fn kept_sessions(&self) -> usize {
        self.sessions.len()
    }

    /// What was ordered by a key, in short, and the entry that did it; none where it is not remembered.
    pub fn ordered(&self, key: &str, now: Moment) -> Option<(u64, u64)> {
        self.orders.find(key, now)
    }

    /// Whether one more key can be remembered.
    pub(super) fn has_room_for_orders(&self, now: Moment) -> bool {
        self.orders.has_room(now)
    }

    /// How several nodes make records of this ledger; none where they do not, or one node is alone.
    pub fn recorded(&self) -> Option<&Recorded> {
        self.recorded.as_deref()
    }

    /// How far records were sent on to charging gateways; none where they never were.
    pub fn forwarding(&self) -> Option<&Forwarding> {
        self.forwarding.as_deref()
    }

    /// What is known of records of others, and of who sent them; none where none ever came.
    pub fn received(&self) -> Option<&receiver::State> {
        self.received.as_deref()
    }

    /// The plans, in the order of their codes.
    pub fn plans(&self) -> impl Iterator<Item = &PlanText> {
        self.plans.values()
    }

    /// A plan by its code.
    pub fn plan(&self, code: Code) -> Option<&PlanText> {
        self.plans.get(&code)
    }

    /// The number of the newest entry.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// When that was.
    pub fn latest(&self) -> Moment {
        self.latest
    }

    /// Entries that are gone.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The sessions that are open: slot, name and who pays.
    pub fn opened(&self) -> impl Iterator<Item = (u32, &str, u64)> {
        let open = self.sessions.iter().filter(|(_, session)| session.phase != Phase::Closed);
        open.map(|(slot, session)| (slot, &*session.name, session.account))
    }

    /// Whether a session that is open has a slot.
    pub fn is_open(&self, slot: u32) -> bool {
        self.session(slot).is_some_and(|session| session.phase != Phase::Closed)
    }

    /// What sessions were debited and can be given back, with the numbers of the entries in which they began.
    pub fn debits(&self) -> impl Iterator<Item = (u64, &Debit)> {
        self.debits.iter()
    }

    /// Sessions that could have been given back still, and were forgotten for want of room, since the start.
    pub fn debits_forgotten(&self) -> u64 {
        self.debits.forgotten.0
    }

    /// Reports of usage for which there was no price or no session.
    pub fn unrated(&self) -> u64 {
        self.unrated
    }

    pub(super) fn session(&self, slot: u32) -> Option<&Session> {
        self.sessions.get(slot)
    }

    fn session_mut(&mut self, slot: u32) -> Option<&mut Session> {
        self.sessions.get_mut(slot)
    }

    /// The entry that told of a request of no session, if it is remembered.
    pub(super) fn stray(&self, origin: &str, end_to_end: u32, now: Moment) -> Option<u64> {
        let is_it = |stray: &&Stray| stray.end_to_end == end_to_end && *stray.origin == *origin && stray.until > now;
        self.strays.iter().rev().find(is_it).map(|stray| stray.sequence)
    }

    /// That an entry can be the next one of this ledger: it names no slot that no session of it can have had.
    ///
    /// # Errors
    /// It names one.
    pub fn fits(&self, entry: &Entry) -> Result<(), NoEntry> {
        // Each entry that is gone may have begun a session.
        let mut slots = u64::from(self.sessions.used()).saturating_add(self.lost);
        for effect in &entry.effects {
            slots += u64::from(matches!(effect, Effect::Opened { .. }));
            if let Some(slot) = effect.slot().filter(|slot| u64::from(*slot) >= slots) {
                return Err(NoEntry::Slot { slot, slots });
            }
        }
        Ok(())
    }

    /// Does what an entry says: the next one, whose number is that of the newest plus 1.
    pub fn fold(&mut self, entry: &Entry) {
        entry.effects.iter().for_each(|effect| self.apply(effect));
        self.lost = self.lost.saturating_add(u64::from(entry.is_lost()));
        self.sequence = entry.sequence;
        self.latest = self.latest.max(entry.at);
    }

    /// Gives up the answers that were kept: who only looks what would be needs none.
    pub(super) fn forget_answers(&mut self) {
        self.sessions.sessions_mut().for_each(|session| session.answers = Answers::default());
    }

    /// Does of an entry what says who pays for which number and by which plan; accounts have no balance then, and there
    /// are no sessions.
    pub fn fold_payers(&mut self, entry: &Entry) {
        for effect in &entry.effects {
            match effect {
                Effect::Subscriber { subscriber, account, identities } => {
                    self.set_subscriber(*subscriber, *account, &numbers(identities));
                }
                Effect::Account { .. } | Effect::Units { .. } | Effect::Plan { .. } => self.apply(effect),
                Effect::Charged { account, charge, .. } => self.with(*account, |account| account.use_units(charge)),
                Effect::Refunded { refund, .. } => {
                    self.with(refund.account, |account| account.refund_units(&refund.taken));
                }
                _ => {}
            }
        }
        self.sequence = entry.sequence;
        self.latest = self.latest.max(entry.at);
    }

    /// Does what an effect of the entry after the newest says; one that names what is not there does nothing.
    pub(super) fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Account { account, plan, credit } => {
                let found = self.accounts.entry(*account).or_default();
                (found.plan, found.credit) = (*plan, *credit);
                self.push(*account, true);
            }
            Effect::Subscriber { subscriber, account, identities } => {
                self.set_subscriber(*subscriber, *account, identities);
            }
            Effect::Money { account, amount, .. } => {
                self.with(*account, |account| account.balance = account.balance.plus(*amount));
                self.push(*account, false);
            }
            Effect::Units { account, allowance, reason, amount, ends } => {
                let expires = *reason == crate::account::UnitsReason::Expired;
                self.with(*account, |account| account.add_units(*allowance, *amount, *ends, expires));
                self.push(*account, false);
            }
            Effect::Opened { slot, session, origin, subscriber, account, place, .. } => {
                self.open(*slot, session, (origin, place), (*subscriber, *account));
            }
            Effect::Refundable { slot, correlation, until } => self.remember_debit(*slot, correlation, *until),
            Effect::Refunded { refund, .. } => {
                self.with(refund.account, |account| account.refund(refund));
                self.debits.refund(refund.debit, refund.service);
                self.push(refund.account, false);
            }
            Effect::Moved { slot, place } => self.go_to(*slot, place),
            Effect::Charged { slot, account, charge } => self.charge(*slot, *account, charge),
            Effect::Granted { slot, service, grant } => self.grant(*slot, *service, grant),
            Effect::Unrated { .. } => self.unrated = self.unrated.saturating_add(1),
            Effect::Answered { slot, kept, deadline } => self.answered(*slot, kept, *deadline),
            Effect::Aborting { slot, deadline } => {
                self.set_deadline(*slot, *deadline);
                self.set_phase(*slot, Phase::Aborting);
                self.pushes.0.push_back(*slot);
            }
            Effect::Closed { slot, cause: _, deadline } => {
                self.close(*slot, *deadline);
                self.debits.close(*slot, deadline.saturating_add(super::REFUND_KEPT_S));
            }
            Effect::Forgotten { slot, .. } => self.forget(*slot),
            Effect::Plan { name, text } => self.set_plan(name, text),
            Effect::Stray { origin, end_to_end, until } => self.remember(origin, *end_to_end, *until),
            Effect::Ordered { key, what, until } => {
                let (key, sequence) = (key.clone(), self.sequence.saturating_add(1));
                self.orders.remember(Done { key, what: *what, sequence, until: *until }, self.latest);
            }
            Effect::Recording { recording } => {
                let since = self.recorded.as_ref().map_or(self.sequence.saturating_add(1), |known| known.since);
                self.recorded = Some(Box::new(Recorded { since, recording: recording.clone() }));
            }
            // Of files only those know who write them.
            Effect::Filed { .. } => {}
            // What it says of sessions stands beside it.
            Effect::Lost { .. } => {}
            Effect::Forwarded { file, octets } => {
                self.forwarding.get_or_insert_default().at = Mark { file: *file, octets: *octets };
            }
            // What passes to billing by it is known to who writes files.
            Effect::Received { entry } => drop(self.received.get_or_insert_default().fold(entry)),
            Effect::Sent { entry } => self.forwarding.get_or_insert_default().sender.fold(entry),
        }
    }

    fn with(&mut self, account: u64, change: impl FnOnce(&mut Account)) {
        if self.lost > 0 {
            // Its beginning may be among the entries that are gone.
            self.accounts.entry(account).or_default();
        }
        if let Some(account) = self.accounts.get_mut(&account) {
            change(account);
        }
    }

    fn set_plan(&mut self, name: &str, text: &str) {
        let (code, since) = (Code::of("plan", name), self.sequence.saturating_add(1));
        let known = self.plans.remove(&code);
        let version = known.as_ref().map_or(1, |known| known.version.saturating_add(1));
        let former = known.map_or_else(Vec::new, |PlanText { mut former, since, .. }| {
            former.drain(..(former.len() + 1).saturating_sub(FORMER_MAX));
            former.push(since);
            former
        });
        self.plans.insert(code, PlanText { name: name.into(), text: text.into(), version, since, former });
        if version > 1 {
            let under = self.accounts.iter().filter(|(_, account)| account.plan == code);
            let accounts: Vec<u64> = under.map(|(number, _)| *number).collect();
            accounts.into_iter().for_each(|account| self.push(account, true));
        }
    }

    fn remember_debit(&mut self, slot: u32, correlation: &[u8], until: Moment) {
        let Some(session) = self.sessions.get(slot) else { return };
        let debit = Debit {
            slot: Some(slot),
            session: session.name.clone(),
            correlation: correlation.into(),
            origin: session.access.origin.clone(),
            subscriber: session.subscriber,
            account: session.account,
            until,
            parts: Vec::new(),
        };
        self.debits.open(self.sequence.saturating_add(1), debit, self.latest);
    }

    fn remember(&mut self, origin: &str, end_to_end: u32, until: Moment) {
        if self.strays.len() == STRAYS_MAX {
            self.strays.pop_front();
        }
        let sequence = self.sequence.saturating_add(1);
        self.strays.push_back(Stray { origin: origin.into(), end_to_end, sequence, until });
    }

    fn open(&mut self, slot: u32, name: &str, (origin, place): (&str, &Place), (subscriber, account): (u64, u64)) {
        let fits = |state: &State| slot == state.sessions.next() && state.sessions.find(name).is_none();
        if !fits(self) {
            self.make_room(slot, name);
        }
        if !fits(self) {
            return;
        }
        let access = self.accesses.0.of(origin, place);
        self.sessions.open(Session::new(name, access, (subscriber, account)));
        self.open += 1;
        self.with(account, |account| account.opened(slot));
    }

    /// Where entries are gone, sessions began and ended of which nothing is known: the slot that an entry names is free
    /// all the same.
    fn make_room(&mut self, slot: u32, name: &str) {
        if self.lost == 0 || u64::from(slot) > u64::from(self.sessions.used()).saturating_add(self.lost) {
            return;
        }
        let known = self.sessions.find(name);
        for stale in known.into_iter().chain(self.session(slot).map(|_| slot)) {
            self.close(stale, self.latest);
            self.forget(stale);
        }
        self.sessions.choose_next(slot);
    }

    fn go_to(&mut self, slot: u32, place: &Place) {
        let Some(session) = self.sessions.get_mut(slot) else { return };
        session.access = self.accesses.0.of(&session.access.origin, place);
    }

    fn charge(&mut self, slot: u32, account: u64, charge: &Charge) {
        self.debits.charge(slot, self.accounts.get(&account).map(|account| &**account), charge);
        self.with(account, |account| account.charge(charge));
        let Some(session) = self.session_mut(slot) else { return };
        if let Some(service) = session.service_mut(charge.service, charge.unit, charge.until) {
            (service.meter, service.unit, service.until) = (charge.meter, charge.unit, charge.until);
        }
    }

    fn grant(&mut self, slot: u32, key: ServiceKey, grant: &Grant) {
        self.release(slot, key);
        let Some(account) = self.session(slot).map(|session| session.account) else { return };
        let room = self.session(slot).is_some_and(|session| session.has_room(key));
        if !room || (grant.units == 0 && !grant.last) {
            return;
        }
        self.with(account, |account| account.reserve(grant));
        let Some(session) = self.session_mut(slot) else { return };
        if let Some(service) = session.service_mut(key, grant.unit, grant.since) {
            // What is reported next was used since then.
            service.until = grant.since;
            service.hold(grant);
        }
    }

    /// Gives back what a service reserves.
    fn release(&mut self, slot: u32, key: ServiceKey) {
        let Some(session) = self.session_mut(slot) else { return };
        let account = session.account;
        let grant = session.services.iter_mut().find(|service| service.key == key).and_then(Service::release);
        if let Some(grant) = grant {
            self.with(account, |account| account.release(&grant));
        }
    }

    fn answered(&mut self, slot: u32, kept: &Kept, deadline: Moment) {
        self.set_deadline(slot, deadline);
        let Some(session) = self.session_mut(slot) else { return };
        session.see(kept.number);
        session.push = false;
        session.answers.keep(kept);
    }

    fn close(&mut self, slot: u32, deadline: Moment) {
        self.set_deadline(slot, deadline);
        self.set_phase(slot, Phase::Closed);
        let Some(session) = self.session_mut(slot) else { return };
        let account = session.account;
        let services = core::mem::take(&mut session.services);
        self.with(account, |account| {
            services.iter().filter_map(Service::grant).for_each(|grant| account.release(&grant));
            account.sessions.retain(|other| *other != slot);
        });
    }

    fn forget(&mut self, slot: u32) {
        let Some(session) = self.sessions.take(slot) else { return };
        self.open -= usize::from(session.phase != Phase::Closed);
        self.unwatch(session.watched.0);
    }

    fn set_phase(&mut self, slot: u32, phase: Phase) {
        let Some(session) = self.sessions.get_mut(slot) else { return };
        let (before, now) = (session.phase != Phase::Closed, phase != Phase::Closed);
        session.phase = phase;
        self.open = self.open + usize::from(now) - usize::from(before);
    }

    /// Makes a subscriber, or changes it; accounts know theirs.
    fn set_subscriber(&mut self, subscriber: u64, account: u64, identities: &[Identity]) {
        if let Some(before) = self.subscribers.get(subscriber).map(|known| known.account) {
            self.with(before, |account| account.subscribers.remove(subscriber));
        }
        self.subscribers.set(subscriber, account, identities);
        self.with(account, |account| account.subscribers.add(subscriber));
    }

    fn set_deadline(&mut self, slot: u32, deadline: Moment) {
        let Some(session) = self.session_mut(slot) else { return };
        session.deadline = deadline;
        if deadline < session.watched.0.at {
            self.watch(slot, deadline);
        }
    }

    /// Looks at a session at that moment, and no more at the one before.
    fn watch(&mut self, slot: u32, at: Moment) {
        let before = self.session(slot).map_or(Watched::NEVER, |session| session.watched.0);
        self.unwatch(before);
        let place = self.watch.0.insert(at, slot);
        self.session_mut(slot).into_iter().for_each(|session| session.watched.0 = Watched { at, place });
    }

    fn unwatch(&mut self, watched: Watched) {
        if watched == Watched::NEVER {
            return;
        }
        let moved = self.watch.0.remove(watched.at, watched.place).and_then(|slot| self.session_mut(slot));
        moved.into_iter().for_each(|session| session.watched.0.place = watched.place);
    }

    /// When a session is looked at next.
    pub(super) fn next_watch(&self) -> Option<Moment> {
        self.watch.0.first()
    }

    /// Sessions whose deadline has come, at most so many, in the order of their slots; those whose deadline has moved
    /// on are watched anew. Who is given them ends them, or forgets them.
    pub(super) fn due(&mut self, now: Moment, most: usize) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some(slot) = Some(due.len()).filter(|count| *count < most).and_then(|_| self.watch.0.pop(now)) {
            let Some(session) = self.session_mut(slot) else { continue };
            session.watched.0 = Watched::NEVER;
            let deadline = session.deadline;
            match deadline <= now {
                true => due.push(slot),
                false => self.watch(slot, deadline),
            }
        }
        due.sort_unstable();
        due
    }

    /// Asks clients to ask again: those of all sessions of an account, or of those that were told that nothing is
    /// left.
    fn push(&mut self, account: u64, all: bool) {
        let slots = self.accounts.get(&account).map_or(Vec::new(), |account| account.sessions.clone());
        for slot in slots {
            let Some(session) = self.session_mut(slot) else { continue };
            if (all || session.grants().any(|grant| grant.last)) && !session.push {
                session.push = true;
                self.pushes.0.push_back(slot);
            }
        }
    }
}

/// Telephone numbers among identities.
fn numbers(identities: &[Identity]) -> Vec<Identity> {
    identities.iter().filter(|identity| identity.kind == IdentityKind::E164).cloned().collect()
}
