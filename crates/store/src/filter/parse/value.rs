//! The value of a test by the kind of its field. An error is what was expected; the caller knows where.

use super::{Operator, Written};
use crate::filter::error::suggestion;
use crate::filter::field::{Field, Kind, RealField, TextField, WholeField};
use crate::filter::pattern::Pattern;
use crate::filter::quantity;
use crate::filter::test::{Compare, Network, Test};
use crate::time::{SECOND_NS, Zone, parse_span_in};
use trunkline_wire::sip::number::sought;
use trunkline_wire::{Address, Endpoint};

/// Half of the last decimal that is shown: scores and shares are equal if they look equal.
const AS_SHOWN: f64 = 0.0005;

/// The test of a field and a value; `!=` is made like `:`, the caller negates.
pub fn test(field: Field, operator: Operator, written: &Written, zone: Zone<'_>) -> Result<Test, String> {
    let plain = written.plain.as_str();
    Ok(match field {
        Field::Text(field) => Test::Text { field, pattern: text(field, &written.pattern) },
        Field::Name(name) => Test::Named { field: name, names: names(field, written)? },
        Field::Whole(field) => {
            let all = match field {
                WholeField::Code => code(operator, plain)?,
                WholeField::Duration | WholeField::Pdd | WholeField::Setup => seconds(operator, plain)?,
                WholeField::Start => time(operator, plain, zone)?,
            };
            Test::Whole { field, all }
        }
        Field::Real(field) => {
            let all = match field {
                RealField::Mos => score(operator, plain)?,
                RealField::Lost => percent(operator, plain)?,
                RealField::Jitter | RealField::JitterMean => milliseconds(operator, plain)?,
            };
            Test::Real { field, all }
        }
        Field::Address(field) => Test::Host { field, network: network(plain)? },
        Field::Ssrc => Test::Ssrc(ssrc(plain)?),
        Field::Has | Field::Missing => Test::Has(names(field, written)?),
    })
}

/// Numbers are kept without visual separators, and are sought so.
fn text(field: TextField, pattern: &Pattern) -> Pattern {
    match field {
        TextField::Caller | TextField::Callee | TextField::Number => Pattern::parse(&sought(&pattern.text())),
        TextField::CallId | TextField::UserAgent | TextField::Verdict | TextField::Codec => pattern.clone(),
    }
}

/// The names of a field that match, by bit.
fn names(field: Field, written: &Written) -> Result<u32, String> {
    let names = if let Kind::Name(names) = field.kind() { names } else { &[] };
    let matching = names.iter().enumerate().filter(|(_, name)| written.pattern.matches(name));
    let bits = matching.fold(0u32, |bits, (n, _)| bits | 1 << n);
    if bits == 0 {
        return Err(format!("unknown name '{}'{}", written.plain, suggestion(&written.plain, names.iter().copied())));
    }
    Ok(bits)
}

fn code(operator: Operator, text: &str) -> Result<Vec<(Compare, i64)>, String> {
    let expected = || format!("expected a status code, 100 to 699, or a class like 5xx, not '{text}'");
    let class = text.strip_suffix("xx").or(text.strip_suffix("XX")).and_then(|c| c.parse::<i64>().ok());
    let (first, end) = match class {
        Some(class) if text.len() == 3 => (class * 100, class * 100 + 100),
        _ if text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit()) => {
            let code = text.parse::<i64>().map_err(|_| expected())?;
            (code, code + 1)
        }
        _ => return Err(expected()),
    };
    if !(100..700).contains(&first) {
        return Err(expected());
    }
    Ok(span(operator, first, end))
}

fn seconds(operator: Operator, text: &str) -> Result<Vec<(Compare, i64)>, String> {
    let (ns, precision) = quantity::duration(text, SECOND_NS)
        .ok_or_else(|| format!("expected a duration like 60, 1m30s or 250ms, not '{text}'"))?;
    Ok(match operator {
        Operator::Compare(compare) => vec![(compare, ns)],
        _ => vec![(Compare::AtLeast, ns), (Compare::Less, ns.saturating_add(precision))],
    })
}

fn milliseconds(operator: Operator, text: &str) -> Result<Vec<(Compare, f64)>, String> {
    let (ns, _) = quantity::duration(text, 1_000_000)
        .ok_or_else(|| format!("expected a duration like 20ms or 20, not '{text}'"))?;
    Ok(plain(operator, ns as f64 / 1e6))
}

fn percent(operator: Operator, text: &str) -> Result<Vec<(Compare, f64)>, String> {
    let value = quantity::number(text.strip_suffix('%').unwrap_or(text))
        .ok_or_else(|| format!("expected a share like 2% or 0.5%, not '{text}'"))?;
    Ok(plain(operator, value))
}

fn score(operator: Operator, text: &str) -> Result<Vec<(Compare, f64)>, String> {
    let value = quantity::number(text).ok_or_else(|| format!("expected a score like 3.5, not '{text}'"))?;
    // Scores are kept in single precision: 4.2 is 4.1999998 there. Compare what is shown.
    let (low, high) = (value - AS_SHOWN, value + AS_SHOWN);
    Ok(match operator {
        Operator::Compare(Compare::Less) => vec![(Compare::Less, low)],
        Operator::Compare(Compare::AtMost) => vec![(Compare::Less, high)],
        Operator::Compare(Compare::More) => vec![(Compare::AtLeast, high)],
        Operator::Compare(Compare::AtLeast) => vec![(Compare::AtLeast, low)],
        _ => vec![(Compare::AtLeast, low), (Compare::Less, high)],
    })
}

fn plain(operator: Operator, value: f64) -> Vec<(Compare, f64)> {
    match operator {
        Operator::Compare(compare) => vec![(compare, value)],
        _ => vec![(Compare::AtLeast, value - AS_SHOWN), (Compare::Less, value + AS_SHOWN)],
    }
}

fn time(operator: Operator, text: &str, zone: Zone<'_>) -> Result<Vec<(Compare, i64)>, String> {
    let (first, end) = parse_span_in(text, zone).ok_or_else(|| {
        format!("expected a time like 2026-11-20, 2026-11-20T10:00 or 2026-11-20T10:00:05.5Z, not '{text}'")
    })?;
    Ok(span(operator, first, end))
}

/// Comparisons with what lasts from `first` up to, not including, `end`: `>` means after all of it.
fn span(operator: Operator, first: i64, end: i64) -> Vec<(Compare, i64)> {
    match operator {
        Operator::Compare(Compare::Less) => vec![(Compare::Less, first)],
        Operator::Compare(Compare::AtMost) => vec![(Compare::Less, end)],
        Operator::Compare(Compare::More) => vec![(Compare::AtLeast, end)],
        Operator::Compare(Compare::AtLeast) => vec![(Compare::AtLeast, first)],
        _ => vec![(Compare::AtLeast, first), (Compare::Less, end)],
    }
}

fn ssrc(text: &str) -> Result<u32, String> {
    let value = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    value.ok_or_else(|| format!("expected an SSRC like 0x3a980074 or 983040116, not '{text}'"))
}

pub fn network(text: &str) -> Result<Network, String> {
    let expected =
        || format!("expected an address, a network or address:port, like 10.1.0.0/16 or 10.1.2.3:5060, not '{text}'");
    if let Some((address, bits)) = text.split_once('/') {
        let address: Address = address.parse().map_err(|_| expected())?;
        let bits: u32 = bits.parse().map_err(|_| expected())?;
        return block(address, bits).ok_or_else(expected);
    }
    if let Some(head) = text.strip_suffix(".*") {
        return octets_wildcard(head).ok_or_else(expected);
    }
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<Address>() {
        return Ok(Network { first: address, last: address, port: None });
    }
    let e: Endpoint = text.parse().map_err(|_| expected())?;
    Ok(Network { first: e.address, last: e.address, port: Some(e.port) })
}

/// `10.1.*` and `10.1.*.*` as `10.1.0.0/16`.
fn octets_wildcard(head: &str) -> Option<Network> {
    let head = head.trim_end_matches(".*");
    let parts: Vec<u8> = head.split('.').map(|p| p.parse().ok()).collect::<Option<_>>()?;
    let mut octets = [0; 4];
    octets.get_mut(..parts.len())?.copy_from_slice(&parts);
    block(Address::v4(octets), 8 * parts.len() as u32)
}

/// The network of an address and a prefix length; bits behind the prefix are not looked at.
fn block(address: Address, bits: u32) -> Option<Network> {
    let bits = if address.is_v4() { 96 + u32::min(bits, 33) } else { bits };
    if bits > 128 {
        return None;
    }
    let host = u128::MAX.checked_shr(bits).unwrap_or(0);
    let value = u128::from_be_bytes(*address.octets());
    let of = |v: u128| Address::from_octets(v.to_be_bytes());
    Some(Network { first: of(value & !host), last: of(value | host), port: None })
}
