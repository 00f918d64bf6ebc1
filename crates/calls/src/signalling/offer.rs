//! What SDP says about media, told to the lanes: offers and answers alike (RFC 3264).

use super::facts::PartyMedia;
use super::{Incoming, REMARK_SEPARATOR, SignallingCounters, call::Call};
use crate::limits::ENDPOINTS_PER_CALL_MAX;
use crate::media::{Announcement, Notice, Numbered};
use crate::payload::PayloadMap;
use core::hash::{BuildHasher, Hasher};
use hashbrown::{DefaultHashBuilder, HashMap};
use std::sync::Arc;
use trunkline_audio::codec;
use trunkline_store::row::Direction;
use trunkline_wire::{Endpoint, sdp};

/// Payload maps kept to be shared between calls; beyond it the table is emptied, maps in use stay with their streams.
const PAYLOAD_MAPS_MAX: usize = 4096;

/// Payload maps by what they were made of: most calls of a network say the same.
#[derive(Debug, Default)]
pub struct PayloadMaps {
    maps: HashMap<u64, Arc<PayloadMap>>,
    /// By the hash of their text; each has a map that is in `maps`.
    sections: HashMap<u64, Section>,
    hasher: DefaultHashBuilder,
}

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

    fn section(&self, text: &[u8]) -> Option<&Section> {
        self.sections.get(&self.hash(text)).filter(|s| *s.text == *text)
    }

    fn keep(&mut self, session: &sdp::Session<'_>, outline: sdp::Outline<'_>) {
        let fits = outline.section.len() <= SECTION_OCTETS_MAX && outline.says_all(session);
        let Some(media) = session.media.first().filter(|m| fits && m.candidates.is_empty()) else { return };
        let mut remark = String::new();
        media.push_brief_tail(&mut remark);
        push_oddities(&mut remark, session);
        let rtp = self.rtp(media);
        if self.sections.len() >= SECTIONS_MAX {
            self.sections.clear();
        }
        let (payload_types, direction) = (payload_types(media), media.direction);
        let section = Section { text: outline.section.into(), remark: remark.into(), payload_types, direction, rtp };
        self.sections.insert(self.hash(outline.section), section);
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

/// An SDP body on its way to the lanes.
pub struct Offer<'a> {
    /// The message that carries it.
    pub from: &'a Incoming<'a>,
    /// The body.
    pub body: &'a [u8],
    /// Which party sent it.
    pub sender: Direction,
    /// Where to count.
    pub counters: &'a mut SignallingCounters,
}

impl Offer<'_> {
    /// Reads the body, announces what is new, and writes it in brief into the ladder's remark.
    pub fn announce(self, call: &mut Call, maps: &mut PayloadMaps, remark: &mut String, notices: &mut Vec<Numbered>) {
        remark.push_str(REMARK_SEPARATOR);
        let outline = sdp::Outline::of(self.body);
        match outline.and_then(|o| Some((maps.section(o.section)?, o.endpoint))) {
            Some((section, endpoint)) => self.announce_known(section, endpoint, call, remark, notices),
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
        remark: &mut String,
        notices: &mut Vec<Numbered>,
    ) {
        endpoint.push_to(remark);
        remark.push_str(&section.remark);
        let party = &mut call.facts.parties[usize::from(self.sender == Direction::Callee)];
        note_audio(party, section.payload_types, section.direction, Some(endpoint), self.from);
        let Some(rtp) = &section.rtp else { return };
        for endpoint in own_endpoints(Some(endpoint), self.from) {
            self.tell(call, endpoint, rtp, notices);
        }
    }

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
        note_party(&mut call.facts.parties[usize::from(self.sender == Direction::Callee)], session, self.from);
        for media in &session.media {
            let Some(rtp) = maps.rtp(media) else { continue };
            for endpoint in endpoints(media, self.from) {
                self.tell(call, endpoint, &rtp, notices);
            }
        }
    }

    fn tell(&self, call: &mut Call, endpoint: Endpoint, rtp: &Rtp, notices: &mut Vec<Numbered>) {
        let key = (endpoint, self.sender, Arc::as_ptr(&rtp.payloads) as usize);
        if call.announced.contains(&key) || call.announced.len() >= ENDPOINTS_PER_CALL_MAX {
            return;
        }
        call.announced.push(key);
        let announcement = Announcement {
            serial: call.serial,
            id: call.id,
            party: self.sender,
            endpoint,
            kind: rtp.kind,
            payloads: rtp.payloads.clone(),
            at_ns: self.from.at_ns,
            encrypted: rtp.encrypted,
        };
        notices.push(Numbered {
            number: self.from.number,
            at_ns: self.from.at_ns,
            notice: Notice::Announce(Box::new(announcement)),
        });
    }
}

fn push_oddities(remark: &mut String, session: &sdp::Session<'_>) {
    for oddity in session.oddities.iter() {
        remark.push_str(REMARK_SEPARATOR);
        remark.push_str(oddity.name());
    }
}

/// Where RTP of a media description may come to: its own address and port, what network address translation may have
/// made of it, and its ICE candidates for RTP (component 1, RFC 8839 section 5.1).
fn endpoints(media: &sdp::Media<'_>, from: &Incoming<'_>) -> impl Iterator<Item = Endpoint> {
    let candidates: Vec<Endpoint> =
        media.candidates.iter().filter(|c| c.component == 1 && c.udp).filter_map(|c| c.endpoint()).collect();
    own_endpoints(media.rtp(), from).chain(candidates)
}

fn own_endpoints(rtp: Option<Endpoint>, from: &Incoming<'_>) -> impl Iterator<Item = Endpoint> + use<> {
    let own = rtp.filter(|e| !e.address.is_unspecified());
    let translated = own
        .filter(|e| e.address.is_private() && !from.src.address.is_private())
        .map(|e| Endpoint::new(from.src.address, e.port));
    own.into_iter().chain(translated)
}

fn note_party(party: &mut PartyMedia, session: &sdp::Session<'_>, from: &Incoming<'_>) {
    party.fax |= session.media.iter().any(|m| m.kind == sdp::Kind::Image && m.port != 0);
    let Some(audio) = session.media.iter().find(|m| m.kind == sdp::Kind::Audio) else { return };
    note_audio(party, payload_types(audio), audio.direction, audio.rtp(), from);
}

/// The payload types of a media description, a bit each.
fn payload_types(media: &sdp::Media<'_>) -> u128 {
    let types = media.formats.iter().filter_map(|f| f.payload_type).filter(|t| *t < 128);
    types.fold(0, |all, t| all | 1 << t)
}

fn note_audio(
    party: &mut PartyMedia,
    payload_types: u128,
    direction: sdp::Direction,
    rtp: Option<Endpoint>,
    from: &Incoming<'_>,
) {
    party.payload_types |= payload_types;
    let Some(endpoint) = rtp else { return };
    party.endpoint = Some(endpoint);
    party.signalled_from = from.src.address;
    let unspecified = endpoint.address.is_unspecified();
    party.sends |= direction.sends() && !unspecified;
    party.receives |= direction.receives() && !unspecified;
    party.held |= direction != sdp::Direction::SendRecv || unspecified;
}
