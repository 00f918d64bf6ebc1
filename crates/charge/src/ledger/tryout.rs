//! The ledger of a time is charged anew by a plan that does not hold yet: beside a node that serves, or without one.

use super::reading::Reading;
use super::{Fault, read};
use crate::calendar::Moment;
use crate::session::{State, Trial, TryOut};
use crate::tariff::Plan;
use core::cell::Cell;
use core::ops::ControlFlow;
use trunkline_commit::{Disk, Fault as LogFault, Snapshot};

/// Entries after which who waits is told how far it is.
const TELL_EVERY: u64 = 2_000;

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From then on.
    pub from: Moment,
    /// Before then.
    pub to: Moment,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What usage would have cost.
    pub tryout: TryOut,
    /// Entries that were read, those before the span among them.
    pub entries: u64,
    /// When the first entry of the span was; none if it has none.
    pub first: Option<Moment>,
    /// When the last was.
    pub last: Option<Moment>,
}

/// Charges what was used in a span anew. `goes_on` is told how many entries were read, and about how many there are;
/// none is the answer where it says no. Needs the memory of the ledger's state, without the answers that it keeps.
///
/// # Errors
/// As [`super::open`].
pub fn try_out<D: Disk>(
    disk: &D,
    plan: Plan,
    span: Span,
    mut goes_on: impl FnMut(u64, u64) -> bool,
) -> Result<Option<Tried>, Fault> {
    let Some(state) = state_before(disk, span.from, &mut goes_on)? else { return Ok(None) };
    let mut trial = Trial::new(plan, state);
    let begin = trial.sequence();
    let (mut first, mut last, mut stopped) = (None, None, false);
    let newest = trunkline_commit::sealed(disk)?;
    let next = read(disk, begin + 1, |entry| {
        let done = entry.sequence - begin;
        stopped = done.is_multiple_of(TELL_EVERY) && !goes_on(done, newest.saturating_sub(begin).max(done));
        if entry.at >= span.to || stopped {
            return ControlFlow::Break(());
        }
        if entry.at < span.from {
            trial.before(&entry);
        } else {
            (first, last) = (first.or(Some(entry.at)), Some(entry.at));
            trial.take(&entry);
        }
        ControlFlow::Continue(())
    })?;
    let tried = Tried { tryout: trial.finish(), entries: next - begin - 1, first, last };
    Ok((!stopped).then_some(tried))
}

/// The state of the newest snapshot before a moment, or what the entries begin with; none where it is not to go on.
fn state_before<D: Disk>(
    disk: &D,
    from: Moment,
    goes_on: &mut impl FnMut(u64, u64) -> bool,
) -> Result<Option<State>, Fault> {
    let mut found = None;
    for snapshot in Snapshot::all(disk)? {
        let mut is_before = false;
        read(disk, snapshot.last + 1, |entry| {
            is_before = entry.at < from;
            ControlFlow::Break(())
        })?;
        if is_before {
            found = Some(snapshot);
            break;
        }
    }
    let base = found.map_or_else(|| Snapshot::opening(disk), |found| Ok(Some(found)))?;
    let (mut reading, mut seen, stopped) = (Reading::default(), 0u64, Cell::new(false));
    if let Some(base) = &base {
        let read = base.each(disk, |record| {
            seen += 1;
            // Nothing of the entries is read yet, but the snapshot has as many records as sessions.
            stopped.set(seen % TELL_EVERY == 0 && !goes_on(0, 0));
            if stopped.get() { Err(String::new()) } else { reading.snapshot(record) }
        });
        if stopped.get() {
            return Ok(None);
        }
        read?;
    }
    let number = base.map_or(0, |base| base.last);
    Ok(Some(reading.state().map_err(|why| LogFault::Refused { number, why })?))
}
