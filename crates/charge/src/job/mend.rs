//! A damaged ledger is repaired by order of an operator: the log keeps all that is whole and has gaps in place of what
//! is gone ([`trunkline_commit::repair`]); one more entry tells of it, and closes the sessions of which only what is
//! gone said the beginning or the end, as far as the open records know it.

use super::records::{Cursor, Made, checkpoint, fold_again};
use crate::account::{Cause, Effect, Entry};
use crate::calendar::Moment;
use crate::cdr::{Fold, Source};
use crate::ledger::reading::Reading;
use crate::ledger::{Fault, read_snapshot};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use trunkline_commit::{
    Disk, Fault as LogFault, Found, Gone, Group, Judged, Keep, Log, Options, Snapshot, Survey, Witness, repair,
    survey_judged,
};

/// Effects of an entry that tells of a repair.
const EFFECTS: usize = 10_000;

/// What a repair came to, or would come to.
#[derive(Debug, Default)]
pub struct Mended {
    /// Entries that are gone, with their places.
    pub lost: Vec<Gone>,
    /// Those that no entry tells of yet: they are told of now.
    pub untold: Vec<(u64, u64)>,
    /// What else is damaged.
    pub also: Vec<String>,
    /// The entry that the next one is.
    pub next: u64,
    /// Accounts of which entries may be gone: those with open sessions before, those whose sums show it.
    pub accounts: usize,
    /// Sessions of which entries may be gone.
    pub sessions: usize,
    /// Sessions that are closed now, as the open records say that they ended, or only they know them.
    pub closed: usize,
    /// Records that were made of entries that are gone, and stay; none where that is not known, as the first entries
    /// were given up by age or records were cut otherwise before.
    pub records_made: Option<u64>,
    /// Records that are open, and may lack usage.
    pub records_open: usize,
    /// Files that were written.
    pub written: Vec<String>,
    /// Damaged files that were kept, under these names.
    pub kept: Vec<String>,
}

impl Mended {
    /// Whether there was nothing to do.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.untold.is_empty() && self.also.is_empty()
    }
}

/// Who knows beside a ledger which of its entries were durable: the cursor of charging records.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn witness<R: Disk>(records: &R) -> Result<Option<Witness>, String> {
    let made = Cursor::load(records)?.as_ref().and_then(Made::of);
    Ok(made.map(|made| Witness { who: "the cursor of charging records".to_owned(), last: made.entry }))
}

/// Says in the log what was found of another log that is not as it should be, and cost nothing that was acknowledged.
pub fn tell_found(what: &str, found: &Found) {
    if found.cut_off {
        tracing::warn!("{what}: the end was cut off by a crash, in the midst of entries that nobody was told of");
    }
    for damaged in &found.damaged {
        tracing::error!("{what}: damaged, and gone on without: {damaged}");
    }
}

/// Repairs a ledger that no node serves, and whose records are in a folder of their own, if any are made; `dry` only
/// says what it would come to. Done again, there is nothing left to do.
///
/// # Errors
/// The disk fails; what is whole is not of this program.
pub fn mend<D: Disk, R: Disk>(
    disk: &Arc<D>,
    records: Option<&R>,
    known: &[Witness],
    (options, now, dry): (Options, Moment, bool),
) -> Result<Mended, Fault> {
    let refused = |why: String| LogFault::Refused { number: 0, why };
    // Who is asked first tells of a cursor that is damaged: records wait for that to be mended, too.
    let cursor = records.and_then(|records| Cursor::load(records).ok().flatten());
    let made = cursor.as_ref().and_then(Made::of);
    let checked = records.and_then(|records| checkpoint::load_of(&**disk, records).ok().flatten());
    let mut looks = Looks::new(&**disk, made, checked.clone())?;
    let found = looks.survey(known)?;
    looks.reach(found.next)?;
    let mut mended = looks.mended(found.next)?;
    mended.also = found.also.iter().map(ToString::to_string).collect();
    let closing = looks.closing()?;
    mended.closed = closing.len();
    if dry || (found.is_whole() && mended.untold.is_empty()) {
        mended.lost = found.lost;
        return Ok(mended);
    }
    let done = repair(&**disk, &found)?;
    (mended.written, mended.kept) = (done.written, done.kept);
    if let (Some(records), Some(made)) = (records, made) {
        let fold = checked.filter(|fold| fold.entry() <= made.entry);
        let fold = fold.unwrap_or_else(|| Fold::new(made.cuts, looks.first - 1));
        let fold = fold_again(&**disk, fold, &made).map_err(refused)?;
        let saved = checkpoint::save(&**disk, records, &fold);
        saved.map_err(|error| LogFault::Io { name: "the checkpoint of charging records".to_owned(), error })?;
    }
    let place = |from: u64| {
        let gone = found.lost.get(found.lost.partition_point(|gone| gone.to < from)).filter(|gone| gone.from <= from);
        gone.map_or_else(Box::default, |gone| format!("{}, octet {}", gone.name, gone.at).into())
    };
    let told = mended.untold.iter().map(|(from, to)| Effect::Lost { from: *from, to: *to, place: place(*from) });
    let at = now.max(looks.reading.look().map_err(refused)?.latest());
    let closed = closing.into_iter().map(|slot| Effect::Closed { slot, cause: Cause::Supervision, deadline: at });
    mended.next = tell(disk, options, at, told.chain(closed).collect())?;
    mended.lost = found.lost;
    Ok(mended)
}

/// What is wrong with a ledger, beside its node or without one: its files, and entries that are whole and cannot be
/// where they are. Needs the memory of its state.
///
/// # Errors
/// As [`mend`].
pub fn look_through<D: Disk>(disk: &D, known: &[Witness]) -> Result<Survey, Fault> {
    Looks::new(disk, None, None)?.survey(known)
}

/// Appends entries with these effects; the number that comes next.
fn tell<D: Disk>(disk: &Arc<D>, options: Options, at: Moment, effects: Vec<Effect>) -> Result<u64, Fault> {
    let mut log = Log::open(Arc::clone(disk), options, |_| Ok(()), |_, _| Ok(()))?;
    let mut group = Group::new(&options);
    for effects in effects.chunks(EFFECTS) {
        let entry = Entry { sequence: log.next(), at, effects: effects.to_vec() };
        let put = group.put(&entry.encode());
        put.map_err(|why| LogFault::Refused { number: entry.sequence, why: why.to_string() })?;
        log.commit(&mut group)?;
    }
    log.sync_mark()?;
    Ok(log.next())
}

/// What is seen of a ledger on the way through it.
struct Looks<'d, D: Disk> {
    disk: &'d D,
    first: u64,
    reading: Reading,
    /// The newest whole snapshot: what it says was there before anything was gone.
    snapshot: Option<Snapshot>,
    made: Option<Made>,
    /// Open records, from the checkpoint on, and how many entries that is.
    fold: Option<Fold>,
    checked: u64,
    /// The records that the entries up to the cursor come to, from the first one on; none where that is not there.
    counted: Option<Fold>,
    /// Entries that are gone, and those that an entry tells of.
    gone: Vec<(u64, u64)>,
    told: Vec<(u64, u64)>,
    accounts: BTreeSet<u64>,
    sessions: HashSet<Box<str>>,
    /// Slots that entries name without a beginning.
    unknown: BTreeSet<u32>,
    /// Slots of sessions that were open before entries that are gone.
    before: BTreeSet<u32>,
    /// Whether sessions may be open that were not looked at when entries were gone last.
    is_news: bool,
}

impl<'d, D: Disk> Looks<'d, D> {
    fn new(disk: &'d D, made: Option<Made>, checked: Option<Fold>) -> Result<Looks<'d, D>, Fault> {
        // One that is damaged is put aside, and what it stood for is gone: later snapshots have it in their balances.
        let opening = Snapshot::opening(disk)?.filter(|opening| opening.check(disk).is_ok());
        let first = opening.as_ref().map_or(0, |opening| opening.last) + 1;
        let reading = read_snapshot(disk, opening.as_ref(), &mut || {})?;
        let snapshot = Snapshot::all(disk)?.into_iter().find(|snapshot| snapshot.check(disk).is_ok());
        let fold = made.map(|made| {
            let checked = checked.filter(|fold| fold.entry() <= made.entry);
            checked.unwrap_or_else(|| Fold::new(made.cuts, first - 1))
        });
        let checked = fold.as_ref().map_or(0, Fold::entry);
        let counted = made.filter(|_| first == 1).map(|made| Fold::new(made.cuts, 0));
        Ok(Looks {
            disk,
            first,
            reading,
            snapshot,
            made,
            fold,
            checked,
            counted,
            gone: Vec::new(),
            told: Vec::new(),
            accounts: BTreeSet::new(),
            sessions: HashSet::new(),
            unknown: BTreeSet::new(),
            before: BTreeSet::new(),
            is_news: true,
        })
    }

    /// Goes through the log, and looks at all of its entries.
    fn survey(&mut self, known: &[Witness]) -> Result<Survey, Fault> {
        let disk = self.disk;
        let found = survey_judged(disk, Keep::All, known, &mut |numbers, record| {
            // One by one: each may be the one behind the snapshot, and the state counts them.
            numbers.into_iter().try_fold(Judged::Taken, |_, number| self.take(number, record))
        })?;
        Ok(found)
    }

    /// Takes an entry; one that is whole and cannot be there is taken as one that is gone.
    fn take(&mut self, number: u64, record: Option<&[u8]>) -> Result<Judged, String> {
        self.reach(number).map_err(|fault| fault.to_string())?;
        let entry = record.map_or_else(|| Ok(Entry::lost(number)), |record| Entry::of_record(number, record));
        let state = self.reading.look()?;
        let fits = entry.and_then(|entry| {
            state.fits(&entry)?;
            Ok(entry)
        });
        match fits {
            Ok(entry) => self.fold(&entry).map(|()| Judged::Taken),
            Err(no) if no.is_damage() => {
                // What it says is known, and may be what happened.
                record.and_then(|record| Entry::decode(record).ok()).iter().for_each(|entry| self.name(entry));
                self.fold(&Entry::lost(number)).map(|()| Judged::Unfit(no.to_string()))
            }
            Err(no) => Err(no.to_string()),
        }
    }

    fn fold(&mut self, entry: &Entry) -> Result<(), String> {
        let number = entry.sequence;
        if entry.is_lost() {
            self.lose(number)?;
        } else if !self.gone.is_empty() {
            self.look_at(entry)?;
        }
        self.reading.fold(entry)?;
        self.is_news |= entry.effects.iter().any(|effect| matches!(effect, Effect::Opened { .. }));
        let counted = self.counted.as_mut().filter(|_| self.made.is_some_and(|made| number <= made.entry));
        let folds = self.fold.as_mut().filter(|fold| number > fold.entry()).into_iter().chain(counted);
        let source = Source { entry: number, ..Source::default() };
        folds.for_each(|fold| fold.take(entry, source, &mut Vec::new()));
        Ok(())
    }

    /// Before an entry: what the snapshot says of all before it counts, where some of those are gone.
    fn reach(&mut self, number: u64) -> Result<(), Fault> {
        let Some(snapshot) = self.snapshot.take_if(|snapshot| snapshot.last < number) else { return Ok(()) };
        if self.gone.is_empty() || snapshot.last + 1 != number {
            return Ok(());
        }
        let mut known = read_snapshot(self.disk, Some(&snapshot), &mut || {})?;
        let refused = |why: String| LogFault::Refused { number, why };
        let (folded, was) = (self.reading.look().map_err(refused)?, known.look().map_err(refused)?);
        for (account, known) in was.accounts() {
            let same = folded.account(account).is_some_and(|folded| folded.balance == known.balance);
            if !same {
                self.accounts.insert(account);
            }
        }
        (self.reading, self.is_news) = (known, true);
        Ok(())
    }

    fn lose(&mut self, number: u64) -> Result<(), String> {
        if let Some((_, last)) = self.gone.last_mut().filter(|(_, last)| last + 1 == number) {
            *last = number;
            return Ok(());
        }
        self.gone.push((number, number));
        if !core::mem::take(&mut self.is_news) {
            return Ok(());
        }
        for (slot, name, account) in self.reading.look()?.opened() {
            self.accounts.insert(account);
            self.sessions.insert(name.into());
            self.before.insert(slot);
        }
        Ok(())
    }

    /// The accounts that an entry names, which is given up.
    fn name(&mut self, entry: &Entry) {
        self.accounts.extend(entry.effects.iter().filter_map(|effect| match effect {
            Effect::Account { account, .. }
            | Effect::Subscriber { account, .. }
            | Effect::Money { account, .. }
            | Effect::Units { account, .. }
            | Effect::Opened { account, .. }
            | Effect::Charged { account, .. } => Some(*account),
            Effect::Refunded { refund, .. } => Some(refund.account),
            _ => None,
        }));
    }

    /// An entry behind some that are gone.
    fn look_at(&mut self, entry: &Entry) -> Result<(), String> {
        let state = self.reading.look()?;
        for effect in &entry.effects {
            match effect {
                Effect::Lost { from, to, .. } => self.told.push((*from, *to)),
                Effect::Charged { slot, account, .. } if !state.is_open(*slot) => {
                    self.accounts.insert(*account);
                    self.unknown.insert(*slot);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn mended(&mut self, next: u64) -> Result<Mended, Fault> {
        // How far what begins up to a number reaches: of millions of ranges each is looked up.
        let mut reach = self.told.clone();
        reach.sort_unstable();
        reach.iter_mut().fold(0, |far, (_, last)| {
            *last = far.max(*last);
            *last
        });
        let told = |(from, to): &(u64, u64)| {
            let before = reach.partition_point(|(first, _)| first <= from).checked_sub(1);
            before.is_some_and(|at| *to <= reach[at].1)
        };
        let untold: Vec<_> = self.gone.iter().filter(|range| !told(range)).copied().collect();
        let counted = self.counted.as_ref().map(Fold::records);
        let made = self.made.map_or(Some(0), |made| counted.and_then(|counted| made.records.checked_sub(counted)));
        let records_made = if untold.is_empty() { Some(0) } else { made };
        let records_open = self.fold.as_ref().map_or(0, |fold| {
            let open = fold.open_slots();
            open.filter(|(slot, began)| self.before.contains(slot) || began.is_none_or(|entry| self.is_gone(entry)))
                .count()
        });
        let records_open = if untold.is_empty() { 0 } else { records_open };
        Ok(Mended {
            untold,
            next,
            accounts: self.accounts.len(),
            sessions: self.sessions.len() + self.unknown.len(),
            records_made,
            records_open,
            ..Mended::default()
        })
    }

    fn is_gone(&self, entry: u64) -> bool {
        self.gone.get(self.gone.partition_point(|(_, to)| *to < entry)).is_some_and(|(from, _)| *from <= entry)
    }

    /// Slots whose session is open in the balances or in the records alone, or is another one there.
    fn closing(&mut self) -> Result<BTreeSet<u32>, Fault> {
        let mut closing = BTreeSet::new();
        let Some(fold) = self.fold.take() else { return Ok(closing) };
        // What was open is known to the checkpoint alone: what is gone behind it is gone for both.
        if !self.gone.iter().any(|(from, _)| *from <= self.checked) {
            return Ok(closing);
        }
        let state = self.reading.look().map_err(|why| LogFault::Refused { number: fold.entry(), why })?;
        let open: BTreeSet<u32> = state.opened().map(|(slot, ..)| slot).collect();
        let records: std::collections::BTreeMap<u32, Option<u64>> = fold.open_slots().collect();
        for slot in self.before.intersection(&open) {
            let same = records.get(slot).is_some_and(|began| began.is_none_or(|entry| !self.is_gone(entry)));
            if !same {
                closing.insert(*slot);
            }
        }
        closing.extend(records.keys().filter(|slot| !open.contains(slot)));
        Ok(closing)
    }
}
