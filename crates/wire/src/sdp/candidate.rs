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
    /// The higher the better.
    pub priority: u32,
    /// The address; a name where it is hidden (`.local`).
    pub connection: Connection<'a>,
    /// The port.
    pub port: u16,
    /// How it was found.
    pub kind: CandidateKind,
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
        let udp = parts.next()?.eq_ignore_ascii_case(b"UDP");
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
        let (component, port) = (u16::try_from(component).ok()?, u16::try_from(port).ok()?);
        Some(Candidate { component, udp, priority, connection, port, kind })
    }
}
