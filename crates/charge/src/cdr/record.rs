//! A record with all that is known of it.

use super::fold::{Ended, Usage};
use crate::account::{Effect, Entry, Octets, Place, fields, words};
use crate::calendar::Moment;
use crate::money::Money;
use crate::units::Amounts;

/// What a record is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A session, or a part of one.
    #[default]
    Session,
    /// An event that was debited or refunded.
    Event,
    /// Usage of no session: nobody pays.
    Stray,
}

impl Kind {
    /// Its word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Session => "session",
            Kind::Event => "event",
            Kind::Stray => "stray",
        }
    }
}

/// What the first entry of a session says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Session-Id.
    pub session: Box<str>,
    /// Origin-Host of the client.
    pub origin: Box<str>,
    /// Whose it is; 0 is nobody known.
    pub subscriber: u64,
    /// Who pays.
    pub account: u64,
    /// Where.
    pub place: Place,
    /// See [`super::facts::Facts`].
    pub facts: Box<[u8]>,
    /// When.
    pub at: Moment,
}

/// A charging data record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cdr {
    /// Its number at this node.
    pub number: u32,
    /// The entry of the ledger that ended it.
    pub entry: u64,
    /// What it is of.
    pub kind: Kind,
    /// Its session.
    pub opening: Opening,
    /// When the record began.
    pub began: Moment,
    /// When it ended.
    pub ended: Moment,
    /// Why (causeForRecClosing of TS 32.298).
    pub cause: u32,
    /// Which record of its session it is; none if it is the only one.
    pub sequence: Option<u32>,
    /// What was used.
    pub services: Vec<Usage>,
    /// What an event gave back.
    pub refunded: Money,
}

fields! {
    Opening { session, origin, subscriber, account, place, facts, at }
    Cdr { number, entry, kind, opening, began, ended, cause, sequence, services, refunded }
}

words! {
    Kind { 0 => Session, 1 => Event, 2 => Stray }
}

impl Opening {
    /// What an entry says of the session that begins in it, or in which something is given back that has ended.
    pub fn of(entry: Entry) -> Option<Opening> {
        let at = entry.at;
        entry.effects.into_iter().find_map(|effect| match effect {
            Effect::Opened { session, origin, subscriber, account, place, facts, .. } => {
                Some(Opening { session, origin, subscriber, account, place, facts, at })
            }
            Effect::Refunded { session, origin, subscriber, refund, .. } => {
                Some(Opening { session, origin, subscriber, account: refund.account, at, ..Opening::default() })
            }
            _ => None,
        })
    }

    /// Where an entry says that its session went.
    pub fn moved(entry: Entry) -> Option<Place> {
        entry.effects.into_iter().find_map(|effect| match effect {
            Effect::Moved { place, .. } => Some(place),
            _ => None,
        })
    }
}

impl Cdr {
    /// Of a record that ended, the beginning of its session, and where that went since. Without a beginning, what the
    /// record says of it itself.
    pub fn of(ended: Ended, opening: Option<Opening>, moved: Option<Place>) -> Cdr {
        let mut opening =
            opening.unwrap_or_else(|| Opening { session: ended.stray.clone(), at: ended.began, ..Opening::default() });
        if let Some(place) = moved {
            opening.place = place;
        }
        let Ended { number, entry, kind, began, ended: end, cause, sequence, services, refunded, .. } = ended;
        Cdr { number, entry, kind, opening, began, ended: end, cause, sequence, services, refunded }
    }

    /// What was used, of all services together; and whether a tariff had rules for all of it.
    pub fn used(&self) -> Amounts {
        self.services.iter().fold(Amounts::default(), |sum, usage| Amounts {
            octets: sum.octets.saturating_add(usage.used.octets),
            octets_in: sum.octets_in.saturating_add(usage.used.octets_in),
            octets_out: sum.octets_out.saturating_add(usage.used.octets_out),
            seconds: sum.seconds.saturating_add(usage.used.seconds),
            service_units: sum.service_units.saturating_add(usage.used.service_units),
        })
    }

    /// What was debited, less what was given back.
    pub fn money(&self) -> Money {
        self.services.iter().fold(Money::ZERO.minus(self.refunded), |sum, usage| sum.plus(usage.money))
    }

    /// What should have been debited, and was not there.
    pub fn short(&self) -> Money {
        self.services.iter().fold(Money::ZERO, |sum, usage| sum.plus(usage.short))
    }

    /// Units that allowances paid for.
    pub fn taken(&self) -> u64 {
        self.services.iter().fold(0, |sum, usage| sum.saturating_add(usage.taken))
    }

    /// Seconds that it covers.
    pub fn duration_s(&self) -> u32 {
        u32::try_from(self.ended.saturating_sub(self.began).max(0)).unwrap_or(u32::MAX)
    }

    /// Its octets.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        self.put(&mut out);
        out
    }

    /// Of its octets; none if they are no record.
    pub fn decode(mut octets: &[u8]) -> Option<Cdr> {
        let cdr = Cdr::take(&mut octets)?;
        octets.is_empty().then_some(cdr)
    }
}
