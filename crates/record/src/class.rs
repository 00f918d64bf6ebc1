//! What a packet is for the packet log: each class has its own segments, snap length and retention.

use trunkline_lane::PacketClass;
use trunkline_wire::Decoded;

/// A class of packets, most precious first: under pressure the last is given up first (DESIGN law 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Signalling: SIP over any transport, and the fragments and segments that may carry it.
    Sip,
    /// RTP and RTCP.
    Rtp,
    /// Everything else.
    Other,
}

impl Class {
    /// All classes, most precious first.
    pub const ALL: [Class; 3] = [Class::Sip, Class::Rtp, Class::Other];

    /// The class of a packet that the lane found to be `looked`.
    #[inline]
    pub fn of_packet(looked: PacketClass, decoded: &Decoded) -> Class {
        match looked {
            PacketClass::Rtp | PacketClass::Rtcp => Class::Rtp,
            PacketClass::Signalling => of_signalling(decoded),
            PacketClass::OtherUdp | PacketClass::Other => Class::Other,
        }
    }

    /// Its name: the folder below `packets/`, the key in the configuration, the label of metrics.
    pub fn name(self) -> &'static str {
        match self {
            Class::Sip => "sip",
            Class::Rtp => "rtp",
            Class::Other => "other",
        }
    }

    /// The class of this name.
    pub fn of_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|c| c.name() == name)
    }
}

/// SIP over UDP is known at once. What comes over TCP and SCTP, or in fragments, is recorded as SIP only where a port
/// says so: to wait until its stream is put together would mean to hold it back.
fn of_signalling(decoded: &Decoded) -> Class {
    /// SIP and SIP over TLS (RFC 3261 section 18.1.1).
    const PORTS: std::ops::RangeInclusive<u16> = 5060..=5061;
    match decoded {
        Decoded::Udp(_) => Class::Sip,
        Decoded::Tcp(d, _) | Decoded::Sctp(d) if PORTS.contains(&d.src_port) || PORTS.contains(&d.dst_port) => {
            Class::Sip
        }
        _ => Class::Other,
    }
}
