//! Clients and their connections: a client has its own Origin-Host, and one connection to each server.

use super::link::Link;
use super::peer::Identity;
use super::sessions::SessionKey;
use std::collections::VecDeque;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none; it is tried again then, in nanoseconds of the run.
    Down(u64),
    /// It connects, until then at the latest.
    Connecting(u64),
    /// It waits for the server's capabilities, until then at the latest.
    Greeting(u64),
    /// Requests may be sent.
    Open,
    /// One side has asked to disconnect.
    Leaving,
}

/// A connection of a client to a server.
#[derive(Debug)]
pub struct Connection {
    /// The client, by its place in the thread.
    pub client: usize,
    /// The server, by its place in the plan.
    pub server: usize,
    /// The connection, unless it is down.
    pub link: Option<Link>,
    /// How far it is.
    pub state: State,
    /// The last Hop-by-Hop Identifier.
    pub hop_by_hop: u32,
    /// The server's realm, once it has told it.
    pub realm: String,
    /// Whether it was open before.
    pub was_open: bool,
    /// Whether something waits to be flushed.
    pub dirty: bool,
    /// Whether the system tells when there is room to send.
    pub watched: bool,
}

impl Connection {
    /// One that is to be opened at once.
    pub fn new(client: usize, server: usize) -> Self {
        Connection {
            client,
            server,
            link: None,
            state: State::Down(0),
            hop_by_hop: 0,
            realm: String::new(),
            was_open: false,
            dirty: false,
            watched: false,
        }
    }

    /// Whether a request may be sent now.
    pub fn takes_requests(&self) -> bool {
        self.state == State::Open && self.link.as_ref().is_some_and(Link::has_room)
    }

    /// The next Hop-by-Hop Identifier.
    pub fn next_hop_by_hop(&mut self) -> u32 {
        self.hop_by_hop = self.hop_by_hop.wrapping_add(1);
        self.hop_by_hop
    }
}

/// What is due and waits for a connection.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The session; none is an event.
    pub session: Option<SessionKey>,
    /// When it was due, in nanoseconds of the run.
    pub due_ns: u64,
}

/// A request that is to be sent again.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    /// The place of its exchange.
    pub exchange: u32,
    /// The connection that it went by, which is not the first choice now.
    pub before: usize,
    /// When it is given up, in nanoseconds of the run.
    pub deadline_ns: u64,
}

/// A client.
#[derive(Debug)]
pub struct Client {
    /// Who it is.
    pub me: Identity,
    /// The last End-to-End Identifier.
    pub end_to_end: u32,
    /// What is due and waits, the oldest first; a session stands in it once.
    pub backlog: VecDeque<Waiting>,
    /// What is to be sent again.
    pub again: VecDeque<Again>,
}

impl Client {
    /// With nothing to do. `end_to_end` is a number that differs from run to run, since servers remember the
    /// identifiers of the last minutes (RFC 6733 section 3).
    pub fn new(me: Identity, end_to_end: u32) -> Self {
        Client { me, end_to_end, backlog: VecDeque::new(), again: VecDeque::new() }
    }

    /// The next End-to-End Identifier.
    pub fn next_end_to_end(&mut self) -> u32 {
        self.end_to_end = self.end_to_end.wrapping_add(1);
        self.end_to_end
    }
}
