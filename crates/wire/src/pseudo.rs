//! Headers that capturing software or hardware puts before a frame and that name its link type: PPI, PKTAP, ERF, NFLOG,
//! ...

use crate::link::of_type;
use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, ether, hdlc, ipv4, ipv6, transport, wlan};

/// CACE's per-packet information: version, flags, length and link type, little endian, then fields.
pub(crate) fn ppi(walk: Walk, at: usize) -> Decoded {
    let (Some(walk), Some([0, _, l1, l2, d1, d2, d3, d4])) = (walk.deeper(), walk.array(at)) else {
        return malformed(Layer::Link);
    };
    let length = usize::from(u16::from_le_bytes([l1, l2]));
    match (u16::try_from(u32::from_le_bytes([d1, d2, d3, d4])), length) {
        (Ok(link), 8..) => of_type(walk, at + length, link),
        _ => malformed(Layer::Link),
    }
}

/// Darwin's PKTAP: length, type of record, link type, little endian, then names and numbers.
pub(crate) fn pktap(walk: Walk, at: usize) -> Decoded {
    let (Some(walk), Some(header)) = (walk.deeper(), walk.array::<12>(at)) else { return malformed(Layer::Link) };
    let word = |n: usize| u32::from_le_bytes([header[n], header[n + 1], header[n + 2], header[n + 3]]);
    match (word(0), u16::try_from(word(8))) {
        (length @ 12..=4096, Ok(link)) => of_type(walk, at + length as usize, link),
        _ => malformed(Layer::Link),
    }
}

/// Endace's extensible record format: timestamp (8), type, flags, lengths; extension headers while the top bit is set.
pub(crate) fn erf(walk: Walk, at: usize) -> Decoded {
    const EXTENSIONS_MAX: usize = 16;
    let Some(kind) = walk.u8(at + 8) else { return malformed(Layer::Link) };
    let more = |n: &usize| walk.u8(at + if *n == 0 { 8 } else { 8 + n * 8 }).is_some_and(|o| o & 0x80 != 0);
    let extensions = (0..EXTENSIONS_MAX).take_while(more).count();
    let payload = at + 16 + extensions * 8;
    match kind & 0x7f {
        // Ethernet, also with colours and channels: an offset and a pad octet go before the frame.
        2 | 11 | 16 | 20 => ether::frame(walk, payload + 2),
        // HDLC over SONET; IPv4; IPv6.
        1 | 10 | 15 | 17 => hdlc::frame(walk, payload),
        22 => ipv4::packet(walk, payload),
        23 => ipv6::packet(walk, payload),
        _ => Decoded::Other,
    }
}

/// Linux netfilter's log: family, version, resource, then attributes of which 9 is the packet; in the byte order of the
/// host.
pub(crate) fn netfilter_log(walk: Walk, at: usize) -> Decoded {
    const ATTRIBUTES_MAX: usize = 64;
    const PAYLOAD: u16 = 9;
    let mut at = at + 4;
    for _ in 0..ATTRIBUTES_MAX {
        let Some([l1, l2, t1, t2]) = walk.array(at) else { return malformed(Layer::Link) };
        let (mut length, mut kind) = (u16::from_le_bytes([l1, l2]), u16::from_le_bytes([t1, t2]));
        if l1 == 0 && t1 == 0 {
            (length, kind) = (length.swap_bytes(), kind.swap_bytes());
        }
        if length < 4 {
            return malformed(Layer::Link);
        }
        if kind & 0x7fff == PAYLOAD {
            return transport::by_version(walk.narrow(at, usize::from(length)), at + 4);
        }
        at += usize::from(length).next_multiple_of(4);
    }
    malformed(Layer::Link)
}

/// A switch's tag between the addresses and the type (Broadcom, Marvell): `tag` octets at `before` octets from the
/// frame's start.
pub(crate) fn switch_tag(walk: Walk, at: usize, tag: usize) -> Decoded {
    match walk.u16(at + 12 + tag) {
        Some(kind) => ether::typed_slowly(walk, at + ether::HEADER + tag, kind),
        None => malformed(Layer::Link),
    }
}

/// Token ring: access and frame control, addresses, a source route if the source says so, then LLC.
pub(crate) fn token_ring(walk: Walk, at: usize) -> Decoded {
    match walk.u8(at + 8) {
        Some(source) if source & 0x80 != 0 => match walk.u8(at + 14) {
            Some(route) => crate::llc::header(walk, at + 14 + usize::from(route & 0x1f)),
            None => malformed(Layer::Link),
        },
        Some(_) => crate::llc::header(walk, at + 14),
        None => malformed(Layer::Link),
    }
}

/// 802.11 with the header of the link type that names it.
pub(crate) fn wireless(walk: Walk, at: usize, link: u16) -> Decoded {
    match link {
        119 => wlan::prism(walk, at),
        127 => wlan::radiotap(walk, at),
        163 => wlan::avs(walk, at),
        _ => wlan::frame(walk, at, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const FRAME: [u8; 44] = [
        1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0, 0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h', b'i',
    ];

    fn is_the_datagram(link: u16, parts: &[&[u8]]) {
        let decoded = decode(link, &parts.concat());
        assert!(matches!(decoded, Decoded::Udp(d) if d.payload_captured == 2), "{link} {decoded:?}");
    }

    #[test]
    fn headers_that_name_a_link_type() {
        is_the_datagram(192, &[&[0, 0, 8, 0, 1, 0, 0, 0], &FRAME]);
        is_the_datagram(258, &[&[16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9], &FRAME]);
        is_the_datagram(197, &[&[0; 8], &[2, 4, 0, 0, 0, 0, 0, 0, 0, 0], &FRAME]);
        is_the_datagram(197, &[&[0; 8], &[0x82, 4, 0, 0, 0, 0, 0, 0], &[3; 8], &[0, 0], &FRAME]);
        is_the_datagram(239, &[&[2, 0, 0, 0, 5, 0, 10, 0, 1, 0, 0, 0, 34, 0, 9, 0], &FRAME[14..]]);
        is_the_datagram(281, &[&FRAME[..12], &[9; 4], &FRAME[12..]]);
        is_the_datagram(282, &[&[9; 4], &FRAME]);
        is_the_datagram(6, &[&[0; 14], &[0xaa, 0xaa, 3, 0, 0, 0], &FRAME[12..]]);
        is_the_datagram(6, &[&[0; 8], &[0x80, 0, 0, 0, 0, 0], &[2, 0, 0xaa, 0xaa, 3, 0, 0, 0], &FRAME[12..]]);
    }

    #[test]
    fn nested_headers_end() {
        let nested = [0, 0, 8, 0, 192, 0, 0, 0].repeat(100);
        assert_eq!(decode(192, &nested), malformed(Layer::Link));
        assert_eq!(decode(192, &[0, 0, 4, 0, 1, 0, 0, 0]), malformed(Layer::Link));
    }
}
