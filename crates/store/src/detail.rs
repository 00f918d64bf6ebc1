//! The packed columns: what of a call, a stream or a registration is shown but rarely searched.

use crate::ladder;
use crate::packed::{Damaged, Pack, Unpack};
use crate::row::{
    Call, CaptureLedger, Direction, MosRange, NumberRole, OtherNumber, RtcpSummary, SharedStream, Stream, Verdict,
};
use trunkline_kit::Id;

/// The version that is written in front of each packed column.
pub const VERSION: u64 = 2;

/// The version in front of a call with numbers beside From and To: these, then what [`VERSION`] has.
pub const VERSION_NUMBERS: u64 = 3;

/// Appends the packed column of a call. Other numbers come first and then the ladder: see [`numbers_of_call`] and
/// [`hosts_of_call`].
pub fn encode_call(out: &mut Vec<u8>, c: &Call) {
    encode_numbers(out, &c.numbers);
    ladder::encode(out, &c.ladder);
    encode_uri(out, &c.from_uri, &c.from);
    encode_uri(out, &c.to_uri, &c.to);
    out.text(&c.reason);
    out.uint(u64::from(c.capture.complete));
    out.uint(c.capture.lost_at_tap);
    out.uint(c.capture.lost_before_tap);
    out.text(&c.capture.note);
    encode_verdict(out, c.verdict.as_ref());
    if c.capture.lost_at_tap_least > 0 || c.capture.mos_range.is_some() || !c.shared.is_empty() {
        out.uint(c.capture.lost_at_tap_least);
        encode_range(out, c.capture.mos_range);
    }
    if !c.shared.is_empty() {
        encode_shared(out, &c.shared);
    }
}

fn encode_shared(out: &mut Vec<u8>, shared: &[SharedStream]) {
    out.uint(shared.len() as u64);
    for one in shared {
        out.raw(one.call.octets());
        out.raw(one.stream.octets());
        out.uint(one.sender as u64);
    }
}

fn decode_shared(from: &mut Unpack<'_>) -> Result<Vec<SharedStream>, Damaged> {
    let parties = [Direction::Unknown, Direction::Caller, Direction::Callee];
    let count = from.count()?;
    let mut one = || {
        let mut id = || Ok(Id::from_octets(from.raw(16)?.try_into().map_err(|_| Damaged("it ends early"))?));
        let (call, stream) = (id()?, id()?);
        let sender = usize::try_from(from.uint()?).ok().and_then(|party| parties.get(party));
        Ok(SharedStream { call, stream, sender: *sender.ok_or(Damaged("no such party"))? })
    };
    (0..count).map(|_| one()).collect()
}

/// Fills the fields of a call that its packed column holds; `from` and `to` must be there already.
///
/// # Errors
/// [`Damaged`] where the octets are not what [`encode_call`] writes.
pub fn decode_call(octets: &[u8], c: &mut Call) -> Result<(), Damaged> {
    let mut from = Unpack::new(octets);
    c.numbers = decode_numbers(&mut from)?;
    c.ladder = ladder::decode(&mut from)?;
    c.from_uri = decode_uri(&mut from, &c.from)?;
    c.to_uri = decode_uri(&mut from, &c.to)?;
    c.reason = from.text()?.to_owned();
    c.capture = CaptureLedger {
        complete: from.uint()? != 0,
        lost_at_tap: from.uint()?,
        lost_before_tap: from.uint()?,
        note: from.text()?.to_owned(),
        ..CaptureLedger::default()
    };
    c.verdict = decode_verdict(&mut from)?;
    // What follows is written only where there is something to say.
    if !from.is_empty() {
        c.capture.lost_at_tap_least = from.uint()?;
        c.capture.mos_range = decode_range(&mut from)?;
    }
    if !from.is_empty() {
        c.shared = decode_shared(&mut from)?;
    }
    Ok(())
}

/// The hosts of the ladder in a call's packed column, without reading the rest.
///
/// # Errors
/// [`Damaged`].
pub fn hosts_of_call(octets: &[u8]) -> Result<Vec<trunkline_wire::Endpoint>, Damaged> {
    let mut from = Unpack::new(octets);
    decode_numbers(&mut from)?;
    ladder::hosts(&mut from)
}

/// The other numbers in a call's packed column, without reading the rest.
///
/// # Errors
/// [`Damaged`].
pub fn numbers_of_call(octets: &[u8]) -> Result<Vec<OtherNumber>, Damaged> {
    decode_numbers(&mut Unpack::new(octets))
}

/// The version of a call's column, with its numbers if it has any.
fn encode_numbers(out: &mut Vec<u8>, numbers: &[OtherNumber]) {
    if numbers.is_empty() {
        return out.uint(VERSION);
    }
    out.uint(VERSION_NUMBERS);
    out.uint(numbers.len() as u64);
    for one in numbers {
        out.uint(one.role as u64);
        out.text(&one.number);
        out.text(&one.sent);
    }
}

fn decode_numbers(from: &mut Unpack<'_>) -> Result<Vec<OtherNumber>, Damaged> {
    match from.uint()? {
        VERSION => return Ok(vec![]),
        VERSION_NUMBERS => {}
        _ => return Err(OTHER_VERSION),
    }
    let roles = [NumberRole::Asserted, NumberRole::Requested, NumberRole::DivertedFrom];
    let count = from.count()?;
    let mut one = || {
        let role = usize::try_from(from.uint()?).ok().and_then(|role| roles.get(role));
        let role = *role.ok_or(Damaged("no such role"))?;
        Ok(OtherNumber { role, number: from.text()?.to_owned(), sent: from.text()?.to_owned() })
    };
    (0..count).map(|_| one()).collect()
}

/// Appends the packed column of a stream.
pub fn encode_stream(out: &mut Vec<u8>, s: &Stream) {
    out.uint(VERSION);
    out.uint(s.payload_types.len() as u64);
    out.raw(&s.payload_types);
    out.raw(&s.ptime_ms.to_le_bytes());
    for value in [s.octets, s.discarded, s.packet_first, s.packet_last, s.offset_first, s.offset_last] {
        out.uint(value);
    }
    for value in s.loss_runs.iter().chain(&s.delay_histogram).chain([&s.talkspurts, &s.comfort_noise]) {
        out.uint(u64::from(*value));
    }
    out.uint(u64::from(s.file));
    out.uint(u64::from(s.encrypted));
    out.uint(u64::from(s.dscp));
    out.text(&s.dtmf);
    out.some_f32(s.burst_ratio);
    out.some_f32(s.skew_ppm);
    encode_rtcp(out, &s.rtcp);
    let jumps = s.timestamp_jumps > 0 || s.sequence_jumps > 0;
    let after = jumps || s.recovered > 0 || s.rtcp.passed > 0 || s.rtcp.lost_after_tap > 0 || s.mos_receiver.is_some();
    if after || s.lost_at_tap > 0 || s.mos_range.is_some() {
        out.uint(s.lost_at_tap);
        out.uint(s.lost_at_tap_least);
        encode_range(out, s.mos_range);
    }
    if after {
        out.uint(u64::from(s.timestamp_jumps));
        out.uint(u64::from(s.sequence_jumps));
        out.uint(s.rtcp.lost_after_tap);
        out.uint(s.rtcp.passed);
        out.some_f32(s.mos_receiver);
    }
    if s.recovered > 0 {
        out.uint(s.recovered);
    }
}

/// Fills the fields of a stream that its packed column holds.
///
/// # Errors
/// [`Damaged`].
pub fn decode_stream(octets: &[u8], s: &mut Stream) -> Result<(), Damaged> {
    let mut from = versioned(octets)?;
    let count = from.count()?;
    s.payload_types = from.raw(count)?.to_vec();
    s.ptime_ms = f32::from_le_bytes(from.raw(4)?.try_into().map_err(|_| Damaged("it ends early"))?);
    for slot in [
        &mut s.octets,
        &mut s.discarded,
        &mut s.packet_first,
        &mut s.packet_last,
        &mut s.offset_first,
        &mut s.offset_last,
    ] {
        *slot = from.uint()?;
    }
    let counts = s.loss_runs.iter_mut().chain(&mut s.delay_histogram);
    for slot in counts.chain([&mut s.talkspurts, &mut s.comfort_noise]) {
        *slot = from.small()?;
    }
    s.file = from.small()?;
    s.encrypted = from.uint()? != 0;
    s.dscp = from.small()?;
    s.dtmf = from.text()?.to_owned();
    s.burst_ratio = from.some_f32()?;
    s.skew_ppm = from.some_f32()?;
    s.rtcp = decode_rtcp(&mut from)?;
    // What follows is written only where there is something to say.
    if !from.is_empty() {
        s.lost_at_tap = from.uint()?;
        s.lost_at_tap_least = from.uint()?;
        s.mos_range = decode_range(&mut from)?;
    }
    if !from.is_empty() {
        s.timestamp_jumps = from.small()?;
        s.sequence_jumps = from.small()?;
        s.rtcp.lost_after_tap = from.uint()?;
        s.rtcp.passed = from.uint()?;
        s.mos_receiver = from.some_f32()?;
    }
    if !from.is_empty() {
        s.recovered = from.uint()?;
    }
    Ok(())
}

fn encode_range(out: &mut Vec<u8>, range: Option<MosRange>) {
    out.some_f32(range.map(|r| r.low));
    out.some_f32(range.map(|r| r.high));
}

fn decode_range(from: &mut Unpack<'_>) -> Result<Option<MosRange>, Damaged> {
    let (low, high) = (from.some_f32()?, from.some_f32()?);
    Ok(low.zip(high).map(|(low, high)| MosRange { low, high }))
}

fn encode_rtcp(out: &mut Vec<u8>, r: &RtcpSummary) {
    out.uint(u64::from(r.sender_reports));
    out.uint(u64::from(r.receiver_reports));
    out.uint(u64::from(r.fraction_max));
    out.some_f32(r.jitter_max_ms);
    out.some_f32(r.round_trip_ms);
    out.uint(u64::from(r.lost.is_some()));
    out.int(i64::from(r.lost.unwrap_or(0)));
    out.uint(r.sent.map_or(0, |sent| u64::from(sent) + 1));
    out.uint(r.missing_here.map_or(0, |missing| missing.saturating_add(1)));
}

fn decode_rtcp(from: &mut Unpack<'_>) -> Result<RtcpSummary, Damaged> {
    let mut r = RtcpSummary {
        sender_reports: from.small()?,
        receiver_reports: from.small()?,
        fraction_max: from.small()?,
        jitter_max_ms: from.some_f32()?,
        round_trip_ms: from.some_f32()?,
        ..RtcpSummary::default()
    };
    let reported = from.uint()? != 0;
    let lost = i32::try_from(from.int()?).map_err(|_| Damaged("a number is too large"))?;
    r.lost = reported.then_some(lost);
    r.sent = match from.uint()?.checked_sub(1) {
        Some(sent) => Some(u32::try_from(sent).map_err(|_| Damaged("a number is too large"))?),
        None => None,
    };
    r.missing_here = from.uint()?.checked_sub(1);
    Ok(r)
}

/// Appends a verdict or its absence.
pub fn encode_verdict(out: &mut Vec<u8>, verdict: Option<&Verdict>) {
    let Some(v) = verdict else { return out.uint(0) };
    out.uint(1);
    out.text(&v.kind);
    out.text(&v.text);
    out.uint(v.packets.len() as u64);
    let mut before = 0;
    for &packet in &v.packets {
        out.int(packet.wrapping_sub(before) as i64);
        before = packet;
    }
}

/// A verdict as [`encode_verdict`] wrote it.
///
/// # Errors
/// [`Damaged`].
pub fn decode_verdict(from: &mut Unpack<'_>) -> Result<Option<Verdict>, Damaged> {
    if from.uint()? == 0 {
        return Ok(None);
    }
    let (kind, text) = (from.text()?.to_owned(), from.text()?.to_owned());
    let mut packet = 0u64;
    let mut packets = vec![];
    for _ in 0..from.count()? {
        packet = packet.wrapping_add(from.int()? as u64);
        packets.push(packet);
    }
    Ok(Some(Verdict { kind, text, packets }))
}

/// Most URIs are `sip:` user `@` host, and the user part is a column of its own.
fn encode_uri(out: &mut Vec<u8>, uri: &str, user: &str) {
    match uri.strip_prefix("sip:").and_then(|u| u.strip_prefix(user)).and_then(|u| u.strip_prefix('@')) {
        Some(host) => {
            out.uint(1);
            out.text(host);
        }
        None => {
            out.uint(0);
            out.text(uri);
        }
    }
}

fn decode_uri(from: &mut Unpack<'_>, user: &str) -> Result<String, Damaged> {
    let short = from.uint()? == 1;
    let text = from.text()?;
    Ok(if short { format!("sip:{user}@{text}") } else { text.to_owned() })
}

const OTHER_VERSION: Damaged = Damaged("a packed column of another version");

fn versioned(octets: &[u8]) -> Result<Unpack<'_>, Damaged> {
    let mut from = Unpack::new(octets);
    if from.uint()? == VERSION { Ok(from) } else { Err(OTHER_VERSION) }
}
