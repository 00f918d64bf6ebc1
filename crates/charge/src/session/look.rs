//! What others may see of the state: to show it, or to answer by it.

use super::state::{Phase, Session};
use super::{Core, Outcome, Request};
use crate::account::{Grant, Identity, Place, ServiceKey};
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
    /// Its place in memory, which another session has after it.
    pub slot: u32,
    /// Where the subscriber is.
    pub place: &'a Place,
    /// The highest CC-Request-Number that came.
    pub number: u32,
    /// Whether it is to end.
    pub aborting: bool,
    /// Whether its client is to be asked to come again (RAR).
    pub asked: bool,
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

/// Which sessions are sought; what is none fits all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sought<'a> {
    /// Who pays.
    pub account: Option<u64>,
    /// Part of the Session-Id or of the access point.
    pub text: Option<&'a str>,
    /// Origin-Host of the client.
    pub origin: Option<&'a str>,
    /// Whether it is to end.
    pub aborting: Option<bool>,
}

impl Sought<'_> {
    fn fits(&self, shown: &Shown<'_>) -> bool {
        self.account.is_none_or(|account| account == shown.account)
            && self.origin.is_none_or(|origin| origin.eq_ignore_ascii_case(shown.origin))
            && self.aborting.is_none_or(|aborting| aborting == shown.aborting)
            && self.text.is_none_or(|text| shown.session.contains(text) || shown.place.apn.contains(text))
    }
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
        let owner = self.is_owner(request, session);
        owner.then(|| self.known(request, session).err().filter(|outcome| outcome.after > 0)).flatten()
    }

    /// Whether a request is of another client than that of its session.
    pub fn is_foreign(&self, session: &str, origin: &str) -> bool {
        let slot = self.state.sessions.find(session);
        let known = slot.and_then(|slot| self.state.session(slot));
        known.is_some_and(|known| !self.trust.same(&known.access.origin, origin))
    }

    /// Whether a client brought such usage of no session a while ago, and was told so.
    pub fn was_stray(&self, origin: &str, end_to_end: u32, now: Moment) -> bool {
        self.state.stray(origin, end_to_end, now.max(self.state.latest)).is_some()
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
        slots.filter_map(|slot| Some(shown(*slot, self.state.session(*slot)?)))
    }

    /// A session that is open.
    pub fn session(&self, name: &str) -> Option<Shown<'_>> {
        self.session_at(self.state.sessions.find(name)?)
    }

    /// The session of a slot, if it is open.
    pub fn session_at(&self, slot: u32) -> Option<Shown<'_>> {
        let session = self.state.session(slot)?;
        (session.phase != Phase::Closed).then(|| shown(slot, session))
    }

    /// Open sessions that are sought, in the order of their slots, from a slot on: at most `most` of them, and among so
    /// many slots; and the slot to go on from, none at the end.
    pub fn sessions(&self, sought: &Sought<'_>, from: u32, most: usize, slots: u32) -> (Vec<Shown<'_>>, Option<u32>) {
        let (end, used) = (from.saturating_add(slots), self.state.sessions.used());
        let mut found = Vec::new();
        for slot in from..end.min(used) {
            if found.len() >= most {
                return (found, Some(slot));
            }
            let shown = self.session_at(slot).filter(|shown| sought.fits(shown));
            found.extend(shown);
        }
        (found, (end < used).then_some(end))
    }

    /// Whether the client of a session is still to be asked (RAR, ASR).
    pub fn is_asked(&self, session: &str) -> bool {
        let session = self.state.sessions.find(session).and_then(|slot| self.state.session(slot));
        session.is_some_and(|s| s.phase == Phase::Aborting || (s.push && s.phase == Phase::Open))
    }
}

fn shown(slot: u32, session: &Session) -> Shown<'_> {
    Shown {
        slot,
        place: &session.access.place,
        number: session.number,
        asked: session.push,
        session: &session.name,
        origin: &session.access.origin,
        subscriber: session.subscriber,
        account: session.account,
        aborting: session.phase == Phase::Aborting,
        deadline: session.deadline,
        services: session.services.iter().map(|service| (service.key, service.grant())).collect(),
    }
}
