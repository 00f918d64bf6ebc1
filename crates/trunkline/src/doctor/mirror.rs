//! What some seconds of packets say about the mirror port they come from: whether both directions are there, whether
//! packets come twice, whether they were merged on the way.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use trunkline_lane::PacketClass;
use trunkline_lane::class::{classify, payload};
use trunkline_wire::{Address, Datagram, Decoded, decode};

/// Pairs of addresses that are told apart; packets of more are counted and not judged.
pub const PAIRS_MAX: usize = 65_536;
/// Packets that are remembered to find them again.
pub const REMEMBERED_MAX: usize = 262_144;
/// Copies that a mirror makes come this close together; what is sent again comes later, nanoseconds.
pub const COPY_NS_MAX: i64 = 20_000_000;
/// Packets of a pair from which on it is judged: a lone question may stay without an answer.
const PAIR_PACKETS_MIN: u64 = 5;
/// Octets of Ethernet around a packet of the interface's longest, with two VLAN tags.
const FRAME_OCTETS: u32 = 14 + 8;

/// What the packets look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// Packets that were looked at.
    pub packets: u64,
    /// Of those, SIP.
    pub sip: u64,
    /// Of those, RTP and RTCP.
    pub rtp: u64,
    /// Pairs of addresses that speak in both directions.
    pub pairs_both: u64,
    /// Pairs of which one direction alone is there.
    pub pairs_one: u64,
    /// Packets of the pairs in both directions.
    pub packets_both: u64,
    /// Packets of the pairs in one direction.
    pub packets_one: u64,
    /// TCP packets among these: TCP has no way to speak in one direction, so the other one was not mirrored.
    pub tcp_one: u64,
    /// Packets with a payload, which are looked for again.
    pub compared: u64,
    /// Of those, that came a second time at once.
    pub copies: u64,
    /// Of those, with another VLAN than the first.
    pub copies_other_vlan: u64,
    /// Packets longer than the interface takes: merged by an offload.
    pub merged: u64,
    /// Packets of pairs that were not told apart because there were too many.
    pub pairs_overflow: u64,
}

/// Looks at one packet after another, in the order of time.
#[derive(Debug, Default)]
pub struct Look {
    mirror: Mirror,
    mtu: Option<u32>,
    pairs: HashMap<(Address, Address), Pair>,
    recent: HashMap<u64, u16>,
    order: VecDeque<(i64, u64)>,
}

/// Packets of two addresses, by direction.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    packets: [u64; 2],
    tcp: u64,
}

impl Look {
    /// A look at packets of an interface that takes at most `mtu` octets.
    pub fn new(mtu: Option<u32>) -> Self {
        Look { mtu, ..Look::default() }
    }

    /// Looks at a packet: when it came (nanoseconds), its link type, its length on the wire, its octets.
    pub fn packet(&mut self, at_ns: i64, link: u16, wire: u32, octets: &[u8]) {
        self.mirror.packets += 1;
        if self.mtu.is_some_and(|mtu| wire > mtu.saturating_add(FRAME_OCTETS)) {
            self.mirror.merged += 1;
        }
        let decoded = decode(link, octets);
        match classify(&decoded, octets) {
            PacketClass::Signalling if matches!(decoded, Decoded::Udp(_)) => self.mirror.sip += 1,
            PacketClass::Rtp | PacketClass::Rtcp => self.mirror.rtp += 1,
            _ => {}
        }
        let (datagram, sequence) = match &decoded {
            Decoded::Udp(datagram) | Decoded::Sctp(datagram) => (datagram, None),
            Decoded::Tcp(datagram, header) => (datagram, Some(header.seq)),
            _ => return,
        };
        self.pair(datagram, sequence.is_some());
        self.again(at_ns, datagram, sequence, payload(datagram, octets));
    }

    /// How many packets it has looked at.
    pub fn packets(&self) -> u64 {
        self.mirror.packets
    }

    /// What was seen.
    pub fn result(&self) -> Mirror {
        let mut mirror = self.mirror;
        for pair in self.pairs.values() {
            let [there, back] = pair.packets;
            let packets = there.saturating_add(back);
            if packets < PAIR_PACKETS_MIN {
                continue;
            }
            if there > 0 && back > 0 {
                mirror.pairs_both += 1;
                mirror.packets_both += packets;
            } else {
                mirror.pairs_one += 1;
                mirror.packets_one += packets;
                mirror.tcp_one += pair.tcp;
            }
        }
        mirror
    }

    fn pair(&mut self, datagram: &Datagram, tcp: bool) {
        let (from, to) = (datagram.src, datagram.dst);
        if is_to_many(to) || from == to {
            return;
        }
        let (key, direction) = if from < to { ((from, to), 0) } else { ((to, from), 1) };
        if self.pairs.len() >= PAIRS_MAX && !self.pairs.contains_key(&key) {
            self.mirror.pairs_overflow += 1;
            return;
        }
        let pair = self.pairs.entry(key).or_default();
        if let Some(packets) = pair.packets.get_mut(direction) {
            *packets += 1;
        }
        pair.tcp += u64::from(tcp);
    }

    /// The same addresses, ports, sequence number and payload within moments are the same packet: TTL, VLAN and MAC
    /// addresses may differ when two ports are mirrored.
    fn again(&mut self, at_ns: i64, datagram: &Datagram, sequence: Option<u32>, payload: &[u8]) {
        if payload.is_empty() || is_to_many(datagram.dst) {
            return;
        }
        self.forget(at_ns);
        self.mirror.compared += 1;
        let digest = digest(datagram, sequence, payload);
        match self.recent.get(&digest) {
            Some(vlan) => {
                self.mirror.copies += 1;
                self.mirror.copies_other_vlan += u64::from(*vlan != datagram.vlan);
            }
            None => {
                self.recent.insert(digest, datagram.vlan);
                self.order.push_back((at_ns, digest));
            }
        }
    }

    fn forget(&mut self, now_ns: i64) {
        while let Some((at_ns, digest)) = self.order.front() {
            let is_old = now_ns.saturating_sub(*at_ns) > COPY_NS_MAX || self.order.len() >= REMEMBERED_MAX;
            if !is_old {
                return;
            }
            self.recent.remove(digest);
            self.order.pop_front();
        }
    }
}

fn digest(datagram: &Datagram, sequence: Option<u32>, payload: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (datagram.src, datagram.dst, datagram.src_port, datagram.dst_port, sequence).hash(&mut hasher);
    payload.hash(&mut hasher);
    hasher.finish()
}

/// Multicast and broadcast have no answer.
fn is_to_many(address: Address) -> bool {
    match address.to_ip() {
        std::net::IpAddr::V4(v4) => v4.is_multicast() || v4.is_broadcast() || v4.octets()[3] == 255,
        std::net::IpAddr::V6(v6) => v6.is_multicast(),
    }
}
