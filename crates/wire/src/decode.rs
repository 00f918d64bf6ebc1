//! The result of decoding a packet: the innermost datagram or segment, with the way to it through the tunnels.

use crate::{Address, Endpoint};

/// A UDP datagram, TCP segment or SCTP packet: addresses, ports, and where its payload lies in the octets given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Source address of the innermost network layer.
    pub src: Address,
    /// Destination address of the innermost network layer.
    pub dst: Address,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Where the transport's payload begins in the packet's octets (for SCTP: the first chunk).
    pub payload_start: u32,
    /// Payload octets that were captured.
    pub payload_captured: u32,
    /// Payload octets on the wire as the headers say (more than captured when the snap length cut it).
    pub payload_wire: u32,
    /// Outermost VLAN identifier, 0 if none.
    pub vlan: u16,
    /// Number of tunnels around the innermost network layer.
    pub tunnels: u8,
    /// DSCP of the innermost network layer (RFC 2474), 0..=63.
    pub dscp: u8,
}

impl Datagram {
    /// Who sent it.
    #[inline]
    pub fn from(&self) -> Endpoint {
        Endpoint::new(self.src, self.src_port)
    }

    /// Whom it was sent to.
    #[inline]
    pub fn to(&self) -> Endpoint {
        Endpoint::new(self.dst, self.dst_port)
    }
}

/// The part of a TCP header that reassembly needs (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number of the first payload octet (or of SYN).
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags: FIN 0x01, SYN 0x02, RST 0x04, PSH 0x08, ACK 0x10.
    pub flags: u8,
}

/// One fragment of an IPv4 or IPv6 datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Source address.
    pub src: Address,
    /// Destination address.
    pub dst: Address,
    /// Identification: 16 bits in IPv4, 32 in IPv6.
    pub identification: u32,
    /// The protocol of the reassembled payload (IPv6: the next header after the fragment header).
    pub protocol: u8,
    /// Offset of this fragment's octets in the reassembled payload, octets.
    pub offset: u32,
    /// Whether more fragments follow.
    pub more: bool,
    /// Where the fragment's octets begin in the packet's octets.
    pub payload_start: u32,
    /// Octets of the fragment that were captured.
    pub payload_captured: u32,
    /// Octets of the fragment on the wire.
    pub payload_wire: u32,
    /// Outermost VLAN identifier, 0 if none.
    pub vlan: u16,
    /// Number of tunnels around this network layer.
    pub tunnels: u8,
    /// DSCP, 0..=63.
    pub dscp: u8,
}

/// What a packet turned out to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A whole UDP datagram.
    Udp(Datagram),
    /// A TCP segment.
    Tcp(Datagram, TcpHeader),
    /// An SCTP packet; the payload begins at the first chunk.
    Sctp(Datagram),
    /// An ICMP message that says that a packet did not arrive; the payload begins at its type ([`crate::icmp`]), and
    /// its ports are 0.
    Icmp(Datagram),
    /// A fragment that reassembly has to complete.
    Fragment(Fragment),
    /// Something without a transport that the jobs look at: ARP, other ICMP, spanning tree, encrypted.
    Other,
    /// A header that lies or is cut: which layer could not be read.
    Malformed(Layer),
    /// A link type or inner protocol that is not known.
    Unknown(Layer),
}

/// A layer of a packet, to say where decoding stopped. Add layers as decoders are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// The link layer: Ethernet, Linux cooked, PPP, and so on.
    Link,
    /// VLAN tags, MPLS labels, PPPoE: what stands between link and network.
    Shim,
    /// IPv4 or IPv6 with its extension headers.
    Network,
    /// GRE, ERSPAN, VXLAN, Geneve, GTP-U, L2TP, TZSP and the like.
    Tunnel,
    /// UDP, TCP, SCTP.
    Transport,
}
