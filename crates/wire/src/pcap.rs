//! Capture files of the pcap family: draft-ietf-opsawg-pcap, and the variants that the field wrote before and beside.
//!
//! A file is a 24-octet header and records: seconds, a fraction, the captured and the wire length, then the octets.
//! Byte order and the unit of the fraction are told by the magic number; what else the variants differ in is in
//! [`variant`]. Framing is pure: octets in, places of packets out, nothing is copied.

pub mod emit;
pub mod variant;

use core::fmt;

pub use variant::Variant;

/// Longest packet that a record may hold, octets: what libpcap and Wireshark take (MAXIMUM_SNAPLEN). A longer one means
/// that the length field is damaged: framing stops there with [`PcapError::PacketTooLong`].
// Limit: length of one packet of a pcap file
// Beyond: the file is read up to there
// Seen in: an error for the file; exit code 3
pub const PACKET_OCTETS_MAX: u32 = 262_144;
/// The same for link types whose packets are longer by design: D-Bus (231), USBPcap (249), EBHSCR (279).
pub const LONG_PACKET_OCTETS_MAX: u32 = 16 << 20;
/// Octets of the file header (4 more in Ixia's).
pub const HEADER_OCTETS: usize = 24;

/// Longest packet of a link type, octets.
pub const fn packet_octets_max(link: u16) -> u32 {
    match link {
        231 | 249 | 279 => LONG_PACKET_OCTETS_MAX,
        _ => PACKET_OCTETS_MAX,
    }
}

/// The order of a file's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant octet first.
    Little,
    /// Most significant octet first.
    Big,
}

impl ByteOrder {
    /// A 16-bit number.
    #[inline]
    pub const fn u16(self, o: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(o),
            ByteOrder::Big => u16::from_be_bytes(o),
        }
    }

    /// A 32-bit number.
    #[inline]
    pub const fn u32(self, o: [u8; 4]) -> u32 {
        match self {
            ByteOrder::Little => u32::from_le_bytes(o),
            ByteOrder::Big => u32::from_be_bytes(o),
        }
    }

    /// A 64-bit number.
    #[inline]
    pub const fn u64(self, o: [u8; 8]) -> u64 {
        match self {
            ByteOrder::Little => u64::from_le_bytes(o),
            ByteOrder::Big => u64::from_be_bytes(o),
        }
    }
}

/// Where one packet lies in the octets that were scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When it was captured, nanoseconds since 1970, UTC.
    pub at_ns: i64,
    /// Where its record or block begins.
    pub record: usize,
    /// Where its octets begin.
    pub start: usize,
    /// How many octets were captured: `start + captured` lies inside the octets scanned.
    pub captured: u32,
    /// How many octets it had on the wire.
    pub wire: u32,
    /// Link type, a LINKTYPE_ number.
    pub link: u16,
}

/// What a scan of a run of octets came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned<E> {
    /// Octets of whole records, from the beginning. The next scan begins behind them.
    pub consumed: usize,
    /// Why it went no further.
    pub rest: Rest<E>,
}

/// Why a scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest<E> {
    /// What is left is the beginning of a record that is at least so many octets long. Nothing is left at a clean end.
    Needs(usize),
    /// What follows is a block that nobody reads: so many octets to pass over.
    Skip(u64),
    /// The record that begins at `consumed` is damaged.
    Broken(E),
}

/// Takes what a scan finds, in the order of the file. All but packets may be left out.
pub trait Sink {
    /// A packet.
    fn packet(&mut self, frame: Frame);
    /// Packets that the capturing side lost (pcapng only).
    fn lost(&mut self, _lost: crate::pcapng::Lost) {}
    /// Secrets that decrypt the packets (pcapng only): their type and the octets.
    fn secrets(&mut self, _kind: u32, _octets: &[u8]) {}
    /// A block that is neither packet nor description (pcapng only): its type.
    fn passed(&mut self, _block: u32) {}
}

/// What is wrong with a pcap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcapError {
    /// The magic number is none of pcap's.
    NotPcap,
    /// A magic number of the family whose layout nobody has published.
    UnknownVariant(u32),
    /// The file ends inside its header: how many octets there are.
    HeaderCut(usize),
    /// A version before 2.0.
    Version(u16, u16),
    /// A record longer than [`packet_octets_max`]: what it says, and the limit.
    PacketTooLong(u32, u32),
}

impl fmt::Display for PcapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PcapError::NotPcap => f.write_str("no magic number of pcap"),
            PcapError::UnknownVariant(magic) => {
                write!(f, "a pcap variant whose layout is not published (magic number 0x{magic:08x})")
            }
            PcapError::HeaderCut(n) => write!(f, "the pcap file header is cut short after {n} octets"),
            PcapError::Version(major, minor) => write!(f, "pcap version {major}.{minor} is not known"),
            PcapError::PacketTooLong(n, limit) => {
                write!(f, "the record says {n} octets, more than the limit of {limit}: the length is damaged")
            }
        }
    }
}

impl core::error::Error for PcapError {}

/// How the two lengths of a record are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Captured, then wire: version 2.4.
    CapturedFirst,
    /// Wire, then captured: before version 2.3, and DG/UX.
    WireFirst,
    /// Version 2.3 was written both ways: the smaller one is what was captured.
    Either,
}

/// A file header, read, and with it how to frame the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Byte order of all numbers.
    pub order: ByteOrder,
    /// Which of the family.
    pub variant: Variant,
    /// Whether fractions of a second count nanoseconds, not microseconds.
    pub nanoseconds: bool,
    /// Version, major and minor.
    pub version: (u16, u16),
    /// Snapshot length, octets. Files lie about it: no limit is taken from it.
    pub snap: u32,
    /// Link type, a LINKTYPE_ number. Old numbers for raw IP (12, 14) and ATM (11, 13) are given as today's.
    pub link: u16,
    /// Octets of frame check sequence at each packet's end, when the file says it.
    pub fcs_octets: Option<u8>,
    /// Order of the lengths.
    pub lengths: Lengths,
    /// Octets of this header.
    pub octets: usize,
}

impl FileHeader {
    /// Reads a file header. `octets` is the beginning of the file, the more the better: variants that share a magic
    /// number are told apart by their first three records. `whole` says that these are all of the file's octets.
    ///
    /// # Errors
    /// All of [`PcapError`] but `PacketTooLong`.
    pub fn parse(octets: &[u8], whole: bool) -> Result<FileHeader, PcapError> {
        variant::parse(octets, whole)
    }

    /// Frames the records that lie whole in `octets`, which begin at a record.
    #[inline]
    pub fn scan(&self, octets: &[u8], sink: &mut impl Sink) -> Scanned<PcapError> {
        let plain = self.record_octets() == 16 && self.padding() == 0 && self.lengths == Lengths::CapturedFirst;
        match (plain, self.order) {
            (true, ByteOrder::Little) => self.scan_as::<false, true>(octets, sink),
            (true, ByteOrder::Big) => self.scan_as::<true, true>(octets, sink),
            (false, ByteOrder::Little) => self.scan_as::<false, false>(octets, sink),
            (false, ByteOrder::Big) => self.scan_as::<true, false>(octets, sink),
        }
    }

    /// The loop over records, made once for each byte order and apart for the ordinary layout: it is the floor under
    /// the cost of every packet.
    #[inline]
    fn scan_as<const BIG: bool, const PLAIN: bool>(&self, octets: &[u8], sink: &mut impl Sink) -> Scanned<PcapError> {
        let header_octets = if PLAIN { 16 } else { self.record_octets() };
        let padding = if PLAIN { 0 } else { self.padding() };
        let tick_ns: i64 = if self.nanoseconds { 1 } else { 1000 };
        let limit = packet_octets_max(self.link);
        let mut at = 0;
        loop {
            let left = &octets[at..];
            let Some(header) = left.first_chunk::<16>().filter(|_| PLAIN || left.len() >= header_octets) else {
                return Scanned { consumed: at, rest: Rest::Needs(header_octets) };
            };
            let [seconds, fraction, first, second] = words::<BIG>(header);
            let (captured, wire) = if PLAIN { (first, second) } else { self.lengths.sort(first, second) };
            if captured > limit {
                return Scanned { consumed: at, rest: Rest::Broken(PcapError::PacketTooLong(captured, limit)) };
            }
            let octets_of_record = header_octets + captured as usize;
            if octets_of_record > left.len() {
                return Scanned { consumed: at, rest: Rest::Needs(octets_of_record) };
            }
            let padding = padding.min(captured);
            sink.packet(Frame {
                at_ns: i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * tick_ns,
                record: at,
                start: at + header_octets + padding as usize,
                captured: captured - padding,
                wire: wire.saturating_sub(padding),
                link: self.link,
            });
            at += octets_of_record;
        }
    }

    /// Octets of a record's header.
    pub const fn record_octets(&self) -> usize {
        self.variant.record_octets()
    }

    /// Octets in front of each packet that belong to no protocol. Field: AIX pads FDDI frames by three.
    const fn padding(&self) -> u32 {
        if matches!(self.variant, Variant::Aix) && self.link == 10 { 3 } else { 0 }
    }
}

impl Lengths {
    /// Captured and wire length of the two as they stand.
    #[inline]
    const fn sort(self, first: u32, second: u32) -> (u32, u32) {
        match self {
            Lengths::CapturedFirst => (first, second),
            Lengths::WireFirst => (second, first),
            Lengths::Either if first > second => (second, first),
            Lengths::Either => (first, second),
        }
    }
}

/// The four numbers that all record headers begin with.
#[inline]
fn words<const BIG: bool>(o: &[u8; 16]) -> [u32; 4] {
    let order = if BIG { ByteOrder::Big } else { ByteOrder::Little };
    [
        order.u32([o[0], o[1], o[2], o[3]]),
        order.u32([o[4], o[5], o[6], o[7]]),
        order.u32([o[8], o[9], o[10], o[11]]),
        order.u32([o[12], o[13], o[14], o[15]]),
    ]
}

/// Today's number of a link type as pcap headers hold it: the upper half of the field is for other things, and some
/// numbers below 100 meant different things on different systems (pcap-linktype(7), pcap-common.c).
pub const fn link_type(network: u32) -> u16 {
    match (network & 0xffff) as u16 {
        11 | 13 => 100,
        12 | 14 => 101,
        other => other,
    }
}

/// What the fuzz target drives: header, framing, and that framing in two pieces finds the same.
#[doc(hidden)]
pub fn exercise(octets: &[u8]) {
    let Ok(header) = FileHeader::parse(octets, true) else { return };
    let records = octets.get(header.octets..).unwrap_or_default();
    let whole = check::Frames::of(records, |o, s| header.scan(o, s));
    assert!(whole.scanned.consumed <= records.len());
    for cut in [records.len() / 2, records.len().saturating_sub(1)] {
        let first = check::Frames::of(&records[..cut], |o, s| header.scan(o, s));
        let then = check::Frames::of(&records[first.scanned.consumed..], |o, s| header.scan(o, s));
        assert_eq!(first.frames.len() + then.frames.len(), whole.frames.len());
        assert_eq!(first.scanned.consumed + then.scanned.consumed, whole.scanned.consumed);
    }
}

/// Frames gathered by a scan, with the checks that each must pass.
pub(crate) mod check {
    use super::{Frame, Scanned, Sink};

    pub(crate) struct Frames<E> {
        pub frames: Vec<Frame>,
        pub scanned: Scanned<E>,
    }

    impl<E> Frames<E> {
        pub fn of(octets: &[u8], scan: impl FnOnce(&[u8], &mut List) -> Scanned<E>) -> Self {
            let mut list = List(Vec::new());
            let scanned = scan(octets, &mut list);
            for frame in &list.0 {
                assert!(frame.record < frame.start);
                assert!(frame.start + frame.captured as usize <= scanned.consumed);
            }
            Frames { frames: list.0, scanned }
        }
    }

    pub(crate) struct List(pub Vec<Frame>);

    impl Sink for List {
        fn packet(&mut self, frame: Frame) {
            self.0.push(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tcpdump -w` of one packet of 4 octets, little-endian, microseconds, Ethernet.
    const ONE: &[u8] = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0\
        \x01\0\0\0\x02\0\0\0\x04\0\0\0\x09\0\0\0abcd";

    fn frames(file: &[u8]) -> (FileHeader, Vec<Frame>, Scanned<PcapError>) {
        let header = FileHeader::parse(file, true).unwrap();
        let found = check::Frames::of(&file[header.octets..], |o, s| header.scan(o, s));
        (header, found.frames, found.scanned)
    }

    #[test]
    fn frames_one_packet() {
        let (header, frames, scanned) = frames(ONE);
        assert_eq!((header.link, header.snap, header.version), (1, 262_144, (2, 4)));
        let frame = Frame { at_ns: 1_000_002_000, record: 0, start: 16, captured: 4, wire: 9, link: 1 };
        assert_eq!(frames, [frame]);
        assert_eq!(scanned, Scanned { consumed: 20, rest: Rest::Needs(16) });
    }

    #[test]
    fn a_cut_record_says_what_it_needs() {
        let (_, frames, scanned) = frames(&ONE[..ONE.len() - 1]);
        assert_eq!(frames, []);
        assert_eq!(scanned, Scanned { consumed: 0, rest: Rest::Needs(20) });
    }

    #[test]
    fn a_length_beyond_the_limit_is_named() {
        let mut file = ONE.to_vec();
        file[24 + 8..24 + 12].copy_from_slice(&262_145u32.to_le_bytes());
        let (_, _, scanned) = frames(&file);
        assert_eq!(scanned.rest, Rest::Broken(PcapError::PacketTooLong(262_145, 262_144)));
    }

    #[test]
    fn old_link_types_and_upper_bits() {
        assert_eq!(link_type(12), 101);
        assert_eq!(link_type(0x3400_0001), 1);
        let mut file = ONE.to_vec();
        file[20..24].copy_from_slice(&0x2400_0001u32.to_le_bytes());
        let (header, ..) = frames(&file);
        assert_eq!((header.link, header.fcs_octets), (1, Some(4)));
    }

    #[test]
    fn exercise_takes_anything() {
        for cut in 0..ONE.len() {
            exercise(&ONE[..cut]);
        }
    }
}
