//! Addresses of the network layer, IPv4 and IPv6 in one 16-octet form.
//!
//! IPv4 is kept as IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2), so that keys of tables have one shape and an SDP body
//! that writes `::ffff:192.0.2.1` names the same host as the packets that carry `192.0.2.1` (RFC 5118 section 4.9).

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// An IPv4 or IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Address([u8; 16]);

impl Address {
    /// `::`, used where no address is known.
    pub const UNSPECIFIED: Address = Address([0; 16]);

    /// From the four octets of an IPv4 header.
    #[inline]
    pub const fn v4(o: [u8; 4]) -> Self {
        Address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, o[0], o[1], o[2], o[3]])
    }

    /// From the sixteen octets of an IPv6 header.
    #[inline]
    pub const fn v6(octets: [u8; 16]) -> Self {
        Address(octets)
    }

    /// The sixteen octets, network order.
    #[inline]
    pub const fn octets(&self) -> &[u8; 16] {
        &self.0
    }

    /// From the form that [`Address::octets`] gives.
    #[inline]
    pub const fn from_octets(octets: [u8; 16]) -> Self {
        Address(octets)
    }

    /// Whether this is an IPv4 address (or an IPv4-mapped one).
    #[inline]
    pub fn is_v4(&self) -> bool {
        self.0[..10] == [0; 10] && self.0[10] == 0xff && self.0[11] == 0xff
    }

    /// The standard library's form; IPv4-mapped addresses come out as IPv4.
    pub fn to_ip(&self) -> IpAddr {
        let o = &self.0;
        if self.is_v4() {
            IpAddr::V4(Ipv4Addr::new(o[12], o[13], o[14], o[15]))
        } else {
            IpAddr::V6(Ipv6Addr::from(*o))
        }
    }

    /// Whether the address is unspecified: `0.0.0.0` or `::`.
    pub fn is_unspecified(&self) -> bool {
        self.to_ip().is_unspecified()
    }

    /// Whether the address is of a private network (RFC 1918, RFC 6598, RFC 4193) or link-local or loopback: one that
    /// a far host cannot send to.
    pub fn is_private(&self) -> bool {
        match self.to_ip() {
            IpAddr::V4(a) => {
                let o = a.octets();
                a.is_private() || a.is_loopback() || a.is_link_local() || (o[0] == 100 && o[1] & 0xc0 == 64)
            }
            IpAddr::V6(a) => a.is_loopback() || a.octets()[0] & 0xfe == 0xfc || (a.segments()[0] & 0xffc0) == 0xfe80,
        }
    }
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(a) => Address::v4(a.octets()),
            IpAddr::V6(a) => Address::v6(a.octets()),
        }
    }
}

impl FromStr for Address {
    type Err = core::net::AddrParseError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<IpAddr>().map(Address::from)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_ip(), f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An address and a port: where signalling or media is sent from or to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Endpoint {
    /// The network address.
    pub address: Address,
    /// The UDP, TCP or SCTP port.
    pub port: u16,
}

impl Endpoint {
    /// An endpoint of these parts.
    #[inline]
    pub const fn new(address: Address, port: u16) -> Self {
        Endpoint { address, port }
    }
}

/// `192.0.2.1:5060` or `[2001:db8::1]:5060`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address.to_ip() {
            // The usual case a hundred thousand times a second: without the machinery of padding.
            IpAddr::V4(a) if f.width().is_none() => f.write_str(Digits::of(a, self.port).text()),
            IpAddr::V4(a) => write!(f, "{a}:{}", self.port),
            IpAddr::V6(a) => write!(f, "[{a}]:{}", self.port),
        }
    }
}

impl Endpoint {
    /// Writes it behind a text, as it is displayed.
    pub fn push_to(&self, out: &mut String) {
        match self.address.to_ip() {
            IpAddr::V4(a) => out.push_str(Digits::of(a, self.port).text()),
            IpAddr::V6(_) => out.push_str(&self.to_string()),
        }
    }
}

/// An IPv4 address and a port as text: at most `255.255.255.255:65535`.
struct Digits {
    octets: [u8; 21],
    len: usize,
}

impl Digits {
    #[inline]
    fn of(address: Ipv4Addr, port: u16) -> Digits {
        let mut text = Digits { octets: [0; 21], len: 0 };
        for octet in address.octets() {
            text.number(u16::from(octet));
            text.put(b'.');
        }
        text.len -= 1;
        text.put(b':');
        text.number(port);
        text
    }

    #[inline]
    fn text(&self) -> &str {
        self.octets.get(..self.len).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default()
    }

    #[inline]
    fn put(&mut self, octet: u8) {
        if let Some(place) = self.octets.get_mut(self.len) {
            *place = octet;
            self.len += 1;
        }
    }

    /// Decimal digits, without leading zeros.
    #[inline]
    fn number(&mut self, number: u16) {
        // Written out, so that the compiler divides by multiplying.
        if number >= 10_000 {
            self.put(b'0' + (number / 10_000) as u8);
        }
        if number >= 1000 {
            self.put(b'0' + (number / 1000 % 10) as u8);
        }
        if number >= 100 {
            self.put(b'0' + (number / 100 % 10) as u8);
        }
        if number >= 10 {
            self.put(b'0' + (number / 10 % 10) as u8);
        }
        self.put(b'0' + (number % 10) as u8);
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Endpoint {
    type Err = core::net::AddrParseError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<core::net::SocketAddr>().map(|s| Endpoint::new(s.ip().into(), s.port()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_both_families() {
        for text in ["192.0.2.1:5060", "0.0.0.0:0", "255.10.100.9:65535", "1.2.3.4:10", "[2001:db8::1]:5060"] {
            let endpoint = text.parse::<Endpoint>().unwrap();
            let mut pushed = String::from("at ");
            endpoint.push_to(&mut pushed);
            assert_eq!((endpoint.to_string().as_str(), pushed.strip_prefix("at ")), (text, Some(text)));
        }
        assert_eq!("::ffff:192.0.2.1".parse::<Address>().unwrap(), Address::v4([192, 0, 2, 1]));
    }

    #[test]
    fn knows_private_networks() {
        for (text, private) in
            [("10.0.0.1", true), ("100.64.0.1", true), ("100.128.0.1", false), ("8.8.8.8", false), ("fd00::1", true)]
        {
            assert_eq!(text.parse::<Address>().unwrap().is_private(), private, "{text}");
        }
    }
}
