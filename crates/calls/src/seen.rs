//! Whose media passes the tap at all: without that, silence says nothing about a call.

use crate::lane::{Begun, Carried, Carrier};
use crate::limits::NETWORKS_SEEN_MAX;
use hashbrown::HashMap;
use trunkline_wire::{Address, Endpoint};

/// Streams to a network, of different ports, that make it plain that its own would have been seen.
pub const ONE_SIDED_MIN: usize = 3;

/// A network: the first 24 bits of an IPv4 address, the first 64 of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Network([u8; 8], bool);

impl Network {
    fn of(address: Address) -> Network {
        let octets = address.octets();
        let mut first = [0; 8];
        let is_v4 = address.is_v4();
        let kept = if is_v4 { &octets[octets.len() - 4..octets.len() - 1] } else { &octets[..8] };
        first[..kept.len()].copy_from_slice(kept);
        Network(first, is_v4)
    }
}

/// What was seen of a network: when its first stream began, and the first streams to different ports of it.
#[derive(Clone, Debug, Default)]
struct Known {
    sent_ns: Option<i64>,
    received: [Option<(i64, u16)>; ONE_SIDED_MIN],
}

/// The networks whose media was seen.
#[derive(Debug, Default)]
pub struct Seen {
    networks: HashMap<Network, Known>,
    /// When the first stream of all began.
    first_ns: Option<i64>,
    /// Hosts with media that is not known to be any call's, by when it was first seen.
    carried: HashMap<(Address, Carrier), i64>,
    /// Networks beyond [`NETWORKS_SEEN_MAX`]: nothing is known of them.
    pub overflow: u64,
}

impl Seen {
    /// Takes a stream that began; in any order.
    pub fn take(&mut self, begun: &Begun) {
        self.first_ns = Some(self.first_ns.map_or(begun.first_ns, |first| first.min(begun.first_ns)));
        if let Some(known) = self.known(begun.from) {
            known.sent_ns = Some(known.sent_ns.map_or(begun.first_ns, |first| first.min(begun.first_ns)));
        }
        if let Some(known) = self.known(begun.to) {
            known.receive(begun.first_ns, begun.to.port);
        }
    }

    /// Takes media that is not known to be any call's; in any order.
    pub fn take_carried(&mut self, carried: &Carried) {
        let begun = &carried.begun;
        for address in [begun.from.address, begun.to.address] {
            let key = (address, carried.carrier);
            if self.carried.len() >= NETWORKS_SEEN_MAX && !self.carried.contains_key(&key) {
                self.overflow += 1;
                continue;
            }
            let first_ns = self.carried.entry(key).or_insert(begun.first_ns);
            *first_ns = begun.first_ns.min(*first_ns);
        }
    }

    /// How such media went from or to one of these addresses by then.
    pub fn carrier(&self, addresses: &[Address], until_ns: i64) -> Option<Carrier> {
        let went =
            |address: &Address, carrier| self.carried.get(&(*address, carrier)).is_some_and(|at| *at <= until_ns);
        [Carrier::Turn, Carrier::Tcp]
            .into_iter()
            .find(|carrier| addresses.iter().any(|address| went(address, *carrier)))
    }

    fn known(&mut self, endpoint: Endpoint) -> Option<&mut Known> {
        let network = Network::of(endpoint.address);
        if self.networks.len() >= NETWORKS_SEEN_MAX && !self.networks.contains_key(&network) {
            self.overflow += 1;
            return None;
        }
        Some(self.networks.entry(network).or_default())
    }

    /// Whether any media was seen by then.
    pub fn any(&self, until_ns: i64) -> bool {
        self.first_ns.is_some_and(|first| first <= until_ns)
    }

    /// Whether media from or to the network of this address was seen by then.
    pub fn passes(&self, address: Address, until_ns: i64) -> bool {
        !self.networks.is_empty()
            && self.networks.get(&Network::of(address)).is_some_and(|known| {
                let received = known.received.iter().flatten().any(|(at_ns, _)| *at_ns <= until_ns);
                received || known.sends_by(until_ns)
            })
    }

    /// Whether [`ONE_SIDED_MIN`] streams to the network of this address were seen by then, and none from it.
    pub fn is_one_sided(&self, address: Address, until_ns: i64) -> bool {
        !self.networks.is_empty()
            && self.networks.get(&Network::of(address)).is_some_and(|known| {
                let received = known.received.iter().all(|r| r.is_some_and(|(at_ns, _)| at_ns <= until_ns));
                received && !known.sends_by(until_ns)
            })
    }
}

impl Known {
    fn sends_by(&self, until_ns: i64) -> bool {
        self.sent_ns.is_some_and(|at_ns| at_ns <= until_ns)
    }

    /// Keeps the earliest ones, each port once.
    fn receive(&mut self, at_ns: i64, port: u16) {
        if let Some((first, _)) = self.received.iter_mut().flatten().find(|(_, known)| *known == port) {
            *first = at_ns.min(*first);
        } else if let Some(free) = self.received.iter_mut().find(|r| r.is_none()) {
            *free = Some((at_ns, port));
        } else if let Some(last) = self.received.iter_mut().max() {
            *last = (*last).min(Some((at_ns, port)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(first_ns: i64, from: &str, to: &str) -> Begun {
        Begun { first_ns, from: from.parse().unwrap(), to: to.parse().unwrap() }
    }

    #[test]
    fn a_network_passes_from_its_first_stream_on() {
        let mut seen = Seen::default();
        seen.take(&begun(100, "192.0.2.1:4000", "[2001:db8::1]:5000"));
        seen.take(&begun(50, "192.0.2.9:4000", "198.51.100.1:5000"));
        assert!(seen.any(50) && !seen.any(49) && !Seen::default().any(i64::MAX));
        let passes = |address: &str, at| seen.passes(format!("{address}:1").parse::<Endpoint>().unwrap().address, at);
        assert!(passes("192.0.2.77", 50) && !passes("192.0.2.77", 49) && !passes("192.0.3.1", 100));
        assert!(passes("[2001:db8::ff]", 100) && !passes("[2001:db8:0:1::1]", 100) && passes("198.51.100.2", 50));
    }

    #[test]
    fn one_side_is_told_by_several_streams_of_different_ports() {
        let here: Endpoint = "203.0.113.20:1".parse().unwrap();
        let mut seen = Seen::default();
        for (at, port) in [(40, 20000), (10, 20000), (30, 20004)] {
            seen.take(&begun(at, "198.51.100.1:4000", &format!("203.0.113.20:{port}")));
        }
        assert!(!seen.is_one_sided(here.address, 100), "two ports");
        for (at, port) in [(90, 20008), (20, 20012)] {
            seen.take(&begun(at, "198.51.100.1:4000", &format!("203.0.113.20:{port}")));
        }
        assert!(seen.is_one_sided(here.address, 30) && !seen.is_one_sided(here.address, 29), "{seen:?}");
        seen.take(&begun(60, "203.0.113.21:4000", "198.51.100.1:4000"));
        assert!(seen.is_one_sided(here.address, 59) && !seen.is_one_sided(here.address, 60));
    }

    #[test]
    fn networks_are_bounded() {
        let mut seen = Seen::default();
        for n in 0..=NETWORKS_SEEN_MAX as u32 {
            let from = Endpoint::new(Address::v4([10, (n >> 16) as u8, (n >> 8) as u8, n as u8]), 4000);
            let from =
                Endpoint::new(Address::v4([(n >> 16) as u8 + 10, (n >> 8) as u8, n as u8, from.port as u8]), 4000);
            seen.take(&Begun { first_ns: 0, from, to: from });
        }
        assert_eq!((seen.networks.len(), seen.overflow), (NETWORKS_SEEN_MAX, 2));
    }
}
