//! Who pays for which number, read out of a ledger beside its node: bounded, and given up when nobody waits for it.

use super::reading::Sieve;
use super::{Fault, LogFault};
use crate::account::Entry;
use crate::session::{Payers, Restoring, State};
use core::ops::ControlFlow;
use trunkline_commit::{Disk, Snapshot, Witness};

/// Accounts and subscribers that are read, together: some 300 octets each.
pub const PAYERS_MAX: usize = 10_000_000;
/// Records after which who waits is asked whether it goes on.
const ASK_EVERY: u64 = 500;

/// Who pays was not read.
#[derive(Debug, thiserror::Error)]
pub enum NoPayers {
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] Fault),
    /// There are too many.
    #[error("the ledger has more than {0} accounts and subscribers")]
    TooMany(usize),
    /// Nobody waits for it any more.
    #[error("it was given up")]
    GivenUp,
}

/// Who pays by all entries that are there: the newest snapshot, and what came since; at most so many accounts and
/// subscribers together. Sessions, answers and balances take no memory.
///
/// # Errors
/// The ledger is damaged, ends before what a witness knows, has more, or `goes_on` said no.
pub fn payers<D: Disk>(
    disk: &D,
    witnesses: &[Witness],
    most: usize,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Payers, NoPayers> {
    let newest = Snapshot::all(disk).map_err(Fault::from)?.into_iter().next();
    let base = newest.map_or_else(|| Snapshot::opening(disk), |newest| Ok(Some(newest))).map_err(Fault::from)?;
    let mut reading = Reading { most, goes_on, seen: 0, why: None };
    let mut state = match &base {
        Some(base) => {
            let mut restoring = Restoring::of_payers();
            let read = base.each(disk, |record| {
                restoring.take(record).map_err(|fault| fault.to_string())?;
                reading.go_on(restoring.payers()).map_err(|()| String::new())
            });
            reading.end(read.map_err(Fault::from))?;
            let refused = |why: String| Fault::from(LogFault::Refused { number: base.last, why });
            restoring.state().map_err(|fault| refused(fault.to_string()))?
        }
        None => State::default(),
    };
    let from = base.map_or(0, |base| base.last) + 1;
    let sieve = Sieve::default();
    let read = trunkline_commit::read_known(disk, from, witnesses, |number, record| {
        state.fold_payers(&sieve.pass(Entry::of_record(number, record))?);
        let payers = state.account_count() + state.subscriber_count();
        Ok(if reading.go_on(payers).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    });
    reading.end(read.map(drop).map_err(|fault| sieve.fault(fault)))?;
    Ok(Payers::new(state))
}

/// What bounds it.
struct Reading<'a> {
    most: usize,
    goes_on: &'a mut dyn FnMut() -> bool,
    seen: u64,
    why: Option<NoPayers>,
}

impl Reading<'_> {
    /// One more record was taken, and there are so many payers.
    fn go_on(&mut self, payers: usize) -> Result<(), ()> {
        self.seen += 1;
        if payers > self.most {
            self.why = Some(NoPayers::TooMany(self.most));
        } else if self.seen.is_multiple_of(ASK_EVERY) && !(self.goes_on)() {
            self.why = Some(NoPayers::GivenUp);
        }
        if self.why.is_some() { Err(()) } else { Ok(()) }
    }

    /// Why it was not read to its end.
    fn end(&mut self, read: Result<(), Fault>) -> Result<(), NoPayers> {
        match self.why.take() {
            Some(why) => Err(why),
            None => Ok(read?),
        }
    }
}
