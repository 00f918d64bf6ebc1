//! One thread with its clients: sends what is due, waits, takes what comes.

use super::answer::Given;
use super::connection::{Client, Connection, State};
use super::exchanges::Exchanges;
use super::ledger::Part;
use super::link::ROOM_OCTETS;
use super::pace::Pace;
use super::peer::Identity;
use super::plan::Plan;
use super::request::Service;
use super::schedule::Schedule;
use super::sessions::{SessionKey, Sessions};
use super::tally::Tally;
use super::timeline::{Hand, Timeline};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::OwnedFd;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trunkline_kit::random::Random;

/// Sessions that all threads hold together.
pub const SESSIONS_MAX: usize = 4_000_000;
/// Connections that are looked at in a turn.
const EVENTS_MAX: usize = 256;
/// The longest wait, after which the end and time-outs are looked for.
const WAIT_NS_MAX: u64 = 20_000_000;
/// How often connections that are down, and what waits for them, are looked after.
const LOOK_NS: u64 = 10_000_000;
/// Requests that are made in a turn, before what has come is taken.
const TURN_REQUESTS_MAX: usize = 512;
/// Stops of sessions that wait for an answer at a time, once the run is over.
const DRAIN_IN_FLIGHT: usize = 500;
/// How long servers have to take leave.
const LEAVE_NS: u64 = 1_000_000_000;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Connections are opened.
    Connect,
    /// Requests are sent when they are due.
    Play,
    /// Answers are waited for, until then at the latest.
    Settle(u64),
    /// Sessions that stand are stopped; the place of the next one.
    Drain(usize),
    /// Connections are closed, until then at the latest.
    Leave(u64),
    /// All is over.
    Over,
}

/// A thread's part of a run.
pub struct Driver<'a> {
    pub(super) plan: &'a Plan,
    pub(super) clients: Vec<Client>,
    /// Those of the first client to each server, then those of the second one.
    pub(super) connections: Vec<Connection>,
    pub(super) sessions: Sessions,
    pub(super) exchanges: Exchanges,
    pub(super) schedule: Schedule,
    /// Copies that are to be sent, by time.
    pub(super) duplicates: BinaryHeap<Reverse<(u64, u32)>>,
    /// Sessions that may ask, in closed loop.
    pub(super) ready: VecDeque<SessionKey>,
    pub(super) random: Random,
    pub(super) tally: Tally,
    pub(super) phase: Phase,
    /// Sessions and events that were due so far.
    pub(super) began: u64,
    /// Requests without an outcome.
    pub(super) open: usize,
    /// What waits in backlogs.
    pub(super) backlogged: usize,
    pub(super) dirty: Vec<usize>,
    pub(super) hand: Hand<'a>,
    pub(super) ledger: Option<Part<'a>>,
    pub(super) poll: OwnedFd,
    pub(super) given: Vec<Given>,
    pub(super) asked: Vec<Service>,
    /// The thread's number.
    pub(super) thread: usize,
    /// Seconds since 1970 at the start, and what tells this run from others.
    pub(super) epoch: Epoch,
    pub(super) texts: (String, String),
    pub(super) start: Instant,
    room: Vec<u8>,
    stop: &'a AtomicBool,
}

/// What a run tells its servers of itself.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// Seconds since 1970 at the start.
    pub unix_seconds: i64,
    /// A number that other runs do not have.
    pub run: u32,
}

impl<'a> Driver<'a> {
    /// The part of a thread, with every `plan.threads`-th client.
    ///
    /// # Errors
    /// The system has no more of what it needs.
    pub fn new(
        plan: &'a Plan,
        thread: usize,
        epoch: Epoch,
        stop: &'a AtomicBool,
        timeline: &'a Timeline,
        ledger: Option<Part<'a>>,
    ) -> io::Result<Self> {
        let numbers = (0..plan.clients).filter(|number| *number as usize % plan.threads == thread);
        let clients: Vec<Client> = numbers.map(|number| client(plan, number, epoch)).collect();
        let servers = 0..plan.servers.len();
        let connections = (0..clients.len()).flat_map(|at| servers.clone().map(move |to| Connection::new(at, to)));
        Ok(Driver {
            plan,
            connections: connections.collect(),
            clients,
            sessions: Sessions::new(plan.groups.len(), SESSIONS_MAX / plan.threads),
            exchanges: Exchanges::new(plan.groups.len()),
            schedule: Schedule::default(),
            duplicates: BinaryHeap::new(),
            ready: VecDeque::new(),
            random: Random::new(plan.seed, thread as u64),
            tally: Tally::default(),
            phase: Phase::Connect,
            began: 0,
            open: 0,
            backlogged: 0,
            dirty: Vec::new(),
            hand: Hand::new(timeline, thread),
            ledger,
            poll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            given: Vec::new(),
            asked: Vec::new(),
            thread,
            epoch,
            texts: Default::default(),
            start: Instant::now(),
            room: vec![0; ROOM_OCTETS],
            stop,
        })
    }

    /// Opens its connections.
    ///
    /// # Errors
    /// The first server cannot be reached by all of them; told for a person.
    pub fn connect(&mut self, patience: Duration) -> Result<(), String> {
        let until_ns = self.now_ns() + patience.as_nanos() as u64;
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            self.open_connections(self.now_ns());
            self.flush();
            let settled =
                |c: &Connection| c.state == State::Open || (c.server > 0 && matches!(c.state, State::Down(_)));
            if self.connections.iter().all(settled) {
                return Ok(());
            }
            let first_is_down = |c: &Connection| c.server == 0 && matches!(c.state, State::Down(1..));
            let over = self.now_ns() > until_ns || self.stop.load(Ordering::Relaxed);
            if over || self.connections.iter().any(first_is_down) {
                return Err(self.tally.why.take().unwrap_or_else(|| "it does not answer".to_owned()));
            }
            self.wait(&mut events, WAIT_NS_MAX);
        }
    }

    /// Sends what is due from `start` on, and counts until all is answered or given up.
    pub fn play(&mut self, start: Instant) -> Tally {
        // Without it a wait ends up to 50 us late, which open loop would count as the server's.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        (self.start, self.phase) = (start, Phase::Play);
        let (mut events, mut looked_ns) = (Vec::with_capacity(EVENTS_MAX), 0);
        while self.phase != Phase::Over {
            let now_ns = self.now_ns();
            self.hand.tick(now_ns, &mut self.ledger);
            self.step(now_ns);
            self.send_copies(now_ns);
            self.flush();
            let wait_ns = self.wait_ns();
            self.wait(&mut events, wait_ns);
            let now_ns = self.now_ns();
            self.expire(now_ns);
            if now_ns >= looked_ns + LOOK_NS {
                looked_ns = now_ns;
                self.look_after_clients(now_ns);
            }
        }
        self.hand.end();
        if let Some(ledger) = &mut self.ledger {
            ledger.end(self.plan);
        }
        std::mem::take(&mut self.tally)
    }

    /// What the phase has to do now, and the next phase once it is over.
    fn step(&mut self, now_ns: u64) {
        match self.phase {
            Phase::Play if now_ns >= self.end_ns() || self.stop.load(Ordering::Relaxed) => {
                self.count_unsent(now_ns.min(self.end_ns()));
                let patience_ns = self.patience_ns() * u64::from(self.plan.tries) + WAIT_NS_MAX;
                self.phase = Phase::Settle(now_ns + patience_ns + self.plan.duplicate_delay.as_nanos() as u64);
            }
            Phase::Play => self.send_due(now_ns),
            Phase::Settle(until_ns) if self.is_idle() || now_ns > until_ns => self.phase = Phase::Drain(0),
            Phase::Drain(place) => self.drain(place, now_ns),
            Phase::Leave(until_ns) => {
                if now_ns > until_ns || self.connections.iter().all(|c| c.state != State::Leaving) {
                    self.phase = Phase::Over;
                }
            }
            Phase::Connect | Phase::Settle(_) | Phase::Over => {}
        }
    }

    /// Whether nothing is on its way, or has to be sent again.
    fn is_idle(&self) -> bool {
        let again = self.clients.iter().any(|client| !client.again.is_empty());
        self.exchanges.waiting() == 0 && self.duplicates.is_empty() && !again
    }

    /// Stops sessions that stand.
    fn drain(&mut self, mut place: usize, now_ns: u64) {
        while !self.plan.leave && self.exchanges.waiting() < DRAIN_IN_FLIGHT {
            let Some((key, next)) = self.sessions.idle_from(place) else { break };
            place = next;
            self.stop_session(key, now_ns);
        }
        self.phase = Phase::Drain(place);
        if self.is_idle() {
            self.take_leave(now_ns + LEAVE_NS);
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    pub(super) fn patience_ns(&self) -> u64 {
        self.plan.patience.as_nanos() as u64
    }

    fn end_ns(&self) -> u64 {
        self.plan.run.as_nanos() as u64
    }

    /// Sends all that is due, or in closed loop as much as may wait.
    fn send_due(&mut self, now_ns: u64) {
        for _ in 0..TURN_REQUESTS_MAX {
            let sent = match self.plan.pace {
                Pace::Open { .. } => self.send_next_due(now_ns),
                Pace::Closed { in_flight, held } => {
                    self.open + self.backlogged < in_flight.div_ceil(self.plan.threads) && self.send_any(held)
                }
            };
            if !sent {
                return;
            }
        }
    }

    fn wait_ns(&self) -> u64 {
        let now_ns = self.now_ns();
        let copy_ns = self.duplicates.peek().map(|Reverse((due_ns, _))| *due_ns);
        let due_ns = if self.phase == Phase::Play { self.next_due_ns() } else { None };
        let end_ns = (self.phase == Phase::Play).then(|| self.end_ns());
        let until_ns = [copy_ns, due_ns, end_ns].into_iter().flatten().min().unwrap_or(u64::MAX);
        until_ns.saturating_sub(now_ns).min(WAIT_NS_MAX)
    }

    /// Waits for what comes, and takes it.
    fn wait(&mut self, events: &mut Vec<epoll::Event>, wait_ns: u64) {
        events.clear();
        if wait_ns > 0 {
            // epoll waits in whole milliseconds, poll in nanoseconds; a signal ends either early.
            let timeout = Timespec { tv_sec: 0, tv_nsec: wait_ns as _ };
            let _ = poll(&mut [PollFd::new(&self.poll, PollFlags::IN)], Some(&timeout));
        }
        let room = rustix::buffer::spare_capacity(events);
        if epoll::wait(&self.poll, room, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_err() {
            return;
        }
        let mut room = std::mem::take(&mut self.room);
        for event in events.drain(..) {
            self.event(event.data.u64() as usize, event.flags, &mut room);
        }
        self.room = room;
    }

    /// Sends what was written to connections since the last time.
    fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for at in dirty.drain(..) {
            self.connections[at].dirty = false;
            if let Err(e) = self.flush_one(at) {
                self.close(at, &e.to_string());
            }
        }
        // What closing has made dirty is flushed the next time.
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
    }

    /// Remembers that a connection has something to send.
    pub(super) fn touch(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(at);
        }
    }
}

fn client(plan: &Plan, number: u32, epoch: Epoch) -> Client {
    let me = Identity {
        host: plan.origin_host(number),
        realm: plan.realm.clone(),
        state: u32::try_from(epoch.unix_seconds).unwrap_or(u32::MAX),
        // What was sent over the connection of one client is sent again over those of others.
        relays: plan.keeps_requests(),
    };
    Client::new(me, epoch.run.rotate_left(8) ^ number)
}
