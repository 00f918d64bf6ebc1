//! Juniper's captures: a magic number, flags, attributes, then a frame of the link type.
//!
//! ```text
//! | "MGC" | flags | [attributes length (2) | attributes] | [cookie] | frame, or the packet alone with its protocol
//! ```

use crate::walk::{Walk, be16, malformed, understood};
use crate::{Decoded, Layer, atm, ether, hdlc, ppp, transport};

const NO_LINK_LAYER: u8 = 0x02;
const ATTRIBUTES: u8 = 0x80;

/// What the link type says lies behind the attributes.
#[derive(Clone, Copy)]
pub(crate) enum Inside {
    /// An Ethernet frame.
    Ethernet,
    /// PPP, with or without address and control.
    Ppp,
    /// Frame relay.
    FrameRelay,
    /// Cisco HDLC.
    Hdlc,
    /// ATM behind a cookie of so many octets.
    Atm(usize),
    /// PPPoE.
    PppOverEthernet,
    /// A service's cookie of unknown length, then IP.
    Services,
}

pub(crate) fn frame(walk: Walk, at: usize, inside: Inside) -> Decoded {
    let Some([b'M', b'G', b'C', flags]) = walk.array(at) else { return malformed(Layer::Link) };
    let mut payload = at + 4;
    if flags & ATTRIBUTES != 0 {
        let Some(length) = walk.u16(payload) else { return malformed(Layer::Link) };
        payload += 2 + usize::from(length);
    }
    if flags & NO_LINK_LAYER != 0 {
        return without_link_layer(walk, payload);
    }
    match inside {
        Inside::Ethernet => ether::frame(walk, payload),
        Inside::Ppp => ppp::frame(walk, payload),
        Inside::FrameRelay => hdlc::relay(walk, payload),
        Inside::Hdlc => hdlc::frame(walk, payload),
        Inside::Atm(cookie) => atm::rfc_2684(walk, payload + cookie),
        Inside::PppOverEthernet => ppp::over_ethernet(walk, payload),
        Inside::Services => services(walk, payload),
    }
}

/// The protocol family, little endian, stands before the packet.
fn without_link_layer(walk: Walk, at: usize) -> Decoded {
    match walk.array::<4>(at) {
        Some(_) if transport::fits(&walk, at + 4, false) => transport::by_version(walk, at + 4),
        Some(header) if be16(&header, 0) == 0 => Decoded::Other,
        Some(_) => Decoded::Unknown(Layer::Link),
        None => malformed(Layer::Link),
    }
}

/// Cookies of services have 0 to 12 octets; the packet behind must fit.
fn services(walk: Walk, at: usize) -> Decoded {
    let found = [0, 4, 6, 8, 12].into_iter().map(|cookie| at + cookie).find(|at| transport::fits(&walk, *at, false));
    found.and_then(|at| understood(transport::by_version(walk, at))).unwrap_or(Decoded::Unknown(Layer::Link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const IP: [u8; 30] = [
        0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h',
        b'i',
    ];

    #[test]
    fn link_types() {
        let ethernet = [&b"MGC\x80\0\x06\x01\x01\x03\x03\x01\x0e"[..], &[1; 12], &[8, 0]].concat();
        let cases: [(u16, &[u8]); 6] = [
            (178, &ethernet),
            (179, b"MGC\0\0\x21"),
            (180, b"MGC\0\x18\x41\x03\xcc"),
            (181, b"MGC\0\x0f\0\x08\0"),
            (137, b"MGC\0\x80\0\0\0\xaa\xaa\x03\0\0\0\x08\0"),
            (179, b"MGC\x02\x02\0\0\0"),
        ];
        for (link, before) in cases {
            let decoded = decode(link, &[before, &IP].concat());
            assert!(matches!(decoded, Decoded::Udp(d) if d.payload_captured == 2), "{link} {decoded:?}");
        }
        assert_eq!(decode(178, b"MGX\0"), malformed(Layer::Link));
    }
}
