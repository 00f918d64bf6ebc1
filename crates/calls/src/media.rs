//! What signalling tells the lanes about media: who expects RTP where, until when, and in which payload types.

use crate::payload::PayloadMap;
use std::sync::Arc;
use trunkline_kit::{Id, hash};
use trunkline_store::row::Direction;
use trunkline_wire::icmp::Unreachable;
use trunkline_wire::{Datagram, Endpoint, rtcp, sdp};

/// Number of a call in this run, in order of first message.
pub type Serial = u64;

/// A party of a call said where it wants to receive media.
#[derive(Clone, Debug)]
pub struct Announcement {
    /// The call.
    pub serial: Serial,
    /// Its identifier.
    pub id: Id,
    /// Which party wants to receive there.
    pub party: Direction,
    /// Where. Without a port it is the host from which it connects to the other party (RFC 4145 section 4.1).
    pub endpoint: Endpoint,
    /// It did not say so: address translation may have made this of what it said. Calls that say it go before.
    pub guessed: bool,
    /// Audio, video or other.
    pub kind: sdp::Kind,
    /// What the payload types mean to it.
    pub payloads: Arc<PayloadMap>,
    /// When it was said, nanoseconds since 1970.
    pub at_ns: i64,
    /// SRTP was offered: the payload cannot be heard.
    pub encrypted: bool,
}

/// A party of a call named itself for the checks of ICE (`a=ice-ufrag`, RFC 8839 section 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IceName {
    /// The call.
    pub serial: Serial,
    /// Its identifier.
    pub id: Id,
    /// Which party.
    pub party: Direction,
    /// When it was said, nanoseconds since 1970.
    pub at_ns: i64,
    /// The name, see [`ice_name`].
    pub name: u64,
}

/// What stands for a name of ICE: a hash that is the same on every run.
pub fn ice_name(octets: &[u8]) -> u64 {
    hash::fnv1a(octets)
}

/// Where RTCP of a media description may come to that is neither the port of its RTP nor the next one (`a=rtcp`,
/// RFC 3605).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The call.
    pub serial: Serial,
    /// Its identifier.
    pub id: Id,
    /// When it was said, nanoseconds since 1970.
    pub at_ns: i64,
    /// Where RTCP comes to.
    pub rtcp: Endpoint,
    /// Where its RTP does.
    pub rtp: Endpoint,
}

/// Something that the lanes have to know, in order of capture.
#[derive(Clone, Debug)]
pub enum Notice {
    /// Media may come to (or from) an endpoint.
    Announce(Box<Announcement>),
    /// Checks of ICE with this name are about the call.
    Named(Box<IceName>),
    /// RTCP about what goes to an endpoint, or comes from it, is elsewhere.
    Control(Box<Control>),
    /// After this time packets do not belong to the call any more.
    Until {
        /// The call.
        serial: Serial,
        /// Nanoseconds since 1970.
        at_ns: i64,
        /// Nobody took the call, and it is over: no stream of it begins any more.
        is_given_up: bool,
    },
    /// The call is closed: its streams are to be handed over.
    Release {
        /// The call.
        serial: Serial,
    },
    /// A datagram that came in fragments and looks like RTP, or a message of media over TCP.
    Reassembled(Box<Reassembled>),
    /// Packets of a flow, media perhaps, do not arrive.
    Unreachable(Box<Unreached>),
}

impl Notice {
    /// The flow whose lane alone is to know it; none if all are.
    pub fn flow(&self) -> Option<Datagram> {
        match self {
            // RTCP is for every lane.
            Notice::Reassembled(r) if r.is_rtcp() => None,
            Notice::Reassembled(r) => Some(r.datagram),
            Notice::Unreachable(u) => Some(u.flow()),
            Notice::Announce(_)
            | Notice::Named(_)
            | Notice::Control(_)
            | Notice::Until { .. }
            | Notice::Release { .. } => None,
        }
    }
}

/// An ICMP message about a flow.
#[derive(Clone, Copy, Debug)]
pub struct Unreached {
    /// When it came, nanoseconds since 1970.
    pub at_ns: i64,
    /// What it says.
    pub what: Unreachable,
}

impl Unreached {
    /// A datagram of the flow, without a payload.
    fn flow(&self) -> Datagram {
        datagram_between(self.what.from, self.what.to)
    }
}

/// A datagram without a payload.
pub fn datagram_between(from: Endpoint, to: Endpoint) -> Datagram {
    Datagram {
        src: from.address,
        dst: to.address,
        src_port: from.port,
        dst_port: to.port,
        payload_start: 0,
        payload_captured: 0,
        payload_wire: 0,
        vlan: 0,
        tunnels: 0,
        dscp: 0,
    }
}

/// A datagram put together from fragments, or a message from a TCP connection.
#[derive(Clone, Debug)]
pub struct Reassembled {
    /// When its last fragment was captured.
    pub at_ns: i64,
    /// Record offset of the last fragment.
    pub offset: u64,
    /// Input file of the last fragment.
    pub file: u32,
    /// Addresses and ports; the payload's place is in `octets`.
    pub datagram: Datagram,
    /// The datagram's payload.
    pub octets: Vec<u8>,
    /// How it came over TCP; none if it did not.
    pub tcp: Option<OfTcp>,
}

/// What a TCP connection brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfTcp {
    /// A message. Places before it in its direction at which the capture lacks some.
    Message(u32),
    /// Nothing: it was asked for once more, and is not answered.
    Unanswered,
    /// Nothing: it was refused.
    Refused,
}

impl Reassembled {
    /// Whether it is RTCP over TCP.
    pub fn is_rtcp(&self) -> bool {
        self.tcp.is_some() && rtcp::looks_like_rtcp(&self.octets)
    }
}

/// A notice with the number of the packet that gave rise to it: lanes apply it before any later packet.
#[derive(Clone, Debug)]
pub struct Numbered {
    /// Number of the packet, [`trunkline_capture::Packet::number`].
    pub number: u64,
    /// When that packet was captured, nanoseconds since 1970; `i64::MAX` for what comes after all packets.
    pub at_ns: i64,
    /// What it told.
    pub notice: Notice,
}
