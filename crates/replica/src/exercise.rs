//! Drives the reader of the stream with any octets and asserts what must always hold: the fuzz target, and the test
//! that replays its corpus.

use crate::connection::Reply;
use crate::jetstream::{Failed, Published, SAID_CHARS_MAX, answered, found, newest_of};
use crate::message::{self, Message, RECORD_OCTETS_MAX};
use trunkline_wire::nats::{Frames, Said};

/// Octets of a message of the server.
const MESSAGE_OCTETS_MAX: usize = 4096;

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

/// What a server says, message by message: what it says of an error is told in a line, and a message that was published
/// stands at a place only where no error is told.
pub fn reply(octets: &[u8]) {
    let mut frames = Frames::new(octets, MESSAGE_OCTETS_MAX);
    while let Ok(Some(said)) = frames.next_message() {
        let Ok(Said::Message(message)) = Said::new(said) else { continue };
        let Some(reply) = Reply::of(&message) else { continue };
        assert!(message.subject.ends_with(|last: char| last.is_ascii_digit()));
        match Published::of(&reply) {
            Published::At(place) => {
                let is_error = reply.status != Some(503) && !answered(&reply).is_ok_and(|answer| answer.is_ok());
                assert!(place > 0 && !is_error);
            }
            Published::Elsewhere(_) => {}
            Published::NotNow(why) => assert!(is_a_line(&why)),
        }
        match answered(&reply) {
            Err(Failed::Away(why) | Failed::Refused(why)) | Ok(Err((_, why))) => assert!(is_a_line(&why)),
            Ok(Ok(value)) => {
                let newest = newest_of(Ok(value)).unwrap_or_default();
                assert!(newest.is_none_or(|(_, octets)| octets.len() < reply.payload.len()));
            }
        }
        let (place, payload) = (reply.place, reply.payload.clone());
        assert!(found(reply).unwrap_or_default().is_none_or(|found| found == (place.unwrap_or_default(), payload)));
    }
}

fn is_a_line(why: &str) -> bool {
    why.chars().count() <= SAID_CHARS_MAX + 30 && !why.contains(char::is_control)
}
