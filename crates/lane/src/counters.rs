//! What decoding counts.

use trunkline_wire::{Decoded, Layer};

trunkline_kit::counters! {
    /// What decoding counts. The names are older than this crate: they are what users' dashboards know.
    pub struct DecodeCounters {
        /// packets looked at
        packets: "trunkline_calls_packets_total",
        /// UDP datagrams
        udp: "trunkline_calls_udp_packets_total",
        /// TCP segments
        tcp: "trunkline_calls_tcp_packets_total",
        /// SCTP packets
        sctp: "trunkline_calls_sctp_packets_total",
        /// fragments of IP datagrams
        fragments: "trunkline_calls_fragments_total",
        /// RTCP packets (each of a compound)
        rtcp: "trunkline_calls_rtcp_packets_total",
        /// packets of other protocols
        other: "trunkline_calls_other_packets_total",
        /// packets whose link or inner protocol is not known
        unknown: "trunkline_calls_unknown_packets_total",
        /// packets with a broken link header
        malformed_link: "trunkline_calls_malformed_link_total",
        /// packets with a broken shim header (VLAN, MPLS, PPPoE)
        malformed_shim: "trunkline_calls_malformed_shim_total",
        /// packets with a broken network header
        malformed_network: "trunkline_calls_malformed_network_total",
        /// packets with a broken tunnel header
        malformed_tunnel: "trunkline_calls_malformed_tunnel_total",
        /// packets with a broken transport header
        malformed_transport: "trunkline_calls_malformed_transport_total",
    }
}

impl DecodeCounters {
    #[inline]
    pub(crate) fn see(&mut self, decoded: &Decoded) {
        let counter = match decoded {
            Decoded::Udp(_) => &mut self.udp,
            Decoded::Tcp(..) => &mut self.tcp,
            Decoded::Sctp(_) => &mut self.sctp,
            Decoded::Fragment(_) => &mut self.fragments,
            Decoded::Other | Decoded::Icmp(_) => &mut self.other,
            Decoded::Unknown(_) => &mut self.unknown,
            Decoded::Malformed(Layer::Link) => &mut self.malformed_link,
            Decoded::Malformed(Layer::Shim) => &mut self.malformed_shim,
            Decoded::Malformed(Layer::Network) => &mut self.malformed_network,
            Decoded::Malformed(Layer::Tunnel) => &mut self.malformed_tunnel,
            Decoded::Malformed(Layer::Transport) => &mut self.malformed_transport,
        };
        *counter += 1;
    }
}
