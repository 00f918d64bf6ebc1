//! What a server is asked to do: the side of a protocol, without sockets and without a clock.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use rustls::pki_types::CertificateDer;

use crate::errands::{Errands, Undialled};
use crate::output::Output;
use crate::replies::Replies;

/// A protocol as one thread of a [`crate::Server`] speaks it. Each thread has a value of its own, made by the factory
/// of [`crate::start`]; what threads share, the service brings itself. No method may wait: the thread serves all its
/// connections by turns.
pub trait Service {
    /// What the service keeps of a connection. It counts towards the memory of an idle one.
    type Connection;
    /// What other threads send to a thread or a connection; see [`crate::Waker`].
    type Mail: Send + 'static;

    /// A connection has come, and is within all limits; of TLS after its handshake.
    fn accepted(&mut self, arrival: &Arrival<'_>, now: Now) -> Self::Connection;

    /// Octets of a connection that were not taken yet, at least one. What is not taken now is shown again with what
    /// comes behind it, up to [`crate::Limits::carried_octets`]. A service that takes a large value takes its octets
    /// as they come. It looks at [`Output::room`] before it says something large, and returns [`Next::Resume`] when
    /// there is too little.
    fn octets(&mut self, connection: &mut Self::Connection, input: &[u8], output: &mut Output<'_>, now: Now) -> Taken;

    /// All that was said before is on its way to the peer: goes on with what [`Next::Resume`] left off.
    fn resume(&mut self, connection: &mut Self::Connection, output: &mut Output<'_>, now: Now) -> Next {
        let _ = (connection, output, now);
        Next::More
    }

    /// Mail for a connection, at any time between two other calls: also while its output is stuck, then with less room.
    /// [`Next::Resume`] asks to be called when there is more. [`Next::More`] leaves a connection as it is, but ends
    /// [`Next::Hold`].
    fn mail(&mut self, connection: &mut Self::Connection, mail: Self::Mail, output: &mut Output<'_>, now: Now) -> Next {
        let _ = (connection, mail, output, now);
        Next::More
    }

    /// A connection that was dialled ([`Errands::dial`]) stands; this is its name, and the time to say something first.
    fn dialled(
        &mut self,
        connection: &mut Self::Connection,
        id: ConnectionId,
        output: &mut Output<'_>,
        now: Now,
    ) -> Next {
        let _ = (connection, id, output, now);
        Next::More
    }

    /// As of [`Errands::wake`]: a connection is to say what others of the thread brought for it. Room and what is
    /// returned are as of [`Service::mail`].
    fn woken(&mut self, connection: &mut Self::Connection, output: &mut Output<'_>, now: Now) -> Next {
        let _ = (connection, output, now);
        Next::More
    }

    /// What the thread is to do besides, asked at the end of each round.
    fn errands(&mut self, errands: &mut Errands<Self::Connection>, now: Now) {
        let _ = (errands, now);
    }

    /// Whether something that others must bring is still to be said to a connection: a server that stops waits for it,
    /// and so does a connection whose peer has ended its side, until it is woken.
    fn owes(&self, connection: &Self::Connection) -> bool {
        let _ = connection;
        false
    }

    /// Mail for a connection that is gone.
    fn undelivered(&mut self, mail: Self::Mail, now: Now) {
        let _ = (mail, now);
    }

    /// Mail for this thread: to reply to a datagram of earlier, or to change what the service knows.
    fn post(&mut self, mail: Self::Mail, replies: &mut Replies, now: Now) {
        let _ = (mail, replies, now);
    }

    /// The server is being stopped: last words to a connection, once all answers have gone. One that is still not
    /// through after [`crate::Limits::stop`] is closed without.
    fn farewell(&mut self, connection: &mut Self::Connection, output: &mut Output<'_>, now: Now) {
        let _ = (connection, output, now);
    }

    /// Whether an answer to the last words is still awaited: so long, and within [`crate::Limits::stop`], the
    /// connection stays open and is read. It is asked about once a second.
    fn lingers(&self, connection: &Self::Connection, now: Now) -> bool {
        let _ = (connection, now);
        false
    }

    /// A connection is closed, and why.
    fn closed(&mut self, connection: Self::Connection, cause: Cause, now: Now) {
        let _ = (connection, cause, now);
    }

    /// Datagrams that came together, all of allowed networks, before [`Service::datagram`] has the first of them: what
    /// it will need of memory can be on its way for several at once. How many it has looked at; when those were
    /// handled, it is asked again with the rest. 0 counts as 1.
    fn ahead<'d>(&mut self, payloads: impl Iterator<Item = &'d [u8]>) -> usize {
        let _ = payloads;
        usize::MAX
    }

    /// A datagram of an allowed network.
    fn datagram(&mut self, peer: &UdpPeer, payload: &[u8], replies: &mut Replies, now: Now) {
        let _ = (peer, payload, replies, now);
    }

    /// The thread is about to wait for events: what it holds of others' memory it lets go.
    fn rest(&mut self) {}

    /// About once a second.
    fn tick(&mut self, replies: &mut Replies, now: Now) {
        let _ = (replies, now);
    }
}

/// The time, taken once for each round of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Since the server was started; only goes on.
    pub monotonic: Duration,
    /// Since 1970, UTC; looked up about once a second, counted on by `monotonic` between.
    pub unix: Duration,
}

/// What [`Service::octets`] took, and what is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Octets taken from the front of the input; never more than it has.
    pub octets: usize,
    /// What is next.
    pub next: Next,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More input; what is left of it does not suffice.
    More,
    /// There is more to say: [`Service::resume`] when what was said has gone, then what is left of the input.
    Resume,
    /// The rest of the input, but the others first: this turn took long enough. Counted.
    Yield,
    /// Mail. Input is not read before it; what was not taken is shown after it.
    Hold,
    /// Nothing: it is closed when what was said has gone.
    Close,
}

/// A connection that has come.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Its name for [`crate::Waker::to_connection`].
    pub id: ConnectionId,
    /// Who it is.
    pub peer: Peer,
    /// Which of the listeners it came to: index into what [`crate::start`] was given.
    pub listener: usize,
    /// What the peer showed, where it was asked for a certificate, and which was found good.
    pub certificate: Option<&'a CertificateDer<'static>>,
    /// Whether it is encrypted.
    pub tls: bool,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Over TCP.
    Inet(SocketAddr),
    /// A process of this machine, over a unix socket.
    Unix,
}

impl Peer {
    /// Its address over TCP.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Peer::Inet(address) => Some(address.ip()),
            Peer::Unix => None,
        }
    }
}

/// The name of a connection; another one never has the same within 2^32 connections of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    /// The thread that serves it.
    pub thread: u16,
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl ConnectionId {
    /// No connection at all: the name of one that is dialled, until it stands.
    pub const NONE: ConnectionId = ConnectionId { thread: u16::MAX, slot: u32::MAX, generation: u32::MAX };
}

/// The other end of a datagram, and where it came in: a reply goes out from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpPeer {
    /// Whose datagram it was.
    pub address: SocketAddr,
    /// Which of the listeners it came to: index into what [`crate::start`] was given.
    pub listener: u16,
    /// The address of ours that it was sent to, where the socket has several.
    pub(crate) local: Option<IpAddr>,
}

/// Why a connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The peer has ended, and has got all answers.
    Peer,
    /// The connection failed: reset, timed out, unreachable.
    Failed,
    /// The service said so.
    Service,
    /// Nothing came and nothing went for [`crate::Limits::idle`].
    Idle,
    /// The peer took nothing of what was said to it for [`crate::Limits::stalled`].
    Stalled,
    /// More than [`crate::Limits::carried_octets`] came that the service could not take.
    Input,
    /// The service said more than there was room for.
    Output,
    /// What connections carry together would be more than [`crate::Limits::held_octets`].
    Memory,
    /// TLS: the peer sent what cannot be decrypted, or broke the protocol.
    Tls,
    /// The server was stopped.
    Stopped,
    /// It was dialled and did not come about.
    Undialled(Undialled),
}
