//! The state as records, and read again: a start then needs no entry before it.
//!
//! ```text
//! record      its kind u8, its fields; numbers and texts as in an entry of the ledger
//! first       0 head: version u8, sequence, time, unrated, slots, accounts, subscribers
//! then        1 free slots in their order, 2 plan, 3 account, 4 subscriber, 5 session by its slot, 6 stray, 8 more
//!             sessions of an account, 9 order with a key, 10 former texts of a plan, 11 how records are made, 12 how
//!             far they were sent on, [`RECEIVED`] what is known of records of others, any number; 14 entries that are
//!             gone, if any are; 15 what a session was debited and can be given back; 16 a long range of free slots,
//!             in its place among the others
//! last        7 end: how many records there were before it
//! ```

use super::answers::Answers;
use super::orders::Done;
use super::session::{Phase, Service, Session};
use super::{Debit, PlanText, Recorded, State, Stray, forwarding};
use crate::account::{self, Account, Identity, Octets, Place, fields};
use crate::calendar::Moment;
use crate::gateway::receiver;
use crate::tariff::Code;
use core::ops::RangeInclusive;

/// The version of the records of a snapshot. One that differs is refused: a start then reads all entries.
pub const SNAPSHOT_VERSION: u8 = 1;
/// The kind of records that say what is known of records of others: who writes files of those reads them alone.
pub const RECEIVED: u8 = 13;
/// What there is room for at once, however many a head tells of.
const ROOM_MAX: u64 = 1 << 20;
/// Slots of a record, and of a range that is told as one slot after the other.
const SLOTS_MAX: usize = 10_000;

/// Records that are no snapshot that this program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSnapshot {
    /// They are of another version.
    Version(u8),
    /// They do not fit together; what does not.
    Broken(&'static str),
}

impl core::fmt::Display for NoSnapshot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            NoSnapshot::Version(version) => {
                write!(f, "a snapshot of version {version}, this program reads {SNAPSHOT_VERSION}")
            }
            NoSnapshot::Broken(what) => write!(f, "not a snapshot: {what}"),
        }
    }
}

impl std::error::Error for NoSnapshot {}

struct Head {
    sequence: u64,
    latest: Moment,
    unrated: u64,
    slots: u32,
    accounts: u64,
    subscribers: u64,
}

struct PlanRecord {
    name: Box<str>,
    text: Box<str>,
    version: u32,
    since: u64,
}

struct SubscriberRecord {
    number: u64,
    account: u64,
    identities: Vec<Identity>,
}

struct SessionRecord {
    name: Box<str>,
    origin: Box<str>,
    place: Place,
    subscriber: u64,
    account: u64,
    services: Vec<Service>,
    answers: Box<[u8]>,
    number: u32,
    seen: u64,
    deadline: Moment,
    phase: u8,
    push: bool,
}

fields! {
    Head { sequence, latest, unrated, slots, accounts, subscribers }
    PlanRecord { name, text, version, since }
    SubscriberRecord { number, account, identities }
    SessionRecord {
        name, origin, place, subscriber, account, services, answers, number, seen, deadline, phase, push
    }
    Service { key, meter, unit, until, held }
    Stray { origin, end_to_end, sequence, until }
    Recorded { since, recording }
}

/// Writes records one after the other into the same memory.
struct Writing<P> {
    put: P,
    record: Vec<u8>,
    count: u64,
}

impl<E, P: FnMut(&[u8]) -> Result<(), E>> Writing<P> {
    fn put(&mut self, kind: u8, fields: impl FnOnce(&mut Vec<u8>)) -> Result<(), E> {
        self.record.clear();
        self.record.push(kind);
        fields(&mut self.record);
        self.count += 1;
        (self.put)(&self.record)
    }
}

impl State {
    /// Gives all of it to `put`, record by record; each is shorter than 1 MiB. The same state gives the same records.
    ///
    /// # Errors
    /// That of `put`.
    pub fn snapshot<E>(&self, put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut out = Writing { put, record: Vec::new(), count: 0 };
        let (sequence, latest, unrated) = (self.sequence, self.latest, self.unrated);
        let (accounts, subscribers) = (self.accounts.len() as u64, self.subscribers.iter().count() as u64);
        let head = Head { sequence, latest, unrated, slots: self.sessions.used(), accounts, subscribers };
        out.put(0, |record| {
            record.push(SNAPSHOT_VERSION);
            head.put(record);
        })?;
        put_free(self.sessions.free(), &mut out)?;
        for plan in self.plans.values() {
            let (name, text) = (plan.name.clone(), Box::from(&*plan.text));
            out.put(2, |record| PlanRecord { name, text, version: plan.version, since: plan.since }.put(record))?;
            if !plan.former.is_empty() {
                out.put(10, |record| {
                    plan.name.put(record);
                    put_list(&plan.former, record);
                })?;
            }
        }
        self.put_accounts(&mut out)?;
        for (slot, session) in self.sessions.iter() {
            out.put(5, |record| {
                slot.put(record);
                put_session(session, record);
            })?;
        }
        self.strays.iter().try_for_each(|stray| out.put(6, |record| stray.put(record)))?;
        self.orders.iter().try_for_each(|done| out.put(9, |record| done.put(record)))?;
        self.recorded.iter().try_for_each(|recorded| out.put(11, |record| recorded.put(record)))?;
        if let Some(forwarding) = &self.forwarding {
            forwarding.snapshot(|piece| out.put(12, |record| record.extend_from_slice(piece)))?;
        }
        if let Some(received) = &self.received {
            received.snapshot(|piece| out.put(RECEIVED, |record| record.extend_from_slice(piece)))?;
        }
        for (number, debit) in self.debits.iter() {
            out.put(15, |record| {
                number.put(record);
                debit.put(record);
            })?;
        }
        if self.lost > 0 {
            out.put(14, |record| self.lost.put(record))?;
        }
        let count = out.count;
        out.put(7, |record| count.put(record))
    }

    fn put_accounts<E, P: FnMut(&[u8]) -> Result<(), E>>(&self, out: &mut Writing<P>) -> Result<(), E> {
        let mut accounts: Vec<_> = self.accounts().collect();
        accounts.sort_unstable_by_key(|(number, _)| *number);
        for (number, account) in accounts {
            let (first, more) = account.sessions.split_at(account.sessions.len().min(SLOTS_MAX));
            out.put(3, |record| {
                number.put(record);
                account.put_without_sessions(record);
                put_list(first, record);
            })?;
            for more in more.chunks(SLOTS_MAX) {
                out.put(8, |record| {
                    number.put(record);
                    put_list(more, record);
                })?;
            }
        }
        let mut subscribers: Vec<_> = self.subscribers.iter().collect();
        subscribers.sort_unstable_by_key(|(number, _)| *number);
        for (number, known) in subscribers {
            out.put(4, |record| {
                number.put(record);
                known.account.put(record);
                put_list(&known.identities, record);
            })?;
        }
        Ok(())
    }
}

/// Free slots in their order, the long ranges of them as such.
fn put_free<E, P: FnMut(&[u8]) -> Result<(), E>>(
    free: impl Iterator<Item = RangeInclusive<u32>>,
    out: &mut Writing<P>,
) -> Result<(), E> {
    let mut some: Vec<u32> = Vec::new();
    for range in free {
        let (first, last) = (*range.start(), *range.end());
        if (last - first) as usize >= SLOTS_MAX {
            put_some(&mut some, 1, out)?;
            out.put(16, |record| (first, last).put(record))?;
            continue;
        }
        some.extend(range);
        put_some(&mut some, SLOTS_MAX, out)?;
    }
    put_some(&mut some, 1, out)
}

/// Puts slots a record after the other, while there are so many.
fn put_some<E, P: FnMut(&[u8]) -> Result<(), E>>(
    some: &mut Vec<u32>,
    least: usize,
    out: &mut Writing<P>,
) -> Result<(), E> {
    while some.len() >= least {
        let rest = some.split_off(some.len().min(SLOTS_MAX));
        let slots = core::mem::replace(some, rest);
        out.put(1, |record| slots.put(record))?;
    }
    Ok(())
}

/// As [`SessionRecord`], without a copy of it.
fn put_session(session: &Session, record: &mut Vec<u8>) {
    session.name.put(record);
    session.access.origin.put(record);
    session.access.place.put(record);
    session.subscriber.put(record);
    session.account.put(record);
    put_list(&session.services, record);
    let answers = session.answers.octets();
    (answers.len() as u64).put(record);
    record.extend_from_slice(answers);
    session.number.put(record);
    session.seen.put(record);
    session.deadline.put(record);
    record.push(session.phase as u8);
    session.push.put(record);
}

fn put_list<T: Octets>(items: &[T], record: &mut Vec<u8>) {
    (items.len() as u64).put(record);
    items.iter().for_each(|item| item.put(record));
}

fn room(count: u64) -> usize {
    count.min(ROOM_MAX) as usize
}

/// A state that is read from its snapshot.
#[derive(Debug, Default)]
pub struct Restoring {
    state: State,
    slots: u32,
    count: u64,
    ended: bool,
    forwarding: Option<forwarding::Restoring>,
    received: Option<receiver::Restoring>,
    payers_alone: bool,
}

/// Kinds of records that say nothing of who pays: sessions, answers and how records get on.
const NO_PAYERS: [u8; 10] = [1, 5, 6, 8, 9, 11, 12, RECEIVED, 15, 16];

impl Restoring {
    /// Of which only what says who pays for which number and by which plan is wanted: [`State::fold_payers`].
    pub fn of_payers() -> Restoring {
        Restoring { payers_alone: true, ..Restoring::default() }
    }

    /// Accounts and subscribers that were taken so far.
    pub fn payers(&self) -> usize {
        self.state.account_count() + self.state.subscriber_count()
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// It is none of a snapshot, or does not fit to those before it: nothing more is to be done with it.
    pub fn take(&mut self, record: &[u8]) -> Result<(), NoSnapshot> {
        let (kind, mut rest) = record.split_first().ok_or(NoSnapshot::Broken("an empty record"))?;
        if self.ended || (*kind == 0) != (self.count == 0) {
            return Err(NoSnapshot::Broken("it has a head first, and an end last"));
        }
        match (*kind, rest.first()) {
            (0, Some(&SNAPSHOT_VERSION)) => rest = &rest[1..],
            (0, Some(version)) => return Err(NoSnapshot::Version(*version)),
            _ => {}
        }
        let taken = self.record(*kind, &mut rest);
        if taken.is_none() || !rest.is_empty() {
            return Err(NoSnapshot::Broken("a record is not one"));
        }
        self.count += 1;
        Ok(())
    }

    fn record(&mut self, kind: u8, from: &mut &[u8]) -> Option<()> {
        let state = &mut self.state;
        if self.payers_alone && NO_PAYERS.contains(&kind) {
            *from = &[];
            return Some(());
        }
        match kind {
            0 => {
                let head = Head::take(from)?;
                (state.sequence, state.latest, state.unrated) = (head.sequence, head.latest, head.unrated);
                self.slots = Some(head.slots).filter(|slots| *slots <= account::SLOTS_MAX)?;
                state.accounts.reserve(room(head.accounts));
                state.subscribers.reserve(room(head.subscribers));
                if !self.payers_alone {
                    state.sessions.reserve(room(head.slots.into()));
                }
            }
            1 => Vec::<u32>::take(from)?.into_iter().for_each(|slot| state.sessions.restore_free(slot..=slot)),
            16 => {
                let (first, last) = (u32::take(from)?, u32::take(from)?);
                state.sessions.restore_free((first <= last).then_some(first..=last)?);
            }
            2 => {
                let PlanRecord { name, text, version, since } = PlanRecord::take(from)?;
                let plan = PlanText { text: text.into(), version, since, name, former: Vec::new() };
                state.plans.insert(Code::of("plan", &plan.name), plan);
            }
            3 => {
                let (number, mut account) = (u64::take(from)?, Account::take_without_sessions(from)?);
                account.sessions = Vec::take(from)?;
                account.sessions.shrink_to_fit();
                if self.payers_alone {
                    (account.sessions, account.counters) = (Vec::new(), Vec::new());
                }
                state.accounts.insert(number, Box::new(account));
            }
            8 => {
                let account = state.accounts.get_mut(&u64::take(from)?)?;
                account.sessions.extend(Vec::<u32>::take(from)?);
            }
            4 => {
                let mut known = SubscriberRecord::take(from)?;
                if self.payers_alone {
                    known.identities = super::numbers(&known.identities);
                }
                state.set_subscriber(known.number, known.account, &known.identities);
            }
            5 => self.session(from)?,
            6 => state.strays.push_back(Stray::take(from)?),
            9 => state.orders.remember(Done::take(from)?, Moment::MIN),
            10 => {
                let (name, former) = (<Box<str>>::take(from)?, Vec::take(from)?);
                state.plans.get_mut(&Code::of("plan", &name))?.former = former;
            }
            11 => state.recorded = Some(Box::new(Recorded::take(from)?)),
            12 => self.forwarding.get_or_insert_default().take(from)?,
            RECEIVED => self.received.get_or_insert_default().take(std::mem::take(from)).ok()?,
            14 => state.lost = u64::take(from).filter(|lost| *lost <= state.sequence)?,
            15 => state.debits.restore(u64::take(from)?, Debit::take(from)?),
            7 => self.ended = (u64::take(from)? == self.count).then_some(true)?,
            _ => return None,
        }
        Some(())
    }

    fn session(&mut self, from: &mut &[u8]) -> Option<()> {
        let (slot, record) = (u32::take(from)?, SessionRecord::take(from)?);
        let access = self.state.accesses.0.of(&record.origin, &record.place);
        let new = Session::new(&record.name, access, (record.subscriber, record.account));
        let whole = |service: &Service| service.held.is_empty() || service.grant().is_some();
        if !record.services.iter().all(whole) {
            return None;
        }
        let session = Session {
            services: record.services.into(),
            answers: Answers::read(record.answers)?,
            number: record.number,
            seen: record.seen,
            deadline: record.deadline,
            phase: [Phase::Open, Phase::Aborting, Phase::Closed].into_iter().find(|p| *p as u8 == record.phase)?,
            push: record.push,
            ..new
        };
        let (aborting, asked) = (session.phase == Phase::Aborting, session.push);
        let open = session.phase != Phase::Closed;
        self.state.sessions.restore(slot, self.slots, session)?;
        self.state.open += usize::from(open);
        if record.deadline < Moment::MAX {
            self.state.watch(slot, record.deadline);
        }
        if aborting || asked {
            self.state.pushes.0.push_back(slot);
        }
        Some(())
    }

    /// The state, once all records were taken.
    ///
    /// # Errors
    /// Some are missing.
    pub fn state(mut self) -> Result<State, NoSnapshot> {
        let missing = NoSnapshot::Broken("records are missing, or too many");
        let forwarding = self.forwarding.take().map(forwarding::Restoring::forwarding).transpose();
        self.state.forwarding = forwarding.map_err(|_| missing)?.map(Box::new);
        let received = self.received.take().map(receiver::Restoring::state).transpose();
        self.state.received = received.map_err(|_| missing)?.map(Box::new);
        let whole = self.ended && (self.payers_alone || self.state.sessions.restored(self.slots).is_some());
        if whole { Ok(self.state) } else { Err(missing) }
    }
}
