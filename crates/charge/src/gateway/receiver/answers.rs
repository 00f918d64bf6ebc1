//! Answers to transfers: they wait for the disk, and those that may leave are gathered, many in one message.

use crate::gateway::outbox::{Sent, message};
use std::collections::{BTreeMap, VecDeque};
use trunkline_wire::Endpoint;
use trunkline_wire::gtpp::{Header, Version, element, message_type};

/// Requests whose answers wait, for the disk or to be sent; one more is dropped, and its sender repeats it.
// Limit: record transfers whose answers wait
// Beyond: a further one is dropped, and its sender repeats it
// Seen in: `trunkline_charge_gateway_dropped_total`
pub const WAITING_MAX: usize = 65_536;
/// Requests that one message answers.
pub const RESPONDED_MAX: usize = 256;

/// What one message can say: to whom, in which version, and the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Say {
    pub to: Endpoint,
    version: u8,
    pub cause: u8,
}

impl Say {
    pub fn new(to: Endpoint, version: Version, cause: u8) -> Say {
        Say { to, version: version as u8, cause }
    }

    fn version(self) -> Version {
        let versions = [Version::V0Long, Version::V0, Version::V1, Version::V2];
        versions.into_iter().find(|version| *version as u8 == self.version).unwrap_or_default()
    }
}

/// Those of all peers.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    durable: u64,
    /// The entry that each waits for, and the request's number.
    waiting: VecDeque<(u64, Say, u16)>,
    ready: BTreeMap<Say, Vec<u16>>,
    /// Numbers in `ready`.
    ready_count: usize,
}

impl Answers {
    pub fn is_full(&self) -> bool {
        self.waiting.len() + self.ready_count >= WAITING_MAX
    }

    /// Whether some wait for the disk.
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// All entries up to this one are durable.
    pub fn durable(&mut self, sequence: u64) {
        self.durable = self.durable.max(sequence);
        while let Some((after, say, number)) = self.waiting.front().copied() {
            if after > self.durable {
                return;
            }
            self.waiting.pop_front();
            self.leave(say, number);
        }
    }

    /// An answer leaves when that entry is durable. Entries come in order: an answer never waits behind a later one.
    pub fn put(&mut self, after: u64, say: Say, number: u16) {
        match after <= self.durable {
            true => self.leave(say, number),
            false => self.waiting.push_back((after, say, number)),
        }
    }

    fn leave(&mut self, say: Say, number: u16) {
        self.ready_count += 1;
        self.ready.entry(say).or_default().push(number);
    }

    /// The next message.
    pub fn next(&mut self) -> Option<Sent<Endpoint>> {
        let (say, mut numbers) = self.ready.pop_first()?;
        if numbers.len() > RESPONDED_MAX {
            self.ready.insert(say, numbers.split_off(RESPONDED_MAX));
        }
        self.ready_count -= numbers.len();
        let header = Header {
            version: say.version(),
            kind: message_type::DATA_RECORD_TRANSFER_RESPONSE,
            // The request's where it is one; of many, the first.
            sequence: *numbers.first()?,
        };
        message(header, |w| w.cause(say.cause).sequence_numbers(element::REQUESTS_RESPONDED, &numbers))
            .ok()
            .map(|octets| Sent { to: say.to, octets })
    }
}
