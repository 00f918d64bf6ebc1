//! A ladder in one compact blob: 16 to 20 octets a message, differences to the message before.
//!
//! Each message begins with `HEAD_OCTETS`: control, flags, method, hosts, and how many octets its numbers take. The
//! numbers follow, lowest octet first: time, packet, offset, length, status; then what control says.

use crate::packed::{Damaged, Pack, Short, Unpack, unzigzag, zigzag};
use crate::row::{Ladder, Message};
use trunkline_wire::Endpoint;

/// The version that [`encode`] writes, and the only one that a decoder knows: the store's version counts with it.
pub const VERSION: u64 = 2;

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
    /// Sender and receiver are in the octet of the head, four bits each; else the receiver follows.
    pub const HOSTS_IN_ONE: u8 = 32;
    /// There is a status code.
    pub const STATUS: u8 = 64;
}

/// Octets that each message has at its beginning.
const HEAD_OCTETS: usize = 6;

/// Appends a ladder. Hosts come first, so that a search for an address reads no further ([`hosts`]).
pub fn encode(out: &mut Vec<u8>, ladder: &Ladder) {
    out.uint(VERSION);
    out.uint(ladder.hosts.len() as u64);
    ladder.hosts.iter().for_each(|h| out.endpoint(*h));
    out.uint(u64::from(ladder.not_kept));
    out.text(&ladder.texts);
    out.uint(ladder.messages.len() as u64);
    let begin = out.len();
    // Room for all of them at once: no message asks at each octet whether there is some.
    out.resize(begin + ladder.messages.len() * Short::OCTETS, 0);
    let (mut at, mut before) = (begin, &Message::default());
    for m in &ladder.messages {
        let Some(room) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else { break };
        let mut octets = Short::new(room);
        encode_message(&mut octets, before, m);
        at += octets.written();
        before = m;
    }
    out.truncate(at);
}

// Most octets that a message takes: head, time, packet and offset 8 each, length 4, status 2, host 1, file 3, CSeq 5,
// text 5 + 3; and as many as a number is written with at once, whatever its size.
const _: () = assert!(HEAD_OCTETS + 3 * 8 + 4 + 2 + 1 + 3 + 5 + 8 + 8 <= Short::OCTETS);

#[inline]
fn encode_message(out: &mut Short<'_>, before: &Message, m: &Message) {
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
    let status = mark(m.status != 0, control::STATUS);
    let hosts = if hosts_in_one { m.src << 4 | m.dst } else { m.src };
    out.raw(&[control, m.flags, m.method, hosts, 0, 0]);
    let time = out.least(zigzag(if in_microseconds { since / 1000 } else { since }));
    let packet = out.least(zigzag(m.packet.wrapping_sub(before.packet) as i64));
    let offset = out.least(zigzag(m.offset.wrapping_sub(before.offset) as i64));
    let octets = out.least(u64::from(m.octets));
    out.set(HEAD_OCTETS - 2, [time << 4 | packet, offset << 4 | octets]);
    if status {
        out.raw(&m.status.to_le_bytes());
    }
    if !hosts_in_one {
        out.raw(&[m.dst]);
    }
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
    let &[control, flags, method, hosts, first_sizes, last_sizes] = from.raw(HEAD_OCTETS)? else {
        return Err(Damaged("it ends early"));
    };
    let has = |bit: u8| control & bit != 0;
    let since = unzigzag(from.least(first_sizes >> 4)?);
    let since = if has(control::MICROSECONDS) { since.wrapping_mul(1000) } else { since };
    let packet = before.packet.wrapping_add(unzigzag(from.least(first_sizes & 15)?) as u64);
    let offset = before.offset.wrapping_add(unzigzag(from.least(last_sizes >> 4)?) as u64);
    let octets = u32::try_from(from.least(last_sizes & 15)?).map_err(|_| Damaged("a number is too large"))?;
    let status = if has(control::STATUS) { from.least(2)? as u16 } else { 0 };
    let (src, dst) = if has(control::HOSTS_IN_ONE) { (hosts >> 4, hosts & 15) } else { (hosts, from.least(1)? as u8) };
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
    fn an_ordinary_message_takes_about_seventeen_octets() {
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
        assert!(octets.len() < 7 * 18 + 35 + 16, "{}", octets.len());
    }
}
