//! What an expression is made of.

use core::ops::Range;
use trunkline_wire::Address;

/// An expression: a tree of primitives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// Both.
    And(Box<Expression>, Box<Expression>),
    /// At least one.
    Or(Box<Expression>, Box<Expression>),
    /// The opposite.
    Not(Box<Expression>),
    /// A question to a packet.
    Leaf(Leaf),
}

/// A primitive and where in a packet it looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What is asked.
    pub primitive: Primitive,
    /// Whether the innermost headers are asked.
    pub inner: bool,
    /// Behind how many tags and labels it looks: what `vlan` and `mpls` before it, anywhere in the text, said.
    pub depth: Depth,
    /// Where it stands in the text, octets.
    pub place: Range<usize>,
}

/// Tags and labels that the words before a primitive have passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// VLAN tags.
    pub tags: u8,
    /// MPLS labels.
    pub labels: u8,
}

/// What can be asked of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// `ip`, `ip6`, `arp`, `rarp`: the network protocol.
    Network(Network),
    /// `tcp`, `proto 47`, `ip6 proto 6`: the protocol number, over IPv4, IPv6 or either (`None`).
    Protocol(u8, Option<Network>),
    /// `host`, `net`: an address from `first` to `last`, a power of two of them.
    Address {
        /// The first address.
        first: Address,
        /// The last one.
        last: Address,
        /// Whether it is written as IPv6.
        v6: bool,
        /// In which protocol alone, if one is named.
        network: Option<Network>,
        /// Of which end.
        side: Side,
    },
    /// `port`, `portrange`.
    Port {
        /// The first port.
        first: u16,
        /// The last one.
        last: u16,
        /// Of which protocol alone, if one is named.
        protocol: Option<u8>,
        /// Of which end.
        side: Side,
    },
    /// `vlan`, with an identifier if one is named.
    Vlan(Option<u16>),
    /// `mpls`, with a label if one is named.
    Mpls(Option<u32>),
    /// What is left to libpcap.
    Opaque,
}

/// A network protocol by its name in expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// IPv4.
    Ip,
    /// IPv6.
    Ip6,
    /// ARP.
    Arp,
    /// Reverse ARP.
    Rarp,
}

/// Which end of a packet an address or port is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Source or destination.
    #[default]
    Either,
    /// Source and destination.
    Both,
    /// Source.
    Source,
    /// Destination.
    Destination,
}

impl Side {
    /// Puts the answers for both ends together; each is asked for only if it matters, the source first.
    #[inline]
    pub fn of<E>(
        self,
        source: impl FnOnce() -> Result<bool, E>,
        destination: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        match self {
            Side::Either => Ok(source()? || destination()?),
            Side::Both => Ok(source()? && destination()?),
            Side::Source => source(),
            Side::Destination => destination(),
        }
    }
}
