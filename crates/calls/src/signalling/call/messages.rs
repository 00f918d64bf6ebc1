//! The messages of a call, each with a place that is there before it comes.

use core::ops::Deref;
use trunkline_store::row::Message;

/// Messages of a usual call.
const USUAL: usize = 8;

/// Messages in order. Those of a usual call lie in the call itself: they need no look at another page of the memory,
/// and the place of the next one can be looked at before it is needed. What is far from the cache and written to would
/// hold up what comes after it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Messages {
    /// All of them, when they are more.
    more: Vec<Message>,
    usual: [Message; USUAL],
    /// Last, beside what else each message needs of the call.
    len: usize,
}

impl Deref for Messages {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        self.usual.get(..self.len).unwrap_or(&self.more)
    }
}

impl Messages {
    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds one.
    pub fn push(&mut self, message: Message) {
        match self.usual.get_mut(self.len) {
            Some(place) => *place = message,
            None => self.push_more(message),
        }
        self.len += 1;
    }

    #[cold]
    fn push_more(&mut self, message: Message) {
        if self.len == USUAL {
            self.more.clear();
            self.more.extend_from_slice(&self.usual);
        }
        self.more.push(message);
    }

    /// Takes all out. As many as are usual are copied, more are given away with their memory.
    pub fn take(&mut self) -> Vec<Message> {
        let taken = if self.len > USUAL { core::mem::take(&mut self.more) } else { self.to_vec() };
        self.len = 0;
        taken
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.len
    }

    /// Reads a little of the last one and of the place of the next.
    pub fn warm(&self) -> u64 {
        let last = self.last().map_or(0, |m| m.packet ^ u64::from(m.status));
        last ^ self.usual.get(self.len).map_or(0, |m| m.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_does_not_show() {
        let mut messages = Messages::default();
        for count in [3, USUAL, USUAL + 3, 2, USUAL + 1] {
            messages.clear();
            for packet in 0..count as u64 {
                messages.push(Message { packet, ..Message::default() });
                assert_eq!(messages.last().map(|m| m.packet), Some(packet));
            }
            assert_eq!(messages.iter().map(|m| m.packet).collect::<Vec<_>>(), (0..count as u64).collect::<Vec<_>>());
            let taken = messages.take();
            assert_eq!((taken.len(), messages.count(), messages.more.is_empty()), (count, 0, true));
            assert_eq!(taken.last().map(|m| m.packet), Some(count as u64 - 1));
        }
    }
}
