//! A ladder in one compact blob: about 12 octets a message, differences to the message before.

use crate::packed::{Damaged, Pack, Short, Unpack};
use crate::row::{Ladder, Message};
use trunkline_wire::Endpoint;

/// The version that [`encode`] writes. A decoder knows all versions up to its own.
pub const VERSION: u64 = 1;

/// What the first octet of a message says about those that follow.
mod control {
    /// The time difference is in microseconds, not nanoseconds.
    pub const MICROSECONDS: u8 = 1;
    /// The text begins where that of the message before ended.
    pub const TEXT_FOLLOWS: u8 = 2;
    /// There is no text: (0, 0).
    pub const NO_TEXT: u8 = 4;
    /// Same file as the message before.
    pub const SAME_FILE: u8 = 8;
    /// Same CSeq number as the message before.
    pub const SAME_CSEQ: u8 = 16;
    /// Sender and receiver are in one octet, four bits each.
    pub const HOSTS_IN_ONE: u8 = 32;
}

/// Appends a ladder. Hosts come first, so that a search for an address reads no further ([`hosts`]).
pub fn encode(out: &mut Vec<u8>, ladder: &Ladder) {
    out.uint(VERSION);
    out.uint(ladder.hosts.len() as u64);
    ladder.hosts.iter().for_each(|h| out.endpoint(*h));
    out.uint(u64::from(ladder.not_kept));
    out.text(&ladder.texts);
    out.uint(ladder.messages.len() as u64);
    let mut before = &Message::default();
    for m in &ladder.messages {
        let mut octets = Short::new();
        encode_message(&mut octets, before, m);
        out.extend_from_slice(octets.as_slice());
        before = m;
    }
}

/// Most octets that a message takes: control, flags and method 3, status 3, hosts 2, time, packet and offset 10 each,
/// length 5, file 3, CSeq 5, text 5 + 3.
const MESSAGE_OCTETS_MAX: usize = 59;
const _: () = assert!(MESSAGE_OCTETS_MAX <= Short::OCTETS);

fn encode_message(out: &mut Short, before: &Message, m: &Message) {
    let since = m.at_ns.wrapping_sub(before.at_ns);
    let mut control = 0;
    let mut mark = |holds: bool, bit: u8| {
        control |= if holds { bit } else { 0 };
        holds
    };
    let in_microseconds = mark(since % 1000 == 0, control::MICROSECONDS);
    let no_text = mark(m.text == (0, 0), control::NO_TEXT);
    let follows = mark(!no_text && text_end(before) == Some(m.text.0), control::TEXT_FOLLOWS);
    let same_file = mark(m.file == before.file, control::SAME_FILE);
    let same_cseq = mark(m.cseq == before.cseq, control::SAME_CSEQ);
    let hosts_in_one = mark(m.src < 16 && m.dst < 16, control::HOSTS_IN_ONE);
    out.raw(&[control, m.flags, m.method]);
    out.uint(u64::from(m.status));
    if hosts_in_one {
        out.raw(&[m.src << 4 | m.dst]);
    } else {
        out.raw(&[m.src, m.dst]);
    }
    out.int(if in_microseconds { since / 1000 } else { since });
    out.int(m.packet.wrapping_sub(before.packet) as i64);
    out.int(m.offset.wrapping_sub(before.offset) as i64);
    out.uint(u64::from(m.octets));
    if !same_file {
        out.uint(u64::from(m.file));
    }
    if !same_cseq {
        out.uint(u64::from(m.cseq));
    }
    if !no_text {
        if !follows {
            out.uint(u64::from(m.text.0));
        }
        out.uint(u64::from(m.text.1));
    }
}

fn text_end(m: &Message) -> Option<u32> {
    m.text.0.checked_add(u32::from(m.text.1))
}

/// A ladder as [`encode`] wrote it.
///
/// # Errors
/// [`Damaged`]; never a panic and never more memory than a small multiple of the octets, whatever they hold.
pub fn decode(from: &mut Unpack<'_>) -> Result<Ladder, Damaged> {
    let hosts = hosts(from)?;
    let not_kept = from.small()?;
    let texts = from.text()?.to_owned();
    let count = from.count()?;
    let mut messages = Vec::with_capacity(count.min(4096));
    let mut before = Message::default();
    for _ in 0..count {
        before = decode_message(from, &before)?;
        messages.push(before);
    }
    Ok(Ladder { hosts, messages, texts, not_kept })
}

/// Only the hosts of a ladder, which come first.
///
/// # Errors
/// [`Damaged`], also for a version this program does not know.
pub fn hosts(from: &mut Unpack<'_>) -> Result<Vec<Endpoint>, Damaged> {
    if from.uint()? != VERSION {
        return Err(Damaged("a ladder of another version"));
    }
    (0..from.count()?).map(|_| from.endpoint()).collect()
}

fn decode_message(from: &mut Unpack<'_>, before: &Message) -> Result<Message, Damaged> {
    let &[control, flags, method] = from.raw(3)? else { return Err(Damaged("it ends early")) };
    let has = |bit: u8| control & bit != 0;
    let status = from.small()?;
    let (src, dst) = match from.raw(if has(control::HOSTS_IN_ONE) { 1 } else { 2 })? {
        [both] => (both >> 4, both & 15),
        [src, dst] => (*src, *dst),
        _ => return Err(Damaged("it ends early")),
    };
    let since = from.int()?;
    let since = if has(control::MICROSECONDS) { since.wrapping_mul(1000) } else { since };
    let packet = before.packet.wrapping_add(from.int()? as u64);
    let offset = before.offset.wrapping_add(from.int()? as u64);
    let octets = from.small()?;
    let file = if has(control::SAME_FILE) { before.file } else { from.small()? };
    let cseq = if has(control::SAME_CSEQ) { before.cseq } else { from.small()? };
    let text = if has(control::NO_TEXT) {
        (0, 0)
    } else if has(control::TEXT_FOLLOWS) {
        (text_end(before).ok_or(Damaged("a text lies too far"))?, from.small()?)
    } else {
        (from.small()?, from.small()?)
    };
    let at_ns = before.at_ns.wrapping_add(since);
    Ok(Message { at_ns, packet, offset, octets, cseq, file, status, method, src, dst, flags, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message() -> impl Strategy<Value = Message> {
        let small = (0u8..20, 0u8..20, any::<u8>(), any::<u8>(), 0u16..700, 0u16..3);
        let large = (any::<i64>(), any::<u64>(), any::<u64>(), any::<u32>(), 0u32..3, any::<(u32, u16)>());
        (small, large).prop_map(
            |((src, dst, flags, method, status, file), (at, packet, offset, octets, cseq, text))| Message {
                at_ns: at,
                packet,
                offset,
                octets,
                cseq,
                file,
                status,
                method,
                src,
                dst,
                flags,
                text,
            },
        )
    }

    proptest! {
        #[test]
        fn comes_back_whatever_it_holds(
            hosts in prop::collection::vec((any::<[u8; 4]>(), any::<u16>()), 0..4),
            messages in prop::collection::vec(message(), 0..9),
            texts in ".{0,40}",
            not_kept in any::<u32>(),
        ) {
            let hosts = hosts.into_iter().map(|(a, p)| Endpoint::new(trunkline_wire::Address::v4(a), p)).collect();
            let ladder = Ladder { hosts, messages, texts, not_kept };
            let mut octets = vec![];
            encode(&mut octets, &ladder);
            let mut from = Unpack::new(&octets);
            prop_assert_eq!(decode(&mut from), Ok(ladder));
            prop_assert!(from.is_empty());
        }
    }

    #[test]
    fn an_ordinary_message_takes_about_a_dozen_octets() {
        let messages = (0..7u32).map(|i| Message {
            at_ns: 1_700_000_000_000_000_000 + i64::from(i) * 98_765_000,
            packet: 1000 + u64::from(i) * 3,
            offset: 70_000 + u64::from(i) * 2100,
            octets: 600,
            cseq: 1,
            method: 1,
            status: if i == 0 { 0 } else { 180 },
            src: (i % 2) as u8,
            dst: 1 - (i % 2) as u8,
            text: (i * 5, 5),
            ..Message::default()
        });
        let ladder = Ladder { messages: messages.collect(), texts: "x".repeat(35), ..Ladder::default() };
        let mut octets = vec![];
        encode(&mut octets, &ladder);
        assert!(octets.len() < 7 * 16 + 35 + 16, "{}", octets.len());
    }
}
