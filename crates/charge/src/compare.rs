//! Wire against bill: calls that were seen, beside lines of a bill or of what was charged online.
//!
//! [`compare`] pairs calls with lines and says where they differ. All of it is in memory and depends on its input
//! alone: the same calls and lines, in any order, give the same report. A call with its line has some 370 octets at the
//! peak, a difference of it among them, and where many calls between the same numbers begin at once up to three
//! kilobytes, for each is held against [`CANDIDATES_MAX`] lines. More than [`ITEMS_MAX`] of either are refused.
//!
//! # How a line finds its call
//!
//! In steps, each among what the ones before left over. Within a step it is the greatest number of pairs, and of those
//! the one that lies closest in time and length (`assign`).
//!
//! 1. The reference: a Call-ID that the line names.
//! 2. Both numbers, and a begin within the tolerance.
//! 3. A line like one that has its call: the same numbers, while that one was still up. It was billed **twice**.
//! 4. Calls that begin and end with another of the same numbers, or the same Call-ID: another **leg** or copy of it,
//!    which nobody bills. The one that has a line counts, else the first.
//! 5. One number, begin and length: the **other number** differs.
//! 6. Both numbers of a call that nobody answered.
//!
//! What is left of lines was **not on the wire**, what is left of calls was **not billed**, unless nobody can say so
//! ([`Why`]).

mod assign;
mod bill;
mod clock;
mod cover;
mod making;
mod pairs;
mod parties;
mod profile;
mod report;
mod when;

pub use assign::{CANDIDATES_MAX, EXACT_MAX};
pub use bill::{BillReader, LINE_OCTETS_MAX, Unread};
pub use clock::{Basis, Clock};
pub use cover::{Cover, GAPS_MAX};
pub use pairs::LEG_MS;
pub use parties::{NAMES_MAX, Parties, Party};
pub use profile::{
    AmountUnit, BillSection, DateOrder, DurationUnit, PROFILE_OCTETS_MAX, Profile, read as read_profile,
};
pub use report::{Finding, KINDS, Kind, Report, Sum, Why};

use crate::tariff::Plan;
use trunkline_kit::Id;

/// Calls or lines of a report.
// Limit: calls, or lines, of one reconciliation
// Beyond: the reconciliation is refused
// Seen in: the error message
pub const ITEMS_MAX: usize = 5_000_000;

/// What was seen of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It was answered and has ended.
    Whole,
    /// It was answered; its end was not seen, or has not come yet.
    Open,
    /// Nobody answered: its final response was seen.
    Refused,
    /// Neither an answer nor a final response was seen, or not all that was on the wire.
    Unclear,
}

/// Whether a call has to have a line. Of legs of a call what comes last here counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owed {
    /// It was not asked for: neither the call nor its line is told.
    LeftOut,
    /// Nobody here pays for it: it came from outside.
    No,
    /// Who pays is not known.
    Unknown,
    /// It has to have one.
    Yes,
}

/// A call of the wire. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireCall {
    /// Its identifier.
    pub id: Id,
    /// Who called.
    pub caller: Party,
    /// Who was called.
    pub called: Party,
    /// Its first message.
    pub start: i64,
    /// When it was answered; of a call that was not, its first message.
    pub answer: i64,
    /// Milliseconds from then to its end, or to the last that was seen of it.
    pub duration: i64,
    /// What was seen of it.
    pub seen: Seen,
    /// Whether it has to have a line.
    pub owed: Owed,
    /// Its Call-ID ([`Parties::reference`]).
    pub reference: u64,
}

/// A line of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BillLine {
    /// Where it stands: the line of the file, from 1 on, or what else the caller finds it by.
    pub line: u32,
    /// Who called.
    pub caller: Party,
    /// Who was called.
    pub called: Party,
    /// When it began, milliseconds since 1970.
    pub begin: i64,
    /// How long it was, milliseconds.
    pub duration: i64,
    /// What is asked for it, millionths of a minor unit; none where the bill does not say.
    pub amount: Option<i64>,
    /// The Call-ID that it names ([`Parties::reference`]); 0 is none.
    pub reference: u64,
}

/// What counts as the same.
#[derive(Clone, Debug)]
pub struct Rules<'a> {
    /// How far begins may be apart, milliseconds.
    pub begin: i64,
    /// How far lengths may be apart, milliseconds.
    pub duration: i64,
    /// Seconds of the first step that is billed.
    pub first: u64,
    /// Seconds of the steps after it.
    pub step: u64,
    /// How much the bill's clock is ahead, milliseconds; none: it is measured.
    pub ahead: Option<i64>,
    /// What the lines should cost; none: amounts are not looked at.
    pub plan: Option<&'a Plan>,
    /// The Rating-Group that calls have in it.
    pub rating_group: Option<u32>,
    /// Whether the span is by the bill's clock: it is shifted as far as that one is ahead.
    pub span_of_bill: bool,
}

/// Why nothing was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undone {
    /// There is too much.
    #[error("more than {ITEMS_MAX} {0}: compare a shorter time")]
    TooMuch(&'static str),
    /// Nobody waits for it any more.
    #[error("it was given up")]
    GivenUp,
}

/// Whether it goes on: asked for each call and each line of each step, so that it is to answer at once.
type GoesOn<'a> = &'a dyn Fn() -> bool;

/// An error where it does not.
fn go_on(goes_on: GoesOn<'_>) -> Result<(), Undone> {
    if goes_on() { Ok(()) } else { Err(Undone::GivenUp) }
}

/// Compares calls with lines. Told is what lies in the span: milliseconds since 1970 by our clock, the begin in it, the
/// end not; a call by its answer, or its first message where lines count from there, a line by its call. Calls and
/// lines that lie beyond it by the tolerance ([`Rules::begin`]) and the clock's difference have to be there, too, so
/// that those at its ends find each other. With [`Rules::span_of_bill`] the span is by the bill's clock.
///
/// `goes_on` is asked all the time: soon after it says no it ends.
///
/// # Errors
/// There are more than [`ITEMS_MAX`] of either, or it was given up.
pub fn compare(
    mut calls: Vec<WireCall>,
    mut lines: Vec<BillLine>,
    rules: &Rules<'_>,
    cover: &Cover,
    span: (i64, i64),
    goes_on: &dyn Fn() -> bool,
) -> Result<Report, Undone> {
    for (count, what) in [(calls.len(), "calls"), (lines.len(), "lines")] {
        if count > ITEMS_MAX {
            return Err(Undone::TooMuch(what));
        }
    }
    go_on(goes_on)?;
    calls.sort_unstable_by_key(|call| (call.start, call.id));
    lines.sort_unstable_by_key(|line| (line.begin, line.line));
    let clock = clock::measure(&calls, &lines, rules.ahead);
    let pairs = pairs::pair(&calls, &lines, rules, &clock, goes_on)?;
    let shift = if rules.span_of_bill { clock.ahead } else { 0 };
    let span = (span.0.saturating_sub(shift), span.1.saturating_sub(shift));
    making::report((calls, lines), rules, clock, &pairs, cover, span, goes_on)
}

impl Rules<'_> {
    /// Seconds that are billed for so many milliseconds.
    pub fn billed(&self, duration: i64) -> i64 {
        let (first, step) = (self.first.max(1) as i64, self.step.max(1) as i64);
        let seconds = duration.max(0).saturating_add(999) / 1000;
        let beyond = (seconds - first).max(0);
        if seconds == 0 { 0 } else { first.saturating_add(beyond.saturating_add(step - 1) / step * step) }
    }

    /// Milliseconds that a line may say for a call: from, to.
    pub(crate) fn lengths(&self, call: &WireCall) -> (i64, i64) {
        let least = self.billed(call.duration.saturating_sub(self.duration)).saturating_mul(1000);
        let most = self.billed(call.duration.saturating_add(self.duration)).saturating_mul(1000);
        // A bill that does not round says less than a started step.
        let exact = call.duration.saturating_sub(self.duration).max(0);
        (if self.first.max(self.step) <= 1 { exact.min(least) } else { least }, most)
    }

    /// How far a line's length is from what it may be, milliseconds.
    pub(crate) fn length_apart(&self, call: &WireCall, line: &BillLine) -> i64 {
        let (least, most) = self.lengths(call);
        (least - line.duration).max(line.duration - most).max(0)
    }
}
