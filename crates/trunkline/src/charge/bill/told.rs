//! What was found, in the words that commands, files and the API share.

use super::compared::Compared;
use super::rated::{End, Told};
use serde_json::{Value, json};
use trunkline_charge::compare::{BillLine, Finding, Seen, WireCall};
use trunkline_charge::money::Price;
use trunkline_charge::session::CallRated;
use trunkline_store::time::rfc3339;

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
pub fn finding(of: &Compared, one: &Finding) -> Value {
    let report = &of.report;
    let call = one.call.map(|at| call(of, &report.calls[at as usize]));
    let bill = |at: Option<u32>| at.map(|at| line(of, &report.lines[at as usize]));
    json!({
        "kind": one.kind.name(), "at": time(report.at(one)), "sure": one.unsure.is_none(),
        "why": one.unsure.map(|why| why.name()), "call": call, "line": bill(one.line), "other": bill(one.other),
        "dispute_micros": one.dispute, "price_micros": one.price,
    })
}

fn call(of: &Compared, call: &WireCall) -> Value {
    json!({
        "id": call.id.to_string(), "caller": of.parties.text(call.caller), "called": of.parties.text(call.called),
        "start": time(call.start), "answer": matches!(call.seen, Seen::Whole | Seen::Open).then(|| time(call.answer)),
        "duration_ms": call.duration, "seen": seen(call.seen),
    })
}

fn line(of: &Compared, line: &BillLine) -> Value {
    let session = of.sessions.get(line.line as usize);
    json!({
        "line": session.is_none().then_some(line.line), "session": session, "caller": of.parties.text(line.caller),
        "called": of.parties.text(line.called), "begin": time(line.begin), "duration_ms": line.duration,
        "amount_micros": line.amount,
    })
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
pub fn rated(told: &Told) -> Value {
    let (outcome, money) = outcome(&told.end);
    let price = if let End::Rated(CallRated::Priced(price)) = &told.end { Some(price) } else { None };
    let account = match &told.end {
        End::Rated(CallRated::NoRule { account } | CallRated::Blocked { account, .. }) => Some(*account),
        _ => price.map(|price| price.account),
    };
    let rule = match &told.end {
        End::Rated(CallRated::Blocked { rule, .. }) => Some(rule.as_str()),
        _ => price.map(|price| price.rule.as_str()),
    };
    json!({
        "call": told.id.to_string(), "caller": told.caller, "called": told.called, "answer": rfc3339(told.answer_ns),
        "seconds": told.seconds, "outcome": outcome, "account": account, "rule": rule, "money": money,
        "plan": price.map(|price| &*price.plan), "plan_version": price.map(|price| price.version),
        "currency": price.map(|price| &*price.currency), "bundle_seconds": price.map(|price| price.bundle_units),
        "complete": told.complete,
    })
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
