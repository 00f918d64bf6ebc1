//! A thread runs the errands of its service: it dials, wakes, closes, and looks after what is on its way.

use core::net::SocketAddr;
use core::time::Duration;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use crate::connection::{Connection, Wants};
use crate::errands::{Dial, Errands, Remote, Undialled};
use crate::events::Source;
use crate::handshake::{self, Step};
use crate::service::{Cause, ConnectionId, Service};
use crate::thread::Worker;
use crate::tls::TlsFault;

/// Times in a round that a service is asked for errands, as running some makes others.
const ERRANDS_MAX: usize = 8;

/// The connections that a thread dialled.
pub(crate) struct Dialling<C> {
    errands: Errands<C>,
    /// Those on their way, each with the end of its patience.
    going: Vec<(Duration, ConnectionId)>,
    /// How many there are, those on their way included.
    pub(crate) count: usize,
    /// How many there may be.
    most: usize,
    /// The service was asked so often in the last round that it is asked again at once.
    more: bool,
}

impl<C> Dialling<C> {
    pub(crate) fn new(most: usize) -> Dialling<C> {
        Dialling { errands: Errands::default(), going: Vec::new(), count: 0, most, more: false }
    }

    /// When the thread has to look here again: at once, at a time, or never.
    pub(crate) fn next(&self) -> Option<Duration> {
        if self.more {
            return Some(Duration::ZERO);
        }
        let late = self.going.iter().map(|(at, _)| *at).min();
        late.into_iter().chain(self.errands.until).min()
    }
}

impl<S: Service> Worker<S> {
    /// Runs the errands of the service until it has none, or for so long that others have their turn.
    pub(crate) fn run_errands(&mut self) {
        self.give_up_late();
        for _ in 0..ERRANDS_MAX {
            let mut errands = core::mem::take(&mut self.dialling.errands);
            errands.until = None;
            self.desk.service.errands(&mut errands, self.desk.now);
            let done = errands.is_empty();
            self.run_all(&mut errands);
            self.dialling.errands = errands;
            self.dialling.more = !done;
            if done {
                return;
            }
        }
    }

    fn run_all(&mut self, errands: &mut Errands<S::Connection>) {
        for id in errands.closed.drain(..) {
            self.close(id, Cause::Service);
        }
        for id in errands.woken.drain(..) {
            self.wake(id);
        }
        for dial in errands.dials.drain(..) {
            match self.stop_at {
                None => self.dial(dial),
                // Who stops begins nothing.
                Some(_) => self.desk.service.closed(dial.state, Cause::Stopped, self.desk.now),
            }
        }
    }

    fn wake(&mut self, id: ConnectionId) {
        let Some(connection) = self.table.get_mut(id).filter(|c| !matches!(c.wants, Wants::Dial | Wants::Greet)) else {
            return;
        };
        let outcome = self.desk.say_now(connection, |service, state, output, now| service.woken(state, output, now));
        self.settle(id, outcome);
    }

    fn dial(&mut self, dial: Dial<S::Connection>) {
        self.desk.counts.dialled += 1;
        let now = self.desk.now;
        let begun = match self.dialling.count < self.dialling.most {
            true => begin(&dial.remote),
            false => Err(Undialled::Full),
        };
        let (stream, stands) = match begun {
            Ok(begun) => begun,
            Err(why) => return self.undialled(dial.state, why),
        };
        let source = Source::stream(self.table.next_id());
        if self.events.sources().add_stream(&stream, source).is_err() {
            return self.undialled(dial.state, Undialled::System);
        }
        self.dialling.count += 1;
        self.tls_connections += usize::from(dial.tls.is_some());
        let id = self.table.insert(Connection::dialled(stream, dial.state, dial.tls, self.desk.now_ms()));
        self.dialling.going.push((now.monotonic + dial.patience, id));
        if stands {
            self.reached(id);
        }
    }

    fn undialled(&mut self, state: S::Connection, why: Undialled) {
        let cause = Cause::Undialled(why);
        self.desk.counts.closed(cause);
        self.desk.service.closed(state, cause, self.desk.now);
    }

    /// An event of a connection that was on its way: it stands, or came to nothing.
    pub(crate) fn on_dialled(&mut self, id: ConnectionId) {
        let Some(connection) = self.table.get_mut(id) else { return };
        if connection.wants == Wants::Greet {
            return self.greet(id);
        }
        let outcome = match sockopt::socket_error(&connection.stream) {
            Ok(Ok(())) if reached_itself(&connection.stream) => Err(Undialled::Refused),
            Ok(Ok(())) if !connection.broken => Ok(()),
            Ok(Err(errno)) | Err(errno) => Err(undialled(errno)),
            Ok(Ok(())) => Err(Undialled::Unreachable),
        };
        match outcome {
            Ok(()) => self.reached(id),
            Err(why) => self.came_to_nothing(id, why),
        }
    }

    /// The peer is there: the connection stands, or its handshake begins.
    fn reached(&mut self, id: ConnectionId) {
        match self.table.get_mut(id) {
            Some(connection) if connection.tls.is_some() => {
                connection.wants = Wants::Greet;
                self.greet(id);
            }
            _ => self.stands(id),
        }
    }

    /// Goes on with a handshake. It is done by the thread that serves: who dials has few of them.
    fn greet(&mut self, id: ConnectionId) {
        let Some(connection) = self.table.get_mut(id) else { return };
        let Some(tls) = connection.tls.as_deref_mut() else { return };
        match handshake::step(tls, &connection.stream) {
            Step::Waits => {}
            Step::Done => {
                self.desk.counts.handshakes += 1;
                self.stands(id);
            }
            Step::Failed(wrong) => self.came_to_nothing(id, Undialled::Tls(TlsFault::of(wrong.as_ref()))),
        }
    }

    fn came_to_nothing(&mut self, id: ConnectionId, why: Undialled) {
        self.dialling.going.retain(|(_, going)| *going != id);
        self.close(id, Cause::Undialled(why));
    }

    fn stands(&mut self, id: ConnectionId) {
        self.dialling.going.retain(|(_, going)| *going != id);
        let Some(connection) = self.table.get_mut(id) else { return };
        connection.wants = Wants::Input;
        // What came with the end of a handshake is in `tls`, and no event will tell.
        connection.readable |= connection.tls.is_some();
        connection.moved_ms = self.desk.now_ms();
        let say = |service: &mut S, state: &mut S::Connection, output: &mut crate::Output<'_>, now| {
            service.dialled(state, id, output, now)
        };
        let outcome = self.desk.say_now(connection, say);
        self.settle(id, outcome);
    }

    fn give_up_late(&mut self) {
        let now = self.desk.now.monotonic;
        if self.dialling.going.iter().all(|(at, _)| *at > now) {
            return;
        }
        let going = core::mem::take(&mut self.dialling.going);
        let (late, going) = going.into_iter().partition(|(at, _)| *at <= now);
        self.dialling.going = going;
        let late: Vec<(Duration, ConnectionId)> = late;
        for (_, id) in late {
            self.close(id, Cause::Undialled(Undialled::Late));
        }
    }

    /// The server stops: what does not stand yet is not waited for.
    pub(crate) fn give_up_dialling(&mut self) {
        for (_, id) in core::mem::take(&mut self.dialling.going) {
            self.close(id, Cause::Stopped);
        }
    }
}

/// A socket on its way to its peer, and whether it stands already.
fn begin(remote: &Remote) -> Result<(OwnedFd, bool), Undialled> {
    let family = match remote {
        Remote::Tcp(address) if address.is_ipv6() => AddressFamily::INET6,
        Remote::Tcp(_) => AddressFamily::INET,
        Remote::Unix(_) => AddressFamily::UNIX,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = socket_with(family, SocketType::STREAM, flags, None).map_err(|_| Undialled::System)?;
    let begun = match remote {
        Remote::Tcp(address) => {
            let set = sockopt::set_tcp_nodelay(&stream, true);
            set.and_then(|()| sockopt::set_socket_keepalive(&stream, true)).map_err(|_| Undialled::System)?;
            rustix::net::connect(&stream, address)
        }
        Remote::Unix(path) => SocketAddrUnix::new(path).and_then(|to| rustix::net::connect(&stream, &to)),
    };
    match begun {
        Ok(()) if reached_itself(&stream) => Err(Undialled::Refused),
        Ok(()) => Ok((stream, true)),
        Err(Errno::INPROGRESS | Errno::INTR) => Ok((stream, false)),
        Err(errno) => Err(undialled(errno)),
    }
}

/// Whether a socket of TCP is its own peer: that is what comes of dialling a port of this machine at which nobody
/// listens and which the kernel just then chose for the dialling side (RFC 9293, section 3.5, simultaneous open). Held
/// on to, it would keep the server from coming back.
fn reached_itself(stream: &OwnedFd) -> bool {
    let own = rustix::net::getsockname(stream).ok().and_then(|own| SocketAddr::try_from(own).ok());
    let peer = rustix::net::getpeername(stream).ok().flatten().and_then(|peer| SocketAddr::try_from(peer).ok());
    own.is_some() && own == peer
}

/// What an error of connect(2) means to who dialled.
fn undialled(errno: Errno) -> Undialled {
    match errno {
        // Of a unix socket: its queue is full, and no event would tell when it is not.
        Errno::CONNREFUSED | Errno::CONNRESET | Errno::AGAIN => Undialled::Refused,
        Errno::TIMEDOUT => Undialled::Late,
        Errno::ADDRNOTAVAIL | Errno::NOBUFS | Errno::NOMEM | Errno::MFILE | Errno::NFILE => Undialled::System,
        _ => Undialled::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::{reached_itself, socket_with};
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::os::fd::OwnedFd;

    fn connected(to: impl FnOnce(SocketAddr) -> SocketAddr) -> OwnedFd {
        let stream = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        rustix::net::bind(&stream, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let own = rustix::net::getsockname(&stream).unwrap().try_into().unwrap();
        rustix::net::connect(&stream, &to(own)).unwrap();
        stream
    }

    #[test]
    fn a_socket_that_reached_itself_is_told_from_one_that_reached_a_server() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(reached_itself(&connected(|own| own)));
        assert!(!reached_itself(&connected(|_| server.local_addr().unwrap())));
    }
}
