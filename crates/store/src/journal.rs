//! Rows as octets of a journal: what waits on disk for a store that cannot be written.
//!
//! ```text
//! head of a file   "TKLROWS\n", u64 LE: fingerprint of the rows' fields
//! record           u32 LE: octets of the body; u32 LE: rows in it; u32 LE: CRC-32 of these two and of the body; body
//! body             the fields of the rows in their order, packed (crate::packed)
//! ```
//!
//! A file is written by one version of the program and read by the same: another one has other fields, or other numbers
//! for names, hence another fingerprint. A record is believed only as a whole.

mod fields;

use crate::packed::{Damaged, Unpack};
use crate::row::Rows;
use fields::Field;

/// Octets before the first record.
pub const HEAD_OCTETS: usize = 16;
/// Octets of a record before its body.
pub const FRAME_OCTETS: usize = 12;
/// Octets of a body; rows that need more cannot be kept in a journal.
pub const BODY_OCTETS_MAX: usize = 64 << 20;

/// What a file begins with.
pub fn head() -> [u8; HEAD_OCTETS] {
    let mut head = [0; HEAD_OCTETS];
    head[..8].copy_from_slice(b"TKLROWS\n");
    head[8..].copy_from_slice(&fields::FINGERPRINT.to_le_bytes());
    head
}

/// Appends rows as a record; false, and nothing is appended, if they need more than [`BODY_OCTETS_MAX`].
pub fn write(rows: &Rows, out: &mut Vec<u8>) -> bool {
    let begin = out.len();
    out.resize(begin + FRAME_OCTETS, 0);
    rows.put(out);
    let body = out.len() - begin - FRAME_OCTETS;
    if body > BODY_OCTETS_MAX {
        out.truncate(begin);
        return false;
    }
    let count = u32::try_from(rows.count()).unwrap_or(u32::MAX);
    let (length, count) = ((body as u32).to_le_bytes(), count.to_le_bytes());
    let check = check_of(length, count, out.get(begin + FRAME_OCTETS..).unwrap_or_default());
    for (at, word) in [length, count, check.to_le_bytes()].into_iter().enumerate() {
        out[begin + 4 * at..begin + 4 * at + 4].copy_from_slice(&word);
    }
    true
}

/// What stands before a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Octets of the body.
    pub octets: usize,
    /// Rows in it.
    pub rows: u64,
    check: u32,
}

impl Frame {
    /// Reads it; none if it makes no sense.
    pub fn of(octets: &[u8; FRAME_OCTETS]) -> Option<Frame> {
        let word = |at: usize| u32::from_le_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]]);
        // No rows at all need seven octets.
        let length = usize::try_from(word(0)).ok().filter(|n| (7..=BODY_OCTETS_MAX).contains(n))?;
        Some(Frame { octets: length, rows: u64::from(word(4)), check: word(8) })
    }

    /// Whether this is its body, as it was written.
    pub fn is_of(&self, body: &[u8]) -> bool {
        let (length, count) = ((self.octets as u32).to_le_bytes(), (self.rows as u32).to_le_bytes());
        self.octets == body.len() && check_of(length, count, body) == self.check
    }
}

fn check_of(length: [u8; 4], count: [u8; 4], body: &[u8]) -> u32 {
    let mut check = crc32fast::Hasher::new();
    [&length[..], &count, body].into_iter().for_each(|piece| check.update(piece));
    check.finalize()
}

/// The rows of a body.
///
/// # Errors
/// It holds something else.
pub fn read(body: &[u8]) -> Result<Rows, Damaged> {
    let mut from = Unpack::new(body);
    let rows = Rows::take(&mut from)?;
    if from.is_empty() { Ok(rows) } else { Err(Damaged("something follows the rows")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Call, CallState, Loss, Message, OtherNumber, SipEvent, Stream, StreamInterval};
    use trunkline_kit::Id;

    fn rows() -> Rows {
        let mut call = Call {
            id: Id::derive(1_795_181_123_000_000_000, b"a"),
            sip_call_id: "a@b".into(),
            state: CallState::Completed,
            start_ns: -5,
            answer_ns: Some(i64::MIN),
            mos: Some(4.2),
            numbers: vec![OtherNumber { number: "+44".into(), ..OtherNumber::default() }],
            src: "192.0.2.1:5060".parse().unwrap(),
            dst: "[2001:db8::1]:5061".parse().unwrap(),
            streams: vec![Stream { loss_runs: [9; 10], lost: -3, payload_types: vec![0, 101], ..Stream::default() }],
            files: vec!["-".into(), String::new()],
            ..Call::default()
        };
        call.ladder.messages = vec![Message { text: (70_000, 9), packet: u64::MAX, ..Message::default() }];
        call.streams[0].rtcp.lost = Some(-1);
        Rows {
            calls: vec![call.clone(), call],
            intervals: vec![StreamInterval { mos_vm: [Some(1.0), None, Some(f32::MAX)], ..StreamInterval::default() }],
            events: vec![SipEvent { method: "OPTIONS".into(), ..SipEvent::default() }],
            losses: vec![Loss { place: "card".into(), count: 3, ..Loss::default() }],
            ..Rows::default()
        }
    }

    #[test]
    fn rows_come_back() {
        let mut octets = Vec::new();
        assert!(write(&rows(), &mut octets) && write(&Rows::default(), &mut octets));
        let (head, rest) = octets.split_first_chunk().unwrap();
        let frame = Frame::of(head).unwrap();
        let (body, rest) = rest.split_at(frame.octets);
        assert!(frame.is_of(body) && frame.rows == 5);
        assert_eq!(read(body), Ok(rows()));
        let (head, body) = rest.split_first_chunk().unwrap();
        assert!(Frame::of(head).unwrap().is_of(body));
        assert_eq!(read(body), Ok(Rows::default()));
    }

    #[test]
    fn a_flipped_bit_is_not_believed() {
        let mut octets = Vec::new();
        write(&rows(), &mut octets);
        for bit in 0..octets.len() * 8 {
            octets[bit / 8] ^= 1 << (bit % 8);
            let (head, body) = octets.split_first_chunk().unwrap();
            assert!(!Frame::of(head).is_some_and(|frame| frame.is_of(body)), "bit {bit}");
            octets[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_body_that_is_cut_or_has_more_is_refused() {
        let mut octets = Vec::new();
        write(&rows(), &mut octets);
        let body = &octets[FRAME_OCTETS..];
        for cut in 0..body.len() {
            assert!(read(&body[..cut]).is_err());
        }
        assert!(read(&[body, &[0]].concat()).is_err());
    }
}
