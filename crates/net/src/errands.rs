//! What a service has its thread do besides answering: dial others, wake connections, close them.

use core::fmt;
use core::time::Duration;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::service::ConnectionId;
use crate::tls::{ClientTls, Secured, TlsFault};

/// Whom to dial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Remote {
    /// Over TCP; without delay (Nagle), kept alive.
    Tcp(SocketAddr),
    /// A unix-domain stream socket.
    Unix(PathBuf),
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remote::Tcp(address) => address.fmt(f),
            Remote::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Why a connection that was dialled did not come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undialled {
    /// Nobody listens there.
    Refused,
    /// There is no way there, or the name of a unix socket is unknown or forbidden.
    Unreachable,
    /// Not within its time.
    Late,
    /// There are [`crate::Limits::dialled_connections`] already.
    Full,
    /// The system has no descriptor, port or memory left.
    System,
    /// The peer is there, and TLS did not come about.
    Tls(TlsFault),
}

/// What a service wants of its thread, collected at the end of each round; see [`crate::Service::errands`].
#[derive(Debug)]
pub struct Errands<C> {
    pub(crate) dials: Vec<Dial<C>>,
    pub(crate) woken: Vec<ConnectionId>,
    pub(crate) closed: Vec<ConnectionId>,
    pub(crate) until: Option<Duration>,
}

/// A connection that is to be made.
#[derive(Debug)]
pub(crate) struct Dial<C> {
    pub(crate) remote: Remote,
    pub(crate) patience: Duration,
    pub(crate) state: C,
    pub(crate) tls: Option<Box<Secured>>,
}

impl<C> Default for Errands<C> {
    fn default() -> Errands<C> {
        Errands { dials: Vec::new(), woken: Vec::new(), closed: Vec::new(), until: None }
    }
}

impl<C> Errands<C> {
    /// Makes a connection, of this thread as any other that came: [`crate::Service::dialled`] when it stands, else
    /// [`crate::Service::closed`] with [`crate::Cause::Undialled`], each with `state`. `patience` is its time.
    pub fn dial(&mut self, remote: Remote, patience: Duration, state: C) {
        self.dials.push(Dial { remote, patience, state, tls: None });
    }

    /// The same over TLS, with a server whose certificate is for `name`: a name of the DNS, or an address. The
    /// handshake counts towards `patience`.
    ///
    /// # Errors
    /// No certificate can be for that name; the state comes back.
    pub fn dial_tls(
        &mut self,
        address: SocketAddr,
        (tls, name): (&ClientTls, &str),
        patience: Duration,
        state: C,
    ) -> Result<(), C> {
        match tls.begin(name) {
            Some(begun) => {
                let tls = Some(Box::new(begun));
                self.dials.push(Dial { remote: Remote::Tcp(address), patience, state, tls });
                Ok(())
            }
            None => Err(state),
        }
    }

    /// Has [`crate::Service::woken`] called for a connection of this thread. One that is gone, or does not stand yet,
    /// is passed over.
    pub fn wake(&mut self, id: ConnectionId) {
        self.woken.push(id);
    }

    /// Closes a connection of this thread at once, with all that waits to be sent ([`crate::Cause::Service`]).
    pub fn close(&mut self, id: ConnectionId) {
        self.closed.push(id);
    }

    /// Has [`crate::Service::errands`] called again by then at the latest ([`crate::Now::monotonic`]); the earliest
    /// that was asked for since the last call holds.
    pub fn until(&mut self, at: Duration) {
        self.until = Some(self.until.map_or(at, |until| until.min(at)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.dials.is_empty() && self.woken.is_empty() && self.closed.is_empty()
    }
}
