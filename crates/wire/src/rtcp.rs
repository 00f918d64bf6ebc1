//! RTCP compound packets (RFC 3550 section 6), reduced-size ones (RFC 5506) and extended reports (RFC 3611).
//!
//! A monitor reads what is there: packets whose length runs past the datagram give what they still hold and are marked
//! as cut; unknown types are named and skipped.

use core::fmt;

mod extended;
pub use extended::{ExtendedBlock, ExtendedBlocks, VoipMetrics};

/// Octets of the header that all RTCP packets share.
pub const HEADER_OCTETS: usize = 4;

/// Packets of one datagram that are looked at; what follows is left unread.
// Limit: RTCP packets of one datagram
// Beyond: further ones are not read
// Seen in: not counted
pub const PACKETS_MAX: usize = 64;

/// Packet types (IANA registry of RTP parameters).
pub mod packet_type {
    #![allow(missing_docs, reason = "the names are those of the registry")]
    pub const SENDER_REPORT: u8 = 200;
    pub const RECEIVER_REPORT: u8 = 201;
    pub const SOURCE_DESCRIPTION: u8 = 202;
    pub const BYE: u8 = 203;
    pub const APPLICATION: u8 = 204;
    pub const TRANSPORT_FEEDBACK: u8 = 205;
    pub const PAYLOAD_FEEDBACK: u8 = 206;
    pub const EXTENDED_REPORT: u8 = 207;
}

/// Whether octets may be RTCP: version 2, a packet type of 192..=223 (RFC 5761 section 4) and, for the types of RFC
/// 3550, room for a source. Cheap, and not proof.
#[inline]
pub fn looks_like_rtcp(octets: &[u8]) -> bool {
    octets.len() >= 8 && octets[0] & 0xc0 == 0x80 && (192..=223).contains(&octets[1])
}

/// What a receiver says about one source (RFC 3550 section 6.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportBlock {
    /// The source that is reported on.
    pub ssrc: u32,
    /// Fraction lost since the last report, of 256.
    pub fraction_lost: u8,
    /// Packets lost since the beginning; negative when copies outnumber losses.
    pub lost: i32,
    /// Highest extended sequence number received.
    pub highest_sequence: u32,
    /// Interarrival jitter, timestamp units.
    pub jitter: u32,
    /// Middle 32 bits of the NTP time of the last sender report received; 0 if none came.
    pub last_sender_report: u32,
    /// Delay since that sender report, units of 1/65536 s.
    pub delay_since: u32,
}

impl ReportBlock {
    const OCTETS: usize = 24;

    fn new(o: &[u8; Self::OCTETS]) -> ReportBlock {
        let word = |at: usize| u32::from_be_bytes([o[at], o[at + 1], o[at + 2], o[at + 3]]);
        ReportBlock {
            ssrc: word(0),
            fraction_lost: o[4],
            lost: i32::from_be_bytes([o[5], o[6], o[7], 0]) >> 8,
            highest_sequence: word(8),
            jitter: word(12),
            last_sender_report: word(16),
            delay_since: word(20),
        }
    }

    /// Round-trip time in units of 1/65536 s when this report was taken at `ntp_middle` (the middle 32 bits of the NTP
    /// time, on the clock that stamped the sender report): A - LSR - DLSR (RFC 3550 section 6.4.1, figure 2). None
    /// where the receiver had no sender report or the result is negative.
    pub fn round_trip(&self, ntp_middle: u32) -> Option<u32> {
        if self.last_sender_report == 0 {
            return None;
        }
        let units = ntp_middle.wrapping_sub(self.last_sender_report).wrapping_sub(self.delay_since);
        (units as i32 >= 0).then_some(units)
    }
}

/// The sender's own part of a sender report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderInfo {
    /// When it was sent: seconds since 1900 and fraction, 32 bits each.
    pub ntp: u64,
    /// The same instant in the media's timestamp units.
    pub timestamp: u32,
    /// Packets sent.
    pub packets: u32,
    /// Payload octets sent.
    pub octets: u32,
}

/// Report blocks of a sender or receiver report; those that are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportBlocks<'a>(&'a [u8]);

impl Iterator for ReportBlocks<'_> {
    type Item = ReportBlock;

    fn next(&mut self) -> Option<ReportBlock> {
        let (block, rest) = self.0.split_first_chunk::<{ ReportBlock::OCTETS }>()?;
        self.0 = rest;
        Some(ReportBlock::new(block))
    }
}

/// An item of a source description: 1 is CNAME, 2 NAME, 6 TOOL (RFC 3550 section 6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptionItem<'a> {
    /// The source that is described.
    pub ssrc: u32,
    /// Item type.
    pub item: u8,
    /// Its text, UTF-8 by the standard and anything in the field.
    pub text: &'a [u8],
}

/// Items of a source description, chunk by chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptionItems<'a> {
    body: &'a [u8],
    at: usize,
    chunks_left: u8,
    ssrc: Option<u32>,
}

impl<'a> Iterator for DescriptionItems<'a> {
    type Item = DescriptionItem<'a>;

    fn next(&mut self) -> Option<DescriptionItem<'a>> {
        loop {
            let Some(ssrc) = self.ssrc else {
                self.chunks_left = self.chunks_left.checked_sub(1)?;
                self.ssrc = Some(word(self.body, self.at)?);
                self.at += 4;
                continue;
            };
            let item = *self.body.get(self.at)?;
            if item == 0 {
                // A chunk ends with one null octet and is filled to the next word.
                self.at = (self.at + 4) & !3;
                self.ssrc = None;
                continue;
            }
            let octets = usize::from(*self.body.get(self.at + 1)?);
            let text = self.body.get(self.at + 2..self.at + 2 + octets)?;
            self.at += 2 + octets;
            return Some(DescriptionItem { ssrc, item, text });
        }
    }
}

/// What a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Sender report.
    SenderReport {
        /// Who reports.
        ssrc: u32,
        /// What it sent.
        sender: SenderInfo,
        /// What it received.
        reports: ReportBlocks<'a>,
    },
    /// Receiver report.
    ReceiverReport {
        /// Who reports.
        ssrc: u32,
        /// What it received.
        reports: ReportBlocks<'a>,
    },
    /// Source description.
    SourceDescription(DescriptionItems<'a>),
    /// Goodbye; the sources that leave are what [`Body::bye_sources`] gives.
    Bye(&'a [u8]),
    /// Application-defined.
    Application {
        /// Who sent it.
        ssrc: u32,
        /// Its name, four ASCII characters.
        name: [u8; 4],
    },
    /// Extended report.
    ExtendedReport {
        /// Who reports.
        ssrc: u32,
        /// Its blocks.
        blocks: ExtendedBlocks<'a>,
    },
    /// Feedback (RFC 4585), transport layer or payload specific.
    Feedback {
        /// Who sent it.
        ssrc: u32,
        /// Whom it is about.
        media: u32,
    },
    /// A type that is not known here, or one too short for what it says it is (SRTCP, encrypted past the first source).
    Other,
}

impl Body<'_> {
    /// The sources that a goodbye names; none for other packets.
    pub fn bye_sources(&self) -> impl Iterator<Item = u32> + '_ {
        let octets = if let Body::Bye(octets) = self { octets } else { &[][..] };
        octets.chunks_exact(4).map(|o| u32::from_be_bytes([o[0], o[1], o[2], o[3]]))
    }
}

/// One packet of a compound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Packet type, 192..=223.
    pub packet_type: u8,
    /// The five bits after version and padding: report count, source count, subtype or feedback message type.
    pub count: u8,
    /// Whether its length runs past the datagram.
    pub cut: bool,
    /// What it holds.
    pub body: Body<'a>,
}

impl<'a> Packet<'a> {
    fn new(first: u8, packet_type: u8, body: &'a [u8], cut: bool) -> Packet<'a> {
        let count = first & 0x1f;
        let body = match packet_type {
            packet_type::SENDER_REPORT => sender_report(body, count),
            packet_type::RECEIVER_REPORT => receiver_report(body, count),
            packet_type::SOURCE_DESCRIPTION => {
                Some(Body::SourceDescription(DescriptionItems { body, at: 0, chunks_left: count, ssrc: None }))
            }
            packet_type::BYE => Some(Body::Bye(&body[..body.len().min(4 * usize::from(count))])),
            packet_type::APPLICATION => application(body),
            packet_type::EXTENDED_REPORT => extended_report(body),
            packet_type::TRANSPORT_FEEDBACK | packet_type::PAYLOAD_FEEDBACK => feedback(body),
            _ => None,
        };
        Packet { packet_type, count, cut, body: body.unwrap_or(Body::Other) }
    }

    /// Who sent the packet, where its type says so.
    pub fn ssrc(&self) -> Option<u32> {
        match self.body {
            Body::SenderReport { ssrc, .. }
            | Body::ReceiverReport { ssrc, .. }
            | Body::Application { ssrc, .. }
            | Body::ExtendedReport { ssrc, .. }
            | Body::Feedback { ssrc, .. } => Some(ssrc),
            Body::SourceDescription(mut items) => items.next().map(|i| i.ssrc),
            Body::Bye(_) => self.body.bye_sources().next(),
            Body::Other => None,
        }
    }
}

/// One line: `SR 0x3a980074 sent 250, 1 report`.
impl fmt::Display for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.packet_type {
            packet_type::SENDER_REPORT => "SR",
            packet_type::RECEIVER_REPORT => "RR",
            packet_type::SOURCE_DESCRIPTION => "SDES",
            packet_type::BYE => "BYE",
            packet_type::APPLICATION => "APP",
            packet_type::TRANSPORT_FEEDBACK => "RTPFB",
            packet_type::PAYLOAD_FEEDBACK => "PSFB",
            packet_type::EXTENDED_REPORT => "XR",
            _ => "RTCP",
        };
        write!(f, "{name}")?;
        if let Some(ssrc) = self.ssrc() {
            write!(f, " {ssrc:#010x}")?;
        }
        match self.body {
            Body::SenderReport { sender, reports, .. } => {
                write!(f, " sent {}, {} reports", sender.packets, reports.count())
            }
            Body::ReceiverReport { reports, .. } => write!(f, ", {} reports", reports.count()),
            _ => Ok(()),
        }
    }
}

/// The packets of a compound, in order, [`PACKETS_MAX`] at most.
#[derive(Clone, Copy, Debug)]
pub struct Packets<'a> {
    octets: &'a [u8],
    left: usize,
}

impl<'a> Packets<'a> {
    /// The packets in a datagram's payload. Ends at the first header that is not RTCP (the index and tag of SRTCP).
    pub fn new(octets: &'a [u8]) -> Packets<'a> {
        Packets { octets, left: PACKETS_MAX }
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Packet<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (h, rest) = self.octets.split_first_chunk::<HEADER_OCTETS>()?;
        if h[0] & 0xc0 != 0x80 || !(192..=223).contains(&h[1]) {
            return None;
        }
        let octets = 4 * usize::from(u16::from_be_bytes([h[2], h[3]]));
        let cut = octets > rest.len();
        let (mut body, next) = rest.split_at(octets.min(rest.len()));
        self.octets = next;
        if h[0] & 0x20 != 0 && !cut {
            // Padding is counted by its last octet (section 6.4.1); a count that cannot be true is ignored.
            let padding = body.last().map_or(0, |&n| usize::from(n));
            body = &body[..body.len().checked_sub(padding).unwrap_or(body.len())];
        }
        Some(Packet::new(h[0], h[1], body, cut))
    }
}

fn word(o: &[u8], at: usize) -> Option<u32> {
    let o = o.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*o))
}

fn blocks(body: &[u8], from: usize, count: u8) -> Option<ReportBlocks<'_>> {
    let rest = body.get(from..)?;
    Some(ReportBlocks(&rest[..rest.len().min(usize::from(count) * ReportBlock::OCTETS)]))
}

fn sender_report(body: &[u8], count: u8) -> Option<Body<'_>> {
    let sender = SenderInfo {
        ntp: (u64::from(word(body, 4)?) << 32) | u64::from(word(body, 8)?),
        timestamp: word(body, 12)?,
        packets: word(body, 16)?,
        octets: word(body, 20)?,
    };
    Some(Body::SenderReport { ssrc: word(body, 0)?, sender, reports: blocks(body, 24, count)? })
}

fn receiver_report(body: &[u8], count: u8) -> Option<Body<'_>> {
    Some(Body::ReceiverReport { ssrc: word(body, 0)?, reports: blocks(body, 4, count)? })
}

fn application(body: &[u8]) -> Option<Body<'_>> {
    Some(Body::Application { ssrc: word(body, 0)?, name: word(body, 4)?.to_be_bytes() })
}

fn extended_report(body: &[u8]) -> Option<Body<'_>> {
    Some(Body::ExtendedReport { ssrc: word(body, 0)?, blocks: ExtendedBlocks::new(body.get(4..)?) })
}

fn feedback(body: &[u8]) -> Option<Body<'_>> {
    Some(Body::Feedback { ssrc: word(body, 0)?, media: word(body, 4)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(fraction: u8, lost: i32) -> Vec<u8> {
        let mut o = 0x1122_3344u32.to_be_bytes().to_vec();
        o.push(fraction);
        o.extend(&lost.to_be_bytes()[1..]);
        for v in [70_000u32, 80, 0x0001_0000, 0x8000] {
            o.extend(v.to_be_bytes());
        }
        o
    }

    fn compound() -> Vec<u8> {
        let mut o = vec![0x81, 200, 0, 12];
        for v in [0x3a98_0074u32, 0xe000_0001, 0x8000_0000, 16_000, 250, 40_000] {
            o.extend(v.to_be_bytes());
        }
        o.extend(report(12, -3));
        o.extend([0x81, 202, 0, 3]);
        o.extend(0x3a98_0074u32.to_be_bytes());
        o.extend([1, 3, b'a', b'@', b'b', 0, 0, 0]);
        o.extend([0x81, 203, 0, 1]);
        o.extend(0x3a98_0074u32.to_be_bytes());
        o
    }

    #[test]
    fn reads_a_compound() {
        let o = compound();
        assert!(looks_like_rtcp(&o));
        let packets: Vec<_> = Packets::new(&o).collect();
        assert_eq!(packets[0].to_string(), "SR 0x3a980074 sent 250, 1 reports");
        let Body::SenderReport { sender, mut reports, .. } = packets[0].body else { panic!() };
        let block = reports.next().unwrap();
        assert_eq!((sender.ntp >> 32, block.lost, block.fraction_lost, block.jitter), (0xe000_0001, -3, 12, 80));
        assert_eq!(block.round_trip(0x0002_0000), Some(0x8000));
        let Body::SourceDescription(mut items) = packets[1].body else { panic!() };
        assert_eq!(items.next(), Some(DescriptionItem { ssrc: 0x3a98_0074, item: 1, text: b"a@b" }));
        assert_eq!(items.next(), None);
        assert_eq!(packets[2].body.bye_sources().collect::<Vec<_>>(), [0x3a98_0074]);
        assert_eq!(packets.len(), 3);
    }

    #[test]
    fn a_cut_compound_gives_what_is_there() {
        let o = compound();
        let packets: Vec<_> = Packets::new(&o[..30]).collect();
        assert!(packets[0].cut && packets.len() == 1);
        let Body::SenderReport { sender, mut reports, .. } = packets[0].body else { panic!() };
        assert_eq!((sender.packets, reports.next()), (250, None));
        assert_eq!(Packets::new(&o[..20]).next().unwrap().body, Body::Other);
    }

    #[test]
    fn unknown_types_and_padding_are_passed_over() {
        let o = [0xa0, 210, 0, 1, 0, 0, 0, 4, 0x80, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
        let packets: Vec<_> = Packets::new(&o).collect();
        assert_eq!(packets[0].body, Body::Other);
        assert_eq!(packets[1].body, Body::Feedback { ssrc: 1, media: 2 });
    }
}
