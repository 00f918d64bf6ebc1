//! A proxy of memcached's protocol in front of many servers; no I/O and no clock.
//!
//! ```text
//!  client --octets--> command --> Ask --> plan: which server --> Servers: queue of a connection --> server
//!  client <---say---- queue, in order <-- finish <-- plan: what now <-- answer::read <------------- server
//! ```
//!
//! A thread has one [`Router`]. Each command of a client becomes an [`client::Ask`] for each of its keys; the asks of a
//! client stand in a queue in their order, and are told in that order, whenever their answers come. What an answer, or
//! a server that is gone, means for an ask is decided in [`plan`]: it is finished, or goes to the next server.
//! Connections to servers are pipelined: what waits on one is answered in its order, so that nothing has to be marked.
//! Gets that go to a server one after the other are joined to one command ([`link`]).
//!
//! **What is bounded.** Commands of a client ([`RouteSection::client_queue`]), requests that wait on a connection
//! ([`RouteSection::queue`], and the octets to be sent), values ([`RouteSection::value_max`]), lines, and the answers
//! that wait for clients of a thread ([`HELD_OCTETS_MAX`]). Beyond, a client is not read, or is told
//! `SERVER_ERROR unavailable` with a word that says why; each is counted.

pub mod answer;
mod client;
mod command;
pub mod config;
mod counts;
mod link;
mod md5;
mod plan;
mod request;
mod ring;
mod server;

pub use counts::{Counts, Tally};
pub use link::{JOINED_KEYS_MAX, JOINED_OCTETS_MAX, State};
pub use server::Why;

use answer::{Asked, Said};
use client::{Asks, Client, Input};
use config::Config;
use link::Role;
use server::Servers;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Octets of answers that wait for the clients of a thread.
// Limit: answers of the proxy waiting for clients, one thread
// Beyond: further requests are refused
// Seen in: `trunkline_cache_route_memory_requests_overflow_total`
pub const HELD_OCTETS_MAX: usize = 256 << 20;
/// Octets of a line of a client: keys of a get.
// Limit: length of a client's get through the proxy
// Beyond: the connection is closed
// Seen in: `trunkline_cache_route_refused_clients_total`
pub const LINE_OCTETS_MAX: usize = 64 << 10;
/// How long after a delete a key is not brought from a warm pool (Nishtala et al., "Scaling Memcache at Facebook",
/// NSDI 2013, 4.3).
pub const HOLD_OFF: Duration = Duration::from_secs(2);

/// What a router asks of the process that it is in: what threads know together.
pub trait Host: Send + Sync {
    /// A key of a cold pool was deleted.
    fn deleted(&self, key: &[u8], now: Duration);
    /// Whether a key was deleted within [`HOLD_OFF`].
    fn is_deleted(&self, key: &[u8], now: Duration) -> bool;
    /// The answer to `stats` with this word behind it; none if there is no such.
    fn stats(&self, word: &[u8]) -> Option<Vec<u8>>;
    /// What clients are told by `version`.
    fn version(&self) -> &str;
}

/// The time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Only goes on.
    pub monotonic: Duration,
    /// Since 1970.
    pub unix: Duration,
}

/// What a client's connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More input.
    More,
    /// Room for what is to be said.
    Resume,
    /// Answers; it is not read before them.
    Hold,
    /// Nothing.
    Close,
}

/// What routes the requests of one thread.
pub struct Router {
    config: Arc<Config>,
    host: Arc<dyn Host>,
    /// The servers.
    pub servers: Servers,
    clients: Vec<Option<Client>>,
    free: Vec<u32>,
    asks: Asks,
    /// Clients that have something to be told.
    wakes: Vec<u32>,
    /// What was counted.
    pub counts: Counts,
    held: usize,
    now: Moment,
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl Router {
    /// A router that is connected to nothing yet.
    pub fn new(config: Arc<Config>, host: Arc<dyn Host>) -> Router {
        Router {
            servers: Servers::new(&config),
            config,
            host,
            clients: Vec::new(),
            free: Vec::new(),
            asks: Asks::default(),
            wakes: Vec::new(),
            counts: Counts::default(),
            held: 0,
            now: Moment::default(),
        }
    }

    /// A client has come: its number.
    pub fn accepted(&mut self) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.clients[number as usize] = Some(Client::default());
                number
            }
            None => {
                self.clients.push(Some(Client::default()));
                (self.clients.len() - 1) as u32
            }
        }
    }

    /// A client has gone: what it asked is forgotten when it is answered.
    pub fn left(&mut self, client: u32) {
        let Some(gone) = self.clients.get_mut(client as usize).and_then(Option::take) else { return };
        for number in gone.queue {
            let ask = self.asks.get(number);
            ask.client = None;
            if ask.done {
                self.held = self.held.saturating_sub(ask.held);
                self.asks.free(number);
            }
        }
        self.wakes.retain(|woken| *woken != client);
        self.free.push(client);
    }

    /// Whether a client waits for answers.
    pub fn owes(&self, client: u32) -> bool {
        self.client(client).is_some_and(|client| !client.queue.is_empty())
    }

    fn client(&self, client: u32) -> Option<&Client> {
        self.clients.get(client as usize)?.as_ref()
    }

    /// Takes what it can of a client's input; how many octets. [`Router::say`] is to be called after it.
    pub fn octets(&mut self, client: u32, input: &[u8], now: Moment) -> usize {
        self.now = now;
        let mut at = 0;
        while let Some(one) = self.client(client) {
            if one.queue.len() >= self.config.route.client_queue as usize {
                break;
            }
            match self.step(client, &input[at..]) {
                Some(octets) => at += octets,
                None => break,
            }
        }
        at
    }

    /// Tells a client what there is, up to `room` octets, and says what it waits for.
    pub fn say(&mut self, client: u32, room: usize, say: &mut dyn FnMut(&[u8])) -> Next {
        let Some(one) = self.clients.get_mut(client as usize).and_then(Option::as_mut) else { return Next::Close };
        one.woken = false;
        let (more, freed) = one.say(&mut self.asks, room, say);
        self.held = self.held.saturating_sub(freed);
        match one.input {
            _ if more => Next::Resume,
            Input::Closed if one.queue.is_empty() => Next::Close,
            Input::Closed => Next::Hold,
            _ if one.queue.len() >= self.config.route.client_queue as usize => Next::Hold,
            _ => Next::More,
        }
    }

    /// Clients that have something to be told since the last call, each once.
    pub fn woken(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.wakes)
    }

    /// Takes the answers that `input` has; how many octets. The connection may be cut: it is then among the errands.
    pub fn answers(&mut self, link: u32, input: &[u8], now: Moment) -> usize {
        self.now = now;
        let most = usize::try_from(self.config.route.value_max.0).unwrap_or(usize::MAX);
        let mut at = 0;
        while at < input.len() {
            let Some(waiting) = self.servers.first(link) else {
                self.servers.cut(link, Why::Broken);
                break;
            };
            match answer::read(&input[at..], waiting.asked, most) {
                Ok(Some(answer)) if self.take(link, waiting.asked, answer.said, &input[at..at + answer.told]) => {
                    at += answer.octets;
                }
                Ok(None) => break,
                Ok(Some(_)) | Err(_) => {
                    self.servers.cut(link, Why::Broken);
                    break;
                }
            }
        }
        at
    }

    /// Takes an answer, or a value of a get; false if nobody asked for it.
    fn take(&mut self, link: u32, asked: Asked, said: Said, told: &[u8]) -> bool {
        if (asked, said) == (Asked::Get, Said::Found) {
            let (asks, key) = (&self.asks, answer::key(told));
            let Some(role) = self.servers.value(link, |number| asks.look(number).request.key() == key) else {
                return false;
            };
            self.on_answer(role, said, told);
            return true;
        }
        while let Some(waiting) = self.servers.answered(link, said == Said::Refused) {
            self.on_answer(waiting.role, said, told);
            if !waiting.goes_on {
                break;
            }
        }
        true
    }

    /// A connection to a server is closed, or did not come about: what waited on it goes on without.
    pub fn lost(&mut self, link: u32, now: Moment) {
        self.now = now;
        let (why, queue) = self.servers.closed(link, now.monotonic);
        for waiting in queue.waiting() {
            if let Role::Request(ask, part) = waiting.role {
                self.on_failure(ask, part, why);
            }
        }
    }

    /// When to call [`Servers::tick`] again; calls it.
    pub fn tick(&mut self, now: Moment) -> Duration {
        self.now = now;
        self.servers.tick(now.monotonic)
    }
}
