//! The ledger of one account: what came and went, and what was there after it.

use super::{Fault, read, state_at};
use crate::account::{Effect, Entry};
use crate::calendar::Moment;
use crate::money::Money;
use core::ops::ControlFlow;
use trunkline_commit::{Disk, Snapshot};

/// Entries that one call of [`statement`] reads at most: those of all accounts stand in one log.
// Limit: ledger entries read for one part of a statement
// Beyond: the statement goes on from a mark
// Seen in: the next part
pub const STATEMENT_ENTRIES_MAX: u64 = 10_000_000;

/// A line of a statement: an effect on the account.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The entry.
    pub sequence: u64,
    /// When.
    pub at: Moment,
    /// What: money, units of an allowance, or a charge.
    pub effect: Effect,
    /// Money that comes, or below zero, goes.
    pub amount: Money,
    /// The balance after it.
    pub balance: Money,
}

/// Where a statement goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The next entry.
    pub next: u64,
    /// The balance before it.
    pub balance: Money,
}

/// A part of an account's ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// In the order of the ledger. An entry's lines stand together: there may be some more than were asked for.
    pub lines: Vec<Line>,
    /// Where it goes on: at an entry that may not be there yet.
    pub next: Mark,
    /// Whether all entries that are there were read.
    pub whole: bool,
}

/// Reads lines of an account, about `most` of them, from a mark on; without one from the first entry that is there.
///
/// # Errors
/// As [`read`].
pub fn statement<D: Disk>(disk: &D, account: u64, from: Option<Mark>, most: usize) -> Result<Statement, Fault> {
    let from = from.map_or_else(|| opening(disk, account), Ok)?;
    let (mut lines, mut balance, mut whole) = (Vec::new(), from.balance, true);
    let next = read(disk, from.next, |entry| {
        add_lines(&entry, account, &mut balance, &mut lines);
        whole = lines.len() < most && entry.sequence - from.next < STATEMENT_ENTRIES_MAX;
        if whole { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(Statement { lines, next: Mark { next, balance }, whole })
}

/// The first entry that is there, and the account's balance before it.
fn opening<D: Disk>(disk: &D, account: u64) -> Result<Mark, Fault> {
    let state = state_at(disk, Snapshot::opening(disk)?.as_ref(), 0, &mut || {})?;
    let balance = state.account(account).map_or(Money::ZERO, |account| account.balance);
    Ok(Mark { next: state.sequence() + 1, balance })
}

fn add_lines(entry: &Entry, account: u64, balance: &mut Money, lines: &mut Vec<Line>) {
    for line in lines_of(entry, account) {
        *balance = balance.plus(line.amount);
        lines.push(Line { balance: *balance, ..line });
    }
}

/// The lines of an entry, without the balance after them.
pub(super) fn lines_of(entry: &Entry, account: u64) -> impl Iterator<Item = Line> {
    let (sequence, at) = (entry.sequence, entry.at);
    entry.effects.iter().filter_map(move |effect| {
        let amount = match effect {
            Effect::Money { account: of, amount, .. } if *of == account => *amount,
            Effect::Units { account: of, .. } if *of == account => Money::ZERO,
            Effect::Refunded { refund, .. } if refund.account == account => refund.money,
            Effect::Charged { account: of, charge, .. } if *of == account => Money::ZERO.minus(charge.money),
            _ => return None,
        };
        Some(Line { sequence, at, effect: effect.clone(), amount, balance: Money::ZERO })
    })
}
