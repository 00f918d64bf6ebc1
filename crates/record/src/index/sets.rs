//! All addresses and ports of a segment, exactly: what tells without reading more that nothing in it can match.

use trunkline_wire::Address;

use super::codec::{Numbers, push_varint};
use super::headers::{address, number};

const MAPPED: u128 = 0xffff_0000_0000;
/// Ports from which on a bit for each port is shorter.
const PORTS_LISTED_MAX: usize = 4096;

/// The addresses and ports of a segment, of all layers that the index knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets {
    /// IPv4 addresses, ascending.
    v4: Vec<u32>,
    /// Others, ascending.
    v6: Vec<u128>,
    /// Ports, ascending.
    ports: Vec<u16>,
}

impl Sets {
    /// Of addresses and ports in any order, with repetitions.
    pub(super) fn of(mut addresses: Vec<u128>, mut ports: Vec<u16>) -> Sets {
        addresses.sort_unstable();
        addresses.dedup();
        ports.sort_unstable();
        ports.dedup();
        let (v4, v6): (Vec<u128>, Vec<u128>) = addresses.into_iter().partition(|n| n >> 32 == MAPPED >> 32);
        Sets { v4: v4.into_iter().map(|n| n as u32).collect(), v6, ports }
    }

    /// Whether an address from `first` to `last` occurs.
    pub fn holds_address(&self, first: &Address, last: &Address) -> bool {
        let (first, last) = (number(first), number(last));
        let v4 = self.v4.partition_point(|n| MAPPED | u128::from(*n) < first);
        let v6 = self.v6.partition_point(|n| *n < first);
        self.v4.get(v4).is_some_and(|n| MAPPED | u128::from(*n) <= last) || self.v6.get(v6).is_some_and(|n| *n <= last)
    }

    /// Whether a port from `first` to `last` occurs.
    pub fn holds_port(&self, first: u16, last: u16) -> bool {
        let at = self.ports.partition_point(|port| *port < first);
        self.ports.get(at).is_some_and(|port| *port <= last)
    }

    /// Addresses, then ports.
    pub fn counts(&self) -> (usize, usize) {
        (self.v4.len() + self.v6.len(), self.ports.len())
    }

    /// The address of this number.
    #[inline]
    pub(super) fn address(&self, at: u64) -> Option<Address> {
        let at = usize::try_from(at).ok()?;
        let number = match self.v4.get(at) {
            Some(v4) => MAPPED | u128::from(*v4),
            None => *self.v6.get(at - self.v4.len())?,
        };
        Some(address(number))
    }

    /// The number of an address that is in it.
    pub(super) fn place(&self, wanted: u128) -> u64 {
        let at = if wanted >> 32 == MAPPED >> 32 {
            self.v4.partition_point(|n| *n < wanted as u32)
        } else {
            self.v4.len() + self.v6.partition_point(|n| *n < wanted)
        };
        at as u64
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        for count in [self.v4.len(), self.v6.len(), self.ports.len()] {
            push_varint(out, count as u64);
        }
        self.v4.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        self.v6.iter().for_each(|n| out.extend_from_slice(&n.to_be_bytes()));
        if self.ports.len() <= PORTS_LISTED_MAX {
            self.ports.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
            return;
        }
        let mut bits = vec![0u8; 8192];
        for port in &self.ports {
            bits[usize::from(port / 8)] |= 1 << (port % 8);
        }
        out.extend_from_slice(&bits);
    }

    pub(super) fn parse(octets: &[u8]) -> Option<Sets> {
        let mut numbers = Numbers(octets);
        let mut count = || numbers.varint().and_then(|n| usize::try_from(n).ok());
        let (v4, v6, ports) = (count()?, count()?, count()?);
        let (v4_octets, rest) = numbers.0.split_at_checked(v4.checked_mul(4)?)?;
        let (v6_octets, rest) = rest.split_at_checked(v6.checked_mul(16)?)?;
        let v4 = v4_octets.chunks_exact(4).filter_map(|o| Numbers(o).u32()).collect();
        let v6 = v6_octets.chunks_exact(16).map(|o| o.iter().fold(0, |n, o| n << 8 | u128::from(*o))).collect();
        let ports = if ports <= PORTS_LISTED_MAX {
            rest.get(..ports * 2)?.chunks_exact(2).filter_map(|o| Numbers(o).u16()).collect()
        } else {
            let bits = rest.get(..8192)?;
            (0..=u16::MAX).filter(|port| bits[usize::from(port / 8)] >> (port % 8) & 1 != 0).collect()
        };
        Some(Sets { v4, v6, ports })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(texts: &[&str]) -> Vec<u128> {
        texts.iter().map(|t| number(&t.parse().unwrap())).collect()
    }

    #[test]
    fn ranges_of_both_families() {
        let sets = Sets::of(numbers(&["10.0.0.9", "2001:db8::1", "10.0.0.9", "0.0.0.0", "::"]), vec![5060, 7, 7]);
        assert_eq!(sets.counts(), (4, 2));
        let holds = |a: &str, b: &str| sets.holds_address(&a.parse().unwrap(), &b.parse().unwrap());
        assert!(holds("10.0.0.0", "10.0.0.255") && holds("10.0.0.9", "10.0.0.9") && holds("::", "::"));
        assert!(holds("2001:db8::", "2001:db8::ffff") && !holds("10.0.0.10", "10.0.0.255"));
        assert!(sets.holds_port(5000, 5060) && !sets.holds_port(8, 5059));
        for text in ["10.0.0.9", "2001:db8::1", "0.0.0.0", "::"] {
            let wanted = numbers(&[text])[0];
            assert_eq!(sets.address(sets.place(wanted)).map(|a| number(&a)), Some(wanted));
        }
    }

    #[test]
    fn few_and_many_ports_come_back() {
        for count in [0, 3, 4096, 4097, 65535] {
            let sets = Sets::of(numbers(&["10.0.0.1", "fd00::1"]), (0..count).collect());
            let mut out = Vec::new();
            sets.emit(&mut out);
            assert_eq!(Sets::parse(&out), Some(sets));
            assert_eq!(Sets::parse(&out[..out.len() - 1]), None);
        }
    }
}
