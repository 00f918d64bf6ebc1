//! Which of the pcap family a file is.
//!
//! Magic numbers: 0xa1b2c3d4 microseconds, 0xa1b23c4d nanoseconds, 0xa1b2cd34 Alexey Kuznetsov's patches, 0x1c0001ac
//! and 0x1c0001ab Ixia's hardware and software captures (lcap). Red Hat 6.1 (the patch of 1999-04-17), Nokia's IPSO and
//! AIX wrote other record headers behind the first of these without saying so: their first records tell. What is known
//! of them is from the comments in libpcap's `sf-pcap.c` and Wireshark's `wiretap/libpcap.c`.

use super::{ByteOrder, FileHeader, HEADER_OCTETS, Lengths, PACKET_OCTETS_MAX, PcapError, link_type};

/// A member of the pcap family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As the draft says.
    Standard,
    /// Ixia's: four more octets in the file header (the octets of all records).
    Ixia,
    /// AIX: interface types of RFC 1573 in place of link types, nanoseconds.
    Aix,
    /// Kuznetsov's patch of 1999-04-17 (Red Hat 6.1): 8 more octets in the record header, the standard magic number.
    Patched990417,
    /// Kuznetsov's patch of 1999-09-15 (SuSE 6.3): 12 more octets.
    Patched990915,
    /// Kuznetsov's patch of 1999-10-29: 8 more octets.
    Patched991029,
    /// Nokia's IPSO: 4 more octets, the standard magic number.
    Nokia,
}

impl Variant {
    /// Octets of a record's header.
    pub const fn record_octets(self) -> usize {
        match self {
            Variant::Standard | Variant::Ixia | Variant::Aix => 16,
            Variant::Nokia => 20,
            Variant::Patched990417 | Variant::Patched991029 => 24,
            Variant::Patched990915 => 28,
        }
    }

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Standard => "pcap",
            Variant::Ixia => "pcap (Ixia)",
            Variant::Aix => "pcap (AIX)",
            Variant::Patched990417 => "pcap (patched 1999-04-17)",
            Variant::Patched990915 => "pcap (patched 1999-09-15)",
            Variant::Patched991029 => "pcap (patched 1999-10-29)",
            Variant::Nokia => "pcap (Nokia)",
        }
    }
}

/// What a magic number tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Magic {
    Microseconds,
    Nanoseconds,
    Patched,
    IxiaHardware,
    IxiaSoftware,
}

impl Magic {
    fn read(octets: [u8; 4]) -> Result<(Magic, ByteOrder), PcapError> {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let magic = match order.u32(octets) {
                0xa1b2_c3d4 => Magic::Microseconds,
                0xa1b2_3c4d => Magic::Nanoseconds,
                0xa1b2_cd34 => Magic::Patched,
                0x1c00_01ac => Magic::IxiaHardware,
                0x1c00_01ab => Magic::IxiaSoftware,
                // Of Navtel and of Francisco Mesquita: libpcap names them and does not read them either.
                unknown @ (0xa12b_3c4d | 0xa1b2_34cd) => return Err(PcapError::UnknownVariant(unknown)),
                _ => continue,
            };
            return Ok((magic, order));
        }
        Err(PcapError::NotPcap)
    }
}

/// Whether a file that begins so is of the family.
pub fn is_pcap(octets: &[u8]) -> bool {
    octets.first_chunk().is_some_and(|magic| Magic::read(*magic) != Err(PcapError::NotPcap))
}

/// Whether the records have to be seen to tell the variant, so that more octets are worth waiting for.
pub fn wants_records(octets: &[u8]) -> bool {
    octets.first_chunk().is_some_and(|magic| matches!(Magic::read(*magic), Ok((Magic::Patched, _))))
}

/// [`FileHeader::parse`].
pub(super) fn parse(octets: &[u8], whole: bool) -> Result<FileHeader, PcapError> {
    let (magic, order) = Magic::read(*octets.first_chunk().ok_or(PcapError::NotPcap)?)?;
    let ixia = matches!(magic, Magic::IxiaHardware | Magic::IxiaSoftware);
    let header_octets = if ixia { HEADER_OCTETS + 4 } else { HEADER_OCTETS };
    let h: &[u8; HEADER_OCTETS] = octets.first_chunk().ok_or(PcapError::HeaderCut(octets.len()))?;
    if octets.len() < header_octets {
        return Err(PcapError::HeaderCut(octets.len()));
    }
    let version = (order.u16([h[4], h[5]]), order.u16([h[6], h[7]]));
    if version.0 < 2 {
        return Err(PcapError::Version(version.0, version.1));
    }
    let network = order.u32([h[20], h[21], h[22], h[23]]);
    let mut header = FileHeader {
        order,
        variant: if ixia { Variant::Ixia } else { Variant::Standard },
        nanoseconds: matches!(magic, Magic::Nanoseconds | Magic::IxiaHardware),
        version,
        snap: order.u32([h[16], h[17], h[18], h[19]]),
        link: link_type(network),
        // Draft section 4: bit 26 says that the length is there, bits 28 to 31 count 16-bit units.
        fcs_octets: (network & 0x0400_0000 != 0).then_some((network >> 28) as u8 * 2),
        lengths: lengths_of(version),
        octets: header_octets,
    };
    match (magic, version, network) {
        (Magic::Microseconds, (2, 2), 6 | 9 | 15 | 24) => header.become_aix(network),
        (Magic::Microseconds, (2, 4..), _) => {
            header.choose(&[Variant::Standard, Variant::Patched990417, Variant::Nokia], &octets[header_octets..], whole)
        }
        (Magic::Patched, ..) => {
            header.choose(&[Variant::Patched991029, Variant::Patched990915], &octets[header_octets..], whole);
        }
        _ => {}
    }
    Ok(header)
}

/// Version 2.3 put the captured length first; some files say 2.3 and have it second. DG/UX says 543.0 and has it
/// second.
const fn lengths_of(version: (u16, u16)) -> Lengths {
    match version {
        (2, 0..=2) | (543, _) => Lengths::WireFirst,
        (2, 3) => Lengths::Either,
        _ => Lengths::CapturedFirst,
    }
}

impl FileHeader {
    /// Field: AIX writes version 2.2 and the interface type of RFC 1573 (Ethernet 6, token ring 9, FDDI 15, loopback
    /// 24); the old libpcap that wrote 2.2 as well knew none of these as a link type but 9.
    fn become_aix(&mut self, interface_type: u32) {
        self.variant = Variant::Aix;
        self.nanoseconds = true;
        self.link = match interface_type {
            6 => 1,
            9 => 6,
            15 => 10,
            _ => 0,
        };
    }

    /// Takes the candidate whose first records look least odd; the first one wins a tie.
    fn choose(&mut self, candidates: &[Variant], records: &[u8], whole: bool) {
        let oddities = |variant: &&Variant| self.oddities(**variant, records, whole);
        self.variant = candidates.iter().min_by_key(oddities).copied().unwrap_or(Variant::Standard);
        // Field: Nokia's 13 is some form of ATM with a pseudo-header (LINKTYPE_SUNATM there too).
        if self.variant == Variant::Nokia && self.link == 100 {
            self.link = 123;
        }
    }

    /// How many things are odd about the first three records, read as this variant.
    fn oddities(&self, variant: Variant, records: &[u8], whole: bool) -> u32 {
        let mut odd = 0;
        let mut left = records;
        for _ in 0..3 {
            let header = &left[..left.len().min(variant.record_octets())];
            if header.len() >= Variant::Standard.record_octets() {
                odd += self.oddities_of(variant, header);
            }
            if header.len() < variant.record_octets() {
                return odd + u32::from(whole && !left.is_empty());
            }
            let captured = self.word(header, 8);
            if captured > PACKET_OCTETS_MAX {
                return odd + 1;
            }
            let Some(next) = left.get(header.len() + captured as usize..) else {
                return odd + u32::from(whole);
            };
            left = next;
        }
        odd
    }

    /// The same of one record header, of which at least 16 octets are there.
    fn oddities_of(&self, variant: Variant, header: &[u8]) -> u32 {
        let (captured, wire) = (self.word(header, 8), self.word(header, 12));
        let ordinary = [self.word(header, 4) >= 1_000_000, captured > self.snap, wire > 128 << 20, captured > wire];
        let own = match variant {
            Variant::Nokia => !is_nokia_mark(self.word(header, 16)) as u32,
            Variant::Patched990417 | Variant::Patched990915 | Variant::Patched991029 => {
                // Interface index, Ethernet type or ETH_P_ number, PACKET_ type of Linux.
                let [a, b, kind, _] = header.get(20..).and_then(|o| o.first_chunk()).copied().unwrap_or_default();
                let known = matches!(self.order.u16([a, b]), 0..=0x17 | 0x60 | 0x200 | 0x400 | 0x600..);
                u32::from(self.word(header, 16) > 10_000) + u32::from(!known) + u32::from(kind > 4)
            }
            _ => 0,
        };
        ordinary.iter().map(|odd| u32::from(*odd)).sum::<u32>() + own
    }

    /// A number of a record header, 0 where it is cut.
    fn word(&self, header: &[u8], at: usize) -> u32 {
        header.get(at..).and_then(|o| o.first_chunk()).map_or(0, |o| self.order.u32(*o))
    }
}

/// What was seen in the four octets that Nokia adds: 9fbfb601 and the like, one bit different in four places.
const fn is_nokia_mark(mark: u32) -> bool {
    mark & 0x0fff_00f0 == 0x0fbf_0000
        && matches!(mark >> 28, 9 | 0xb)
        && matches!(mark >> 12 & 15, 0xb | 0xd)
        && matches!(mark >> 8 & 15, 6 | 9)
        && matches!(mark & 15, 1 | 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::{Frame, check};

    /// A file of two packets as the given writer would have made it.
    fn file(magic: u32, version: (u16, u16), network: u32, header_extra: usize, records: &[u8], big: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |n: u32, octets: usize| match big {
            true => out.extend_from_slice(&n.to_be_bytes()[4 - octets..]),
            false => out.extend_from_slice(&n.to_le_bytes()[..octets]),
        };
        put(magic, 4);
        put(version.0.into(), 2);
        put(version.1.into(), 2);
        put(0, 4);
        put(0, 4);
        put(65_535, 4);
        put(network, 4);
        for i in 0..2 {
            for field in records {
                match field {
                    b's' => put(1_000 + i, 4),
                    b'f' => put(7, 4),
                    b'c' => put(4, 4),
                    b'w' => put(60, 4),
                    b'n' => put(0x9fbf_b601, 4),
                    b'i' => put(3, 4),
                    b'p' => put(0x800, 2),
                    b't' => put(4, 1),
                    b'0' => put(0xff, 1),
                    _ => (0..4).for_each(|_| put(0xfe, 1)),
                }
            }
        }
        out.splice(24..24, vec![0; header_extra]);
        out
    }

    fn expect(file: &[u8], variant: Variant, link: u16, fraction_ns: i64) {
        let header = FileHeader::parse(file, true).unwrap();
        assert_eq!((header.variant, header.link), (variant, link));
        let found = check::Frames::of(&file[header.octets..], |o, s| header.scan(o, s));
        assert_eq!(found.frames.len(), 2, "{variant:?}");
        let Frame { at_ns, captured, wire, .. } = found.frames[1];
        assert_eq!((at_ns, captured, wire), (1_001_000_000_000 + fraction_ns, 4, 60), "{variant:?}");
        assert_eq!(file[header.octets + found.frames[0].start], 0xfe);
    }

    #[test]
    fn all_variants_in_both_byte_orders() {
        for big in [false, true] {
            expect(&file(0xa1b2_c3d4, (2, 4), 1, 0, b"sfcwd", big), Variant::Standard, 1, 7_000);
            expect(&file(0xa1b2_3c4d, (2, 4), 1, 0, b"sfcwd", big), Variant::Standard, 1, 7);
            expect(&file(0x1c00_01ac, (2, 4), 1, 4, b"sfcwd", big), Variant::Ixia, 1, 7);
            expect(&file(0x1c00_01ab, (2, 4), 1, 4, b"sfcwd", big), Variant::Ixia, 1, 7_000);
            expect(&file(0xa1b2_c3d4, (2, 2), 6, 0, b"sfwcd", big), Variant::Aix, 1, 7);
            expect(&file(0xa1b2_c3d4, (2, 1), 1, 0, b"sfwcd", big), Variant::Standard, 1, 7_000);
            expect(&file(0xa1b2_c3d4, (2, 3), 1, 0, b"sfwcd", big), Variant::Standard, 1, 7_000);
            expect(&file(0xa1b2_c3d4, (2, 3), 1, 0, b"sfcwd", big), Variant::Standard, 1, 7_000);
            expect(&file(0xa1b2_c3d4, (543, 0), 1, 0, b"sfwcd", big), Variant::Standard, 1, 7_000);
            expect(&file(0xa1b2_c3d4, (2, 4), 1, 0, b"sfcwipt0d", big), Variant::Patched990417, 1, 7_000);
            expect(&file(0xa1b2_cd34, (2, 4), 1, 0, b"sfcwipt0d", big), Variant::Patched991029, 1, 7_000);
            expect(&file(0xa1b2_cd34, (2, 4), 1, 0, b"sfcwipt00000d", big), Variant::Patched990915, 1, 7_000);
            expect(&file(0xa1b2_c3d4, (2, 4), 1, 0, b"sfcwnd", big), Variant::Nokia, 1, 7_000);
        }
    }

    #[test]
    fn aix_fddi_has_three_octets_in_front() {
        let file = file(0xa1b2_c3d4, (2, 2), 15, 0, b"sfwcd", true);
        let header = FileHeader::parse(&file, true).unwrap();
        let found = check::Frames::of(&file[24..], |o, s| header.scan(o, s));
        assert_eq!((header.link, found.frames[0].captured, found.frames[0].start), (10, 1, 19));
    }

    #[test]
    fn names_what_it_cannot_read() {
        let parse = |o: &[u8]| FileHeader::parse(o, true).unwrap_err();
        assert_eq!(parse(b"\x7fELF"), PcapError::NotPcap);
        assert_eq!(parse(b"\xd4\xc3\xb2\xa1\x02"), PcapError::HeaderCut(5));
        assert_eq!(parse(&0xa12b_3c4d_u32.to_le_bytes()), PcapError::UnknownVariant(0xa12b_3c4d));
        assert_eq!(parse(&file(0xa1b2_c3d4, (1, 9), 1, 0, b"", false)), PcapError::Version(1, 9));
        assert_eq!(parse(&file(0x1c00_01ac, (2, 4), 1, 0, b"", false)), PcapError::HeaderCut(24));
    }
}
