//! ICE candidates (RFC 8839 section 5.1).

use super::Connection;
use crate::Endpoint;

/// How a candidate was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CandidateKind {
    /// An address of the host itself.
    Host,
    /// What a STUN server saw.
    ServerReflexive,
    /// What the peer saw.
    PeerReflexive,
    /// An address of a relay.
    Relay,
    /// Another type.
    Other,
}

/// One candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// 1 for RTP, 2 for RTCP.
    pub component: u16,
    /// Whether it is for UDP.
    pub udp: bool,
    /// Whether it is for TCP (RFC 6544), and others may connect there: active ones have port 9 (section 4.5).
    pub tcp: bool,
    /// The higher the better.
    pub priority: u32,
    /// The address; a name where it is hidden (`.local`).
    pub connection: Connection<'a>,
    /// The port.
    pub port: u16,
    /// How it was found.
    pub kind: CandidateKind,
    /// Of a relay: the address at which it sees its client (`raddr`, `rport`); none where that is not told.
    pub related: Option<Endpoint>,
}

impl<'a> Candidate<'a> {
    /// Address and port; none where the address is hidden behind a name.
    pub fn endpoint(&self) -> Option<Endpoint> {
        self.connection.address.map(|a| Endpoint::new(a, self.port))
    }

    /// Reads the value of an `a=candidate` line: foundation, component, transport, priority, address, port, `typ` and
    /// type. None if one of them is missing.
    pub fn parse(value: &'a [u8]) -> Option<Candidate<'a>> {
        let mut parts = value.split(|&o| o == b' ').filter(|p| !p.is_empty());
        let _foundation = parts.next()?;
        let component = super::parse::digits(parts.next()?)?;
        let transport = parts.next()?;
        let (udp, tcp) = (transport.eq_ignore_ascii_case(b"UDP"), transport.eq_ignore_ascii_case(b"TCP"));
        let priority = super::parse::digits(parts.next()?)?;
        let connection = super::parse::host(parts.next()?);
        let port = super::parse::digits(parts.next()?)?;
        parts.next().filter(|t| t.eq_ignore_ascii_case(b"typ"))?;
        let kind = match parts.next()? {
            b"host" => CandidateKind::Host,
            b"srflx" => CandidateKind::ServerReflexive,
            b"prflx" => CandidateKind::PeerReflexive,
            b"relay" => CandidateKind::Relay,
            _ => CandidateKind::Other,
        };
        let related = if kind == CandidateKind::Relay { related(parts) } else { None };
        let (component, port) = (u16::try_from(component).ok()?, u16::try_from(port).ok()?);
        let tcp = tcp && !matches!(port, 0 | 9);
        Some(Candidate { component, udp, tcp, priority, connection, port, kind, related })
    }
}

/// `raddr 192.0.2.1 rport 4000`. Who hides it writes an unspecified address, or port 9 (RFC 8839 section 5.1).
fn related<'a>(mut parts: impl Iterator<Item = &'a [u8]>) -> Option<Endpoint> {
    parts.next().filter(|name| *name == b"raddr")?;
    let address = super::parse::host(parts.next()?).address.filter(|address| !address.is_unspecified())?;
    parts.next().filter(|name| *name == b"rport")?;
    let port = u16::try_from(super::parse::digits(parts.next()?)?).ok()?;
    (!matches!(port, 0 | 9)).then(|| Endpoint::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_tells_where_it_sees_its_client() {
        let related = |value: &str| Candidate::parse(value.as_bytes()).unwrap().related.map(|e| e.to_string());
        let relay = "1 1 UDP 16777215 192.0.2.99 49200 typ relay";
        assert_eq!(related(&format!("{relay} raddr 198.51.100.81 rport 51000")).unwrap(), "198.51.100.81:51000");
        assert_eq!(related(&format!("{relay} raddr 2001:db8::1 rport 51000")).unwrap(), "[2001:db8::1]:51000");
        for hidden in ["", " raddr 0.0.0.0 rport 51000", " raddr 198.51.100.81 rport 9", " raddr x.local rport 1"] {
            assert_eq!(related(&format!("{relay}{hidden}")), None, "{hidden}");
        }
        assert_eq!(related("1 1 UDP 1 203.0.113.1 4000 typ srflx raddr 192.0.2.1 rport 4000"), None);
    }
}
