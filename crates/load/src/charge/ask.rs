//! What is due becomes a request.

use super::connection::{State, Waiting};
use super::driver::{Driver, Phase};
use super::exchanges::{CopyKey, Exchange, Outcome, Sent};
use super::kind::Kind;
use super::pace::Pace;
use super::plan::Protocol;
use super::quota;
use super::request::{self, Ask, Service};
use super::sessions::{Grant, Session, SessionKey};
use std::cmp::Reverse;
use std::fmt::Write;
use trunkline_wire::diameter::enumerated::ReportingReason;

impl Session {
    /// What its next request is about.
    pub fn next_kind(&self) -> Kind {
        match self.number.checked_sub(self.before) {
            None => Kind::Profile,
            Some(0) => Kind::Initial,
            Some(_) if self.ending || self.updates_left == 0 => Kind::Termination,
            Some(_) => Kind::Update,
        }
    }
}

impl Driver<'_> {
    /// When the next request is due, in open loop; in closed loop, when there may be one.
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        let begin_ns = self.next_begin_ns()?;
        Some(self.schedule.next_ns().map_or(begin_ns, |next_ns| next_ns.min(begin_ns)))
    }

    /// When the next session or event begins, in open loop: the threads take turns.
    fn next_begin_ns(&self) -> Option<u64> {
        match self.plan.pace {
            Pace::Open { begins, .. } => Some(begins.nth_ns(self.next_nth())),
            Pace::Closed { .. } => None,
        }
    }

    /// Which of all that begin is the next of this thread.
    pub(super) fn next_nth(&self) -> u64 {
        self.began * self.plan.threads as u64 + self.thread as u64
    }

    /// Sends what is due first, if its time has come.
    pub(super) fn send_next_due(&mut self, now_ns: u64) -> bool {
        let Some(begin_ns) = self.next_begin_ns() else { return false };
        if let Some((due_ns, key)) = self.schedule.pop(now_ns.min(begin_ns)) {
            if let Some(session) = self.sessions.get(key) {
                if session.busy {
                    session.late_ns = Some(due_ns);
                } else {
                    self.ask(key, due_ns);
                }
            }
            return true;
        }
        let due = begin_ns <= now_ns;
        if due {
            self.begin(begin_ns);
        }
        due
    }

    /// In closed loop: a new session where fewer are held than may be, else the one that waits longest.
    pub(super) fn send_any(&mut self, held: usize) -> bool {
        let now_ns = self.now_ns();
        if self.sessions.held() < held.div_ceil(self.plan.threads) {
            self.begin(now_ns);
            return true;
        }
        while let Some(key) = self.ready.pop_front() {
            if self.sessions.get(key).is_some_and(|session| !session.busy) {
                self.ask(key, now_ns);
                return true;
            }
        }
        false
    }

    /// A session or an event begins, at the next client.
    fn begin(&mut self, due_ns: u64) {
        let client = self.began as usize % self.clients.len();
        let (events, updates) = match self.plan.pace {
            Pace::Open { begins, .. } => (begins.events_at(self.next_nth()), begins.updates_at(self.next_nth())),
            Pace::Closed { .. } => (self.plan.events, self.plan.updates),
        };
        self.began += 1;
        if events > 0.0 && self.random.unit() < events {
            return self.ask_event(client, due_ns);
        }
        let subscriber = self.next_subscriber();
        let before = u32::from(self.plan.protocol == Protocol::Gtpp);
        match self.sessions.begin(subscriber, client as u32, updates, before) {
            Some(key) => {
                self.tally.held_most = self.tally.held_most.max(self.sessions.held() as u64);
                self.ask(key, due_ns);
            }
            None => {
                let waited_ns = self.now_ns().saturating_sub(due_ns);
                self.tally.of(Kind::Initial).unsent(1, waited_ns);
            }
        }
    }

    /// One after the other, each thread its own.
    fn next_subscriber(&mut self) -> u32 {
        let (threads, count) = (self.plan.threads as u64, u64::from(self.plan.subscribers.count()));
        let own = (count + threads - 1 - self.thread as u64) / threads;
        let nth = if own == 0 { 0 } else { (self.began - 1) % own };
        ((nth * threads + self.thread as u64) % count) as u32
    }

    /// The next request of a session, now or when there is a connection.
    pub(super) fn ask(&mut self, key: SessionKey, due_ns: u64) {
        let Some(session) = self.sessions.get(key) else { return };
        session.busy = true;
        let client = session.client as usize;
        match self.connection_of(client) {
            Some(at) => self.send_session(key, at, due_ns),
            None => self.put_off(client, Waiting { session: Some(key), due_ns }),
        }
    }

    fn ask_event(&mut self, client: usize, due_ns: u64) {
        match self.connection_of(client) {
            Some(at) => self.send_event(at, due_ns),
            None => self.put_off(client, Waiting { session: None, due_ns }),
        }
    }

    fn put_off(&mut self, client: usize, waiting: Waiting) {
        self.clients[client].backlog.push_back(waiting);
        self.backlogged += 1;
    }

    /// The connection that a client sends by: that to the first server that is there.
    pub(super) fn connection_of(&self, client: usize) -> Option<usize> {
        let servers = self.plan.servers.len();
        (client * servers..(client + 1) * servers).find(|at| self.takes_requests(*at))
    }

    /// Whether a request may be sent by a connection now.
    pub(super) fn takes_requests(&self, at: usize) -> bool {
        let numbered = self.plan.protocol == Protocol::Diameter || self.exchanges.waiting() < quota::WAITING_MAX;
        numbered && self.connections[at].takes_requests()
    }

    /// Sends what waited for a connection.
    pub(super) fn send_backlog(&mut self, client: usize) {
        while self.phase == Phase::Play {
            let Some(at) = self.connection_of(client) else { return };
            let Some(Waiting { session, due_ns }) = self.clients[client].backlog.pop_front() else { return };
            self.backlogged -= 1;
            match session {
                Some(key) if self.sessions.get(key).is_some() => self.send_session(key, at, due_ns),
                Some(_) => {}
                None => self.send_event(at, due_ns),
            }
        }
    }

    /// Stops a session because the run is over; what it has used is reported.
    pub(super) fn stop_session(&mut self, key: SessionKey, now_ns: u64) {
        let Some(session) = self.sessions.get(key) else { return };
        session.ending = true;
        let (client, begun) = (session.client as usize, session.number > session.before);
        match self.connection_of(client).filter(|_| begun) {
            Some(at) => {
                if let Some(session) = self.sessions.get(key) {
                    session.busy = true;
                }
                self.send_session(key, at, now_ns);
            }
            None => {
                self.tally.drained += u64::from(begun);
                self.sessions.end(key);
            }
        }
    }

    fn send_session(&mut self, key: SessionKey, at: usize, due_ns: u64) {
        let Some(session) = self.sessions.get(key) else { return };
        let (kind, number) = (session.next_kind(), session.number);
        session.number += 1;
        session.updates_left -= u32::from(kind == Kind::Update && session.updates_left > 0);
        let (asked, subscriber) = (std::mem::take(&mut session.asked), session.subscriber);
        self.tally.begun += u64::from(number == 0);
        let exchange = self.exchanges.open(Exchange {
            session: Some(key),
            subscriber,
            client: self.connections[at].client as u32,
            kind,
            number,
            sent_by: (at as u32, 0),
            due_ns,
            copies: 1,
            tries: 1,
            draining: self.phase != Phase::Play,
            outcome: Outcome::Open,
            octets: Vec::new(),
        });
        self.report_usage(key, exchange, kind, asked);
        self.send_first(exchange, at, key.serial as u32);
        // What the server asked for comes besides what is due.
        let goes_on = !asked && matches!(kind, Kind::Initial | Kind::Update);
        if let (Pace::Open { interval_ns, .. }, true) = (self.plan.pace, goes_on) {
            self.schedule.push(due_ns + interval_ns, key);
        }
    }

    /// The services of a request of a session: what was used of the grants, and that more is wanted.
    fn report_usage(&mut self, key: SessionKey, exchange: u32, kind: Kind, asked: bool) {
        self.asked.clear();
        for (at, group) in self.plan.groups.iter().enumerate() {
            let granted = std::mem::take(&mut self.sessions.grants_of(key.place)[at]);
            let used = Grant { units: self.plan.usage.of(granted.units, &mut self.random), unit: granted.unit };
            let reason = match kind {
                Kind::Termination => ReportingReason::Final,
                _ if asked => ReportingReason::ForcedReauthorisation,
                _ if used.units == granted.units => ReportingReason::QuotaExhausted,
                _ => ReportingReason::ValidityTime,
            };
            self.exchanges.used_of(exchange)[at] = used;
            let used = (granted.units > 0).then_some((used, reason));
            let wants = kind != Kind::Termination;
            if wants || used.is_some() {
                self.asked.push(Service { group: *group, used, wants });
            }
        }
    }

    fn send_event(&mut self, at: usize, due_ns: u64) {
        let subscriber = self.next_subscriber();
        let exchange = self.exchanges.open(Exchange {
            session: None,
            subscriber,
            client: self.connections[at].client as u32,
            kind: Kind::Event,
            number: 0,
            sent_by: (at as u32, 0),
            due_ns,
            copies: 1,
            tries: 1,
            draining: false,
            outcome: Outcome::Open,
            octets: Vec::new(),
        });
        self.asked.clear();
        self.asked.push(Service { group: self.plan.event_group, used: None, wants: true });
        self.send_first(exchange, at, self.began as u32);
    }

    /// Writes a new request to its connection, and decides whether it is sent twice.
    fn send_first(&mut self, exchange: u32, at: usize, charging_id: u32) {
        let (mut session_id, mut subscriber) = std::mem::take(&mut self.texts);
        let hop_by_hop = match self.plan.protocol {
            Protocol::Diameter => self.connections[at].next_hop_by_hop(),
            Protocol::Gtpp => self.next_sequence(at),
        };
        let request = self.exchanges.get(exchange);
        let (kind, number, who) = (request.kind, request.number, request.subscriber);
        session_id.clear();
        subscriber.clear();
        let connection = &mut self.connections[at];
        let client = &mut self.clients[connection.client];
        // Strings take everything.
        let _ = match request.session {
            Some(key) => write!(session_id, "{};{};{};{}", client.me.host, self.epoch.run, key.serial, key.place),
            None => write!(session_id, "{};{};{};e", client.me.host, self.epoch.run, self.began),
        };
        self.plan.subscribers.push(who, &mut subscriber);
        let end_to_end = client.next_end_to_end();
        request.sent_by.1 = hop_by_hop;
        let ask = Ask {
            plan: self.plan,
            me: &client.me,
            realm: self.plan.destination_realm.as_deref().unwrap_or(&connection.realm),
            session_id: &session_id,
            kind,
            number,
            subscriber: &subscriber,
            unix_seconds: self.epoch.unix_seconds + self.start.elapsed().as_secs() as i64,
            charging_id,
            services: &self.asked,
        };
        if let Some(link) = &mut connection.link {
            let out = link.outgoing();
            let before = out.len();
            match self.plan.protocol {
                Protocol::Diameter => ask.write(hop_by_hop, end_to_end, out),
                Protocol::Gtpp => quota::write(&ask, hop_by_hop, out),
            }
            if self.plan.keeps_requests() {
                request.octets.extend_from_slice(&out[before..]);
            }
        }
        self.texts = (session_id, subscriber);
        self.open += 1;
        self.count_sent(exchange);
        self.register(exchange, at, hop_by_hop, false);
        self.choose_copy(exchange);
    }

    fn count_sent(&mut self, exchange: u32) {
        let (kind, draining) = (self.exchanges.get(exchange).kind, self.exchanges.get(exchange).draining);
        if draining {
            self.tally.drained += 1;
        } else {
            self.tally.of(kind).sent += 1;
        }
        self.hand.second().of(kind).sent += 1;
    }

    /// A copy is on its way by a connection.
    pub(super) fn register(&mut self, exchange: u32, at: usize, hop_by_hop: u32, duplicate: bool) {
        let deadline_ns = self.now_ns() + self.patience_ns();
        self.exchanges.send(CopyKey::new(at as u32, hop_by_hop), Sent { exchange, duplicate }, deadline_ns);
        self.touch(at);
    }

    fn choose_copy(&mut self, exchange: u32) {
        if self.plan.duplicates > 0.0 && self.random.unit() < self.plan.duplicates {
            let delay_ns = self.plan.duplicate_delay.as_nanos() as f64 * self.random.unit();
            self.exchanges.get(exchange).copies += 1;
            self.duplicates.push(Reverse((self.now_ns() + delay_ns as u64, exchange)));
        }
    }

    /// Sends copies whose time has come, by the same connection or by another one.
    pub(super) fn send_copies(&mut self, now_ns: u64) {
        while let Some(Reverse((due_ns, exchange))) = self.duplicates.peek().copied() {
            if due_ns > now_ns {
                return;
            }
            self.duplicates.pop();
            let client = self.exchanges.get(exchange).client as usize;
            let own = match self.plan.protocol {
                Protocol::Diameter => self.connection_of(client),
                // A copy by GTP' is one only on its own connection.
                Protocol::Gtpp => self.own_connection(exchange),
            };
            let other = self.random.below(2 * self.clients.len() as u32) as usize;
            let other = if other < self.clients.len() && self.plan.protocol == Protocol::Diameter {
                self.connection_of(other)
            } else {
                None
            };
            match other.or(own) {
                Some(at) => {
                    self.tally.duplicates += 1;
                    self.send_again(exchange, at, true);
                }
                None => self.drop_copy(exchange),
            }
        }
    }

    /// The connection that a request went by, if it may go by it again.
    fn own_connection(&mut self, exchange: u32) -> Option<usize> {
        let (at, _) = self.exchanges.get(exchange).sent_by;
        Some(at as usize).filter(|at| self.takes_requests(*at))
    }

    /// Sends a request once more, with the T bit.
    pub(super) fn send_again(&mut self, exchange: u32, at: usize, duplicate: bool) {
        if self.plan.protocol == Protocol::Gtpp {
            return self.send_quota_again(exchange, at, duplicate);
        }
        let connection = &mut self.connections[at];
        debug_assert_eq!(connection.state, State::Open);
        let hop_by_hop = connection.next_hop_by_hop();
        if let Some(link) = &mut connection.link {
            request::write_again(&self.exchanges.get(exchange).octets, hop_by_hop, link.outgoing());
        }
        self.register(exchange, at, hop_by_hop, duplicate);
    }
}
