//! What a lane sees beside plain RTP that is or tells of media: TURN, DTLS, fax, ICMP. Most captures have nothing of
//! it, so it is kept apart, and plain RTP asks for it only where a stream begins or ends.

use super::checks::{Check, Checks};
use super::fax::Fax;
use super::handshakes::{self, Handshake, Handshakes, Pair};
use super::over_tcp;
use super::strays::{Stray, Strays};
use super::turn::{self, Inside, TURN_FLOWS_MAX, Turn};
use super::{Begun, Carried, Carrier, Finished, Key, Lane, MediaPacket, Shared, Tracked, reports, stream_id};
use crate::ledger::InTurn;
use crate::limits::PAUSE_NS;
use crate::media::{self, Notice, Serial, ice_name};
use crate::signalling::Unreached;
use crate::unread::fax::Udptl;
use crate::unread::stun;
use hashbrown::HashMap;
use smallvec::SmallVec;
use trunkline_kit::Id;
use trunkline_kit::hash::{fnv1a, fnv1a_on};
use trunkline_lane::class::flow_slot;
use trunkline_store::row::Direction;
use trunkline_wire::{Datagram, Endpoint, rtcp, rtp};

/// Flows of one call whose packets do not arrive that are kept; further ones say nothing about it.
const UNREACHED_PER_CALL_MAX: usize = 8;
/// Fax flows of one call that are followed; further ones are not.
// Limit: fax flows of one call
// Beyond: further ones are not followed
// Seen in: not counted
const FAXES_PER_CALL_MAX: usize = 16;
/// Handshakes that are kept with one call; further ones say nothing about it.
// Limit: DTLS handshakes of one call
// Beyond: further ones are not used for the verdict
// Seen in: not counted
const HANDSHAKES_PER_CALL_MAX: usize = 16;

/// From where to where, and the number of the flow of TURN.
type Turned = (Endpoint, Endpoint, u32);

/// What is kept of it.
#[derive(Debug, Default)]
pub struct Aside {
    turn: Turn,
    handshakes: Handshakes,
    pub(super) over_tcp: over_tcp::Streams,
    /// From where to where something goes inside a flow of TURN, and whether its client sends it.
    turned: HashMap<Turned, bool>,
    pub(super) strays: Strays,
    faxes: HashMap<[Endpoint; 2], Faxing>,
    calls: HashMap<Serial, OfCall>,
}

/// A fax of a call.
#[derive(Clone, Debug)]
struct Faxing {
    serial: Serial,
    id: Id,
    fax: Fax,
}

impl Faxing {
    fn finished(self, key: &[Endpoint; 2]) -> Finished {
        let (mut stream, file, evidence) = self.fax.finished();
        (stream.id, stream.call) = (stream_id(&key_of_fax(key), stream.first_ns), Some(self.id));
        Finished { serial: Some(self.serial), file, stream, evidence }
    }
}

/// What one call has of it.
#[derive(Debug, Default)]
struct OfCall {
    handshakes: SmallVec<[Pair; 1]>,
    checks: Checks,
    vain: Option<Vain>,
    unreached: SmallVec<[(Direction, Unreached); 1]>,
    /// From where to where fax goes.
    faxes: SmallVec<[[Endpoint; 2]; 2]>,
}

/// Connections for media that were asked for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vain {
    /// The number of the packet that told of the first one.
    pub packet: u64,
    /// Who asked.
    pub from: Endpoint,
    /// Whom.
    pub to: Endpoint,
    /// Times that it was asked once more, and that it was refused.
    pub times: [u32; 2],
}

impl Vain {
    fn add(&mut self, other: Vain) {
        let times = [0, 1].map(|at| self.times[at].saturating_add(other.times[at]));
        *self = Vain { times, ..if other.packet < self.packet { other } else { *self } };
    }
}

/// What is told of a call beside its streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// A handshake failed, and no other one of the call came to its end.
    pub handshake: Option<Handshake>,
    /// Whether any handshake of the call was seen.
    pub shook: bool,
    /// Media that does not arrive, as ICMP says, and who sends it.
    pub unreached: SmallVec<[(Direction, Unreached); 1]>,
    /// Checks of ICE between its ends.
    pub checks: Checks,
    /// Connections for its media that came to nothing.
    pub vain: Option<Vain>,
    /// Streams of no call that began while it was up: from a host of the caller to one of the callee, and back.
    pub strays: [Option<Stray>; 2],
}

impl Beside {
    /// Adds what another lane saw of the call: the first one counts.
    pub fn add(&mut self, other: Beside) {
        self.handshake = [self.handshake, other.handshake].into_iter().flatten().min_by_key(|h| h.packet);
        self.shook |= other.shook;
        match (&mut self.vain, other.vain) {
            (Some(vain), Some(other)) => vain.add(other),
            (vain, other) => *vain = vain.or(other),
        }
        self.checks.add(other.checks);
        let first = |all: [Option<Stray>; 2]| all.into_iter().flatten().min_by_key(|stray| stray.packet);
        self.strays = [0, 1].map(|sender| first([self.strays[sender], other.strays[sender]]));
        self.unreached.extend(other.unreached);
        self.unreached.sort_by_key(|(_, unreached)| unreached.packet);
    }
}

impl Aside {
    /// Whether a stream has its keys of a handshake on its flow.
    pub(super) fn secures(&self, tracked: &Tracked) -> bool {
        self.handshakes.secure(&pair(&tracked.key), tracked.first_ns, tracked.last_ns)
    }

    /// Where of TURN a stream was seen.
    pub(super) fn in_turn(&self, key: &Key) -> InTurn {
        match self.turned.get(&(key.from, key.to, key.outer)) {
            None => InTurn::No,
            Some(true) => InTurn::Up,
            Some(false) => InTurn::Down,
        }
    }

    /// Whether any fax is followed.
    pub(super) fn has_faxes(&self) -> bool {
        !self.faxes.is_empty()
    }

    /// From where to where faxes of a call go.
    pub(super) fn faxes_of(&self, serial: Serial) -> &[[Endpoint; 2]] {
        self.calls.get(&serial).map_or(&[], |of_call| &of_call.faxes)
    }

    /// A fax as it is so far, and the call that has it.
    pub(super) fn fax(&self, key: &[Endpoint; 2]) -> Option<(Serial, Finished)> {
        self.faxes.get(key).map(|faxing| (faxing.serial, faxing.clone().finished(key)))
    }

    /// Times that flows were forgotten because there were too many.
    pub(super) fn overflow(&self) -> u64 {
        self.turn.overflow + self.handshakes.overflow + self.over_tcp.overflow + self.strays.overflow
    }
}

/// Fax has no SSRC.
fn key_of_fax([from, to]: &[Endpoint; 2]) -> Key {
    Key { from: *from, to: *to, ssrc: 0, outer: 0 }
}

fn pair(key: &Key) -> Pair {
    (if key.from <= key.to { [key.from, key.to] } else { [key.to, key.from] }, key.outer)
}

/// A number that tells what is inside this flow from the same outside of it and inside of others; never 0.
fn number_of(flow: &Datagram) -> u32 {
    let mix = |sum, end: &Endpoint| fnv1a_on(fnv1a_on(sum, end.address.octets()), &end.port.to_be_bytes());
    let sum = turn::ends(flow).iter().fold(fnv1a(&[]), mix);
    (sum ^ sum >> 32) as u32 | 1
}

impl Lane {
    /// Takes a datagram of this lane that is no RTP.
    #[cold]
    pub(super) fn aside(&mut self, packet: &MediaPacket<'_>) {
        let aside = self.aside.get_or_insert_default();
        match packet.payload.first() {
            _ if handshakes::begins(packet.payload) => self.handshake(packet, 0),
            Some(0..=3 | 0x40..=0x7f) => {
                if let Some(inside) = aside.turn.take(packet.datagram, packet.payload) {
                    self.inside(packet, &inside);
                } else {
                    self.check(packet, 0);
                }
            }
            _ => {}
        }
        if let Some(udptl) = Udptl::new(packet.payload) {
            self.fax(packet, &udptl);
        }
        self.counters.aside_overflow = self.aside.as_deref().map_or(0, Aside::overflow);
    }

    /// Takes what is inside a datagram of TURN.
    fn inside(&mut self, around: &MediaPacket<'_>, inside: &Inside<'_>) {
        let datagram = Datagram {
            src: inside.from.address,
            dst: inside.to.address,
            src_port: inside.from.port,
            dst_port: inside.to.port,
            payload_captured: inside.octets.len() as u32,
            payload_wire: inside.wire as u32,
            ..*around.datagram
        };
        let packet = MediaPacket { datagram: &datagram, payload: inside.octets, ..*around };
        let outer = number_of(around.datagram);
        match inside.octets {
            octets if handshakes::begins(octets) => self.handshake(&packet, outer),
            octets if rtcp::looks_like_rtcp(octets) => reports::take(self, &packet, outer),
            octets if rtp::looks_like_rtp(octets) => self.rtp_inside(&packet, around.datagram, (outer, inside.up)),
            [0 | 1, ..] => self.check(&packet, outer),
            _ => {}
        }
    }

    /// Takes a check of ICE, or an answer to one.
    fn check(&mut self, packet: &MediaPacket<'_>, outer: u32) {
        let Some(message) = stun::Message::new(packet.datagram, packet.payload) else { return };
        let names = stun::checks(&message);
        if let Some(names) = names {
            self.learn_ends(packet, names);
        } else if !stun::answers(&message) {
            return;
        }
        let (from, to) = (packet.datagram.from(), packet.datagram.to());
        let Some(owner) = self.directory.owner(from, to, packet.at_ns) else { return };
        let aside = self.aside.get_or_insert_default();
        let pair = pair(&Key { from, to, ssrc: 0, outer });
        let party = match owner.sender {
            Direction::Caller => 0,
            Direction::Callee => 1,
            Direction::Unknown => return,
        };
        if names.is_some() {
            let check = Check { at_ns: packet.at_ns, packet: packet.number, from, to };
            aside.calls.entry(owner.serial).or_default().checks.ask(pair, check, party);
        } else if let Some(of_call) = aside.calls.get_mut(&owner.serial) {
            of_call.checks.answer(&pair, packet.at_ns);
        }
    }

    /// A check of ICE tells whose the two ends of its flow are, where no description names them: by the names of who is
    /// asked and of who asks.
    fn learn_ends(&mut self, packet: &MediaPacket<'_>, [asked, asking]: [&[u8]; 2]) {
        let [from, to] = [(asking, packet.datagram.from()), (asked, packet.datagram.to())];
        let learnt = self.directory.checked(packet.at_ns, (ice_name(from.0), from.1), (ice_name(to.0), to.1));
        for announcement in learnt {
            self.notice(packet.number, &Notice::Announce(Box::new(announcement)));
        }
    }

    fn rtp_inside(&mut self, packet: &MediaPacket<'_>, around: &Datagram, (outer, up): (u32, bool)) {
        let Ok(media) = rtp::Packet::new(packet.payload, packet.datagram.payload_wire) else { return };
        let (from, to) = (packet.datagram.from(), packet.datagram.to());
        let key = Key { from, to, ssrc: media.header.ssrc, outer };
        let hash = self.hash(&key) ^ u64::from(outer).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let begun = self.begun;
        match self.find(&key, hash, packet.at_ns) {
            Some(at) => self.follow(at, packet, &media),
            None => self.unknown(packet, &media, &key, hash, flow_slot(around)),
        }
        if let Some(aside) = self.aside.as_deref_mut() {
            aside.over_tcp.take(&key, media.header.sequence);
        }
        if self.begun == begun {
            return;
        }
        let turned = &mut self.aside.get_or_insert_default().turned;
        if turned.len() >= TURN_FLOWS_MAX {
            turned.clear();
        }
        turned.insert((from, to, outer), up);
        if self.directory.owner(from, to, packet.at_ns).is_none() {
            // It is some call's, and nothing says whose.
            let (from, to) = (around.from(), around.to());
            let begun = Begun { first_ns: packet.at_ns, from, to };
            self.output.carried.push(Carried { carrier: Carrier::Turn, begun });
        }
    }

    /// Takes what is fax if a call agreed on it.
    fn fax(&mut self, packet: &MediaPacket<'_>, udptl: &Udptl) {
        let key = [packet.datagram.from(), packet.datagram.to()];
        self.end_fax(&key, packet.at_ns);
        let owner = || self.directory.owner(key[0], key[1], packet.at_ns).filter(|owner| owner.fax);
        let aside = self.aside.get_or_insert_default();
        if let Some(faxing) = aside.faxes.get_mut(&key) {
            return faxing.fax.take(packet, udptl);
        }
        let Some(owner) = owner() else { return };
        let known = &mut aside.calls.entry(owner.serial).or_default().faxes;
        if known.len() >= FAXES_PER_CALL_MAX {
            return;
        }
        known.push(key);
        let mut fax = Fax::new(owner.sender, packet, udptl);
        fax.take(packet, udptl);
        aside.faxes.insert(key, Faxing { serial: owner.serial, id: owner.id, fax });
    }

    /// Ends a fax of a call whose ports another call has since it paused.
    fn end_fax(&mut self, key: &[Endpoint; 2], at_ns: i64) {
        let Some(aside) = self.aside.as_deref_mut() else { return };
        let Some(faxing) = aside.faxes.get(key) else { return };
        let (serial, last_ns) = (faxing.serial, faxing.fax.last_ns());
        let ends = [&key[0], &key[1]];
        let is_over = at_ns.saturating_sub(last_ns) > PAUSE_NS
            && self.directory.successor(serial, ends, last_ns, at_ns).is_some();
        if !is_over {
            return;
        }
        if let Some(of_call) = aside.calls.get_mut(&serial) {
            of_call.faxes.retain(|known| known != key);
        }
        let Some(faxing) = aside.faxes.remove(key) else { return };
        let finished = faxing.finished(key);
        let others = self.directory.others(serial, &key[0], &key[1]);
        self.output.shared.extend(others.into_iter().filter_map(|other| Shared::new(other, &finished)));
        self.output.streams.push(finished);
    }

    /// Takes a message of a handshake.
    fn handshake(&mut self, packet: &MediaPacket<'_>, outer: u32) {
        let (from, to) = (packet.datagram.from(), packet.datagram.to());
        let pair = pair(&Key { from, to, ssrc: 0, outer });
        let aside = self.aside.get_or_insert_default();
        aside.handshakes.take(pair, packet.at_ns, packet.number, (from, to), packet.payload);
        let Some(owner) = self.directory.owner(from, to, packet.at_ns) else { return };
        let known = &mut aside.calls.entry(owner.serial).or_default().handshakes;
        if !known.contains(&pair) && known.len() < HANDSHAKES_PER_CALL_MAX {
            known.push(pair);
        }
    }

    /// Takes an ICMP message: it may be about media of a call.
    #[cold]
    pub(super) fn unreachable(&mut self, number: u64, message: &media::Unreached) {
        let (what, at_ns) = (&message.what, message.at_ns);
        let Some(owner) = self.directory.owner(what.from, what.to, at_ns) else { return };
        let all = &mut self.aside.get_or_insert_default().calls.entry(owner.serial).or_default().unreached;
        if !all.iter_mut().any(|(_, known)| known.takes(what, at_ns)) && all.len() < UNREACHED_PER_CALL_MAX {
            all.push((owner.sender, Unreached::new(what, at_ns, number)));
        }
    }

    /// Takes word of a connection that came to nothing: it may have been for media of a call.
    #[cold]
    pub(super) fn in_vain(&mut self, packet: &MediaPacket<'_>, refused: bool) {
        let (from, to) = (packet.datagram.from(), packet.datagram.to());
        let Some(owner) = self.directory.owner(from, to, packet.at_ns) else { return };
        let vain = Vain { packet: packet.number, from, to, times: [u32::from(!refused), u32::from(refused)] };
        let known = &mut self.aside.get_or_insert_default().calls.entry(owner.serial).or_default().vain;
        match known {
            Some(known) => known.add(vain),
            None => *known = Some(vain),
        }
    }

    /// Tells what is known of a call that is closed.
    pub(super) fn release_aside(&mut self, serial: Serial, strays: [Option<Stray>; 2]) {
        let Some(aside) = self.aside.as_deref_mut() else { return };
        let of_call = aside.calls.remove(&serial).unwrap_or_default();
        for key in &of_call.faxes {
            self.output.streams.extend(aside.faxes.remove(key).map(|faxing| faxing.finished(key)));
        }
        let shook = !of_call.handshakes.is_empty();
        let handshake = aside.handshakes.release(&of_call.handshakes);
        let beside = Beside {
            handshake,
            shook,
            unreached: of_call.unreached,
            checks: of_call.checks,
            vain: of_call.vain,
            strays,
        };
        if beside != Beside::default() {
            self.output.beside.push((serial, beside));
        }
    }
}
