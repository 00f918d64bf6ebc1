//! The service of a thread: messages in, answers out when they are durable.

use super::Shared;
use super::control::LINE_OCTETS_MAX;
use super::counts::Counts;
use super::gtpp::{Talk, Way};
use super::link::{Link, PENDING_OCTETS_MAX, Speaks};
use super::pending::Held;
use super::refusals::Refusals;
use super::requests::Flow;
use crate::peer::{Due, MESSAGE_OCTETS_MAX, Peer};
use crate::session::Push;
use crate::traffic::Traffic;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use trunkline_directory::Completion;
use trunkline_net::{
    Arrival, Cause, ConnectionId, Errands, Limits, Next, Now, Options, Output, Peer as Remote, Replies, Seat, Service,
    Taken, UdpPeer, Waker,
};
use trunkline_wire::diameter::credit::OverloadReport;

/// Room for what one read is answered at once: watchdogs, refusals.
pub(super) const ROOM_OCTETS: usize = 256 << 10;

/// Input that is kept: a line of those who operate, or a message.
const CARRIED_OCTETS: usize = LINE_OCTETS_MAX + 1;

const _: () = assert!(CARRIED_OCTETS > MESSAGE_OCTETS_MAX);

/// The engine's options with the room that the service needs.
pub(super) fn fitted(options: Options) -> Options {
    let limits = Limits { output_octets: 4 * ROOM_OCTETS, carried_octets: CARRIED_OCTETS, ..options.limits };
    Options { limits, ..options }
}

/// What threads are told.
#[derive(Debug)]
pub(super) enum Mail {
    /// More is durable.
    Durable,
    /// A client of that realm is to be asked.
    Push(Push, Box<str>),
    /// The connection is not wanted: its peer is connected over another one.
    Leave,
    /// A gateway by GTP' is to be asked.
    Quota(Push),
    /// What a gateway is told over its stream.
    Octets(Vec<u8>),
    /// The directory has answered about who is asked for.
    Profile(Completion),
}

/// See the module.
pub(super) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) counts: Counts,
    pub(super) traffic: Traffic,
    /// Said at once in this call.
    pub(super) said: Vec<u8>,
    pub(super) thread: u16,
    pub(super) waker: Waker<Mail>,
    /// What is on its way by GTP'.
    pub(super) talk: Talk,
    /// What answers that wait hold.
    pub(super) held: Held,
    /// Entries that the first answers of connections wait for; what comes behind one that waits longer waits with it.
    waiting: VecDeque<(u64, ConnectionId)>,
    /// Connections whose watchdog is to be looked at, by the second.
    watched: Vec<(Duration, ConnectionId)>,
    /// A second has gone by.
    ticked: bool,
    /// The outbox may have something of ours.
    pub(super) wrote: bool,
    /// What is refused to strangers, for the log.
    pub(super) refusals: Refusals,
    /// How much less clients are to send, as it was seen last.
    pub(super) overload: Option<OverloadReport>,
}

impl Worker {
    pub fn new(shared: Arc<Shared>, seat: &Seat<Mail>) -> Worker {
        Worker {
            shared,
            counts: Counts::default(),
            traffic: Traffic::default(),
            said: Vec::new(),
            thread: seat.thread,
            waker: seat.waker.clone(),
            talk: Talk::default(),
            held: Held::new(seat.threads),
            waiting: VecDeque::new(),
            watched: Vec::new(),
            ticked: false,
            wrote: false,
            refusals: Refusals::default(),
            overload: None,
        }
    }

    /// An answer of the connection was put, and waits for that entry.
    pub(super) fn waits(&mut self, link: &mut Link, after: u64) {
        self.wrote = true;
        // One that is durable has left the queue, or is about to.
        if link.waits.is_none_or(|waits| waits <= self.shared.book.durable()) {
            link.waits = Some(after);
            self.waiting.push_back((after, link.id));
        }
    }

    /// Says what may be said, and waits for the rest.
    fn release(&mut self, link: &mut Link, output: &mut Output<'_>, now: Now) -> Next {
        let mut full = false;
        while let Some(after) = link.pending.first().filter(|_| !full) {
            if after > self.shared.book.durable() {
                self.waits(link, after);
                // What became durable before this wish to be woken is found by another look.
                self.shared.book.wait(self.thread);
                if after > self.shared.book.durable() {
                    break;
                }
            }
            let (room, traffic) = (output.room(), &mut self.traffic);
            let diameter = matches!(link.speaks, Speaks::Diameter(_));
            let leaves = |came| {
                if diameter {
                    traffic.left(now.monotonic.saturating_sub(came))
                }
            };
            full = link.pending.take(self.shared.book.durable(), room, leaves, |octets| output.put(octets));
        }
        link.holds = link.holds && link.pending.len() > PENDING_OCTETS_MAX / 2;
        self.account(link);
        if full { Next::Resume } else { link.next() }
    }

    /// Counts what its answers hold now.
    fn account(&mut self, link: &mut Link) {
        let held = link.pending.held();
        self.held.change(link.counted, held);
        link.counted = held;
    }

    /// What was said at once leaves; the end of a connection behind the answers that it would cut off.
    fn say(&mut self, link: &mut Link, output: &mut Output<'_>, now: Now) {
        let ends = matches!(&link.speaks, Speaks::Diameter(peer) if peer.is_closing());
        match link.pending.last().filter(|_| ends) {
            Some(after) => {
                link.pending.octets().extend_from_slice(&self.said);
                link.pending.put(after, now.monotonic);
            }
            None => output.put(&self.said),
        }
        self.account(link);
    }

    /// Identifiers begin elsewhere after each start (RFC 6733 section 3): the time, and which connection it is.
    pub(super) fn seed(&self, now: Now) -> u32 {
        let nth = self.shared.connections.fetch_add(1, Ordering::Relaxed);
        (now.unix.as_secs() as u32) << 20 ^ nth.wrapping_mul(4099)
    }

    /// Has the connection looked at when something of it is due.
    pub(super) fn register(&mut self, link: &mut Link, now: Duration) {
        let Some(due) = link.due() else { return };
        if due < link.registered || link.registered <= now {
            link.registered = due;
            self.watched.push((due, link.id));
        }
    }

    fn pushed(&mut self, link: &mut Link, push: Push, realm: &str, output: &mut Output<'_>, now: Now) -> Next {
        let Speaks::Diameter(peer) = &mut link.speaks else { return Next::More };
        let local = &self.shared.local;
        if !peer.is_open() || output.room() < ROOM_OCTETS {
            self.shared.routes.give_back(push);
            return link.next();
        }
        let pushed = output.append(|out| peer.push(local, push, realm, now.monotonic, out));
        self.counts.pushed += 1;
        if let Ok(Some(given_up)) = pushed {
            self.counts.pushes_lost += 1;
            self.shared.routes.give_back(given_up.push);
        }
        self.register(link, now.monotonic);
        link.next()
    }

    fn profiled(&mut self, link: &mut Link, completion: Completion, output: &mut Output<'_>, now: Now) -> Next {
        if output.room() < ROOM_OCTETS {
            if let Some(profiles) = &self.shared.profiles {
                profiles.give_back(link.id, completion);
            }
            return link.next();
        }
        self.said.clear();
        self.looked_up(link, &completion, now);
        self.say(link, output, now);
        link.holds |= link.pending.len() > PENDING_OCTETS_MAX;
        link.next()
    }

    fn watch(&mut self, link: &mut Link, output: &mut Output<'_>, now: Now) -> Option<Next> {
        let Speaks::Diameter(peer) = &mut link.speaks else { return None };
        if link.holds || output.room() < ROOM_OCTETS {
            // What it says is not read now: that it is silent tells nothing.
            peer.excuse(now.monotonic);
        }
        while let Some(lost) = peer.unanswered(now.monotonic) {
            self.counts.pushes_lost += 1;
            self.shared.routes.give_back(lost.push);
        }
        let due = output.append(|out| peer.watch(&self.shared.local, now.monotonic, out));
        link.tally.watch(peer.state());
        match due {
            Due::Suspect => self.counts.peers_suspect += 1,
            Due::Close => {
                self.counts.peers_lost += 1;
                return Some(Next::Close);
            }
            Due::Nothing | Due::Asked => {}
        }
        self.register(link, now.monotonic);
        None
    }
}

impl Service for Worker {
    type Connection = Link;
    type Mail = Mail;

    fn accepted(&mut self, arrival: &Arrival<'_>, now: Now) -> Link {
        if self.shared.control.get(arrival.listener) == Some(&true) {
            return Link::new(arrival.id, (arrival.peer, false), Speaks::Control);
        }
        if let (Remote::Inet(from), true) = (arrival.peer, arrival.listener >= self.shared.control.len()) {
            let may = self.shared.gtpp.as_ref().is_some_and(|gtpp| gtpp.allow.contains(from.ip()));
            return Link::new(arrival.id, (arrival.peer, false), Speaks::Gtpp(from, may));
        }
        let peer = Peer::new(&self.shared.local, self.seed(now), now.monotonic);
        let mut link = Link::new(arrival.id, (arrival.peer, arrival.tls), Speaks::Diameter(Box::new(peer)));
        link.side.certificate = arrival.certificate.cloned().map(Box::new);
        self.register(&mut link, now.monotonic);
        link
    }

    fn octets(&mut self, link: &mut Link, input: &[u8], output: &mut Output<'_>, now: Now) -> Taken {
        if output.room() < ROOM_OCTETS {
            return Taken { octets: 0, next: Next::Resume };
        }
        self.said.clear();
        let (octets, flow) = match link.speaks {
            Speaks::Diameter(_) => self.messages(link, input, now),
            Speaks::Control => self.lines(link, input, now),
            Speaks::Gtpp(from, true) => self.stream_of_gtpp(link, from, input, now),
            Speaks::Gtpp(_, false) => (input.len(), Flow::Ends),
        };
        self.say(link, output, now);
        link.holds = link.pending.len() > PENDING_OCTETS_MAX;
        let next = match flow {
            Flow::Ends => Next::Close,
            Flow::Yields if !link.holds => Next::Yield,
            Flow::Yields | Flow::GoesOn => link.next(),
        };
        Taken { octets, next }
    }

    fn resume(&mut self, link: &mut Link, output: &mut Output<'_>, now: Now) -> Next {
        self.release(link, output, now)
    }

    fn mail(&mut self, link: &mut Link, mail: Mail, output: &mut Output<'_>, now: Now) -> Next {
        match mail {
            Mail::Durable | Mail::Quota(_) => Next::More,
            Mail::Leave => Next::Close,
            Mail::Push(push, realm) => self.pushed(link, push, &realm, output, now),
            Mail::Profile(completion) => self.profiled(link, completion, output, now),
            Mail::Octets(octets) if octets.len() <= output.room() => {
                output.put(&octets);
                Next::More
            }
            Mail::Octets(_) => {
                self.counts.gtpp_lost += 1;
                Next::More
            }
        }
    }

    fn dialled(&mut self, link: &mut Link, id: ConnectionId, output: &mut Output<'_>, now: Now) -> Next {
        self.reached(link, id, output, now)
    }

    fn woken(&mut self, link: &mut Link, output: &mut Output<'_>, now: Now) -> Next {
        if let Some(next) = self.watch(link, output, now) {
            return next;
        }
        self.release(link, output, now)
    }

    fn errands(&mut self, errands: &mut Errands<Link>, now: Now) {
        self.decide_quotas(now);
        if core::mem::take(&mut self.wrote) {
            self.shared.book.flush();
        }
        // What became durable between the look and the wish to be woken is found by the second look.
        for _ in 0..2 {
            let durable = self.shared.book.durable();
            while let Some((_, id)) = self.waiting.front().copied().filter(|(after, _)| *after <= durable) {
                self.waiting.pop_front();
                errands.wake(id);
            }
            if self.waiting.is_empty() {
                break;
            }
            self.shared.book.wait(self.thread);
        }
        self.wait_for_disks();
        if core::mem::take(&mut self.ticked) {
            self.dial_due(errands, now);
            self.watched.retain(|(due, id)| {
                let later = *due > now.monotonic;
                if !later {
                    errands.wake(*id);
                }
                later
            });
        }
    }

    fn owes(&self, link: &Link) -> bool {
        // Of a node that leads no longer nothing will count, and so nothing leaves.
        let owes = !link.pending.is_empty() || !link.parked.is_empty();
        owes && !self.shared.book.is_fenced()
    }

    fn undelivered(&mut self, mail: Mail, _: Now) {
        if let Mail::Push(push, _) = mail {
            self.shared.routes.give_back(push);
        }
    }

    fn datagram(&mut self, peer: &UdpPeer, payload: &[u8], replies: &mut Replies, now: Now) {
        self.gtpp(Way::Udp(*peer), peer.address, payload, now);
        self.say_gtpp(replies);
    }

    fn post(&mut self, mail: Mail, replies: &mut Replies, now: Now) {
        match mail {
            Mail::Quota(push) => self.push_quota(push, now),
            Mail::Profile(completion) => self.quota_looked_up(&completion, now),
            Mail::Durable | Mail::Leave | Mail::Push(..) | Mail::Octets(_) => {}
        }
        self.collect_gtpp();
        self.say_gtpp(replies);
    }

    fn farewell(&mut self, link: &mut Link, output: &mut Output<'_>, now: Now) {
        if let Speaks::Diameter(peer) = &mut link.speaks {
            output.append(|out| peer.disconnect(&self.shared.local, now.monotonic, out));
        }
    }

    fn lingers(&self, link: &Link, now: Now) -> bool {
        matches!(&link.speaks, Speaks::Diameter(peer) if peer.awaits_end(now.monotonic))
    }

    fn closed(&mut self, link: Link, cause: Cause, now: Now) {
        self.held.change(link.counted, 0);
        let Speaks::Diameter(mut peer) = link.speaks else { return };
        self.parted(&link.side, &peer, cause, now);
        link.client.into_iter().for_each(|number| self.shared.clients.remove(number));
        if link.routed {
            self.shared.routes.remove(link.id);
        }
        peer.left().for_each(|pushed| self.shared.routes.give_back(pushed.push));
    }

    fn rest(&mut self) {
        let counts = &self.shared.counts[usize::from(self.thread)];
        *counts.lock().unwrap_or_else(PoisonError::into_inner) = self.counts;
        let traffic = &self.shared.traffic[usize::from(self.thread)];
        traffic.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.traffic);
    }

    fn tick(&mut self, replies: &mut Replies, now: Now) {
        // What the log did not take in time is brought again.
        (self.wrote, self.ticked) = (true, true);
        self.ask_again(now);
        self.collect_gtpp();
        self.say_gtpp(replies);
    }
}
