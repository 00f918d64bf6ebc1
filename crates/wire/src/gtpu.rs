//! GTP's user plane: version 1 (3GPP TS 29.281) with extension headers, version 0 (GSM 09.60).
//!
//! ```text
//! | version PT - E S PN | message type | length (2) | TEID (4) | [sequence (2) | N-PDU | next extension] | extensions | packet
//! ```

use crate::walk::{Walk, be16, understood};
use crate::{Decoded, ether, ppp, transport};

const HEADER: usize = 8;
const HEADER_V0: usize = 20;
const G_PDU: u8 = 255;

const VERSION_AND_TYPE: u8 = 0xf0;
const VERSION_1_GTP: u8 = 0x30;
const EXTENSION: u8 = 0x04;
const ANY_OPTION: u8 = 0x07;

/// Extension headers of one packet (TS 29.281 clause 5.2 defines fewer than ten kinds).
// Limit: extension headers of one GTP-U packet
// Beyond: the packet counts as malformed at that layer
// Seen in: `trunkline_calls_malformed_tunnel_total`
pub const EXTENSIONS_MAX: usize = 12;

pub(crate) fn version_1(walk: Walk, at: usize) -> Option<Decoded> {
    let header = walk.array::<HEADER>(at)?;
    let length = usize::from(be16(&header, 2));
    if header[0] & VERSION_AND_TYPE != VERSION_1_GTP || header[1] != G_PDU || length > walk.left(at + HEADER) {
        return None;
    }
    let walk = walk.narrow(at + HEADER, length);
    let mut inner = at + HEADER;
    if header[0] & ANY_OPTION != 0 {
        let next = walk.u8(inner + 3)?;
        inner += 4;
        if header[0] & EXTENSION != 0 {
            inner = after_extensions(&walk, inner, next)?;
        }
    }
    carried(walk, inner)
}

/// TS 29.281 clause 5.2.1: length in units of four octets, the last octet names the next one.
fn after_extensions(walk: &Walk, mut at: usize, mut next: u8) -> Option<usize> {
    for _ in 0..EXTENSIONS_MAX {
        if next == 0 {
            return Some(at);
        }
        let length = usize::from(walk.u8(at)?) * 4;
        next = walk.u8((at + length).checked_sub(1).filter(|last| *last > at)?)?;
        at += length;
    }
    None
}

/// The context, not the header, says what a G-PDU carries: IP nearly always; else a PPP or Ethernet PDU session.
fn carried(walk: Walk, at: usize) -> Option<Decoded> {
    if transport::fits(&walk, at, false) {
        return Some(transport::by_version(walk, at));
    }
    if ppp::fits(&walk, at) {
        return Some(ppp::frame(walk, at));
    }
    match walk.u16(at + 12)? {
        0x0800 | 0x86dd | 0x8100 | 0x0806 => understood(ether::frame(walk, at)),
        _ => None,
    }
}

/// GSM 09.60 clause 6: version 0, GTP not GTP', three spare ones, 20 octets.
pub(crate) fn version_0(walk: Walk, at: usize) -> Option<Decoded> {
    let header = walk.array::<HEADER_V0>(at)?;
    let length = usize::from(be16(&header, 2));
    if header[0] & 0xfe != 0x1e || header[1] != G_PDU || length > walk.left(at + HEADER_V0) {
        return None;
    }
    carried(walk.narrow(at + HEADER_V0, length), at + HEADER_V0)
}

#[cfg(test)]
mod tests {
    use crate::Decoded;
    use crate::link::decode;

    const IP: [u8; 30] = [
        0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h',
        b'i',
    ];

    fn carried_by(port: u16, header: &[u8]) -> u8 {
        let [high, low] = port.to_be_bytes();
        let length = (38 + header.len()) as u8;
        let outer = [0x45, 0, 0, 20 + length, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        let udp = [high, low, high, low, 0, length, 0, 0];
        match decode(101, &[&outer[..], &udp, header, &IP].concat()) {
            Decoded::Udp(d) => d.tunnels,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn with_and_without_extensions() {
        assert_eq!(carried_by(2152, &[0x30, 255, 0, 30, 0, 0, 0, 1]), 1);
        assert_eq!(carried_by(2152, &[0x32, 255, 0, 34, 0, 0, 0, 1, 0, 9, 0, 0]), 1);
        // A PDU session container (0x85) after a PDCP number (0xc0).
        let extended = [0x34, 255, 0, 42, 0, 0, 0, 1, 0, 0, 0, 0xc0, 1, 0, 7, 0x85, 1, 0x10, 9, 0];
        assert_eq!(carried_by(2152, &extended), 1);
        let version_0 = [0x1e, 255, 0, 30, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(carried_by(3386, &version_0), 1);
    }

    #[test]
    fn wrong_guesses_stay_outside() {
        assert_eq!(carried_by(2152, &[0x30, 1, 0, 30, 0, 0, 0, 1]), 0);
        assert_eq!(carried_by(2152, &[0x30, 255, 0, 31, 0, 0, 0, 1]), 0);
        assert_eq!(carried_by(2152, &[0x50, 255, 0, 30, 0, 0, 0, 1]), 0);
        assert_eq!(carried_by(2152, &[0x34, 255, 0, 38, 0, 0, 0, 1, 0, 0, 0, 0xc0, 0, 0, 7, 0]), 0);
    }
}
