//! What does not come: connections that end, and requests without an answer.

use super::connection::{Again, Connection, State, Waiting};
use super::driver::{Driver, Phase};
use super::exchanges::{Exchange, Outcome, Sent};
use super::kind::Kind;
use super::link::Link;
use super::pace::Pace;
use super::peer;
use super::plan::Protocol;
use super::quota;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io;
use trunkline_wire::diameter::Message;

/// How long a connection that has failed is left alone.
const RETRY_NS: u64 = 200_000_000;
/// How long connecting, and then the server's capabilities, are waited for.
const GREET_NS: u64 = 3_000_000_000;

/// Why a copy has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// Its time is over.
    TimeOut,
    /// Its connection has ended.
    Closed,
}

impl Driver<'_> {
    /// Opens connections whose time has come, and gives up those that take too long.
    pub(super) fn open_connections(&mut self, now_ns: u64) {
        if matches!(self.phase, Phase::Leave(_) | Phase::Over) {
            return;
        }
        for at in 0..self.connections.len() {
            match self.connections[at].state {
                State::Down(retry_ns) if retry_ns <= now_ns => self.open(at, now_ns),
                State::Connecting(until_ns) | State::Greeting(until_ns) if until_ns <= now_ns => {
                    let unheard = match self.plan.protocol {
                        Protocol::Diameter => "it does not answer the exchange of capabilities",
                        Protocol::Gtpp => "it does not answer the echo",
                    };
                    self.close(at, unheard);
                }
                _ => {}
            }
        }
    }

    fn open(&mut self, at: usize, now_ns: u64) {
        let opened =
            Link::connect(self.plan.servers[self.connections[at].server], self.plan.protocol).and_then(|link| {
                let flags = EventFlags::IN | EventFlags::OUT;
                epoll::add(&self.poll, link.socket(), EventData::new_u64(at as u64), flags)?;
                Ok(link)
            });
        match opened {
            Ok(link) => {
                let connection = &mut self.connections[at];
                (connection.link, connection.watched) = (Some(link), true);
                connection.state = State::Connecting(now_ns + GREET_NS);
            }
            Err(e) => self.close(at, &reason(&e)),
        }
    }

    /// A connection stands, or does not: the exchange of capabilities begins.
    pub(super) fn greet(&mut self, at: usize) {
        let now_ns = self.now_ns();
        let connection = &mut self.connections[at];
        let Some(link) = &mut connection.link else { return };
        match link.connected() {
            Ok(local) => {
                connection.state = State::Greeting(now_ns + GREET_NS);
                let number = connection.hop_by_hop.wrapping_add(1);
                connection.hop_by_hop = number;
                let me = &self.clients[connection.client].me;
                match self.plan.protocol {
                    Protocol::Diameter => me.ask_capabilities(local.ip(), number, link.outgoing()),
                    Protocol::Gtpp => quota::ask_echo(number, link.outgoing()),
                }
                self.touch(at);
            }
            Err(e) => self.close(at, &reason(&e)),
        }
    }

    /// The server has told who it is.
    pub(super) fn greeted(&mut self, at: usize, message: &Message<'_>) -> Result<(), String> {
        let (_, realm) = peer::capabilities(message)?;
        self.opened(at, realm);
        Ok(())
    }

    /// Requests may be sent.
    pub(super) fn opened(&mut self, at: usize, realm: String) {
        let connection = &mut self.connections[at];
        (connection.realm, connection.state) = (realm, State::Open);
        self.tally.reconnected += u64::from(std::mem::replace(&mut connection.was_open, true));
        let client = connection.client;
        self.resend(client);
        self.send_backlog(client);
    }

    /// Sends what waits on a connection, and has the system tell when there is room for more.
    pub(super) fn flush_one(&mut self, at: usize) -> io::Result<()> {
        let connection = &mut self.connections[at];
        let Some(link) = &mut connection.link else { return Ok(()) };
        if matches!(connection.state, State::Connecting(_)) {
            return Ok(());
        }
        let full = !link.has_room();
        let (octets, all) = link.flush()?;
        self.tally.sent_octets += octets;
        if connection.watched == all {
            let flags = if all { EventFlags::IN } else { EventFlags::IN | EventFlags::OUT };
            epoll::modify(&self.poll, link.socket(), EventData::new_u64(at as u64), flags)?;
            connection.watched = !all;
        }
        if full && connection.takes_requests() {
            let client = connection.client;
            self.send_backlog(client);
        }
        Ok(())
    }

    /// A connection has ended: what went by it is sent again, or lost.
    pub(super) fn close(&mut self, at: usize, why: &str) {
        let retry_ns = self.now_ns() + RETRY_NS;
        let connection = &mut self.connections[at];
        let (before, client) = (connection.state, connection.client);
        // The socket closes with the link, which takes it out of the epoll.
        (connection.link, connection.state) = (None, State::Down(retry_ns));
        if !connection.was_open || before == State::Open {
            let server = self.plan.servers[connection.server];
            self.tally.trouble(|| format!("{server}: {why}"));
        }
        if matches!(self.phase, Phase::Leave(_)) {
            return;
        }
        self.tally.closed += u64::from(matches!(before, State::Open | State::Leaving));
        for sent in self.exchanges.take_all_of(at as u32) {
            self.miss(sent, at, Missing::Closed);
        }
        self.resend(client);
        self.send_backlog(client);
    }

    /// Forgets a connection that both sides want to end.
    pub(super) fn forget(&mut self, at: usize) {
        (self.connections[at].link, self.connections[at].state) = (None, State::Down(u64::MAX));
    }

    /// Gives up, or sends again, what has waited too long.
    pub(super) fn expire(&mut self, now_ns: u64) {
        while let Some((key, sent)) = self.exchanges.expired(now_ns) {
            self.miss(sent, key.connection() as usize, Missing::TimeOut);
        }
    }

    /// Opens connections that are down, and sends or gives up what waits for one.
    pub(super) fn look_after_clients(&mut self, now_ns: u64) {
        self.open_connections(now_ns);
        for client in 0..self.clients.len() {
            while self.clients[client].again.front().is_some_and(|again| again.deadline_ns <= now_ns) {
                if let Some(again) = self.clients[client].again.pop_front() {
                    self.wait_on(again, now_ns);
                }
            }
            self.resend(client);
            self.send_backlog(client);
        }
    }

    /// No connection has taken a request for as long as an answer is waited for: that counts as one more try.
    fn wait_on(&mut self, again: Again, now_ns: u64) {
        let deadline_ns = now_ns + self.patience_ns();
        let exchange = self.exchanges.get(again.exchange);
        if exchange.outcome == Outcome::Open && exchange.tries < self.plan.tries {
            exchange.tries += 1;
            return self.clients[exchange.client as usize].again.push_back(Again { deadline_ns, ..again });
        }
        self.give_up(again.exchange, Missing::TimeOut);
        self.exchanges.release(again.exchange);
    }

    /// A copy has no answer: others have, or are on their way, or it is sent again, or that was the last one.
    fn miss(&mut self, sent: Sent, before: usize, why: Missing) {
        let deadline_ns = self.now_ns() + self.patience_ns();
        let tries = self.plan.tries;
        let exchange = self.exchanges.get(sent.exchange);
        self.tally.duplicates_unanswered += u64::from(sent.duplicate);
        if exchange.outcome == Outcome::Open {
            if !sent.duplicate && exchange.tries < tries {
                exchange.tries += 1;
                let again = Again { exchange: sent.exchange, before, deadline_ns };
                return self.clients[exchange.client as usize].again.push_back(again);
            }
            if exchange.copies == 1 {
                self.give_up(sent.exchange, why);
            }
        }
        self.exchanges.release(sent.exchange);
    }

    /// A copy that was to be sent on purpose, and cannot be: there is no connection.
    pub(super) fn drop_copy(&mut self, place: u32) {
        let exchange = self.exchanges.get(place);
        if exchange.outcome == Outcome::Open && exchange.copies == 1 {
            self.give_up(place, Missing::TimeOut);
        }
        self.exchanges.release(place);
    }

    /// Sends a client's requests again, by another connection than before if there is one.
    fn resend(&mut self, client: usize) {
        while let Some(again) = self.clients[client].again.front().copied() {
            let Some(at) = self.other_connection(client, again.before) else { return };
            self.clients[client].again.pop_front();
            if self.exchanges.get(again.exchange).outcome == Outcome::Open {
                self.tally.resent += 1;
                self.send_again(again.exchange, at, false);
            } else {
                self.exchanges.release(again.exchange);
            }
        }
    }

    /// The next connection of a client behind that one which takes requests, in a circle.
    fn other_connection(&self, client: usize, before: usize) -> Option<usize> {
        let servers = self.plan.servers.len();
        let (first, nth) = (client * servers, before - client * servers);
        let all = (1..=servers).map(|step| first + (nth + step) % servers);
        all.into_iter().find(|at| self.takes_requests(*at))
    }

    /// A request has no answer, for good.
    fn give_up(&mut self, place: u32, why: Missing) {
        let Exchange { kind, draining, session, outcome, .. } = *self.exchanges.get(place);
        if outcome != Outcome::Open {
            return;
        }
        self.exchanges.get(place).outcome = Outcome::GivenUp;
        self.open -= 1;
        let used: u64 = self.exchanges.used_of(place).iter().map(|used| used.units).sum();
        self.tally.used_unacknowledged += used;
        self.hand.second().of(kind).timeouts += 1;
        if !draining {
            let counts = self.tally.of(kind);
            *(if why == Missing::TimeOut { &mut counts.timeouts } else { &mut counts.lost }) += 1;
        }
        self.note(place, None);
        if let Some(key) = session {
            self.tally.broken_off += u64::from(!draining);
            self.sessions.end(key);
        }
    }

    /// Writes what became of a request into the ledger.
    pub(super) fn note(&mut self, place: u32, result: Option<u32>) {
        let Some(ledger) = &mut self.ledger else { return };
        let client = self.exchanges.get(place).client as usize;
        let session_id = |serial, at| format!("{};{};{serial};{at}", self.clients[client].me.host, self.epoch.run);
        let session_id = self.exchanges.get(place).session.map(|key| session_id(key.serial, key.place));
        let used = self.exchanges.used_of(place).to_vec();
        ledger.note(self.plan, self.exchanges.get(place), session_id, &used, &self.given, result);
    }

    /// Counts what was due before the end and never sent: each has waited until then.
    pub(super) fn count_unsent(&mut self, end_ns: u64) {
        let waited_ns = |due_ns: u64| end_ns.saturating_sub(due_ns);
        if let Pace::Open { begins, .. } = self.plan.pace {
            let (threads, thread) = (self.plan.threads as u64, self.thread as u64);
            let due = (begins.before(end_ns) + threads - 1 - thread) / threads;
            let oldest_ns = begins.nth_ns(self.next_nth());
            self.tally.of(Kind::Initial).unsent(due.saturating_sub(self.began), waited_ns(oldest_ns));
        }
        while let Some((due_ns, key)) = self.schedule.pop(end_ns.saturating_sub(1)) {
            if let Some(session) = self.sessions.get(key) {
                let kind = session.next_kind();
                self.tally.of(kind).unsent(1, waited_ns(due_ns));
            }
        }
        let late: Vec<_> = self.sessions.late().collect();
        for (kind, due_ns) in late {
            self.tally.of(kind).unsent(1, waited_ns(due_ns));
        }
        self.count_backlog(end_ns);
    }

    fn count_backlog(&mut self, end_ns: u64) {
        let waiting: Vec<Waiting> = self.clients.iter_mut().flat_map(|client| client.backlog.drain(..)).collect();
        self.backlogged = 0;
        for Waiting { session, due_ns } in waiting {
            let session = session.map(|key| self.sessions.get(key));
            let kind = match session {
                Some(Some(session)) => {
                    session.busy = false;
                    session.next_kind()
                }
                Some(None) => continue,
                None => Kind::Event,
            };
            self.tally.of(kind).unsent(1, end_ns.saturating_sub(due_ns));
        }
    }

    /// Asks all servers to disconnect.
    pub(super) fn take_leave(&mut self, until_ns: u64) {
        self.phase = Phase::Leave(until_ns);
        for at in 0..self.connections.len() {
            let connection = &mut self.connections[at];
            // GTP' has no leave to take.
            if connection.state != State::Open || self.plan.protocol == Protocol::Gtpp {
                self.forget(at);
                continue;
            }
            connection.state = State::Leaving;
            let hop_by_hop = connection.next_hop_by_hop();
            let Connection { client, link, .. } = connection;
            if let Some(link) = link {
                self.clients[*client].me.ask_disconnect(hop_by_hop, link.outgoing());
            }
            self.touch(at);
        }
    }
}

/// What the system says, for a person.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("nobody listens there ({error})"),
        _ => error.to_string(),
    }
}
