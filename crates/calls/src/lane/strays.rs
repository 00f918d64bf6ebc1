//! Streams whose ends no call names, by the two hosts: where translators changed the ports of both sides of a call, its
//! media is among them.

use super::{Key, Lane};
use crate::media::Serial;
use hashbrown::HashMap;
use smallvec::SmallVec;
use trunkline_store::row::Direction;
use trunkline_wire::{Address, Endpoint};

/// Pairs of hosts with such streams that one lane knows. Beyond it all are forgotten and counted.
// Limit: pairs of hosts with streams of no call, one lane
// Beyond: all are forgotten
// Seen in: `trunkline_calls_media_flows_overflow_total`
const HOSTS_MAX: usize = 1 << 13;
/// Streams from one host to another that are kept; the oldest are forgotten.
const KEPT_MAX: usize = 16;

/// A stream whose ends no call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stray {
    /// When it began, nanoseconds since 1970.
    pub first_ns: i64,
    /// The number of its first packet.
    pub packet: u64,
    /// Who sends it.
    pub from: Endpoint,
    /// To whom.
    pub to: Endpoint,
}

/// Such streams of one lane.
#[derive(Debug, Default)]
pub(super) struct Strays {
    by_hosts: HashMap<[Address; 2], SmallVec<[Stray; 1]>>,
    /// Times that all were forgotten.
    pub(super) overflow: u64,
}

fn hosts(from: &Endpoint, to: &Endpoint) -> [Address; 2] {
    [from.address, to.address]
}

impl Strays {
    fn add(&mut self, stray: Stray) {
        if self.by_hosts.len() >= HOSTS_MAX {
            self.by_hosts.clear();
            self.overflow += 1;
        }
        let kept = self.by_hosts.entry(hosts(&stray.from, &stray.to)).or_default();
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push(stray);
    }

    /// A call has it now.
    fn remove(&mut self, key: &Key, packet: u64) {
        if let Some(kept) = self.by_hosts.get_mut(&hosts(&key.from, &key.to)) {
            kept.retain(|stray| stray.packet != packet);
        }
    }

    /// The first that began within a time, from one host to another.
    fn first(&self, hosts: [Address; 2], (from_ns, to_ns): (i64, i64)) -> Option<Stray> {
        let within = |stray: &&Stray| (from_ns..=to_ns).contains(&stray.first_ns);
        self.by_hosts.get(&hosts)?.iter().filter(within).min_by_key(|stray| stray.packet).copied()
    }
}

impl Lane {
    /// Notes a stream that no call has. One that goes on behind the end of its call, or between ends that a call names
    /// which is over, is none.
    pub(super) fn stray(&mut self, key: &Key, first_ns: i64, packet: u64) {
        let is_named = |end: &Endpoint| self.directory.is_named(end, first_ns);
        if self.over.knows(key, first_ns) || is_named(&key.from) || is_named(&key.to) {
            return;
        }
        let stray = Stray { first_ns, packet, from: key.from, to: key.to };
        let aside = self.aside.get_or_insert_default();
        aside.strays.add(stray);
        self.counters.aside_overflow = aside.overflow();
    }

    /// A call has a stream that none had.
    pub(super) fn no_stray(&mut self, key: &Key, packet: u64) {
        if let Some(aside) = self.aside.as_deref_mut() {
            aside.strays.remove(key, packet);
        }
    }

    /// Streams of no call that began while a call was up, from a host of the caller to one of the callee and back.
    pub(super) fn strays_of(&self, serial: Serial) -> [Option<Stray>; 2] {
        let Some(aside) = self.aside.as_deref().filter(|aside| !aside.strays.by_hosts.is_empty()) else {
            return [None; 2];
        };
        let Some(time) = self.directory.time_of(serial).filter(|_| !self.directory.has_ice(serial)) else {
            return [None; 2];
        };
        let of = |party| self.directory.hosts_of(serial, party);
        let [callers, callees] = [of(Direction::Caller), of(Direction::Callee)];
        let between = |from: &[Address], to: &[Address]| {
            let all = from.iter().flat_map(|from| to.iter().map(|to| [*from, *to]));
            all.filter_map(|hosts| aside.strays.first(hosts, time)).min_by_key(|stray| stray.packet)
        };
        [between(&callers, &callees), between(&callees, &callers)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strays_are_found_by_time_and_bounded() {
        let end = |text: &str| -> Endpoint { text.parse().unwrap() };
        let (from, to) = (end("192.0.2.1:4000"), end("192.0.2.2:5000"));
        let mut strays = Strays::default();
        for n in 0..KEPT_MAX as u64 + 4 {
            strays.add(Stray { first_ns: n as i64, packet: n, from, to });
        }
        let first = |strays: &Strays, time| strays.first(hosts(&from, &to), time).map(|stray| stray.packet);
        assert_eq!(
            (first(&strays, (0, 99)), first(&strays, (9, 99)), first(&strays, (0, 3))),
            (Some(4), Some(9), None)
        );
        strays.remove(&Key { from, to, ssrc: 1, outer: 0 }, 9);
        assert_eq!((first(&strays, (9, 99)), first(&strays, (9, 9))), (Some(10), None));
        for n in 0..HOSTS_MAX as u32 {
            let [_, a, b, c] = n.to_be_bytes();
            let from = Endpoint::new(Address::v4([10, a, b, c]), 4000);
            strays.add(Stray { first_ns: 0, packet: 0, from, to });
        }
        assert_eq!((strays.overflow, strays.by_hosts.len()), (1, 1));
    }
}
