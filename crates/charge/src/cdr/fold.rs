//! The fold: entries in, records that ended out.

mod open;

use crate::account::{Cause, Charge, Effect, Entry, MoneyReason, Octets, Recording, ServiceKey, fields, slots_by};
use crate::calendar::Moment;
use crate::money::Money;
use crate::pages::Pages;
use crate::units::{Amounts, Unit};
use open::Open;
use trunkline_wire::cdr::closing;

use super::record::Kind;

/// When a record of a session is cut, and another one goes on; 0 is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Octets of both directions, all services together.
    pub octets: u64,
    /// Seconds since the record began.
    pub seconds: u32,
    /// Services that it tells apart.
    pub services: u32,
}

impl Cuts {
    /// Those that several nodes have.
    pub fn of(recording: &Recording) -> Cuts {
        let Recording { cut_octets: octets, cut_seconds: seconds, cut_services: services, .. } = *recording;
        Cuts { octets, seconds, services }
    }
}

/// Where something is said: the entry, and the place of its record in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The entry's number.
    pub entry: u64,
    /// The first record of the log's segment.
    pub segment: u64,
    /// Where its octets begin there.
    pub at: u64,
}

/// What was used of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Which.
    pub key: ServiceKey,
    /// Whether a tariff had a rule for it.
    pub rated: bool,
    /// How much was reported; octets are those of both directions, however they were told.
    pub used: Amounts,
    /// What was debited.
    pub money: Money,
    /// What should have been, and was not there.
    pub short: Money,
    /// Units that allowances paid for.
    pub taken: u64,
    /// The last report.
    pub last: Moment,
}

/// A record that ended, without what its session's first entry says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its number: one more than that of the record before it; after the last of 32 bits comes 0.
    pub number: u32,
    /// The entry that ended it.
    pub entry: u64,
    /// What it is of.
    pub kind: Kind,
    /// Where its session began; none where that was before the first entry there is.
    pub opened: Option<Source>,
    /// Where its session went last, if it did.
    pub moved: Option<Source>,
    /// Of usage without a session: the name that it came with.
    pub stray: Box<str>,
    /// When the record began.
    pub began: Moment,
    /// When it ended.
    pub ended: Moment,
    /// Why ([`closing`]).
    pub cause: u32,
    /// Which record of its session it is, from 1 on; none if it is the only one.
    pub sequence: Option<u32>,
    /// What was used, in the order of its first report.
    pub services: Vec<Usage>,
    /// What an event gave back.
    pub refunded: Money,
}

/// These octets are no fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFold {
    /// Not of this version.
    Version,
    /// They are of so many slots at an entry by which there cannot be as many.
    Slots(u64, u64),
}

impl core::fmt::Display for NoFold {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            NoFold::Version => f.write_str("not open records as this version of the program keeps them"),
            NoFold::Slots(slots, entry) => {
                write!(f, "{slots} slots of sessions at entry {entry}, by which there can be {}", slots_by(*entry))
            }
        }
    }
}

impl std::error::Error for NoFold {}

/// Open records, by the slot of their session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    cuts: Cuts,
    /// The last entry that was taken.
    entry: u64,
    /// The number of the next record.
    number: u32,
    records: u64,
    /// An open record each ([`Open`]) in octets: a quarter of what it is else.
    open: Pages<Box<[u8]>>,
}

fields! {
    Cuts { octets, seconds, services }
    Source { entry, segment, at }
    Usage { key, rated, used, money, short, taken, last }
}

/// An entry at work.
struct Work<'a> {
    entry: &'a Entry,
    source: Source,
    /// The session that the entry is about.
    slot: Option<u32>,
    out: &'a mut Vec<Ended>,
}

impl Fold {
    /// With no record open, before the entry after this one.
    pub fn new(cuts: Cuts, entry: u64) -> Fold {
        Fold { cuts, entry, number: 1, records: 0, open: Pages::default() }
    }

    /// The last entry that was taken.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// The number that the next record gets.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Records that ended so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// When records are cut.
    pub fn cuts(&self) -> Cuts {
        self.cuts
    }

    /// Cuts otherwise from the next entry on.
    pub fn set_cuts(&mut self, cuts: Cuts) {
        self.cuts = cuts;
    }

    /// Goes on with these counts, where entries of which records were made are gone.
    pub fn set_counts(&mut self, number: u32, records: u64) {
        (self.number, self.records) = (number, records);
    }

    /// The slots of sessions whose records are open, and the entries in which those began.
    pub fn open_slots(&self) -> impl Iterator<Item = (u32, Option<u64>)> {
        self.open.iter().map(|(slot, octets)| (slot, Open::source(octets).map(|source| source.entry)))
    }

    /// How many records are open, and the first entry in which a session of theirs began.
    pub fn open(&self) -> (usize, Option<u64>) {
        (self.open.len(), self.open_slots().filter_map(|(_, began)| began).min())
    }

    /// Takes the next entry; records that it ends go to `out`.
    pub fn take(&mut self, entry: &Entry, source: Source, out: &mut Vec<Ended>) {
        let slot = entry.effects.iter().find_map(|effect| match effect {
            Effect::Opened { slot, .. } | Effect::Charged { slot, .. } | Effect::Answered { slot, .. } => Some(*slot),
            _ => None,
        });
        let mut work = Work { entry, source, slot, out };
        entry.effects.iter().for_each(|effect| self.effect(effect, &mut work));
        if let Some(slot) = slot {
            self.cut(slot, &mut work);
        }
        self.strays(&mut work);
        self.entry = entry.sequence;
        // Where several nodes make records the ledger says when they are cut, from the next entry on.
        let said = entry.effects.iter().find_map(|effect| match effect {
            Effect::Recording { recording } => Some(Cuts::of(recording)),
            _ => None,
        });
        self.cuts = said.unwrap_or(self.cuts);
    }

    fn effect(&mut self, effect: &Effect, work: &mut Work<'_>) {
        let (at, source) = (work.entry.at, work.source);
        match effect {
            Effect::Opened { slot, .. } => self.set(*slot, &Open::new(source, at)),
            Effect::Moved { slot, .. } => self.moved(*slot, work),
            Effect::Charged { slot, charge, .. } => self.change(*slot, at, |open| open.add(&rated(charge, at))),
            Effect::Unrated { service, used, .. } => {
                let usage = Usage { key: *service, used: octets_told(used), last: at, ..Usage::default() };
                // Without a session it is a stray one, which has a record of its own.
                work.slot.into_iter().for_each(|slot| self.change(slot, at, |open| open.add(&usage)));
            }
            Effect::Money { reason: MoneyReason::Refund, amount, .. } => {
                let add = |open: &mut Open| open.refunded = open.refunded.plus(*amount);
                work.slot.into_iter().for_each(|slot| self.change(slot, at, add));
            }
            Effect::Refunded { slot, refund, .. } => {
                if self.get(*slot).is_none() {
                    // Of a session that has ended there is no open record: this one is the refund's own.
                    self.set(*slot, &Open::new(source, at));
                }
                self.change(*slot, at, |open| open.refunded = open.refunded.plus(refund.money));
            }
            Effect::Aborting { slot, .. } => self.change(*slot, at, |open| open.aborted = true),
            Effect::Closed { slot, cause, .. } => self.closed(*slot, *cause, work),
            _ => {}
        }
    }

    fn get(&self, slot: u32) -> Option<Open> {
        Open::take(&mut &**self.open.get(slot)?)
    }

    fn set(&mut self, slot: u32, open: &Open) {
        self.open.put(slot, open.octets());
    }

    /// Changes the open record of a session; of one that began before the first entry there is, one begins here.
    fn change(&mut self, slot: u32, at: Moment, change: impl FnOnce(&mut Open)) {
        let mut open = self.get(slot).unwrap_or_else(|| Open::unknown(at));
        change(&mut open);
        self.set(slot, &open);
    }

    /// A session goes on elsewhere: what was used before has been used there.
    fn moved(&mut self, slot: u32, work: &mut Work<'_>) {
        let mut open = self.get(slot).unwrap_or_else(|| Open::unknown(work.entry.at));
        if !open.services.is_empty() {
            let cause = closing::SERVING_NODE_CHANGE;
            open = self.end(open, cause, true, Kind::Session, work);
        }
        open.moved = Some(work.source);
        self.set(slot, &open);
    }

    fn closed(&mut self, slot: u32, cause: Cause, work: &mut Work<'_>) {
        let Some(open) = self.get(slot) else { return };
        self.open.take(slot);
        let reason = match cause {
            Cause::Supervision => closing::ABNORMAL_RELEASE,
            _ if open.aborted => closing::MANAGEMENT_INTERVENTION,
            _ => closing::NORMAL_RELEASE,
        };
        let kind = if cause == Cause::Event { Kind::Event } else { Kind::Session };
        // An event that asked for a price or a balance used nothing.
        if kind == Kind::Session || !open.services.is_empty() || open.refunded != Money::ZERO {
            self.end(open, reason, false, kind, work);
        }
    }

    /// Cuts the record of a session, if it is time.
    fn cut(&mut self, slot: u32, work: &mut Work<'_>) {
        let Some(open) = self.get(slot) else { return };
        let Cuts { octets, seconds, services } = self.cuts;
        let used = open.services.iter().fold(0u64, |sum, usage| sum.saturating_add(usage.used.octets));
        let lasted = work.entry.at.saturating_sub(open.began);
        let cause = match () {
            () if octets > 0 && used >= octets => closing::VOLUME_LIMIT,
            () if seconds > 0 && lasted >= i64::from(seconds) => closing::TIME_LIMIT,
            () if services > 0 && open.services.len() >= services as usize => closing::MAX_CHANGE_CONDITIONS,
            () => return,
        };
        let open = self.end(open, cause, true, Kind::Session, work);
        self.set(slot, &open);
    }

    /// Ends a record; the one that goes on.
    fn end(&mut self, mut open: Open, cause: u32, goes_on: bool, kind: Kind, work: &mut Work<'_>) -> Open {
        let at = work.entry.at;
        let partial = goes_on || open.records > 0;
        work.out.push(Ended {
            number: self.next(),
            entry: work.entry.sequence,
            kind,
            opened: open.opened,
            moved: open.moved,
            stray: Box::default(),
            began: open.began,
            ended: at,
            cause,
            sequence: partial.then_some(open.records.saturating_add(1)),
            services: core::mem::take(&mut open.services),
            refunded: core::mem::take(&mut open.refunded),
        });
        (open.records, open.began) = (open.records.saturating_add(1), at);
        open
    }

    fn next(&mut self) -> u32 {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.records += 1;
        number
    }

    /// Usage of no session: a record of its own for each name.
    fn strays(&mut self, work: &mut Work<'_>) {
        if work.slot.is_some() {
            return;
        }
        let (at, entry) = (work.entry.at, work.entry.sequence);
        let first = work.out.len();
        for effect in &work.entry.effects {
            let Effect::Unrated { session, service, used } = effect else { continue };
            let usage = Usage { key: *service, used: octets_told(used), last: at, ..Usage::default() };
            if let Some(known) = work.out[first..].iter_mut().find(|ended| ended.stray == *session) {
                known.services.push(usage);
                continue;
            }
            let (number, kind, cause) = (self.next(), Kind::Stray, closing::ABNORMAL_RELEASE);
            let (stray, services) = (session.clone(), vec![usage]);
            let (began, ended) = (at, at);
            work.out.push(Ended { number, entry, kind, stray, began, ended, cause, services, ..Ended::default() });
        }
    }

    /// Shows its octets piece by piece: what it is itself, then each open record.
    ///
    /// # Errors
    /// What `see` gives.
    pub fn put<E>(&self, mut see: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut piece = Vec::with_capacity(128);
        (self.cuts, (self.entry, (self.number, self.records))).put(&mut piece);
        u64::from(self.open.end()).put(&mut piece);
        see(&piece)?;
        for (slot, octets) in self.open.iter() {
            piece.clear();
            slot.put(&mut piece);
            octets.put(&mut piece);
            see(&piece)?;
        }
        Ok(())
    }

    /// Of the octets that [`put`](Self::put) showed, one after the other.
    ///
    /// # Errors
    /// They are none.
    pub fn read(mut octets: &[u8]) -> Result<Fold, NoFold> {
        let from = &mut octets;
        let (cuts, (entry, (number, records))) = Octets::take(from).ok_or(NoFold::Version)?;
        let slots = u64::take(from).ok_or(NoFold::Version)?;
        if slots > u64::from(slots_by(entry)) {
            return Err(NoFold::Slots(slots, entry));
        }
        let mut open = Pages::default();
        while !from.is_empty() {
            let (slot, octets): (u32, Box<[u8]>) = Octets::take(from).ok_or(NoFold::Version)?;
            let whole = Open::take(&mut &*octets).is_some_and(|open| open.octets() == octets);
            if u64::from(slot) >= slots || slot < open.end() || !whole {
                return Err(NoFold::Version);
            }
            open.put(slot, octets);
        }
        Ok(Fold { cuts, entry, number, records, open })
    }
}

/// The amounts with the octets of both directions, where only those of each were told.
fn octets_told(used: &Amounts) -> Amounts {
    Amounts { octets: used.get(Unit::Octets), ..*used }
}

fn rated(charge: &Charge, at: Moment) -> Usage {
    Usage {
        key: charge.service,
        rated: true,
        used: octets_told(&charge.used),
        money: charge.money,
        short: charge.short,
        taken: charge.taken.iter().fold(0, |sum, (_, units)| sum.saturating_add(*units)),
        last: at,
    }
}
