//! Functions that filters and views use in SQL. All are pure: the same arguments give the same value.

use crate::detail;
use crate::filter::pattern::Pattern;
use crate::packed::endpoint_of;
use crate::row::{Call, Message, Stream};
use crate::time::rfc3339;
use crate::worst;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

/// Registers what a reader needs.
pub fn register(conn: &Connection) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    conn.create_scalar_function("like_pattern", 2, pure, |c| matching(c, |p, text| p.matches(text)))?;
    conn.create_scalar_function("has_codec", 2, pure, |c| {
        matching(c, |p, codecs| worst::codec_names(codecs).any(|name| p.matches(name)))
    })?;
    conn.create_scalar_function("has_host", 3, pure, has_host)?;
    conn.create_scalar_function("has_number", 2, pure, has_number)?;
    conn.create_scalar_function("uuid", 1, pure, uuid)?;
    conn.create_scalar_function("utc", 1, pure, |c| Ok(c.get::<Option<i64>>(0)?.map(rfc3339)))?;
    conn.create_scalar_function("endpoint", 1, pure, |c| {
        Ok(blob(c, 0)
            .and_then(endpoint_of)
            .filter(|e| e.port != 0 || !e.address.is_unspecified())
            .map(|e| e.to_string()))
    })?;
    conn.create_scalar_function("part_of_calls", 4, pure, part_of_call)?;
    conn.create_scalar_function("part_of_streams", 2, pure, part_of_stream)?;
    conn.create_scalar_function("part_of_registrations", 2, pure, |c| {
        let mut from = crate::packed::Unpack::new(blob(c, 1).unwrap_or_default());
        Ok(detail::decode_verdict(&mut from).ok().flatten().map(|v| v.text))
    })
}

fn matching(c: &Context<'_>, holds: impl Fn(&Pattern, &str) -> bool) -> Result<bool> {
    let pattern = c.get_or_create_aux(0, |value| value.as_str().map(Pattern::parse).map_err(Error::from))?;
    Ok(match c.get_raw(1) {
        ValueRef::Text(text) => core::str::from_utf8(text).is_ok_and(|text| holds(&pattern, text)),
        _ => false,
    })
}

fn has_host(c: &Context<'_>) -> Result<bool> {
    let (Some(detail), Some(first), Some(last)) = (blob(c, 0), blob(c, 1), blob(c, 2)) else { return Ok(false) };
    let (Some(first), Some(last)) = (endpoint_of(first), endpoint_of(last)) else { return Ok(false) };
    let network = crate::filter::Network {
        first: first.address,
        last: last.address,
        port: (first.port == last.port).then_some(first.port),
    };
    Ok(detail::hosts_of_call(detail).is_ok_and(|hosts| hosts.into_iter().any(|h| network.contains(h))))
}

/// `has_number(pattern, detail)`: whether a number beside those of From and To matches.
fn has_number(c: &Context<'_>) -> Result<bool> {
    let pattern = c.get_or_create_aux(0, |value| value.as_str().map(Pattern::parse).map_err(Error::from))?;
    let numbers = detail::numbers_of_call(blob(c, 1).unwrap_or_default()).unwrap_or_default();
    Ok(numbers.iter().any(|one| pattern.matches(&one.number)))
}

fn uuid(c: &Context<'_>) -> Result<Option<String>> {
    let octets = blob(c, 0).and_then(|o| <[u8; 16]>::try_from(o).ok());
    Ok(octets.map(|o| trunkline_kit::Id::from_octets(o).to_string()))
}

/// `part_of_calls(name, detail, caller, callee)`
fn part_of_call(c: &Context<'_>) -> Result<Value> {
    let text = |at| c.get_raw(at).as_str().unwrap_or_default().to_owned();
    let mut call = Call { from: text(2), to: text(3), ..Call::default() };
    if detail::decode_call(blob(c, 1).unwrap_or_default(), &mut call).is_err() {
        return Ok(Value::Null);
    }
    let some = |text: String| if text.is_empty() { Value::Null } else { Value::Text(text) };
    let retransmissions = call.ladder.messages.iter().filter(|m| m.flags & Message::RETRANSMISSION != 0).count();
    Ok(match c.get_raw(0).as_str().unwrap_or_default() {
        "from_uri" => some(call.from_uri),
        "to_uri" => some(call.to_uri),
        "numbers" => some(call.numbers.into_iter().map(|one| one.number).collect::<Vec<_>>().join(", ")),
        "reason" => some(call.reason),
        "complete" => Value::Integer(i64::from(call.capture.complete)),
        "lost_at_tap" => Value::Integer(call.capture.lost_at_tap as i64),
        "lost_before_tap" => Value::Integer(call.capture.lost_before_tap as i64),
        "note" => some(call.capture.note),
        "verdict" => some(call.verdict.map_or_else(String::new, |v| v.text)),
        "messages" => Value::Integer(call.ladder.messages.len() as i64 + i64::from(call.ladder.not_kept)),
        "retransmissions" => Value::Integer(retransmissions as i64),
        _ => Value::Null,
    })
}

/// `part_of_streams(name, detail)`
fn part_of_stream(c: &Context<'_>) -> Result<Value> {
    let mut s = Stream::default();
    if detail::decode_stream(blob(c, 1).unwrap_or_default(), &mut s).is_err() {
        return Ok(Value::Null);
    }
    Ok(match c.get_raw(0).as_str().unwrap_or_default() {
        "dtmf" if !s.dtmf.is_empty() => Value::Text(s.dtmf),
        "burst_ratio" => s.burst_ratio.map_or(Value::Null, |b| Value::Real(f64::from(b))),
        "discarded" => Value::Integer(s.discarded as i64),
        "octets" => Value::Integer(s.octets as i64),
        _ => Value::Null,
    })
}

fn blob<'a>(c: &'a Context<'_>, at: usize) -> Option<&'a [u8]> {
    c.get_raw(at).as_blob().ok()
}
