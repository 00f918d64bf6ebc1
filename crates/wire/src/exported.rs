//! Upper-layer PDUs that Wireshark exported (LINKTYPE_WIRESHARK_UPPER_PDU): tags that say where a PDU came from, then
//! the PDU.
//!
//! ```text
//! | tag (2) | length (2) | value | ... | 0 | 0 | PDU
//! ```
//!
//! A PDU that came over UDP, TCP or SCTP is given as a UDP datagram: it is whole, and there is no stream to put
//! together.

use crate::walk::{Network, Walk, be16, be32, malformed};
use crate::{Address, Decoded, Layer};

const END: u16 = 0;
const IPV4_SRC: u16 = 20;
const IPV4_DST: u16 = 21;
const IPV6_SRC: u16 = 22;
const IPV6_DST: u16 = 23;
const SRC_PORT: u16 = 25;
const DST_PORT: u16 = 26;

/// Tags of one PDU.
const TAGS_MAX: usize = 64;

pub(crate) fn datagram(walk: Walk, mut at: usize) -> Decoded {
    let (mut src, mut dst) = (Address::UNSPECIFIED, Address::UNSPECIFIED);
    let mut ports = (0, 0);
    for _ in 0..TAGS_MAX {
        let Some(header) = walk.array::<4>(at) else { return malformed(Layer::Link) };
        let (tag, length) = (be16(&header, 0), usize::from(be16(&header, 2)));
        let value = walk.octets.get(at + 4..at + 4 + length).unwrap_or(&[]);
        at += 4 + length;
        match tag {
            END => {
                return Decoded::Udp(walk.datagram(
                    &Network::new(src, dst, 0),
                    ports,
                    at.min(walk.octets.len()),
                    walk.wire,
                ));
            }
            IPV4_SRC | IPV6_SRC => src = address(value).unwrap_or(src),
            IPV4_DST | IPV6_DST => dst = address(value).unwrap_or(dst),
            SRC_PORT => ports.0 = be32(value, 0) as u16,
            DST_PORT => ports.1 = be32(value, 0) as u16,
            _ => {}
        }
    }
    malformed(Layer::Link)
}

fn address(value: &[u8]) -> Option<Address> {
    match value.len() {
        4 => value.try_into().ok().map(Address::v4),
        _ => value.try_into().ok().map(Address::v6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    #[test]
    fn a_pdu_with_addresses() {
        let tags = [
            &[0, 12, 0, 4][..],
            b"sip\0",
            &[0, 20, 0, 4, 192, 0, 2, 1],
            &[0, 21, 0, 4, 192, 0, 2, 2],
            &[0, 25, 0, 4, 0, 0, 0x13, 0xc4],
            &[0, 26, 0, 4, 0, 0, 0x13, 0xce],
            &[0, 0, 0, 0],
            b"OPTIONS",
        ];
        let Decoded::Udp(d) = decode(252, &tags.concat()) else { panic!() };
        assert_eq!((d.from().to_string(), d.to().to_string()), ("192.0.2.1:5060".into(), "192.0.2.2:5070".into()));
        assert_eq!((d.payload_captured, d.payload_wire), (7, 7));
        assert_eq!(decode(252, &[0, 12, 0, 4]), malformed(Layer::Link));
    }
}
