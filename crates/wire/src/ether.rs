//! Ethernet (IEEE 802.3), its tags, and what an EtherType leads to.
//!
//! ```text
//! | dst (6) | src (6) | type or length | ...
//! 802.1Q tag: | 0x8100 | priority, VLAN identifier | type |
//! ```

use crate::walk::{Walk, malformed};
use crate::{Decoded, Layer, ipv4, ipv6, llc, mpls, nsh, ppp, transport};

/// Octets of the header up to the payload.
pub const HEADER: usize = 14;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;

/// Types from here on are types; below they are lengths (IEEE 802.3 clause 3.2.6).
const TYPE_MIN: u16 = 0x0600;

/// [`frame_inlined`] for the decoders that are not on the fast path.
#[inline(never)]
pub(crate) fn frame(walk: Walk, at: usize) -> Decoded {
    frame_inlined(walk, at)
}

#[inline(always)]
pub(crate) fn frame_inlined(walk: Walk, at: usize) -> Decoded {
    let (Some(walk), Some(kind)) = (walk.deeper(), walk.u16(at + 12)) else { return malformed(Layer::Link) };
    typed_inlined(walk, at + HEADER, kind)
}

/// What follows a type field.
#[inline(always)]
fn typed_inlined(walk: Walk, at: usize, kind: u16) -> Decoded {
    match kind {
        IPV4 => ipv4::packet_inlined(walk, at),
        IPV6 => ipv6::packet(walk, at),
        VLAN => one_tag(walk, at),
        _ => shim(walk, at, kind),
    }
}

/// One 802.1Q tag in front of IP: nearly all tagged traffic.
#[inline(always)]
fn one_tag(mut walk: Walk, at: usize) -> Decoded {
    let (Some(control), Some(kind)) = (walk.u16(at), walk.u16(at + 2)) else { return malformed(Layer::Shim) };
    if walk.vlan == 0 {
        walk.vlan = control & 0x0fff;
    }
    match kind {
        IPV4 => ipv4::packet_inlined(walk, at + 4),
        IPV6 => ipv6::packet(walk, at + 4),
        _ => shim(walk, at + 4, kind),
    }
}

#[inline(never)]
fn shim(walk: Walk, at: usize, kind: u16) -> Decoded {
    let Some(walk) = walk.deeper() else { return malformed(Layer::Shim) };
    match kind {
        0..TYPE_MIN => llc::of_length(walk, at, kind),
        IPV4 => ipv4::packet(walk, at),
        IPV6 => ipv6::packet(walk, at),
        // 802.1Q, 802.1ad, and what came before 802.1ad.
        VLAN | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => one_tag(walk, at),
        0x8847 | 0x8848 => mpls::stack(walk, at),
        0x8864 => ppp::over_ethernet(walk, at),
        0x880b => ppp::frame(walk, at),
        0x894f => nsh::header(walk, at),
        0x8870 => llc::header(walk, at),
        0x6558 => frame(walk, at),
        // 802.1ah: flags and service identifier, then the customer's frame.
        0x88e7 => frame(walk, at + 4),
        // Cisco FabricPath: tree and time to live, then a frame.
        0x8903 => frame(walk, at + 2),
        // VN-Tag: 4 octets; HSR and 802.1CB: path or reserved, size and sequence number.
        0x8926 | 0x892f => next_type(walk, at + 4),
        0xf1c1 => next_type(walk, at + 4),
        // Cisco MetaData: version, length, option (2), group (2).
        0x8909 => next_type(walk, at + 6),
        _ if is_known_without_transport(kind) => Decoded::Other,
        _ => Decoded::Unknown(Layer::Link),
    }
}

/// Whether a frame that begins at `at` would have a type that fits what follows: what guesses are checked with.
pub(crate) fn is_likely(walk: &Walk, at: usize) -> bool {
    match walk.u16(at + 12) {
        Some(IPV4 | IPV6) => transport::fits(walk, at + HEADER, false),
        Some(VLAN | 0x88a8 | 0x9100 | 0x8847 | 0x0806 | 0x8864 | 0x8863 | 0x88cc | 0x8902) => true,
        // A length, and service access points of LLC that are in use.
        Some(length @ 3..TYPE_MIN) => {
            usize::from(length) <= walk.left(at + HEADER)
                && matches!(walk.array(at + HEADER), Some([0xaa, 0xaa] | [0x42, 0x42] | [0xfe, 0xfe] | [0xe0, 0xe0]))
        }
        _ => false,
    }
}

fn next_type(walk: Walk, at: usize) -> Decoded {
    match walk.u16(at) {
        Some(kind) => typed_slowly(walk, at + 2, kind),
        None => malformed(Layer::Shim),
    }
}

/// What follows a type field, for the decoders that are not on the fast path.
#[inline(never)]
pub(crate) fn typed_slowly(walk: Walk, at: usize, kind: u16) -> Decoded {
    typed_inlined(walk, at, kind)
}

fn is_known_without_transport(kind: u16) -> bool {
    matches!(
        kind,
        // ARP, RARP, Wake-on-LAN, TRILL, AppleTalk and its ARP, IPX, PROFINET, EtherCAT, flow control, slow protocols,
        0x0806 | 0x8035 | 0x0842 | 0x22f3 | 0x809b | 0x80f3 | 0x8137 | 0x8138 | 0x8892 | 0x88a4 | 0x8808 | 0x8809
        // PPPoE discovery, EAPOL, AoE, GOOSE, LLDP, MACsec, PTP, CFM, FCoE, its FIP, PRP, loop, IEEE local, DEC,
        | 0x8863 | 0x888e | 0x88a2 | 0x88b8 | 0x88cc | 0x88e5 | 0x88f7 | 0x8902 | 0x8906 | 0x8914 | 0x88fb | 0x9000
        | 0x88b5 | 0x88b6 | 0x6000
            ..=0x6007
        // MRP, MMRP, MVRP, AVTP, ST-II, TIPC, Cisco discovery and spanning tree over other links, ISO.
        | 0x88e3 | 0x88f6 | 0x88f5 | 0x22f0 | 0x88ca | 0x2000 | 0x010b | 0xfefe
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const IP: [u8; 30] = [
        0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h',
        b'i',
    ];

    fn frame_of(shims: &[u8]) -> Vec<u8> {
        [&[0xff; 12], shims, &IP].concat()
    }

    fn vlan_of(shims: &[u8]) -> u16 {
        let Decoded::Udp(d) = decode(1, &frame_of(shims)) else { panic!("{:?}", decode(1, &frame_of(shims))) };
        assert_eq!((d.payload_start as usize, d.payload_captured, d.src_port), (40 + shims.len(), 2, 5060));
        d.vlan
    }

    #[test]
    fn tags() {
        assert_eq!(vlan_of(&[8, 0]), 0);
        assert_eq!(vlan_of(&[0x81, 0, 0xe0, 7, 8, 0]), 7);
        assert_eq!(vlan_of(&[0x88, 0xa8, 0x01, 0x23, 0x81, 0, 0, 7, 8, 0]), 0x123);
        assert_eq!(vlan_of(&[0x91, 0, 0, 1, 0x92, 0, 0, 2, 0x81, 0, 0, 3, 0x81, 0, 0, 4, 8, 0]), 1);
        // A priority tag names no VLAN.
        assert_eq!(vlan_of(&[0x81, 0, 0xa0, 0, 0x81, 0, 0, 9, 8, 0]), 9);
        // VN-Tag between two tags.
        assert_eq!(vlan_of(&[0x81, 0, 0, 5, 0x89, 0x26, 0, 1, 0x80, 2, 0x81, 0, 0, 6, 8, 0]), 5);
        assert_eq!(vlan_of(&[0x89, 0x09, 1, 1, 0, 1, 0, 5, 8, 0]), 0);
    }

    #[test]
    fn mac_in_mac_and_snap() {
        let customer = [&[0x88, 0xe7, 0, 0, 1, 2][..], &[1; 12], &[8, 0]].concat();
        assert_eq!(vlan_of(&customer), 0);
        assert_eq!(vlan_of(&[0, 38, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]), 0);
    }

    #[test]
    fn the_depth_of_tags_is_limited() {
        let shims = [[0x81, 0, 0, 1].repeat(60), vec![8, 0]].concat();
        assert_eq!(decode(1, &frame_of(&shims)), Decoded::Malformed(Layer::Shim));
    }

    #[test]
    fn frames_without_a_transport() {
        assert_eq!(decode(1, &frame_of(&[8, 6])), Decoded::Other);
        assert_eq!(decode(1, &frame_of(&[0x12, 0x34])), Decoded::Unknown(Layer::Link));
        assert_eq!(decode(1, &[0; 13]), Decoded::Malformed(Layer::Link));
        assert_eq!(decode(1, &[&[0; 12][..], &[0x81, 0, 0]].concat()), Decoded::Malformed(Layer::Shim));
    }
}
