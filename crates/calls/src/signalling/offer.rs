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
    hasher: DefaultHashBuilder,
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
        }
        let map = Arc::new(payload_map(media));
        self.maps.insert(hash, map.clone());
        map
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
        let session = sdp::parse(self.body);
        remark.push_str(REMARK_SEPARATOR);
        remark.push_str(&session.brief());
        for oddity in session.oddities.iter() {
            remark.push_str(REMARK_SEPARATOR);
            remark.push_str(oddity.name());
        }
        let party = usize::from(self.sender == Direction::Callee);
        note_party(&mut call.media[party], &session, self.from);
        for media in &session.media {
            if !matches!(media.proto, sdp::Proto::Rtp | sdp::Proto::Srtp | sdp::Proto::DtlsSrtp) {
                continue;
            }
            let payloads = maps.of(media);
            for endpoint in endpoints(media, self.from) {
                self.tell(call, endpoint, media, &payloads, notices);
            }
        }
        // The same endpoint named twice is one announcement; too many are counted.
        self.counters.endpoints_overflow += u64::from(call.announced.len() >= ENDPOINTS_PER_CALL_MAX);
    }

    fn tell(
        &self,
        call: &mut Call,
        endpoint: Endpoint,
        media: &sdp::Media<'_>,
        payloads: &Arc<PayloadMap>,
        notices: &mut Vec<Numbered>,
    ) {
        let key = (endpoint, self.sender, Arc::as_ptr(payloads) as usize);
        if call.announced.contains(&key) || call.announced.len() >= ENDPOINTS_PER_CALL_MAX {
            return;
        }
        call.announced.push(key);
        let announcement = Announcement {
            serial: call.serial,
            id: call.id,
            party: self.sender,
            endpoint,
            kind: media.kind,
            payloads: payloads.clone(),
            at_ns: self.from.at_ns,
            encrypted: media.is_encrypted(),
        };
        notices.push(Numbered {
            number: self.from.number,
            at_ns: self.from.at_ns,
            notice: Notice::Announce(announcement),
        });
    }
}

/// Where RTP of a media description may come to: its own address and port, what network address translation may have
/// made of it, and its ICE candidates for RTP (component 1, RFC 8839 section 5.1).
fn endpoints(media: &sdp::Media<'_>, from: &Incoming<'_>) -> impl Iterator<Item = Endpoint> {
    let own = media.rtp().filter(|e| !e.address.is_unspecified());
    let translated = own
        .filter(|e| e.address.is_private() && !from.src.address.is_private())
        .map(|e| Endpoint::new(from.src.address, e.port));
    let candidates: Vec<Endpoint> =
        media.candidates.iter().filter(|c| c.component == 1 && c.udp).filter_map(|c| c.endpoint()).collect();
    own.into_iter().chain(translated).chain(candidates)
}

fn note_party(party: &mut PartyMedia, session: &sdp::Session<'_>, from: &Incoming<'_>) {
    party.fax |= session.media.iter().any(|m| m.kind == sdp::Kind::Image && m.port != 0);
    let Some(audio) = session.media.iter().find(|m| m.kind == sdp::Kind::Audio) else { return };
    for format in &audio.formats {
        if let Some(payload_type) = format.payload_type.filter(|t| *t < 128) {
            party.payload_types |= 1 << payload_type;
        }
    }
    let Some(endpoint) = audio.rtp() else { return };
    party.endpoint = Some(endpoint);
    party.signalled_from = from.src.address;
    let unspecified = endpoint.address.is_unspecified();
    party.sends |= audio.direction.sends() && !unspecified;
    party.receives |= audio.direction.receives() && !unspecified;
    party.held |= audio.direction != sdp::Direction::SendRecv || unspecified;
}
