//! ICMP (RFC 792) and ICMPv6 (RFC 4443), as far as they say that a packet did not arrive: destination unreachable, and
//! packet too big.
//!
//! ```text
//! | type | code | checksum | unused, or the MTU of the next hop | the packet, from its IP header on, as much as fits |
//! ```
//!
//! Of the packet at least the first eight octets of its transport are there: the ports.

use crate::walk::{Network, Walk, malformed};
use crate::{Address, Datagram, Decoded, Endpoint, Layer, transport};
use core::fmt;

/// Octets before the quoted packet.
const HEADER: usize = 8;

mod kind {
    pub const UNREACHABLE: u8 = 3;
    pub const UNREACHABLE_V6: u8 = 1;
    pub const TOO_BIG_V6: u8 = 2;
}

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// There is no way to the network.
    Network,
    /// The host does not answer on its own network, or is not known.
    Host,
    /// The host does not know the protocol.
    Protocol,
    /// No program listens on the port.
    Port,
    /// A filter forbids it.
    Prohibited,
    /// It is larger than a link on the way takes, and must not be cut.
    TooBig,
    /// Another reason.
    Other,
}

impl Reason {
    fn v4(code: u8) -> Reason {
        match code {
            0 | 6 => Reason::Network,
            1 | 7 | 8 => Reason::Host,
            2 => Reason::Protocol,
            3 => Reason::Port,
            4 => Reason::TooBig,
            9 | 10 | 13 => Reason::Prohibited,
            _ => Reason::Other,
        }
    }

    fn v6(code: u8) -> Reason {
        match code {
            0 | 6 => Reason::Network,
            1 | 5 => Reason::Prohibited,
            3 => Reason::Host,
            4 => Reason::Port,
            _ => Reason::Other,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Network => "network unreachable",
            Reason::Host => "host unreachable",
            Reason::Protocol => "protocol unreachable",
            Reason::Port => "port unreachable",
            Reason::Prohibited => "administratively prohibited",
            Reason::TooBig => "packet too big",
            Reason::Other => "destination unreachable",
        })
    }
}

/// That a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// Who says so: the host itself, or one on the way there.
    pub by: Address,
    /// Why.
    pub reason: Reason,
    /// Who had sent the packet.
    pub from: Endpoint,
    /// Where it was to go.
    pub to: Endpoint,
}

/// Only what says that a packet did not arrive is looked at further.
#[cold]
pub(crate) fn packet(walk: Walk, at: usize, network: &Network) -> Decoded {
    let Some(begin) = walk.u8(at) else { return malformed(Layer::Transport) };
    let wanted = match network.src().is_v4() {
        true => begin == kind::UNREACHABLE,
        false => matches!(begin, kind::UNREACHABLE_V6 | kind::TOO_BIG_V6),
    };
    if wanted { Decoded::Icmp(walk.datagram(network, (0, 0), at, walk.wire)) } else { Decoded::Other }
}

/// What a message says; none if it quotes no packet of UDP, TCP or SCTP, or a later fragment.
pub fn unreachable(datagram: &Datagram, octets: &[u8]) -> Option<Unreachable> {
    let (&[kind, code, ..], quoted) = octets.split_first_chunk::<HEADER>()?;
    let is_v4 = datagram.src.is_v4();
    let reason = match kind {
        _ if is_v4 => Reason::v4(code),
        kind::TOO_BIG_V6 => Reason::TooBig,
        _ => Reason::v6(code),
    };
    let (src, dst, ports) = if is_v4 { quoted_v4(quoted)? } else { quoted_v6(quoted)? };
    let port = |at: usize| Some(u16::from_be_bytes([*ports.get(at)?, *ports.get(at + 1)?]));
    Some(Unreachable { by: datagram.src, reason, from: Endpoint::new(src, port(0)?), to: Endpoint::new(dst, port(2)?) })
}

type Quoted<'a> = (Address, Address, &'a [u8]);

fn has_ports(protocol: u8) -> bool {
    matches!(protocol, transport::UDP | transport::TCP | transport::SCTP)
}

fn quoted_v4(octets: &[u8]) -> Option<Quoted<'_>> {
    let header: &[u8; 20] = octets.first_chunk()?;
    let length = usize::from(header[0] & 0x0f) * 4;
    let is_later = u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 0;
    if header[0] >> 4 != 4 || length < 20 || is_later || !has_ports(header[9]) {
        return None;
    }
    let address = |at: usize| Some(Address::v4(*octets.get(at..)?.first_chunk()?));
    Some((address(12)?, address(16)?, octets.get(length..)?))
}

fn quoted_v6(octets: &[u8]) -> Option<Quoted<'_>> {
    const FRAGMENT: u8 = 44;
    /// Hop-by-hop options, routing, destination options: each tells its length.
    const OPTIONS: [u8; 3] = [0, 43, 60];
    let address = |at: usize| Some(Address::v6(*octets.get(at..)?.first_chunk()?));
    let (version, mut next) = (octets.first()? >> 4, *octets.get(6)?);
    let (src, dst, mut rest) = (address(8)?, address(24)?, octets.get(40..)?);
    while version == 6 && !has_ports(next) {
        let &[following, length, high, low] = rest.first_chunk::<4>()?;
        let octets = match next {
            FRAGMENT if u16::from_be_bytes([high, low]) & 0xfff8 == 0 => 8,
            _ if OPTIONS.contains(&next) => (usize::from(length) + 1) * 8,
            _ => return None,
        };
        (next, rest) = (following, rest.get(octets..)?);
    }
    (version == 6).then_some((src, dst, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const RAW: u16 = 101;
    /// UDP from 192.0.2.1:5060 to 192.0.2.2:5070, cut behind the ports and lengths.
    const QUOTED: [u8; 28] =
        [0x45, 0, 1, 44, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x13, 0xc4, 0x13, 0xce, 1, 24, 0, 0];

    fn v4(kind: u8, code: u8, quoted: &[u8]) -> Vec<u8> {
        let mut octets = vec![0x45, 0, 0, 28 + quoted.len() as u8, 0, 1, 0, 0, 64, 1, 0, 0];
        octets.extend([192, 0, 2, 2, 192, 0, 2, 1, kind, code, 0, 0, 0, 0, 0, 0]);
        octets.extend(quoted);
        octets
    }

    fn told(octets: &[u8]) -> Option<Unreachable> {
        let Decoded::Icmp(d) = decode(RAW, octets) else { return None };
        unreachable(&d, &octets[d.payload_start as usize..][..d.payload_captured as usize])
    }

    #[test]
    fn what_did_not_arrive_is_told() {
        let all = told(&v4(3, 3, &QUOTED)).unwrap();
        let text = format!("{} {} {} {}", all.by, all.reason, all.from, all.to);
        assert_eq!(text, "192.0.2.2 port unreachable 192.0.2.1:5060 192.0.2.2:5070");
        for (code, reason) in [(0, Reason::Network), (1, Reason::Host), (4, Reason::TooBig), (13, Reason::Prohibited)] {
            assert_eq!(told(&v4(3, code, &QUOTED)).unwrap().reason, reason);
        }
        // Options before the ports.
        let mut options = QUOTED.to_vec();
        options[0] = 0x46;
        options.splice(20..20, [1; 4]);
        assert_eq!(told(&v4(3, 1, &options)).unwrap().to.port, 5070);
    }

    #[test]
    fn what_quotes_nothing_tells_nothing() {
        for length in 0..24 {
            assert_eq!(told(&v4(3, 3, &QUOTED[..length])), None, "{length}");
        }
        let mut later = QUOTED;
        later[7] = 9;
        assert_eq!(told(&v4(3, 3, &later)), None);
        let mut echo = QUOTED;
        echo[9] = 1;
        assert_eq!(told(&v4(3, 3, &echo)), None);
        assert_eq!(decode(RAW, &v4(8, 0, &QUOTED)), Decoded::Other);
        assert_eq!(decode(RAW, &v4(11, 0, &QUOTED)), Decoded::Other);
    }

    #[test]
    fn ipv6_with_options_and_the_first_fragment() {
        let mut host = [0; 16];
        (host[0], host[1], host[15]) = (0x20, 0x01, 2);
        let packet = |kind: u8, code: u8, next: u8, rest: &[u8]| {
            let mut quoted = vec![0x60, 0, 0, 0, 5, 0, next, 64];
            quoted.extend([host, host].concat());
            quoted.extend(rest);
            let mut octets = vec![0x60, 0, 0, 0, 0, 8 + quoted.len() as u8, 58, 64];
            octets.extend([host, host].concat());
            octets.extend([kind, code, 0, 0, 0, 0, 0, 0]);
            octets.extend(quoted);
            octets
        };
        const PORTS: [u8; 8] = [0x13, 0xc4, 0x13, 0xce, 5, 0, 0, 0];
        let all = told(&packet(1, 4, 17, &PORTS)).unwrap();
        assert_eq!((all.reason, all.from.port, all.to.to_string()), (Reason::Port, 5060, "[2001::2]:5070".to_owned()));
        assert_eq!(told(&packet(2, 0, 17, &PORTS)).unwrap().reason, Reason::TooBig);
        let first = [&[60, 0, 0, 1, 0, 0, 0, 7, 17, 0, 1, 4, 0, 0, 0, 0][..], &PORTS].concat();
        assert_eq!(told(&packet(1, 1, 44, &first)).unwrap().reason, Reason::Prohibited);
        let later = [&[17, 0, 0, 9, 0, 0, 0, 7][..], &PORTS].concat();
        assert_eq!(told(&packet(1, 1, 44, &later)), None);
        assert_eq!(told(&packet(1, 4, 17, &PORTS[..3])), None);
        assert_eq!(decode(RAW, &packet(128, 0, 17, &PORTS)), Decoded::Other);
    }
}
