//! Which server is asked what: connections, windows, time-outs, failover. No I/O and no clock: times are given, and
//! what is to be done to connections is polled.
//!
//! ```text
//!  submit --> queue (bounded) --> the server that is up with the fewest requests in flight
//!                ^                   '--> its connection with the fewest, if less than a window full
//!                |                          | answer: complete
//!                +--- once, elsewhere ------+ no answer in time, connection lost, server busy
//! ```
//!
//! A request that changes something is sent once: where its answer is lost, that is told ([`Failure::Unknown`]).

mod server;
#[cfg(test)]
mod tests;
mod time;

use crate::counts::{PoolCounts, ServerShown};
use crate::operation::{Answer, Failure, Operation, Reply};
use server::{Job, Server};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use trunkline_wire::ldap::code;

/// Times that a request is sent at most: to one server, and to another.
const TRIES_MAX: u8 = 2;

/// How the pool is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolOptions {
    pub(crate) servers: usize,
    /// Connections to each server.
    pub(crate) connections: usize,
    /// Requests in flight on a connection.
    pub(crate) window: usize,
    /// Requests that wait for room in a window.
    pub(crate) queue: usize,
    /// How long a request may wait for room, and then for its answer, each time that it is sent.
    pub(crate) timeout: Duration,
    /// How long a server that failed is left alone at first, and at most.
    pub(crate) retry: Duration,
    pub(crate) retry_max: Duration,
    /// Entries and octets of an answer.
    pub(crate) entries_max: usize,
    pub(crate) answer_octets_max: usize,
}

/// A connection, by its server, its place there, and a number that no other connection has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    pub(crate) server: usize,
    pub(crate) slot: usize,
    pub(crate) life: u64,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action<T> {
    /// A connection is to be made, and [`Pool::opened`] or [`Pool::closed`] told.
    Open(Link),
    /// A request is to be sent with this identifier.
    Send(Link, u32, Arc<Operation>),
    /// An abandon request is to be sent: its own identifier, and that of the request.
    Abandon(Link, u32, u32),
    /// A connection is to be closed; nothing more is heard of it.
    Close(Link),
    /// A request has its end.
    Complete(T, Result<Answer, Failure>),
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    options: PoolOptions,
    servers: Vec<Server<T>>,
    /// Requests that are sent again; they were taken in before all of `queue`.
    again: VecDeque<Job<T>>,
    queue: VecDeque<Job<T>>,
    actions: VecDeque<Action<T>>,
    /// The server that comes first where several are equal.
    turn: usize,
    lives: u64,
    /// Why the server that failed last did.
    trouble: Arc<str>,
    counts: PoolCounts,
}

impl<T> Pool<T> {
    /// A pool that is about to open its connections: [`Pool::handle_timeout`] is due.
    pub(crate) fn new(options: PoolOptions) -> Pool<T> {
        let servers = (0..options.servers).map(|_| Server::new(options.connections)).collect();
        let trouble = "none has been reached yet".into();
        Pool {
            options,
            servers,
            again: VecDeque::new(),
            queue: VecDeque::new(),
            actions: VecDeque::new(),
            turn: 0,
            lives: 0,
            trouble,
            counts: PoolCounts::default(),
        }
    }

    /// Takes a request in. It has its end in an [`Action::Complete`], whatever happens.
    pub(crate) fn submit(&mut self, now: Duration, operation: Arc<Operation>, token: T) {
        self.counts.submitted += 1;
        if self.is_down() {
            let failure = Failure::Unreachable(self.trouble.clone());
            return self.complete(token, Err(failure));
        }
        if self.queue.len() >= self.options.queue {
            self.counts.refused += 1;
            return self.complete(token, Err(Failure::Full));
        }
        self.queue.push_back(Job { token, operation, tries: 0, avoid: None, since: now });
        self.dispatch(now);
    }

    /// A connection is ready for requests.
    pub(crate) fn opened(&mut self, now: Duration, link: Link) {
        if self.servers[link.server].opened(now, link) {
            self.dispatch(now);
        }
    }

    /// A connection could not be made, or is no more: by a failure, or because the server closed it at rest.
    pub(crate) fn closed(&mut self, now: Duration, link: Link, why: &str) {
        self.lose(now, link, why);
        self.dispatch(now);
    }

    /// A response came.
    pub(crate) fn received(&mut self, now: Duration, link: Link, id: u32, reply: Reply) {
        let server = &mut self.servers[link.server];
        let Some(connection) = server.connection(link) else { return };
        connection.heard = now;
        let Some(flight) = connection.flights.get_mut(&id) else {
            // The answer to what was given up is on its way when it is; that to 0 is the end of the connection.
            server.counts.unasked += 1;
            if id == 0 {
                self.break_off(now, link, "the server says that it disconnects");
            }
            return;
        };
        if !flight.job.operation.fits(&reply) {
            return self.break_off(now, link, "a response to something else");
        }
        match reply {
            Reply::Final { answer, .. } => self.finish(now, link, id, answer),
            reply => {
                if !flight.gather(reply, &self.options) {
                    self.give_up(now, link, id, Failure::TooLong);
                }
            }
        }
    }

    /// Gives all requests their end; what was to change something and was sent may be done or not.
    pub(crate) fn stop(&mut self) {
        let sent: Vec<Job<T>> = self.servers.iter_mut().flat_map(Server::take_all).collect();
        for job in sent {
            let failure = if job.only_reads() { Failure::Stopped } else { Failure::Unknown };
            self.complete(job.token, Err(failure));
        }
        for job in std::mem::take(&mut self.again).into_iter().chain(std::mem::take(&mut self.queue)) {
            self.complete(job.token, Err(Failure::Stopped));
        }
    }

    /// The next thing to be done.
    pub(crate) fn poll(&mut self) -> Option<Action<T>> {
        self.actions.pop_front()
    }

    /// What is counted, how many requests wait for room, and of each server how it is.
    pub(crate) fn shown(&self) -> (PoolCounts, usize, Vec<ServerShown>) {
        let waiting = self.queue.len() + self.again.len();
        (self.counts, waiting, self.servers.iter().map(Server::shown).collect())
    }

    /// Whether there is nobody to ask.
    fn is_down(&self) -> bool {
        self.servers.iter().all(|server| server.down)
    }

    /// Sends what waits as long as there is room for it.
    fn dispatch(&mut self, now: Duration) {
        while let Some(job) = self.again.front().or(self.queue.front()) {
            let avoid = job.avoid;
            let Some((server, slot)) = self.choose(avoid) else { return };
            let Some(job) = self.again.pop_front().or_else(|| self.queue.pop_front()) else { return };
            let (link, id, operation) = self.servers[server].send(now, server, slot, job);
            self.actions.push_back(Action::Send(link, id, operation));
        }
    }

    /// The server with the fewest requests in flight that has room, and its connection with the fewest.
    fn choose(&mut self, avoid: Option<usize>) -> Option<(usize, usize)> {
        let avoid = avoid.filter(|avoid| self.is_up_beside(*avoid));
        let (count, window) = (self.servers.len(), self.options.window);
        let turns = (0..count).map(|n| (self.turn + n) % count).filter(|n| Some(*n) != avoid);
        let room = turns.filter_map(|n| Some((self.servers[n].in_flight, n, self.servers[n].roomiest(window)?)));
        let (_, server, slot) = room.min_by_key(|(in_flight, ..)| *in_flight)?;
        self.turn = (server + 1) % count;
        Some((server, slot))
    }

    fn is_up_beside(&self, server: usize) -> bool {
        self.servers.iter().enumerate().any(|(n, other)| n != server && other.is_up())
    }

    /// The server has said how it went.
    fn finish(&mut self, now: Duration, link: Link, id: u32, last: Answer) {
        let Some((flight, answer)) = self.servers[link.server].finish(now, link, id, last) else { return };
        let is_away = matches!(answer.code, code::BUSY | code::UNAVAILABLE);
        if is_away && flight.only_reads() && flight.tries < TRIES_MAX && self.is_up_beside(link.server) {
            self.send_again(now, flight, link.server);
        } else {
            self.complete(flight.token, Ok(answer));
        }
        self.dispatch(now);
    }

    /// A request that will have no answer from here, on a connection that goes on.
    fn give_up(&mut self, now: Duration, link: Link, id: u32, failure: Failure) {
        let Some((job, own)) = self.servers[link.server].give_up(link, id) else { return };
        if job.only_reads() {
            self.actions.push_back(Action::Abandon(link, own, id));
        }
        match failure {
            Failure::TimedOut => self.elsewhere(now, job, link.server, failure),
            failure => self.complete(job.token, Err(failure)),
        }
        self.dispatch(now);
    }

    /// Asks another server if there is one, else tells why there is no answer.
    fn elsewhere(&mut self, now: Duration, job: Job<T>, server: usize, failure: Failure) {
        let again_here = matches!(failure, Failure::Lost(_)) && self.servers[server].is_up();
        let is_possible = again_here || self.is_up_beside(server);
        if !job.only_reads() {
            self.complete(job.token, Err(Failure::Unknown));
        } else if job.tries < TRIES_MAX && is_possible {
            self.send_again(now, job, server);
        } else {
            self.complete(job.token, Err(failure));
        }
    }

    fn send_again(&mut self, now: Duration, job: Job<T>, avoid: usize) {
        self.counts.failovers += 1;
        self.again.push_back(Job { avoid: Some(avoid), since: now, ..job });
    }

    /// Closes a connection that is of no use any more.
    fn break_off(&mut self, now: Duration, link: Link, why: &str) {
        self.actions.push_back(Action::Close(link));
        self.lose(now, link, why);
        self.dispatch(now);
    }

    /// A connection is gone: what was in flight on it goes elsewhere.
    fn lose(&mut self, now: Duration, link: Link, why: &str) {
        let Some(jobs) = self.servers[link.server].closed(now, link, &self.options) else { return };
        if self.servers[link.server].down || !jobs.is_empty() {
            self.trouble = why.into();
            self.servers[link.server].trouble = self.trouble.clone();
        }
        for job in jobs {
            self.elsewhere(now, job, link.server, Failure::Lost(self.trouble.clone()));
        }
        if self.is_down() {
            for job in std::mem::take(&mut self.again).into_iter().chain(std::mem::take(&mut self.queue)) {
                let failure = Failure::Unreachable(self.trouble.clone());
                self.complete(job.token, Err(failure));
            }
        }
    }

    fn complete(&mut self, token: T, result: Result<Answer, Failure>) {
        let counts = &mut self.counts;
        *match &result {
            Ok(_) => &mut counts.answered,
            Err(_) => &mut counts.failed,
        } += 1;
        self.actions.push_back(Action::Complete(token, result));
    }
}
