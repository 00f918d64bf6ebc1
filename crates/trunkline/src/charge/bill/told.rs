//! What was found, in the words that commands, files and the API share.

use super::compared::Compared;
use super::rated::{End, Told};
use trunkline_charge::compare::{Basis, BillLine, Clock, Finding, Kind, Seen, Sum, Unread, WireCall};
use trunkline_charge::money::Price;
use trunkline_charge::session::CallRated;
use trunkline_store::time::rfc3339;
use trunkline_web::sources::{
    ChargeCompared, ChargeComparedBlind, ChargeComparedClock, ChargeComparedDeviations, ChargeComparedKind,
    ChargeComparedTime, ChargeComparedUnread, ChargeComparedVague, ChargeDifference, ChargeDifferenceCall,
    ChargeDifferenceLine, ChargeRatedCall,
};

/// Minor units with up to six places.
pub fn minor(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}", Price(micros.saturating_abs()))
}

/// A time that is told in milliseconds.
pub fn time(ms: i64) -> String {
    rfc3339(ms.saturating_mul(super::MS))
}

/// What was seen of a call.
pub fn seen(seen: Seen) -> &'static str {
    match seen {
        Seen::Whole => "whole",
        Seen::Open => "open",
        Seen::Refused => "refused",
        Seen::Unclear => "unclear",
    }
}

/// A difference.
pub fn finding(of: &Compared, one: &Finding) -> ChargeDifference {
    let report = &of.report;
    let bill = |at: Option<u32>| at.map(|at| line(of, &report.lines[at as usize]));
    ChargeDifference {
        kind: one.kind.name().to_owned(),
        at: time(report.at(one)),
        sure: one.unsure.is_none(),
        why: one.unsure.map(|why| why.name().to_owned()),
        call: one.call.map(|at| call(of, &report.calls[at as usize])),
        line: bill(one.line),
        other: bill(one.other),
        dispute_micros: one.dispute,
        price_micros: one.price,
    }
}

fn call(of: &Compared, call: &WireCall) -> ChargeDifferenceCall {
    ChargeDifferenceCall {
        id: call.id.to_string(),
        caller: of.parties.text(call.caller),
        called: of.parties.text(call.called),
        start: time(call.start),
        answer: matches!(call.seen, Seen::Whole | Seen::Open).then(|| time(call.answer)),
        duration_ms: call.duration,
        seen: seen(call.seen).to_owned(),
    }
}

fn line(of: &Compared, line: &BillLine) -> ChargeDifferenceLine {
    let session = of.sessions.get(line.line as usize).map(ToString::to_string);
    ChargeDifferenceLine {
        line: session.is_none().then_some(line.line),
        session,
        caller: of.parties.text(line.caller),
        called: of.parties.text(line.called),
        begin: time(line.begin),
        duration_ms: line.duration,
        amount_micros: line.amount,
    }
}

/// What came of it in all.
pub fn sums(of: &Compared) -> ChargeCompared {
    let report = &of.report;
    let unread = |line: &Unread| ChargeComparedUnread { line: line.line, what: line.what.clone() };
    ChargeCompared {
        from: time(of.span_ns.0 / super::MS),
        to: time(of.span_ns.1 / super::MS),
        kinds: Kind::ALL.iter().map(|(kind, name)| sum(name, &report.sums[*kind as usize])).collect(),
        calls: report.answered,
        lines: report.billed,
        agreed: report.agreed,
        legs: report.legs,
        unanswered: report.unanswered,
        unowed: report.unowed,
        exempt: report.exempt,
        attempts: report.attempts,
        outside: report.outside,
        left_out: report.left_out,
        not_understood: ChargeComparedVague { calls: report.not_understood.0, lines: report.not_understood.1 },
        deviations: ChargeComparedDeviations { lines: report.deviations.0, micros: report.deviations.1 },
        asked_micros: report.asked,
        unpriced: report.unpriced,
        unread: of.unread_count,
        clock: clock(&report.clock),
        blind: ChargeComparedBlind { stretches: of.blind.0 as u64, milliseconds: of.blind.1 },
        captured: of.captured.map(|(first, last)| ChargeComparedTime { from: time(first), to: time(last) }),
        inexact: report.inexact,
        currency: of.currency.clone(),
        decimals: of.decimals,
        unread_lines: of.unread.iter().map(unread).collect(),
        skipped: of.skipped.iter().map(|day| day.why.clone()).collect(),
    }
}

fn sum(kind: &str, of: &Sum) -> ChargeComparedKind {
    let Sum { count, over, under, unsure, unsure_money } = *of;
    let kind = kind.to_owned();
    ChargeComparedKind { kind, count, over_micros: over, under_micros: under, unsure, unsure_micros: unsure_money }
}

fn clock(clock: &Clock) -> ChargeComparedClock {
    let basis = match clock.basis {
        Basis::Answer => "answer",
        Basis::Start => "start",
        Basis::Either => "either",
    };
    ChargeComparedClock {
        ahead_ms: clock.ahead,
        basis: basis.to_owned(),
        pairs: clock.pairs as u64,
        spread_ms: clock.spread,
        given: clock.given,
    }
}

/// What a rated call is, in a word, and what it costs if it has a price.
pub fn outcome(end: &End) -> (&'static str, Option<i64>) {
    match end {
        End::Open => ("open", None),
        End::NotUnderstood(_) => ("not-understood", None),
        End::Leg => ("leg", None),
        End::Rated(CallRated::NobodyPays) => ("nobody-pays", None),
        End::Rated(CallRated::NoRule { .. }) => ("no-rule", None),
        End::Rated(CallRated::Blocked { .. }) => ("blocked", None),
        End::Rated(CallRated::Priced(price)) => ("priced", Some(price.money.0)),
    }
}

/// A rated call.
pub fn rated(told: &Told) -> ChargeRatedCall {
    let (outcome, money) = outcome(&told.end);
    let price = if let End::Rated(CallRated::Priced(price)) = &told.end { Some(price) } else { None };
    let rule = match &told.end {
        End::Rated(CallRated::Blocked { rule, .. }) => Some(rule),
        _ => price.map(|price| &price.rule),
    };
    let payer = told.payer.as_ref().filter(|_| !matches!(told.end, End::Leg));
    let plan = payer.and_then(|payer| payer.plan.as_ref());
    let destination = told.destination.as_ref().filter(|_| payer.is_some());
    let unread = if let End::NotUnderstood(number) = &told.end { Some(number) } else { None };
    ChargeRatedCall {
        call: told.id.to_string(),
        caller: told.caller.clone(),
        called: told.called.clone(),
        answer: rfc3339(told.answer_ns),
        seconds: told.seconds,
        outcome: outcome.to_owned(),
        not_understood: unread.cloned(),
        account: payer.map(|payer| payer.account),
        rule: rule.cloned(),
        destination: destination.map(|(name, _)| name.clone()),
        prefix: destination.map(|(_, prefix)| prefix.clone()),
        money,
        plan: plan.map(|(name, _)| name.to_string()),
        plan_version: plan.map(|(_, version)| *version).filter(|version| *version > 0),
        currency: payer.and_then(|payer| payer.currency.as_ref()).map(ToString::to_string),
        bundle_seconds: price.map(|price| price.bundle_units),
        complete: told.complete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_below_zero_has_one_sign() {
        for (micros, text) in [(0, "0"), (1_500_000, "1.5"), (-1_500_000, "-1.5"), (-1, "-0.000001")] {
            assert_eq!(minor(micros), text);
        }
    }
}
