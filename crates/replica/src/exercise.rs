//! Drives the reader of the stream with any octets and asserts what must always hold: the fuzz target, and the test
//! that replays its corpus.

use crate::message::{self, Message, RECORD_OCTETS_MAX};

/// A message of the stream: what a leader says is written as it was read, and records are in order.
pub fn message(octets: &[u8]) {
    let Ok(read) = Message::new(octets) else { return };
    assert!(read.term() > 0 && read.first() > 0);
    match &read {
        Message::Leader { word, name, terms, next } if name.len() <= message::NAME_OCTETS_MAX => {
            assert_eq!(message::leader(*word, name, terms, *next), octets);
        }
        Message::Leader { .. } => {}
        Message::Records(records) => {
            let (mut number, mut whole, mut open) = (records.first, 0, false);
            records.each(|part| {
                assert!(part.number == number && !open && part.octets.len() <= RECORD_OCTETS_MAX);
                (number, open) = (number.wrapping_add(1), !part.ends);
                whole += part.octets.len() + 4;
            });
            assert!(whole > 0 && whole < octets.len());
        }
    }
}
