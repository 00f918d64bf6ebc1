//! What SDP says about media, told to the lanes: offers and answers alike (RFC 3264).

mod ends;

use super::beside::Aside;
use super::facts::{PartyMedia, Said};
use super::negotiation::Read;
use super::troubles::{Narrowed, NoAnswer};
use super::{Incoming, REMARK_SEPARATOR, SignallingCounters, call::Call};
use crate::limits::ENDPOINTS_PER_CALL_MAX;
use crate::media::{Announcement, Control, IceName, Notice, Numbered, ice_name};
use crate::payload::PayloadMap;
use core::hash::{BuildHasher, Hasher};
use ends::{ControlPair, MediaEnd, TRICKLES, by_name, control_of, controls, controls_of_ice, endpoints, own_endpoints};
use hashbrown::{DefaultHashBuilder, HashMap};
use smallvec::SmallVec;
use std::sync::Arc;
use trunkline_audio::codec;
use trunkline_store::row::Direction;
use trunkline_wire::{Address, Endpoint, sdp};

/// Payload maps kept to be shared between calls; beyond it the table is emptied, maps in use stay with their streams.
const PAYLOAD_MAPS_MAX: usize = 4096;

/// Where a map lies in memory, while it is kept.
type Place = usize;
/// Two maps that something was made of.
type Pair = [Arc<PayloadMap>; 2];

/// Payload maps by what they were made of: most calls of a network say the same.
#[derive(Debug, Default)]
pub struct PayloadMaps {
    maps: HashMap<u64, Arc<PayloadMap>>,
    /// By the hash of their text; each has a map that is in `maps`.
    sections: HashMap<u64, Arc<Section>>,
    /// What two of them have in common, by their places in memory and the payload types; they are kept with it, so that
    /// no other map takes their places.
    common: HashMap<(Place, u128, Place, u128), (u128, Pair)>,
    /// Maps of several media at one endpoint, by the places of these.
    merged: HashMap<(Place, Place), (Arc<PayloadMap>, Pair)>,
    hasher: DefaultHashBuilder,
}

/// Names for the checks of ICE that are told of one description; sections of a bundle share one.
const ICE_NAMES_MAX: usize = 8;
/// Sections kept; beyond it the table is emptied.
const SECTIONS_MAX: usize = 1024;
/// Octets of a section that is kept; a longer one is read each time.
const SECTION_OCTETS_MAX: usize = 1024;

/// What a media section says at whatever endpoint: most calls of a network send the same one, so that it is read once.
#[derive(Debug)]
struct Section {
    text: Box<[u8]>,
    /// What follows the endpoint in the ladder's remark.
    remark: Box<str>,
    payload_types: u128,
    direction: sdp::Direction,
    /// It has a part in ICE.
    ice: bool,
    setup: Option<sdp::Setup>,
    /// Where it wants RTCP, if it says so.
    control: Option<ends::Control>,
    /// Its name for the checks of ICE, see [`ice_name`].
    ice_name: Option<u64>,
    /// None if it is not RTP.
    rtp: Option<Rtp>,
}

/// What a media description says about its RTP.
#[derive(Clone, Debug)]
struct Rtp {
    kind: sdp::Kind,
    encrypted: bool,
    payloads: Arc<PayloadMap>,
}

impl PayloadMaps {
    fn of(&mut self, media: &sdp::Media<'_>) -> Arc<PayloadMap> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u8(media.kind as u8);
        hasher.write_u16(media.ptime_ms.unwrap_or(0));
        for format in &media.formats {
            hasher.write(format.text);
            hasher.write(format.name);
            hasher.write_u32(format.rate);
        }
        let hash = hasher.finish();
        if let Some(map) = self.maps.get(&hash) {
            return map.clone();
        }
        if self.maps.len() >= PAYLOAD_MAPS_MAX {
            self.maps.clear();
            self.sections.clear();
        }
        let map = Arc::new(payload_map(media));
        self.maps.insert(hash, map.clone());
        map
    }

    fn rtp(&mut self, media: &sdp::Media<'_>) -> Option<Rtp> {
        let rtp = matches!(media.proto, sdp::Proto::Rtp | sdp::Proto::Srtp | sdp::Proto::DtlsSrtp);
        rtp.then(|| Rtp { kind: media.kind, encrypted: media.is_encrypted(), payloads: self.of(media) })
    }

    /// Types of the first that the second accepts, see [`PayloadMap::in_common`].
    pub fn in_common(&mut self, ours: (&Arc<PayloadMap>, u128), theirs: (&Arc<PayloadMap>, u128)) -> u128 {
        if Arc::ptr_eq(ours.0, theirs.0) && ours.1 == theirs.1 {
            return ours.1;
        }
        let key = (Arc::as_ptr(ours.0) as usize, ours.1, Arc::as_ptr(theirs.0) as usize, theirs.1);
        if let Some((types, _)) = self.common.get(&key) {
            return *types;
        }
        if self.common.len() >= PAYLOAD_MAPS_MAX {
            self.common.clear();
        }
        let types = ours.0.in_common(ours.1, theirs.0, theirs.1);
        self.common.insert(key, (types, [ours.0.clone(), theirs.0.clone()]));
        types
    }

    /// One map for two media at the same endpoint.
    fn merge(&mut self, first: &Arc<PayloadMap>, second: &Arc<PayloadMap>) -> Arc<PayloadMap> {
        if Arc::ptr_eq(first, second) {
            return first.clone();
        }
        let key = (Arc::as_ptr(first) as usize, Arc::as_ptr(second) as usize);
        if let Some((merged, _)) = self.merged.get(&key) {
            return merged.clone();
        }
        if self.merged.len() >= PAYLOAD_MAPS_MAX {
            self.merged.clear();
        }
        let mut map = PayloadMap::clone(first);
        map.add(second);
        let merged = Arc::new(map);
        self.merged.insert(key, (merged.clone(), [first.clone(), second.clone()]));
        merged
    }

    fn section(&self, text: &[u8]) -> Option<&Arc<Section>> {
        self.sections.get(&self.hash(text)).filter(|s| *s.text == *text)
    }

    fn keep(&mut self, session: &sdp::Session<'_>, outline: sdp::Outline<'_>) {
        let fits = outline.section.len() <= SECTION_OCTETS_MAX && outline.says_all(session);
        let Some(media) = session.media.first().filter(|m| fits && m.candidates.is_empty() && !m.is_over_tcp()) else {
            return;
        };
        let mut remark = String::new();
        media.push_brief_tail(&mut remark);
        push_oddities(&mut remark, session);
        let rtp = self.rtp(media);
        if self.sections.len() >= SECTIONS_MAX {
            self.sections.clear();
        }
        let (payload_types, direction) = (payload_types(media), media.direction);
        let (text, remark) = (outline.section.into(), remark.into());
        let (ice, ice_name, setup) = (has_ice(media), name_of(media), setup_of(media));
        let control = control_of(media);
        let section = Section { text, remark, payload_types, direction, ice, setup, control, ice_name, rtp };
        self.sections.insert(self.hash(outline.section), Arc::new(section));
    }

    fn hash(&self, text: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(text);
        hasher.finish()
    }
}

fn payload_map(media: &sdp::Media<'_>) -> PayloadMap {
    let mut map = PayloadMap::new(match media.kind {
        sdp::Kind::Audio => codec::Media::Audio,
        sdp::Kind::Video => codec::Media::Video,
        _ => codec::Media::Other,
    });
    for format in &media.formats {
        if let Some(payload_type) = format.payload_type.filter(|_| format.mapped) {
            map.map(payload_type, &String::from_utf8_lossy(format.name), format.rate);
        }
    }
    map.set_packet_ms(media.ptime_ms.unwrap_or(0));
    map
}

/// What an SDP body is in the exchange of offer and answer (RFC 3264, RFC 6337 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It says what its sender can.
    Offer,
    /// It chooses from what the other side offered.
    Answer,
    /// Nobody asked for it.
    Neither,
}

/// An SDP body on its way to the lanes.
pub struct Offer<'a> {
    /// The message that carries it.
    pub from: &'a Incoming<'a>,
    /// The body.
    pub body: &'a [u8],
    /// Its parts, if it is a usual one.
    pub outline: Option<sdp::Outline<'a>>,
    /// Which party sent it.
    pub sender: Direction,
    /// Whether it offers or answers (RFC 3264).
    pub role: Role,
    /// The tag of the early dialog that a response to INVITE is of; else 0.
    pub tag: u64,
    /// It is of the dialog with another target than the one who takes the call.
    pub beside: bool,
    /// Where to count.
    pub counters: &'a mut SignallingCounters,
}

impl Offer<'_> {
    /// Reads the body, announces what is new, and writes it in brief into the ladder's remark.
    pub fn announce(self, call: &mut Call, maps: &mut PayloadMaps, remark: &mut String, notices: &mut Vec<Numbered>) {
        remark.push_str(REMARK_SEPARATOR);
        let outline = self.outline;
        match outline.and_then(|o| Some((maps.section(o.section)?, o.endpoint))) {
            Some((section, endpoint)) => {
                let section = Arc::clone(section);
                self.announce_known(&section, endpoint, call, maps, remark, notices);
            }
            None => {
                let session = sdp::parse(self.body);
                self.announce_session(&session, call, maps, remark, notices);
                if let Some(outline) = outline {
                    maps.keep(&session, outline);
                }
            }
        }
        // The same endpoint named twice is one announcement; too many are counted.
        self.counters.endpoints_overflow += u64::from(call.announced.len() >= ENDPOINTS_PER_CALL_MAX);
    }

    /// What [`Offer::announce_session`] does, for a section that was read before.
    fn announce_known(
        &self,
        section: &Section,
        endpoint: Endpoint,
        call: &mut Call,
        maps: &mut PayloadMaps,
        remark: &mut String,
        notices: &mut Vec<Numbered>,
    ) {
        endpoint.push_to(remark);
        remark.push_str(&section.remark);
        self.note_refusal(call, false);
        let trickles = endpoint.port == TRICKLES && section.ice;
        let Section { direction, ice, setup, control, .. } = *section;
        let endpoint = Some(endpoint);
        let audio = Audio { index: 0, endpoint, by_name: false, direction, trickles, ice, setup };
        let Some(rtp) = &section.rtp else { return self.note_audio(call, &[audio], false) };
        self.negotiate(call, maps, &[Read::new(rtp.kind, section.payload_types, &rtp.payloads)]);
        self.note_audio(call, &[audio], false);
        for end in own_endpoints(endpoint, self.from) {
            self.tell(call, end, rtp, notices);
        }
        self.tell_controls(call, controls(endpoint, control, self.from), notices);
        self.tell_names(call, section.ice_name, notices);
    }

    /// Of a body that is not a usual one, or whose section is read for the first time.
    #[inline(never)]
    fn announce_session(
        &self,
        session: &sdp::Session<'_>,
        call: &mut Call,
        maps: &mut PayloadMaps,
        remark: &mut String,
        notices: &mut Vec<Numbered>,
    ) {
        session.push_brief(remark);
        push_oddities(remark, session);
        let sections: Vec<(&sdp::Media<'_>, Rtp)> =
            session.media.iter().filter_map(|media| Some((media, maps.rtp(media)?))).collect();
        let is_used = |(media, _): &&(&sdp::Media<'_>, Rtp)| !media.is_refused() || is_bundled(session, media);
        let used = sections.iter().filter(is_used);
        let offered: SmallVec<[Read<'_>; 2]> =
            used.map(|(media, rtp)| Read::new(rtp.kind, payload_types(media), &rtp.payloads)).collect();
        self.negotiate(call, maps, &offered);
        self.note_refusal(call, !session.media.is_empty() && session.media.iter().all(|media| media.port == 0));
        let fax = self.note_fax(call, session);
        let own = &mut call.facts.parties[self.side()];
        own.over_tls |= session.media.iter().any(is_over_tls);
        own.at_relay |= session.media.iter().any(is_at_relay);
        let audio = session.media.iter().enumerate().filter(|(_, m)| m.kind == sdp::Kind::Audio);
        let audio: SmallVec<[Audio; 1]> = audio.map(|(index, media)| Audio::of(index, media, self.from)).collect();
        self.note_audio(call, &audio, fax);
        self.announce_sections(session, &sections, call, maps, notices);
    }

    /// Tells of each endpoint once, with all media that may come there: several sections may name the same one, and
    /// those of a bundle share that of its first (RFC 9143 section 7.2).
    fn announce_sections(
        &self,
        session: &sdp::Session<'_>,
        sections: &[(&sdp::Media<'_>, Rtp)],
        call: &mut Call,
        maps: &mut PayloadMaps,
        notices: &mut Vec<Numbered>,
    ) {
        let bundled = sections.iter().find(|(m, _)| is_bundled(session, m) && !m.is_refused()).map(|(m, _)| *m);
        let mut all: SmallVec<[(MediaEnd, Rtp); 4]> = SmallVec::new();
        for (media, rtp) in sections {
            let shared = bundled.filter(|_| is_bundled(session, media));
            for end in endpoints(media, self.from).chain(shared.into_iter().flat_map(|m| endpoints(m, self.from))) {
                match all.iter_mut().find(|(known, _)| known.endpoint == end.endpoint) {
                    Some((known, of)) => {
                        known.guessed &= end.guessed;
                        of.payloads = maps.merge(&of.payloads, &rtp.payloads);
                    }
                    None => all.push((end, rtp.clone())),
                }
            }
        }
        for (end, rtp) in &all {
            self.tell(call, *end, rtp, notices);
        }
        for (media, _) in sections {
            let rtp = media.rtp().or(by_name(media, self.from));
            self.tell_controls(call, controls(rtp, control_of(media), self.from), notices);
            self.tell_controls(call, controls_of_ice(media), notices);
        }
        // Those of a bundle have the same one.
        let mut names: SmallVec<[u64; 2]> = sections.iter().filter_map(|(media, _)| name_of(media)).collect();
        names.dedup();
        self.tell_names(call, names, notices);
        let fax = session.media.iter().filter(|m| m.kind == sdp::Kind::Image && m.proto == sdp::Proto::Udptl);
        for media in fax {
            let rtp = Rtp { kind: media.kind, payloads: maps.of(media), encrypted: false };
            for end in endpoints(media, self.from) {
                self.tell(call, end, &rtp, notices);
            }
        }
    }

    fn side(&self) -> usize {
        usize::from(self.sender == Direction::Callee)
    }

    /// What it says of codecs: offered, or accepted of what the other side offered.
    fn negotiate(&self, call: &mut Call, maps: &mut PayloadMaps, sections: &[Read<'_>]) {
        let types = sections.iter().fold(0, |all, s| all | s.types);
        let (side, Call { facts, negotiation, .. }) = (self.side(), call);
        let own = &mut facts.parties[side];
        own.payload_types |= types;
        match self.role {
            Role::Neither => {}
            Role::Offer => negotiation.offer(self.sender, sections),
            Role::Answer => {
                let accepted = negotiation.accepted(self.sender, sections, maps);
                let mut now = [types, accepted];
                if side == 1 {
                    now.reverse();
                }
                let [caller, callee] = &mut facts.parties;
                let narrows =
                    !self.beside && types != 0 && (caller.accepted & !now[0] != 0 || callee.accepted & !now[1] != 0);
                for (party, types) in [caller, callee].into_iter().zip(now) {
                    (party.accepted, party.agreed) = (party.accepted | types, true);
                }
                if narrows || !self.beside && facts.troubles.is_some() {
                    let narrowed = Narrowed { at_ns: self.from.at_ns, accepted: now };
                    facts.troubles.get_or_insert_default().narrowed = narrows.then_some(narrowed);
                }
            }
        }
    }

    /// An answer of the callee that refuses all media; a later one may take some.
    fn note_refusal(&self, call: &mut Call, refuses: bool) {
        if self.role != Role::Answer || self.sender != Direction::Callee || self.beside {
            return;
        }
        if refuses || call.facts.troubles.is_some() {
            call.troubles().no_answer = refuses.then_some(NoAnswer::Refused);
        }
    }

    /// Fax is agreed when an answer takes it. Whether there is any.
    fn note_fax(&self, call: &mut Call, session: &sdp::Session<'_>) -> bool {
        let fax = session.media.iter().any(|m| m.kind == sdp::Kind::Image && m.port != 0);
        if fax && self.role == Role::Answer && !self.beside {
            call.facts.parties.iter_mut().for_each(|party| party.fax = true);
        }
        fax
    }

    /// What it says of audio; of another target than the one who takes the call it is kept.
    fn note_audio(&self, call: &mut Call, audio: &[Audio], fax: bool) {
        let (hosts, side) = ((self.from.src.address, self.from.dst.address), self.side());
        if self.beside {
            let said = Some((self.role, audio.iter().copied().collect(), fax));
            call.asides.keep(Aside { tag: self.tag, hosts, side, said });
            return;
        }
        note_audio(call, (hosts, side, self.role), audio, fax, (self.from.at_ns, self.tag));
    }

    /// Tells the names that it has for the checks of ICE: media may come from where no description says.
    fn tell_names(&self, call: &mut Call, names: impl IntoIterator<Item = u64>, notices: &mut Vec<Numbered>) {
        let (number, at_ns) = (self.from.number, self.from.at_ns);
        for name in names.into_iter().take(ICE_NAMES_MAX) {
            call.announces = true;
            let named = IceName { serial: call.serial, id: call.id, party: self.sender, at_ns, name };
            let notice = Notice::Named(Box::new(named));
            notices.push(Numbered { number, at_ns, notice });
        }
    }

    /// Tells where RTCP may come to that nobody would look for there.
    fn tell_controls(&self, call: &mut Call, pairs: SmallVec<[ControlPair; 2]>, notices: &mut Vec<Numbered>) {
        for (rtcp, rtp) in pairs {
            let key = (rtcp, self.sender, usize::from(rtp.port), false);
            if call.announced.contains(&key) || call.announced.len() >= ENDPOINTS_PER_CALL_MAX {
                continue;
            }
            call.announced.push(key);
            call.announces = true;
            let control = Control { serial: call.serial, id: call.id, at_ns: self.from.at_ns, rtcp, rtp };
            let notice = Notice::Control(Box::new(control));
            notices.push(Numbered { number: self.from.number, at_ns: self.from.at_ns, notice });
        }
    }

    fn tell(&self, call: &mut Call, end: MediaEnd, rtp: &Rtp, notices: &mut Vec<Numbered>) {
        let MediaEnd { endpoint, guessed } = end;
        let Rtp { kind, payloads, encrypted } = rtp;
        let key = (endpoint, self.sender, Arc::as_ptr(payloads) as usize, *encrypted);
        if call.announced.contains(&key) || call.announced.len() >= ENDPOINTS_PER_CALL_MAX {
            return;
        }
        call.announced.push(key);
        call.announces = true;
        let announcement = Announcement {
            serial: call.serial,
            id: call.id,
            party: self.sender,
            endpoint,
            guessed,
            kind: *kind,
            payloads: payloads.clone(),
            at_ns: self.from.at_ns,
            encrypted: *encrypted,
        };
        notices.push(Numbered {
            number: self.from.number,
            at_ns: self.from.at_ns,
            notice: Notice::Announce(Box::new(announcement)),
        });
    }
}

/// What a description says of its first audio that is not refused, and which audio of the other's offer it takes; by
/// whom it came to whom, which party sent it, what it is in the exchange, and when and in which dialog.
pub fn note_audio(
    call: &mut Call,
    (hosts, side, role): ((Address, Address), usize, Role),
    audio: &[Audio],
    fax: bool,
    answered: (i64, u64),
) {
    let taken = audio.iter().find(|a| a.endpoint.is_some()).or(audio.first());
    if let Some(audio) = taken.filter(|_| role != Role::Neither) {
        audio.note(&mut call.facts.parties[side], hosts.0);
    }
    let sender = if side == 0 { Direction::Caller } else { Direction::Callee };
    let said = Said { fax, ..taken.map(Audio::said).unwrap_or_default() };
    let is_kept = match role {
        Role::Neither => return,
        Role::Offer => {
            call.negotiation.offer_audio(sender, audio);
            call.talk.offer(hosts, side, said)
        }
        Role::Answer => {
            let index = taken.filter(|a| a.endpoint.is_some()).map(|a| a.index);
            let of_other = index.and_then(|index| call.negotiation.audio_of_other(sender, index));
            if of_other.is_some() {
                call.facts.parties[1 - side].endpoint = of_other;
            }
            call.talk.answer(hosts, side, said, of_other, answered, &mut call.facts.changes)
        }
    };
    call.facts.changes_not_kept |= !is_kept;
}

fn push_oddities(remark: &mut String, session: &sdp::Session<'_>) {
    for oddity in session.oddities.iter() {
        remark.push_str(REMARK_SEPARATOR);
        remark.push_str(oddity.name());
    }
}

/// Whether a media description is part of a bundle.
fn is_bundled(session: &sdp::Session<'_>, media: &sdp::Media<'_>) -> bool {
    !media.mid.is_empty() && session.bundle.split(|o| *o == b' ').any(|mid| mid == media.mid)
}

/// The payload types of a media description, a bit each.
fn payload_types(media: &sdp::Media<'_>) -> u128 {
    let types = media.formats.iter().filter_map(|f| f.payload_type).filter(|t| *t < 128);
    types.fold(0, |all, t| all | 1 << t)
}

/// Whether it has a part in ICE. Some name candidates and leave the name of the user out.
fn has_ice(media: &sdp::Media<'_>) -> bool {
    !media.ice_ufrag.is_empty() || !media.candidates.is_empty()
}

/// Its name for the checks of ICE; none if it has none.
fn name_of(media: &sdp::Media<'_>) -> Option<u64> {
    (!media.ice_ufrag.is_empty()).then(|| ice_name(media.ice_ufrag))
}

/// Who is to begin the DTLS handshake about its keys; none where there is to be no such one.
fn setup_of(media: &sdp::Media<'_>) -> Option<sdp::Setup> {
    let by_dtls = media.security.fingerprint || media.proto == sdp::Proto::DtlsSrtp;
    media.security.setup.filter(|_| by_dtls)
}

/// Whether media is asked for inside TLS (RFC 4572), where it cannot be read.
fn is_over_tls(media: &sdp::Media<'_>) -> bool {
    media.port != 0 && media.proto_text.starts_with(b"TCP/TLS/")
}

/// Whether audio is asked for at an address that is one of a relay (RFC 8839 section 4.2.1.2).
fn is_at_relay(media: &sdp::Media<'_>) -> bool {
    let own = media.rtp().filter(|_| media.kind == sdp::Kind::Audio);
    let of_relay = |c: &sdp::Candidate<'_>| c.kind == sdp::CandidateKind::Relay && c.endpoint() == own;
    own.is_some() && media.candidates.iter().any(of_relay)
}

/// What a description says of one audio section.
#[derive(Clone, Copy, Debug)]
pub struct Audio {
    /// Which of the sections it is.
    pub index: usize,
    /// Where its sender wants to receive it; none if it is refused.
    pub endpoint: Option<Endpoint>,
    /// That is a guess: see [`by_name`].
    by_name: bool,
    direction: sdp::Direction,
    /// Its addresses are still to come (RFC 8840 section 4.1.1): `0.0.0.0:9` is no hold.
    trickles: bool,
    /// It has a part in ICE.
    ice: bool,
    setup: Option<sdp::Setup>,
}

impl Audio {
    fn of(index: usize, media: &sdp::Media<'_>, from: &Incoming<'_>) -> Audio {
        let (ice, setup, named) = (has_ice(media), setup_of(media), by_name(media, from));
        let trickles = media.port == TRICKLES && ice;
        let (endpoint, direction) = (media.rtp().or(named), media.direction);
        Audio { index, endpoint, by_name: named.is_some(), direction, trickles, ice, setup }
    }

    /// Nothing is to be sent there: hold as RFC 2543 has it.
    fn is_nowhere(&self) -> bool {
        self.endpoint.is_none_or(|endpoint| endpoint.address.is_unspecified() && !self.trickles)
    }

    fn said(&self) -> Said {
        let (sends, receives) = (self.direction.sends(), self.direction.receives());
        let is_used = !self.is_nowhere();
        Said {
            endpoint: self.endpoint,
            sends: sends && is_used,
            receives: receives && is_used,
            ice: self.ice,
            fax: false,
            setup: self.setup,
        }
    }

    fn note(&self, party: &mut PartyMedia, signalled_from: Address) {
        let Some(endpoint) = self.endpoint else { return };
        party.endpoint = Some(endpoint);
        party.signalled_from = signalled_from;
        party.by_name = self.by_name;
        let nowhere = self.is_nowhere();
        party.sends |= self.direction.sends() && !nowhere;
        party.receives |= self.direction.receives() && !nowhere;
        party.held |= self.direction != sdp::Direction::SendRecv || nowhere;
    }
}
