//! GTP' as a thread speaks it: messages of gateways that ask for quota go to the book, all others to the charging
//! gateway function. What waits for a disk leaves when that says so.

mod parked;
mod pushes;
mod quota_only;
mod recent;
mod ways;

pub(super) use recent::recent;

use super::gateway::{Came, Gateway};
use super::link::{Link, Strays};
use super::moment;
use super::requests::Flow;
use super::worker::{Mail, Worker};
use crate::quota::{self, Ask, Charge, Late, Mapping, Unread, What};
use crate::session::{Answer, Core, code};
use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{PoisonError, RwLock};
use std::time::Instant;
use trunkline_kit::config::Mistake;
use trunkline_net::{ConnectionId, Networks, Now, Replies, UdpPeer, Waker};
use trunkline_wire::Address;
use trunkline_wire::gtpp::{Frames, GtppError, Header, Message, Version, Writer, cause, message_type};
use ways::Ways;

/// Octets of the longest message of a stream.
const MESSAGE_OCTETS_MAX: usize = 1 << 16;
/// Requests of a thread that wait for the book, after which no other is taken in a round.
const ASKED_MAX: usize = 8192;
/// Answers of a thread that wait for the disk; then requests are dropped, and come again.
// Limit: GTP' answers of one thread waiting for the disk
// Beyond: further requests are dropped, and the gateway repeats them
// Seen in: `trunkline_charge_quota_dropped_total`
const OWED_MAX: usize = 65_536;
/// How long an answer is waited for (T3-RESPONSE).
const T3: Duration = Duration::from_secs(1);
/// How often it is looked whether senders have answered.
const LOOK: Duration = Duration::from_millis(10);

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
    /// What takes records; none refuses them.
    pub gateway: Option<Gateway>,
    /// Said where there is none (Recovery).
    restart_counter: u8,
    /// Where senders of records are told to go at the end.
    redirect_to: Option<IpAddr>,
    /// How a gateway is asked.
    ways: RwLock<Ways>,
}

impl Gtpp {
    pub fn new(
        mapping: Mapping,
        allow: Networks,
        gateway: Option<Gateway>,
        redirect_to: Option<IpAddr>,
        restart_counter: u8,
    ) -> Gtpp {
        Gtpp { mapping, allow, gateway, restart_counter, redirect_to, ways: RwLock::default() }
    }

    /// This node ends: senders of records are told so, and have a moment to answer.
    pub fn redirect(&self, waker: &Waker<Mail>) {
        // Where several nodes keep the ledger the next one is the same gateway.
        let Some(gateway) = self.gateway.as_ref().filter(|gateway| !gateway.is_of_ledger()) else { return };
        gateway.redirect(self.redirect_to.map(Address::from));
        // A thread that is gone has nobody to tell.
        let _taken = waker.to_thread(0, Mail::Durable);
        let until = Instant::now() + T3;
        while gateway.is_redirecting() && Instant::now() < until {
            std::thread::park_timeout(LOOK);
        }
    }

    /// The way to a gateway, and the thread that asks it.
    pub fn way(&self, origin: &str) -> Option<(u16, Way)> {
        self.ways.read().unwrap_or_else(PoisonError::into_inner).get(origin)
    }

    /// A gateway was charged something over that way; whether it can be asked over it.
    fn set_way(&self, origin: &str, way: (u16, Way), now: Duration) -> bool {
        self.ways.read().unwrap_or_else(PoisonError::into_inner).hear(origin, way, now)
            || self.ways.write().unwrap_or_else(PoisonError::into_inner).set(origin, way, now)
    }
}

/// What a thread has on its way by GTP'.
#[derive(Default)]
pub(super) struct Talk {
    /// Requests that are decided at the end of the round.
    asked: Vec<Asked>,
    /// Requests that wait for the directory, by their tokens.
    parked: HashMap<u64, parked::Waiting>,
    /// Answers and pushes that wait for the disk, with their entries.
    owed: VecDeque<(u64, Way, Vec<u8>)>,
    /// What may leave.
    ready: Vec<(Way, Vec<u8>)>,
    /// Questions that wait for an answer.
    open: Vec<pushes::Open>,
    next: u16,
    /// The gateway was given something.
    gave: bool,
    /// Usage without a session: over UDP anybody may be said to have sent it, so it is bounded for all together.
    strays: Strays,
}

struct Asked {
    way: Way,
    charge: Charge,
    message: Vec<u8>,
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
            _ => match &gtpp.gateway {
                Some(gateway) => {
                    self.talk.gave = true;
                    let message = Came { from, way, octets, now: now.monotonic };
                    gateway.take(&shared.book, message, &mut self.talk.ready);
                }
                None => {
                    let answer = quota_only::answer(octets, gtpp.restart_counter);
                    self.talk.ready.extend(answer.map(|answer| (way, answer)));
                }
            },
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
            Ok(Ask::Charge(charge)) => return self.decide_later(way, charge, message),
            Ok(Ask::Profile(identities)) => {
                self.counts.quota_profiles += 1;
                let waiting = parked::Waiting::of_profile(way, message, identities);
                return match self.shared.profiles {
                    Some(_) => self.park_quota(waiting),
                    None => self.answer_profile(gtpp, &waiting),
                };
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

    fn decide_later(&mut self, way: Way, charge: Charge, message: &Message<'_>) {
        if self.talk.asked.len() >= ASKED_MAX || self.talk.owed.len() >= OWED_MAX {
            self.counts.quota_dropped += 1;
            return;
        }
        let asked = Asked { way, charge, message: message.octets().to_vec() };
        // As of Diameter, subscribers are looked up when their sessions begin.
        let begins = |asked: &Asked| {
            let is_new = |core: &Core| core.standing(&asked.charge.session, asked.charge.octets).is_none();
            asked.charge.what == What::Authorize && self.shared.book.look(is_new)
        };
        match self.shared.profiles.is_some() && begins(&asked) {
            true => self.park_quota(parked::Waiting::of_charge(asked)),
            false => self.talk.asked.push(asked),
        }
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
        let (over, at) = (self.talk.strays.is_over(now.monotonic), desk.now(moment(now.unix)));
        let decide = |asked: &Asked| match over && desk.is_stray_charge(&asked.charge, at) {
            true => None,
            false => Some(desk.charge(&asked.charge, at)),
        };
        let decided: Vec<_> = asked.iter().map(decide).collect();
        drop(desk);
        for (asked, decided) in asked.iter().zip(decided) {
            let Some(decided) = decided else {
                self.counts.strays_refused += 1;
                self.answer_quota(gtpp, asked, 0, &Answer::of(code::TOO_BUSY));
                continue;
            };
            match decided {
                Ok((kind, decided)) => {
                    self.count(None, kind, &decided);
                    if decided.answer.code == code::UNKNOWN_SESSION && decided.after > 0 && !decided.copy {
                        self.talk.strays.add(now.monotonic);
                    }
                    // Who has no session is not asked about one.
                    let none = decided.after == 0 || decided.answer.code == code::UNKNOWN_SESSION;
                    let way = (self.thread, asked.way);
                    let known = none || gtpp.set_way(&asked.charge.origin, way, now.monotonic);
                    self.counts.gtpp_unreached += u64::from(!known);
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

    fn answer_quota(&mut self, gtpp: &Gtpp, asked: &Asked, after: u64, answer: &Answer) {
        let mut out = Vec::new();
        // It was read before.
        let Ok(message) = Message::new(&asked.message) else { return };
        let Ok(quota) = gtpp.mapping.profile.read(&message) else { return };
        if quota::tell(&quota, answer, &gtpp.mapping, &mut out).is_ok() {
            self.talk.owed.push_back((after, asked.way, out));
        }
    }

    /// Gathers what the gateway may say by now.
    pub(super) fn collect_gtpp(&mut self) {
        if let Some(gateway) = self.shared.gtpp.as_ref().and_then(|gtpp| gtpp.gateway.as_ref()) {
            gateway.collect(&self.shared.book, &mut self.talk.ready);
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
        let gave = core::mem::take(&mut self.talk.gave);
        if let Some(gateway) = gtpp.gateway.as_ref().filter(|gateway| gave || gateway.waits()) {
            now |= gateway.wait(&self.shared.book, self.thread);
        }
        if now {
            // A box that is full is looked into anyway.
            let _taken = self.waker.to_thread(self.thread, Mail::Durable);
        }
    }
}

/// Reads a profile of quota servers from a file.
///
/// # Errors
/// The file cannot be read; all that is wrong in it, a line each.
pub fn read_mapping(path: &std::path::Path) -> Result<Mapping, String> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| format!("{shown}: {e}"))?;
    let lines = |mistakes: Vec<Mistake>| mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n");
    crate::quota::read(&shown, &text).map_err(lines)
}
