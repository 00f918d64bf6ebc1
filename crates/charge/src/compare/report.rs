//! Where calls and lines differ, and what money hangs on it.

use super::clock::Clock;
use super::cover::{Blind, Cover, Settled};
use super::pairs::{Found, Pairs};
use super::{BillLine, Rules, Seen, WireCall};
use crate::money::MICROS;
use crate::rate::price_of_call;

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
}

impl Kind {
    /// All of them, with their names.
    pub const ALL: [(Kind, &'static str); 8] = [
        (Kind::NotBilled, "not-billed"),
        (Kind::NotOnWire, "not-on-wire"),
        (Kind::Longer, "longer"),
        (Kind::Shorter, "shorter"),
        (Kind::Twice, "twice"),
        (Kind::OtherNumber, "other-number"),
        (Kind::OtherAmount, "other-amount"),
        (Kind::Unanswered, "unanswered"),
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
    /// Who called, or who was called, is not told.
    NoNumbers,
}

impl Why {
    /// What to say.
    pub fn text(self) -> &'static str {
        match self {
            Why::Silent => "nothing at all was captured then",
            Why::Lost => "the capture lost packets then",
            Why::NoEnd => "the end of the call was not seen",
            Why::Partly => "the call was seen in part: neither an answer nor a refusal",
            Why::NoNumbers => "a number is not told",
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
    pub sums: [Sum; 8],
    /// Lines that agree with their call.
    pub agreed: u64,
    /// Calls that were answered and count.
    pub answered: u64,
    /// Calls that are another leg of one that has its line.
    pub legs: u64,
    /// Calls that nobody answered and nobody billed.
    pub unanswered: u64,
    /// Lines of the span.
    pub billed: u64,
    /// What they ask for, millionths.
    pub asked: i64,
    /// Lines that ask for something the tariff has no price for.
    pub unpriced: u64,
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

    /// When the call of a line began, by our clock.
    fn begin(&self, line: usize, pairs: &Pairs) -> i64 {
        let own = self.lines[line].begin.saturating_sub(self.clock.ahead);
        match pairs.lines[line] {
            Found::Call(call) | Found::Renumbered(call) | Found::Unanswered(call) => self.calls[call as usize].start,
            Found::Twice(other) if other as usize != line => self.begin(other as usize, pairs),
            Found::Twice(_) | Found::Nothing => own,
        }
    }

    /// When a difference was, milliseconds since 1970: by our clock.
    pub fn at(&self, finding: &Finding) -> i64 {
        let call = finding.call.map(|at| self.calls[at as usize].start);
        let line = finding.line.map(|at| self.lines[at as usize].begin.saturating_sub(self.clock.ahead));
        call.or(line).unwrap_or_default()
    }
}

struct Making<'a> {
    report: Report,
    rules: &'a Rules<'a>,
    cover: Settled,
}

/// Makes the report.
pub(super) fn report(
    calls: Vec<WireCall>,
    lines: Vec<BillLine>,
    rules: &Rules<'_>,
    clock: Clock,
    pairs: &Pairs,
    cover: &Cover,
    span: (i64, i64),
) -> Report {
    let report = Report {
        calls,
        lines,
        findings: Vec::new(),
        sums: [Sum::default(); 8],
        agreed: 0,
        answered: 0,
        legs: 0,
        unanswered: 0,
        billed: 0,
        asked: 0,
        unpriced: 0,
        clock,
        inexact: pairs.inexact,
    };
    let mut making = Making { report, rules, cover: cover.settled() };
    let lies_in = |at: i64| (span.0..span.1).contains(&at);
    for (at, found) in pairs.lines.iter().enumerate() {
        if lies_in(making.report.begin(at, pairs)) {
            making.line(at as u32, *found);
        }
    }
    for (at, line) in pairs.calls.iter().enumerate() {
        if lies_in(making.report.calls[at].start) {
            making.call(at as u32, line.is_some(), pairs.legs[at]);
        }
    }
    let mut report = making.report;
    let mut findings = std::mem::take(&mut report.findings);
    findings.sort_by_key(|one| (report.at(one), one.line, one.call, one.kind));
    report.findings = findings;
    report
}

impl Making<'_> {
    fn call(&mut self, at: u32, has_line: bool, is_leg: bool) {
        let call = self.report.calls[at as usize];
        let answered = matches!(call.seen, Seen::Whole | Seen::Open);
        self.report.answered += u64::from(answered && !is_leg);
        self.report.legs += u64::from(is_leg);
        self.report.unanswered += u64::from(!answered && !has_line);
        if !answered || has_line || is_leg {
            return;
        }
        let price = self.price(call.called, call.answer, self.rules.billed(call.duration));
        let unsure = match call.seen {
            Seen::Open => Some(Why::NoEnd),
            _ if call.caller == super::Party::NONE || call.called == super::Party::NONE => Some(Why::NoNumbers),
            _ => None,
        };
        // A call that may have been without length need not be billed.
        if unsure.is_none() && self.rules.billed(call.duration.saturating_sub(self.rules.duration)) == 0 {
            return;
        }
        let dispute = price.map(|price| -price);
        self.note(Finding { kind: Kind::NotBilled, call: Some(at), line: None, other: None, dispute, price, unsure });
    }

    fn line(&mut self, at: u32, found: Found) {
        let line = self.report.lines[at as usize];
        let price = self.price(line.called, line.begin - self.report.clock.ahead, seconds(line.duration));
        let finding =
            |kind, call, dispute, unsure| Finding { kind, call, line: Some(at), other: None, dispute, price, unsure };
        self.report.billed += 1;
        self.report.asked = self.report.asked.saturating_add(line.amount.unwrap_or(0));
        self.report.unpriced += u64::from(self.rules.plan.is_some() && price.is_none());
        match found {
            Found::Nothing => {
                let unsure = self.unseen(&line);
                self.note(finding(Kind::NotOnWire, None, line.amount, unsure));
            }
            Found::Twice(other) => {
                self.note(Finding { other: Some(other), ..finding(Kind::Twice, None, line.amount, None) });
            }
            Found::Unanswered(call) => {
                let seen = self.report.calls[call as usize].seen;
                let unsure = (seen == Seen::Unclear).then_some(Why::Partly);
                self.note(finding(Kind::Unanswered, Some(call), line.amount, unsure));
            }
            Found::Call(call) | Found::Renumbered(call) => self.pair(at, call, price, matches!(found, Found::Call(_))),
        }
    }

    /// A line and its call.
    fn pair(&mut self, at: u32, call_at: u32, price: Option<i64>, by_number: bool) {
        let (line, call) = (self.report.lines[at as usize], self.report.calls[call_at as usize]);
        let before = self.report.findings.len();
        let finding = |kind, dispute, unsure| Finding {
            kind,
            call: Some(call_at),
            line: Some(at),
            other: None,
            dispute,
            price,
            unsure,
        };
        let differs = (line.caller, line.called) != (call.caller, call.called);
        // A line that names the call by its reference need not name numbers.
        let told = line.caller != super::Party::NONE && line.called != super::Party::NONE;
        if !by_number || (differs && told) {
            self.note(finding(Kind::OtherNumber, Some(0), None));
        }
        let (least, most) = self.rules.lengths(&call);
        let open = (call.seen == Seen::Open).then_some(Why::NoEnd);
        if line.duration > most {
            let dispute = self.for_length(&line, &call);
            self.note(finding(Kind::Longer, dispute, open));
        } else if line.duration < least {
            let dispute = self.for_length(&line, &call);
            self.note(finding(Kind::Shorter, dispute, None));
        }
        if let (Some(amount), Some(price)) = (line.amount, price) {
            if amount.saturating_sub(price).abs() >= MICROS {
                self.note(finding(Kind::OtherAmount, Some(amount - price), None));
            }
        }
        self.report.agreed += u64::from(self.report.findings.len() == before);
    }

    /// What is asked for seconds that were not there; below zero, what is not asked for some that were.
    fn for_length(&self, line: &BillLine, call: &WireCall) -> Option<i64> {
        let (billed, was) = (seconds(line.duration), self.rules.billed(call.duration));
        let at = call.answer;
        if let (Some(asked), Some(right)) = (self.price(line.called, at, billed), self.price(line.called, at, was)) {
            return Some(asked - right);
        }
        // Without a tariff: the part of the amount that the seconds have in it.
        let amount = i128::from(line.amount?);
        Some((amount * i128::from(billed - was) / i128::from(billed.max(1))) as i64)
    }

    fn price(&self, called: super::Party, at: i64, seconds: i64) -> Option<i64> {
        let digits = called.digits()?;
        price_of_call(self.rules.plan?, &digits, at.div_euclid(1000), seconds.max(0) as u64)
    }

    /// Why a line that has no call may have had one.
    fn unseen(&self, line: &BillLine) -> Option<Why> {
        let (begin, clock) = (line.begin.saturating_sub(self.report.clock.ahead), self.rules.begin);
        if line.caller == super::Party::NONE || line.called == super::Party::NONE {
            return Some(Why::NoNumbers);
        }
        let blind = self.cover.blind(begin.saturating_sub(clock), begin.saturating_add(clock))?;
        Some(if blind == Blind::Silent { Why::Silent } else { Why::Lost })
    }

    fn note(&mut self, finding: Finding) {
        let sum = &mut self.report.sums[finding.kind as usize];
        let money = finding.dispute.unwrap_or(0);
        if finding.unsure.is_some() {
            sum.unsure += 1;
            sum.unsure_money = sum.unsure_money.saturating_add(money.abs());
        } else {
            sum.count += 1;
            sum.over = sum.over.saturating_add(money.max(0));
            sum.under = sum.under.saturating_add((-money).max(0));
        }
        self.report.findings.push(finding);
    }
}

/// Whole seconds, a started one counted.
fn seconds(ms: i64) -> i64 {
    ms.max(0).saturating_add(999) / 1000
}
