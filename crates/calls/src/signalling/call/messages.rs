//! The messages of a call, each with a place that is there before it comes.

use core::ops::Deref;
use trunkline_store::row::Message;

/// Messages of a usual call.
const USUAL: usize = 8;

/// Messages in order. The places of a usual call are made at its beginning, so that the next one can be looked at
/// before it is needed: it lies far from the cache, and what is written there would hold up what comes after it.
#[derive(Debug, Default)]
pub struct Messages {
    places: Vec<Message>,
    len: usize,
}

impl Deref for Messages {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        self.places.get(..self.len).unwrap_or_default()
    }
}

impl Messages {
    /// Makes the places that a usual call needs.
    pub fn make_ready(&mut self) {
        if self.places.len() < USUAL {
            self.places.resize(USUAL, Message::default());
        }
    }

    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds one.
    pub fn push(&mut self, message: Message) {
        match self.places.get_mut(self.len) {
            Some(place) => *place = message,
            None => self.places.push(message),
        }
        self.len += 1;
    }

    /// Takes all out. As many as are usual are copied and the memory is kept, more are given away with it.
    pub fn take(&mut self) -> Vec<Message> {
        let taken = if self.len > USUAL {
            self.places.truncate(self.len);
            core::mem::take(&mut self.places)
        } else {
            self.to_vec()
        };
        self.len = 0;
        taken
    }

    /// Reads a little of the last one and of the place of the next.
    pub fn warm(&self) -> u64 {
        let last = self.last().map_or(0, |m| m.packet ^ u64::from(m.status));
        last ^ self.places.get(self.len).map_or(0, |m| m.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_does_not_show() {
        let mut messages = Messages::default();
        for (count, kept) in [(3, true), (USUAL, true), (USUAL + 3, false), (2, true)] {
            messages.clear();
            messages.make_ready();
            for packet in 0..count as u64 {
                messages.push(Message { packet, ..Message::default() });
                assert_eq!(messages.last().map(|m| m.packet), Some(packet));
            }
            assert_eq!(messages.iter().map(|m| m.packet).collect::<Vec<_>>(), (0..count as u64).collect::<Vec<_>>());
            let taken = messages.take();
            assert_eq!((taken.len(), messages.len(), messages.places.is_empty()), (count, 0, !kept));
        }
    }
}
