//! The cursor that the decoders hand to each other: octets of one packet, where the enclosing layer ends, and how deep.

use crate::{Address, Datagram, Decoded, Fragment, Layer};

/// Headers of all kinds that one packet may stack before decoding stops (tags, labels' stacks, network layers,
/// extension headers, tunnels). The deepest stacks seen in carriers' networks have about fifteen.
// Limit: headers of one packet (tags, labels, network layers, tunnels)
// Beyond: the packet counts as malformed at that layer
// Seen in: `trunkline_calls_malformed_network_total` and the counters of the other layers
pub const HEADERS_MAX: u8 = 48;

/// Tunnels around the innermost network layer before decoding stops.
// Limit: tunnels around one packet
// Beyond: the packet counts as malformed at that layer
// Seen in: `trunkline_calls_malformed_tunnel_total`
pub const TUNNELS_MAX: u8 = 8;

/// A packet being decoded. Positions count from the packet's first octet, so that results can point into it.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a> {
    /// The captured octets, cut at the end of the enclosing layer: padding and trailers are gone.
    pub octets: &'a [u8],
    /// Where the enclosing layer ends on the wire; beyond `octets` when the snap length cut the packet.
    pub wire: usize,
    /// Outermost VLAN identifier, 0 if none.
    pub vlan: u16,
    /// Tunnels entered.
    pub tunnels: u8,
    /// Headers passed, for [`HEADERS_MAX`].
    pub headers: u8,
}

/// What a transport inherits from its network layer.
#[derive(Clone, Copy)]
pub(crate) struct Network {
    /// The addresses as numbers, so that they stay in registers until a result is written.
    src: u128,
    dst: u128,
    pub dscp: u8,
}

impl Network {
    #[inline(always)]
    pub fn v4(src: u32, dst: u32, dscp: u8) -> Self {
        const MAPPED: u128 = 0xffff_0000_0000;
        Network { src: MAPPED | u128::from(src), dst: MAPPED | u128::from(dst), dscp }
    }

    #[inline(always)]
    pub fn new(src: Address, dst: Address, dscp: u8) -> Self {
        Network { src: u128::from_be_bytes(*src.octets()), dst: u128::from_be_bytes(*dst.octets()), dscp }
    }

    #[inline(always)]
    pub fn src(&self) -> Address {
        Address::from_octets(self.src.to_be_bytes())
    }

    #[inline(always)]
    pub fn dst(&self) -> Address {
        Address::from_octets(self.dst.to_be_bytes())
    }
}

impl<'a> Walk<'a> {
    /// At the beginning of a packet.
    #[inline]
    pub fn new(octets: &'a [u8]) -> Self {
        Walk { octets, wire: octets.len(), vlan: 0, tunnels: 0, headers: 0 }
    }

    /// The `N` octets at `at`, if they were captured.
    #[inline]
    pub fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.octets.get(at..)?.first_chunk::<N>().copied()
    }

    /// The octet at `at`.
    #[inline]
    pub fn u8(&self, at: usize) -> Option<u8> {
        self.octets.get(at).copied()
    }

    /// The 16 bits at `at`, network order.
    #[inline]
    pub fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_be_bytes)
    }

    /// The 32 bits at `at`, network order.
    #[inline]
    pub fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_be_bytes)
    }

    /// What lies from `at` to the end of the enclosing layer, captured octets only.
    #[inline]
    pub fn rest(&self, at: usize) -> &'a [u8] {
        self.octets.get(at..).unwrap_or(&[])
    }

    /// Octets from `at` to the end of the enclosing layer on the wire.
    #[inline]
    pub fn left(&self, at: usize) -> usize {
        self.wire.saturating_sub(at)
    }

    /// The same packet, for a layer of `length` octets at `at`: what is behind it is padding or a trailer.
    #[inline]
    pub fn narrow(mut self, at: usize, length: usize) -> Self {
        self.wire = at.saturating_add(length);
        if self.wire < self.octets.len() {
            self.octets = &self.octets[..self.wire];
        }
        self
    }

    /// One header further in; none where [`HEADERS_MAX`] is passed.
    #[inline]
    pub fn deeper(mut self) -> Option<Self> {
        self.headers += 1;
        (self.headers <= HEADERS_MAX).then_some(self)
    }

    /// One tunnel further in; none where [`TUNNELS_MAX`] is passed.
    #[inline]
    pub fn tunnel(mut self) -> Option<Self> {
        self.tunnels = self.tunnels.saturating_add(1);
        (self.tunnels <= TUNNELS_MAX).then_some(self)
    }

    /// The datagram whose payload begins at `start` and ends, on the wire, at `end`.
    #[inline(always)]
    pub fn datagram(&self, network: &Network, ports: (u16, u16), start: usize, end: usize) -> Datagram {
        let captured = end.min(self.octets.len()).saturating_sub(start);
        Datagram {
            src: network.src(),
            dst: network.dst(),
            src_port: ports.0,
            dst_port: ports.1,
            payload_start: start as u32,
            payload_captured: captured as u32,
            payload_wire: end.saturating_sub(start) as u32,
            vlan: self.vlan,
            tunnels: self.tunnels,
            dscp: network.dscp,
        }
    }

    /// The fragment whose octets begin at `start` and go on to the end of the layer.
    pub fn fragment(&self, network: &Network, start: usize, part: Part) -> Decoded {
        let captured = self.octets.len().saturating_sub(start);
        Decoded::Fragment(Fragment {
            src: network.src(),
            dst: network.dst(),
            identification: part.identification,
            protocol: part.protocol,
            offset: part.offset,
            more: part.more,
            payload_start: start.min(self.octets.len()) as u32,
            payload_captured: captured as u32,
            payload_wire: self.left(start) as u32,
            vlan: self.vlan,
            tunnels: self.tunnels,
            dscp: network.dscp,
        })
    }
}

/// What a network header says about a fragment.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub identification: u32,
    pub protocol: u8,
    pub offset: u32,
    pub more: bool,
}

/// What is found inside a tunnel that was guessed from a port: kept if it was understood, else the guess was wrong.
#[inline]
pub(crate) fn understood(inner: Decoded) -> Option<Decoded> {
    match inner {
        Decoded::Malformed(_) | Decoded::Unknown(_) => None,
        whole => Some(whole),
    }
}

/// Shorthand for a header that cannot be read.
pub(crate) const fn malformed(layer: Layer) -> Decoded {
    Decoded::Malformed(layer)
}

/// A 16-bit field of a header that was already copied out, network order.
#[inline]
pub(crate) fn be16(octets: &[u8], at: usize) -> u16 {
    match octets.get(at..).and_then(|o| o.first_chunk::<2>()) {
        Some(o) => u16::from_be_bytes(*o),
        None => 0,
    }
}

/// A 32-bit field of a header that was already copied out, network order.
#[inline]
pub(crate) fn be32(octets: &[u8], at: usize) -> u32 {
    match octets.get(at..).and_then(|o| o.first_chunk::<4>()) {
        Some(o) => u32::from_be_bytes(*o),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrowed_layer_hides_the_padding_and_remembers_what_was_cut() {
        let octets = [0u8; 10];
        let padded = Walk::new(&octets).narrow(2, 4);
        assert_eq!((padded.octets.len(), padded.wire), (6, 6));
        let cut = Walk::new(&octets).narrow(2, 40);
        assert_eq!((cut.octets.len(), cut.wire, cut.left(4)), (10, 42, 38));
        assert_eq!(cut.u16(9), None);
        assert_eq!(cut.rest(11), &[] as &[u8]);
    }

    #[test]
    fn depth_ends() {
        let mut walk = Walk::new(&[]);
        let mut depth = 0;
        while let Some(next) = walk.deeper() {
            walk = next;
            depth += 1;
        }
        assert_eq!(depth, HEADERS_MAX);
    }
}
