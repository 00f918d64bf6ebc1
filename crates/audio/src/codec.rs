//! The codecs of RTP: names, clocks, framing and the impairments that are published for them.
//!
//! A codec is a row of [`TABLE`]; adding one is adding a row (docs/adding/codec.md). Names and clocks are those of the
//! IANA registry of RTP payload formats and RFC 3551; [`Impairment`] says where its figures are from.

mod framing;
mod table;

pub use framing::Framing;
pub use table::TABLE;

/// What a payload carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// Speech or sound.
    Audio,
    /// Pictures.
    Video,
    /// Telephone events and tones (RFC 4733).
    Event,
    /// Comfort noise (RFC 3389).
    ComfortNoise,
    /// Redundancy, error correction and retransmission around another payload.
    Repair,
    /// Text, fax and other data.
    Other,
}

/// The scale on which an impairment counts: the two must never meet in one formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// ITU-T G.107: R from 93.2.
    Narrowband,
    /// ITU-T G.107.1: R from 129.
    Wideband,
}

/// Published impairment of a codec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impairment {
    /// Equipment impairment factor Ie (narrowband) or Ie,wb.
    pub ie: f32,
    /// Packet-loss robustness factor Bpl or Bpl,wb; none where none is published, and then no score under loss.
    pub bpl: Option<f32>,
    /// The scale that both belong to.
    pub scale: Scale,
    /// Where they are published, with what is assumed.
    pub source: &'static str,
}

/// Impairment of a codec whose payload length tells its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Lengths of payload that mean this rate, octets.
    pub payload_octets: &'static [u16],
    /// What is published for this rate.
    pub impairment: Impairment,
}

/// What is published about a codec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Published {
    /// Nothing: its streams have no score ("n/a"), whatever a similar codec has.
    Nothing,
    /// One value for the codec.
    Always(Impairment),
    /// A value for some of its rates.
    ByMode(&'static [Mode]),
}

/// A codec or another kind of RTP payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// Encoding name as registered.
    pub name: &'static str,
    /// Payload type that means this codec without SDP (RFC 3551 table 4 and 5).
    pub static_type: Option<u8>,
    /// What it carries.
    pub media: Media,
    /// Clock of the RTP timestamps, Hz. G.722's is 8000 (RFC 3551 section 4.5.2), Opus' 48000 (RFC 7587).
    pub clock_rate: u32,
    /// Rate at which the codec samples, Hz (its highest, where it has several); 0 where that means nothing.
    pub sample_rate: u32,
    /// How its payload fills time.
    pub framing: Framing,
    /// What is published about its quality.
    pub published: Published,
}

impl Codec {
    /// The codec of an encoding name, without regard to case; `clock_rate` chooses where one name has several (L16,
    /// DVI4, SILK), and the first row of the name is taken if none fits.
    pub fn by_name(name: &str, clock_rate: Option<u32>) -> Option<&'static Codec> {
        let mut rows = TABLE.iter().filter(|c| c.name.eq_ignore_ascii_case(name));
        let first = rows.clone().next()?;
        Some(rows.find(|c| Some(c.clock_rate) == clock_rate).unwrap_or(first))
    }

    /// The codec of a static payload type (RFC 3551 section 6).
    ///
    /// Field: 11 is 10 with one channel, and 19 was comfort noise before RFC 3389.
    pub fn by_static_type(payload_type: u8) -> Option<&'static Codec> {
        let payload_type = match payload_type {
            11 => return Some(&table::L16_MONO),
            19 => 13,
            other => other,
        };
        TABLE.iter().find(|c| c.static_type == Some(payload_type))
    }

    /// Time that a payload fills, milliseconds; none where its length does not tell. `payload` may be cut, `octets` is
    /// its length on the wire.
    pub fn payload_ms(&self, payload: &[u8], octets: u32) -> Option<f32> {
        self.framing.payload_ms(payload, octets)
    }

    /// What is published for a stream of this codec whose speech packets have `payload_octets`.
    pub fn impairment(&self, payload_octets: u32) -> Option<Impairment> {
        match self.published {
            Published::Nothing => None,
            Published::Always(impairment) => Some(impairment),
            Published::ByMode(modes) => {
                let fits = |m: &&Mode| m.payload_octets.iter().any(|&n| u32::from(n) == payload_octets);
                modes.iter().find(fits).map(|m| m.impairment)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row is tested the day it is added.
    #[test]
    fn the_table_is_consistent() {
        for (i, c) in TABLE.iter().enumerate() {
            assert!(!c.name.is_empty() && c.clock_rate >= 8000 && c.clock_rate <= 192_000, "{}", c.name);
            assert_eq!(Codec::by_name(&c.name.to_ascii_lowercase(), Some(c.clock_rate)), Some(c), "{} twice", c.name);
            assert!(c.media != Media::Audio || c.sample_rate >= 8000, "{}", c.name);
            if let Some(t) = c.static_type {
                assert!(t < 35, "{}: static types end at 34", c.name);
                assert!(TABLE[i + 1..].iter().all(|o| o.static_type != Some(t)), "{} twice", t);
            }
            for impairment in impairments(c) {
                assert!((0.0..95.0).contains(&impairment.ie) && impairment.bpl.is_none_or(|b| b > 0.0), "{}", c.name);
                assert!(impairment.source.contains("G.113"), "{}", c.name);
                let wide = c.sample_rate >= 16_000;
                assert_eq!(impairment.scale == Scale::Wideband, wide, "{}: scale and sample rate", c.name);
            }
        }
    }

    fn impairments(c: &Codec) -> Vec<Impairment> {
        match c.published {
            Published::Nothing => Vec::new(),
            Published::Always(i) => vec![i],
            Published::ByMode(modes) => modes.iter().map(|m| m.impairment).collect(),
        }
    }

    /// RFC 3551 table 4 and 5: payload type, name, clock rate.
    #[test]
    fn static_types_are_those_of_rfc_3551() {
        let rows = [
            (0, "PCMU", 8000),
            (3, "GSM", 8000),
            (4, "G723", 8000),
            (5, "DVI4", 8000),
            (6, "DVI4", 16000),
            (7, "LPC", 8000),
            (8, "PCMA", 8000),
            (9, "G722", 8000),
            (10, "L16", 44100),
            (11, "L16", 44100),
            (12, "QCELP", 8000),
            (13, "CN", 8000),
            (14, "MPA", 90000),
            (15, "G728", 8000),
            (16, "DVI4", 11025),
            (17, "DVI4", 22050),
            (18, "G729", 8000),
            (25, "CelB", 90000),
            (26, "JPEG", 90000),
            (28, "nv", 90000),
            (31, "H261", 90000),
            (32, "MPV", 90000),
            (33, "MP2T", 90000),
            (34, "H263", 90000),
        ];
        for (t, name, clock) in rows {
            let c = Codec::by_static_type(t).unwrap();
            assert_eq!((c.name, c.clock_rate), (name, clock), "{t}");
        }
    }

    #[test]
    fn the_rate_chooses_the_impairment() {
        let amr_wb = Codec::by_name("amr-wb", None).unwrap();
        assert_eq!(amr_wb.impairment(33).unwrap().ie, 20.0);
        assert_eq!(amr_wb.impairment(34).unwrap().ie, 20.0);
        assert_eq!(amr_wb.impairment(48), None, "18.25 kbit/s has no diotic value");
        assert_eq!(Codec::by_name("G723", None).unwrap().impairment(20).unwrap().bpl, None);
        assert_eq!(Codec::by_name("AMR", None).unwrap().impairment(32), None);
        assert_eq!(Codec::by_name("opus", None).unwrap().impairment(100), None);
    }
}
