//! What gateways say.

use super::state::Place;
use super::{Change, Entry, Phase, Port, Sender, Way};
use core::time::Duration;
use trunkline_wire::gtpp::{Body, Header, Message, cause, message_type};
use trunkline_wire::{Address, Endpoint};

/// What a cause says of a request.
enum Verdict {
    /// It is done, or was done before.
    Fulfilled,
    /// It is not what the gateway takes.
    Refused,
    /// Not now.
    Busy,
}

impl Verdict {
    fn of(cause: u8) -> Verdict {
        match cause {
            cause::REQUEST_ACCEPTED | cause::ALREADY_FULFILLED | cause::DUPLICATES_ALREADY_FULFILLED => {
                Verdict::Fulfilled
            }
            cause::CDR_DECODING_ERROR
            | cause::INVALID_MESSAGE_FORMAT
            | cause::VERSION_NOT_SUPPORTED
            | cause::MANDATORY_INCORRECT..=cause::OPTIONAL_INCORRECT
            | cause::SEQUENCE_NUMBERS_INCORRECT => Verdict::Refused,
            _ => Verdict::Busy,
        }
    }
}

impl Sender {
    /// Takes what came in at a port. What is to be written is appended.
    pub fn handle(&mut self, port: Port, from: Endpoint, octets: &[u8], now: Duration, entries: &mut Vec<Entry>) {
        let (Ok(message), Some(at)) = (Message::new(octets), self.path_of(from)) else {
            self.counts.unreadable += 1;
            return;
        };
        let Header { version, sequence, .. } = message.header;
        let header = |kind| Header { version, kind, sequence };
        let way = Way { port, to: from };
        match message.body() {
            Ok(Body::DataRecordTransferResponse { cause, requests }) => {
                let gateway = self.paths[at].endpoint.address;
                requests.iter().for_each(|number| entries.extend(self.answered(port, gateway, number, cause)));
            }
            Ok(Body::EchoResponse { restart_counter }) => {
                if self.paths[at].answered(sequence) {
                    let before = self.paths[at].counter.replace(restart_counter);
                    self.counts.restarts += u64::from(before.is_some_and(|before| before != restart_counter));
                    self.open(at, entries);
                }
            }
            Ok(Body::EchoRequest) => {
                let counter = self.settings.restart_counter;
                let header = header(message_type::ECHO_RESPONSE);
                self.counts.dropped += u64::from(self.outbox.write(way, header, |w| w.recovery(counter)));
            }
            Ok(Body::NodeAliveRequest { .. }) => {
                let header = header(message_type::NODE_ALIVE_RESPONSE);
                self.counts.dropped += u64::from(self.outbox.write(way, header, |w| w));
                self.open(at, entries);
            }
            Ok(Body::RedirectionRequest { cause, recommended, alternate }) => {
                let header = header(message_type::REDIRECTION_RESPONSE);
                let written = self.outbox.write(way, header, |w| w.cause(cause::REQUEST_ACCEPTED));
                self.counts.dropped += u64::from(written);
                // That another node goes down, which is not named, is no reason to leave this one.
                if cause != cause::ANOTHER_NODE_GOES_DOWN {
                    self.redirect(at, [recommended, alternate], now, entries);
                }
            }
            Ok(Body::NodeAliveResponse) => {}
            Ok(_) | Err(_) => self.counts.unreadable += 1,
        }
    }

    /// A gateway is there.
    fn open(&mut self, at: usize, entries: &mut Vec<Entry>) {
        if !self.paths[at].up {
            self.paths[at].up = true;
            self.counts.back += 1;
            self.reroute(entries);
        }
    }

    /// A gateway wants to be left alone.
    fn redirect(&mut self, at: usize, to: [Option<Address>; 2], now: Duration, entries: &mut Vec<Entry>) {
        self.counts.redirected += 1;
        let mut known = to.into_iter().flatten().filter(|to| self.is_chosen(*to));
        self.preferred = known.next();
        self.counts.strange += u64::from(self.preferred.is_none() && to.iter().any(Option::is_some));
        self.paths[at].leave(now);
        self.reroute(entries);
    }

    fn is_chosen(&self, gateway: Address) -> bool {
        self.paths.iter().any(|path| path.chosen && path.endpoint.address == gateway)
    }

    /// A request was answered.
    fn answered(&mut self, port: Port, gateway: Address, number: u16, cause: u8) -> Option<Entry> {
        let packet = self.state.of_number(gateway, number);
        let kept = packet.and_then(|packet| self.state.packet(packet)).filter(|kept| kept.refused.is_none());
        let change = packet.zip(kept.map(|kept| kept.phase)).map(|(packet, phase)| {
            let is = |place: Place| place.key() == (gateway, number);
            self.follows(packet, phase, is, port, cause)
        });
        match change {
            Some(Ok(change)) => {
                self.count(&change);
                let entry = self.write(change);
                packet.into_iter().for_each(|packet| self.send_on(packet));
                Some(entry)
            }
            Some(Err(Verdict::Busy)) => {
                self.counts.busy += 1;
                None
            }
            _ => {
                self.counts.stale += 1;
                None
            }
        }
    }

    fn count(&mut self, change: &Change) {
        match change {
            Change::Done { .. } => self.counts.done += 1,
            Change::Refused { .. } => self.counts.refused += 1,
            Change::Settling { release: true, .. } => self.counts.released += 1,
            Change::Settling { .. } => self.counts.cancelled += 1,
            _ => {}
        }
    }

    /// What follows for a packet; else why nothing does.
    fn follows(
        &self,
        packet: u64,
        phase: Phase,
        is: impl Fn(Place) -> bool,
        port: Port,
        cause: u8,
    ) -> Result<Change, Verdict> {
        let settle = |copy: Place, release| {
            Ok(Change::Settling { packet, serial: self.state.place(copy.gateway).serial, release })
        };
        let verdict = Verdict::of(cause);
        match (phase, port, &verdict) {
            (_, _, Verdict::Busy) => Err(verdict),
            // To an empty packet: whether the first one had it.
            (Phase::Copied { origin, copy }, Port::Questions, Verdict::Fulfilled) if is(origin) => {
                settle(copy, cause == cause::REQUEST_ACCEPTED)
            }
            (Phase::Copied { origin, .. }, Port::Questions, Verdict::Refused) if is(origin) => {
                Ok(Change::Refused { packet, cause })
            }
            (_, Port::Questions, _) => Err(verdict),
            (Phase::Sending(place), _, Verdict::Fulfilled) if is(place) => Ok(Change::Done { packet }),
            (Phase::Copying { copy, .. }, _, Verdict::Fulfilled) if is(copy) => Ok(Change::Copied { packet }),
            // The first one had it after all.
            (Phase::Copying { origin, copy } | Phase::Copied { origin, copy }, _, Verdict::Fulfilled) if is(origin) => {
                settle(copy, false)
            }
            (Phase::Settling { settlement, .. }, _, Verdict::Fulfilled) if is(settlement) => {
                Ok(Change::Done { packet })
            }
            // The copy never came: there is nothing to forget.
            (Phase::Settling { settlement, release: false, .. }, ..)
                if is(settlement) && cause == cause::SEQUENCE_NUMBERS_INCORRECT =>
            {
                Ok(Change::Done { packet })
            }
            (Phase::Sending(place), ..)
            | (Phase::Copying { copy: place, .. }, ..)
            | (Phase::Settling { settlement: place, .. }, ..)
                if is(place) =>
            {
                Ok(Change::Refused { packet, cause })
            }
            _ => Err(verdict),
        }
    }
}
