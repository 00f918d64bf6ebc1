//! Messages that wait for nothing: those of the path, and refusals.

use std::collections::VecDeque;
use trunkline_wire::gtpp::{Header, TooLong, Writer};

/// Such messages that wait to be sent; the oldest is given up for one more, as the network could lose it, too.
pub const CONTROL_MAX: usize = 1024;

/// A message that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent<T> {
    /// Where to.
    pub to: T,
    /// The message.
    pub octets: Vec<u8>,
}

/// In the order in which they leave.
#[derive(Clone, Debug)]
pub(super) struct Outbox<T>(VecDeque<Sent<T>>);

impl<T> Default for Outbox<T> {
    fn default() -> Self {
        Outbox(VecDeque::new())
    }
}

impl<T> Outbox<T> {
    /// Writes a message. Whether another one was given up for it.
    pub fn write(&mut self, to: T, header: Header, what: impl FnOnce(Writer<'_>) -> Writer<'_>) -> bool {
        message(header, what).is_ok_and(|octets| self.put(to, octets))
    }

    pub fn put(&mut self, to: T, octets: Vec<u8>) -> bool {
        let full = self.0.len() >= CONTROL_MAX;
        if full {
            self.0.pop_front();
        }
        self.0.push_back(Sent { to, octets });
        full
    }

    pub fn next(&mut self) -> Option<Sent<T>> {
        self.0.pop_front()
    }
}

/// The octets of a message.
pub(super) fn message(header: Header, what: impl FnOnce(Writer<'_>) -> Writer<'_>) -> Result<Vec<u8>, TooLong> {
    let mut octets = Vec::new();
    what(Writer::new(&mut octets, &header)).finish()?;
    Ok(octets)
}
