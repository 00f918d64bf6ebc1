//! SDP (RFC 8866) with what offer/answer needs: RFC 3264 directions, RFC 3605 rtcp, RFC 5761 rtcp-mux, RFC 8839
//! candidates, RFC 4568 crypto, RFC 8122 fingerprints, RFC 5888 groups, RFC 5576 sources.
//!
//! [`parse`] takes whatever it is given: lines that cannot be read are passed over and named in [`Session::oddities`].

mod candidate;
#[doc(hidden)]
pub mod exercise;
mod format;
mod oddity;
mod outline;
mod parse;

use crate::{Address, Endpoint};
pub use candidate::{Candidate, CandidateKind};
use core::fmt::Write;
pub use format::{Format, static_format};
pub use oddity::{Oddities, Oddity};
pub use outline::Outline;
pub use parse::parse;

/// Media descriptions of one session that are kept; what follows is passed over and named.
// Limit: media descriptions of one SDP body
// Beyond: further ones are left out, and the description is marked odd
// Seen in: a remark in the call's ladder
pub const MEDIA_MAX: usize = 32;
/// Formats of one media description that are kept.
// Limit: formats of one media description
// Beyond: further ones are left out, and the description is marked odd
// Seen in: a remark in the call's ladder
pub const FORMATS_MAX: usize = 64;
/// Candidates of one media description that are kept.
// Limit: ICE candidates of one media description
// Beyond: further ones are left out, and the description is marked odd
// Seen in: a remark in the call's ladder
pub const CANDIDATES_MAX: usize = 64;
/// Synchronisation sources of one media description that are kept.
pub const SSRCS_MAX: usize = 32;

/// A session description.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session<'a> {
    /// The `o=` line behind its equals sign; empty if there is none. See [`Session::origin`].
    pub origin_text: &'a [u8],
    /// The `s=` line.
    pub name: &'a [u8],
    /// The session's `c=` line.
    pub connection: Option<Connection<'a>>,
    /// The session's direction attribute.
    pub direction: Option<Direction>,
    /// The session's keys and candidates attributes.
    pub security: Security,
    /// The session's ICE user fragment; empty if there is none.
    pub ice_ufrag: &'a [u8],
    /// Whether the sender is an ICE-lite agent.
    pub ice_lite: bool,
    /// The mids that are bundled (RFC 9143), separated by spaces; empty if there are none.
    pub bundle: &'a [u8],
    /// The media descriptions, at most [`MEDIA_MAX`].
    pub media: Vec<Media<'a>>,
    /// What was odd.
    pub oddities: Oddities,
}

/// The `o=` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Who made it; `-` if the host has no notion of users.
    pub username: &'a [u8],
    /// Names the session; any text is seen here, digits are right.
    pub session_id: &'a [u8],
    /// Grows when the description changes.
    pub session_version: &'a [u8],
    /// The address of its maker.
    pub connection: Connection<'a>,
}

/// An address of a `c=`, `o=` or `a=rtcp` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Connection<'a> {
    /// The address or name, without multicast TTL and count.
    pub host: &'a [u8],
    /// The address; none for a name.
    pub address: Option<Address>,
}

/// Which keys are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Security {
    /// `a=crypto` (RFC 4568): SRTP with keys in the description.
    pub crypto: bool,
    /// `a=fingerprint` (RFC 8122): DTLS-SRTP.
    pub fingerprint: bool,
    /// `a=setup`: who begins the handshake, or connects; none if that is not said.
    pub setup: Option<Setup>,
}

/// Who begins a handshake (RFC 8842 section 5) or a connection (RFC 4145 section 4), seen from the maker of the
/// description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// It does.
    Active,
    /// The other side does.
    Passive,
    /// The other side may choose.
    Actpass,
    /// Nobody for now.
    Holdconn,
}

impl Setup {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Setup::Active => "active",
            Setup::Passive => "passive",
            Setup::Actpass => "actpass",
            Setup::Holdconn => "holdconn",
        }
    }
}

/// Kind of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `audio`
    Audio,
    /// `video`
    Video,
    /// `image`: T.38 fax.
    Image,
    /// `application`, `text`, `message` and any other.
    Other,
}

/// Transport of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proto {
    /// `RTP/AVP`, `RTP/AVPF`, also behind `TCP/`.
    Rtp,
    /// `RTP/SAVP`, `RTP/SAVPF`, also behind `TCP/`.
    Srtp,
    /// `UDP/TLS/RTP/SAVP`, `UDP/TLS/RTP/SAVPF`, `TCP/DTLS/RTP/SAVP`, `TCP/DTLS/RTP/SAVPF`.
    DtlsSrtp,
    /// `udptl`: T.38.
    Udptl,
    /// `TCP/TLS/...`, `TCP/BFCP`, `UDP/BFCP`, `UDP/DTLS/SCTP` and any other.
    Other,
}

/// Who may send (RFC 3264 section 5.1), seen from the maker of the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// Both.
    #[default]
    SendRecv,
    /// Its maker only: the other side is on hold.
    SendOnly,
    /// The other side only.
    RecvOnly,
    /// Nobody.
    Inactive,
}

impl Direction {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Direction::SendRecv => "sendrecv",
            Direction::SendOnly => "sendonly",
            Direction::RecvOnly => "recvonly",
            Direction::Inactive => "inactive",
        }
    }

    /// Whether the maker of the description sends.
    pub fn sends(self) -> bool {
        matches!(self, Direction::SendRecv | Direction::SendOnly)
    }

    /// Whether the maker of the description receives.
    pub fn receives(self) -> bool {
        matches!(self, Direction::SendRecv | Direction::RecvOnly)
    }
}

/// One media description; what the session says for all media is filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Media<'a> {
    /// What it carries.
    pub kind: Kind,
    /// The same as written.
    pub kind_text: &'a [u8],
    /// Where its maker receives; 0 means refused or ended.
    pub port: u16,
    /// How many ports (`m=audio 49170/2`), 1 if not said.
    pub port_count: u16,
    /// Its transport.
    pub proto: Proto,
    /// The same as written.
    pub proto_text: &'a [u8],
    /// Its `c=` line, or the session's.
    pub connection: Option<Connection<'a>>,
    /// The formats in order of preference, at most [`FORMATS_MAX`].
    pub formats: Vec<Format<'a>>,
    /// Packet time in milliseconds, rounded down.
    pub ptime_ms: Option<u16>,
    /// Longest packet time in milliseconds.
    pub maxptime_ms: Option<u16>,
    /// Who may send.
    pub direction: Direction,
    /// `a=rtcp` (RFC 3605): port, and address if one is given.
    pub rtcp: Option<(u16, Option<Connection<'a>>)>,
    /// RTP and RTCP share the port (RFC 5761).
    pub rtcp_mux: bool,
    /// ICE candidates, at most [`CANDIDATES_MAX`].
    pub candidates: Vec<Candidate<'a>>,
    /// ICE user fragment; empty if there is none.
    pub ice_ufrag: &'a [u8],
    /// Keys that are offered.
    pub security: Security,
    /// Its name in groups; empty if it has none.
    pub mid: &'a [u8],
    /// Synchronisation sources that `a=ssrc` names, each once, at most [`SSRCS_MAX`].
    pub ssrcs: Vec<u32>,
}

impl<'a> Session<'a> {
    /// The `o=` line, split; none if it is missing or short of parts.
    pub fn origin(&self) -> Option<Origin<'a>> {
        parse::origin(self.origin_text)
    }

    /// One line for people: `10.0.0.1:4000 PCMA PCMU telephone-event sendrecv`. Media are separated by `; `, what is
    /// not audio begins with its kind.
    pub fn brief(&self) -> String {
        let mut out = String::new();
        self.push_brief(&mut out);
        out
    }

    /// Writes [`Session::brief`] behind a text.
    pub fn push_brief(&self, out: &mut String) {
        for (at, media) in self.media.iter().enumerate() {
            if at > 0 {
                out.push_str("; ");
            }
            media.push_brief(out);
        }
    }
}

impl<'a> Media<'a> {
    /// Where its maker wants to receive RTP: none without an address or with port 0.
    pub fn rtp(&self) -> Option<Endpoint> {
        let address = self.connection?.address?;
        (self.port != 0).then(|| Endpoint::new(address, self.port))
    }

    /// Where its maker wants to receive RTCP: the RTP port with rtcp-mux, what `a=rtcp` says, or the next port
    /// (RFC 3550 section 11).
    pub fn rtcp(&self) -> Option<Endpoint> {
        let rtp = self.rtp()?;
        if self.rtcp_mux {
            return Some(rtp);
        }
        match self.rtcp {
            Some((port, connection)) => {
                Some(Endpoint::new(connection.and_then(|c| c.address).unwrap_or(rtp.address), port))
            }
            None => Some(Endpoint::new(rtp.address, rtp.port.checked_add(1)?)),
        }
    }

    /// Whether it is to come over TCP (RFC 4145, RFC 4571).
    pub fn is_over_tcp(&self) -> bool {
        self.proto_text.starts_with(b"TCP/")
    }

    /// Whether it is refused or ended: port 0 (RFC 3264 section 6) without being bundle-only.
    pub fn is_refused(&self) -> bool {
        self.port == 0
    }

    /// Whether the other side is on hold: it may not send, or there is no address to send to (RFC 2543 style).
    pub fn is_hold(&self) -> bool {
        !self.direction.receives() || self.connection.and_then(|c| c.address).is_some_and(|a| a.is_unspecified())
    }

    /// Whether its RTP is encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.proto, Proto::Srtp | Proto::DtlsSrtp) || self.security.crypto || self.security.fingerprint
    }

    /// The format of a payload type, from rtpmap or, where it has none, from RFC 3551.
    pub fn format(&self, payload_type: u8) -> Option<&Format<'a>> {
        self.formats.iter().find(|f| f.payload_type == Some(payload_type))
    }

    /// Writes its part of [`Session::brief`] behind a text.
    pub fn push_brief(&self, out: &mut String) {
        if self.kind != Kind::Audio {
            push_lossy(out, self.kind_text);
            out.push(' ');
        }
        match self.connection {
            Some(Connection { address: Some(address), .. }) => Endpoint::new(address, self.port).push_to(out),
            Some(Connection { host, .. }) => {
                push_lossy(out, host);
                let _ = write!(out, ":{}", self.port);
            }
            None => {
                let _ = write!(out, "?:{}", self.port);
            }
        }
        self.push_brief_tail(out);
    }

    /// The same from behind the endpoint on: formats, encryption and direction, with a space before each.
    pub fn push_brief_tail(&self, out: &mut String) {
        let name = |f: &Format<'a>| if f.name.is_empty() { f.text } else { f.name };
        for (at, format) in self.formats.iter().enumerate() {
            // One codec in several modes or clock rates is named once.
            let again = self.formats[..at].iter().any(|f| name(f).eq_ignore_ascii_case(name(format)));
            if !again {
                out.push(' ');
                push_lossy(out, name(format));
            }
        }
        if self.is_encrypted() {
            out.push_str(" encrypted");
        }
        out.push(' ');
        out.push_str(self.direction.name());
    }
}

fn push_lossy(out: &mut String, text: &[u8]) {
    match core::str::from_utf8(text) {
        Ok(text) => out.push_str(text),
        Err(_) => out.push_str(&String::from_utf8_lossy(text)),
    }
}

#[cfg(test)]
mod tests;
