//! The outermost network headers of a packet, as the plain words of pcap-filter see them.
//!
//! [`trunkline_wire::decode()`] goes to the innermost datagram; this looks at the other end. It reads what libpcap's
//! generated programs read, at the same places and as leniently: no version, length or checksum is verified, so that a
//! packet that a filter may match is never filed under something else.

use trunkline_wire::{Address, Decoded};

use super::flow::{Flow, Kind, Layer};

/// Tags and labels that are passed; what lies below more of them is not known.
pub const SHIMS_MAX: usize = 24;

/// Addresses, ports and protocol of one layer of a packet, with its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Headers {
    /// How much of the following is known.
    pub kind: Kind,
    /// Protocol number of IP (behind an IPv6 fragment header: of what is fragmented).
    pub protocol: u8,
    /// Source address as a number, IPv4 mapped into IPv6.
    pub src: u128,
    /// Destination address.
    pub dst: u128,
    /// Source port; of [`Kind::Link`] the EtherType.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// The first VLAN identifier; [`Headers::NO_VLAN`] if there is no tag.
    pub vlan: u16,
    /// [`Flow::MORE_TAGS`], [`Flow::LABELS`], [`Flow::SESSION`], [`Flow::OUTER_UNKNOWN`].
    pub flags: u8,
}

const MAPPED: u128 = 0xffff_0000_0000;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

impl Headers {
    /// In place of a VLAN identifier.
    pub const NO_VLAN: u16 = u16::MAX;

    /// The outermost headers of a packet of this link type.
    #[inline]
    pub fn outermost(link: u16, octets: &[u8]) -> Headers {
        let blank = Headers { vlan: Headers::NO_VLAN, ..Headers::default() };
        match link {
            1 => match be16(octets, 12) {
                Some(IPV4) => blank.ipv4(octets, 14),
                Some(kind) => blank.typed(octets, 14, kind),
                None => blank,
            },
            _ => blank.of_link(link, octets),
        }
    }

    /// The innermost ones: what decoding found, and else the outermost, which are given.
    #[inline]
    pub fn innermost(decoded: &Decoded, outermost: &Headers) -> Headers {
        let (datagram, protocol) = match decoded {
            Decoded::Udp(d) => (d, 17),
            Decoded::Tcp(d, _) => (d, 6),
            Decoded::Sctp(d) => (d, 132),
            Decoded::Fragment(f) => {
                return Headers {
                    kind: Kind::Fragment,
                    protocol: f.protocol,
                    src: number(&f.src),
                    dst: number(&f.dst),
                    src_port: 0,
                    dst_port: 0,
                    ..*outermost
                };
            }
            Decoded::Other | Decoded::Icmp(_) | Decoded::Malformed(_) | Decoded::Unknown(_) => return *outermost,
        };
        Headers {
            kind: Kind::Transport,
            protocol,
            src: number(&datagram.src),
            dst: number(&datagram.dst),
            src_port: datagram.src_port,
            dst_port: datagram.dst_port,
            ..*outermost
        }
    }

    /// Whether source is the lower endpoint.
    #[inline]
    pub fn is_forward(&self) -> bool {
        (self.src, self.src_port) <= (self.dst, self.dst_port)
    }

    /// Without direction.
    pub fn layer(&self) -> Layer {
        let (src, dst) = (address(self.src), address(self.dst));
        let (a, a_port, b, b_port) = if self.is_forward() {
            (src, self.src_port, dst, self.dst_port)
        } else {
            (dst, self.dst_port, src, self.src_port)
        };
        Layer { kind: self.kind, protocol: self.protocol, a, a_port, b, b_port }
    }

    #[inline(never)]
    fn of_link(self, link: u16, octets: &[u8]) -> Headers {
        match link {
            113 => be16(octets, 14).map_or(self, |kind| self.typed(octets, 16, kind)),
            276 => be16(octets, 0).map_or(self, |kind| self.typed(octets, 20, kind)),
            12 | 14 | 101 => match octets.first().map(|o| o >> 4) {
                Some(4) => self.ipv4(octets, 0),
                Some(6) => self.ipv6(octets, 0),
                _ => self,
            },
            228 => self.ipv4(octets, 0),
            229 => self.ipv6(octets, 0),
            _ => Headers { flags: Flow::OUTER_UNKNOWN, ..self },
        }
    }

    /// What follows an EtherType.
    #[inline(never)]
    fn typed(mut self, octets: &[u8], mut at: usize, mut kind: u16) -> Headers {
        for _ in 0..SHIMS_MAX {
            match kind {
                IPV4 => return self.ipv4(octets, at),
                IPV6 => return self.ipv6(octets, at),
                0x0806 | 0x8035 => return self.arp(octets, at),
                0x8100 | 0x88a8 | 0x9100 => {
                    let (Some(control), Some(next)) = (be16(octets, at), be16(octets, at + 2)) else {
                        // A tag all the same, whose identifier a filter may read.
                        self.flags |= Flow::OUTER_UNKNOWN;
                        return self;
                    };
                    if self.vlan == Headers::NO_VLAN {
                        self.vlan = control & 0x0fff;
                    } else {
                        self.flags |= Flow::MORE_TAGS;
                    }
                    (at, kind) = (at + 4, next);
                }
                0x8847 | 0x8848 => return self.labels(octets, at),
                // PPPoE: version, code, session, length, then the protocol of PPP.
                0x8864 => {
                    self.flags |= Flow::SESSION;
                    match be16(octets, at + 6) {
                        Some(0x0021) => return self.ipv4(octets, at + 8),
                        Some(0x0057) => return self.ipv6(octets, at + 8),
                        _ => return self,
                    }
                }
                _ => {
                    self.src_port = kind;
                    return self;
                }
            }
        }
        self.flags |= Flow::OUTER_UNKNOWN;
        self
    }

    fn labels(mut self, octets: &[u8], at: usize) -> Headers {
        self.flags |= Flow::LABELS;
        for n in 0..SHIMS_MAX {
            let Some(third) = octets.get(at + n * 4 + 2) else { return self };
            if third & 1 != 0 {
                let below = at + n * 4 + 4;
                return match octets.get(below).map(|o| o >> 4) {
                    Some(4) => self.ipv4(octets, below),
                    Some(6) => self.ipv6(octets, below),
                    _ => self,
                };
            }
        }
        self.flags |= Flow::OUTER_UNKNOWN;
        self
    }

    /// Made in one go: what is written in pieces and copied as a whole has to wait until all that was written before
    /// it, the packet above all, has reached the cache.
    #[inline]
    fn ipv4(self, octets: &[u8], at: usize) -> Headers {
        let Some(header) = octets.get(at..).and_then(|o| o.first_chunk::<20>()) else {
            return self.cut(octets, at);
        };
        let protocol = header[9];
        let src = MAPPED | u128::from(u32::from_be_bytes([header[12], header[13], header[14], header[15]]));
        let dst = MAPPED | u128::from(u32::from_be_bytes([header[16], header[17], header[18], header[19]]));
        let is_fragment = (header[6] & 0x3f) | header[7] != 0;
        let ports = if is_fragment {
            Ports { kind: Kind::Fragment, src: 0, dst: 0, flags: 0 }
        } else {
            Ports::of(protocol, octets, at + usize::from(header[0] & 0x0f) * 4)
        };
        self.network(protocol, src, dst, ports)
    }

    #[inline(always)]
    fn network(self, protocol: u8, src: u128, dst: u128, ports: Ports) -> Headers {
        let Ports { kind, src: src_port, dst: dst_port, flags } = ports;
        Headers { kind, protocol, src, dst, src_port, dst_port, vlan: self.vlan, flags: self.flags | flags }
    }

    #[inline(never)]
    fn ipv6(mut self, octets: &[u8], at: usize) -> Headers {
        let Some(header) = octets.get(at..).and_then(|o| o.first_chunk::<40>()) else {
            return self.cut(octets, at);
        };
        let word = |from: usize| header[from..from + 16].iter().fold(0u128, |n, o| n << 8 | u128::from(*o));
        let (src, dst) = (word(8), word(24));
        if src >> 32 == MAPPED >> 32 || dst >> 32 == MAPPED >> 32 {
            // It would pass for IPv4.
            self.flags |= Flow::OUTER_UNKNOWN;
        }
        let protocol = header[6];
        if protocol == 44 {
            let protocol = octets.get(at + 40).copied().unwrap_or(44);
            return self.network(protocol, src, dst, Ports { kind: Kind::Fragment, src: 0, dst: 0, flags: 0 });
        }
        self.network(protocol, src, dst, Ports::of(protocol, octets, at + 40))
    }

    /// A network header that was not captured whole: a filter may still match on what there is.
    #[cold]
    fn cut(mut self, octets: &[u8], at: usize) -> Headers {
        if octets.len() > at {
            self.flags |= Flow::OUTER_UNKNOWN;
        }
        self
    }

    /// RFC 826 with addresses of four octets, where libpcap expects them.
    fn arp(mut self, octets: &[u8], at: usize) -> Headers {
        let address = |from| octets.get(at + from..).and_then(|o| o.first_chunk::<4>()).map(|o| u32::from_be_bytes(*o));
        self.kind = Kind::Arp;
        match (address(14), address(24)) {
            (Some(src), Some(dst)) => {
                (self.src, self.dst) = (MAPPED | u128::from(src), MAPPED | u128::from(dst));
            }
            _ => self.flags |= Flow::OUTER_UNKNOWN,
        }
        self
    }
}

/// What lies behind a network header.
struct Ports {
    kind: Kind,
    src: u16,
    dst: u16,
    flags: u8,
}

impl Ports {
    #[inline(always)]
    fn of(protocol: u8, octets: &[u8], at: usize) -> Ports {
        let none = Ports { kind: Kind::Network, src: 0, dst: 0, flags: 0 };
        if !matches!(protocol, 6 | 17 | 132) {
            return none;
        }
        match octets.get(at..).and_then(|o| o.first_chunk::<4>()) {
            Some([a, b, c, d]) => Ports {
                kind: Kind::Transport,
                src: u16::from_be_bytes([*a, *b]),
                dst: u16::from_be_bytes([*c, *d]),
                flags: 0,
            },
            // The source port alone was captured: a filter may read it.
            None if octets.len() > at => Ports { flags: Flow::OUTER_UNKNOWN, ..none },
            None => none,
        }
    }
}

#[inline]
fn be16(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..).and_then(|o| o.first_chunk::<2>()).map(|o| u16::from_be_bytes(*o))
}

#[inline]
pub(crate) fn number(address: &Address) -> u128 {
    u128::from_be_bytes(*address.octets())
}

#[inline]
pub(crate) fn address(number: u128) -> Address {
    Address::from_octets(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: [u8; 28] =
        [0x45, 0, 0, 28, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1, 0x13, 0xc4, 0x13, 0xce, 0, 8, 0, 0];

    fn ethernet(shims: &[u8], rest: &[u8]) -> Headers {
        Headers::outermost(1, &[&[2; 12][..], shims, rest].concat())
    }

    #[test]
    fn plain_tagged_labelled_and_in_a_session() {
        let plain = ethernet(&[8, 0], &IP);
        assert_eq!((plain.kind, plain.protocol, plain.src_port, plain.dst_port), (Kind::Transport, 17, 5060, 5070));
        assert_eq!((plain.vlan, plain.flags, plain.is_forward()), (Headers::NO_VLAN, 0, false));
        let layer = plain.layer();
        assert_eq!((layer.a.to_string().as_str(), layer.a_port, layer.b_port), ("10.0.0.1", 5070, 5060));
        let tagged = ethernet(&[0x81, 0, 0xe0, 7, 8, 0], &IP);
        assert_eq!(Headers { vlan: 7, ..plain }, tagged);
        let twice = ethernet(&[0x88, 0xa8, 0, 9, 0x81, 0, 0, 7, 8, 0], &IP);
        assert_eq!(Headers { vlan: 9, flags: Flow::MORE_TAGS, ..plain }, twice);
        let labelled = ethernet(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64], &IP);
        assert_eq!(Headers { flags: Flow::LABELS, ..plain }, labelled);
        let session = ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21], &IP);
        assert_eq!(Headers { flags: Flow::SESSION, ..plain }, session);
    }

    #[test]
    fn cut_packets_are_said_to_be_unknown_only_if_a_filter_may_read_them() {
        let whole = [&[2; 12][..], &[8, 0], &IP].concat();
        assert_eq!(Headers::outermost(1, &whole[..14]).flags, 0);
        assert_eq!(Headers::outermost(1, &whole[..33]).flags, Flow::OUTER_UNKNOWN);
        assert_eq!(Headers::outermost(1, &whole[..34]).flags, 0);
        assert_eq!(Headers::outermost(1, &whole[..37]).flags, Flow::OUTER_UNKNOWN);
        assert_eq!(Headers::outermost(1, &whole[..38]).kind, Kind::Transport);
        let tagged = [&[2; 12][..], &[0x81, 0, 0]].concat();
        assert_eq!(Headers::outermost(1, &tagged).flags, Flow::OUTER_UNKNOWN);
    }

    #[test]
    fn arp_and_unknown_links() {
        let mut arp = vec![0, 1, 8, 0, 6, 4, 0, 1, 1, 1, 1, 1, 1, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
        let found = ethernet(&[8, 6], &arp);
        assert_eq!((found.kind, address(found.src).to_string()), (Kind::Arp, "10.0.0.1".to_owned()));
        arp.truncate(20);
        assert_eq!(ethernet(&[8, 6], &arp).flags, Flow::OUTER_UNKNOWN);
        assert_eq!(Headers::outermost(105, &IP).flags, Flow::OUTER_UNKNOWN);
        assert_eq!(Headers::outermost(101, &IP).protocol, 17);
    }
}
