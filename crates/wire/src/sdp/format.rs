//! Formats of media: payload types with their encodings.

/// One format of a media line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Format<'a> {
    /// As the media line writes it.
    pub text: &'a [u8],
    /// The RTP payload type, 0..=127; none for media that is not RTP.
    pub payload_type: Option<u8>,
    /// Encoding name, from rtpmap as written or from RFC 3551; empty if not known.
    pub name: &'a [u8],
    /// RTP clock rate, Hz; 0 if not known.
    pub rate: u32,
    /// Channels; 1 if not said.
    pub channels: u8,
    /// Whether name and rate come from an rtpmap line.
    pub mapped: bool,
    /// The parameters of its first fmtp line; empty if there is none.
    pub fmtp: &'a [u8],
}

impl Format<'_> {
    /// Whether its encoding has this name; case does not matter (RFC 4855 section 3).
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// Name, clock rate and channels of a static payload type (RFC 3551 section 6, tables 4 and 5).
pub fn static_format(payload_type: u8) -> Option<(&'static str, u32, u8)> {
    Some(match payload_type {
        0 => ("PCMU", 8000, 1),
        3 => ("GSM", 8000, 1),
        4 => ("G723", 8000, 1),
        5 => ("DVI4", 8000, 1),
        6 => ("DVI4", 16000, 1),
        7 => ("LPC", 8000, 1),
        8 => ("PCMA", 8000, 1),
        9 => ("G722", 8000, 1),
        10 => ("L16", 44100, 2),
        11 => ("L16", 44100, 1),
        12 => ("QCELP", 8000, 1),
        13 => ("CN", 8000, 1),
        14 => ("MPA", 90000, 1),
        15 => ("G728", 8000, 1),
        16 => ("DVI4", 11025, 1),
        17 => ("DVI4", 22050, 1),
        18 => ("G729", 8000, 1),
        25 => ("CelB", 90000, 1),
        26 => ("JPEG", 90000, 1),
        28 => ("nv", 90000, 1),
        31 => ("H261", 90000, 1),
        32 => ("MPV", 90000, 1),
        33 => ("MP2T", 90000, 1),
        34 => ("H263", 90000, 1),
        // Field: payload type 2 was G721 and is still used for G.726 at 32 kbit/s (RFC 3551 section 4.5.4).
        2 => ("G726-32", 8000, 1),
        _ => return None,
    })
}
