//! Look-ups of subscribers: what is remembered is told, what is asked already is waited for, the rest is asked. No I/O
//! and no clock.

use crate::counts::LookUpCounts;
use crate::identity::Identity;
use crate::memory::Memory;
use crate::operation::{Answer, Failure, Operation, told};
use crate::profile::{Field, Profile, Record};
use crate::template::Template;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use trunkline_wire::ldap::{Scope, Search, code};

/// Entries that are asked for: one more than there may be.
const SIZE_LIMIT: u32 = 2;

/// What came of a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookedUp {
    /// There is one.
    Found(Arc<Profile>, Freshness),
    /// There is none: the directory has said so, now or within the time of negative memory.
    Absent,
    /// It is not known.
    Failed(Why),
}

/// How old a profile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The directory was asked.
    Asked,
    /// It is remembered.
    Remembered,
    /// It is remembered past its time, because the directory does not answer.
    Stale,
}

/// Why it is not known whether there is a profile, or what it says.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Why {
    /// It can be no identity: empty, too long, with NUL.
    #[error("this can be no identity")]
    Unfit,
    /// No filter finds by this kind of identity.
    #[error("no filter is there for this kind of identity")]
    NoFilter,
    /// Several entries have this identity.
    #[error("more than one entry has this identity")]
    Ambiguous,
    /// The entry is none of a subscriber: what is missing or wrong.
    #[error("{0}")]
    Incomplete(String),
    /// The directory says to ask elsewhere, which is not done: URLs.
    #[error("the directory refers to {}, which is not followed", .0.join(", "))]
    Referred(Vec<String>),
    /// The directory says that it will not: its code, and both for people.
    #[error("the directory refuses: {1}")]
    Refused(u32, String),
    /// There was no answer.
    #[error(transparent)]
    Failure(#[from] Failure),
}

impl Why {
    /// Whether nothing is known of the subscriber because of the directory, so that what was known before holds.
    fn is_outage(&self) -> bool {
        matches!(self, Why::Failure(_) | Why::Refused(..))
    }
}

/// How subscribers are found, and how long what was found is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LookUpOptions {
    pub(crate) templates: Vec<Template>,
    pub(crate) scope: Scope,
    pub(crate) fields: Vec<Field>,
    /// How long a profile is remembered, how long after that it stands in for a directory that does not answer, and how
    /// long the absence of one is remembered.
    pub(crate) fresh: Duration,
    pub(crate) stale: Duration,
    pub(crate) absent: Duration,
    pub(crate) time_limit_seconds: u32,
}

/// What a look-up does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<T> {
    /// Nothing: this came of it.
    Known(T, LookedUp),
    /// It waits for another one of the same identity.
    Waits,
    /// The directory is to be asked, and [`LookUps::answered`] told.
    Ask(Operation),
}

/// Those that wait for the same search.
#[derive(Debug)]
struct Flight<T> {
    waiting: Vec<T>,
    /// What was remembered past its time.
    stale: Option<Arc<Profile>>,
    /// Whether the profile has changed since the search was made: what it finds is told, but not remembered.
    is_forgotten: bool,
}

/// See the module's documentation.
pub(crate) struct LookUps<T> {
    options: LookUpOptions,
    memory: Box<dyn Memory>,
    flights: HashMap<Identity, Flight<T>>,
    pub(crate) counts: LookUpCounts,
}

impl<T> LookUps<T> {
    pub(crate) fn new(options: LookUpOptions, memory: Box<dyn Memory>) -> Self {
        LookUps { options, memory, flights: HashMap::new(), counts: LookUpCounts::default() }
    }

    /// A look-up at a time in milliseconds since 1970.
    pub(crate) fn look_up(&mut self, now_ms: u64, identity: &Identity, token: T) -> Step<T> {
        self.counts.look_ups += 1;
        let search = match self.search(identity) {
            Ok(search) => search,
            Err(why) => {
                self.counts.unfit += 1;
                return Step::Known(token, LookedUp::Failed(why));
            }
        };
        if let Some(flight) = self.flights.get_mut(identity) {
            self.counts.joined += 1;
            flight.waiting.push(token);
            return Step::Waits;
        }
        let stale = match self.remembered(now_ms, identity) {
            Remembered::Known(known) => return Step::Known(token, known),
            Remembered::Stale(profile) => Some(profile),
            Remembered::Nothing => None,
        };
        self.counts.searches += 1;
        self.flights.insert(identity.clone(), Flight { waiting: vec![token], stale, is_forgotten: false });
        Step::Ask(Operation::Search(search))
    }

    /// What came of the search for an identity, and for whom.
    pub(crate) fn answered(
        &mut self,
        now_ms: u64,
        identity: &Identity,
        result: Result<Answer, Failure>,
    ) -> (Vec<T>, LookedUp) {
        let Some(flight) = self.flights.remove(identity) else { return (Vec::new(), LookedUp::Absent) };
        let looked_up = self.judge(identity, result);
        *match &looked_up {
            LookedUp::Found(..) => &mut self.counts.found,
            LookedUp::Absent => &mut self.counts.absent,
            LookedUp::Failed(_) => &mut self.counts.failed,
        } += 1;
        if !flight.is_forgotten {
            self.remember(now_ms, identity, &looked_up);
        }
        let looked_up = match (looked_up, flight.stale) {
            (LookedUp::Failed(why), Some(profile)) if why.is_outage() => {
                self.counts.stale += flight.waiting.len() as u64;
                LookedUp::Found(profile, Freshness::Stale)
            }
            (looked_up, _) => looked_up,
        };
        (flight.waiting, looked_up)
    }

    /// What is remembered of an identity is not true any more.
    pub(crate) fn forget(&mut self, identity: &Identity) {
        self.memory.remove(&identity.key());
        if let Some(flight) = self.flights.get_mut(identity) {
            (flight.is_forgotten, flight.stale) = (true, None);
        }
    }

    /// Entries and octets that are remembered.
    pub(crate) fn held(&self) -> (usize, usize) {
        self.memory.held()
    }

    fn template(&self, identity: &Identity) -> Option<&Template> {
        self.options.templates.iter().find(|template| template.kind() == identity.kind)
    }

    fn search(&self, identity: &Identity) -> Result<Search, Why> {
        if !identity.is_fit() {
            return Err(Why::Unfit);
        }
        let template = self.template(identity).ok_or(Why::NoFilter)?;
        Ok(Search {
            base: template.base(&identity.text),
            scope: self.options.scope,
            size_limit: SIZE_LIMIT,
            time_limit_seconds: self.options.time_limit_seconds,
            filter: template.filter(&identity.text),
            attributes: self.options.fields.iter().map(|field| field.attribute.clone()).collect(),
        })
    }

    fn remembered(&mut self, now_ms: u64, identity: &Identity) -> Remembered {
        let record = self.memory.get(&identity.key()).and_then(|octets| Record::read(&octets));
        let Some(Record { at_ms, profile }) = record else { return Remembered::Nothing };
        // A time to come: the clock was set back, and nobody knows how old it is.
        let age = now_ms.checked_sub(at_ms).map_or(Duration::MAX, Duration::from_millis);
        let (fresh, stale) = (self.options.fresh, self.options.fresh.saturating_add(self.options.stale));
        match profile {
            None if age < self.options.absent => {
                self.counts.remembered_absent += 1;
                Remembered::Known(LookedUp::Absent)
            }
            Some(profile) if age < fresh => {
                self.counts.remembered += 1;
                Remembered::Known(LookedUp::Found(Arc::new(profile), Freshness::Remembered))
            }
            Some(profile) if age < stale => Remembered::Stale(Arc::new(profile)),
            _ => Remembered::Nothing,
        }
    }

    fn judge(&self, identity: &Identity, result: Result<Answer, Failure>) -> LookedUp {
        let answer = match result {
            Ok(answer) => answer,
            Err(failure) => return LookedUp::Failed(Why::Failure(failure)),
        };
        let in_base = self.template(identity).is_some_and(Template::is_in_base);
        match (answer.code, &answer.entries[..]) {
            (code::SUCCESS, [entry]) => match Profile::of(entry, &self.options.fields) {
                Ok(profile) => LookedUp::Found(Arc::new(profile), Freshness::Asked),
                Err(what) => LookedUp::Failed(Why::Incomplete(what)),
            },
            // The subscriber may be where the reference leads to.
            (code::SUCCESS | code::REFERRAL, []) if !answer.referrals.is_empty() => {
                LookedUp::Failed(Why::Referred(answer.referrals))
            }
            (code::SUCCESS, []) => LookedUp::Absent,
            (code::NO_SUCH_OBJECT, _) if in_base => LookedUp::Absent,
            (code::SUCCESS | code::SIZE_LIMIT_EXCEEDED, _) => LookedUp::Failed(Why::Ambiguous),
            (code, _) => LookedUp::Failed(Why::Refused(code, told(code, &answer.text))),
        }
    }

    fn remember(&mut self, now_ms: u64, identity: &Identity, looked_up: &LookedUp) {
        let (profile, keep) = match looked_up {
            LookedUp::Found(profile, _) => {
                (Some(profile.as_ref().clone()), self.options.fresh.saturating_add(self.options.stale))
            }
            LookedUp::Absent => (None, self.options.absent),
            LookedUp::Failed(_) => return,
        };
        if !keep.is_zero() {
            let record = Record { at_ms: now_ms, profile };
            self.memory.set(&identity.key(), record.write(), keep);
        }
    }
}

enum Remembered {
    Known(LookedUp),
    Stale(Arc<Profile>),
    Nothing,
}

#[cfg(test)]
#[path = "look_ups_tests.rs"]
mod tests;
