//! Which call an endpoint belongs to, as signalling announced it.

mod control;
mod ice;
mod share;

use crate::limits::{BEGINS_LATE_NS, ENDPOINTS_PER_CALL_MAX, LINGER_NS, STREAMS_PER_CALL_MAX};
use crate::media::{Announcement, Notice, Numbered, Serial};
use crate::payload::PayloadMap;
use core::hash::Hash;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use smallvec::{Array, SmallVec, smallvec};
use std::sync::Arc;
use trunkline_kit::Id;
use trunkline_store::row::Direction;
use trunkline_wire::{Address, Endpoint, sdp};

/// The call that a stream belongs to.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The call.
    pub serial: Serial,
    /// Its identifier.
    pub id: Id,
    /// Who sends the stream.
    pub sender: Direction,
    /// What kind of media it is.
    pub kind: sdp::Kind,
    /// What its payload types mean.
    pub payloads: Arc<PayloadMap>,
    /// It is SRTP.
    pub encrypted: bool,
    /// The call names endpoints of fax.
    pub fax: bool,
    /// Until when packets belong to it.
    pub until_ns: i64,
}

#[derive(Clone, Debug)]
struct Mapping {
    serial: Serial,
    party: Direction,
    kind: sdp::Kind,
    payloads: Arc<PayloadMap>,
    encrypted: bool,
    /// The call did not name it.
    guessed: bool,
    /// Both parties named it: it says nothing of who sends there.
    by_both: bool,
    /// When the call first named the endpoint.
    since_ns: i64,
}

impl Mapping {
    fn new(a: &Announcement) -> Self {
        Mapping {
            serial: a.serial,
            party: a.party,
            kind: a.kind,
            payloads: a.payloads.clone(),
            encrypted: a.encrypted,
            guessed: a.guessed,
            by_both: false,
            since_ns: a.at_ns,
        }
    }
}

#[derive(Debug)]
struct CallMedia {
    id: Id,
    /// When it first named an endpoint.
    since_ns: i64,
    until_ns: i64,
    /// Until when its streams may begin: of a call that nobody took, not as long as those that are there go on.
    begins_until_ns: i64,
    endpoints: SmallVec<[Endpoint; 2]>,
    streams: SmallVec<[u32; 4]>,
    /// The last payload maps of each party and kind of media.
    spoken: SmallVec<[(Direction, sdp::Kind, Arc<PayloadMap>); 2]>,
    /// Names that its parties have for the checks of ICE.
    ice: Vec<u64>,
    /// Hosts of parties that connect to the other one from a port that they cannot tell.
    hosts: Vec<Connecting>,
    /// Where its RTCP comes to that is not next to its RTP.
    controls: Vec<Endpoint>,
}

/// A host from which a party connects to the other one (RFC 4145 section 4.1).
#[derive(Clone, Copy, Debug)]
struct Connecting {
    party: Direction,
    host: Address,
    /// When the call first named it.
    since_ns: i64,
}

impl CallMedia {
    /// Of a call that announces its first endpoint.
    fn new(a: &Announcement, payloads: Arc<PayloadMap>) -> Self {
        CallMedia {
            endpoints: smallvec![a.endpoint],
            spoken: smallvec![(a.party, a.kind, payloads)],
            ..CallMedia::without(a.id, a.at_ns)
        }
    }

    /// Of a call that announced no endpoint so far.
    fn without(id: Id, since_ns: i64) -> Self {
        CallMedia {
            id,
            since_ns,
            until_ns: i64::MAX,
            begins_until_ns: i64::MAX,
            endpoints: SmallVec::new(),
            streams: SmallVec::new(),
            spoken: SmallVec::new(),
            ice: Vec::new(),
            hosts: Vec::new(),
            controls: Vec::new(),
        }
    }

    /// Adds what it announces further.
    fn add(&mut self, a: &Announcement, payloads: Arc<PayloadMap>) {
        self.spoken.retain(|(party, kind, _)| (*party, *kind) != (a.party, a.kind));
        self.spoken.push((a.party, a.kind, payloads));
        if !self.endpoints.contains(&a.endpoint) {
            self.endpoints.push(a.endpoint);
        }
    }

    /// Whether a party connects from a host.
    fn connects_from(&self, party: Direction, host: Address) -> bool {
        self.hosts.iter().any(|known| (known.party, known.host) == (party, host))
    }

    /// Reads a little of each line of the cache that it takes.
    fn warm(&self) -> usize {
        let endpoint = self.endpoints.first().map_or(0, |e| usize::from(e.port));
        let stream = self.streams.first().map_or(0, |s| *s as usize);
        let spoken = self.spoken.iter().fold(0, |sum, (party, ..)| sum ^ *party as usize);
        endpoint ^ stream ^ spoken ^ self.until_ns as usize
    }
}

/// Endpoints of all calls that are up.
#[derive(Debug, Default)]
pub struct Directory {
    by_endpoint: HashMap<Endpoint, SmallVec<[Mapping; 1]>>,
    calls: HashMap<Serial, CallMedia>,
    by_ice_name: HashMap<u64, SmallVec<[(Serial, Direction); 2]>>,
    /// Where RTCP comes to that is not next to its RTP: which call says so, and where that is.
    by_control: HashMap<Endpoint, SmallVec<[(Serial, Endpoint); 1]>>,
}

impl Directory {
    /// Streams of calls that are over and used an endpoint that another call announces: its ports are in use again.
    pub fn superseded(&self, a: &Announcement) -> Vec<u32> {
        let others = self.named(&a.endpoint).iter().filter(|m| m.serial != a.serial);
        let over = others.filter_map(|m| self.calls.get(&m.serial)).filter(|call| call.until_ns != i64::MAX);
        over.flat_map(|call| &call.streams).copied().collect()
    }

    /// Learns an endpoint that no call names, as nearly always. False if one does: then nothing is learned, and streams
    /// may change hands.
    pub fn announce_first(&mut self, a: &Announcement) -> bool {
        if a.endpoint.port == 0 {
            self.announce_host(a);
            return true;
        }
        // To share a map waits until all that was written before has reached the memory, and the tables are far away.
        let (mapping, payloads) = (Mapping::new(a), a.payloads.clone());
        let Entry::Vacant(place) = self.by_endpoint.entry(a.endpoint) else { return false };
        place.insert(smallvec![mapping]);
        self.add(a, payloads);
        true
    }

    /// Learns a host that media comes from, of whatever port.
    fn announce_host(&mut self, a: &Announcement) {
        let call = self.calls.entry(a.serial).or_insert_with(|| CallMedia::without(a.id, a.at_ns));
        let (party, host, since_ns) = (a.party, a.endpoint.address, a.at_ns);
        if !call.connects_from(party, host) && call.hosts.len() < ENDPOINTS_PER_CALL_MAX {
            call.hosts.push(Connecting { party, host, since_ns });
        }
    }

    /// Notes what a call announces.
    fn add(&mut self, a: &Announcement, payloads: Arc<PayloadMap>) {
        // What is not there yet is put in whole: to look at a thing that was just written is to wait for the memory.
        match self.calls.entry(a.serial) {
            Entry::Occupied(mut call) => call.get_mut().add(a, payloads),
            Entry::Vacant(place) => {
                place.insert(CallMedia::new(a, payloads));
            }
        }
    }

    /// Learns an endpoint; forgets it of calls that are over.
    pub fn announce(&mut self, a: &Announcement) {
        let mut mapping = Mapping::new(a);
        self.add(a, a.payloads.clone());
        let mut mappings = match self.by_endpoint.entry(a.endpoint) {
            Entry::Occupied(mappings) => mappings,
            Entry::Vacant(place) => {
                place.insert(smallvec![mapping]);
                return;
            }
        };
        mappings.get_mut().retain(|m| {
            if m.serial == a.serial {
                if a.kind == sdp::Kind::Image {
                    // Fax shares the port with the audio before and after it, which keeps its own meaning.
                    mapping.clone_from(m);
                }
                if m.party != mapping.party {
                    // Some answer with what they were offered. It is where the first one is.
                    (mapping.party, mapping.by_both) = (m.party, true);
                }
                mapping.by_both |= m.by_both;
                mapping.since_ns = mapping.since_ns.min(m.since_ns);
                mapping.guessed &= m.guessed;
                return false;
            }
            self.calls.get(&m.serial).is_some_and(|other| other.until_ns == i64::MAX)
        });
        mappings.get_mut().push(mapping);
    }

    /// Reads a little of what these notices will need. What is known of some ten thousand calls lies far from the
    /// cache; so each step is gone for all of them before the next, and the waits overlap.
    pub fn warm(&self, notices: &[Numbered]) {
        let serial_of = |n: &Numbered| match &n.notice {
            Notice::Announce(a) => Some(a.serial),
            Notice::Until { serial, .. } | Notice::Release { serial } => Some(*serial),
            Notice::Named(_) | Notice::Control(_) | Notice::Reassembled(_) | Notice::Unreachable(_) => None,
        };
        let mut known = 0;
        for n in notices {
            known ^= serial_of(n).and_then(|serial| self.calls.get(&serial)).map_or(0, CallMedia::warm);
            if let Notice::Announce(a) = &n.notice {
                known ^= self.mappings(&a.endpoint);
            }
        }
        for n in notices {
            let Notice::Release { serial } = n.notice else { continue };
            let endpoints = self.calls.get(&serial).map_or(&[][..], |c| &c.endpoints);
            known ^= endpoints.iter().fold(0, |sum, e| sum ^ self.mappings(e));
        }
        core::hint::black_box(known);
    }

    /// Who names an endpoint.
    fn named(&self, endpoint: &Endpoint) -> &[Mapping] {
        self.by_endpoint.get(endpoint).map_or(&[], SmallVec::as_slice)
    }

    /// Whether any call names an endpoint, one that is over, too; but one that nobody took does not, from its end on.
    pub fn is_named(&self, endpoint: &Endpoint, at_ns: i64) -> bool {
        let counts = |c: &CallMedia| c.begins_until_ns >= c.until_ns || at_ns <= c.begins_until_ns;
        self.named(endpoint).iter().any(|m| self.calls.get(&m.serial).is_none_or(counts))
    }

    /// Whether a stream of a call may begin then.
    fn may_begin(&self, serial: Serial, at_ns: i64) -> bool {
        self.calls.get(&serial).is_some_and(|c| at_ns <= c.begins_until_ns)
    }

    fn mappings(&self, endpoint: &Endpoint) -> usize {
        self.by_endpoint.get(endpoint).map_or(0, |m| m.first().map_or(0, |m| m.serial as usize) ^ m.len())
    }

    /// The call of what `from` sends to `to` and begins then.
    ///
    /// A call that announced both endpoints comes first, the oldest of several (a back-to-back user agent that does not
    /// touch media announces the same endpoints in both its calls) unless a later one claims them; then the youngest
    /// that wants to receive at `to`; then, when network address translation changed the receiver, the youngest that
    /// receives at `from`. In each case those that named the endpoint go before those of which it was guessed, and
    /// before all those that named the host of the other end, where that cannot tell its port.
    pub fn owner(&self, from: Endpoint, to: Endpoint, at_ns: i64) -> Option<Owner> {
        let alive = |m: &&Mapping| self.may_begin(m.serial, at_ns);
        let (receivers, senders) = (self.named(&to), self.named(&from));
        let both = |m: &&Mapping| senders.iter().any(|s| s.serial == m.serial);
        let receiver = receivers
            .iter()
            .filter(alive)
            .filter(both)
            .filter(|m| !receivers.iter().any(|later| self.claims(later.serial, m.serial, &from, &to)))
            .min_by_key(|m| (m.guessed, m.serial))
            .or_else(|| self.youngest_with(receivers, from.address, at_ns));
        let (mapping, sender) = match receiver {
            Some(m) if m.by_both => (m, self.sender_to(m, senders)),
            Some(m) => (m, opposite(m.party)),
            None => self.youngest_with(senders, to.address, at_ns).map(|m| (m, m.party))?,
        };
        let call = self.calls.get(&mapping.serial)?;
        // What is sent means what the receiver said it means (RFC 3264 section 5.1), wherever it was said to be.
        let said = call.spoken.iter().find(|(party, kind, _)| (*party, *kind) == (opposite(sender), mapping.kind));
        let payloads = match receiver {
            Some(m) => &m.payloads,
            None => said.map_or(&mapping.payloads, |(_, _, payloads)| payloads),
        };
        Some(Owner {
            serial: mapping.serial,
            id: call.id,
            sender,
            payloads: payloads.clone(),
            kind: mapping.kind,
            encrypted: mapping.encrypted,
            fax: call.spoken.iter().any(|(_, kind, _)| *kind == sdp::Kind::Image),
            until_ns: call.until_ns,
        })
    }

    /// Who sends to an endpoint that both parties of a call named: who is known to be at the other end, or else the one
    /// who is not there.
    fn sender_to(&self, receiver: &Mapping, senders: &[Mapping]) -> Direction {
        let known = senders.iter().find(|m| m.serial == receiver.serial && !m.by_both);
        known.map_or(opposite(receiver.party), |m| m.party)
    }

    /// The youngest of those that are up, of those whose other party said that it is at this host if there are any.
    fn youngest_with<'a>(&self, mappings: &'a [Mapping], other: Address, at_ns: i64) -> Option<&'a Mapping> {
        let alive = |m: &&Mapping| self.may_begin(m.serial, at_ns);
        let at_host = |m: &&Mapping| self.is_connected(m, other);
        let at_host = if mappings.len() > 1 { youngest(mappings.iter().filter(alive).filter(at_host)) } else { None };
        at_host.or_else(|| youngest(mappings.iter().filter(alive)))
    }

    /// Whether a call says that who is opposite to this endpoint of it connects from a host.
    fn is_connected(&self, mapping: &Mapping, host: Address) -> bool {
        self.calls.get(&mapping.serial).is_some_and(|call| call.connects_from(opposite(mapping.party), host))
    }

    /// Whether a call had begun by then.
    pub fn began_before(&self, serial: Serial, at_ns: i64) -> bool {
        self.calls.get(&serial).is_some_and(|call| call.since_ns <= at_ns)
    }

    /// Of which earlier calls an announcement claims pairs of endpoints: the one that it names and these.
    pub fn claimed(&self, a: &Announcement) -> SmallVec<[(Serial, Endpoint); 2]> {
        let (here, mut claimed) = (self.named(&a.endpoint), SmallVec::new());
        if here.len() < 2 {
            return claimed;
        }
        let Some(call) = self.calls.get(&a.serial) else { return claimed };
        for earlier in here.iter().filter(|m| m.serial < a.serial) {
            let others = call.endpoints.iter().filter(|e| **e != a.endpoint);
            let taken = others.filter(|e| self.claims(a.serial, earlier.serial, &a.endpoint, e));
            claimed.extend(taken.map(|endpoint| (earlier.serial, *endpoint)));
        }
        claimed
    }

    /// From when to when media belongs to a call, nanoseconds since 1970.
    pub fn time_of(&self, serial: Serial) -> Option<(i64, i64)> {
        self.calls.get(&serial).map(|call| (call.since_ns, call.until_ns))
    }

    /// The hosts at which a party of a call said that it receives.
    pub fn hosts_of(&self, serial: Serial, party: Direction) -> SmallVec<[Address; 2]> {
        let own = |m: &Mapping| m.serial == serial && m.party == party;
        let named = self.calls.get(&serial).map_or(&[][..], |call| &call.endpoints).iter();
        let mut hosts: SmallVec<[Address; 2]> =
            named.filter(|e| self.named(e).iter().any(own)).map(|e| e.address).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// The streams of a call.
    pub fn streams(&self, serial: Serial) -> &[u32] {
        self.calls.get(&serial).map_or(&[], |c| &c.streams)
    }

    /// Whether a call said that it receives at an endpoint.
    pub fn knows(&self, serial: Serial, endpoint: &Endpoint) -> bool {
        self.named(endpoint).iter().any(|m| m.serial == serial)
    }

    /// Notes a stream of a call.
    pub fn own(&mut self, serial: Serial, stream: u32) {
        if let Some(call) = self.calls.get_mut(&serial).filter(|c| c.streams.len() < STREAMS_PER_CALL_MAX) {
            call.streams.push(stream);
        }
    }

    /// Forgets a stream of a call.
    pub fn disown(&mut self, serial: Serial, stream: u32) {
        if let Some(call) = self.calls.get_mut(&serial) {
            call.streams.retain(|s| *s != stream);
        }
    }

    /// Learns until when packets belong to a call; gives its streams. Of one that nobody took no stream begins after
    /// its end, which is the first that is told.
    pub fn until(&mut self, serial: Serial, at_ns: i64, is_given_up: bool) -> &[u32] {
        match self.calls.get_mut(&serial) {
            Some(call) => {
                let end_ns = at_ns.saturating_sub(LINGER_NS).saturating_add(BEGINS_LATE_NS);
                call.begins_until_ns = if is_given_up { call.begins_until_ns.min(end_ns) } else { at_ns };
                call.until_ns = at_ns;
                &call.streams
            }
            None => &[],
        }
    }

    /// Forgets a call and its endpoints.
    pub fn release(&mut self, serial: Serial) {
        let Some(call) = self.calls.remove(&serial) else { return };
        self.unlearn(serial, &call.ice);
        self.forget_controls(serial, &call.controls);
        call.endpoints.iter().for_each(|endpoint| forget(&mut self.by_endpoint, *endpoint, |m| m.serial == serial));
    }
}

/// Takes out of what a map has of a key what is of a call, and the key if that was all.
fn forget<K, A>(map: &mut HashMap<K, SmallVec<A>>, key: K, is_of: impl Fn(&A::Item) -> bool)
where
    K: Eq + Hash,
    A: Array,
{
    if let Entry::Occupied(mut all) = map.entry(key) {
        all.get_mut().retain(|one| !is_of(one));
        if all.get().is_empty() {
            all.remove();
        }
    }
}

/// The one that came last, of those that named it if there are any.
fn youngest<'a>(mappings: impl DoubleEndedIterator<Item = &'a Mapping>) -> Option<&'a Mapping> {
    let mut guessed = None;
    for mapping in mappings.rev() {
        if !mapping.guessed {
            return Some(mapping);
        }
        guessed = guessed.or(Some(mapping));
    }
    guessed
}

/// The other party.
pub fn opposite(party: Direction) -> Direction {
    match party {
        Direction::Caller => Direction::Callee,
        Direction::Callee => Direction::Caller,
        Direction::Unknown => Direction::Unknown,
    }
}

#[cfg(test)]
mod tests;
