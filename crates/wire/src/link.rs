//! Link types (the LINKTYPE_ registry of pcap) and where each begins: the entry to decoding.

use crate::juniper::Inside;
use crate::walk::Walk;
use crate::{Decoded, Layer};
use crate::{
    arcnet, atm, ether, exported, hdlc, ipv4, ipv6, juniper, llc, loopback, mpls, ppp, pseudo, slip, sll, transport,
};

const ETHERNET: u16 = 1;

/// Finds the innermost datagram or segment in a packet of this link type.
///
/// `octets` is what was captured of the packet, from its first octet; positions in the result count from there. Octets
/// behind the length that a header states (padding, trailers, check sequences) never become payload. A packet that the
/// snap length cut decodes as far as its headers go: `payload_captured` is then less than `payload_wire`.
///
/// At most [`crate::walk::HEADERS_MAX`] headers and [`crate::walk::TUNNELS_MAX`] tunnels are passed, and no octet is
/// copied.
#[inline]
pub fn decode(link: u16, octets: &[u8]) -> Decoded {
    let walk = Walk::new(octets);
    if link == ETHERNET { ether::frame_inlined(walk, 0) } else { of_type(walk, 0, link) }
}

/// A frame of this link type that begins at `at`.
#[inline(never)]
pub(crate) fn of_type(walk: Walk, at: usize, link: u16) -> Decoded {
    match link {
        ETHERNET => ether::frame(walk, at),
        0 | 108 => loopback::null(walk, at),
        6 => pseudo::token_ring(walk, at),
        7 => arcnet::frame(walk, at, 2),
        8 => slip::frame(walk, at),
        9 | 50 | 166 => ppp::serial(walk, at),
        // Frame control and addresses, then LLC.
        10 => llc::header(walk, at + 13),
        12 | 14 | 101 => transport::by_version(walk, at),
        51 => ppp::over_ethernet(walk, at),
        100 | 11 => atm::rfc_2684(walk, at),
        104 => hdlc::frame(walk, at),
        105 | 119 | 127 | 163 => pseudo::wireless(walk, at, link),
        107 => hdlc::relay(walk, at),
        109 => loopback::encapsulating(walk, at),
        113 => sll::version_1(walk, at),
        117 => loopback::filter_log(walk, at),
        // RFC 2625: two addresses of eight octets.
        122 => llc::header(walk, at + 16),
        123 => atm::sun(walk, at),
        129 => arcnet::frame(walk, at, 4),
        130..=132 | 133 | 136 | 164 => juniper::frame(walk, at, Inside::Services),
        135 => juniper::frame(walk, at, Inside::Atm(8)),
        137 => juniper::frame(walk, at, Inside::Atm(4)),
        167 => juniper::frame(walk, at, Inside::PppOverEthernet),
        178 => juniper::frame(walk, at, Inside::Ethernet),
        179 => juniper::frame(walk, at, Inside::Ppp),
        180 => juniper::frame(walk, at, Inside::FrameRelay),
        181 => juniper::frame(walk, at, Inside::Hdlc),
        192 => pseudo::ppi(walk, at),
        197 => pseudo::erf(walk, at),
        // A direction octet before PPP, HDLC and frame relay.
        204 => ppp::serial(walk, at + 1),
        205 => hdlc::frame(walk, at + 1),
        206 => hdlc::relay(walk, at + 1),
        219 => mpls::stack(walk, at),
        228 => ipv4::packet(walk, at),
        229 => ipv6::packet(walk, at),
        239 => pseudo::netfilter_log(walk, at),
        // netANALYZER: four octets, and a preamble of eight in its transparent mode.
        240 => ether::frame(walk, at + 4),
        241 => ether::frame(walk, at + 12),
        252 => exported::datagram(walk, at),
        258 => pseudo::pktap(walk, at),
        276 => sll::version_2(walk, at),
        281 | 284 => pseudo::switch_tag(walk, at, 4),
        282 => ether::frame(walk, at + 4),
        285 => pseudo::switch_tag(walk, at, 8),
        _ if is_known_without_network(link) => Decoded::Other,
        _ => Decoded::Unknown(Layer::Link),
    }
}

/// Buses and radio links that carry no IP, or none that this program looks for.
fn is_known_without_network(link: u16) -> bool {
    matches!(
        link,
        // AX.25, LAPD and its kin, BACnet, CAN, USB, Bluetooth, 802.15.4, SS7, netlink, FlexRay, MOST, LIN, D-Bus.
        3 | 177 | 203 | 140..=142 | 165 | 182 | 186 | 187 | 189 | 190 | 195 | 201 | 210..=212 | 215 | 220 | 227 | 230
        | 231
            | 249 | 251 | 253..=256 | 272 | 283
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_known_without_network() {
        assert_eq!(decode(147, &[0; 64]), Decoded::Unknown(Layer::Link));
        assert_eq!(decode(189, &[0; 64]), Decoded::Other);
    }

    #[test]
    fn no_link_type_minds_short_packets() {
        for link in 0..=300 {
            for length in 0..64 {
                for fill in [0u8, 0x45, 0x60, 0xff] {
                    decode(link, &vec![fill; length]);
                }
            }
        }
        assert_eq!(decode(101, &[]), Decoded::Malformed(Layer::Network));
    }
}
