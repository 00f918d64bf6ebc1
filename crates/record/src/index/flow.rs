//! What packets are told apart by: a flow's innermost and outermost addresses, ports and protocol, without direction.

use trunkline_wire::Address;

/// How much is known of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Kind {
    /// No network layer that was understood; the source port is the EtherType where there is one.
    #[default]
    Link = 0,
    /// ARP or RARP: protocol addresses, no ports.
    Arp = 1,
    /// IPv4 or IPv6 with a protocol that has no ports, or whose ports were not captured.
    Network = 2,
    /// A fragment: its ports may be those of a packet that came before.
    Fragment = 3,
    /// UDP, TCP or SCTP.
    Transport = 4,
}

impl Kind {
    /// The kind of this number.
    pub fn of(number: u8) -> Option<Kind> {
        [Kind::Link, Kind::Arp, Kind::Network, Kind::Fragment, Kind::Transport].into_iter().find(|k| *k as u8 == number)
    }
}

/// One layer of a flow. `a` is the endpoint with the lower address (then port): a flow has both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Layer {
    /// How much of the following is known.
    pub kind: Kind,
    /// Protocol number of IP; 0 where there is none.
    pub protocol: u8,
    /// The lower address.
    pub a: Address,
    /// Its port; 0 where there is none.
    pub a_port: u16,
    /// The higher address.
    pub b: Address,
    /// Its port.
    pub b_port: u16,
}

/// A flow as the index has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flow {
    /// The innermost addresses, ports and protocol.
    pub inner: Layer,
    /// The outermost ones, where they differ: tunnels.
    pub outer: Option<Layer>,
    /// The outermost VLAN identifier, if there is a tag.
    pub vlan: Option<u16>,
    /// Bits of [`Flow::FORWARD`] and the following.
    pub flags: u8,
    /// When its earliest packet was, nanoseconds since 1970, UTC.
    pub first_ns: i64,
    /// When its latest packet was.
    pub last_ns: i64,
    /// Packets.
    pub packets: u32,
}

impl Flow {
    /// A packet went from `inner.a` to `inner.b`.
    pub const FORWARD: u8 = 1;
    /// A packet went from `inner.b` to `inner.a`.
    pub const BACKWARD: u8 = 2;
    /// A packet had more than one VLAN tag.
    pub const MORE_TAGS: u8 = 4;
    /// A packet had MPLS labels.
    pub const LABELS: u8 = 8;
    /// A packet was of a link type or shim that [`super::headers`] does not read: its outermost headers are not known,
    /// and every question about them has to be answered with "may be".
    pub const OUTER_UNKNOWN: u8 = 16;
    /// A packet had PPPoE between Ethernet and IP.
    pub const SESSION: u8 = 32;
}
