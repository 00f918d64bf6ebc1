//! Derived formats of AVP data (RFC 6733 section 4.3.1).

use crate::calendar::{DAY_SECONDS, date};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Seconds from 1900 to 1970.
const SECONDS_1900_TO_1970: i64 = 2_208_988_800;
/// Seconds of an era of the NTP timestamp.
const ERA_SECONDS: i64 = 1 << 32;

/// A Time: seconds since 1970, UTC, from 1968-01-20 to 2104-02-26.
///
/// Four octets count 136 years; which ones their top bit tells, as SNTP has it (RFC 5905 section 6, RFC 4330 section
/// 3): set, they count from 1900, clear, from 2036-02-07 06:28:16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    unix_seconds: i64,
}

impl Time {
    /// From seconds since 1970; none outside the years that can be written.
    pub const fn from_unix(unix_seconds: i64) -> Option<Time> {
        let seconds = unix_seconds.saturating_add(SECONDS_1900_TO_1970);
        if seconds < ERA_SECONDS / 2 || seconds >= ERA_SECONDS + ERA_SECONDS / 2 {
            return None;
        }
        Some(Time { unix_seconds })
    }

    /// From the four octets of the wire.
    pub const fn from_ntp(seconds: u32) -> Time {
        let era = if seconds >> 31 == 1 { 0 } else { ERA_SECONDS };
        Time { unix_seconds: seconds as i64 + era - SECONDS_1900_TO_1970 }
    }

    /// Seconds since 1970, UTC.
    pub const fn unix_seconds(self) -> i64 {
        self.unix_seconds
    }

    /// The four octets of the wire.
    pub const fn ntp(self) -> u32 {
        (self.unix_seconds + SECONDS_1900_TO_1970) as u32
    }
}

/// `2026-11-23T01:50:00Z`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.unix_seconds.div_euclid(DAY_SECONDS));
        let second = self.unix_seconds.rem_euclid(DAY_SECONDS);
        write!(f, "{year:04}-{month:02}-{day:02}T")?;
        write!(f, "{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
    }
}

/// An Address: a family of IANA's registry, then as many octets as it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAddress<'a> {
    /// IPv4 or IPv6, families 1 and 2.
    Ip(IpAddr),
    /// Another family (8 is E.164) and its octets.
    Other(u16, &'a [u8]),
}

impl<'a> HostAddress<'a> {
    /// None where there is no family, or an IP address has not its length.
    pub fn parse(octets: &'a [u8]) -> Option<HostAddress<'a>> {
        let (family, rest) = octets.split_first_chunk::<2>()?;
        Some(match u16::from_be_bytes(*family) {
            1 => HostAddress::Ip(Ipv4Addr::from(<[u8; 4]>::try_from(rest).ok()?).into()),
            2 => HostAddress::Ip(Ipv6Addr::from(<[u8; 16]>::try_from(rest).ok()?).into()),
            family => HostAddress::Other(family, rest),
        })
    }

    /// The IP address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            HostAddress::Ip(ip) => Some(*ip),
            HostAddress::Other(..) => None,
        }
    }
}

impl Default for HostAddress<'_> {
    fn default() -> Self {
        HostAddress::Ip(Ipv4Addr::UNSPECIFIED.into())
    }
}

impl From<IpAddr> for HostAddress<'_> {
    fn from(ip: IpAddr) -> Self {
        HostAddress::Ip(ip)
    }
}

impl fmt::Display for HostAddress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostAddress::Ip(ip) => write!(f, "{ip}"),
            HostAddress::Other(8, digits) => write!(f, "{}", digits.escape_ascii()),
            HostAddress::Other(family, octets) => write!(f, "family {family}: {}", octets.escape_ascii()),
        }
    }
}
