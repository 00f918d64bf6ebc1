//! What others may see of the state: to show it, or to answer by it.

use super::state::{Phase, Session};
use super::{Core, Outcome, Request};
use crate::account::{Grant, Identity, ServiceKey};
use crate::calendar::Moment;

/// A session as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<'a> {
    /// Session-Id.
    pub session: &'a str,
    /// Origin-Host of the client.
    pub origin: &'a str,
    /// Whose it is.
    pub subscriber: u64,
    /// Who pays.
    pub account: u64,
    /// Whether it is to end.
    pub aborting: bool,
    /// When it is given up unless something comes.
    pub deadline: Moment,
    /// Its services, with what each was granted last.
    pub services: Vec<(ServiceKey, Option<Grant>)>,
}

/// Where a request stands in its session that has no number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The session's slot.
    pub slot: u32,
    /// Its number: that of the request that it is a copy of, else the next one.
    pub number: u32,
    /// Whether it is a copy whose answer is kept.
    pub copy: bool,
}

impl Core {
    /// Where a request of a session stands, open or closed, by its End-to-End Identifier; none where there is no such
    /// session.
    pub fn standing(&self, session: &str, end_to_end: u32) -> Option<Standing> {
        let slot = self.state.sessions.find(session)?;
        let session = self.state.session(slot)?;
        let kept = session.answers.iter().find(|kept| kept.end_to_end == end_to_end);
        let next = if session.seen == 0 { 0 } else { session.number.saturating_add(1) };
        Some(Standing { slot, number: kept.map_or(next, |kept| kept.number), copy: kept.is_some() })
    }

    /// The client of the session in a slot (Origin-Host).
    pub fn origin_of(&self, slot: u32) -> Option<&str> {
        self.state.session(slot).map(|session| &*session.access.origin)
    }

    /// The currency of the plan of whom the first known of these names.
    pub fn currency(&self, identities: &[Identity]) -> Option<&str> {
        let (_, account) = identities.iter().find_map(|identity| self.subscriber_of(identity))?;
        self.plan_of(account).map(|plan| plan.currency.as_str())
    }

    /// The answer that a copy of a request gets; none of what is no copy.
    pub fn copy_of(&self, request: &Request) -> Option<Outcome> {
        let session = self.state.session(self.state.sessions.find(&request.session)?)?;
        self.known(request, session).err().filter(|outcome| outcome.after > 0)
    }

    /// Subscriber and account of an identity.
    pub fn subscriber_of(&self, identity: &Identity) -> Option<(u64, u64)> {
        let subscriber = self.state.subscribers.find(identity)?;
        Some((subscriber, self.state.subscribers.get(subscriber)?.account))
    }

    /// Account and identities of a subscriber.
    pub fn subscriber(&self, number: u64) -> Option<(u64, &[Identity])> {
        self.state.subscribers.get(number).map(|known| (known.account, &*known.identities))
    }

    /// The open sessions of an account.
    pub fn sessions_of(&self, account: u64) -> impl Iterator<Item = Shown<'_>> {
        let slots = self.state.account(account).into_iter().flat_map(|account| &account.sessions);
        slots.filter_map(|slot| self.state.session(*slot)).map(shown)
    }

    /// A session that is open.
    pub fn session(&self, name: &str) -> Option<Shown<'_>> {
        let session = self.state.session(self.state.sessions.find(name)?)?;
        (session.phase != Phase::Closed).then(|| shown(session))
    }

    /// Whether the client of a session is still to be asked (RAR, ASR).
    pub fn is_asked(&self, session: &str) -> bool {
        let session = self.state.sessions.find(session).and_then(|slot| self.state.session(slot));
        session.is_some_and(|s| s.phase == Phase::Aborting || (s.push && s.phase == Phase::Open))
    }
}

fn shown(session: &Session) -> Shown<'_> {
    Shown {
        session: &session.name,
        origin: &session.access.origin,
        subscriber: session.subscriber,
        account: session.account,
        aborting: session.phase == Phase::Aborting,
        deadline: session.deadline,
        services: session.services.iter().map(|service| (service.key, service.grant())).collect(),
    }
}
