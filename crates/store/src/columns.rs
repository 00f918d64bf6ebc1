//! Rows as the values of their columns and back, in the order of [`crate::schema`]: what every backend binds and reads.

use crate::packed::{Damaged, EndpointOctets, Unpack, endpoint_octets, endpoint_of};
use crate::row::*;
use crate::{detail, worst};
use trunkline_kit::Id;
use trunkline_wire::Endpoint;

/// The value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// A whole number; counts above 2^63 wrap and come back the same.
    Whole(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(&'a str),
    /// A text that goes to the dictionary; it is read back as a text.
    Word(&'a str),
    /// Octets.
    Octets(&'a [u8]),
    /// An endpoint; it is read back as octets.
    Endpoint(EndpointOctets),
}

/// A row as a backend reads it.
pub trait Cells {
    /// The value of a column; [`Value::Null`] also for what a column of ours cannot hold.
    fn cell(&self, column: usize) -> Value<'_>;
}

/// Memory that packing a row needs, kept from row to row.
#[derive(Debug, Default)]
pub struct Scratch {
    detail: Vec<u8>,
    codecs: String,
    files: String,
}

/// The columns of a call under its key.
pub fn call<'a>(c: &'a Call, key: i64, scratch: &'a mut Scratch) -> [Value<'a>; 25] {
    scratch.detail.clear();
    detail::encode_call(&mut scratch.detail, c);
    if c.streams.is_empty() {
        scratch.codecs.clear();
    } else {
        scratch.codecs = worst::codecs(&c.streams);
    }
    let files = match c.files.as_slice() {
        [file] => file,
        files => {
            scratch.files.clear();
            for (i, file) in files.iter().enumerate() {
                scratch.files.push_str(if i > 0 { "\0" } else { "" });
                scratch.files.push_str(file);
            }
            &scratch.files
        }
    };
    let worst = worst::of(&c.streams);
    [
        Value::Whole(key),
        Value::Octets(c.id.octets()),
        Value::Text(&c.from),
        Value::Text(&c.to),
        Value::Text(&c.sip_call_id),
        Value::Whole(c.start_ns),
        maybe(c.ringing_ns),
        maybe(c.answer_ns),
        maybe(c.end_ns),
        Value::Whole(c.last_ns),
        Value::Whole(seen(c)),
        Value::Whole(c.state as i64),
        if c.code == 0 { Value::Null } else { Value::Whole(i64::from(c.code)) },
        Value::Whole(c.hangup as i64),
        endpoint(c.src),
        endpoint(c.dst),
        word(&c.user_agent),
        real(c.mos),
        maybe_real(worst.lost_percent),
        maybe_real(worst.jitter_mean_ms),
        maybe_real(worst.jitter_max_ms),
        word(&scratch.codecs),
        word(c.verdict.as_ref().map_or("", |v| &v.kind)),
        word(files),
        Value::Octets(&scratch.detail),
    ]
}

/// How much of a call was seen: of two rows of one call with the same last packet, the one with more is kept.
pub fn seen(c: &Call) -> i64 {
    let packets = c.streams.iter().fold(0u64, |sum, s| sum.wrapping_add(s.packets));
    let messages = c.ladder.messages.len() as u64 + u64::from(c.ladder.not_kept);
    packets.wrapping_add(messages) as i64 & i64::MAX
}

/// A call and its key, without its streams.
///
/// # Errors
/// [`Damaged`] where a packed column is.
pub fn call_of(cells: &impl Cells) -> Result<(i64, Call), Damaged> {
    let files = text(cells, 23);
    let mut c = Call {
        id: id(cells, 1)?,
        from: text(cells, 2),
        to: text(cells, 3),
        sip_call_id: text(cells, 4),
        start_ns: whole(cells, 5).unwrap_or(0),
        ringing_ns: whole(cells, 6),
        answer_ns: whole(cells, 7),
        end_ns: whole(cells, 8),
        last_ns: whole(cells, 9).unwrap_or(0),
        state: state_of(whole(cells, 11)),
        code: whole(cells, 12).unwrap_or(0) as u16,
        hangup: match whole(cells, 13) {
            Some(1) => Hangup::Caller,
            Some(2) => Hangup::Callee,
            _ => Hangup::None,
        },
        src: read_endpoint(cells, 14)?,
        dst: read_endpoint(cells, 15)?,
        user_agent: text(cells, 16),
        mos: read_real(cells, 17).map(|m| m as f32),
        files: if files.is_empty() { vec![] } else { files.split('\0').map(str::to_owned).collect() },
        ..Call::default()
    };
    detail::decode_call(octets(cells, 24)?, &mut c)?;
    Ok((whole(cells, 0).unwrap_or(0), c))
}

/// A state from its number.
pub fn state_of(number: Option<i64>) -> CallState {
    use CallState::*;
    let states = [
        Attempted,
        Trying,
        Ringing,
        AuthChallenged,
        Redirected,
        Rejected,
        Cancelled,
        Answered,
        Completed,
        JoinedMidCall,
    ];
    states.get(number.unwrap_or(0) as usize).copied().unwrap_or_default()
}

/// The columns of a stream; `call_key` is the key of its call.
pub fn stream<'a>(s: &'a Stream, call_key: Option<i64>, scratch: &'a mut Scratch) -> [Value<'a>; 24] {
    scratch.detail.clear();
    detail::encode_stream(&mut scratch.detail, s);
    [
        Value::Octets(s.id.octets()),
        maybe(call_key),
        Value::Whole(i64::from(s.ssrc)),
        endpoint(s.src),
        endpoint(s.dst),
        Value::Whole(s.direction as i64),
        word(&s.codec),
        Value::Whole(i64::from(s.clock_rate)),
        count(s.packets),
        count(s.expected),
        Value::Whole(s.lost),
        count(s.missing),
        count(s.duplicates),
        count(s.reordered),
        Value::Real(s.jitter_mean_ms),
        Value::Real(s.jitter_max_ms),
        Value::Whole(s.first_ns),
        Value::Whole(s.last_ns),
        real(s.mos.g107),
        Value::Whole(i64::from(s.mos.wideband)),
        real(s.mos.vm_f1),
        real(s.mos.vm_f2),
        real(s.mos.vm_adapt),
        Value::Octets(&scratch.detail),
    ]
}

/// A stream; the caller knows its call.
///
/// # Errors
/// [`Damaged`] where a packed column is.
pub fn stream_of(cells: &impl Cells, call: Option<Id>) -> Result<Stream, Damaged> {
    let number = |column| whole(cells, column).unwrap_or(0);
    let score = |column| read_real(cells, column).map(|m| m as f32);
    let mut s = Stream {
        id: id(cells, 0)?,
        call,
        ssrc: number(2) as u32,
        src: read_endpoint(cells, 3)?,
        dst: read_endpoint(cells, 4)?,
        direction: match number(5) {
            1 => Direction::Caller,
            2 => Direction::Callee,
            _ => Direction::Unknown,
        },
        codec: text(cells, 6),
        clock_rate: number(7) as u32,
        packets: number(8) as u64,
        expected: number(9) as u64,
        lost: number(10),
        missing: number(11) as u64,
        duplicates: number(12) as u64,
        reordered: number(13) as u64,
        jitter_mean_ms: read_real(cells, 14).unwrap_or(0.0),
        jitter_max_ms: read_real(cells, 15).unwrap_or(0.0),
        first_ns: number(16),
        last_ns: number(17),
        mos: Mos {
            g107: score(18),
            wideband: number(19) != 0,
            vm_f1: score(20),
            vm_f2: score(21),
            vm_adapt: score(22),
        },
        ..Stream::default()
    };
    detail::decode_stream(octets(cells, 23)?, &mut s)?;
    Ok(s)
}

/// The columns of an interval.
pub fn interval(i: &StreamInterval) -> [Value<'_>; 17] {
    [
        Value::Octets(i.stream.octets()),
        Value::Whole(i64::from(i.index)),
        Value::Whole(i.start_ns),
        Value::Whole(i64::from(i.packets)),
        Value::Whole(i64::from(i.missing)),
        Value::Whole(i64::from(i.duplicates)),
        Value::Whole(i64::from(i.reordered)),
        Value::Real(f64::from(i.jitter_mean_ms)),
        Value::Real(f64::from(i.jitter_max_ms)),
        real(i.mos),
        real(i.mos_vm[0]),
        real(i.mos_vm[1]),
        real(i.mos_vm[2]),
        real(i.transit.map(|t| t.min_ms)),
        real(i.transit.map(|t| t.mean_ms)),
        real(i.transit.map(|t| t.max_ms)),
        real(i.round_trip_ms),
    ]
}

/// An interval.
///
/// # Errors
/// [`Damaged`] where its stream is not an identifier.
pub fn interval_of(cells: &impl Cells) -> Result<StreamInterval, Damaged> {
    let number = |column| whole(cells, column).unwrap_or(0) as u32;
    let score = |column| read_real(cells, column).map(|m| m as f32);
    Ok(StreamInterval {
        stream: id(cells, 0)?,
        index: number(1),
        start_ns: whole(cells, 2).unwrap_or(0),
        packets: number(3),
        missing: number(4),
        duplicates: number(5),
        reordered: number(6),
        jitter_mean_ms: score(7).unwrap_or(0.0),
        jitter_max_ms: score(8).unwrap_or(0.0),
        mos: score(9),
        mos_vm: [score(10), score(11), score(12)],
        transit: transit_of(score(13), score(14), score(15)),
        round_trip_ms: score(16),
    })
}

fn transit_of(min: Option<f32>, mean: Option<f32>, max: Option<f32>) -> Option<Transit> {
    Some(Transit { min_ms: min?, mean_ms: mean?, max_ms: max? })
}

/// The columns of a registration.
pub fn registration<'a>(r: &'a Registration, scratch: &'a mut Scratch) -> [Value<'a>; 16] {
    scratch.detail.clear();
    detail::encode_verdict(&mut scratch.detail, r.verdict.as_ref());
    [
        Value::Octets(r.id.octets()),
        Value::Text(&r.sip_call_id),
        Value::Text(&r.aor),
        Value::Text(&r.user),
        Value::Text(&r.contact),
        maybe(r.expires.map(i64::from)),
        Value::Whole(r.start_ns),
        maybe(r.end_ns),
        Value::Whole(i64::from(r.code)),
        word(&r.reason),
        endpoint(r.src),
        endpoint(r.dst),
        word(&r.user_agent),
        Value::Whole(i64::from(r.requests)),
        Value::Whole(i64::from(r.retransmissions)),
        Value::Octets(&scratch.detail),
    ]
}

/// A registration.
///
/// # Errors
/// [`Damaged`] where a packed column is.
pub fn registration_of(cells: &impl Cells) -> Result<Registration, Damaged> {
    Ok(Registration {
        id: id(cells, 0)?,
        sip_call_id: text(cells, 1),
        aor: text(cells, 2),
        user: text(cells, 3),
        contact: text(cells, 4),
        expires: whole(cells, 5).map(|e| e as u32),
        start_ns: whole(cells, 6).unwrap_or(0),
        end_ns: whole(cells, 7),
        code: whole(cells, 8).unwrap_or(0) as u16,
        reason: text(cells, 9),
        src: read_endpoint(cells, 10)?,
        dst: read_endpoint(cells, 11)?,
        user_agent: text(cells, 12),
        requests: whole(cells, 13).unwrap_or(0) as u32,
        retransmissions: whole(cells, 14).unwrap_or(0) as u32,
        verdict: detail::decode_verdict(&mut Unpack::new(octets(cells, 15)?))?,
    })
}

/// The columns of an event.
pub fn event(e: &SipEvent) -> [Value<'_>; 12] {
    [
        Value::Octets(e.id.octets()),
        word(&e.method),
        Value::Text(&e.sip_call_id),
        Value::Text(&e.from),
        Value::Text(&e.to),
        Value::Whole(e.start_ns),
        maybe(e.end_ns),
        Value::Whole(i64::from(e.code)),
        word(&e.reason),
        endpoint(e.src),
        endpoint(e.dst),
        Value::Whole(i64::from(e.retransmissions)),
    ]
}

/// An event.
///
/// # Errors
/// [`Damaged`] where its identifier or an endpoint is not one.
pub fn event_of(cells: &impl Cells) -> Result<SipEvent, Damaged> {
    Ok(SipEvent {
        id: id(cells, 0)?,
        method: text(cells, 1),
        sip_call_id: text(cells, 2),
        from: text(cells, 3),
        to: text(cells, 4),
        start_ns: whole(cells, 5).unwrap_or(0),
        end_ns: whole(cells, 6),
        code: whole(cells, 7).unwrap_or(0) as u16,
        reason: text(cells, 8),
        src: read_endpoint(cells, 9)?,
        dst: read_endpoint(cells, 10)?,
        retransmissions: whole(cells, 11).unwrap_or(0) as u32,
    })
}

/// The columns of a loss.
pub fn loss(l: &Loss) -> [Value<'_>; 5] {
    [Value::Text(&l.place), Value::Text(&l.source), Value::Whole(l.since_ns), Value::Whole(l.at_ns), count(l.count)]
}

/// A loss.
pub fn loss_of(cells: &impl Cells) -> Loss {
    Loss {
        place: text(cells, 0),
        source: text(cells, 1),
        since_ns: whole(cells, 2).unwrap_or(0),
        at_ns: whole(cells, 3).unwrap_or(0),
        count: whole(cells, 4).unwrap_or(0) as u64,
    }
}

/// The columns of a charging data record.
pub fn charge(c: &Charge) -> [Value<'_>; 29] {
    [
        Value::Octets(c.id.octets()),
        word(&c.node),
        Value::Whole(i64::from(c.number)),
        count(c.entry),
        word(&c.kind),
        Value::Text(&c.session),
        word(&c.origin),
        count(c.subscriber),
        count(c.account),
        Value::Text(&c.imsi),
        Value::Text(&c.msisdn),
        word(&c.apn),
        Value::Text(&c.destination),
        Value::Whole(c.start_ns),
        Value::Whole(c.end_ns),
        Value::Whole(i64::from(c.cause)),
        maybe(c.record.map(i64::from)),
        maybe(c.charging_id.map(i64::from)),
        count(c.octets),
        count(c.octets_in),
        count(c.octets_out),
        count(c.seconds),
        count(c.service_units),
        Value::Whole(c.money),
        Value::Whole(c.short),
        count(c.allowance_units),
        Value::Whole(i64::from(c.rated)),
        Value::Text(&c.services),
        word(&c.file),
    ]
}

/// A charging data record.
///
/// # Errors
/// [`Damaged`] where its identifier is not one.
pub fn charge_of(cells: &impl Cells) -> Result<Charge, Damaged> {
    let number = |column| whole(cells, column).unwrap_or(0);
    Ok(Charge {
        id: id(cells, 0)?,
        node: text(cells, 1),
        number: number(2) as u32,
        entry: number(3) as u64,
        kind: text(cells, 4),
        session: text(cells, 5),
        origin: text(cells, 6),
        subscriber: number(7) as u64,
        account: number(8) as u64,
        imsi: text(cells, 9),
        msisdn: text(cells, 10),
        apn: text(cells, 11),
        destination: text(cells, 12),
        start_ns: number(13),
        end_ns: number(14),
        cause: number(15) as u32,
        record: whole(cells, 16).map(|record| record as u32),
        charging_id: whole(cells, 17).map(|id| id as u32),
        octets: number(18) as u64,
        octets_in: number(19) as u64,
        octets_out: number(20) as u64,
        seconds: number(21) as u64,
        service_units: number(22) as u64,
        money: number(23),
        short: number(24),
        allowance_units: number(25) as u64,
        rated: number(26) != 0,
        services: text(cells, 27),
        file: text(cells, 28),
    })
}

fn count<'a>(value: u64) -> Value<'a> {
    Value::Whole(value as i64)
}

fn maybe<'a>(value: Option<i64>) -> Value<'a> {
    value.map_or(Value::Null, Value::Whole)
}

fn maybe_real<'a>(value: Option<f64>) -> Value<'a> {
    value.map_or(Value::Null, Value::Real)
}

fn real<'a>(value: Option<f32>) -> Value<'a> {
    maybe_real(value.map(f64::from))
}

fn endpoint<'a>(e: Endpoint) -> Value<'a> {
    Value::Endpoint(endpoint_octets(e))
}

fn word(text: &str) -> Value<'_> {
    if text.is_empty() { Value::Null } else { Value::Word(text) }
}

fn whole(cells: &impl Cells, column: usize) -> Option<i64> {
    if let Value::Whole(value) = cells.cell(column) { Some(value) } else { None }
}

fn read_real(cells: &impl Cells, column: usize) -> Option<f64> {
    match cells.cell(column) {
        Value::Real(value) => Some(value),
        Value::Whole(value) => Some(value as f64),
        _ => None,
    }
}

fn text(cells: &impl Cells, column: usize) -> String {
    if let Value::Text(value) = cells.cell(column) { value.to_owned() } else { String::new() }
}

fn octets(cells: &impl Cells, column: usize) -> Result<&[u8], Damaged> {
    if let Value::Octets(value) = cells.cell(column) { Ok(value) } else { Err(Damaged("a column holds no octets")) }
}

fn id(cells: &impl Cells, column: usize) -> Result<Id, Damaged> {
    let octets = octets(cells, column)?.try_into().map_err(|_| Damaged("an identifier has an odd length"))?;
    Ok(Id::from_octets(octets))
}

fn read_endpoint(cells: &impl Cells, column: usize) -> Result<Endpoint, Damaged> {
    endpoint_of(octets(cells, column)?).ok_or(Damaged("an endpoint has an odd length"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[test]
    fn there_is_a_value_for_every_column_and_of_its_kind() {
        let (c, s, r) = (Call::default(), Stream::default(), Registration::default());
        let (i, e, l) = (StreamInterval::default(), SipEvent::default(), Loss::default());
        let m = Charge::default();
        let (mut one, mut two, mut three) = (Scratch::default(), Scratch::default(), Scratch::default());
        let rows: [(&schema::Table, &[Value<'_>]); 7] = [
            (&schema::CALLS, &call(&c, 0, &mut one)),
            (&schema::STREAMS, &stream(&s, None, &mut two)),
            (&schema::REGISTRATIONS, &registration(&r, &mut three)),
            (&schema::STREAM_INTERVALS, &interval(&i)),
            (&schema::SIP_EVENTS, &event(&e)),
            (&schema::LOSSES, &loss(&l)),
            (&schema::CHARGES, &charge(&m)),
        ];
        for (table, values) in rows {
            assert_eq!(table.columns.len(), values.len(), "{}", table.name);
            for (column, value) in table.columns.iter().zip(values) {
                use schema::Kind as K;
                let fits = match value {
                    Value::Null => true,
                    Value::Whole(_) => {
                        matches!(column.kind, K::Key | K::Whole | K::Time | K::Name(_) | K::Flag)
                    }
                    Value::Real(_) => column.kind == K::Real,
                    Value::Text(_) => matches!(column.kind, K::Text | K::Number),
                    Value::Word(_) => column.kind == K::Word,
                    Value::Octets(_) => matches!(column.kind, K::Id | K::Packed(_)),
                    Value::Endpoint(_) => column.kind == K::Endpoint,
                };
                assert!(fits, "{}.{} is {value:?}", table.name, column.name);
            }
        }
        assert_eq!(schema::MINUTES.columns.len(), crate::rollup::Minute::default().columns().len() + 1);
    }
}
