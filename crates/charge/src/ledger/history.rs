//! The ledger backwards: what came to an account last, and what happened in a session.

use super::statement::{Line, Mark, lines_of};
use super::{Fault, read};
use crate::account::{Effect, Entry};
use crate::calendar::Moment;
use core::ops::ControlFlow;
use std::collections::VecDeque;
use trunkline_commit::{Disk, Snapshot};

/// Entries that one call looks at, at most: those of all accounts stand in one log.
pub const HISTORY_ENTRIES_MAX: u64 = 4_000_000;
/// Entries that are read at once, forwards, before those before them.
const BLOCK: u64 = 200_000;
/// Entries after which who waits is asked whether to go on.
const ASK_EVERY: u64 = 5_000;

/// Lines of an account, the newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The lines. An entry's lines stand together: there may be some more than were asked for.
    pub lines: Vec<Line>,
    /// Where it goes on: entries before that number, and the balance after them.
    pub next: Mark,
    /// Whether all entries that are there were looked at.
    pub whole: bool,
}

/// Lines of an account before a mark, about `most` of them, the newest first, until `goes_on` says no. The mark is that
/// of a history, or the number after an entry and the account's balance then.
///
/// # Errors
/// As [`read`].
pub fn history<D: Disk>(
    disk: &D,
    account: u64,
    from: Mark,
    most: usize,
    mut goes_on: impl FnMut() -> bool,
) -> Result<History, Fault> {
    let first = first(disk)?;
    let (mut lines, mut next) = (Vec::new(), from);
    let least = from.next.saturating_sub(HISTORY_ENTRIES_MAX);
    while next.next > first && next.next > least && lines.len() < most {
        let Some(block) = block(disk, account, next.next, first, most - lines.len(), &mut goes_on)? else { break };
        for mut line in block.lines.into_iter().rev() {
            line.balance = next.balance;
            next.balance = next.balance.minus(line.amount);
            lines.push(line);
        }
        next.next = block.from;
    }
    Ok(History { lines, whole: next.next <= first, next })
}

/// The first entry that is there.
fn first<D: Disk>(disk: &D) -> Result<u64, Fault> {
    Ok(Snapshot::opening(disk)?.map_or(0, |opening| opening.last) + 1)
}

/// The last lines of a block, in their order, and the entry that they begin with.
struct Block {
    lines: VecDeque<Line>,
    from: u64,
}

fn block<D: Disk>(
    disk: &D,
    account: u64,
    end: u64,
    first: u64,
    most: usize,
    goes_on: &mut impl FnMut() -> bool,
) -> Result<Option<Block>, Fault> {
    let from = end.saturating_sub(BLOCK).max(first);
    let (mut block, mut stopped) = (Block { lines: VecDeque::new(), from }, false);
    read(disk, from, |entry| {
        if entry.sequence >= end {
            return ControlFlow::Break(());
        }
        stopped = entry.sequence % ASK_EVERY == 0 && !goes_on();
        block.lines.extend(lines_of(&entry, account));
        while block.lines.len() > most && block.lines.front().is_some_and(|line| line.sequence != entry.sequence) {
            let dropped = block.lines.pop_front().map_or(from, |line| line.sequence);
            block.from = dropped + 1;
        }
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    // What is left of an entry of which a line was dropped is told with the next ones.
    let cut = block.from;
    block.lines.retain(|line| line.sequence >= cut);
    Ok((!stopped).then_some(block))
}

/// What an entry says of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// The entry.
    pub sequence: u64,
    /// When.
    pub at: Moment,
    /// What, in order.
    pub effects: Vec<Effect>,
}

/// A part of what happened in a session, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// What happened.
    pub happened: Vec<Happened>,
    /// Where it goes on, while it is not over: the slot, and the next entry.
    pub next: Option<(u32, u64)>,
}

/// Where a session begins: the newest one of that name before an entry, and its slot. None is found where none began
/// within [`HISTORY_ENTRIES_MAX`], or `goes_on` said no.
///
/// # Errors
/// As [`read`].
pub fn find_session<D: Disk>(
    disk: &D,
    name: &str,
    before: u64,
    mut goes_on: impl FnMut() -> bool,
) -> Result<Option<(u32, u64)>, Fault> {
    let (first, mut end) = (first(disk)?, before);
    let least = before.saturating_sub(HISTORY_ENTRIES_MAX).max(first);
    let (mut found, mut stopped) = (None, false);
    while end > least && found.is_none() && !stopped {
        let from = end.saturating_sub(BLOCK).max(least);
        read(disk, from, |entry| {
            stopped = entry.sequence % ASK_EVERY == 0 && !goes_on();
            if entry.sequence >= end || stopped {
                return ControlFlow::Break(());
            }
            let begins = entry.effects.iter().find_map(|effect| match effect {
                Effect::Opened { slot, session, .. } if **session == *name => Some((*slot, entry.sequence)),
                _ => None,
            });
            found = begins.or(found);
            ControlFlow::Continue(())
        })?;
        end = from;
    }
    Ok(found)
}

/// What happens in a slot from an entry on, until its session is over: at most `most` entries of it.
///
/// # Errors
/// As [`read`].
pub fn timeline<D: Disk>(
    disk: &D,
    (slot, from): (u32, u64),
    most: usize,
    mut goes_on: impl FnMut() -> bool,
) -> Result<Timeline, Fault> {
    let (mut happened, mut is_over) = (Vec::new(), false);
    let next = read(disk, from, |entry| {
        let effects: Vec<Effect> = entry.effects.iter().filter(|effect| is_of(effect, slot)).cloned().collect();
        let begins = effects.iter().any(|effect| matches!(effect, Effect::Opened { .. }));
        // The slot is another session's.
        let is_next = begins && entry.sequence > from;
        is_over = is_next || effects.iter().any(|effect| matches!(effect, Effect::Forgotten { .. }));
        if !is_next && !effects.is_empty() {
            happened.push(of(&entry, effects));
        }
        let stops = is_over
            || happened.len() >= most
            || entry.sequence - from >= HISTORY_ENTRIES_MAX
            || (entry.sequence % ASK_EVERY == 0 && !goes_on());
        if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(Timeline { happened, next: (!is_over).then_some((slot, next)) })
}

fn of(entry: &Entry, effects: Vec<Effect>) -> Happened {
    Happened { sequence: entry.sequence, at: entry.at, effects }
}

fn is_of(effect: &Effect, of: u32) -> bool {
    let of_refunds = matches!(effect, Effect::Refundable { .. } | Effect::Refunded { .. });
    !of_refunds && effect.slot() == Some(of)
}
