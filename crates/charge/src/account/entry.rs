//! The entries of the ledger.

use super::codec::{fields, variants, words};
use super::{NoEntry, Recording};
use crate::calendar::Moment;
use crate::gateway::{receiver, sender};
use crate::money::Money;
use crate::rate::Meter;
use crate::tariff::{Code, Plmn};
use crate::units::{Amounts, Unit};
use serde::{Deserialize, Serialize};

/// Slots of sessions, and so the sessions that can be at a time.
pub const SLOTS_MAX: u32 = 100_000_000;

/// What happened at once: all of its effects are durable, or none is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1 on, without gaps.
    pub sequence: u64,
    /// When.
    pub at: Moment,
    /// What, in order.
    pub effects: Vec<Effect>,
}

impl Entry {
    /// What stands for an entry that is gone: nothing happened at no time, as far as is known.
    pub fn lost(sequence: u64) -> Entry {
        Entry { sequence, at: 0, effects: Vec::new() }
    }

    /// Whether it is gone.
    pub fn is_lost(&self) -> bool {
        self.at == 0 && self.effects.is_empty()
    }

    /// Whether a repair gave up the entry of a record: it has no octets, or zeros in place of those that it had.
    pub fn is_given_up(record: &[u8]) -> bool {
        record.iter().all(|octet| *octet == 0)
    }

    /// The entry that a record of the log is; one that a repair gave up is gone.
    ///
    /// # Errors
    /// It is none, or another one, or names a session's slot that none can have.
    pub fn of_record(number: u64, record: &[u8]) -> Result<Entry, NoEntry> {
        if Entry::is_given_up(record) {
            return Ok(Entry::lost(number));
        }
        let entry = Entry::decode(record).map_err(NoEntry::Broken)?;
        if entry.sequence != number {
            return Err(NoEntry::Another(entry.sequence));
        }
        let (slots, named) = (slots_by(number), entry.effects.iter().filter_map(Effect::slot).max());
        match named.filter(|slot| *slot >= slots) {
            None => Ok(entry),
            Some(slot) => Err(NoEntry::Slot { slot, slots: slots.into() }),
        }
    }
}

/// How many slots sessions can have used by an entry: each of them was taken first by an entry of its own.
pub fn slots_by(sequence: u64) -> u32 {
    u32::try_from(sequence).unwrap_or(u32::MAX).min(SLOTS_MAX)
}

/// A change of the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// An account is made, or its plan or credit limit is another.
    Account {
        /// Its number.
        account: u64,
        /// The plan.
        plan: Code,
        /// What it may owe: zero is prepaid.
        credit: Money,
    },
    /// A subscriber is made, or its account or identities are others.
    Subscriber {
        /// Its number.
        subscriber: u64,
        /// The account that pays.
        account: u64,
        /// What it is known by.
        identities: Vec<Identity>,
    },
    /// Money comes or goes, but for usage.
    Money {
        /// Whose.
        account: u64,
        /// Why.
        reason: MoneyReason,
        /// How much; less than zero goes.
        amount: Money,
        /// Who, and for what: for people.
        note: Box<str>,
    },
    /// Units of an allowance come or go, but for usage.
    Units {
        /// Whose.
        account: u64,
        /// The allowance.
        allowance: Code,
        /// Why.
        reason: UnitsReason,
        /// How many; less than zero go.
        amount: i64,
        /// When they expire or come again from now on.
        ends: Moment,
    },
    /// A session begins.
    Opened {
        /// Its place in memory.
        slot: u32,
        /// Session-Id.
        session: Box<str>,
        /// Origin-Host of the client.
        origin: Box<str>,
        /// Whose session it is.
        subscriber: u64,
        /// Who pays.
        account: u64,
        /// Where.
        place: Place,
        /// What only records of usage tell, in octets that their writer made (at most
        /// [`FACTS_OCTETS_MAX`](crate::session::FACTS_OCTETS_MAX)); the state does not keep them.
        facts: Box<[u8]>,
    },
    /// What the session that begins in this entry is debited can be given back: its client may do so.
    Refundable {
        /// The session.
        slot: u32,
        /// CC-Correlation-Id; none has no octets.
        correlation: Box<[u8]>,
        /// Until when at least.
        until: Moment,
    },
    /// What a session was debited is given back.
    Refunded {
        /// The session in which it is asked for: also one that has ended.
        slot: u32,
        /// Its Session-Id.
        session: Box<str>,
        /// Origin-Host of its client.
        origin: Box<str>,
        /// Whose it is.
        subscriber: u64,
        /// What.
        refund: Refund,
    },
    /// A session goes on elsewhere.
    Moved {
        /// The session.
        slot: u32,
        /// Where.
        place: Place,
    },
    /// Usage is charged.
    Charged {
        /// The session.
        slot: u32,
        /// Who pays.
        account: u64,
        /// What.
        charge: Charge,
    },
    /// A service's grant is this one from now on; one without units gives back what was reserved.
    Granted {
        /// The session.
        slot: u32,
        /// The service.
        service: ServiceKey,
        /// What.
        grant: Grant,
    },
    /// Usage for which there is no price, no session or no account.
    Unrated {
        /// Session-Id.
        session: Box<str>,
        /// The service.
        service: ServiceKey,
        /// What was used.
        used: Amounts,
    },
    /// An answer is given, and kept for who asks the same again.
    Answered {
        /// The session.
        slot: u32,
        /// The answer.
        kept: Kept,
        /// When the session is given up unless something comes.
        deadline: Moment,
    },
    /// A session is to end as soon as the client says so: nothing more is granted.
    Aborting {
        /// The session.
        slot: u32,
        /// When it is given up.
        deadline: Moment,
    },
    /// A session ends. What it reserved is given back; its answers are kept for a while.
    Closed {
        /// The session.
        slot: u32,
        /// Why.
        cause: Cause,
        /// When its answers are forgotten.
        deadline: Moment,
    },
    /// The answers of a session are forgotten.
    Forgotten {
        /// The session.
        slot: u32,
        /// Nothing else: always true.
        done: bool,
    },
    /// A plan, or another text of one, holds from now on: sessions under it are asked to come again.
    Plan {
        /// Its name.
        name: Box<str>,
        /// Its file.
        text: Box<str>,
    },
    /// Usage of no session was told in this entry: copies of the request are not told again.
    Stray {
        /// Origin-Host of the client.
        origin: Box<str>,
        /// End-to-End Identifier.
        end_to_end: u32,
        /// When it is forgotten.
        until: Moment,
    },
    /// An operator's order that bears a key was done in this entry: one that comes again is not.
    Ordered {
        /// Its key.
        key: Box<str>,
        /// What was ordered, in short.
        what: u64,
        /// When it is forgotten.
        until: Moment,
    },
    /// Records of usage are made so from the next entry on, by all nodes that keep this ledger. The file of records
    /// that is open ends here.
    Recording {
        /// How.
        recording: Recording,
    },
    /// The file of records that is open ends here, if it is that one: it holds those of the entries up to this one.
    Filed {
        /// Its running count.
        file: u32,
        /// Why it is closed (TS 32.297 clause 6.1.1, file closure trigger reason).
        closure: u8,
    },
    /// Records are on their way to charging gateways up to this place of their files, by the packets of this entry and
    /// those before.
    Forwarded {
        /// The running count of the file.
        file: u32,
        /// Octets of it.
        octets: u64,
    },
    /// What a sender of records has come to (see [`sender::Entry`]).
    Sent {
        /// The entry of its own log.
        entry: Box<sender::Entry>,
    },
    /// Records of others came, or what they said of those (see [`receiver::Entry`]).
    Received {
        /// The entry of the receiver's own log.
        entry: Box<receiver::Entry>,
    },
    /// Entries before this one are gone, and an operator had the ledger repaired: what they said is not known. Sessions
    /// of which only they told the beginning or the end are closed in this entry.
    Lost {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
        /// Where they stood: file and octet, for people.
        place: Box<str>,
    },
}

impl Effect {
    /// The slot of the session that it is about.
    pub fn slot(&self) -> Option<u32> {
        match self {
            Effect::Opened { slot, .. }
            | Effect::Refundable { slot, .. }
            | Effect::Refunded { slot, .. }
            | Effect::Moved { slot, .. }
            | Effect::Charged { slot, .. }
            | Effect::Granted { slot, .. }
            | Effect::Answered { slot, .. }
            | Effect::Aborting { slot, .. }
            | Effect::Closed { slot, .. }
            | Effect::Forgotten { slot, .. } => Some(*slot),
            _ => None,
        }
    }
}

/// Why money comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MoneyReason {
    /// The subscriber paid.
    TopUp,
    /// A service was not delivered. Written by older versions only: see [`Refund`].
    Refund,
    /// The operator says so.
    Adjustment,
}

/// Why units come or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnitsReason {
    /// The bundle was bought.
    Bought,
    /// A new period begins: what is not taken over goes, the new amount comes.
    Renewed,
    /// They were not used in time.
    Expired,
    /// The operator says so.
    Adjustment,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The client ended it.
    Terminated,
    /// It was one event.
    Event,
    /// Nothing came for too long (Tcc, RFC 8506 section 13).
    Supervision,
}

/// What a subscriber is known by (Subscription-Id-Type, RFC 8506 section 8.47).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum IdentityKind {
    /// MSISDN.
    E164,
    /// IMSI.
    Imsi,
    /// SIP URI.
    Sip,
    /// Network access identifier.
    Nai,
    /// What client and server agreed on.
    Private,
}

/// One of the identities of a subscriber.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// What it is.
    pub kind: IdentityKind,
    /// The digits or the text.
    pub text: Box<str>,
}

/// What a rule is chosen by, of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Access point.
    pub apn: Box<str>,
    /// The network that serves.
    pub network: Option<Plmn>,
    /// Radio access technology.
    pub rat: Option<u32>,
    /// The number that is called.
    pub destination: Box<str>,
}

/// A service of a session: rating group and service identifier, as the client names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServiceKey {
    /// Rating-Group.
    pub rating_group: Option<u32>,
    /// Service-Identifier.
    pub service: Option<u32>,
}

/// What usage cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The service.
    pub service: ServiceKey,
    /// The rule by which, made of its name.
    pub rule: Code,
    /// What was counted.
    pub unit: Unit,
    /// How many.
    pub units: u64,
    /// What the client reported, of all kinds. Of a report in several pieces the first one tells it.
    pub used: Amounts,
    /// What is debited.
    pub money: Money,
    /// What should have been debited, too, and was not there: usage beyond what was granted.
    pub short: Money,
    /// Units from allowances.
    pub taken: Vec<(Code, u64)>,
    /// Counters that move: when their period ends, and by how much.
    pub counters: Vec<(Code, (Moment, i64))>,
    /// The session's meter afterwards.
    pub meter: Meter,
    /// Until when usage is charged.
    pub until: Moment,
}

/// What of a debit is given back. Ledgers of older versions have refunds as [`Effect::Money`], which no debit is named
/// for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// The entry in which the session began that was debited.
    pub debit: u64,
    /// Who paid, and is given back.
    pub account: u64,
    /// The service.
    pub service: ServiceKey,
    /// How many units of those that were charged.
    pub units: u64,
    /// Money.
    pub money: Money,
    /// Units of allowances.
    pub taken: Vec<(Code, u64)>,
    /// Counters that move back: when their period ends, and by how much.
    pub counters: Vec<(Code, (Moment, i64))>,
}

/// What a client may use, and what is reserved for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// What it counts.
    pub unit: Unit,
    /// How many; none gives back what was reserved.
    pub units: u64,
    /// Money that is reserved.
    pub money: Money,
    /// Units of allowances that are reserved.
    pub taken: Vec<(Code, u64)>,
    /// Caps that the money counts for.
    pub caps: Vec<Code>,
    /// Since when.
    pub since: Moment,
    /// When the price changes meanwhile.
    pub change: Option<Moment>,
    /// Until when it is valid.
    pub until: Moment,
    /// Whether nothing more is there: who tops up wants the client to ask again.
    pub last: bool,
    /// The pool that it shares; 0 is none.
    pub pool: u32,
}

/// An answer that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// CC-Request-Number.
    pub number: u32,
    /// End-to-End Identifier.
    pub end_to_end: u32,
    /// What was asked, in short.
    pub fingerprint: u64,
    /// The entry that has to be durable before the answer leaves.
    pub sequence: u64,
    /// The answer's octets.
    pub answer: Box<[u8]>,
}

fields! {
    Entry { sequence, at, effects }
    Identity { kind, text }
    Place { apn, network, rat, destination }
    ServiceKey { rating_group, service }
    Charge { service, rule, unit, units, used, money, short, taken, counters, meter, until }
    Grant { unit, units, money, taken, caps, since, change, until, last, pool }
    Refund { debit, account, service, units, money, taken, counters }
    Kept { number, end_to_end, fingerprint, sequence, answer }
    Meter { position, rest, owed, floor, settled, paying }
    Amounts { octets, octets_in, octets_out, seconds, service_units }
}

words! {
    MoneyReason { 0 => TopUp, 1 => Refund, 2 => Adjustment }
    UnitsReason { 0 => Bought, 1 => Renewed, 2 => Expired, 3 => Adjustment }
    Cause { 0 => Terminated, 1 => Event, 2 => Supervision }
    IdentityKind { 0 => E164, 1 => Imsi, 2 => Sip, 3 => Nai, 4 => Private }
    Unit { 0 => Octets, 1 => OctetsIn, 2 => OctetsOut, 3 => Seconds, 4 => ServiceUnits, 5 => Events }
}

variants! {
    Effect {
        0 => Account { account, plan, credit }
        1 => Subscriber { subscriber, account, identities }
        2 => Money { account, reason, amount, note }
        3 => Units { account, allowance, reason, amount, ends }
        4 => Opened { slot, session, origin, subscriber, account, place, facts }
        5 => Moved { slot, place }
        6 => Charged { slot, account, charge }
        7 => Granted { slot, service, grant }
        8 => Unrated { session, service, used }
        9 => Answered { slot, kept, deadline }
        10 => Aborting { slot, deadline }
        11 => Closed { slot, cause, deadline }
        12 => Forgotten { slot, done }
        13 => Plan { name, text }
        14 => Stray { origin, end_to_end, until }
        15 => Ordered { key, what, until }
        16 => Recording { recording }
        17 => Filed { file, closure }
        18 => Forwarded { file, octets }
        19 => Sent { entry }
        20 => Received { entry }
        21 => Lost { from, to, place }
        22 => Refundable { slot, correlation, until }
        23 => Refunded { slot, session, origin, subscriber, refund }
    }
}
