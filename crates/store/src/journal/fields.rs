//! The fields of the rows, listed once: their order is that of a body, their names make the fingerprint, as do the
//! numbers of what has names instead of fields.

use crate::packed::{Damaged, Pack, Unpack};
use crate::row::{
    Call, CallState, CaptureLedger, Charge, Direction, Hangup, Ladder, Loss, Message, Mos, MosRange, NumberRole,
    OtherNumber, Registration, Rows, RtcpSummary, SharedStream, SipEvent, Stream, StreamInterval, Transit, Verdict,
};
use trunkline_kit::Id;
use trunkline_wire::Endpoint;

/// A number for how fields are packed: a change of that, or of a field's type, needs a new one.
const VERSION: u64 = 1;

/// Something that is packed and comes back as it was.
pub trait Field: Sized {
    /// Writes it.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads it.
    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged>;
}

macro_rules! structs {
    ($($name:ident { $($field:ident),+ $(,)? })+) => {
        $(impl Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)+
            }

            fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
                Ok($name { $($field: Field::take(from)?),+ })
            }
        })+

        const FIELDS: u64 = {
            let mut hash = 0xcbf2_9ce4_8422_2325 ^ VERSION;
            $(hash = fnv1a(hash, concat!(stringify!($name), ":", $(stringify!($field), ","),+).as_bytes());)+
            hash
        };
    };
}

/// Tells programs apart whose rows have other fields, or other numbers for names.
pub const FINGERPRINT: u64 = of_names(FIELDS, NUMBERED);

/// What has names: each with the number that stands for it.
type Numbered = (&'static str, &'static [(&'static str, u8)]);

/// A fingerprint with what has names.
const fn of_names(mut hash: u64, kinds: &[Numbered]) -> u64 {
    let mut kind = 0;
    while kind < kinds.len() {
        let (name, values) = kinds[kind];
        hash = fnv1a(fnv1a(hash, name.as_bytes()), b":");
        let mut value = 0;
        while value < values.len() {
            let (name, number) = values[value];
            hash = fnv1a(fnv1a(hash, name.as_bytes()), &[b'=', number, b',']);
            value += 1;
        }
        kind += 1;
    }
    hash
}

/// FNV-1a, 64 bits.
const fn fnv1a(mut hash: u64, octets: &[u8]) -> u64 {
    let mut at = 0;
    while at < octets.len() {
        hash = (hash ^ octets[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

structs! {
    Rows { calls, streams, intervals, registrations, events, losses, charges }
    Call {
        id, sip_call_id, state, from, to, from_uri, to_uri, numbers, start_ns, ringing_ns, answer_ns, end_ns, last_ns,
        code, reason, hangup, src, dst, user_agent, mos, capture, verdict, ladder, streams, shared, files,
    }
    SharedStream { call, stream, sender }
    OtherNumber { role, number, sent }
    CaptureLedger { complete, lost_at_tap, lost_at_tap_least, lost_before_tap, note, mos_range }
    MosRange { low, high }
    Verdict { kind, text, packets }
    Ladder { hosts, messages, texts, not_kept }
    Message { at_ns, packet, offset, octets, cseq, file, status, method, src, dst, flags, text }
    Stream {
        id, call, ssrc, src, dst, direction, codec, clock_rate, payload_types, ptime_ms, packets, octets, expected,
        lost, missing, recovered, duplicates, reordered, jitter_mean_ms, jitter_max_ms, discarded, first_ns, last_ns,
        mos, burst_ratio, loss_runs, delay_histogram, talkspurts, comfort_noise, dtmf, encrypted, rtcp, lost_at_tap,
        lost_at_tap_least, mos_range, skew_ppm, timestamp_jumps, sequence_jumps, mos_receiver, dscp, packet_first,
        packet_last, file, offset_first, offset_last,
    }
    Mos { g107, wideband, vm_f1, vm_f2, vm_adapt }
    RtcpSummary {
        sender_reports, receiver_reports, lost, missing_here, lost_after_tap, passed, fraction_max, jitter_max_ms,
        round_trip_ms, sent,
    }
    StreamInterval {
        stream, index, start_ns, packets, missing, duplicates, reordered, jitter_mean_ms, jitter_max_ms, mos, mos_vm,
        transit, round_trip_ms,
    }
    Transit { min_ms, mean_ms, max_ms }
    Registration {
        id, sip_call_id, aor, user, contact, expires, start_ns, end_ns, code, reason, src, dst, user_agent, requests,
        retransmissions, verdict,
    }
    SipEvent { id, method, sip_call_id, from, to, start_ns, end_ns, code, reason, src, dst, retransmissions }
    Loss { since_ns, at_ns, place, source, count }
    Charge {
        id, node, number, entry, kind, session, origin, subscriber, account, imsi, msisdn, apn, destination, start_ns,
        end_ns, cause, record, charging_id, octets, octets_in, octets_out, seconds, service_units, money, short,
        allowance_units, rated, services, file,
    }
}

macro_rules! numbers {
    ($($kind:ty),+) => {
        $(impl Field for $kind {
            fn put(&self, out: &mut Vec<u8>) {
                out.uint(u64::from(*self));
            }

            fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
                from.small()
            }
        })+
    };
}

numbers!(u8, u16, u32, u64);

impl Field for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.int(*self);
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        from.int()
    }
}

impl Field for i32 {
    fn put(&self, out: &mut Vec<u8>) {
        out.int(i64::from(*self));
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        i32::try_from(from.int()?).map_err(|_| Damaged("a number is too large"))
    }
}

macro_rules! fractions {
    ($($kind:ty: $octets:literal),+) => {
        $(impl Field for $kind {
            fn put(&self, out: &mut Vec<u8>) {
                out.raw(&self.to_le_bytes());
            }

            fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
                let octets = from.raw($octets)?.try_into().map_err(|_| Damaged("it ends early"))?;
                Ok(<$kind>::from_le_bytes(octets))
            }
        })+
    };
}

fractions!(f32: 4, f64: 8);

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        match from.raw(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Damaged("neither yes nor no")),
        }
    }
}

impl Field for String {
    fn put(&self, out: &mut Vec<u8>) {
        out.text(self);
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        from.text().map(str::to_owned)
    }
}

impl Field for Id {
    fn put(&self, out: &mut Vec<u8>) {
        out.raw(self.octets());
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        from.raw(16)?.try_into().map(Id::from_octets).map_err(|_| Damaged("it ends early"))
    }
}

impl Field for Endpoint {
    fn put(&self, out: &mut Vec<u8>) {
        out.endpoint(*self);
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        from.endpoint()
    }
}

macro_rules! names {
    ($($kind:ident { $($name:ident),+ })+) => {
        $(impl Field for $kind {
            fn put(&self, out: &mut Vec<u8>) {
                out.push(*self as u8);
            }

            fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
                let [number] = from.raw(1)? else { return Err(Damaged("it ends early")) };
                let all = [$($kind::$name),+];
                all.into_iter().find(|name| *name as u8 == *number).ok_or(Damaged("no such name"))
            }
        })+

        const NUMBERED: &[Numbered] = &[$((stringify!($kind), &[$((stringify!($name), $kind::$name as u8)),+])),+];

        // One that is missing above would be written and never be read again.
        $(const _: fn($kind) = |name| match name { $($kind::$name)|+ => {} };)+
    };
}

names! {
    CallState {
        Attempted, Trying, Ringing, AuthChallenged, Redirected, Rejected, Cancelled, Answered, Completed, JoinedMidCall
    }
    Hangup { None, Caller, Callee }
    Direction { Unknown, Caller, Callee }
    NumberRole { Asserted, Requested, DivertedFrom }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        bool::take(from)?.then(|| T::take(from)).transpose()
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        out.uint(self.len() as u64);
        self.iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        // Each takes an octet at least: what is said to be there asks for no memory before it is.
        let count = from.count()?;
        (0..count).map(|_| T::take(from)).collect()
    }
}

impl<T: Field + Copy + Default, const N: usize> Field for [T; N] {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        let mut all = [T::default(); N];
        for value in &mut all {
            *value = T::take(from)?;
        }
        Ok(all)
    }
}

impl Field for (u32, u16) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        Ok((u32::take(from)?, u16::take(from)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_another_number_is_another_fingerprint() {
        let of = |values| of_names(FIELDS, &[("Hangup", values), NUMBERED[0]]);
        let one: &[(&str, u8)] = &[("None", 0), ("Caller", 1), ("Callee", 2)];
        assert!(NUMBERED.contains(&("Hangup", one)), "{NUMBERED:?}");
        assert_ne!(of(one), of(&[("None", 0), ("Caller", 2), ("Callee", 1)]), "changed places");
        assert_ne!(of(one), of(&[("None", 0), ("Caller", 1), ("Callee", 3)]));
        assert_ne!(of(one), of(&[("None", 0), ("Caller", 1)]));
        assert_ne!(FINGERPRINT, FIELDS);
    }
}
