//! What comes: answers, and what a server asks.

use super::answer::{self, Answer, Unit};
use super::connection::State;
use super::driver::{Driver, Phase};
use super::exchanges::{CopyKey, Exchange, Outcome, Said, Sent};
use super::kind::{Kind, Level, is_success};
use super::link::{Received, datagram_frames, frames};
use super::lose::reason;
use super::pace::Pace;
use super::plan::Protocol;
use super::sessions::{Grant, Session, SessionKey};
use rustix::event::epoll::EventFlags;
use trunkline_wire::diameter::base::refuse;
use trunkline_wire::diameter::dictionary::avp::SESSION_ID;
use trunkline_wire::diameter::{Failure, Header, Message, command, result_code};

impl Driver<'_> {
    /// What the system tells of a connection.
    pub(super) fn event(&mut self, at: usize, flags: EventFlags, room: &mut [u8]) {
        if let State::Connecting(_) = self.connections[at].state {
            return self.greet(at);
        }
        if flags.contains(EventFlags::OUT) {
            self.touch(at);
        }
        if flags.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP)
            && let Err(why) = self.receive(at, room)
        {
            self.close(at, &why);
        }
    }

    /// Reads once, and takes the messages that are whole.
    fn receive(&mut self, at: usize, room: &mut [u8]) -> Result<(), String> {
        let Some(link) = &mut self.connections[at].link else { return Ok(()) };
        let Received { whole, new, broken } = link.receive(room).map_err(|e| reason(&e))?;
        self.tally.received_octets += new as u64;
        (0..broken).for_each(|_| self.malformed(|| "a datagram that is none of GTP'".to_owned()));
        let now_ns = self.now_ns();
        match self.plan.protocol {
            Protocol::Diameter => self.messages(at, &room[..whole], now_ns),
            Protocol::Gtpp => self.quota_messages(at, &room[..whole], now_ns),
        }
    }

    fn messages(&mut self, at: usize, octets: &[u8], now_ns: u64) -> Result<(), String> {
        let mut frames = frames(octets);
        while let Some(octets) = frames.next_message().map_err(|e| e.to_string())? {
            let message = Message::new(octets).map_err(|failure| format!("what is no message: {failure}"))?;
            self.message(at, &message, now_ns)?;
        }
        if let Some(link) = &mut self.connections[at].link {
            link.keep(&octets[frames.taken()..]);
        }
        Ok(())
    }

    fn quota_messages(&mut self, at: usize, octets: &[u8], now_ns: u64) -> Result<(), String> {
        let mut frames = datagram_frames(octets);
        while let Some(octets) = frames.next_message().map_err(|e| e.to_string())? {
            self.quota_message(at, octets, now_ns)?;
        }
        Ok(())
    }

    /// Counts what cannot be read.
    pub(super) fn malformed(&mut self, why: impl FnOnce() -> String) {
        self.tally.malformed += 1;
        self.tally.trouble(why);
    }

    fn message(&mut self, at: usize, message: &Message<'_>, now_ns: u64) -> Result<(), String> {
        let Header { command, .. } = message.header;
        match (self.connections[at].state, command, message.header.is_request()) {
            (State::Greeting(_), command::CAPABILITIES_EXCHANGE, false) => self.greeted(at, message)?,
            (State::Greeting(_), ..) => return Err("a message before the exchange of capabilities".to_owned()),
            (_, command::CREDIT_CONTROL, false) => self.answer(at, message, now_ns),
            (_, command::DISCONNECT_PEER, false) => self.forget(at),
            (_, _, false) => self.tally.late += 1,
            (_, _, true) => self.request(at, message, now_ns),
        }
        Ok(())
    }

    /// A request of the server.
    fn request(&mut self, at: usize, message: &Message<'_>, now_ns: u64) {
        let session_id = message.avps().find(SESSION_ID).and_then(|avp| avp.text().ok()).unwrap_or_default();
        let key = self.session_of(session_id);
        let connection = &mut self.connections[at];
        let me = &self.clients[connection.client].me;
        let Some(out) = connection.link.as_mut().map(|link| link.outgoing()) else { return };
        match message.header.command {
            command::DEVICE_WATCHDOG => {
                self.tally.watchdogs += 1;
                me.answer_watchdog(&message.header, out);
            }
            command::DISCONNECT_PEER => {
                me.answer_disconnect(&message.header, out);
                connection.state = State::Leaving;
            }
            command::RE_AUTH => {
                self.tally.re_auths += 1;
                // A CCR follows (RFC 8506 section 5.5).
                let result = key.map_or(result_code::UNKNOWN_SESSION_ID, |_| result_code::LIMITED_SUCCESS);
                me.answer_re_auth(&message.header, session_id, result, out);
            }
            command::ABORT_SESSION => {
                self.tally.aborts += 1;
                let result = key.map_or(result_code::UNKNOWN_SESSION_ID, |_| result_code::SUCCESS);
                me.answer_abort(&message.header, session_id, result, out);
            }
            _ => {
                let failure = Failure::of_message(result_code::COMMAND_UNSUPPORTED);
                if let Err(e) = refuse(message, &me.host, &me.realm, &failure, out) {
                    self.tally.trouble(|| e.to_string());
                }
            }
        }
        self.touch(at);
        if let (Some(key), command @ (command::RE_AUTH | command::ABORT_SESSION)) = (key, message.header.command) {
            self.asked_for(key, command == command::ABORT_SESSION, now_ns);
        }
    }

    /// The session of a Session-Id that [`super::ask`] has made.
    pub(super) fn session_of(&mut self, session_id: &str) -> Option<SessionKey> {
        let mut parts = session_id.rsplit(';');
        let (place, serial) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        self.sessions.get(SessionKey { place, serial }).map(|session| session.key)
    }

    /// The server wants a request of a session: now, or when what is on its way is answered.
    fn asked_for(&mut self, key: SessionKey, ends: bool, now_ns: u64) {
        let Some(session) = self.sessions.get(key) else { return };
        session.asked = true;
        session.ending |= ends;
        if !session.busy && self.phase == Phase::Play {
            self.ask(key, now_ns);
        }
    }

    fn answer(&mut self, at: usize, message: &Message<'_>, now_ns: u64) {
        let key = CopyKey::new(at as u32, message.header.hop_by_hop);
        let Some(sent) = self.exchanges.take(key) else {
            self.tally.late += 1;
            return;
        };
        let mut given = std::mem::take(&mut self.given);
        let read = answer::read(message, self.plan.keeps_requests(), &mut given);
        self.given = given;
        let answer = read.and_then(|answer| self.fits(&answer, sent).map(|()| answer)).unwrap_or_else(|why| {
            self.malformed(|| why);
            self.given.clear();
            Answer::default()
        });
        self.take_answer(sent, &answer, now_ns);
    }

    /// Whether an answer is one to its request.
    fn fits(&mut self, answer: &Answer, sent: Sent) -> Result<(), String> {
        let exchange = self.exchanges.get(sent.exchange);
        let (kind, number) = (exchange.kind.place() as u32 + 1, exchange.number);
        let fits = answer.kind.is_none_or(|its| its == kind) && answer.number.is_none_or(|its| its == number);
        if fits { Ok(()) } else { Err("an answer with the type or the number of another request".to_owned()) }
    }

    pub(super) fn take_answer(&mut self, sent: Sent, answer: &Answer, now_ns: u64) {
        let granted = self.given.iter().map(|given| given.units).sum();
        let said = Said { digest: answer.digest, result: answer.result, granted };
        match self.exchanges.get(sent.exchange).outcome {
            Outcome::Open => {
                self.exchanges.get(sent.exchange).outcome = Outcome::Answered(said);
                self.first_answer(sent.exchange, said, now_ns);
            }
            Outcome::Answered(first) if first == said => self.tally.same += 1,
            Outcome::Answered(first) => self.different(sent.exchange, first, said),
            Outcome::GivenUp => self.tally.late += 1,
        }
        self.exchanges.release(sent.exchange);
    }

    fn different(&mut self, exchange: u32, first: Said, other: Said) {
        let Exchange { kind, number, subscriber, .. } = *self.exchanges.get(exchange);
        let subscriber = self.plan.subscribers.name(subscriber);
        self.tally.differs(|| {
            let what = |said: Said| format!("{} with {} units", said.result, said.granted);
            let (one, two) = (what(first), what(other));
            format!("{} {number} of {subscriber}: {one}, then {two}", kind.name())
        });
    }

    /// The answer that counts.
    fn first_answer(&mut self, place: u32, said: Said, now_ns: u64) {
        self.open -= 1;
        let good = is_success(said.result);
        let Exchange { kind, due_ns, draining, session, .. } = *self.exchanges.get(place);
        let latency_ns = now_ns.saturating_sub(due_ns);
        let second = self.hand.second();
        second.latency.record(latency_ns, 1);
        second.of(kind).answered += 1;
        second.of(kind).failed += u64::from(!good);
        if draining {
            self.tally.drained_well += u64::from(good);
        } else {
            self.count_answer(kind, said, latency_ns);
        }
        let used: u64 = self.exchanges.used_of(place).iter().map(|used| used.units).sum();
        self.tally.granted += said.granted;
        *(if good { &mut self.tally.used_acknowledged } else { &mut self.tally.used_unacknowledged }) += used;
        self.note(place, Some(said.result));
        if let Some(key) = session {
            self.tally.completed += u64::from(good && kind == Kind::Termination && !draining);
            self.go_on(key, kind, good, now_ns);
        }
    }

    fn count_answer(&mut self, kind: Kind, said: Said, latency_ns: u64) {
        let counts = self.tally.of(kind);
        counts.answered += 1;
        counts.latency.record(latency_ns, 1);
        counts.succeeded += u64::from(is_success(said.result));
        if !is_success(said.result) {
            counts.failure(Level::Command, said.result, 1);
        }
        for given in self.given.iter().filter(|given| !is_success(given.result)) {
            counts.failure(Level::Service, given.result, 1);
        }
    }

    /// What a session does after an answer.
    fn go_on(&mut self, key: SessionKey, kind: Kind, good: bool, now_ns: u64) {
        if !good || kind == Kind::Termination {
            // A session that is refused is over, and nothing is sent for it (RFC 8506 section 7).
            let whole = good && kind == Kind::Termination;
            self.tally.broken_off += u64::from(!whole);
            return self.sessions.end(key);
        }
        if kind == Kind::Profile {
            // The session itself follows at once.
            return self.follow(key, now_ns);
        }
        let any = self.grant(key);
        let Some(session) = self.sessions.get(key) else { return };
        session.busy = false;
        session.ending |= !any;
        if self.phase != Phase::Play {
            return;
        }
        match session {
            Session { asked: true, .. } => self.ask(key, now_ns),
            Session { late_ns: late @ Some(_), .. } => {
                let due_ns = late.take().unwrap_or(now_ns);
                self.ask(key, due_ns);
            }
            _ if matches!(self.plan.pace, Pace::Closed { .. }) => self.ready.push_back(key),
            _ => {}
        }
    }

    fn follow(&mut self, key: SessionKey, now_ns: u64) {
        if let Some(session) = self.sessions.get(key) {
            session.busy = false;
        }
        if self.phase == Phase::Play {
            self.ask(key, now_ns);
        }
    }

    /// Enters what was granted; whether that goes on after it.
    fn grant(&mut self, key: SessionKey) -> bool {
        let mut any = false;
        for given in self.given.iter().filter(|given| is_success(given.result)) {
            let place = given.group.map_or(Some(0), |group| self.plan.groups.iter().position(|own| *own == group));
            let Some(at) = place else { continue };
            self.sessions.grants_of(key.place)[at] = Grant { units: given.units, unit: given.unit };
            any |= given.units > 0 && !given.last;
        }
        any
    }
}

impl Unit {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Octets => "octets",
            Unit::Seconds => "seconds",
            Unit::Service => "units",
        }
    }
}
