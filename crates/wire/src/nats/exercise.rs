//! Drives the reader with any octets and asserts what must always hold.

use super::{Frames, Message, Said};

const MESSAGE_OCTETS_MAX: usize = 4096;

/// What a server says, one after the other, then the octets as one of it.
pub fn nats(octets: &[u8]) {
    let mut frames = Frames::new(octets, MESSAGE_OCTETS_MAX);
    let mut taken = 0;
    while let Ok(Some(said)) = frames.next_message() {
        taken += said.len();
        read(said);
    }
    assert!(frames.taken() == taken && taken <= octets.len());
    read(octets);
}

fn read(octets: &[u8]) {
    if let Ok(Said::Message(Message { subject, reply, head, payload, .. })) = Said::new(octets) {
        assert!(!subject.is_empty() && reply.is_none_or(|reply| !reply.is_empty()));
        assert!(head.len() + payload.len() < octets.len());
    }
    if let Ok(Said::Message(message)) = Said::new(octets) {
        let status = message.status();
        assert!(status.is_none() || !message.head.is_empty());
        assert!(message.value("Nats-Sequence").is_none_or(|value| value == value.trim()));
    }
}
