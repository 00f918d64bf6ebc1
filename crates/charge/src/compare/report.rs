//! Where calls and lines differ, and what money hangs on it.

use super::clock::Clock;
use super::{BillLine, WireCall};

/// Kinds of differences.
pub const KINDS: usize = 9;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A call has no line.
    NotBilled,
    /// A line has no call.
    NotOnWire,
    /// The line is longer than the call.
    Longer,
    /// The line is shorter than the call.
    Shorter,
    /// Another line is for the same call.
    Twice,
    /// One of the numbers is another.
    OtherNumber,
    /// The line asks for another amount than the tariff gives.
    OtherAmount,
    /// A line is for a call that nobody answered.
    Unanswered,
    /// The line asks for something, and the tariff has no price for its number.
    NoPrice,
}

impl Kind {
    /// All of them, with their names.
    pub const ALL: [(Kind, &'static str); KINDS] = [
        (Kind::NotBilled, "not-billed"),
        (Kind::NotOnWire, "not-on-wire"),
        (Kind::Longer, "longer"),
        (Kind::Shorter, "shorter"),
        (Kind::Twice, "twice"),
        (Kind::OtherNumber, "other-number"),
        (Kind::OtherAmount, "other-amount"),
        (Kind::Unanswered, "unanswered"),
        (Kind::NoPrice, "no-price"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Why it cannot be said that something differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing at all was seen at that time: nothing was captured.
    Silent,
    /// The capture lost packets at that time.
    Lost,
    /// The end of the call was not seen, or has not come.
    NoEnd,
    /// The call was seen in part, in one direction perhaps: neither an answer nor a refusal.
    Partly,
    /// Who called, or who was called, is not told or not understood; or something of which it is not lies close by.
    NoNumbers,
    /// Who would have to pay for the call is not known.
    NoPayer,
}

impl Why {
    /// What to say.
    pub fn text(self) -> &'static str {
        match self {
            Why::Silent => "nothing at all was captured then",
            Why::Lost => "the capture lost packets then",
            Why::NoEnd => "the end of the call was not seen",
            Why::Partly => "the call was seen in part: neither an answer nor a refusal",
            Why::NoNumbers => "a number is not told, or not understood",
            Why::NoPayer => "who pays for the call is not known",
        }
    }

    /// A short stable name.
    pub fn name(self) -> &'static str {
        match self {
            Why::Silent => "silent",
            Why::Lost => "lost",
            Why::NoEnd => "no-end",
            Why::Partly => "partly",
            Why::NoNumbers => "no-numbers",
            Why::NoPayer => "no-payer",
        }
    }
}

/// A difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What differs.
    pub kind: Kind,
    /// The call: its place in [`Report::calls`].
    pub call: Option<u32>,
    /// The line: its place in [`Report::lines`].
    pub line: Option<u32>,
    /// The other line for the same call.
    pub other: Option<u32>,
    /// Money in dispute, millionths: what was asked for too much; below zero, too little. None where nobody can say.
    pub dispute: Option<i64>,
    /// What it should cost, millionths, where there is a tariff that has a price.
    pub price: Option<i64>,
    /// Why it cannot be said; none: it can.
    pub unsure: Option<Why>,
}

/// Differences of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub count: u64,
    /// Money that was asked for too much, millionths.
    pub over: i64,
    /// Money that was asked for too little, or not at all.
    pub under: i64,
    /// Those of which nobody can say so; they are not in the figures above.
    pub unsure: u64,
    /// Money that hangs on them, either way.
    pub unsure_money: i64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// Calls in order of time.
    pub calls: Vec<WireCall>,
    /// Lines in order of time.
    pub lines: Vec<BillLine>,
    /// Where they differ, in order of time.
    pub findings: Vec<Finding>,
    /// By kind, as [`Kind::ALL`].
    pub sums: [Sum; KINDS],
    /// Lines that agree with their call.
    pub agreed: u64,
    /// Calls that were answered and count.
    pub answered: u64,
    /// Calls that are another leg or a copy of one that counts.
    pub legs: u64,
    /// Calls that were answered and need no line, because nobody here pays for them.
    pub unowed: u64,
    /// Calls that were answered and need no line, because they may have been without length.
    pub exempt: u64,
    /// Calls that were answered, and lines, with digits that no rule for numbers covers.
    pub not_understood: (u64, u64),
    /// Calls that nobody answered and nobody billed.
    pub unanswered: u64,
    /// Lines of the span.
    pub billed: u64,
    /// Of these, lines without length and amount: calls that nobody answered, and nothing to pay.
    pub attempts: u64,
    /// Lines beyond the span.
    pub outside: u64,
    /// Lines of the span whose call was not asked for.
    pub left_out: u64,
    /// What they ask for, millionths.
    pub asked: i64,
    /// Lines that ask for something the tariff has no price for.
    pub unpriced: u64,
    /// Lines whose amount is off by less than counts as a difference, and by how much in all, millionths.
    pub deviations: (u64, i64),
    /// The span by our clock, milliseconds since 1970.
    pub span: (i64, i64),
    /// The clock of the bill.
    pub clock: Clock,
    /// Candidates that were too many at once to find the best of all ways.
    pub inexact: u64,
}

impl Report {
    /// Differences that are certain.
    pub fn certain(&self) -> u64 {
        self.sums.iter().map(|sum| sum.count).sum()
    }

    /// What may differ, and nobody can say.
    pub fn unsure(&self) -> u64 {
        self.sums.iter().map(|sum| sum.unsure).sum()
    }

    /// When a difference was, milliseconds since 1970: by our clock.
    pub fn at(&self, finding: &Finding) -> i64 {
        let call = finding.call.map(|at| self.calls[at as usize].start);
        let line = finding.line.map(|at| self.lines[at as usize].begin.saturating_sub(self.clock.ahead));
        call.or(line).unwrap_or_default()
    }
}
