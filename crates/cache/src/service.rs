//! The service of connections: octets in, octets out, the store beneath; no I/O and no clock.
//!
//! A thread has one [`Service`], each connection a [`Connection`] of a few dozen octets. [`Service::octets`] takes what
//! has come, in whatever pieces, and appends the answers to the output; values go straight into the store as they come,
//! and large ones are told from the store piece by piece, so that neither is ever here as a whole.
//!
//! **Flow control.** A call says at most about [`OUTPUT_OCTETS_MAX`]; then it stops in the midst of what it was at,
//! even between two keys of a get, and takes no more input until it is called again, which who calls does when the
//! output has gone. So a client that asks for much and reads slowly holds up itself alone, and costs one output and the
//! input that it sent ahead; multi-gets are metered by how fast their answers are read.

mod admin;
mod auth;
mod binary;
mod classic;
mod client;
mod connection;
mod counters;
mod delta;
mod facts;
mod get;
mod hot;
mod meta;
mod outgoing;
mod prefixes;
mod set;
mod shape;
mod shared;
mod slow;
mod stats;
mod walk;
mod watch;

pub use auth::TOKEN_OCTETS_MAX;
pub use client::Client;
pub use connection::Connection;
pub use counters::{COUNTS, Count, Counters, Sums};
pub use facts::{Alone, ConnectionFacts, Facts, Host, Protocols, Settings, TlsSettings};
pub use hot::{HOT_KEYS_MAX, HotKey, KEYS_MAX, SAMPLES_PER_S};
pub use outgoing::COPIED_OCTETS_MAX;
pub use prefixes::PREFIXES_MAX;
pub use shape::{Bar, Shape, Survey};
pub use shared::Shared;
pub use slow::{SLOW_COMMANDS_MAX, SlowCommand};
pub use watch::{Kind, QUEUE_OCTETS_MAX, WATCHERS_MAX};

use crate::protocol::binary::REQUEST;
use crate::protocol::{Now, text, udp};
use crate::store::{READ_AHEAD, Writer};
use connection::{Protocol, State};
use std::sync::Arc;

/// Octets that a call says before it stops; one small answer more may follow.
pub const OUTPUT_OCTETS_MAX: usize = 256 << 10;
/// Answer to a datagram whose own would be larger than is allowed.
const UDP_TOO_LARGE: &[u8] = b"SERVER_ERROR answer too large for UDP";

/// What serves the connections of one thread.
#[derive(Debug)]
pub struct Service {
    shared: Arc<Shared>,
    writer: Writer,
    counters: Arc<Counters>,
    scratch: Vec<u8>,
    item_octets_max: u64,
    /// What it samples for hot keys with.
    hot: hot::Sampler,
    /// What the last call has carried out, and the octets that it said: for slow commands.
    turned: slow::Turned,
    /// Whether what is answered now may have a forged sender.
    may_be_forged: bool,
    said: usize,
}

/// What a call took, and what is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Octets taken from the front of the input.
    pub octets: usize,
    /// What is next.
    pub next: Next,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More input; what is left of it does not suffice.
    More,
    /// The output is full: when it has gone, [`Service::octets`] with what is left of the input, be that nothing.
    Resume,
    /// It has had its turn: [`Service::octets`] with what is left of the input, when the others have had theirs.
    Yield,
    /// The end of the connection, when what was said has gone.
    Close,
}

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Go {
    /// So many octets were taken; the next step.
    On(usize),
    /// So many octets were taken; more must come.
    Wait(usize),
    /// So many octets were taken; the output is full.
    Full(usize),
    /// So many octets were taken; the connection ends.
    Close(usize),
}

impl Go {
    /// The same with `octets` more that were taken before.
    fn after(self, octets: usize) -> Self {
        match self {
            Go::On(taken) => Go::On(taken + octets),
            Go::Wait(taken) => Go::Wait(taken + octets),
            Go::Full(taken) => Go::Full(taken + octets),
            Go::Close(taken) => Go::Close(taken + octets),
        }
    }
}

/// What a call says, and when it is.
struct Call<'a> {
    /// The clients of its address.
    client: Option<&'a Arc<Client>>,
    out: &'a mut Vec<u8>,
    /// Octets of the output that were there before.
    start: usize,
    now: Now,
    /// The connection's name.
    name: u32,
}

impl Call<'_> {
    /// Where the output is full.
    #[inline]
    fn end(&self) -> usize {
        self.start + OUTPUT_OCTETS_MAX
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.out.len() >= self.end()
    }

    fn room(&self) -> usize {
        self.end().saturating_sub(self.out.len())
    }
}

/// Says a line.
#[inline]
fn say(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

impl Service {
    /// The service of a thread.
    pub fn new(shared: &Arc<Shared>) -> Self {
        let counters = Counters::new();
        shared.ledger.enter(&counters);
        let item_octets_max = shared.store.rules().item_octets_max;
        Service {
            shared: Arc::clone(shared),
            writer: shared.store.writer(),
            counters,
            scratch: Vec::new(),
            item_octets_max,
            hot: shared.hot.sampler(),
            turned: slow::Turned::default(),
            may_be_forged: false,
            said: 0,
        }
    }

    /// What all threads share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What the thread reads and writes the store with.
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// A connection has come; `name` is its number for people.
    pub fn accepted(&mut self, name: u32) -> Connection {
        let protocol = match (&self.shared.settings.accounts, self.shared.settings.protocols) {
            (Some(_), _) => Protocol::Unsigned,
            (None, Protocols::Both) => Protocol::Unknown,
            (None, Protocols::Text) => Protocol::Text,
            (None, Protocols::Binary) => Protocol::Binary,
        };
        Connection { name, protocol, state: State::Ready, course: slow::Course::default(), client: None }
    }

    /// A connection has ended: what it was at is given up.
    pub fn closed(&mut self, connection: Connection) {
        if let State::Watching(number) = connection.state {
            self.shared.watchers.leave(number);
            self.shared.tell_store();
        }
    }

    /// Takes what it can of `input`, and appends to `out` what there is to answer.
    pub fn octets(&mut self, connection: &mut Connection, input: &[u8], out: &mut Vec<u8>, now: Now) -> Taken {
        let start = out.len();
        // Not a clone: other threads count the same clients.
        let client = connection.client.take();
        let mut call = Call { client: client.as_ref(), out, start, now, name: connection.name };
        let taken = self.turn(connection, input, &mut call);
        self.counters.add(Count::OctetsRead, taken.octets as u64);
        let said = call.out.len() - start;
        connection.client = client;
        self.said = said;
        self.counters.add(Count::OctetsWritten, said as u64);
        if self.writer.has_evicted() {
            self.shared.evicted(&mut self.writer, now);
        }
        taken
    }

    /// Goes on with what [`Next::Resume`] left off, without input; and tells a watcher what there is.
    pub fn resume(&mut self, connection: &mut Connection, out: &mut Vec<u8>, now: Now) -> Next {
        self.octets(connection, &[], out, now).next
    }

    /// Has the items at hand that the first of these datagrams ask for, if several of them do; how many it looked at.
    pub fn ahead<'d>(&mut self, datagrams: impl Iterator<Item = &'d [u8]>) -> usize {
        let mut keys = [&[][..]; READ_AHEAD];
        let (mut count, mut looked) = (0, 0);
        for datagram in datagrams.take(READ_AHEAD) {
            looked += 1;
            if let Some((key, _)) = udp::read(datagram).ok().and_then(|request| text::sole_key(request.payload)) {
                keys[count] = key;
                count += 1;
            }
        }
        if count > 1 && self.shared.settings.accounts.is_none() {
            self.writer.read_ahead(&keys[..count]);
        }
        looked
    }

    /// Answers a datagram of the UDP protocol: the number of the request, and the answer appended to `out`, to be sent
    /// as [`udp::datagrams`] says. None is told to what is no request, to one that wants no answer, and to anybody
    /// while clients have to sign in.
    pub fn datagram(&mut self, datagram: &[u8], out: &mut Vec<u8>, now: Now) -> Option<u16> {
        let request = udp::read(datagram).ok().filter(|_| self.shared.settings.accounts.is_none());
        let Some(request) = request else {
            self.counters.add(Count::DatagramsIgnored, 1);
            return None;
        };
        let (start, mut connection, mut input) = (out.len(), self.accepted(0), request.payload);
        let room = self.shared.settings.udp_answer_octets_max.min(udp::ANSWER_OCTETS_MAX);
        self.may_be_forged = !self.shared.settings.udp_is_trusted;
        loop {
            let taken = self.octets(&mut connection, input, out, now);
            input = &input[taken.octets..];
            if out.len() - start > room {
                self.counters.add(Count::AnswersTooLarge, 1);
                out.truncate(start);
                say(out, UDP_TOO_LARGE);
                break;
            }
            if matches!(taken.next, Next::More | Next::Close) {
                if taken.next == Next::More {
                    self.cut(&connection, input, out);
                }
                break;
            }
        }
        self.may_be_forged = false;
        self.closed(connection);
        (out.len() > start).then_some(request.id)
    }

    /// Whether `flush_all` is carried out.
    fn may_flush(&self) -> bool {
        self.shared.settings.flush_enabled && !self.may_be_forged
    }

    /// Whether `metadump` and `cachedump` are.
    fn may_dump(&self) -> bool {
        self.shared.settings.dump_enabled && !self.may_be_forged
    }

    /// A datagram has ended, with `rest` of it not taken. A value that is not whole is told so: more of it never comes.
    /// (memcached takes the next datagram for the rest, whosever it is, and tells that one's sender.)
    fn cut(&self, connection: &Connection, rest: &[u8], out: &mut Vec<u8>) {
        match &connection.state {
            State::Ready if rest.is_empty() => return,
            State::Incoming(incoming) if !incoming.is_quiet() => say(out, set::BAD_CHUNK),
            _ => {}
        }
        self.counters.add(Count::DatagramsCut, 1);
    }

    fn turn(&mut self, connection: &mut Connection, input: &[u8], call: &mut Call<'_>) -> Taken {
        let (mut at, mut requests, mut seen) = (0, 0, 0);
        self.turned = slow::Turned::default();
        loop {
            if at >= seen && connection.is_at_rest() {
                seen = at + self.look_ahead(&input[at..]);
            }
            let go = self.go_on(connection, &input[at..], call);
            let (octets, next) = match go {
                Go::On(octets) => (octets, None),
                Go::Wait(octets) => (octets, Some(Next::More)),
                Go::Full(octets) => (octets, Some(Next::Resume)),
                Go::Close(octets) => (octets, Some(Next::Close)),
            };
            at += octets;
            if let Some(next) = next {
                return Taken { octets: at, next };
            }
            if connection.is_at_rest() {
                requests += 1;
                self.turned.end(at, call.out.len() - call.start);
            }
            if at < input.len() && requests == self.shared.settings.turn_requests_max {
                return Taken { octets: at, next: Next::Yield };
            }
            if call.is_full() {
                return Taken { octets: at, next: Next::Resume };
            }
        }
    }

    /// Has the items at hand that the next requests ask for, if several gets follow each other; how many octets those
    /// requests are.
    #[inline]
    fn look_ahead(&mut self, input: &[u8]) -> usize {
        let (mut keys, mut count, mut at) = ([&[][..]; READ_AHEAD], 0, 0);
        while let Some((key, octets)) = text::sole_key(&input[at..]).filter(|_| count < READ_AHEAD) {
            keys[count] = key;
            (count, at) = (count + 1, at + octets);
        }
        if count > 1 {
            self.writer.read_ahead(&keys[..count]);
        }
        at
    }

    /// One step: a request, or more of what is under way.
    #[inline]
    fn go_on(&mut self, connection: &mut Connection, input: &[u8], call: &mut Call<'_>) -> Go {
        let (go, state) = match &mut connection.state {
            State::Ready => return self.ready(connection, input, call),
            State::Keys(keys) => {
                let keys = *keys;
                return self.keys(keys, input, &mut connection.state, call);
            }
            State::Incoming(incoming) => self.incoming(incoming, input, call),
            State::Outgoing(outgoing) => outgoing.go_on(call),
            State::Walking(walking) => self.walk(walking, call),
            State::Swallow(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= taken as u64;
                if *left == 0 { (Go::On(taken), Some(State::Ready)) } else { (Go::Wait(taken), None) }
            }
            State::SkipLine => match memchr::memchr(b'\n', input) {
                Some(end) => (Go::On(end + 1), Some(State::Ready)),
                None => (Go::Wait(input.len()), None),
            },
            State::Watching(number) => {
                let all = self.shared.watchers.take(*number, call.room(), call.out);
                (if all { Go::Wait(input.len()) } else { Go::Full(input.len()) }, None)
            }
        };
        if let Some(state) = state {
            connection.state = state;
        }
        go
    }

    #[inline]
    fn ready(&mut self, connection: &mut Connection, input: &[u8], call: &mut Call<'_>) -> Go {
        let Some(first) = input.first() else { return Go::Wait(0) };
        match connection.protocol {
            Protocol::Text => self.text(input, &mut connection.state, call),
            Protocol::Binary => {
                let (go, state) = self.binary(input, call);
                if !matches!(state, State::Ready) {
                    connection.state = state;
                }
                go
            }
            Protocol::Unsigned => self.sign_in(connection, input, call),
            Protocol::Unknown => {
                connection.protocol = if *first == REQUEST { Protocol::Binary } else { Protocol::Text };
                self.ready(connection, input, call)
            }
        }
    }
}
