//! Linux "cooked" captures: LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2 (the pcap registry's descriptions).
//!
//! ```text
//! v1: | packet type | ARPHRD type | address length | address (8) | protocol |
//! v2: | protocol | reserved | interface (4) | ARPHRD type | packet type | address length | address (8) |
//! ```

use crate::walk::{Walk, be16, malformed};
use crate::{Decoded, Layer, ether, gre, llc, wlan};

const HEADER: usize = 16;
const HEADER_V2: usize = 20;

const IPGRE: u16 = 778;
const IEEE80211: u16 = 801;
const IEEE80211_PRISM: u16 = 802;
const IEEE80211_RADIOTAP: u16 = 803;
const NETLINK: u16 = 824;

pub(crate) fn version_1(walk: Walk, at: usize) -> Decoded {
    match walk.array::<HEADER>(at) {
        Some(h) => payload(walk, at + HEADER, be16(&h, 2), be16(&h, 14)),
        None => malformed(Layer::Link),
    }
}

pub(crate) fn version_2(walk: Walk, at: usize) -> Decoded {
    match walk.array::<HEADER_V2>(at) {
        Some(h) => payload(walk, at + HEADER_V2, be16(&h, 8), be16(&h, 0)),
        None => malformed(Layer::Link),
    }
}

fn payload(walk: Walk, at: usize, hardware: u16, protocol: u16) -> Decoded {
    match (hardware, protocol) {
        (NETLINK, _) => Decoded::Other,
        (IEEE80211, _) => wlan::frame(walk, at, false),
        (IEEE80211_PRISM, _) => wlan::prism(walk, at),
        (IEEE80211_RADIOTAP, _) => wlan::radiotap(walk, at),
        // Field: a GRE device without a protocol shows the GRE header.
        (IPGRE, 0) => gre::packet(walk, at),
        // linux/if_ether.h: Novell's raw 802.3; 802.2 frames.
        (_, 0x0001) => Decoded::Other,
        (_, 0x0004) => llc::header(walk, at),
        _ => ether::typed_slowly(walk, at, protocol),
    }
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
    fn both_versions() {
        let v1 = [0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
        let v2 = [8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
        let tagged = [0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0x81, 0, 0, 5, 8, 0];
        for (link, before, vlan) in [(113, &v1[..], 0), (276, &v2, 0), (113, &tagged, 5)] {
            let decoded = decode(link, &[before, &IP].concat());
            assert!(matches!(decoded, Decoded::Udp(d) if d.payload_captured == 2 && d.vlan == vlan), "{decoded:?}");
        }
    }

    #[test]
    fn others() {
        assert_eq!(decode(113, &[0; 15]), malformed(Layer::Link));
        assert_eq!(decode(276, &[0; 19]), malformed(Layer::Link));
        let netlink = [0, 0, 3, 56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(decode(113, &netlink), Decoded::Other);
    }
}
