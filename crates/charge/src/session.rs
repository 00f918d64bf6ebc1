//! The server of credit control (RFC 8506): sessions with several services, events, and all that a network does to
//! requests on their way.
//!
//! [`Core::handle`] takes a [`Request`] and the time, and gives an answer and the [`Entry`] that has to be durable
//! before the answer leaves. It decides by the [`State`] and changes it through entries alone: [`Core::apply`] of the
//! same entries makes the same state, and so the same answers.
//!
//! # Rules where the standards are silent
//!
//! - **Copies.** A request with the number and the content of one that was answered, or with its number and End-to-End
//!   Identifier, gets the same answer, and nothing is charged. The newest [`KEPT_MAX`] answers of a session are kept,
//!   and all of them until [`Limits::kept_s`] after its end. A number that was used with another content is answered
//!   5012 and changes nothing; so is a number whose answer is not kept any more, or that is more than [`NUMBERS_MAX`]
//!   behind.
//! - **Late requests.** An update with a number below the newest that never came before is charged, and granted
//!   nothing: what the newer one was granted stands.
//! - **Usage without a session** (unknown, closed) is answered 5002 and kept in the ledger as unrated, once: copies are
//!   known by Origin-Host and End-to-End Identifier, the newest [`STRAYS_MAX`]. So is usage for which no rule holds
//!   (5031) or a rule that denies it (4010).
//! - **Services of a session** beyond [`SESSION_SERVICES_MAX`] are granted nothing (5012).
//! - **Free usage** (4011, RFC 8506 section 9.1) is granted nothing and needs no report; what is reported stands in the
//!   ledger at no price.
//! - **Usage beyond a grant** is charged as far as there is money that nobody else reserved; what is missing is told in
//!   the ledger as short. A prepaid balance is never below zero.
//! - **A change of the price** within a grant is told (Tariff-Time-Change) where both prices have the same steps and
//!   bundles; the dearer of both is reserved. Where they differ, or a bundle or a cap's period ends, the validity ends
//!   then. Usage that is not split is rated as [`crate::rate::pieces`] says.
//! - **A tranche** is at most the rule's `tranche`, and reserves at most the plan's `share` of what is free in the
//!   account, and its equal part among the account's grants; where that pays for less than `tranche-least`, so many are
//!   granted as far as what is free pays for them. The last units are told as final only where no other grant of the
//!   account is open.
//! - **Bundles expire** for what is not reserved; what was granted stays until it is reported.
//! - **Supervision** (Tcc): twice the longest validity of the session's grants; then it is closed and what it reserved
//!   is free.
//! - **Time never goes back**: a moment before that of the newest entry counts as that.
//! - **Whose a session is**: the Origin-Host's that opened it ([`crate::trust`]). Others are answered as if it were not
//!   there (5002; 5012 where they begin one of its name), also to a copy; what they report is usage of no session.
//! - **A refund** gives back what the same session, or one of the same CC-Correlation-Id, was debited and has ended: to
//!   the account and the bundles that it came from, once each service, and in equal parts of both where it names fewer
//!   units than were charged. A client that is not named for it is answered 5003; where nothing is left to be given
//!   back it is 5012. What can be given back is known for [`REFUND_KEPT_S`], of the newest [`DEBITS_MAX`] sessions.

mod bring;
mod charge;
mod event;
mod grant;
mod look;
mod once;
mod open;
mod operate;
mod payers;
mod record;
mod refund;
mod request;
mod state;
mod tryout;
mod voice;

pub use look::{Shown, Sought, Standing};
pub use once::{ORDER_KEPT_S, ORDER_KEY_OCTETS_MAX, Once, OrderKey};
pub use operate::{PLANS_MAX, Refused};
pub use payers::Payers;
pub use refund::REFUND_KEPT_S;
pub use request::{
    Action, Answer, Asked, FACTS_OCTETS_MAX, Final, Given, IDENTITIES_MAX, Kind, Request, SERVICES_MAX, Side,
    TEXT_OCTETS_MAX, USED_MAX, Used, code,
};
pub use state::{
    DEBITS_MAX, Debit, FORMER_MAX, Forwarding, KEPT_MAX, Mark, NUMBERS_MAX, NoSnapshot, ORDERS_MAX, Part, PlanText,
    RECEIVED, Recorded, Restoring, SESSION_SERVICES_MAX, SNAPSHOT_VERSION, STRAYS_MAX, State,
};

pub use tryout::{AccountTried, DIFFERENCES_MAX, GROUPS_MAX, GroupTried, Trial, TryOut};
pub use voice::{CallPayer, CallPrice, CallRated, CallRater, Spoken};

use crate::account::{Cause, Effect, Entry, Kept, Octets, Place};
use crate::calendar::Moment;
use crate::tariff::{Code, Context, Plan, read};
use crate::trust::Trust;
use crate::units::Amounts;
use grant::plan_code;
use hashbrown::HashMap;
use state::{Phase, Session};
use std::sync::{Arc, LazyLock};
use trunkline_kit::config::Mistake;

/// Sessions that one call of [`Core::handle_timeout`] ends.
pub const TIMEOUTS_MAX: usize = 1000;

/// What the core holds at most, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions, those among them that are closed and whose answers are kept; a new one beyond it is answered 3004.
    pub sessions: usize,
    /// Seconds for which answers are kept after a session ends: longer than any client repeats a request.
    pub kept_s: u32,
    /// Seconds after which a session without a grant is given up.
    pub idle_s: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { sessions: 4_000_000, kept_s: 300, idle_s: 7200 }
    }
}

/// What a request leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The answer.
    pub answer: Answer,
    /// What has to be written; none where nothing changes.
    pub entry: Option<Entry>,
    /// The entry that has to be durable before the answer leaves: also of a copy, whose original may not be yet.
    pub after: u64,
    /// Another client than that of the session asked: nothing of the session was changed or told.
    pub foreign: bool,
}

/// This program does not read the text of a plan that is in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFault {
    /// The plan.
    pub name: Box<str>,
    /// The number of its text, from 1 on.
    pub version: u32,
    /// What this program finds wrong in it.
    pub mistakes: Vec<Mistake>,
}

impl core::fmt::Display for PlanFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "plan '{}', version {}, is not read by this program:", self.name, self.version)?;
        self.mistakes.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
    }
}

impl std::error::Error for PlanFault {}

/// What the server asks of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// Session-Id.
    pub session: Box<str>,
    /// The client (Destination-Host).
    pub origin: Box<str>,
    /// To end the session (ASR); else to ask again (RAR).
    pub abort: bool,
}

/// The charging core.
#[derive(Clone, Debug, Default)]
pub struct Core {
    plans: HashMap<Code, Plan>,
    limits: Limits,
    state: State,
    trust: Arc<Trust>,
    /// What the next entry tells besides.
    besides: Option<Effect>,
}

/// A request at work: each effect is applied as it is found, so that the next one sees it.
struct Work<'a> {
    plan: &'a Plan,
    state: &'a mut State,
    effects: Vec<Effect>,
    slot: u32,
    account: u64,
    now: Moment,
    limits: Limits,
    trust: &'a Trust,
}

impl Core {
    /// An empty core.
    pub fn new(limits: Limits) -> Core {
        Core { limits, ..Core::default() }
    }

    /// What the entries say so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The same core, which goes by this from now on.
    #[must_use]
    pub fn trusting(self, trust: Arc<Trust>) -> Core {
        Core { trust, ..self }
    }

    /// A core that goes on from what entries or a snapshot came to.
    ///
    /// # Errors
    /// This program does not read the text of a plan that holds.
    pub fn of(state: State, limits: Limits) -> Result<Core, PlanFault> {
        let mut core = Core { limits, state, ..Core::default() };
        let codes: Vec<Code> = core.state.plans().map(|plan| plan_code(&plan.name)).collect();
        codes.into_iter().try_for_each(|code| core.read_plan(code))?;
        Ok(core)
    }

    /// Does what an entry says that was written before.
    ///
    /// # Errors
    /// It brings a plan whose text this program does not read: the core has the state of the entry and cannot go on.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), PlanFault> {
        self.state.fold(entry);
        entry.effects.iter().try_for_each(|effect| match effect {
            Effect::Plan { name, .. } => self.read_plan(plan_code(name)),
            _ => Ok(()),
        })
    }

    fn read_plan(&mut self, code: Code) -> Result<(), PlanFault> {
        let Some(known) = self.state.plan(code) else { return Ok(()) };
        let (name, version) = (known.name.clone(), known.version);
        let plan = read("plan", &known.text).map_err(|mistakes| PlanFault { name, version, mistakes })?;
        self.plans.insert(code, plan);
        Ok(())
    }

    /// Takes a request at `now`.
    pub fn handle(&mut self, request: &Request, now: Moment) -> Outcome {
        let now = now.max(self.state.latest);
        if !request.is_within_limits() {
            return self.nothing(code::INVALID_VALUE);
        }
        if request.kind == Kind::Refund && !self.trust.refunds(&request.origin) {
            return self.nothing(code::AUTHORIZATION_REJECTED);
        }
        let slot = self.state.sessions.find(&request.session);
        match slot.and_then(|slot| self.state.session(slot).map(|session| (slot, session))) {
            Some((_, session)) if !self.is_owner(request, session) => self.foreign(request, now),
            Some((slot, session)) => match self.known(request, session) {
                Ok(()) => self.go_on(request, slot, now),
                Err(outcome) if outcome.answer.code == code::UNKNOWN_SESSION => self.unrated(request, now),
                Err(outcome) => outcome,
            },
            None if matches!(request.kind, Kind::Update | Kind::Terminate) => self.unrated(request, now),
            None => self.begin(request, now),
        }
    }

    /// Whether a request is of the client that opened the session, or of another one of its failover set.
    fn is_owner(&self, request: &Request, session: &Session) -> bool {
        self.trust.same(&session.access.origin, &request.origin)
    }

    /// A session that somebody else opened is to who asks as one that is not there: also the answer to a copy is not
    /// for him. What he says was used stands in the ledger as usage of no session.
    fn foreign(&mut self, request: &Request, now: Moment) -> Outcome {
        let outcome = match request.kind {
            Kind::Update | Kind::Terminate => self.unrated(request, now),
            _ => self.nothing(code::UNABLE_TO_COMPLY),
        };
        Outcome { foreign: true, ..outcome }
    }

    /// Whether a request of a known session is a new one; else its answer.
    fn known(&self, request: &Request, session: &Session) -> Result<(), Outcome> {
        if let Some(kept) = session.answers.iter().find(|kept| kept.number == request.number) {
            if kept.end_to_end == request.end_to_end || kept.fingerprint == request.fingerprint() {
                let answer = Answer::take(&mut &*kept.answer);
                return Err(answer.map_or_else(
                    || self.nothing(code::UNABLE_TO_COMPLY),
                    |answer| Outcome { answer, entry: None, after: kept.sequence, foreign: false },
                ));
            }
            return Err(self.nothing(code::UNABLE_TO_COMPLY));
        }
        let is_new = session.has_seen(request.number) == Some(false);
        match (request.kind, session.phase) {
            _ if !is_new => Err(self.nothing(code::UNABLE_TO_COMPLY)),
            (Kind::Update | Kind::Terminate, Phase::Closed) => Err(self.nothing(code::UNKNOWN_SESSION)),
            (Kind::Update | Kind::Terminate, _) => Ok(()),
            // What a session debited is given back when it has ended.
            (Kind::Refund, Phase::Closed) => Ok(()),
            _ => Err(self.nothing(code::UNABLE_TO_COMPLY)),
        }
    }

    /// An answer that changes nothing.
    fn nothing(&self, code: u32) -> Outcome {
        Outcome { answer: Answer::of(code), entry: None, after: 0, foreign: false }
    }

    /// Usage of no session: told in the ledger, charged to nobody; once, however often the request comes.
    fn unrated(&mut self, request: &Request, now: Moment) -> Outcome {
        if let Some(after) = self.state.stray(&request.origin, request.end_to_end, now) {
            return Outcome { after, ..self.nothing(code::UNKNOWN_SESSION) };
        }
        let used = request.services.iter().flat_map(|asked| asked.used.iter().map(|used| (asked.key, used.amounts)));
        let used = used.filter(|(_, amounts)| !amounts.is_nothing());
        let mut effects: Vec<Effect> =
            used.map(|(service, used)| Effect::Unrated { session: request.session.clone(), service, used }).collect();
        if !effects.is_empty() {
            let until = now.saturating_add(i64::from(self.limits.kept_s));
            let (origin, end_to_end) = (request.origin.clone(), request.end_to_end);
            effects.push(Effect::Stray { origin, end_to_end, until });
        }
        let entry = (!effects.is_empty()).then(|| self.write(effects, now));
        Outcome {
            after: entry.as_ref().map_or(0, |entry| entry.sequence),
            entry,
            ..self.nothing(code::UNKNOWN_SESSION)
        }
    }

    /// Applies effects as an entry.
    fn write(&mut self, mut effects: Vec<Effect>, now: Moment) -> Entry {
        effects.extend(self.besides.take());
        let entry = Entry { sequence: self.state.sequence + 1, at: now.max(self.state.latest), effects };
        self.state.fold(&entry);
        entry
    }

    /// The first request of a session, or an event.
    fn begin(&mut self, request: &Request, now: Moment) -> Outcome {
        let known = request.identities.iter().find_map(|identity| self.state.subscribers.find(identity));
        let Some(number) = known else { return self.nothing(code::USER_UNKNOWN) };
        let account = self.state.subscribers.get(number).map_or(0, |subscriber| subscriber.account);
        if self.plan_of(account).is_none() {
            return self.nothing(code::UNABLE_TO_COMPLY);
        }
        if self.state.sessions.len() >= self.limits.sessions {
            return self.nothing(code::TOO_BUSY);
        }
        let slot = self.state.sessions.next();
        let opened = Effect::Opened {
            slot,
            session: request.session.clone(),
            origin: request.origin.clone(),
            subscriber: number,
            account,
            place: request.place.clone().unwrap_or_default(),
            facts: request.facts.clone(),
        };
        self.work(request, slot, account, now, Some(opened))
    }

    fn go_on(&mut self, request: &Request, slot: u32, now: Moment) -> Outcome {
        let account = self.state.session(slot).map_or(0, |session| session.account);
        self.work(request, slot, account, now, None)
    }

    /// The plan of an account.
    pub fn plan_of(&self, account: u64) -> Option<&Plan> {
        self.plans.get(&self.state.account(account)?.plan)
    }

    fn work(&mut self, request: &Request, slot: u32, account: u64, now: Moment, opened: Option<Effect>) -> Outcome {
        let sequence = self.state.sequence + 1;
        let Some(plan) = self.state.account(account).and_then(|account| self.plans.get(&account.plan)) else {
            return self.nothing(code::UNABLE_TO_COMPLY);
        };
        let effects = Vec::with_capacity(2 + 2 * request.services.len());
        let state = &mut self.state;
        let mut work = Work { plan, state, effects, slot, account, now, limits: self.limits, trust: &self.trust };
        if let Some(opened) = opened {
            work.effect(opened);
            work.remember(request);
        }
        work.renew();
        let answer = if request.kind.is_event() { work.event(request) } else { work.session(request) };
        work.answered(request, &answer, sequence);
        let entry = Entry { sequence, at: now, effects: work.effects };
        (self.state.sequence, self.state.latest) = (sequence, now);
        Outcome { answer, entry: Some(entry), after: sequence, foreign: false }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called: at the next deadline or before it.
    pub fn next_timeout(&self) -> Option<Moment> {
        self.state.next_watch()
    }

    /// Ends sessions of which nothing came for too long, and forgets answers; at most [`TIMEOUTS_MAX`] at once, so it
    /// is called until there is nothing to write.
    pub fn handle_timeout(&mut self, now: Moment) -> Option<Entry> {
        let deadline = now.max(self.state.latest).saturating_add(i64::from(self.limits.kept_s));
        let due = self.state.due(now, TIMEOUTS_MAX);
        let effect = |slot: u32| {
            let open = self.state.session(slot).is_some_and(|session| session.phase != Phase::Closed);
            match open {
                true => Effect::Closed { slot, cause: Cause::Supervision, deadline },
                false => Effect::Forgotten { slot, done: true },
            }
        };
        let effects: Vec<Effect> = due.into_iter().map(effect).collect();
        (!effects.is_empty()).then(|| self.write(effects, now))
    }

    /// The next session that its client is to be asked about.
    pub fn poll(&mut self) -> Option<Push> {
        while let Some(slot) = self.state.pushes.0.pop_front() {
            let Some(session) = self.state.session(slot) else { continue };
            let abort = session.phase == Phase::Aborting;
            if abort || (session.push && session.phase == Phase::Open) {
                return Some(Push { session: session.name.clone(), origin: session.access.origin.clone(), abort });
            }
        }
        None
    }
}

impl Work<'_> {
    fn effect(&mut self, effect: Effect) {
        self.state.apply(&effect);
        self.effects.push(effect);
    }

    /// A request of a session: usage first, of all services, then grants.
    fn session(&mut self, request: &Request) -> Answer {
        let (late, aborting) = self.state.session(self.slot).map_or((false, false), |session| {
            (request.number < session.number && session.seen != 0, session.phase == Phase::Aborting)
        });
        for asked in &request.services {
            self.report(asked, late);
        }
        if let Some(place) = &request.place {
            self.go_to(place);
        }
        let ends = request.kind == Kind::Terminate;
        let services = request.services.iter();
        let given = services.map(|asked| match asked.requested {
            Some(_) if aborting => Given { key: asked.key, code: code::SERVICE_DENIED, ..Given::default() },
            Some(wanted) if !ends && !late => self.grant(asked.key, &wanted),
            _ => Given { key: asked.key, code: code::SUCCESS, ..Given::default() },
        });
        Answer { services: given.collect(), ..Answer::of(code::SUCCESS) }
    }

    fn go_to(&mut self, place: &Place) {
        if self.state.session(self.slot).is_some_and(|session| session.access.place != *place) {
            self.effect(Effect::Moved { slot: self.slot, place: place.clone() });
        }
    }

    /// Keeps the answer, and ends what has ended.
    fn answered(&mut self, request: &Request, answer: &Answer, sequence: u64) {
        let mut octets = Vec::with_capacity(64);
        answer.put(&mut octets);
        let kept = Kept {
            number: request.number,
            end_to_end: request.end_to_end,
            fingerprint: request.fingerprint(),
            sequence,
            answer: octets.into(),
        };
        self.effect(Effect::Answered { slot: self.slot, kept, deadline: self.supervised() });
        let cause = match request.kind {
            Kind::Initial | Kind::Update => return,
            Kind::Terminate => Cause::Terminated,
            _ => Cause::Event,
        };
        let deadline = self.now.saturating_add(i64::from(self.limits.kept_s));
        self.effect(Effect::Closed { slot: self.slot, cause, deadline });
    }

    /// When the session is given up: twice the longest validity (Tcc, RFC 8506 section 13).
    fn supervised(&self) -> Moment {
        let services = self.state.session(self.slot).into_iter().flat_map(Session::grants);
        let valid = services.map(|grant| grant.until - grant.since);
        self.now.saturating_add(valid.max().map_or(i64::from(self.limits.idle_s), |valid| valid.saturating_mul(2)))
    }

    /// What a rule is chosen by, of a service of this session.
    fn context<'p>(place: &'p Place, key: crate::account::ServiceKey) -> Context<'p> {
        Context {
            rating_group: key.rating_group,
            service: key.service,
            apn: &place.apn,
            network: place.network,
            rat: place.rat,
            destination: &place.destination,
        }
    }

    fn place(&self) -> &Place {
        static NOWHERE: LazyLock<Place> = LazyLock::new(Place::default);
        self.state.session(self.slot).map(|session| &session.access.place).unwrap_or(&NOWHERE)
    }

    /// Tells of usage that has no price.
    fn no_price(&mut self, service: crate::account::ServiceKey, used: Amounts) {
        let session = self.state.session(self.slot).map_or_else(Box::default, |session| session.name.clone());
        if !used.is_nothing() {
            self.effect(Effect::Unrated { session, service, used });
        }
    }
}
