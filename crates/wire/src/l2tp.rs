//! L2TP: version 2's data messages (RFC 2661) and version 3's (RFC 3931) over UDP and over IP.
//!
//! ```text
//! version 2: | T L - - S - O P - - - - version | [length] | tunnel | session | [Ns | Nr] | [offset size | pad] | PPP
//! version 3: over UDP | T - ... version | reserved |   then
//!            | session (4) | [cookie (4 or 8)] | [sublayer (4)] | frame
//! ```

use crate::walk::{Walk, understood};
use crate::{Decoded, ether, ppp, transport};

const CONTROL: u16 = 0x8000;
const LENGTH: u16 = 0x4000;
const SEQUENCE: u16 = 0x0800;
const OFFSET: u16 = 0x0200;
const PRIORITY: u16 = 0x0100;
const VERSION: u16 = 0x000f;

pub(crate) fn over_udp(walk: Walk, at: usize) -> Option<Decoded> {
    let flags = walk.u16(at)?;
    match flags & VERSION {
        _ if flags & CONTROL != 0 => None,
        2 => version_2(walk, at, flags),
        3 if flags == 3 && walk.u16(at + 2)? == 0 => session_of_version_3(walk, at + 4),
        _ => None,
    }
}

/// RFC 3931 section 4.1.1: session 0 is control.
pub(crate) fn over_ip(walk: Walk, at: usize) -> Decoded {
    session_of_version_3(walk, at).unwrap_or(Decoded::Other)
}

fn version_2(walk: Walk, at: usize, flags: u16) -> Option<Decoded> {
    if flags & !(LENGTH | SEQUENCE | OFFSET | PRIORITY | VERSION) != 0 {
        return None;
    }
    let mut walk = walk;
    let mut end = at + 2;
    if flags & LENGTH != 0 {
        let length = usize::from(walk.u16(end)?);
        if length > walk.left(at) {
            return None;
        }
        walk = walk.narrow(at, length);
        end += 2;
    }
    end += 4 + if flags & SEQUENCE != 0 { 4 } else { 0 };
    if flags & OFFSET != 0 {
        end += 2 + usize::from(walk.u16(end)?);
    }
    ppp::fits(&walk, end).then(|| ppp::frame(walk, end))
}

/// The session, not the packet, says how long the cookie is and what is carried: each combination is tried until
/// one turns out whole.
fn session_of_version_3(walk: Walk, at: usize) -> Option<Decoded> {
    if walk.u32(at)? == 0 {
        return None;
    }
    [4, 8, 12, 16].into_iter().find_map(|skip| frame_of_version_3(walk, at + skip))
}

fn frame_of_version_3(walk: Walk, at: usize) -> Option<Decoded> {
    if transport::fits(&walk, at, true) {
        return Some(transport::by_version(walk, at));
    }
    let kind = walk.u16(at + 12)?;
    let network = match kind {
        0x0800 | 0x86dd => at + ether::HEADER,
        0x8100 => at + ether::HEADER + 4,
        0x0806 if walk.array(at + ether::HEADER) == Some([0, 1, 8, 0, 6, 4]) => return Some(Decoded::Other),
        _ if walk.array(at) == Some([0xff, 0x03]) && ppp::fits(&walk, at) => return Some(ppp::frame(walk, at)),
        _ => return None,
    };
    transport::fits(&walk, network, false).then(|| ether::frame(walk, at)).and_then(understood)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const IP: [u8; 30] = [
        0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, b'h',
        b'i',
    ];
    const ETHERNET: [u8; 14] = [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0];

    fn carried_by(protocol: u8, header: &[u8]) -> Decoded {
        let total = (50 + header.len()) as u8;
        let outer = [0x45, 0, 0, total, 0, 1, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        decode(101, &[&outer[..], header, &IP].concat())
    }

    fn over_udp(header: &[u8]) -> u8 {
        let udp = [0x06, 0xa5, 0x06, 0xa5, 0, (38 + header.len()) as u8, 0, 0];
        match carried_by(17, &[&udp, header].concat()) {
            Decoded::Udp(d) => d.tunnels,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn version_2() {
        assert_eq!(over_udp(&[0, 2, 0, 1, 0, 2, 0xff, 3, 0, 0x21]), 1);
        assert_eq!(over_udp(&[0x4a, 2, 0, 46, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x21]), 1);
        assert_eq!(over_udp(&[0x02, 2, 0, 1, 0, 2, 0, 2, 9, 9, 0, 0x21]), 1);
        assert_eq!(over_udp(&[0xc8, 2, 0, 12, 0, 1, 0, 0, 0, 0, 0, 0]), 0);
        assert_eq!(over_udp(&[0x40, 2, 0, 99, 0, 1, 0, 2, 0, 0x21]), 0);
    }

    #[test]
    fn version_3() {
        for before in
            [&[0, 0, 0, 7][..], &[0, 0, 0, 7, 1, 2, 3, 4], &[0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8, 0x40, 0, 0, 1]]
        {
            let framed = [before, &ETHERNET].concat();
            assert!(matches!(carried_by(115, &framed), Decoded::Udp(d) if d.tunnels == 1));
            assert!(matches!(carried_by(115, before), Decoded::Udp(d) if d.tunnels == 1));
            assert_eq!(over_udp(&[&[0, 3, 0, 0], framed.as_slice()].concat()), 1);
        }
        assert_eq!(carried_by(115, &[0, 0, 0, 0]), Decoded::Other);
    }
}
