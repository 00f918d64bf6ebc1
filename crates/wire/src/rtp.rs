//! RTP packets (RFC 3550 section 5.1) and the payloads that say something without their codec: telephone events
//! (RFC 4733), redundancy (RFC 2198) and comfort noise (RFC 3389).
//!
//! The view is made from what was captured; a packet cut by the snap length gives its header and what is left.

use core::fmt;

/// Octets of the fixed header.
pub const HEADER_OCTETS: usize = 12;

mod field {
    pub const VERSION: u8 = 0b1100_0000;
    pub const PADDING: u8 = 0b0010_0000;
    pub const EXTENSION: u8 = 0b0001_0000;
    pub const CSRC_COUNT: u8 = 0b0000_1111;
    pub const MARKER: u8 = 0b1000_0000;
    pub const PAYLOAD_TYPE: u8 = 0b0111_1111;
}

/// The fixed header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Header {
    /// Sequence number, one more for each packet, modulo 2^16.
    pub sequence: u16,
    /// Sampling instant of the first octet of payload, in ticks of the payload's clock, modulo 2^32.
    pub timestamp: u32,
    /// Synchronisation source.
    pub ssrc: u32,
    /// Payload type, 0..=127.
    pub payload_type: u8,
    /// Marker: the first packet of a talkspurt, the last of a video frame.
    pub marker: bool,
    /// Whether padding follows the payload.
    pub padding: bool,
    /// Whether a header extension follows the contributing sources.
    pub extension: bool,
    /// Contributing sources, 0..=15.
    pub csrc_count: u8,
}

impl Header {
    /// The header of a packet; none if it is shorter than twelve octets or not of version 2.
    #[inline]
    pub fn new(octets: &[u8]) -> Option<Header> {
        let (o, _) = octets.split_first_chunk::<HEADER_OCTETS>()?;
        if o[0] & field::VERSION != 2 << 6 {
            return None;
        }
        Some(Header {
            sequence: u16::from_be_bytes([o[2], o[3]]),
            timestamp: u32::from_be_bytes([o[4], o[5], o[6], o[7]]),
            ssrc: u32::from_be_bytes([o[8], o[9], o[10], o[11]]),
            payload_type: o[1] & field::PAYLOAD_TYPE,
            marker: o[1] & field::MARKER != 0,
            padding: o[0] & field::PADDING != 0,
            extension: o[0] & field::EXTENSION != 0,
            csrc_count: o[0] & field::CSRC_COUNT,
        })
    }
}

/// Why octets are not an RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Fewer than twelve octets, or not version 2.
    NotRtp,
    /// The contributing sources reach past the end of the packet.
    ContributingSources,
    /// The header extension reaches past the end of the packet.
    Extension,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::NotRtp => "not an RTP header of version 2",
            Error::ContributingSources => "contributing sources reach past the end",
            Error::Extension => "the header extension reaches past the end",
        })
    }
}

impl core::error::Error for Error {}

/// A header extension (RFC 3550 section 5.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Defined by profile: 0xBEDE is the one-octet form of RFC 8285.
    pub profile: u16,
    /// Its octets, a multiple of four unless the snap length cut them.
    pub octets: &'a [u8],
}

/// An RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The fixed header.
    pub header: Header,
    /// The header extension, if there is one.
    pub extension: Option<Extension<'a>>,
    /// The payload that was captured, padding left out.
    pub payload: &'a [u8],
    /// Octets of payload on the wire, padding left out as far as it is known.
    pub payload_wire: u32,
    /// Octets of padding; 0 where there is none, it was not captured, or (SRTP) its count makes no sense.
    pub padding: u8,
    csrc: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The packet in `octets`, of which `wire` octets were sent (`octets.len()` if the snap length cut nothing).
    ///
    /// # Errors
    /// See [`Error`]: only headers that cannot be true. A count of padding that cannot be true is none, because SRTP
    /// (RFC 3711 section 3.1) sets the bit and encrypts the count.
    #[inline]
    pub fn new(octets: &'a [u8], wire: u32) -> Result<Packet<'a>, Error> {
        let header = Header::new(octets).ok_or(Error::NotRtp)?;
        let wire = wire.max(u32::try_from(octets.len()).unwrap_or(u32::MAX));
        if octets[0] & (field::EXTENSION | field::CSRC_COUNT | field::PADDING) == 0 {
            let payload = &octets[HEADER_OCTETS..];
            let payload_wire = wire - HEADER_OCTETS as u32;
            return Ok(Packet { header, extension: None, payload, payload_wire, padding: 0, csrc: &[] });
        }
        Packet::with_options(header, octets, wire)
    }

    #[cold]
    fn with_options(header: Header, octets: &'a [u8], wire: u32) -> Result<Packet<'a>, Error> {
        let mut at = HEADER_OCTETS + 4 * usize::from(header.csrc_count);
        if at as u64 > u64::from(wire) {
            return Err(Error::ContributingSources);
        }
        let csrc = octets.get(HEADER_OCTETS..at.min(octets.len())).unwrap_or(&[]);
        let mut extension = None;
        if header.extension {
            let (profile, words) = match octets.get(at..at + 4) {
                Some(o) => (u16::from_be_bytes([o[0], o[1]]), usize::from(u16::from_be_bytes([o[2], o[3]]))),
                None if u64::from(wire) < at as u64 + 4 => return Err(Error::Extension),
                None => (0, 0),
            };
            let end = at + 4 + 4 * words;
            if end as u64 > u64::from(wire) {
                return Err(Error::Extension);
            }
            let from = (at + 4).min(octets.len());
            extension = Some(Extension { profile, octets: &octets[from..end.min(octets.len())] });
            at = end;
        }
        let payload = octets.get(at..).unwrap_or(&[]);
        let payload_wire = wire.saturating_sub(u32::try_from(at).unwrap_or(u32::MAX));
        let whole = payload.len() as u64 == u64::from(payload_wire);
        let padding = match payload.last() {
            Some(&n) if header.padding && whole && n > 0 && usize::from(n) <= payload.len() => n,
            _ => 0,
        };
        let payload = &payload[..payload.len() - usize::from(padding)];
        Ok(Packet { header, extension, payload, payload_wire: payload_wire - u32::from(padding), padding, csrc })
    }

    /// The contributing sources that were captured.
    pub fn contributing_sources(&self) -> impl Iterator<Item = u32> + 'a {
        self.csrc.chunks_exact(4).map(|o| u32::from_be_bytes([o[0], o[1], o[2], o[3]]))
    }
}

/// One line: `RTP 0x3a980074 seq 17 ts 160 type 8 marker, 160 octets`.
impl fmt::Display for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let h = &self.header;
        let marker = if h.marker { " marker" } else { "" };
        write!(f, "RTP {:#010x} seq {} ts {} type {}{marker}, ", h.ssrc, h.sequence, h.timestamp, h.payload_type)?;
        write!(f, "{} octets", self.payload_wire)
    }
}

/// Whether octets may be RTP, by the header alone: version 2, not RTCP by RFC 5761 section 4, and contributing sources
/// and extension that fit. Cheap, and not proof: one datagram in some hundred of any protocol passes. `octets` may be
/// cut by the snap length; what lies past their end is believed.
#[inline]
pub fn looks_like_rtp(octets: &[u8]) -> bool {
    let Some((o, rest)) = octets.split_first_chunk::<HEADER_OCTETS>() else { return false };
    if o[0] & field::VERSION != 2 << 6 || (192..=223).contains(&o[1]) {
        return false;
    }
    let csrc = 4 * usize::from(o[0] & field::CSRC_COUNT);
    if csrc > rest.len() {
        return false;
    }
    if o[0] & field::EXTENSION == 0 {
        return true;
    }
    match rest.get(csrc..csrc + 4) {
        Some(e) => csrc + 4 + 4 * usize::from(u16::from_be_bytes([e[2], e[3]])) <= rest.len(),
        None => false,
    }
}

/// Whether a payload type is one that senders use: assigned by RFC 3551 section 6, or dynamic, or one of 35..=63 that
/// browsers fall back to. Reserved numbers and those that collide with RTCP (64..=95) are not.
///
/// Field: 2 is G.726-32 and 19 comfort noise in old equipment; both are let in.
#[inline]
pub fn payload_type_in_use(payload_type: u8) -> bool {
    !matches!(payload_type, 1 | 20..=24 | 27 | 29 | 30 | 64..=95 | 128..)
}

/// A telephone event (RFC 4733 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Event code: 0..=9 digits, 10 star, 11 pound, 12..=15 A..D, 16 flash.
    pub code: u8,
    /// Whether this packet ends the event.
    pub end: bool,
    /// Power of a tone, 0..=63, meaning -dBm0.
    pub volume: u8,
    /// Duration so far, in timestamp units.
    pub duration: u16,
}

impl Event {
    /// The event in a payload; none if it is shorter than four octets.
    #[inline]
    pub fn new(payload: &[u8]) -> Option<Event> {
        let (o, _) = payload.split_first_chunk::<4>()?;
        Some(Event {
            code: o[0],
            end: o[1] & 0x80 != 0,
            volume: o[1] & 0x3f,
            duration: u16::from_be_bytes([o[2], o[3]]),
        })
    }
}

/// A block of a redundant payload (RFC 2198 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// Payload type of the block.
    pub payload_type: u8,
    /// How much earlier than the packet's timestamp it was sampled, timestamp units; 0 for the primary block.
    pub offset: u16,
    /// Its octets, as many as were captured.
    pub octets: &'a [u8],
}

/// The blocks of a redundant payload that RFC 2198 allows in one packet of 1,500 octets, by far.
pub const REDUNDANT_BLOCKS_MAX: usize = 32;

/// The primary block of a redundant payload: the last one, which a payload without redundancy would be. None if the
/// block headers do not end within the payload or number more than [`REDUNDANT_BLOCKS_MAX`].
pub fn redundant_primary(payload: &[u8]) -> Option<Block<'_>> {
    let (mut at, mut redundant) = (0usize, 0usize);
    for _ in 0..REDUNDANT_BLOCKS_MAX {
        let first = *payload.get(at)?;
        if first & 0x80 == 0 {
            let octets = payload.get(at + 1 + redundant..).unwrap_or(&[]);
            return Some(Block { payload_type: first & 0x7f, offset: 0, octets });
        }
        let o = payload.get(at..at + 4)?;
        redundant += (usize::from(o[2] & 0x03) << 8) | usize::from(o[3]);
        at += 4;
    }
    None
}

/// Noise level of a comfort-noise payload (RFC 3389 section 3.1), in dB below overload; none if it is empty.
pub fn comfort_noise_level(payload: &[u8]) -> Option<u8> {
    payload.first().map(|o| o & 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: [u8; 16] = [0x80, 0x88, 0x00, 0x11, 0, 0, 0, 0xa0, 0x3a, 0x98, 0x00, 0x74, 0xd5, 0xd5, 0xd5, 0xd5];

    #[test]
    fn reads_a_plain_packet() {
        let p = Packet::new(&PLAIN, 16).unwrap();
        assert_eq!(p.to_string(), "RTP 0x3a980074 seq 17 ts 160 type 8 marker, 4 octets");
        assert_eq!(Packet::new(&PLAIN, 172).unwrap().payload_wire, 160);
        assert_eq!(Packet::new(&PLAIN[..11], 11), Err(Error::NotRtp));
    }

    #[test]
    fn reads_sources_extension_and_padding() {
        let mut o = vec![0xb1, 0x60, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0xbe, 0xde, 0, 1, 9, 9, 9, 9];
        o.extend([7, 7, 0, 0, 0, 4]);
        let p = Packet::new(&o, 30).unwrap();
        assert_eq!(p.contributing_sources().collect::<Vec<_>>(), [4]);
        assert_eq!(p.extension.unwrap(), Extension { profile: 0xbede, octets: &[9, 9, 9, 9] });
        assert_eq!((p.payload, p.payload_wire, p.padding), (&[7u8, 7][..], 2, 4));
        assert_eq!(Packet::new(&o[..22], 22), Err(Error::Extension));
        let cut = Packet::new(&o[..22], 30).unwrap();
        assert_eq!((cut.payload.len(), cut.payload_wire, cut.padding), (0, 6, 0));
        assert!(!looks_like_rtp(&o[..22]) && looks_like_rtp(&o));
    }

    #[test]
    fn believes_no_padding_that_cannot_be() {
        let mut o = PLAIN;
        o[0] |= 0x20;
        assert_eq!(Packet::new(&o, 16).unwrap().payload.len(), 4);
    }

    #[test]
    fn tells_rtp_from_rtcp() {
        assert!(looks_like_rtp(&PLAIN));
        let mut o = PLAIN;
        for second in 192..=223u8 {
            o[1] = second;
            assert!(!looks_like_rtp(&o));
        }
        assert!(payload_type_in_use(8) && payload_type_in_use(101) && !payload_type_in_use(72));
    }

    #[test]
    fn reads_an_event() {
        let e = Event::new(&[11, 0x8a, 0x03, 0x70]).unwrap();
        assert_eq!(e, Event { code: 11, end: true, volume: 10, duration: 880 });
        assert_eq!(Event::new(&[1, 2, 3]), None);
    }

    #[test]
    fn finds_the_primary_block() {
        // RFC 2198 section 5: DVI4 primary after LPC redundancy of 14 octets.
        let mut o = vec![0x80 | 7, 0x0a, 0x00, 14, 5];
        o.extend([1; 14]);
        o.extend([2; 84]);
        let b = redundant_primary(&o).unwrap();
        assert_eq!((b.payload_type, b.octets), (5, &[2u8; 84][..]));
        assert_eq!(redundant_primary(&[0xff; 200]), None);
        assert_eq!(comfort_noise_level(&[0x3f, 1]), Some(63));
    }
}
