//! Via (RFC 3261 section 20.42, RFC 3581, RFC 5118).

use super::grammar::{GivenUp, Params, after, find_outside, is_space, is_token, port, trim};
use super::uri::HostPort;
use super::{Oddities, Oddity};
use crate::Address;

/// What every branch of RFC 3261 begins with.
pub const MAGIC_COOKIE: &[u8] = b"z9hG4bK";

/// One value of Via.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Via<'a> {
    /// `SIP`, as written.
    pub protocol: &'a [u8],
    /// `2.0`, as written.
    pub version: &'a [u8],
    /// `UDP`, `TCP`, `TLS`, `WS`, ..., as written.
    pub transport: &'a [u8],
    /// Who sent it, as the sender names itself.
    pub sent_by: HostPort<'a>,
    /// Parameters.
    pub params: Params<'a>,
}

impl<'a> Via<'a> {
    /// Splits the first value of a Via header field. White space may stand around every separator.
    pub fn parse(value: &'a [u8]) -> Via<'a> {
        let mut via = Via::default();
        let value = trim(value);
        let Some(n) = memchr::memchr(b'/', value) else {
            via.sent_by = HostPort::parse(value);
            return via;
        };
        via.protocol = trim(&value[..n]);
        let rest = &value[n + 1..];
        let n = memchr::memchr(b'/', rest).unwrap_or(rest.len());
        via.version = trim(&rest[..n]);
        let rest = trim(after(rest, n + 1));
        let n = rest.iter().position(|&o| is_space(o)).unwrap_or(rest.len());
        via.transport = &rest[..n];
        let rest = &rest[n..];
        let n = memchr::memchr2(b';', b',', rest).unwrap_or(rest.len());
        via.sent_by = HostPort::parse(&rest[..n]);
        let params = &rest[n..];
        let mut given_up = GivenUp::ANGLES;
        let end = find_outside(params, b',', &mut given_up).unwrap_or(params.len());
        via.params = Params::new(&params[..end]);
        via
    }

    /// The branch parameter.
    pub fn branch(&self) -> Option<&'a [u8]> {
        self.params.get("branch").map(|p| p.text())
    }

    /// The address that the next hop saw (RFC 3261 section 18.2.1), IPv6 with or without brackets.
    pub fn received(&self) -> Option<Address> {
        HostPort::parse_address(self.params.get("received")?.text())
    }

    /// The port that the next hop saw (RFC 3581): `Some(None)` if it is only asked for.
    pub fn rport(&self) -> Option<Option<u16>> {
        self.params.get("rport").map(|p| p.value.and_then(port))
    }

    /// Names what is odd about one value.
    pub(super) fn check(value: &[u8], odd: &mut Oddities) {
        let via = Via::parse(value);
        let whole = via.protocol.eq_ignore_ascii_case(b"SIP") && is_token(via.version) && is_token(via.transport);
        odd.insert_if(!whole || via.sent_by.host.is_empty() || via.sent_by.port_invalid, Oddity::ViaInvalid);
        odd.insert_if(whole && via.version != b"2.0", Oddity::ViaVersion);
        odd.insert_if(!via.sent_by.host.is_empty() && !via.sent_by.is_well_formed(), Oddity::ViaInvalid);
        odd.insert_if(!TRANSPORTS.iter().any(|t| via.transport.eq_ignore_ascii_case(t)), Oddity::ViaTransportUnknown);
        odd.insert_if(via.sent_by.host == b"255.255.255.255", Oddity::ViaBroadcast);
        odd.insert_if(via.params.has_empty(), Oddity::ExtraSeparators);
        let received = via.params.get("received").map(|p| p.text()).unwrap_or_default();
        odd.insert_if(
            memchr::memchr(b':', received).is_some() && !received.starts_with(b"["),
            Oddity::ViaReceivedUnbracketed,
        );
    }

    /// Names what is odd about the branch of the topmost value.
    pub(super) fn check_branch(&self, odd: &mut Oddities) {
        match self.branch() {
            Some(branch) if branch.eq_ignore_ascii_case(MAGIC_COOKIE) => odd.insert(Oddity::ViaBranchEmpty),
            Some(branch) if branch.len() > 7 && branch[..7].eq_ignore_ascii_case(MAGIC_COOKIE) => {}
            _ => odd.insert(Oddity::ViaBranchOld),
        }
    }
}

impl HostPort<'_> {
    /// An address, IPv6 with or without brackets.
    pub(super) fn parse_address(text: &[u8]) -> Option<Address> {
        HostPort {
            host: text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]")).unwrap_or(text),
            ..Default::default()
        }
        .address()
    }
}

const TRANSPORTS: &[&[u8]] = &[b"UDP", b"TCP", b"TLS", b"SCTP", b"TLS-SCTP", b"WS", b"WSS", b"DTLS-UDP"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_usual_and_the_folded_form() {
        let via = Via::parse(b"SIP/2.0/UDP 192.0.2.1:5060;rport=5061;received=198.51.100.7;branch=z9hG4bKx");
        assert_eq!((via.transport, via.sent_by.host, via.sent_by.port), (&b"UDP"[..], &b"192.0.2.1"[..], Some(5060)));
        assert_eq!((via.rport(), via.received()), (Some(Some(5061)), "198.51.100.7".parse().ok()));
        assert_eq!(via.branch(), Some(&b"z9hG4bKx"[..]));
        let via = Via::parse(b"SIP  /   2.0\r\n /UDP\r\n    192.0.2.2;branch=390skdjuw");
        assert_eq!((via.version, via.transport, via.sent_by.host), (&b"2.0"[..], &b"UDP"[..], &b"192.0.2.2"[..]));
        assert_eq!(via.branch(), Some(&b"390skdjuw"[..]));
        let via =
            Via::parse(b"SIP  / 2.0  / TCP     spindle.example.com   ;\r\n  branch  =   z9hG4bK9ikj8  , SIP/2.0/UDP x");
        assert_eq!((via.transport, via.sent_by.host), (&b"TCP"[..], &b"spindle.example.com"[..]));
        assert_eq!(via.branch(), Some(&b"z9hG4bK9ikj8"[..]));
    }

    #[test]
    fn reads_ipv6() {
        let via = Via::parse(b"SIP/2.0/UDP [2001:db8::9:1]:6050;received=2001:db8::9:255;branch=z9hG4bKas3;rport");
        assert_eq!((via.sent_by.host, via.sent_by.port), (&b"2001:db8::9:1"[..], Some(6050)));
        assert_eq!((via.received(), via.rport()), ("2001:db8::9:255".parse().ok(), Some(None)));
        let via = Via::parse(b"SIP/2.0/UDP [2001:db8::9:1];received=[2001:db8::9:255]");
        assert_eq!(via.received(), "2001:db8::9:255".parse().ok());
    }
}
