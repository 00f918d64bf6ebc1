//! Connections come in: who may, and which thread serves them.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags, acceptfrom_with};
use rustls::ServerConnection;

use crate::connection::Newcomer;
use crate::events::Source;
use crate::gate::Permit;
use crate::options::Full;
use crate::service::{Peer, Service};
use crate::sockets::Door;
use crate::stream;
use crate::thread::Worker;

/// Connections taken from a listener in a round.
const ACCEPTS_MAX: usize = 64;

impl<S: Service> Worker<S> {
    /// Takes what waits at a listener.
    pub(crate) fn accept(&mut self, door: usize) {
        let Some(door) = self.doors.get(door).cloned() else { return };
        for _ in 0..ACCEPTS_MAX {
            let permit = self.shared.gate.enter(self.number);
            if permit.is_none() && self.desk.limits.full == Full::Wait {
                self.close_doors(true);
                return;
            }
            match acceptfrom_with(&door.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok((stream, address)) => self.admit(stream, address, permit, &door),
                Err(Errno::AGAIN) => return,
                // Out of descriptors or memory: the connection stays in the queue, and would be an event at once.
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    self.desk.counts.accept_errors += 1;
                    self.close_doors(false);
                    return;
                }
                // Of this connection alone (accept(2)).
                Err(_) => self.desk.counts.accept_errors += 1,
            }
        }
    }

    fn admit(&mut self, stream: OwnedFd, address: Option<SocketAddrAny>, permit: Option<Permit>, door: &Door) {
        self.desk.counts.accepted += 1;
        let peer = match address.map(SocketAddr::try_from) {
            Some(Ok(address)) if !door.unix => Peer::Inet(address),
            _ => Peer::Unix,
        };
        if peer.ip().is_some_and(|ip| !self.shared.options.tcp_networks.contains(ip)) {
            self.desk.counts.refused_network += 1;
            return;
        }
        let Some(mut permit) = permit else {
            self.desk.counts.refused_full += 1;
            return self.refuse(stream, door);
        };
        if !peer.ip().is_none_or(|ip| permit.is_within(ip)) {
            self.desk.counts.refused_address += 1;
            return self.refuse(stream, door);
        }
        let newcomer = Newcomer { stream, peer, listener: door.listener, permit, tls: None };
        match &door.tls {
            None => self.place(newcomer),
            Some(config) => match ServerConnection::new(config.clone()) {
                Ok(tls) => self.shake_hands(newcomer, tls),
                Err(_) => self.desk.counts.refused_system += 1,
            },
        }
    }

    fn refuse(&self, stream: OwnedFd, door: &Door) {
        let text = match &self.desk.limits.full {
            Full::Refuse(text) if door.tls.is_none() => text.as_slice(),
            _ => &[],
        };
        stream::refuse(stream, text);
    }

    fn shake_hands(&mut self, mut newcomer: Newcomer, mut tls: ServerConnection) {
        if !newcomer.permit.begin_handshake() {
            self.desk.counts.refused_handshakes += 1;
            return;
        }
        // What is said at once is bounded by the limit of output.
        tls.set_buffer_limit(None);
        newcomer.tls = Some(Box::new(tls.into()));
        if self.shared.pool.bring(newcomer).is_err() {
            self.desk.counts.closed_stopped += 1;
        }
    }

    /// To the thread with the fewest connections. The kernel spreads them by a hash of the addresses, which leaves a
    /// few of them anyhow; they stay for life, so that it pays to place each with care.
    fn place(&mut self, newcomer: Newcomer) {
        let least = self.shared.gate.least(self.number);
        if least == self.number {
            return self.take_in(newcomer);
        }
        self.desk.counts.moved += 1;
        if self.shared.bring(newcomer, least).is_err() {
            self.desk.counts.closed_stopped += 1;
        }
    }

    /// Takes no more connections until there is room for one, or until a moment has passed.
    fn close_doors(&mut self, until_room: bool) {
        if !self.paused {
            self.paused = true;
            self.desk.counts.accept_pauses += 1;
            self.doors.iter().for_each(|door| self.events.sources().remove(&door.socket));
        }
        if until_room && self.shared.gate.wait() {
            self.open_doors();
        }
    }

    /// Takes connections again; looks whether there is room when one comes.
    pub(crate) fn open_doors(&mut self) {
        if !core::mem::take(&mut self.paused) {
            return;
        }
        for (at, door) in self.doors.iter().enumerate() {
            // It was there before; should the kernel have no memory for it now, the next round tries again.
            self.paused |= self.events.sources().add_socket(&door.socket, Source::Door(at), door.unix).is_err();
        }
    }
}
