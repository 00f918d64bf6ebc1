//! Data Record Transfer Requests (TS 32.295 clause 6.2.4.5).

use super::state::{Fate, Peer, Seen};
use super::{Change, HELD_MAX, HELD_OCTETS_MAX, Outcome, PEERS_MAX, Plain, Receiver, Say};
use crate::gateway::Records;
use core::time::Duration;
use trunkline_kit::hash::fnv1a;
use trunkline_wire::gtpp::records::DataRecordPacket;
use trunkline_wire::gtpp::{Body, Message, SequenceNumbers, TransferCommand, cause, element};
use trunkline_wire::{Address, Endpoint};

/// A request.
#[derive(Clone, Copy)]
struct Request<'a> {
    from: Endpoint,
    message: &'a Message<'a>,
    number: u16,
    fingerprint: u64,
}

/// What a number that came before says of a request.
enum Before {
    /// Nothing: it is new.
    New,
    /// It is a copy.
    Copy(Fate),
    /// Other octets had this number.
    Other,
}

/// What is to be done, or the cause with which it is not.
type Decided = Result<Change, u8>;

impl Receiver {
    pub(super) fn transfer(&mut self, from: Endpoint, message: &Message<'_>, now: Duration) -> Option<Outcome> {
        // What changes the state must be answered.
        if self.answers.is_full() {
            self.counts.dropped += 1;
            return None;
        }
        let number = message.header.sequence;
        let request = Request { from, message, number, fingerprint: fingerprint(message) };
        let decided = match message.body() {
            Ok(Body::DataRecordTransferRequest(command)) => self.command(&request, command, now)?,
            Ok(_) => Err(cause::INVALID_MESSAGE_FORMAT),
            Err(error) => Err(error.cause()),
        };
        self.decide(&request, decided, now)
    }

    fn command(&mut self, request: &Request<'_>, command: TransferCommand<'_>, now: Duration) -> Option<Decided> {
        match command {
            TransferCommand::Send { packet: None, .. } => Some(self.test(request)),
            TransferCommand::Send { possibly_duplicated, packet: Some(packet) } => {
                self.store(request, possibly_duplicated, &packet, now)
            }
            TransferCommand::Cancel(numbers) => Some(self.settle(request, false, numbers, now)),
            TransferCommand::Release(numbers) => Some(self.settle(request, true, numbers, now)),
        }
    }

    /// Does it and answers. An answer that changes nothing may follow from an entry that is not durable yet.
    fn decide(&mut self, request: &Request<'_>, decided: Decided, now: Duration) -> Option<Outcome> {
        let decided = decided.and_then(|change| self.placed(request.from.address, change, now));
        let outcome = decided.as_ref().ok().map(|change| self.write(change.clone()));
        let cause = decided.err().unwrap_or(cause::REQUEST_ACCEPTED);
        match (&outcome, cause) {
            (Some(outcome), _) => self.count(outcome),
            (None, cause::NO_RESOURCES) => self.counts.full += 1,
            (None, cause::ALREADY_FULFILLED | cause::DUPLICATES_ALREADY_FULFILLED) => self.counts.copies += 1,
            (None, cause::REQUEST_ACCEPTED | cause::NOT_FULFILLED) => {}
            (None, _) => self.counts.refused += 1,
        }
        let say = Say::new(request.from, request.message.header.version, cause);
        self.answer(self.state.sequence(), say, request.number);
        outcome
    }

    fn count(&mut self, outcome: &Outcome) {
        let change = match &outcome.entry.change {
            Change::Instead { change, .. } => &*change.0,
            change => change,
        };
        match change {
            Change::Stored { apart: false, .. } => self.counts.stored += 1,
            Change::Stored { .. } => self.counts.apart += 1,
            Change::Settled { release: true, packets, .. } => self.counts.released += packets.len() as u64,
            Change::Settled { packets, .. } => self.counts.cancelled += packets.len() as u64,
            Change::Tested { .. } | Change::Counter { .. } | Change::Instead { .. } => {}
        }
    }

    /// The change where its peer has a place, if need be that of another one.
    fn placed(&mut self, peer: Address, change: Change, now: Duration) -> Decided {
        if self.state.peer(&peer).is_some() || self.state.peers() < PEERS_MAX {
            return Ok(change);
        }
        let stores = matches!(change, Change::Stored { .. });
        let forgotten = self.makes_room(stores, now).ok_or(cause::NO_RESOURCES)?;
        self.counts.peers_forgotten += 1;
        self.counts.held_forgotten += self.state.peer(&forgotten).map_or(0, |peer| peer.held.len() as u64);
        self.paths.forget(&forgotten);
        Ok(Change::Instead { forgotten, change: Plain(Box::new(change)) })
    }

    /// The empty packet.
    fn test(&mut self, request: &Request<'_>) -> Decided {
        self.counts.tested += 1;
        let peer = self.state.peer(&request.from.address);
        let seen = peer.and_then(|peer| peer.find(request.number));
        match seen {
            None => Ok(Change::Tested { peer: request.from.address, number: request.number }),
            // It never came, and that was said before.
            Some(Seen { fate: Fate::Tested, .. }) => Err(cause::REQUEST_ACCEPTED),
            Some(seen) => Err(fulfilled(seen.fate)),
        }
    }

    /// None where the packet is dropped: its sender has asked whether it came, and was told that it did not.
    fn store(
        &mut self,
        request: &Request<'_>,
        apart: bool,
        packet: &DataRecordPacket<'_>,
        now: Duration,
    ) -> Option<Decided> {
        match self.before(request) {
            Before::Copy(Fate::Tested) => {
                self.counts.late += 1;
                return None;
            }
            Before::Copy(fate) => return Some(Err(fulfilled(fate))),
            Before::Other => return Some(Err(self.mismatched(request, now))),
            Before::New => {}
        }
        if !self.settings.formats.contains(&packet.format) {
            return Some(Err(cause::CDR_DECODING_ERROR));
        }
        let value = request.message.elements().need(element::DATA_RECORD_PACKET).ok()?.value;
        let records = Records::new(value)?;
        if apart && !self.may_hold(value.len()) {
            return Some(Err(cause::NO_RESOURCES));
        }
        let (peer, Request { number, fingerprint, .. }) = (request.from.address, *request);
        Some(Ok(Change::Stored { peer, number, fingerprint, apart, records }))
    }

    fn may_hold(&self, octets: usize) -> bool {
        let (held, held_octets) = self.state.held();
        held < HELD_MAX && held_octets + octets <= HELD_OCTETS_MAX
    }

    /// Release or cancel: wholly, or not at all.
    fn settle(&mut self, request: &Request<'_>, release: bool, numbers: SequenceNumbers<'_>, now: Duration) -> Decided {
        match self.before(request) {
            Before::Copy(fate) => return Err(fulfilled(fate)),
            Before::Other => return Err(self.mismatched(request, now)),
            Before::New => {}
        }
        let peer = self.state.peer(&request.from.address).ok_or(cause::SEQUENCE_NUMBERS_INCORRECT)?;
        let packets = held(peer, release, numbers)?;
        let (peer, Request { number, fingerprint, .. }) = (request.from.address, *request);
        Ok(Change::Settled { peer, number, fingerprint, release, packets })
    }

    fn before(&self, request: &Request<'_>) -> Before {
        let peer = self.state.peer(&request.from.address);
        let Some((peer, seen)) = peer.and_then(|peer| peer.find(request.number).map(|seen| (peer, seen))) else {
            return Before::New;
        };
        let same_life = seen.life == peer.life;
        match seen.fingerprint {
            Some(fingerprint) if fingerprint == request.fingerprint => Before::Copy(seen.fate),
            None if same_life && seen.fate == Fate::Tested => Before::Copy(seen.fate),
            // In a later life it may be the packet that was asked for, or another one: nothing tells.
            None if seen.fate == Fate::Tested => Before::Other,
            _ if same_life => Before::Other,
            _ => Before::New,
        }
    }

    /// The peer may have begun anew without a word.
    fn mismatched(&mut self, request: &Request<'_>, now: Duration) -> u8 {
        self.counts.mismatched += 1;
        self.ask(request.from, now);
        cause::NOT_FULFILLED
    }
}

/// The cause that says that this was done before.
fn fulfilled(fate: Fate) -> u8 {
    match fate {
        Fate::Released | Fate::Cancelled => cause::DUPLICATES_ALREADY_FULFILLED,
        _ => cause::ALREADY_FULFILLED,
    }
}

/// Those of the numbers that are held.
fn held(peer: &Peer, release: bool, numbers: SequenceNumbers<'_>) -> Result<Vec<u16>, u8> {
    let done = if release { Fate::Released } else { Fate::Cancelled };
    let is_done = |number| peer.find(number).is_some_and(|seen| seen.fate == done);
    let (held, others): (Vec<u16>, Vec<u16>) = numbers.iter().partition(|number| peer.holds(*number));
    match (held.is_empty(), others.iter().all(|number| is_done(*number)), numbers.is_empty()) {
        (_, false, _) | (_, _, true) => Err(cause::SEQUENCE_NUMBERS_INCORRECT),
        (true, ..) => Err(cause::DUPLICATES_ALREADY_FULFILLED),
        (false, ..) => Ok(held),
    }
}

/// FNV-1a of what stands behind the header.
fn fingerprint(message: &Message<'_>) -> u64 {
    fnv1a(&message.octets()[message.header.version.header_octets()..])
}
