//! The table of codecs.
//!
//! Figures of G.113 Appendix I are those of the edition of 11/2007 as they are widely quoted, Appendix IV those of
//! 09/2024; both appendices call them provisional planning values. Where one name in RTP covers several published rows
//! the source says which row is taken.

use super::{Codec, Framing, Impairment, Media, Mode, Published, Scale};
use Media::{Audio, ComfortNoise, Event, Other, Repair, Video};
use Published::{Always, ByMode, Nothing};

const fn narrow(ie: f32, bpl: Option<f32>, source: &'static str) -> Impairment {
    Impairment { ie, bpl, scale: Scale::Narrowband, source }
}

const fn wide(ie: f32, bpl: Option<f32>, source: &'static str) -> Impairment {
    Impairment { ie, bpl, scale: Scale::Wideband, source }
}

const fn samples(octets_per_ms: f32) -> Framing {
    Framing::Samples { octets_per_ms, header: 0 }
}

const fn frames(octets: u16, ms: u16) -> Framing {
    Framing::Frames { octets, ms, silence_octets: 0 }
}

const fn audio(name: &'static str, clock: u32, sample: u32, framing: Framing, published: Published) -> Codec {
    Codec { name, static_type: None, media: Audio, clock_rate: clock, sample_rate: sample, framing, published }
}

const fn other(name: &'static str, media: Media, clock: u32) -> Codec {
    let framing = Framing::Timestamps;
    Codec { name, static_type: None, media, clock_rate: clock, sample_rate: 0, framing, published: Nothing }
}

const fn fixed(static_type: u8, codec: Codec) -> Codec {
    Codec { static_type: Some(static_type), ..codec }
}

const TIMESTAMPS: Framing = Framing::Timestamps;
const G711: Published = Always(narrow(0.0, Some(25.1), "G.113 App. I: G.711 with the concealment of G.711 App. I"));
const G729: Published = Always(narrow(11.0, Some(19.0), "G.113 App. I: G.729A with VAD, the default of RFC 4856"));
const G729_FRAMES: Framing = Framing::Frames { octets: 10, ms: 10, silence_octets: 2 };
const I: &str = "G.113 App. I; no Bpl is published";
const IV: &str = "G.113 App. IV, diotic (tables IV.3 and IV.4)";

const G723_MODES: &[Mode] = &[
    Mode {
        payload_octets: &[24, 48, 72],
        impairment: narrow(15.0, Some(16.1), "G.113 App. I: G.723.1 with VAD, 6.3 kbit/s"),
    },
    Mode { payload_octets: &[20, 40, 60], impairment: narrow(19.0, None, I) },
];

/// One frame a packet, bandwidth-efficient and octet-aligned (RFC 4867 section 4.3 and 4.4). Diotic values, because
/// Bpl,wb is published for diotic listening alone and the two contexts must not be mixed.
const AMR_WB_MODES: &[Mode] = &[
    Mode { payload_octets: &[18, 19], impairment: wide(56.0, None, IV) },
    Mode { payload_octets: &[24, 25], impairment: wide(41.0, None, IV) },
    Mode { payload_octets: &[33, 34], impairment: wide(20.0, Some(4.3), IV) },
    Mode { payload_octets: &[41, 42], impairment: wide(17.0, None, IV) },
    Mode { payload_octets: &[59, 60], impairment: wide(8.0, Some(4.6), IV) },
    Mode { payload_octets: &[61, 62], impairment: wide(10.0, Some(4.9), IV) },
];

/// Payload type 11: the same name and clock as 10, half the octets.
pub(super) static L16_MONO: Codec = fixed(11, audio("L16", 44100, 44100, samples(88.2), Nothing));

/// All codecs that are known, static payload types first.
pub static TABLE: &[Codec] = &[
    fixed(0, audio("PCMU", 8000, 8000, samples(8.0), G711)),
    fixed(8, audio("PCMA", 8000, 8000, samples(8.0), G711)),
    fixed(3, audio("GSM", 8000, 8000, frames(33, 20), Always(narrow(20.0, None, I)))),
    fixed(4, audio("G723", 8000, 8000, Framing::G723, ByMode(G723_MODES))),
    fixed(5, audio("DVI4", 8000, 8000, Framing::Samples { octets_per_ms: 4.0, header: 4 }, Nothing)),
    fixed(6, audio("DVI4", 16000, 16000, Framing::Samples { octets_per_ms: 8.0, header: 4 }, Nothing)),
    fixed(7, audio("LPC", 8000, 8000, frames(14, 20), Nothing)),
    fixed(
        9,
        audio(
            "G722",
            8000,
            16000,
            samples(8.0),
            Always(wide(13.0, None, "G.113 App. IV: G.722 at 64 kbit/s; no Bpl,wb taken")),
        ),
    ),
    fixed(10, audio("L16", 44100, 44100, samples(176.4), Nothing)),
    fixed(12, audio("QCELP", 8000, 8000, TIMESTAMPS, Nothing)),
    fixed(13, other("CN", ComfortNoise, 8000)),
    fixed(14, audio("MPA", 90000, 48000, TIMESTAMPS, Nothing)),
    fixed(15, audio("G728", 8000, 8000, samples(2.0), Always(narrow(7.0, None, I)))),
    fixed(16, audio("DVI4", 11025, 11025, Framing::Samples { octets_per_ms: 5.5125, header: 4 }, Nothing)),
    fixed(17, audio("DVI4", 22050, 22050, Framing::Samples { octets_per_ms: 11.025, header: 4 }, Nothing)),
    fixed(18, audio("G729", 8000, 8000, G729_FRAMES, G729)),
    fixed(25, other("CelB", Video, 90000)),
    fixed(26, other("JPEG", Video, 90000)),
    fixed(28, other("nv", Video, 90000)),
    fixed(31, other("H261", Video, 90000)),
    fixed(32, other("MPV", Video, 90000)),
    fixed(33, other("MP2T", Video, 90000)),
    fixed(34, other("H263", Video, 90000)),
    // Field: payload type 2 was G.721 in RFC 1890, which is G.726 at 32 kbit/s, and is still sent as such.
    fixed(2, audio("G726-32", 8000, 8000, samples(4.0), Always(narrow(7.0, None, I)))),
    audio("G726-40", 8000, 8000, samples(5.0), Always(narrow(2.0, None, I))),
    audio("G726-24", 8000, 8000, samples(3.0), Always(narrow(25.0, None, I))),
    audio("G726-16", 8000, 8000, samples(2.0), Always(narrow(50.0, None, I))),
    audio("AAL2-G726-40", 8000, 8000, samples(5.0), Always(narrow(2.0, None, I))),
    audio("AAL2-G726-32", 8000, 8000, samples(4.0), Always(narrow(7.0, None, I))),
    audio("AAL2-G726-24", 8000, 8000, samples(3.0), Always(narrow(25.0, None, I))),
    audio("AAL2-G726-16", 8000, 8000, samples(2.0), Always(narrow(50.0, None, I))),
    audio("G729D", 8000, 8000, TIMESTAMPS, Nothing),
    audio("G729E", 8000, 8000, TIMESTAMPS, Nothing),
    audio("GSM-EFR", 8000, 8000, frames(31, 20), Always(narrow(5.0, Some(10.0), "G.113 App. I: GSM-EFR"))),
    audio("GSM-HR-08", 8000, 8000, TIMESTAMPS, Always(narrow(23.0, None, I))),
    audio("iLBC", 8000, 8000, Framing::Ilbc, Nothing),
    // AMR at 12.2 kbit/s equals GSM-EFR bit by bit, but G.113 has no row for it: none is borrowed.
    audio("AMR", 8000, 8000, TIMESTAMPS, Nothing),
    audio("AMR-WB", 16000, 16000, TIMESTAMPS, ByMode(AMR_WB_MODES)),
    audio("AMR-WB+", 72000, 48000, TIMESTAMPS, Nothing),
    audio("EVS", 16000, 48000, TIMESTAMPS, Nothing),
    audio("opus", 48000, 48000, Framing::Opus, Nothing),
    audio("speex", 8000, 8000, TIMESTAMPS, Nothing),
    audio("speex", 16000, 16000, TIMESTAMPS, Nothing),
    audio("speex", 32000, 32000, TIMESTAMPS, Nothing),
    audio("SILK", 8000, 8000, TIMESTAMPS, Nothing),
    audio("SILK", 12000, 12000, TIMESTAMPS, Nothing),
    audio("SILK", 16000, 16000, TIMESTAMPS, Nothing),
    audio("SILK", 24000, 24000, TIMESTAMPS, Nothing),
    audio("ISAC", 16000, 16000, TIMESTAMPS, Nothing),
    audio("ISAC", 32000, 32000, TIMESTAMPS, Nothing),
    audio("G7221", 16000, 16000, TIMESTAMPS, Nothing),
    audio("G7221", 32000, 32000, TIMESTAMPS, Nothing),
    audio("G719", 48000, 48000, TIMESTAMPS, Nothing),
    audio("G7291", 16000, 16000, TIMESTAMPS, Nothing),
    audio("PCMU-WB", 16000, 16000, TIMESTAMPS, Nothing),
    audio("PCMA-WB", 16000, 16000, TIMESTAMPS, Nothing),
    audio("BV16", 8000, 8000, frames(10, 5), Nothing),
    audio("BV32", 16000, 16000, frames(20, 5), Nothing),
    audio("EVRC", 8000, 8000, TIMESTAMPS, Nothing),
    audio("EVRC0", 8000, 8000, TIMESTAMPS, Nothing),
    audio("EVRCB", 8000, 8000, TIMESTAMPS, Nothing),
    audio("EVRCWB", 16000, 16000, TIMESTAMPS, Nothing),
    audio("SMV", 8000, 8000, TIMESTAMPS, Nothing),
    audio("VMR-WB", 16000, 16000, TIMESTAMPS, Nothing),
    audio("L8", 8000, 8000, samples(8.0), Nothing),
    audio("L16", 8000, 8000, samples(16.0), Nothing),
    audio("L16", 16000, 16000, samples(32.0), Nothing),
    audio("L16", 48000, 48000, TIMESTAMPS, Nothing),
    audio("L24", 48000, 48000, TIMESTAMPS, Nothing),
    audio("MP4A-LATM", 90000, 48000, TIMESTAMPS, Nothing),
    audio("mpeg4-generic", 48000, 48000, TIMESTAMPS, Nothing),
    audio("CLEARMODE", 8000, 8000, samples(8.0), Nothing),
    other("telephone-event", Event, 8000),
    other("tone", Event, 8000),
    other("red", Repair, 8000),
    other("ulpfec", Repair, 90000),
    other("flexfec-03", Repair, 90000),
    other("rtx", Repair, 90000),
    other("H263-1998", Video, 90000),
    other("H263-2000", Video, 90000),
    other("H264", Video, 90000),
    other("H264-SVC", Video, 90000),
    other("H265", Video, 90000),
    other("VP8", Video, 90000),
    other("VP9", Video, 90000),
    other("AV1", Video, 90000),
    other("MP4V-ES", Video, 90000),
    other("theora", Video, 90000),
    other("x-ulpfecuc", Repair, 90000),
    other("t38", Other, 8000),
    other("udptl", Other, 8000),
    other("t140", Other, 8000),
];
