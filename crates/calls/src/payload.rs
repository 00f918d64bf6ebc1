//! What each payload type of a stream means: RFC 3551's static types, and what SDP says about the dynamic ones.

use std::sync::{Arc, OnceLock};
use trunkline_audio::Codec;
use trunkline_audio::codec::Media;

/// Payload types of one media description that are kept; SDP that lists more has its first ones kept.
// Limit: payload types of one media description
// Beyond: further ones are left out
// Seen in: not counted
pub const PAYLOADS_MAX: usize = 48;

/// What a payload type means.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// Encoding name as it is registered, else as SDP gave it in capitals: names are the same in either case of letters
    /// (RFC 4855 section 3). Empty if nothing is known.
    pub name: Box<str>,
    /// Clock of the timestamps, Hz; 0 if it is not known.
    pub clock_rate: u32,
    /// What it carries.
    pub media: Media,
    /// What is known about the codec.
    pub codec: Option<&'static Codec>,
    /// Whether SDP said so; otherwise it is the static meaning or a convention.
    pub signalled: bool,
}

/// The meaning of all payload types of a stream. Made once for a media description, shared by its streams.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadMap {
    /// Index into `payloads` by payload type; [`UNKNOWN`] where nothing is known.
    index: [u8; 128],
    payloads: Vec<Payload>,
    packet_ms: u16,
    media: Media,
}

const UNKNOWN: u8 = u8::MAX;

impl PayloadMap {
    /// The static payload types alone; `media` is what unknown encoding names are taken for.
    pub fn new(media: Media) -> PayloadMap {
        PayloadMap { index: [UNKNOWN; 128], payloads: Vec::new(), packet_ms: 0, media }
    }

    /// The map for streams without signalling: the static payload types, and 101 for telephone events, which senders
    /// agree on without a standard.
    pub fn standard() -> Arc<PayloadMap> {
        static STANDARD: OnceLock<Arc<PayloadMap>> = OnceLock::new();
        Arc::clone(STANDARD.get_or_init(|| {
            let mut map = PayloadMap::new(Media::Audio);
            map.insert(101, "telephone-event", 8000, false);
            Arc::new(map)
        }))
    }

    /// Takes an `a=rtpmap` line: payload type, encoding name and clock rate. The first line of a type counts; types
    /// above 127 and lines beyond [`PAYLOADS_MAX`] are ignored.
    pub fn map(&mut self, payload_type: u8, name: &str, clock_rate: u32) {
        self.insert(payload_type, name, clock_rate, true);
    }

    /// Takes all that another map says of payload types that this one knows nothing of.
    pub fn add(&mut self, other: &PayloadMap) {
        for payload_type in 0..128u8 {
            let at = other.index[usize::from(payload_type)];
            let Some(payload) = other.payloads.get(usize::from(at)) else { continue };
            let place = &mut self.index[usize::from(payload_type)];
            if *place == UNKNOWN && self.payloads.len() < PAYLOADS_MAX {
                *place = self.payloads.len() as u8;
                self.payloads.push(payload.clone());
            }
        }
    }

    /// This map, with all that an earlier one says if it alone knows one of these types: what came was that.
    pub fn keeping(self: Arc<Self>, earlier: &PayloadMap, came: &[u8]) -> Arc<PayloadMap> {
        let is_lost = |payload_type: &u8| self.get(*payload_type).is_none() && earlier.get(*payload_type).is_some();
        if !came.iter().any(is_lost) {
            return self;
        }
        let mut all = PayloadMap::clone(&self);
        all.add(earlier);
        Arc::new(all)
    }

    /// Those of our `types` (a bit each) that stand for a codec which is among `theirs` by the other map, whatever its
    /// number there (RFC 3264 section 6.1). What no map knows is the same if it has the same number.
    pub fn in_common(&self, types: u128, other: &PayloadMap, theirs: u128) -> u128 {
        let each = |types: u128| (0..128u8).filter(move |t| types & 1 << t != 0);
        let same = |ours: u8, their: u8| match (self.get(ours), other.get(their)) {
            (Some(a), Some(b)) => a.clock_rate == b.clock_rate && a.name.eq_ignore_ascii_case(&b.name),
            (None, None) => ours == their,
            _ => false,
        };
        each(types).filter(|ours| each(theirs).any(|their| same(*ours, their))).fold(0, |all, t| all | 1 << t)
    }

    /// Takes `a=ptime`: milliseconds of a packet, until packets tell.
    pub fn set_packet_ms(&mut self, ms: u16) {
        self.packet_ms = ms;
    }

    /// Milliseconds of a packet as SDP said; 0 if it did not.
    pub fn packet_ms(&self) -> u16 {
        self.packet_ms
    }

    /// What a payload type means: by SDP, else by RFC 3551; none if neither says.
    pub fn get(&self, payload_type: u8) -> Option<&Payload> {
        let at = *self.index.get(usize::from(payload_type))?;
        self.payloads.get(usize::from(at)).or_else(|| static_payload(payload_type))
    }

    /// Encoding name of a payload type, `RTP-96` where none is known.
    pub fn name(&self, payload_type: u8) -> String {
        self.get(payload_type).map_or_else(|| format!("RTP-{payload_type}"), |p| p.name.to_string())
    }

    /// Clock rate of a payload type; 0 where none is known.
    pub fn clock_rate(&self, payload_type: u8) -> u32 {
        self.get(payload_type).map_or(0, |p| p.clock_rate)
    }

    fn insert(&mut self, payload_type: u8, name: &str, clock_rate: u32, signalled: bool) {
        let Some(at) = self.index.get_mut(usize::from(payload_type)) else { return };
        if *at != UNKNOWN || self.payloads.len() >= PAYLOADS_MAX {
            return;
        }
        *at = self.payloads.len() as u8;
        let codec = Codec::by_name(name, Some(clock_rate));
        let media = codec.map_or(self.media, |c| c.media);
        let name = codec.map_or_else(|| name.to_ascii_uppercase().into(), |c| c.name.into());
        self.payloads.push(Payload { name, clock_rate, media, codec, signalled });
    }
}

fn static_payload(payload_type: u8) -> Option<&'static Payload> {
    static STATIC: OnceLock<Vec<Option<Payload>>> = OnceLock::new();
    let payload = |t| {
        let c = Codec::by_static_type(t)?;
        let (name, clock_rate) = (c.name.into(), c.clock_rate);
        Some(Payload { name, clock_rate, media: c.media, codec: Some(c), signalled: false })
    };
    STATIC.get_or_init(|| (0..35).map(payload).collect()).get(usize::from(payload_type))?.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sdp_goes_before_the_static_types() {
        let mut map = PayloadMap::new(Media::Audio);
        map.map(0, "PCMU", 16000);
        map.map(96, "opus", 48000);
        map.map(96, "speex", 8000);
        map.map(200, "x", 1);
        assert_eq!((map.clock_rate(0), map.clock_rate(8), map.clock_rate(96)), (16000, 8000, 48000));
        assert_eq!((map.name(96), map.name(97), map.name(9)), ("opus".into(), "RTP-97".into(), "G722".into()));
        assert_eq!(map.get(13).unwrap().media, Media::ComfortNoise);
        assert_eq!(map.get(101), None);
        assert_eq!(PayloadMap::standard().get(101).unwrap().media, Media::Event);
    }

    #[test]
    fn a_codec_has_one_spelling() {
        let mut map = PayloadMap::new(Media::Audio);
        for (payload_type, name) in ["pcmu", "Opus", "amr-wb", "TELEPHONE-EVENT", "x-Own"].into_iter().enumerate() {
            map.map(96 + payload_type as u8, name, 8000);
        }
        let names: Vec<String> = (96..101).map(|payload_type| map.name(payload_type)).collect();
        assert_eq!(names, ["PCMU", "opus", "AMR-WB", "telephone-event", "X-OWN"]);
    }

    #[test]
    fn maps_of_one_endpoint_are_one_map() {
        let mut map = PayloadMap::new(Media::Audio);
        map.map(111, "opus", 48000);
        let mut video = PayloadMap::new(Media::Video);
        video.map(111, "H264", 90000);
        video.map(96, "x-something", 90000);
        map.add(&video);
        assert_eq!((map.name(111), map.get(96).unwrap().media), ("opus".into(), Media::Video));
    }

    #[test]
    fn what_came_keeps_its_meaning_where_a_later_map_knows_nothing_of_it() {
        let map = |types: &[(u8, &str)]| {
            let mut map = PayloadMap::new(Media::Audio);
            types.iter().for_each(|(payload_type, name)| map.map(*payload_type, name, 48000));
            Arc::new(map)
        };
        let (earlier, later) = (map(&[(107, "opus"), (96, "L16")]), map(&[(111, "opus"), (96, "speex")]));
        let both = Arc::clone(&later).keeping(&earlier, &[107, 96]);
        assert_eq!([107, 96, 111].map(|t| both.name(t)), ["opus", "speex", "opus"]);
        assert!(Arc::ptr_eq(&later, &Arc::clone(&later).keeping(&earlier, &[96, 0, 120])));
    }

    #[test]
    fn a_codec_is_the_same_whatever_its_number() {
        let mut ours = PayloadMap::new(Media::Audio);
        ours.map(96, "opus", 48000);
        ours.map(97, "telephone-event", 48000);
        let mut theirs = PayloadMap::new(Media::Audio);
        theirs.map(111, "OPUS", 48000);
        theirs.map(97, "telephone-event", 8000);
        let types = |list: &[u8]| list.iter().fold(0u128, |all, t| all | 1 << t);
        let (mine, their) = (types(&[0, 8, 96, 97, 120]), types(&[8, 111, 97, 120]));
        assert_eq!(ours.in_common(mine, &theirs, their), types(&[8, 96, 120]));
        assert_eq!(theirs.in_common(their, &ours, mine), types(&[8, 111, 120]));
    }

    #[test]
    fn unknown_names_are_of_the_described_media() {
        let mut map = PayloadMap::new(Media::Video);
        map.map(97, "x-something", 90000);
        assert_eq!(map.get(97).unwrap().media, Media::Video);
    }
}
