//! The ledger on a disk: one log of entries, and snapshots of the state for a fast start. The core's only I/O, over any
//! [`Disk`].
//!
//! A record of the log is an [`Entry`], and its number is the entry's: a start, a fold or an audit that finds another
//! one refuses. Snapshots hold [`State::snapshot`]; they are folded beside the log ([`fold`]) and stand for what they
//! say, but the entries stay: the ledger is the history, and [`audit`] adds all of it up. Only [`retain`] gives entries
//! up: it writes what they come to as an opening, with which the history then begins.

mod ahead;
mod history;
mod payers;
pub(crate) mod reading;
mod statement;
mod tryout;

pub use history::{HISTORY_ENTRIES_MAX, Happened, History, Timeline, find_session, history, timeline};
pub use payers::{NoPayers, PAYERS_MAX, payers};
pub use statement::{Line, Mark, STATEMENT_ENTRIES_MAX, Statement, statement};
pub use tryout::{Span, Tried, try_out};

use crate::account::{Difference, Effect, Entry, Sums};
use crate::calendar::Moment;
use crate::money::Money;
use crate::session::{Core, Limits, PlanFault, State};
use ahead::Ahead;
use core::cell::RefCell;
use core::ops::ControlFlow;
use reading::{Reading, Sieve};
use std::collections::BTreeMap;
use std::sync::Arc;
use trunkline_commit::{Disk, Fault as LogFault, Gone, Keep, Log, Options, Sealed, Snapshot, SnapshotWriter, Witness};

/// The ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The log or a snapshot: damaged, not of this program, or the disk fails.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// An entry that is whole and cannot be where it is: damage, or somebody made it.
    #[error(transparent)]
    Unfit(LogFault),
    /// A plan that holds is not read by this program: an upgrade refuses what the program before it took.
    #[error(transparent)]
    Plan(#[from] PlanFault),
}

impl Fault {
    /// The entries that are gone, if it is that.
    pub fn gone(&self) -> Option<&Gone> {
        match self {
            Fault::Log(LogFault::Gone(gone)) => Some(gone),
            _ => None,
        }
    }

    /// Whether what is on disk is damaged: a person decides how it goes on.
    pub fn is_damage(&self) -> bool {
        match self {
            Fault::Log(fault) => fault.is_damage(),
            Fault::Unfit(_) => true,
            Fault::Plan(_) => false,
        }
    }
}

/// A snapshot that was folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folded {
    /// The entry up to which it stands for all.
    pub sequence: u64,
    /// Entries that were read since the snapshot before it; 0 if there were none, and nothing was written.
    pub entries: u64,
    /// Files that are not needed any more and were removed.
    pub removed: usize,
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The first entry that was read; those before it, if any, are an opening.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// Accounts.
    pub accounts: usize,
    /// What is wrong: nothing.
    pub differences: Vec<Difference>,
    /// Refunds that older versions wrote, for which no debit is named: how many, and what they come to.
    pub untied: (u64, Money),
    /// Entries that are gone, and were given up by a repair.
    pub lost: Vec<Lost>,
    /// What is wrong with the log beside its entries: why entries at its end may be missing of which nobody knows.
    pub unproved: Option<String>,
}

/// Entries that a repair gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// When they were given up and where they stood, where the ledger says so.
    pub told: Option<(Moment, Box<str>)>,
}

/// Opens the ledger in a folder, or begins one: the newest snapshot, then the entries since. The log goes on with the
/// entry after the core's [`State::sequence`].
///
/// # Errors
/// Something that was told to be durable is gone, or is not read by this program.
pub fn open<D: Disk>(disk: Arc<D>, options: Options, limits: Limits) -> Result<(Core, Log<D>), Fault> {
    open_known(disk, options, limits, &[])
}

/// The same beside others who know which entries were durable.
///
/// # Errors
/// As [`open`]; entries are gone of which they know.
pub fn open_known<D: Disk>(
    disk: Arc<D>,
    options: Options,
    limits: Limits,
    witnesses: &[Witness],
) -> Result<(Core, Log<D>), Fault> {
    let opened = std::thread::scope(|scope| {
        let ahead = RefCell::new(Ahead::new(scope));
        let log = Log::open_known(
            Arc::clone(&disk),
            options,
            witnesses,
            |record| ahead.borrow_mut().snapshot(record),
            |number, record| ahead.borrow_mut().entry(number, record),
        )?;
        let state = ahead.into_inner().state().map_err(|why| LogFault::Refused { number: log.next() - 1, why })?;
        Ok::<_, LogFault>((state, log))
    });
    match opened {
        Ok((state, log)) => Ok((Core::of(state, limits)?, log)),
        // Entries are folded a thousand later than they are read: which one it is and where it stands is looked for.
        Err(fault @ LogFault::Refused { .. }) => Err(refused(&*disk, witnesses).err().unwrap_or(Fault::Log(fault))),
        Err(fault) => Err(Fault::Log(fault)),
    }
}

/// What is wrong with the first entry since the newest whole snapshot that a start does not take.
fn refused<D: Disk>(disk: &D, witnesses: &[Witness]) -> Result<(), Fault> {
    let newest = Snapshot::all(disk)?.into_iter().find(|snapshot| snapshot.check(disk).is_ok());
    let mut reading = read_snapshot(disk, newest.as_ref(), &mut || {})?;
    let (from, sieve) = (newest.map_or(0, |newest| newest.last) + 1, Sieve::default());
    let read = trunkline_commit::read_known(disk, from, witnesses, |number, record| {
        sieve.pass(reading.entry(number, record)).map(|_| ControlFlow::Continue(()))
    });
    read.map(drop).map_err(|fault| sieve.fault(fault))
}

/// Makes a snapshot of the newest one and the closed segments since, in memory of its own; all entries stay. One fold
/// runs at a time, beside the log that is written or without it.
///
/// # Errors
/// As [`open`]; or the disk fails: what is there stays.
pub fn fold<D: Disk>(disk: &D) -> Result<Folded, Fault> {
    fold_at_ease(disk, &mut || {})
}

/// The same, with a rest after each record that is read or written: beside a node that answers, a fold takes no time
/// that others want.
///
/// # Errors
/// As [`fold`].
pub fn fold_at_ease<D: Disk>(disk: &D, rest: &mut dyn FnMut()) -> Result<Folded, Fault> {
    let sequence = trunkline_commit::sealed(disk)?;
    let newest = Snapshot::all(disk)?.into_iter().next();
    let from = newest.as_ref().map_or(0, |newest| newest.last);
    if sequence <= from {
        return Ok(Folded { sequence: from, entries: 0, removed: 0 });
    }
    let writer = write(disk, newest.as_ref(), sequence, rest)?;
    Ok(Folded { sequence, entries: sequence - from, removed: writer.finish(Keep::All)? })
}

/// Writes a snapshot of what another one and the entries since come to.
fn write<'d, D: Disk>(
    disk: &'d D,
    before: Option<&Snapshot>,
    to: u64,
    rest: &mut dyn FnMut(),
) -> Result<SnapshotWriter<'d, D>, Fault> {
    let state = state_at(disk, before, to, rest)?;
    let mut writer = SnapshotWriter::begin(disk, to)?;
    state.snapshot(|record| {
        rest();
        writer.put(record)
    })?;
    Ok(writer)
}

fn state_at<D: Disk>(disk: &D, before: Option<&Snapshot>, to: u64, rest: &mut dyn FnMut()) -> Result<State, Fault> {
    let mut reading = read_snapshot(disk, before, rest)?;
    let from = before.map_or(0, |before| before.last) + 1;
    if from <= to {
        let sieve = Sieve::default();
        let read = trunkline_commit::read_sealed(disk, Sealed { from, to }, |number, record| {
            rest();
            sieve.pass(reading.entry(number, record)).map(drop)
        });
        read.map_err(|fault| sieve.fault(fault))?;
    }
    Ok(reading.state().map_err(|why| LogFault::Refused { number: to, why })?)
}

pub(crate) fn read_snapshot<D: Disk>(
    disk: &D,
    snapshot: Option<&Snapshot>,
    rest: &mut dyn FnMut(),
) -> Result<Reading, Fault> {
    let mut reading = Reading::default();
    if let Some(snapshot) = snapshot {
        snapshot.each(disk, |record| {
            rest();
            reading.snapshot(record)
        })?;
    }
    Ok(reading)
}

/// Gives up the entries before a number, as far as closed segments hold nothing else and all snapshots stand for them:
/// what they come to is written as the opening of those after it. The first entry that is there from now on.
///
/// # Errors
/// As [`fold`].
pub fn retain<D: Disk>(disk: &D, before: u64) -> Result<u64, Fault> {
    let opening = Snapshot::opening(disk)?;
    let first = opening.as_ref().map_or(0, |opening| opening.last) + 1;
    let snapshots = Snapshot::all(disk)?;
    let oldest = snapshots.last().map_or(0, |oldest| oldest.last);
    let cut = trunkline_commit::sealed_before(disk, before.min(oldest + 1))?;
    if cut < first {
        return Ok(first);
    }
    let base = snapshots.iter().find(|snapshot| snapshot.last <= cut).or(opening.as_ref());
    let known = base.map_or(0, |base| base.last);
    if known < oldest && known < cut && has_lost(disk, known + 1, cut)? {
        // What was gone when the snapshots were written is in them, and not in the entries.
        return Ok(first);
    }
    write(disk, base, cut, &mut || {})?.open_with()?;
    Ok(cut + 1)
}

/// Whether any of these entries is gone.
fn has_lost<D: Disk>(disk: &D, from: u64, to: u64) -> Result<bool, Fault> {
    let mut lost = false;
    trunkline_commit::read_sealed(disk, Sealed { from, to }, |_, record| {
        lost |= Entry::is_given_up(record);
        Ok(())
    })?;
    Ok(lost)
}

/// The first entry of the newest closed segment that holds nothing older than a moment, or of the one before it: what
/// [`retain`] is to be told to give up all before that moment, as far as it can.
///
/// # Errors
/// As [`read`].
pub fn before_time<D: Disk>(disk: &D, time: Moment) -> Result<u64, Fault> {
    let (mut before, mut next) = (0, trunkline_commit::sealed(disk)? + 1);
    // From the newest segment back: entries are in the order of their times.
    while next > 1 {
        let mut at = None;
        read(disk, next, |entry| {
            at = Some(entry.at).filter(|_| !entry.is_lost());
            if at.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if at.is_some_and(|at| at <= time) {
            before = next;
            break;
        }
        next = trunkline_commit::sealed_before(disk, next - 1)? + 1;
    }
    Ok(before)
}

/// Reads all entries that are there, adds them up account by account, and compares the sums with the state that a start
/// now would come to. Needs the memory of that state.
///
/// # Errors
/// As [`open`].
pub fn audit<D: Disk>(disk: &D) -> Result<Audit, Fault> {
    audit_known(disk, &[])
}

/// The same beside others who know which entries were durable.
///
/// # Errors
/// As [`open_known`].
pub fn audit_known<D: Disk>(disk: &D, witnesses: &[Witness]) -> Result<Audit, Fault> {
    let unproved = trunkline_commit::check_mark(disk)?.map(|fault| fault.to_string());
    let opening = Snapshot::opening(disk)?;
    let opened = state_at(disk, opening.as_ref(), 0, &mut || {})?;
    let (first, mut sums) = (opened.sequence() + 1, Sums::opening(&opened));
    drop(opened);
    let newest = Snapshot::all(disk)?.into_iter().next();
    let known = newest.as_ref().map_or(0, |newest| newest.last);
    let mut reading = read_snapshot(disk, newest.as_ref(), &mut || {})?;
    let (mut lost, sieve) = (Losses::default(), Sieve::default());
    let read = trunkline_commit::read_known(disk, first, witnesses, |number, record| {
        let entry = sieve.pass(match number > known {
            true => reading.entry(number, record),
            false => Entry::of_record(number, record),
        })?;
        sums.add(&entry);
        lost.note(&entry);
        if number == known && !lost.is_empty() {
            // The snapshot was written when they were there: from it on the sums are those of its balances.
            sums = Sums::opening(reading.look()?);
        }
        Ok(ControlFlow::Continue(()))
    });
    let next = read.map_err(|fault| sieve.fault(fault))?;
    let state = reading.state().map_err(|why| LogFault::Refused { number: next - 1, why })?;
    let (accounts, differences) = (state.accounts().count(), sums.differences(&state));
    Ok(Audit { first, last: next - 1, accounts, differences, untied: sums.untied(), lost: lost.list(), unproved })
}

/// Entries that are gone, as they are read: there may be millions.
#[derive(Default)]
struct Losses {
    /// Those that no entry tells of yet, by the first.
    untold: BTreeMap<u64, u64>,
    told: Vec<Lost>,
}

impl Losses {
    /// Adds an entry that is gone, or what one says of such.
    fn note(&mut self, entry: &Entry) {
        if entry.is_lost() {
            match self.untold.last_entry().filter(|last| last.get() + 1 == entry.sequence) {
                Some(mut last) => *last.get_mut() = entry.sequence,
                None => _ = self.untold.insert(entry.sequence, entry.sequence),
            }
        }
        for effect in &entry.effects {
            let Effect::Lost { from, to, place } = effect else { continue };
            let within = (from <= to).then(|| self.untold.range(from..=to)).into_iter().flatten();
            let within: Vec<u64> = within.filter(|(_, last)| *last <= to).map(|(first, _)| *first).collect();
            within.iter().for_each(|first| _ = self.untold.remove(first));
            self.told.push(Lost { from: *from, to: *to, told: Some((entry.at, place.clone())) });
        }
    }

    fn is_empty(&self) -> bool {
        self.untold.is_empty() && self.told.is_empty()
    }

    /// All of them, in order.
    fn list(self) -> Vec<Lost> {
        let mut all = self.told;
        all.extend(self.untold.into_iter().map(|(from, to)| Lost { from, to, told: None }));
        all.sort_by_key(|lost| lost.from);
        all
    }
}

/// Shows entries from a number on, until `see` breaks off; the number after the last one. Beside a log that is written
/// the last ones may not be durable yet.
///
/// # Errors
/// They are not there, or not read by this program.
pub fn read<D: Disk>(disk: &D, from: u64, mut see: impl FnMut(Entry) -> ControlFlow<()>) -> Result<u64, Fault> {
    let sieve = Sieve::default();
    let read =
        trunkline_commit::read(disk, from, |number, record| sieve.pass(Entry::of_record(number, record)).map(&mut see));
    read.map_err(|fault| sieve.fault(fault))
}
