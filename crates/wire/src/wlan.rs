//! IEEE 802.11 data frames in clear, and the headers that capturing drivers put before them: radiotap, Prism, AVS.
//!
//! ```text
//! | frame control | duration | address 1..3 | sequence | [address 4] | [QoS] | [HT control] | LLC ...
//! ```
//!
//! Protected frames, management, control and fragments of frames are [`Decoded::Other`]. Of an aggregate (A-MSDU) the
//! first subframe that carries a transport is taken: a packet gives one result.

use crate::walk::{Walk, be16, malformed};
use crate::{Decoded, Layer, llc};

const HEADER: usize = 24;
const ADDRESS: usize = 6;

/// Subframes of an aggregate that are looked at.
const SUBFRAMES_MAX: usize = 64;

/// `padded`: the driver aligned the payload to four octets.
pub(crate) fn frame(walk: Walk, at: usize, padded: bool) -> Decoded {
    let (Some(walk), Some([control, flags])) = (walk.deeper(), walk.array(at)) else {
        return malformed(Layer::Link);
    };
    let (is_data, no_data, is_qos) = (control & 0x0c == 0x08, control & 0x40 != 0, control & 0x80 != 0);
    let (four_addresses, more_fragments, protected) = (flags & 0x03 == 0x03, flags & 0x04 != 0, flags & 0x40 != 0);
    if !is_data || no_data || protected || more_fragments {
        return Decoded::Other;
    }
    let Some(header) = walk.array::<HEADER>(at) else { return malformed(Layer::Link) };
    // Clause 9.2.4.4: the low four bits are the fragment's number, and this octet comes first.
    if header[22] & 0x0f != 0 {
        return Decoded::Other;
    }
    let qos = at + HEADER + if four_addresses { ADDRESS } else { 0 };
    let high_throughput = if flags & 0x80 != 0 { 4 } else { 0 };
    let length = if is_qos { qos - at + 2 + high_throughput } else { qos - at };
    let body = at + if padded { length.next_multiple_of(4) } else { length };
    match walk.u8(qos) {
        Some(qos) if is_qos && qos & 0x80 != 0 => aggregate(walk, body),
        Some(_) => llc::header(walk, body),
        None => malformed(Layer::Link),
    }
}

/// Clause 9.3.2.2: destination, source, length, payload, padding to four octets.
fn aggregate(walk: Walk, mut at: usize) -> Decoded {
    let mut first = None;
    for _ in 0..SUBFRAMES_MAX {
        let Some(length) = walk.u16(at + 2 * ADDRESS).map(usize::from) else { break };
        let payload = at + 2 * ADDRESS + 2;
        match llc::header(walk.narrow(payload, length), payload) {
            found @ (Decoded::Udp(_) | Decoded::Tcp(..) | Decoded::Sctp(_) | Decoded::Fragment(_)) => return found,
            other => first = first.or(Some(other)),
        }
        at += (2 * ADDRESS + 2 + length).next_multiple_of(4);
    }
    first.unwrap_or(malformed(Layer::Link))
}

/// Radiotap: version, length, words of presence bits; of the fields only the flags matter here.
pub(crate) fn radiotap(walk: Walk, at: usize) -> Decoded {
    let Some([0, _, low, high]) = walk.array(at) else { return malformed(Layer::Link) };
    let length = usize::from(u16::from_le_bytes([low, high]));
    if length < 8 {
        return malformed(Layer::Link);
    }
    frame(walk, at + length, radiotap_flags(&walk, at).is_some_and(|flags| flags & 0x20 != 0))
}

fn radiotap_flags(walk: &Walk, at: usize) -> Option<u8> {
    const TIMER: u8 = 0x01;
    const FLAGS: u8 = 0x02;
    let present = walk.u8(at + 4)?;
    let words = (0..8).take_while(|n| walk.u8(at + 7 + n * 4).is_some_and(|o| o & 0x80 != 0)).count() + 1;
    // The timer is eight octets, aligned to eight from the beginning of the header.
    let fields = 4 + words * 4;
    let flags = if present & TIMER != 0 { fields.next_multiple_of(8) + 8 } else { fields };
    if present & FLAGS != 0 { walk.u8(at + flags) } else { None }
}

/// Prism: message code, message length, device; some drivers write the AVS header under the same link type.
pub(crate) fn prism(walk: Walk, at: usize) -> Decoded {
    const LENGTH: u32 = 144;
    match walk.array::<8>(at) {
        Some([0x80, 0x21, 0x10, ..]) => avs(walk, at),
        Some([_, _, _, _, l @ ..]) if u32::from_le_bytes(l) == LENGTH || u32::from_be_bytes(l) == LENGTH => {
            frame(walk, at + LENGTH as usize, false)
        }
        _ => malformed(Layer::Link),
    }
}

/// AVS: version and length of the header, network order.
pub(crate) fn avs(walk: Walk, at: usize) -> Decoded {
    match walk.array::<8>(at) {
        Some(header) if be16(&header, 4) == 0 && be16(&header, 6) >= 8 => {
            frame(walk, at + usize::from(be16(&header, 6)), false)
        }
        _ => malformed(Layer::Link),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const LLC_AND_IP: [u8; 38] = [
        0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4,
        0x13, 0xce, 0, 10, 0, 0, b'h', b'i',
    ];

    fn header(control: u8, flags: u8, more: &[u8]) -> Vec<u8> {
        [&[control, flags, 0, 0][..], &[1; 18], &[0x10, 0], more].concat()
    }

    fn is_the_datagram(link: u16, octets: &[u8]) {
        let decoded = decode(link, octets);
        assert!(matches!(decoded, Decoded::Udp(d) if d.payload_captured == 2), "{octets:x?} {decoded:?}");
    }

    #[test]
    fn data_frames() {
        is_the_datagram(105, &[header(0x08, 1, &[]), LLC_AND_IP.into()].concat());
        is_the_datagram(105, &[header(0x08, 3, &[2; 6]), LLC_AND_IP.into()].concat());
        is_the_datagram(105, &[header(0x88, 1, &[0, 0]), LLC_AND_IP.into()].concat());
        is_the_datagram(105, &[header(0x88, 0x81, &[0, 0, 0, 0, 0, 0]), LLC_AND_IP.into()].concat());
        is_the_datagram(
            119,
            &[vec![0, 0, 0, 0x44, 0, 0, 0, 144], vec![0; 136], header(8, 1, &[]), LLC_AND_IP.into()].concat(),
        );
        is_the_datagram(
            163,
            &[vec![0x80, 0x21, 0x10, 1, 0, 0, 0, 64], vec![0; 56], header(8, 1, &[]), LLC_AND_IP.into()].concat(),
        );
    }

    #[test]
    fn radiotap_and_its_padding() {
        is_the_datagram(127, &[vec![0, 0, 8, 0, 0, 0, 0, 0], header(8, 1, &[]), LLC_AND_IP.into()].concat());
        // A second word of presence bits, the timer, then flags that say the header is padded.
        let tap = [0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x20];
        is_the_datagram(127, &[tap.into(), header(0x88, 1, &[0, 0, 0, 0]), LLC_AND_IP.into()].concat());
    }

    #[test]
    fn the_first_transport_of_an_aggregate() {
        let spanning_tree = [&[3; 12][..], &[0, 3, 0x42, 0x42, 3], &[0, 0, 0]].concat();
        let ip = [&[3; 12][..], &[0, 38], &LLC_AND_IP].concat();
        is_the_datagram(105, &[header(0x88, 1, &[0x80, 0]), spanning_tree, ip].concat());
    }

    #[test]
    fn others() {
        assert_eq!(decode(105, &header(0x80, 0, &[])), Decoded::Other);
        assert_eq!(decode(105, &header(0x08, 0x40, &[])), Decoded::Other);
        assert_eq!(decode(105, &header(0x48, 0, &[])), Decoded::Other);
        assert_eq!(decode(105, &[8]), malformed(Layer::Link));
        assert_eq!(decode(127, &[0, 0, 7, 0, 0, 0, 0, 0]), malformed(Layer::Link));
    }
}
