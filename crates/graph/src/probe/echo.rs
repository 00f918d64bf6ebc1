//! ICMP echo: RFC 792 for IPv4, RFC 4443 section 4 for IPv6.

use std::net::IpAddr;

/// Octets of a message of ours: its header, and the number that it is known by.
pub const ECHO_OCTETS: usize = 16;
const HEADER_OCTETS: usize = 8;
const REQUEST_V4: u8 = 8;
const REPLY_V4: u8 = 0;
const REQUEST_V6: u8 = 128;
const REPLY_V6: u8 = 129;

/// An echo request. Sockets of datagrams put an identifier of their own in place of this one, and for IPv6 the system
/// writes the checksum (RFC 3542 section 3.1).
pub fn request(to: IpAddr, identifier: u16, sequence: u16, token: u64) -> [u8; ECHO_OCTETS] {
    let mut octets = [0; ECHO_OCTETS];
    octets[0] = if to.is_ipv4() { REQUEST_V4 } else { REQUEST_V6 };
    octets[4..6].copy_from_slice(&identifier.to_be_bytes());
    octets[6..8].copy_from_slice(&sequence.to_be_bytes());
    octets[8..].copy_from_slice(&token.to_be_bytes());
    if to.is_ipv4() {
        let checksum = checksum(&octets);
        octets[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
    octets
}

/// Sequence and token of an echo reply to a request of ours; none is anything else. A raw socket of IPv4 gives the IP
/// header, too, which is left out before.
pub fn reply(from: IpAddr, octets: &[u8]) -> Option<(u16, u64)> {
    let kind = if from.is_ipv4() { REPLY_V4 } else { REPLY_V6 };
    let (header, payload) = octets.split_first_chunk::<HEADER_OCTETS>()?;
    let is_ours = header[..2] == [kind, 0] && octets.len() == ECHO_OCTETS;
    // IPv6's checksum is with addresses that are not here: the system has looked at it.
    let is_whole = from.is_ipv6() || checksum(octets) == 0;
    let token = payload.first_chunk().map(|token| u64::from_be_bytes(*token))?;
    (is_ours && is_whole).then_some((u16::from_be_bytes([header[6], header[7]]), token))
}

/// Whether a message is an echo reply at all, whoever asked.
pub fn is_reply(from: IpAddr, octets: &[u8]) -> bool {
    octets.first() == Some(if from.is_ipv4() { &REPLY_V4 } else { &REPLY_V6 })
}

/// What is behind the IP header of a packet of IPv4 (RFC 791 section 3.1).
pub fn behind_ipv4(packet: &[u8]) -> Option<&[u8]> {
    let words = usize::from(packet.first()? & 0x0f);
    packet.get(words.max(5) * 4..)
}

/// RFC 1071.
fn checksum(octets: &[u8]) -> u16 {
    let words = octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    /// RFC 1071 section 3: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2.
    #[test]
    fn sums_are_those_of_the_standard() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn requests_and_their_replies() {
        let (v4, v6) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
        let octets = request(v4, 0x0102, 0x0304, 5);
        assert_eq!(octets, [8, 0, 0xf3, 0xf4, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(checksum(&octets), 0);
        let mut answer = octets;
        (answer[0], answer[2]) = (0, 0xfb);
        assert_eq!(reply(v4, &answer), Some((0x0304, 5)));
        // A request, a wrong sum, a piece, more than was sent, the other family.
        assert_eq!(reply(v4, &octets), None);
        answer[15] = 6;
        assert_eq!(reply(v4, &answer), None);
        assert_eq!(reply(v4, &answer[..8]), None);
        assert_eq!(reply(v6, &answer), None);
        let mut answer = request(v6, 1, 9, 7);
        assert_eq!(answer[..4], [128, 0, 0, 0]);
        answer[0] = 129;
        assert_eq!(reply(v6, &answer), Some((9, 7)));
    }

    #[test]
    fn headers_of_ipv4_are_left_out() {
        let packet = |words: u8, octets: usize| [vec![0x40 | words], vec![0; octets - 1], vec![1, 2]].concat();
        assert_eq!(behind_ipv4(&packet(5, 20)), Some(&[1, 2][..]));
        assert_eq!(behind_ipv4(&packet(15, 60)), Some(&[1, 2][..]));
        assert_eq!((behind_ipv4(&[]), behind_ipv4(&[0x45; 19])), (None, None));
    }
}
