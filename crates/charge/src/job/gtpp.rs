//! GTP' as a thread speaks it: messages of gateways that ask for quota go to the book, all others to the charging
//! gateway function. What waits for a disk leaves when that says so.

use super::Shared;
use super::gateway::Gateway;
use super::link::Link;
use super::moment;
use super::requests::Flow;
use super::worker::{Mail, Worker};
use crate::account::Effect;
use crate::ledger;
use crate::quota::{self, Ask, Charge, Late, Mapping, Recent, Unread};
use crate::session::{Core, Push};
use core::ops::ControlFlow;
use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{PoisonError, RwLock};
use trunkline_commit::{Disk, Snapshot};
use trunkline_net::{ConnectionId, Networks, Now, Replies, UdpPeer};
use trunkline_wire::gtpp::profile::Role;
use trunkline_wire::gtpp::{Frames, GtppError, Header, Message, Version, Writer, cause, message_type};

/// Octets of the longest message of a stream.
const MESSAGE_OCTETS_MAX: usize = 1 << 16;
/// Requests of a thread that wait for the book, after which no other is taken in a round.
const ASKED_MAX: usize = 8192;
/// Answers of a thread that wait for the disk; then requests are dropped, and come again.
const OWED_MAX: usize = 65_536;
/// Gateways whose way is known; one more is not asked for anything.
const WAYS_MAX: usize = 100_000;
/// Questions of a thread that wait for an answer.
const OPEN_MAX: usize = 65_536;
/// Entries at the end of the ledger in which requests of a moment ago are looked for.
const TAIL_ENTRIES: u64 = 500_000;
/// How long an answer is waited for (T3-RESPONSE), and how often one is asked for (N3-REQUESTS).
const T3: Duration = Duration::from_secs(1);
const N3: u32 = 5;

/// How a gateway is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Udp(UdpPeer),
    Tcp(ConnectionId),
}

/// What threads share of GTP'.
pub(super) struct Gtpp {
    pub mapping: Mapping,
    /// From where it is taken.
    pub allow: Networks,
    pub gateway: Gateway,
    /// How a gateway is asked, by its name in the ledger: by which thread.
    ways: RwLock<HashMap<Box<str>, (u16, Way)>>,
}

impl Gtpp {
    pub fn new(mapping: Mapping, allow: Networks, gateway: Gateway) -> Gtpp {
        Gtpp { mapping, allow, gateway, ways: RwLock::default() }
    }

    /// The way to a gateway, and the thread that asks it.
    pub fn way(&self, origin: &str) -> Option<(u16, Way)> {
        self.ways.read().unwrap_or_else(PoisonError::into_inner).get(origin).copied()
    }

    fn set_way(&self, origin: &str, way: (u16, Way)) {
        if self.way(origin) == Some(way) {
            return;
        }
        let mut ways = self.ways.write().unwrap_or_else(PoisonError::into_inner);
        if ways.len() < WAYS_MAX || ways.contains_key(origin) {
            ways.insert(origin.into(), way);
        }
    }
}

/// Requests by GTP' whose copies may still come, as the newest entries of the ledger have them.
pub(super) fn recent<D: Disk>(core: &Core, disk: &D, mapping: &Mapping) -> io::Result<Recent> {
    let mut recent = Recent::new(u32::try_from(mapping.copies.as_secs()).unwrap_or(u32::MAX));
    let opening = Snapshot::opening(disk).map_err(io::Error::other)?.map_or(0, |opening| opening.last);
    let last = core.state().sequence();
    let first = last.saturating_sub(TAIL_ENTRIES).max(opening) + 1;
    if first > last {
        return Ok(recent);
    }
    let read = ledger::read(disk, first, |entry| {
        for effect in &entry.effects {
            if let Effect::Answered { slot, kept, .. } = effect {
                if core.origin_of(*slot).is_some_and(|origin| origin.starts_with("gtpp:")) {
                    recent.put(*slot, kept.end_to_end, entry.at);
                }
            }
        }
        ControlFlow::Continue(())
    });
    read.map(|_| recent).map_err(io::Error::other)
}

/// What a thread has on its way by GTP'.
#[derive(Default)]
pub(super) struct Talk {
    /// Requests that are decided at the end of the round.
    asked: Vec<Asked>,
    /// Answers and pushes that wait for the disk, with their entries.
    owed: VecDeque<(u64, Way, Vec<u8>)>,
    /// What may leave.
    ready: Vec<(Way, Vec<u8>)>,
    /// Questions that wait for an answer.
    open: Vec<Open>,
    next: u16,
    /// The gateway was given something.
    gave: bool,
}

struct Asked {
    way: Way,
    charge: Charge,
    message: Vec<u8>,
}

/// A push, or what is asked back.
struct Open {
    way: Way,
    sequence: u16,
    octets: Vec<u8>,
    tries: u32,
    due: Duration,
}

impl Worker {
    /// Takes the whole messages at the front of a stream: octets taken, and how it goes on.
    pub(super) fn stream_of_gtpp(
        &mut self,
        link: &mut Link,
        from: SocketAddr,
        input: &[u8],
        now: Now,
    ) -> (usize, Flow) {
        let mut frames = Frames::new(input, MESSAGE_OCTETS_MAX);
        loop {
            match frames.next_message() {
                Ok(Some(octets)) => self.gtpp(Way::Tcp(link.id), from, octets, now),
                Ok(None) => return (frames.taken(), Flow::GoesOn),
                Err(_) => {
                    self.counts.streams_broken += 1;
                    return (frames.taken(), Flow::Ends);
                }
            }
        }
    }

    /// Takes a message.
    pub(super) fn gtpp(&mut self, way: Way, from: SocketAddr, octets: &[u8], now: Now) {
        let shared = std::sync::Arc::clone(&self.shared);
        let Some(gtpp) = &shared.gtpp else { return };
        self.counts.gtpp_messages += 1;
        match Message::new(octets) {
            Ok(message) if gtpp.mapping.profile.role(message.header.kind).is_some() => {
                self.quota(gtpp, way, from, &message);
            }
            _ => {
                self.talk.gave = true;
                gtpp.gateway.take(from, way, octets, now.monotonic, &mut self.talk.ready);
            }
        }
    }

    /// A message of a gateway that asks for quota.
    fn quota(&mut self, gtpp: &Gtpp, way: Way, from: SocketAddr, message: &Message<'_>) {
        let quota = match gtpp.mapping.profile.read(message) {
            Ok(quota) => quota,
            Err(GtppError::Version(_)) => {
                self.counts.quota_versions += 1;
                let sequence = message.header.sequence;
                let header = Header { version: Version::V0, kind: message_type::VERSION_NOT_SUPPORTED, sequence };
                let mut out = Vec::new();
                if Writer::new(&mut out, &header).finish().is_ok() {
                    self.talk.ready.push((way, out));
                }
                return;
            }
            Err(GtppError::Missing(_)) => {
                self.counts.quota_missing += 1;
                return;
            }
            Err(_) => {
                self.counts.quota_broken += 1;
                return;
            }
        };
        if quota.role.response().is_none() {
            return self.quota_answered(way, quota.role, quota.sequence);
        }
        let mut out = Vec::new();
        let written = match quota::ask(&quota, message, &gtpp.mapping, (from.ip(), from.port())) {
            Ok(Ask::Charge(charge)) => return self.decide_later(gtpp, way, charge, message),
            Ok(Ask::Profile(identities)) => {
                self.counts.quota_profiles += 1;
                let plan = self.shared.book.look(|core| {
                    let account = identities.iter().find_map(|identity| core.subscriber_of(identity));
                    account.and_then(|(_, account)| core.plan_of(account)).map(|plan| plan.name.clone())
                });
                quota::tell_profile(&quota, plan.as_deref(), &gtpp.mapping, &mut out)
            }
            Ok(Ask::Other) | Err(Unread::Service) => {
                self.counts.quota_unserved += 1;
                quota::refuse(&quota, cause::SERVICE_NOT_SUPPORTED, &gtpp.mapping, &mut out)
            }
            Err(Unread::Length) => {
                self.counts.quota_broken += 1;
                return;
            }
        };
        if written.is_ok() {
            self.talk.ready.push((way, out));
        }
    }

    fn decide_later(&mut self, gtpp: &Gtpp, way: Way, charge: Charge, message: &Message<'_>) {
        if self.talk.asked.len() >= ASKED_MAX || self.talk.owed.len() >= OWED_MAX {
            self.counts.quota_dropped += 1;
            return;
        }
        gtpp.set_way(&charge.origin, (self.thread, way));
        self.talk.asked.push(Asked { way, charge, message: message.octets().to_vec() });
    }

    /// Decides about the requests of the round, with one hold of the book.
    pub(super) fn decide_quotas(&mut self, now: Now) {
        let asked = core::mem::take(&mut self.talk.asked);
        if asked.is_empty() {
            return;
        }
        let shared = std::sync::Arc::clone(&self.shared);
        let Some(gtpp) = &shared.gtpp else { return };
        let mut desk = shared.book.desk();
        let decided: Vec<_> = asked.iter().map(|asked| desk.charge(&asked.charge, moment(now.unix))).collect();
        drop(desk);
        for (asked, decided) in asked.iter().zip(decided) {
            match decided {
                Ok((kind, decided)) => {
                    self.count(kind, &decided);
                    self.answer_quota(gtpp, asked, decided.after, &decided.answer);
                }
                Err(Late { full: true }) => self.counts.quota_dropped += 1,
                Err(Late { full: false }) => self.counts.quota_late += 1,
            }
        }
        self.wrote = true;
        // What it held is used again.
        self.talk.asked = asked;
        self.talk.asked.clear();
    }

    fn answer_quota(&mut self, gtpp: &Gtpp, asked: &Asked, after: u64, answer: &crate::session::Answer) {
        let mut out = Vec::new();
        // It was read before.
        let Ok(message) = Message::new(&asked.message) else { return };
        let Ok(quota) = gtpp.mapping.profile.read(&message) else { return };
        if quota::tell(&quota, answer, &gtpp.mapping, &mut out).is_ok() {
            self.talk.owed.push_back((after, asked.way, out));
        }
    }

    /// A gateway is asked to come again, or told what it may use besides.
    pub(super) fn push_quota(&mut self, push: Push, now: Now) {
        let shared = std::sync::Arc::clone(&self.shared);
        let Some((gtpp, (_, way))) = shared.gtpp.as_ref().and_then(|gtpp| Some((gtpp, gtpp.way(&push.origin)?))) else {
            return shared.routes.give_back(push);
        };
        if self.talk.open.len() >= OPEN_MAX {
            return shared.routes.give_back(push);
        }
        let asks = Asks { shared: &shared, gtpp, way, push: &push };
        let done = asks.write(self, now);
        self.wrote = true;
        if !done {
            shared.routes.give_back(push);
        }
    }

    fn opens(&mut self, (after, way): (u64, Way), now: Now, write: impl FnOnce(u16, &mut Vec<u8>) -> bool) {
        self.talk.next = self.talk.next.wrapping_add(1);
        let (sequence, mut octets) = (self.talk.next, Vec::new());
        if write(sequence, &mut octets) {
            self.counts.pushed += 1;
            let due = now.monotonic + T3;
            self.talk.owed.push_back((after, way, octets.clone()));
            self.talk.open.push(Open { way, sequence, octets, tries: 1, due });
        }
    }

    fn quota_answered(&mut self, way: Way, role: Role, sequence: u16) {
        let is_it = |open: &Open| open.way == way && open.sequence == sequence;
        let at = self.talk.open.iter().position(is_it);
        let pushed = matches!(role, Role::QuotaPushResponse | Role::QuotaReturnResponse);
        match at.filter(|_| pushed) {
            Some(at) => {
                self.talk.open.swap_remove(at);
                self.counts.pushes_answered += 1;
            }
            None => self.counts.quota_unserved += 1,
        }
    }

    /// Asks again where no answer came.
    pub(super) fn ask_again(&mut self, now: Now) {
        let (mut lost, ready) = (0, &mut self.talk.ready);
        self.talk.open.retain_mut(|open| {
            if open.due > now.monotonic {
                return true;
            }
            if open.tries >= N3 {
                lost += 1;
                return false;
            }
            open.tries += 1;
            open.due = now.monotonic + T3;
            ready.push((open.way, open.octets.clone()));
            true
        });
        self.counts.pushes_lost += lost;
    }

    /// Gathers what the gateway may say by now.
    pub(super) fn collect_gtpp(&mut self) {
        if let Some(gtpp) = &self.shared.gtpp {
            gtpp.gateway.collect(&mut self.talk.ready);
        }
    }

    /// Says what may be said.
    pub(super) fn say_gtpp(&mut self, replies: &mut Replies) {
        self.release_quotas();
        for (way, octets) in self.talk.ready.drain(..) {
            match way {
                Way::Udp(peer) => replies.datagram(&peer, &octets),
                // A stream whose thread takes no more, or that is gone, loses it as a network would.
                Way::Tcp(id) => {
                    self.counts.gtpp_lost += u64::from(self.waker.to_connection(id, Mail::Octets(octets)).is_err());
                }
            }
        }
    }

    fn release_quotas(&mut self) {
        let durable = self.shared.book.durable();
        while self.talk.owed.front().is_some_and(|(after, ..)| *after <= durable) {
            let Some((_, way, octets)) = self.talk.owed.pop_front() else { return };
            self.talk.ready.push((way, octets));
        }
    }

    /// At the end of a round: what waits for a disk is told of, and what may leave by now has another round.
    pub(super) fn wait_for_disks(&mut self) {
        let Some(gtpp) = &self.shared.gtpp else { return };
        let mut now = !self.talk.ready.is_empty();
        if let Some((after, ..)) = self.talk.owed.front() {
            self.shared.book.wait(self.thread);
            now |= *after <= self.shared.book.durable();
        }
        if core::mem::take(&mut self.talk.gave) || gtpp.gateway.waits() {
            now |= gtpp.gateway.wait(self.thread);
        }
        if now {
            // A box that is full is looked into anyway.
            let _taken = self.waker.to_thread(self.thread, Mail::Durable);
        }
    }
}

/// What a gateway is asked for a session.
struct Asks<'a> {
    shared: &'a Shared,
    gtpp: &'a Gtpp,
    way: Way,
    push: &'a Push,
}

impl Asks<'_> {
    /// Whether it was asked, or there is nothing to ask; else it is tried again.
    fn write(&self, worker: &mut Worker, now: Now) -> bool {
        let (session, mapping) = (&*self.push.session, &self.gtpp.mapping);
        let mut desk = self.shared.book.desk();
        let Some(pushes) = quota::pushes(desk.core(), self.push) else { return true };
        let user = desk.user(session, mapping).unwrap_or_default();
        let mut granted = Vec::new();
        for key in pushes.granted {
            let held = quota::replaced(desk.core(), session, key);
            let Some(request) = quota::server_request(desk.core(), session, key) else { continue };
            let decided = desk.handle(&request, moment(now.unix));
            if decided.after == 0 {
                return false;
            }
            granted.push((held, decided));
        }
        drop(desk);
        for (held, decided) in granted {
            let Some(given) = decided.answer.services.first() else { continue };
            let Some((unit, units)) = given.granted else { continue };
            let more = units.saturating_sub(held.filter(|(own, _)| *own == unit).map_or(0, |(_, units)| units));
            if more > 0 {
                worker.opens((decided.after, self.way), now, |sequence, out| {
                    quota::push(sequence, (session, &user), given, more, mapping, out).is_ok()
                });
            }
        }
        for key in pushes.returned {
            worker.opens((0, self.way), now, |sequence, out| {
                quota::return_request(sequence, session, key, mapping, out).is_ok()
            });
        }
        true
    }
}
