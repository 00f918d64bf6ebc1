//! Fragments of IPv4 (RFC 791 section 3.2) and IPv6 (RFC 8200 section 4.5) datagrams put together again.
//!
//! Fragments come in any order, twice, or overlapping; of octets that come twice the first are kept. (RFC 5722 lets
//! hosts drop overlapping IPv6 fragments; a monitor shows what was sent and counts it.) A fragment that the snap length
//! cut still counts as there: the datagram is given as far as its octets are without a hole, and says how long it was.

use crate::counts::counts;
use crate::hashing::Seeded;
use crate::walk::{Network, Walk};
use crate::{Address, Decoded, Fragment, transport};
use std::collections::{HashMap, VecDeque};

/// Datagrams that may be incomplete at a time; then the oldest is given up.
// Limit: incomplete IP datagrams at once
// Beyond: the oldest is given up
// Seen in: `trunkline_calls_ip_fragments_overflow_total`
pub const DATAGRAMS_MAX: usize = 8192;

/// Octets that incomplete datagrams may hold in all; then the oldest is given up.
// Limit: memory of incomplete IP datagrams
// Beyond: the oldest is given up
// Seen in: `trunkline_calls_ip_fragments_overflow_total`
pub const OCTETS_MAX: usize = 32 << 20;

/// Separate runs of octets of one datagram; a fragment that would make more is dropped.
pub const RUNS_MAX: usize = 256;

/// Packet time after which an incomplete datagram is given up (RFC 791 suggests 15 s, Linux waits 30 s, RFC 8200 60 s).
pub const TIMEOUT_NS: i64 = 30_000_000_000;

/// Octets that a reassembled payload may have: the total length of IPv4 and the payload length of IPv6 have 16 bits.
const PAYLOAD_MAX: u32 = 65_535;

counts! {
    /// What happened to fragments.
    pub struct FragmentCounts {
        /// fragments of IP datagrams seen
        fragments: "trunkline_calls_ip_fragments_packets_total",
        /// IP datagrams put together from fragments
        reassembled: "trunkline_calls_ip_reassembled_datagrams_total",
        /// fragments that brought nothing new
        duplicates: "trunkline_calls_ip_fragment_duplicates_packets_total",
        /// fragments that partly overlapped what had come before
        overlaps: "trunkline_calls_ip_fragment_overlaps_packets_total",
        /// fragments whose offset or length cannot be right
        malformed: "trunkline_calls_ip_fragment_malformed_packets_total",
        /// incomplete IP datagrams given up because the rest did not come in time
        timed_out: "trunkline_calls_ip_reassembly_timeouts_datagrams_total",
        /// incomplete IP datagrams given up because the table was full
        evicted: "trunkline_calls_ip_reassembly_evicted_datagrams_total",
        /// fragments dropped because their datagram was in too many pieces
        scattered: "trunkline_calls_ip_reassembly_scattered_packets_total",
    }
}

/// Limits of a [`Fragments`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentLimits {
    /// See [`DATAGRAMS_MAX`].
    pub datagrams: usize,
    /// See [`OCTETS_MAX`].
    pub octets: usize,
    /// See [`TIMEOUT_NS`].
    pub timeout_ns: i64,
}

impl Default for FragmentLimits {
    fn default() -> Self {
        FragmentLimits { datagrams: DATAGRAMS_MAX, octets: OCTETS_MAX, timeout_ns: TIMEOUT_NS }
    }
}

/// A datagram's payload, whole again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reassembled<'a> {
    /// The payload of the network layer: from the transport's header on. Shorter than `wire` if a fragment was cut by
    /// the snap length.
    pub octets: &'a [u8],
    /// Octets of the payload on the wire.
    pub wire: u32,
    /// Source address.
    pub src: Address,
    /// Destination address.
    pub dst: Address,
    /// Protocol of the payload.
    pub protocol: u8,
    /// As in [`Fragment`].
    pub vlan: u16,
    /// As in [`Fragment`].
    pub tunnels: u8,
    /// Of the fragment that came first.
    pub dscp: u8,
}

impl Reassembled<'_> {
    /// Goes on with what the payload carries; positions in the result count from [`Reassembled::octets`].
    ///
    /// A tunnel may carry fragments again, so the result may be another [`Decoded::Fragment`].
    pub fn decode(&self) -> Decoded {
        decode_payload(self)
    }
}

/// Decodes the payload of a network layer that was put together from fragments. See [`Reassembled::decode`].
pub fn decode_payload(payload: &Reassembled) -> Decoded {
    let mut walk = Walk::new(payload.octets);
    walk.wire = payload.wire as usize;
    walk.vlan = payload.vlan;
    walk.tunnels = payload.tunnels;
    let network = Network::new(payload.src, payload.dst, payload.dscp);
    transport::protocol(walk, 0, payload.protocol, &network)
}

/// What fragments of one datagram share. The protocol belongs to it in IPv4 (RFC 791 section 2.3); in IPv6 the same
/// identification is not used for two datagrams either way. VLAN and tunnels keep two views of one wire apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    src: Address,
    dst: Address,
    identification: u32,
    protocol: u8,
    tunnels: u8,
    vlan: u16,
}

/// A run of octets that came: `wire` of them, of which `captured` from its beginning are in the buffer.
#[derive(Clone, Copy)]
struct Run {
    start: u32,
    captured: u32,
    wire: u32,
}

struct Partial {
    serial: u64,
    since_ns: i64,
    dscp: u8,
    total: Option<u32>,
    /// In order, without overlap.
    runs: Vec<Run>,
    buffer: Vec<u8>,
}

/// The table of incomplete datagrams.
#[derive(Default)]
pub struct Fragments {
    limits: FragmentLimits,
    partial: HashMap<Key, Partial, Seeded>,
    /// Keys in order of their first fragment; an entry whose serial is gone has been completed.
    order: VecDeque<(u64, i64, Key)>,
    octets: usize,
    serial: u64,
    done: Vec<u8>,
    counts: FragmentCounts,
}

impl Fragments {
    /// An empty table with the usual limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table with these limits.
    pub fn with_limits(limits: FragmentLimits) -> Self {
        Fragments { limits, ..Self::default() }
    }

    /// What happened so far.
    pub fn counts(&self) -> &FragmentCounts {
        &self.counts
    }

    /// Datagrams that are incomplete now.
    pub fn incomplete(&self) -> usize {
        self.partial.len()
    }

    /// Takes a fragment out of `packet`, the octets that were decoded; gives the datagram if this was what it lacked.
    ///
    /// `at_ns` is packet time, nanoseconds; it may step back.
    pub fn push(&mut self, at_ns: i64, fragment: &Fragment, packet: &[u8]) -> Option<Reassembled<'_>> {
        self.counts.fragments += 1;
        self.expire(at_ns);
        let start = fragment.payload_start as usize;
        let octets = packet.get(start..).and_then(|o| o.get(..fragment.payload_captured as usize)).unwrap_or(&[]);
        let end = fragment.offset.saturating_add(fragment.payload_wire);
        if fragment.payload_wire == 0
            || end > PAYLOAD_MAX
            || (fragment.more && !fragment.payload_wire.is_multiple_of(8))
        {
            self.counts.malformed += 1;
            return None;
        }
        let key = key_of(fragment);
        let partial = match self.partial.get_mut(&key) {
            Some(partial) => partial,
            None => self.begin(at_ns, key, fragment.dscp),
        };
        let before = partial.buffer.capacity();
        let outcome = partial.add(fragment, octets);
        let grown = partial.buffer.capacity() - before;
        let whole = partial.is_whole();
        self.octets += grown;
        self.note(outcome);
        if whole {
            return self.finish(&key);
        }
        self.make_room();
        None
    }

    fn begin(&mut self, at_ns: i64, key: Key, dscp: u8) -> &mut Partial {
        self.serial += 1;
        self.order.push_back((self.serial, at_ns, key));
        let partial =
            Partial { serial: self.serial, since_ns: at_ns, dscp, total: None, runs: Vec::new(), buffer: Vec::new() };
        self.partial.entry(key).or_insert(partial)
    }

    fn note(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::New => {}
            Outcome::Duplicate => self.counts.duplicates += 1,
            Outcome::Overlap => self.counts.overlaps += 1,
            Outcome::Malformed => self.counts.malformed += 1,
            Outcome::Scattered => self.counts.scattered += 1,
        }
    }

    fn finish(&mut self, key: &Key) -> Option<Reassembled<'_>> {
        let partial = self.partial.remove(key)?;
        self.octets -= partial.buffer.capacity();
        self.counts.reassembled += 1;
        let (captured, wire) = (partial.captured(), partial.total.unwrap_or(0));
        self.done = partial.buffer;
        self.done.truncate(captured);
        self.drop_stale();
        Some(Reassembled {
            octets: &self.done,
            wire,
            src: key.src,
            dst: key.dst,
            protocol: key.protocol,
            vlan: key.vlan,
            tunnels: key.tunnels,
            dscp: partial.dscp,
        })
    }

    /// Gives up what is incomplete at this time: no fragment has to come for that. All of it at `i64::MAX`.
    pub fn tick(&mut self, at_ns: i64) {
        self.expire(at_ns);
    }

    fn expire(&mut self, at_ns: i64) {
        while let Some((serial, since_ns, key)) = self.order.front().copied() {
            let waits = at_ns.saturating_sub(since_ns) <= self.limits.timeout_ns;
            if waits && self.is_current(serial, &key) {
                break;
            }
            self.order.pop_front();
            self.counts.timed_out += u64::from(self.give_up(serial, &key));
        }
    }

    fn make_room(&mut self) {
        while self.partial.len() > self.limits.datagrams || self.octets > self.limits.octets {
            let Some((serial, _, key)) = self.order.pop_front() else { break };
            self.counts.evicted += u64::from(self.give_up(serial, &key));
        }
    }

    fn give_up(&mut self, serial: u64, key: &Key) -> bool {
        let current = self.is_current(serial, key);
        if let Some(partial) = current.then(|| self.partial.remove(key)).flatten() {
            self.octets -= partial.buffer.capacity();
        }
        current
    }

    fn is_current(&self, serial: u64, key: &Key) -> bool {
        self.partial.get(key).is_some_and(|p| p.serial == serial)
    }

    /// Keeps the order from growing with completed entries behind one that waits.
    fn drop_stale(&mut self) {
        if self.order.len() > 2 * self.partial.len() + 64 {
            let partial = &self.partial;
            self.order.retain(|(serial, _, key)| partial.get(key).is_some_and(|p| p.serial == *serial));
        }
    }
}

fn key_of(fragment: &Fragment) -> Key {
    Key {
        src: fragment.src,
        dst: fragment.dst,
        identification: fragment.identification,
        protocol: fragment.protocol,
        tunnels: fragment.tunnels,
        vlan: fragment.vlan,
    }
}

enum Outcome {
    New,
    Duplicate,
    Overlap,
    Malformed,
    Scattered,
}

impl Partial {
    fn add(&mut self, fragment: &Fragment, octets: &[u8]) -> Outcome {
        let (start, end) = (fragment.offset, fragment.offset + fragment.payload_wire);
        let highest = self.runs.last().map_or(0, |r| r.start + r.wire);
        match (fragment.more, self.total) {
            (false, Some(total)) if total != end => return Outcome::Malformed,
            (false, None) if highest > end => return Outcome::Malformed,
            (true, Some(total)) if end > total => return Outcome::Malformed,
            (false, _) => self.total = Some(end),
            _ => {}
        }
        if self.runs.len() >= RUNS_MAX {
            return Outcome::Scattered;
        }
        let fresh = self.insert(start, end, octets);
        match fresh {
            0 => Outcome::Duplicate,
            fresh if fresh < end - start => Outcome::Overlap,
            _ => Outcome::New,
        }
    }

    /// Fills what is not there yet between `start` and `end`; says how many octets of the wire that were.
    fn insert(&mut self, start: u32, end: u32, octets: &[u8]) -> u32 {
        let (mut at, mut fresh) = (start, 0);
        let mut index = self.runs.partition_point(|r| r.start + r.wire <= start);
        while at < end {
            let next = self.runs.get(index).copied();
            let until = next.map_or(end, |r| r.start.min(end));
            if at < until {
                let run = self.copy(at, until, octets.get((at - start) as usize..).unwrap_or(&[]));
                self.runs.insert(index, run);
                fresh += until - at;
                index += 1;
            }
            let Some(next) = next else { break };
            at = next.start + next.wire;
            index += 1;
        }
        self.join();
        fresh
    }

    fn copy(&mut self, start: u32, end: u32, octets: &[u8]) -> Run {
        let captured = octets.len().min((end - start) as usize);
        let place = start as usize;
        if self.buffer.len() < place + captured {
            self.buffer.resize(place + captured, 0);
        }
        if let Some(to) = self.buffer.get_mut(place..place + captured) {
            to.copy_from_slice(&octets[..captured]);
        }
        Run { start, captured: captured as u32, wire: end - start }
    }

    /// Joins neighbours without a hole between them, so that a datagram in order is one run.
    fn join(&mut self) {
        self.runs.dedup_by(|next, run| {
            let joins = run.captured == run.wire && run.start + run.wire == next.start;
            if joins {
                run.captured += next.captured;
                run.wire += next.wire;
            }
            joins
        });
    }

    fn is_whole(&self) -> bool {
        let mut at = 0;
        let gapless = self.runs.iter().all(|r| r.start == std::mem::replace(&mut at, r.start + r.wire));
        gapless && self.total == Some(at)
    }

    /// Octets from the beginning on that were captured without a hole.
    fn captured(&self) -> usize {
        self.runs.first().filter(|r| r.start == 0).map_or(0, |r| r.captured as usize)
    }
}

impl std::fmt::Debug for Fragments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let oldest_ns = self.order.front().and_then(|(_, _, key)| self.partial.get(key)).map(|p| p.since_ns);
        f.debug_struct("Fragments")
            .field("incomplete", &self.partial.len())
            .field("octets", &self.octets)
            .field("oldest_ns", &oldest_ns)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Octets 0, 1, 2, ... of a datagram, cut between `start` and `end`.
    fn part(start: u32, end: u32, more: bool) -> (Fragment, Vec<u8>) {
        let octets: Vec<u8> = (start..end).map(|n| n as u8).collect();
        let fragment = Fragment {
            src: Address::v4([10, 0, 0, 1]),
            dst: Address::v4([10, 0, 0, 2]),
            identification: 7,
            protocol: 17,
            offset: start,
            more,
            payload_start: 0,
            payload_captured: end - start,
            payload_wire: end - start,
            vlan: 0,
            tunnels: 0,
            dscp: 0,
        };
        (fragment, octets)
    }

    fn push(table: &mut Fragments, at_ns: i64, (fragment, octets): (Fragment, Vec<u8>)) -> Option<Vec<u8>> {
        table.push(at_ns, &fragment, &octets).map(|r| r.octets.to_vec())
    }

    fn counting(to: u32) -> Option<Vec<u8>> {
        Some((0..to).map(|n| n as u8).collect())
    }

    #[test]
    fn any_order_and_copies() {
        let mut table = Fragments::new();
        assert_eq!(push(&mut table, 0, part(16, 20, false)), None);
        assert_eq!(push(&mut table, 0, part(8, 16, true)), None);
        assert_eq!(push(&mut table, 0, part(8, 16, true)), None);
        assert_eq!(push(&mut table, 0, part(0, 8, true)), counting(20));
        let counts = table.counts();
        assert_eq!((counts.fragments, counts.reassembled, counts.duplicates), (4, 1, 1));
        assert_eq!((table.incomplete(), table.octets), (0, 0));
    }

    #[test]
    fn of_overlapping_octets_the_first_stay() {
        let mut table = Fragments::new();
        push(&mut table, 0, part(8, 16, true));
        let (mut wide, _) = part(0, 24, true);
        assert!(table.push(0, &wide, &[0xee; 24]).is_none());
        wide.more = false;
        (wide.offset, wide.payload_wire, wide.payload_captured) = (24, 2, 2);
        let whole = table.push(0, &wide, &[1, 2]).map(|r| r.octets.to_vec()).unwrap();
        assert_eq!(whole, [&[0xee; 8][..], &[8, 9, 10, 11, 12, 13, 14, 15], &[0xee; 8], &[1, 2]].concat());
        assert_eq!(table.counts().overlaps, 1);
    }

    #[test]
    fn a_cut_fragment_gives_what_there_is() {
        let mut table = Fragments::new();
        let (mut cut, octets) = part(8, 16, true);
        cut.payload_captured = 3;
        assert!(table.push(0, &cut, &octets).is_none());
        push(&mut table, 0, part(0, 8, true));
        let (last, octets) = part(16, 20, false);
        let whole = table.push(0, &last, &octets).unwrap();
        assert_eq!((whole.octets.len(), whole.wire), (11, 20));
    }

    #[test]
    fn contradictions_are_refused() {
        let mut table = Fragments::new();
        for fragment in [part(0, 7, true), part(65_528, 65_540, false), part(0, 0, false)] {
            assert_eq!(push(&mut table, 0, fragment), None);
        }
        push(&mut table, 0, part(8, 16, false));
        push(&mut table, 0, part(8, 24, false));
        push(&mut table, 0, part(16, 24, true));
        assert_eq!(table.counts().malformed, 5);
        assert_eq!(push(&mut table, 0, part(0, 8, true)), counting(16));
    }

    #[test]
    fn time_and_room_are_limited() {
        let limits = FragmentLimits { datagrams: 2, octets: 1 << 20, timeout_ns: 10 };
        let mut table = Fragments::with_limits(limits);
        let numbered = |n| {
            let (fragment, octets) = part(0, 8, true);
            (Fragment { identification: n, ..fragment }, octets)
        };
        push(&mut table, 0, numbered(1));
        push(&mut table, 5, numbered(2));
        push(&mut table, 11, numbered(3));
        assert_eq!((table.counts().timed_out, table.incomplete()), (1, 2));
        push(&mut table, 11, numbered(4));
        assert_eq!((table.counts().evicted, table.incomplete()), (1, 2));
        let (last, octets) = part(8, 9, false);
        assert!(table.push(12, &Fragment { identification: 3, ..last }, &octets).is_some());
        // The one that is left is given up in its time, and what waits at the end then.
        table.tick(20);
        assert_eq!((table.counts().timed_out, table.incomplete()), (1, 1));
        table.tick(i64::MAX);
        assert_eq!((table.counts().timed_out, table.incomplete()), (2, 0));
    }

    #[test]
    fn tunnels_inside_go_on() {
        let inner = [
            0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0x13, 0xce, 0, 10, 0, 0, 1,
            2,
        ];
        let gtp = [&[0x08, 0x68, 0x08, 0x68, 0, 46, 0, 0, 0x30, 255, 0, 30, 0, 0, 0, 1][..], &inner].concat();
        let mut table = Fragments::new();
        let (first, _) = part(0, 24, true);
        table.push(0, &first, &gtp[..24]);
        let (last, _) = part(24, 46, false);
        let whole = table.push(0, &last, &gtp[24..]).unwrap();
        let Decoded::Udp(d) = whole.decode() else { panic!() };
        assert_eq!((d.src_port, d.tunnels, d.payload_start, d.payload_captured), (5060, 1, 44, 2));
    }
}
