//! The service of a thread, as the engine wants it.

use super::Clock;
use super::connections::Entry;
use super::desk::{Desk, Told};
use crate::protocol::udp::{DATAGRAM_OCTETS_MAX, FRAME_OCTETS};
use crate::protocol::{Now, text};
use crate::service::{Connection, Next, OUTPUT_OCTETS_MAX, Service, Shared};
use std::sync::Arc;
use trunkline_net::{Arrival, Cause, ConnectionId, Limits, Options, Output, Replies, Taken, UdpPeer};

/// Room that the service needs for one call: what it says at most, and the small answer that may follow.
const ROOM_OCTETS: usize = OUTPUT_OCTETS_MAX + (64 << 10);
/// Input that the service may leave: the longest line, and the longest of what signs in or is binary.
const CARRIED_OCTETS: usize = 64 << 10;

const _: () = assert!(CARRIED_OCTETS > 2 * text::LINE_OCTETS_MAX);

/// The engine's options with the room that the service needs.
pub fn fitted(options: Options) -> Options {
    let limits = Limits { output_octets: 2 * ROOM_OCTETS, carried_octets: CARRIED_OCTETS, ..options.limits };
    Options { limits, ..options }
}

/// What serves a thread.
#[derive(Debug)]
pub struct Worker {
    service: Service,
    shared: Arc<Shared>,
    desk: Arc<Desk>,
    clock: Clock,
    answer: Vec<u8>,
    net: trunkline_net::Clock,
}

/// What is kept of a connection.
#[derive(Debug)]
pub struct Link {
    connection: Connection,
    entry: Arc<Entry>,
    id: ConnectionId,
    watches: bool,
}

impl Worker {
    /// The service of one more thread.
    pub fn new(shared: &Arc<Shared>, desk: &Arc<Desk>, clock: Clock, net: trunkline_net::Clock) -> Self {
        let (service, answer) = (Service::new(shared), Vec::new());
        Worker { service, shared: Arc::clone(shared), desk: Arc::clone(desk), clock, answer, net }
    }

    fn moment(&self, now: trunkline_net::Now) -> Now {
        self.clock.moment(now.monotonic, now.unix)
    }

    /// Has the service look whether the call took long: the one look at the clock that this costs.
    fn time(&mut self, link: &mut Link, input: &[u8], taken: crate::service::Taken, began: Now) {
        if self.service.times_commands() {
            let after = self.moment(self.net.now()).monotonic_us;
            self.service.took(&mut link.connection, input, taken, began, after, || link.entry.address());
        }
    }

    fn next(&self, link: &mut Link, next: Next) -> trunkline_net::Next {
        if link.connection.is_watching() && !link.watches {
            link.watches = true;
            self.desk.connections.watch(link.id);
        }
        match next {
            Next::More => trunkline_net::Next::More,
            Next::Resume => trunkline_net::Next::Resume,
            Next::Yield => trunkline_net::Next::Yield,
            Next::Close => trunkline_net::Next::Close,
        }
    }
}

/// memcached's word for it in lines of `watch connevents`.
fn reason(cause: Cause) -> &'static str {
    match cause {
        Cause::Peer | Cause::Service | Cause::Stopped => "normal",
        Cause::Idle => "idle_timeout",
        _ => "error",
    }
}

impl trunkline_net::Service for Worker {
    type Connection = Link;
    type Mail = Told;

    fn accepted(&mut self, arrival: &Arrival<'_>, now: trunkline_net::Now) -> Link {
        let now = self.moment(now);
        let entry = self.desk.connections.enter(arrival.peer, arrival.listener, now.second);
        self.shared.connection_event(&format!("conn_new {entry} cfd={}", entry.name), now);
        let mut connection = self.service.accepted(entry.name);
        if let Some(address) = arrival.peer.ip() {
            connection.belong_to(&self.desk.connections.client(address));
        }
        Link { connection, entry, id: arrival.id, watches: false }
    }

    fn octets(&mut self, link: &mut Link, input: &[u8], output: &mut Output<'_>, now: trunkline_net::Now) -> Taken {
        if output.room() < ROOM_OCTETS {
            return Taken { octets: 0, next: trunkline_net::Next::Resume };
        }
        let now = self.moment(now);
        link.entry.hear(now.second);
        let taken = output.append(|out| self.service.octets(&mut link.connection, input, out, now));
        self.time(link, input, taken, now);
        Taken { octets: taken.octets, next: self.next(link, taken.next) }
    }

    fn resume(&mut self, link: &mut Link, output: &mut Output<'_>, now: trunkline_net::Now) -> trunkline_net::Next {
        if output.room() < ROOM_OCTETS {
            return trunkline_net::Next::Resume;
        }
        let now = self.moment(now);
        let next = output.append(|out| self.service.resume(&mut link.connection, out, now));
        self.time(link, &[], crate::service::Taken { octets: 0, next }, now);
        self.next(link, next)
    }

    fn mail(
        &mut self,
        link: &mut Link,
        _: Told,
        output: &mut Output<'_>,
        now: trunkline_net::Now,
    ) -> trunkline_net::Next {
        self.resume(link, output, now)
    }

    fn closed(&mut self, link: Link, cause: Cause, now: trunkline_net::Now) {
        let Link { connection, entry, id, watches } = link;
        if watches {
            self.desk.connections.unwatch(id);
        }
        self.service.closed(connection);
        self.desk.connections.leave(&entry);
        let line = format_args!("conn_close {entry} reason={} cfd={}", reason(cause), entry.name).to_string();
        self.shared.connection_event(&line, self.moment(now));
    }

    fn ahead<'d>(&mut self, payloads: impl Iterator<Item = &'d [u8]>) -> usize {
        self.service.ahead(payloads)
    }

    fn datagram(&mut self, peer: &UdpPeer, payload: &[u8], replies: &mut Replies, now: trunkline_net::Now) {
        self.answer.clear();
        let now = self.moment(now);
        let id = self.service.datagram(payload, &mut self.answer, now);
        if self.service.times_commands() {
            let after = self.moment(self.net.now()).monotonic_us;
            let name = || format!("udp:{}", peer.address);
            self.service.took_datagram(payload, self.answer.len(), now, after, name);
        }
        let Some(id) = id else { return };
        let mut reply = replies.numbered(peer, FRAME_OCTETS, DATAGRAM_OCTETS_MAX);
        if reply.put(&self.answer) {
            reply.finish(|header, number, of| header.copy_from_slice(&crate::protocol::udp::header(id, number, of)));
        }
    }

    fn tick(&mut self, _: &mut Replies, now: trunkline_net::Now) {
        // The segments that this thread fills itself; the others are the house's.
        let second = self.moment(now).second;
        self.service.writer().sweep(second, 0);
    }

    fn rest(&mut self) {
        self.service.writer().rest();
    }
}
