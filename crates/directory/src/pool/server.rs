//! A server of the pool: its connections, what is in flight on them, and whether it is up.

use super::{Link, PoolOptions};
use crate::counts::{Latency, ServerCounts, ServerShown};
use crate::operation::{Answer, Operation, Reply};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The largest message identifier (RFC 4511 section 4.1.1.1).
const ID_MAX: u32 = i32::MAX as u32;
/// Result codes that are counted apart; the others are counted together as [`u32::MAX`].
const CODES_MAX: usize = 64;
/// A connection that ends sooner was never of use, and the next is not made at once.
const LIFE_MIN: Duration = Duration::from_secs(1);

/// A request and whose it is.
#[derive(Debug)]
pub(super) struct Job<T> {
    pub(super) token: T,
    pub(super) operation: Arc<Operation>,
    /// How often it was sent.
    pub(super) tries: u8,
    /// The server where it was sent in vain.
    pub(super) avoid: Option<usize>,
    /// Since when it waits.
    pub(super) since: Duration,
}

impl<T> Job<T> {
    pub(super) fn only_reads(&self) -> bool {
        self.operation.only_reads()
    }
}

/// A request in flight, and what of its answer has come.
#[derive(Debug)]
pub(super) struct Flight<T> {
    pub(super) job: Job<T>,
    sent: Duration,
    answer: Answer,
    octets: usize,
}

impl<T> Flight<T> {
    /// Keeps a part of the answer; no, if that makes it too long.
    pub(super) fn gather(&mut self, reply: Reply, options: &PoolOptions) -> bool {
        match reply {
            Reply::Entry(entry, octets) => {
                self.octets += octets;
                self.answer.entries.push(entry);
            }
            Reply::Reference(urls) => {
                self.octets += urls.iter().map(String::len).sum::<usize>();
                self.answer.referrals.extend(urls);
            }
            _ => {}
        }
        self.octets <= options.answer_octets_max
            && self.answer.entries.len() <= options.entries_max
            && self.answer.referrals.len() <= options.entries_max
    }
}

#[derive(Debug)]
pub(super) struct Connection<T> {
    pub(super) life: u64,
    opened: Duration,
    /// When something came last.
    pub(super) heard: Duration,
    last_id: u32,
    pub(super) flights: HashMap<u32, Flight<T>>,
    /// What was sent, in order of time; those that are answered are taken out when they come to the front.
    pub(super) sent: VecDeque<(Duration, u32)>,
}

impl<T> Connection<T> {
    fn new(life: u64, now: Duration) -> Self {
        let (flights, sent) = (HashMap::new(), VecDeque::new());
        Connection { life, opened: now, heard: now, last_id: 0, flights, sent }
    }

    pub(super) fn forget_answered(&mut self) {
        while self.sent.front().is_some_and(|(_, id)| !self.flights.contains_key(id)) {
            self.sent.pop_front();
        }
    }

    fn next_id(&mut self) -> u32 {
        loop {
            self.last_id = self.last_id % ID_MAX + 1;
            if !self.flights.contains_key(&self.last_id) {
                return self.last_id;
            }
        }
    }
}

/// The place of a connection.
#[derive(Debug)]
pub(super) enum Slot<T> {
    /// None; the next is made at this time.
    Idle(Duration),
    /// It is being made.
    Opening(u64),
    /// It is there.
    Open(Box<Connection<T>>),
}

#[derive(Debug)]
pub(super) struct Server<T> {
    pub(super) slots: Vec<Slot<T>>,
    pub(super) in_flight: usize,
    /// Whether the last that was seen of it was a failure, and no connection is there.
    pub(super) down: bool,
    failures: u32,
    pub(super) trouble: Arc<str>,
    pub(super) counts: ServerCounts,
    codes: BTreeMap<u32, u64>,
    latency: Latency,
}

impl<T> Server<T> {
    pub(super) fn new(connections: usize) -> Self {
        Server {
            slots: (0..connections).map(|_| Slot::Idle(Duration::ZERO)).collect(),
            in_flight: 0,
            down: false,
            failures: 0,
            trouble: "".into(),
            counts: ServerCounts::default(),
            codes: BTreeMap::new(),
            latency: Latency::default(),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.open_connections() > 0
    }

    fn open_connections(&self) -> usize {
        self.slots.iter().filter(|slot| matches!(slot, Slot::Open(_))).count()
    }

    pub(super) fn links(&self, server: usize) -> Vec<Link> {
        let open = |(slot, state): (usize, &Slot<T>)| match state {
            Slot::Open(connection) => Some(Link { server, slot, life: connection.life }),
            _ => None,
        };
        self.slots.iter().enumerate().filter_map(open).collect()
    }

    pub(super) fn connection(&mut self, link: Link) -> Option<&mut Connection<T>> {
        match &mut self.slots[link.slot] {
            Slot::Open(connection) if connection.life == link.life => Some(connection),
            _ => None,
        }
    }

    /// Whether that was a connection that was waited for.
    pub(super) fn opened(&mut self, now: Duration, link: Link) -> bool {
        if !matches!(self.slots[link.slot], Slot::Opening(life) if life == link.life) {
            return false;
        }
        self.slots[link.slot] = Slot::Open(Box::new(Connection::new(link.life, now)));
        self.counts.opened += 1;
        if self.down {
            // It is back: the others need not wait for their time.
            self.slots.iter_mut().filter(|slot| matches!(slot, Slot::Idle(_))).for_each(|s| *s = Slot::Idle(now));
        }
        (self.down, self.failures) = (false, 0);
        true
    }

    /// What was in flight on a connection that is no more; none if it was gone already.
    pub(super) fn closed(&mut self, now: Duration, link: Link, options: &PoolOptions) -> Option<Vec<Job<T>>> {
        let state = std::mem::replace(&mut self.slots[link.slot], Slot::Idle(now));
        let (jobs, is_failure) = match state {
            Slot::Opening(life) if life == link.life => (Vec::new(), true),
            Slot::Open(connection) if connection.life == link.life => {
                let is_failure = !connection.flights.is_empty() || now < connection.opened + LIFE_MIN;
                self.in_flight -= connection.flights.len();
                let mut flights: Vec<(u32, Flight<T>)> = connection.flights.into_iter().collect();
                flights.sort_by_key(|(id, _)| *id);
                (flights.into_iter().map(|(_, flight)| flight.job).collect(), is_failure)
            }
            other => {
                self.slots[link.slot] = other;
                return None;
            }
        };
        self.counts.closed += 1;
        if is_failure {
            self.failed(now, link.slot, options);
        }
        Some(jobs)
    }

    /// It is left alone for a while, twice as long after each failure.
    fn failed(&mut self, now: Duration, slot: usize, options: &PoolOptions) {
        self.counts.failures += 1;
        self.failures += 1;
        let times = 1u32.checked_shl(self.failures - 1).unwrap_or(u32::MAX);
        let at = now + options.retry.saturating_mul(times).min(options.retry_max);
        self.slots[slot] = Slot::Idle(at);
        let others = self.slots.iter().any(|slot| matches!(slot, Slot::Open(_) | Slot::Opening(_)));
        if !others {
            self.counts.downs += u64::from(!self.down);
            self.down = true;
            self.slots.fill_with(|| Slot::Idle(at));
        }
    }

    /// The connection with the fewest requests in flight, if that is less than a window.
    pub(super) fn roomiest(&self, window: usize) -> Option<usize> {
        let open = self.slots.iter().enumerate().filter_map(|(n, slot)| match slot {
            Slot::Open(connection) => Some((connection.flights.len(), n)),
            _ => None,
        });
        open.min().filter(|(in_flight, _)| *in_flight < window).map(|(_, slot)| slot)
    }

    /// Puts a request in flight: where, with which identifier, and what it is.
    pub(super) fn send(&mut self, now: Duration, server: usize, slot: usize, job: Job<T>) -> Sent {
        let operation = job.operation.clone();
        let Slot::Open(connection) = &mut self.slots[slot] else { unreachable!("it was chosen because it is open") };
        let (link, id) = (Link { server, slot, life: connection.life }, connection.next_id());
        let job = Job { tries: job.tries + 1, ..job };
        connection.flights.insert(id, Flight { job, sent: now, answer: Answer::default(), octets: 0 });
        connection.sent.push_back((now, id));
        self.in_flight += 1;
        self.counts.operations += 1;
        (link, id, operation)
    }

    /// Takes a request out of flight that was answered; what came before its end is in the answer.
    pub(super) fn finish(&mut self, now: Duration, link: Link, id: u32, last: Answer) -> Option<(Job<T>, Answer)> {
        let connection = self.connection(link)?;
        let flight = connection.flights.remove(&id)?;
        connection.forget_answered();
        self.in_flight -= 1;
        self.latency.record(now.saturating_sub(flight.sent));
        let is_known = self.codes.len() < CODES_MAX || self.codes.contains_key(&last.code);
        *self.codes.entry(if is_known { last.code } else { u32::MAX }).or_default() += 1;
        let mut referrals = flight.answer.referrals;
        referrals.extend(last.referrals);
        Some((flight.job, Answer { entries: flight.answer.entries, referrals, ..last }))
    }

    /// Takes a request out of flight without an answer, and gives an identifier for its abandonment.
    pub(super) fn give_up(&mut self, link: Link, id: u32) -> Option<(Job<T>, u32)> {
        let connection = self.connection(link)?;
        let flight = connection.flights.remove(&id)?;
        connection.forget_answered();
        let own = connection.next_id();
        self.in_flight -= 1;
        Some((flight.job, own))
    }

    /// Takes everything out of flight, in no order.
    pub(super) fn take_all(&mut self) -> Vec<Job<T>> {
        let open = self.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Open(connection) => Some(connection),
            _ => None,
        });
        self.in_flight = 0;
        open.flat_map(|connection| std::mem::take(&mut connection.flights)).map(|(_, flight)| flight.job).collect()
    }

    pub(super) fn shown(&self) -> ServerShown {
        ServerShown {
            is_up: self.is_up(),
            connections: self.open_connections(),
            in_flight: self.in_flight,
            trouble: if self.is_up() { "".into() } else { self.trouble.clone() },
            counts: self.counts,
            codes: self.codes.iter().map(|(code, count)| (*code, *count)).collect(),
            latency: self.latency.clone(),
        }
    }
}

/// Where a request was put in flight, with which identifier, and what it is.
type Sent = (Link, u32, Arc<Operation>);
