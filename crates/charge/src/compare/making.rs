//! How a report is made of what was paired.

use super::clock::Clock;
use super::cover::{Blind, Cover, Settled};
use super::pairs::{Found, Pairs};
use super::report::{Finding, KINDS, Kind, Report, Sum, Why};
use super::{BillLine, GoesOn, Owed, Party, Rules, Seen, Undone, WireCall, go_on};
use crate::money::MICROS;
use crate::rate::price_of_call;
use crate::tariff::Context;

/// What is looked at beside a call or a line, of what has numbers that are not understood.
const VAGUE_MAX: usize = 1000;

struct Making<'a> {
    report: Report,
    rules: &'a Rules<'a>,
    cover: Settled,
    /// What amounts are told apart by, millionths.
    precision: i64,
    /// Calls and lines that found nothing and have numbers that are not understood: when, and which, in order of time.
    vague_calls: Vec<(i64, u32)>,
    vague_lines: Vec<(i64, u32)>,
}

/// Makes the report of a span by our clock.
///
/// # Errors
/// It was given up.
pub(super) fn report(
    (calls, lines): (Vec<WireCall>, Vec<BillLine>),
    rules: &Rules<'_>,
    clock: Clock,
    pairs: &Pairs,
    cover: &Cover,
    span: (i64, i64),
    goes_on: GoesOn<'_>,
) -> Result<Report, Undone> {
    let precision = precision(&lines);
    let report = Report { inexact: pairs.inexact, ..empty(calls, lines, clock, span) };
    let (cover, vague_calls, vague_lines) = (cover.settled(), Vec::new(), Vec::new());
    let mut making = Making { report, rules, cover, precision, vague_calls, vague_lines };
    making.prepare(pairs);
    let lies_in = |at: i64| (span.0..span.1).contains(&at);
    for (at, found) in pairs.lines.iter().enumerate() {
        go_on(goes_on)?;
        if !lies_in(making.begin(at, pairs)) {
            making.report.outside += 1;
        } else if making.is_asked_for(*found, pairs) {
            making.line(at as u32, *found, call_of(*found, pairs));
        } else {
            making.report.left_out += 1;
        }
    }
    for (at, line) in pairs.calls.iter().enumerate() {
        go_on(goes_on)?;
        let call = &making.report.calls[at];
        if call.owed != Owed::LeftOut && lies_in(clock.begin(call)) {
            making.call(at as u32, line.is_some(), pairs.legs[at]);
        }
    }
    let mut report = making.report;
    let mut findings = std::mem::take(&mut report.findings);
    findings.sort_by_key(|one| (report.at(one), one.line, one.call, one.kind));
    report.findings = findings;
    Ok(report)
}

fn empty(calls: Vec<WireCall>, lines: Vec<BillLine>, clock: Clock, span: (i64, i64)) -> Report {
    Report {
        calls,
        lines,
        findings: Vec::new(),
        sums: [Sum::default(); KINDS],
        agreed: 0,
        answered: 0,
        legs: 0,
        unowed: 0,
        exempt: 0,
        not_understood: (0, 0),
        unanswered: 0,
        billed: 0,
        attempts: 0,
        outside: 0,
        left_out: 0,
        asked: 0,
        unpriced: 0,
        deviations: (0, 0),
        span,
        clock,
        inexact: 0,
    }
}

/// A minor unit, or the part of it that the bill writes.
fn precision(lines: &[BillLine]) -> i64 {
    let mut finest = MICROS;
    for amount in lines.iter().filter_map(|line| line.amount) {
        while amount % finest != 0 {
            finest /= 10;
        }
    }
    finest
}

impl Making<'_> {
    fn prepare(&mut self, pairs: &Pairs) {
        let (calls, clock) = (&mut self.report.calls, &self.report.clock);
        for (leg, counts) in &pairs.of_legs {
            let owed = calls[*leg as usize].owed;
            let counts = &mut calls[*counts as usize].owed;
            *counts = owed.max(*counts);
        }
        let free = |at: usize| pairs.calls[at].is_none() && !pairs.legs[at];
        for (at, call) in calls.iter().enumerate() {
            if free(at) && is_answered(call) && is_vague(call.caller, call.called) {
                let (from, to) = clock.span(call);
                self.vague_calls.push((from, at as u32));
                self.vague_calls.extend((to != from).then_some((to, at as u32)));
            }
        }
        for (at, line) in self.report.lines.iter().enumerate() {
            if pairs.lines[at] == Found::Nothing && is_vague(line.caller, line.called) {
                self.vague_lines.push((line.begin.saturating_sub(clock.ahead), at as u32));
            }
        }
        self.vague_calls.sort_unstable();
    }

    /// When the call of a line began, by our clock.
    fn begin(&self, line: usize, pairs: &Pairs) -> i64 {
        let own = self.report.lines[line].begin.saturating_sub(self.report.clock.ahead);
        let call = call_of(pairs.lines[line], pairs);
        call.map_or(own, |call| self.report.clock.begin(&self.report.calls[call as usize]))
    }

    /// Whether the call of a line was asked for; a line without one always is.
    fn is_asked_for(&self, found: Found, pairs: &Pairs) -> bool {
        call_of(found, pairs).is_none_or(|call| self.report.calls[call as usize].owed != Owed::LeftOut)
    }

    fn call(&mut self, at: u32, has_line: bool, is_leg: bool) {
        let call = self.report.calls[at as usize];
        let counts = is_answered(&call) && !is_leg;
        self.report.answered += u64::from(counts);
        self.report.legs += u64::from(is_leg);
        self.report.unanswered += u64::from(!is_answered(&call) && !has_line);
        self.report.not_understood.0 += u64::from(counts && is_vague(call.caller, call.called));
        if !counts || has_line {
            return;
        }
        if call.owed == Owed::No {
            self.report.unowed += 1;
            return;
        }
        let unsure = self.unbilled(&call);
        // A call that may have been without length need not be billed.
        if unsure.is_none() && self.rules.billed(call.duration.saturating_sub(self.rules.duration)) == 0 {
            self.report.exempt += 1;
            return;
        }
        let price = self.price(call.called, call.answer, self.rules.billed(call.duration));
        let dispute = price.map(|price| -price);
        self.note(Finding { kind: Kind::NotBilled, call: Some(at), line: None, other: None, dispute, price, unsure });
    }

    /// Why a call without a line may have one, or need none.
    fn unbilled(&self, call: &WireCall) -> Option<Why> {
        let begin = self.report.clock.begin(call);
        let fits = |at: u32| self.rules.length_apart(call, &self.report.lines[at as usize]) == 0;
        match call.seen {
            Seen::Open => Some(Why::NoEnd),
            _ if is_untold(call.caller, call.called) => Some(Why::NoNumbers),
            _ if self.is_near(&self.vague_lines, begin, fits) => Some(Why::NoNumbers),
            _ => (call.owed == Owed::Unknown).then_some(Why::NoPayer),
        }
    }

    /// Whether something lies near a moment and fits.
    fn is_near(&self, vague: &[(i64, u32)], begin: i64, fits: impl Fn(u32) -> bool) -> bool {
        let (from, to) = (begin.saturating_sub(self.rules.begin), begin.saturating_add(self.rules.begin));
        let first = vague.partition_point(|(at, _)| *at < from);
        let near = vague[first..].partition_point(|(at, _)| *at <= to);
        near > VAGUE_MAX || vague[first..first + near].iter().any(|(_, at)| fits(*at))
    }

    fn line(&mut self, at: u32, found: Found, call: Option<u32>) {
        let line = self.report.lines[at as usize];
        let price = self.price(line.called, line.begin - self.report.clock.ahead, seconds(line.duration));
        let finding =
            |kind, call, dispute, unsure| Finding { kind, call, line: Some(at), other: None, dispute, price, unsure };
        self.report.billed += 1;
        self.report.asked = self.report.asked.saturating_add(line.amount.unwrap_or(0));
        self.report.unpriced += u64::from(self.rules.plan.is_some() && price.is_none());
        self.report.not_understood.1 += u64::from(is_vague(line.caller, line.called));
        let is_attempt = line.duration == 0 && line.amount.unwrap_or(0) == 0;
        match found {
            Found::Call(call) | Found::Renumbered(call) => self.pair(at, call, price),
            _ if is_attempt => self.report.attempts += 1,
            Found::Nothing => {
                let unsure = self.unseen(&line);
                self.note(finding(Kind::NotOnWire, None, line.amount, unsure));
            }
            Found::Twice(other) => {
                let unsure = self.blind(&line);
                self.note(Finding { other: Some(other), ..finding(Kind::Twice, call, line.amount, unsure) });
            }
            Found::Unanswered(call) => {
                let seen = self.report.calls[call as usize].seen;
                let unsure = if seen == Seen::Unclear { Some(Why::Partly) } else { self.blind(&line) };
                self.note(finding(Kind::Unanswered, Some(call), line.amount, unsure));
            }
        }
    }

    /// A line and its call.
    fn pair(&mut self, at: u32, call_at: u32, price: Option<i64>) {
        let (line, call) = (self.report.lines[at as usize], self.report.calls[call_at as usize]);
        let before = self.report.findings.len();
        let (call_at, line_at) = (Some(call_at), Some(at));
        let finding =
            |kind, dispute, unsure| Finding { kind, call: call_at, line: line_at, other: None, dispute, price, unsure };
        let (least, most) = self.rules.lengths(&call);
        let agrees = (least..=most).contains(&line.duration);
        if differs(line.caller, call.caller) || differs(line.called, call.called) {
            let vague = is_vague(line.caller, line.called) || is_vague(call.caller, call.called);
            let length = if agrees { seconds(line.duration) } else { self.rules.billed(call.duration) };
            let dispute = self.for_number(&line, &call, length);
            self.note(finding(Kind::OtherNumber, dispute, vague.then_some(Why::NoNumbers)));
        }
        if !agrees {
            let dispute = self.for_length(&line, &call);
            let open = (call.seen == Seen::Open).then_some(Why::NoEnd);
            let is_longer = line.duration > most;
            let kind = if is_longer { Kind::Longer } else { Kind::Shorter };
            self.note(finding(kind, dispute, open.filter(|_| is_longer)));
        }
        match (line.amount, price) {
            (Some(amount), Some(price)) if amount.saturating_sub(price).abs() >= self.precision => {
                self.note(finding(Kind::OtherAmount, Some(amount - price), None));
            }
            (Some(amount), Some(price)) => {
                let (count, sum) = &mut self.report.deviations;
                (*count, *sum) = (*count + u64::from(amount != price), *sum + amount - price);
            }
            (Some(_), None) if self.rules.plan.is_some() => {
                let unsure = is_untold(line.called, line.called).then_some(Why::NoNumbers);
                self.note(finding(Kind::NoPrice, None, unsure));
            }
            _ => {}
        }
        self.report.agreed += u64::from(self.report.findings.len() == before);
    }

    /// What is asked for so many seconds to another number.
    fn for_number(&self, line: &BillLine, call: &WireCall, seconds: i64) -> Option<i64> {
        let price = |called| self.price(called, call.answer, seconds);
        Some(price(line.called)? - price(call.called)?)
    }

    /// What is asked for seconds that were not there; below zero, what is not asked for some that were.
    fn for_length(&self, line: &BillLine, call: &WireCall) -> Option<i64> {
        let (billed, was) = (seconds(line.duration), self.rules.billed(call.duration));
        let at = call.answer;
        if let (Some(asked), Some(right)) = (self.price(line.called, at, billed), self.price(line.called, at, was)) {
            return Some(asked - right);
        }
        // Without a tariff: the part of the amount that the seconds have in it.
        let amount = i128::from(line.amount.filter(|_| billed > 0)?);
        i64::try_from(amount * i128::from(billed - was) / i128::from(billed)).ok()
    }

    fn price(&self, called: Party, at: i64, seconds: i64) -> Option<i64> {
        let digits = called.digits()?;
        let context = Context { destination: &digits, rating_group: self.rules.rating_group, ..Context::default() };
        price_of_call(self.rules.plan?, &context, at.div_euclid(1000), seconds.max(0) as u64)
    }

    /// Why a line that has no call may have had one.
    fn unseen(&self, line: &BillLine) -> Option<Why> {
        let begin = line.begin.saturating_sub(self.report.clock.ahead);
        let fits = |at: u32| self.rules.length_apart(&self.report.calls[at as usize], line) == 0;
        if is_untold(line.caller, line.called) || self.is_near(&self.vague_calls, begin, fits) {
            return Some(Why::NoNumbers);
        }
        self.blind(line)
    }

    /// Why a call of a line's time may not have been seen.
    fn blind(&self, line: &BillLine) -> Option<Why> {
        let (begin, clock) = (line.begin.saturating_sub(self.report.clock.ahead), self.rules.begin);
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

/// The call that a line is for.
fn call_of(found: Found, pairs: &Pairs) -> Option<u32> {
    match found {
        Found::Call(call) | Found::Renumbered(call) | Found::Unanswered(call) => Some(call),
        // The other one has its call by its numbers: it is no copy itself.
        Found::Twice(other) => match pairs.lines[other as usize] {
            Found::Call(call) => Some(call),
            _ => None,
        },
        Found::Nothing => None,
    }
}

fn is_answered(call: &WireCall) -> bool {
    matches!(call.seen, Seen::Whole | Seen::Open)
}

fn is_vague(caller: Party, called: Party) -> bool {
    caller.is_not_understood() || called.is_not_understood()
}

/// Whether one of them is not told, or not understood.
fn is_untold(caller: Party, called: Party) -> bool {
    caller == Party::NONE || called == Party::NONE || is_vague(caller, called)
}

/// Whether both are told, and are not the same.
fn differs(a: Party, b: Party) -> bool {
    a != Party::NONE && b != Party::NONE && a != b
}

/// Whole seconds, a started one counted.
fn seconds(ms: i64) -> i64 {
    ms.max(0).saturating_add(999) / 1000
}
