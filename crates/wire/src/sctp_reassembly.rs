//! SCTP user messages, whole and each once (RFC 9260 section 6.9, RFC 8260).
//!
//! A message in one chunk is handed out as it lies in the packet. Fragments wait for each other; messages are given
//! when they are complete, which is not always the order of their stream. Chunks sent again are known by their TSN. The
//! paths of a multi-homed association are taken for associations of their own: a copy on another path comes twice.

use crate::counts::counts;
use crate::hashing::Seeded;
use crate::sctp::{BEGIN, Chunks, DataChunk, END, UNORDERED, chunk};
use crate::{Datagram, Endpoint};
use std::collections::HashMap;

/// Directions of associations remembered; then the one that was quiet longest is forgotten.
// Limit: directions of SCTP associations followed at once
// Beyond: the one that was silent longest is forgotten
// Seen in: `trunkline_calls_sctp_associations_overflow_total`
pub const DIRECTIONS_MAX: usize = 4096;
/// Fragments that wait in one direction; then all of them are dropped.
// Limit: SCTP fragments waiting in one direction
// Beyond: all of them are dropped
// Seen in: `trunkline_calls_sctp_fragments_overflow_total`
pub const FRAGMENTS_MAX: usize = 512;
/// Octets of fragments that wait in all; then those of the direction at hand are dropped.
// Limit: memory of waiting SCTP fragments
// Beyond: the fragments of that direction are dropped
// Seen in: `trunkline_calls_sctp_fragments_overflow_total`
pub const OCTETS_MAX: usize = 16 << 20;
/// TSNs behind the highest within which copies are known.
pub const TSN_WINDOW: u32 = 4096;

counts! {
    /// What happened to SCTP user messages.
    pub struct SctpCounts {
        /// SCTP user messages given
        messages: "trunkline_calls_sctp_messages_total",
        /// SCTP data chunks that were fragments of messages
        fragments: "trunkline_calls_sctp_fragments_chunks_total",
        /// SCTP data chunks that came again
        duplicates: "trunkline_calls_sctp_duplicates_chunks_total",
        /// SCTP fragments dropped because too much waited
        dropped: "trunkline_calls_sctp_dropped_chunks_total",
        /// directions of SCTP associations forgotten because the table was full
        evicted: "trunkline_calls_sctp_evicted_directions_total",
    }
}

/// A user message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a, T> {
    /// Who sent it.
    pub from: Endpoint,
    /// Whom it was sent to.
    pub to: Endpoint,
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier, 0 if unspecified (IANA registry: 46 Diameter, 18 S1AP, 2 and 3 M2UA and M3UA, ...).
    pub protocol: u32,
    /// Whether it was sent without order.
    pub unordered: bool,
    /// The message, as far as it was captured without a hole.
    pub octets: &'a [u8],
    /// Octets of the message on the wire.
    pub wire: usize,
    /// Time of the packet that completed it, nanoseconds.
    pub at_ns: i64,
    /// Tag of that packet.
    pub tag: T,
}

type Key = (Endpoint, Endpoint);

/// Fragments of one message share this: stream, order, message.
type Group = (u16, bool, u32);

struct Held {
    group: Group,
    /// Place in the order of fragments.
    rank: u32,
    begins: bool,
    ends: bool,
    protocol: u32,
    octets: Box<[u8]>,
    wire: usize,
}

struct Way {
    serial: u64,
    last_ns: i64,
    /// What TSNs are counted from, half their range below the first, so that order survives the wrap.
    origin: u32,
    newest: u32,
    /// One bit per TSN of the window before `newest`.
    seen: Box<[u64; (TSN_WINDOW / 64) as usize]>,
    held: Vec<Held>,
    octets: usize,
}

/// The table of associations, one entry per direction.
#[derive(Default)]
pub struct SctpReassembly {
    ways: HashMap<Key, Way, Seeded>,
    serial: u64,
    octets: usize,
    done: Vec<u8>,
    counts: SctpCounts,
}

impl SctpReassembly {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// What happened so far.
    pub fn counts(&self) -> &SctpCounts {
        &self.counts
    }

    /// Octets of fragments that wait.
    pub fn waiting_octets(&self) -> usize {
        self.octets
    }

    /// Takes a packet's chunks ([`Datagram::payload_start`] and on) and gives the messages that they complete.
    ///
    /// `at_ns` is packet time, nanoseconds; `tag` names the packet.
    pub fn push<T: Copy>(
        &mut self,
        at_ns: i64,
        tag: T,
        datagram: &Datagram,
        payload: &[u8],
        sink: &mut impl FnMut(Message<'_, T>),
    ) {
        let key = (datagram.from(), datagram.to());
        for chunk in Chunks::new(payload) {
            match chunk.kind {
                // A new association counts its TSNs anew.
                chunk::INIT | chunk::INIT_ACK => self.forget(&key),
                chunk::ABORT | chunk::SHUTDOWN_COMPLETE => {
                    self.forget(&key);
                    self.forget(&(key.1, key.0));
                }
                _ => {
                    if let Some(data) = chunk.data() {
                        self.data(at_ns, tag, key, &data, sink);
                    }
                }
            }
        }
    }

    fn data<T: Copy>(&mut self, at_ns: i64, tag: T, key: Key, data: &DataChunk, sink: &mut impl FnMut(Message<'_, T>)) {
        if !self.ways.contains_key(&key) {
            self.begin(at_ns, key, data.tsn);
        }
        let Some(way) = self.ways.get_mut(&key) else { return };
        way.last_ns = at_ns;
        if !way.is_new(data.tsn) {
            self.counts.duplicates += 1;
            return;
        }
        let message = |octets, wire, protocol| Message {
            from: key.0,
            to: key.1,
            stream: data.stream,
            protocol,
            unordered: data.flags & UNORDERED != 0,
            octets,
            wire,
            at_ns,
            tag,
        };
        if data.flags & (BEGIN | END) == BEGIN | END {
            self.counts.messages += 1;
            return sink(message(data.octets, data.wire, data.protocol.unwrap_or(0)));
        }
        self.counts.fragments += 1;
        let index = way.hold(data);
        self.octets += data.octets.len();
        if let Some(run) = way.whole(index) {
            let (wire, protocol) = way.release(run, &mut self.done, &mut self.octets);
            self.counts.messages += 1;
            return sink(message(&self.done, wire, protocol));
        }
        if way.held.len() > FRAGMENTS_MAX || self.octets > OCTETS_MAX {
            self.counts.dropped += way.held.len() as u64;
            way.drop_held(&mut self.octets);
        }
    }

    fn begin(&mut self, at_ns: i64, key: Key, tsn: u32) {
        if self.ways.len() >= DIRECTIONS_MAX {
            let oldest = self.ways.iter().min_by_key(|(_, way)| (way.last_ns, way.serial)).map(|(key, _)| *key);
            oldest.iter().for_each(|key| self.forget(key));
            self.counts.evicted += 1;
        }
        self.serial += 1;
        let way = Way {
            serial: self.serial,
            last_ns: at_ns,
            origin: tsn.wrapping_sub(1 << 31),
            newest: tsn.wrapping_sub(1),
            seen: Box::new([0; (TSN_WINDOW / 64) as usize]),
            held: Vec::new(),
            octets: 0,
        };
        self.ways.insert(key, way);
    }

    fn forget(&mut self, key: &Key) {
        if let Some(way) = self.ways.remove(key) {
            self.octets -= way.octets;
        }
    }
}

impl Way {
    /// Whether this TSN comes for the first time; remembers it.
    fn is_new(&mut self, tsn: u32) -> bool {
        let ahead = tsn.wrapping_sub(self.newest) as i32;
        if ahead > 0 {
            self.move_window(tsn, ahead.unsigned_abs());
        } else if ahead.unsigned_abs() >= TSN_WINDOW {
            // Far behind: an association whose begin was not seen.
            self.move_window(tsn, TSN_WINDOW);
        }
        let (word, bit) = place(tsn);
        let new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        new
    }

    fn move_window(&mut self, tsn: u32, by: u32) {
        if by >= TSN_WINDOW {
            self.seen.fill(0);
        } else {
            for passed in 0..by {
                let (word, bit) = place(tsn.wrapping_sub(passed));
                self.seen[word] &= !bit;
            }
        }
        self.newest = tsn;
    }

    fn hold(&mut self, data: &DataChunk) -> usize {
        let group = (data.stream, data.flags & UNORDERED != 0, data.message);
        let rank = if data.interleaved { data.fragment } else { data.fragment.wrapping_sub(self.origin) };
        let held = Held {
            group,
            rank,
            begins: data.flags & BEGIN != 0,
            ends: data.flags & END != 0,
            protocol: data.protocol.unwrap_or(0),
            octets: data.octets.into(),
            wire: data.wire,
        };
        self.octets += held.octets.len();
        let index = self.held.partition_point(|h| (h.group, h.rank) < (group, rank));
        self.held.insert(index, held);
        index
    }

    /// The run of fragments around `index` from a beginning to an end, without a hole.
    fn whole(&self, index: usize) -> Option<std::ops::Range<usize>> {
        let follows =
            |a: &Held, b: &Held| a.group == b.group && a.rank.checked_add(1) == Some(b.rank) && !b.begins && !a.ends;
        let (mut first, mut last) = (index, index);
        while first > 0 && follows(&self.held[first - 1], &self.held[first]) {
            first -= 1;
        }
        while last + 1 < self.held.len() && follows(&self.held[last], &self.held[last + 1]) {
            last += 1;
        }
        (self.held[first].begins && self.held[last].ends).then_some(first..last + 1)
    }

    /// Puts a run together in `done`; gives its octets on the wire and its protocol.
    fn release(&mut self, run: std::ops::Range<usize>, done: &mut Vec<u8>, total: &mut usize) -> (usize, u32) {
        done.clear();
        let (mut wire, mut protocol, mut whole) = (0, 0, true);
        for (n, held) in self.held.drain(run).enumerate() {
            if n == 0 {
                protocol = held.protocol;
            }
            if whole {
                done.extend_from_slice(&held.octets);
            }
            whole &= held.octets.len() == held.wire;
            wire += held.wire;
            self.octets -= held.octets.len();
            *total -= held.octets.len();
        }
        (wire, protocol)
    }

    fn drop_held(&mut self, total: &mut usize) {
        *total -= self.octets;
        self.octets = 0;
        self.held.clear();
    }
}

fn place(tsn: u32) -> (usize, u64) {
    let n = tsn % TSN_WINDOW;
    ((n / 64) as usize, 1 << (n % 64))
}

impl std::fmt::Debug for SctpReassembly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SctpReassembly")
            .field("directions", &self.ways.len())
            .field("octets", &self.octets)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Address;

    fn datagram(src_port: u16) -> Datagram {
        Datagram {
            src: Address::v4([10, 0, 0, 1]),
            dst: Address::v4([10, 0, 0, 2]),
            src_port,
            dst_port: 3868,
            payload_start: 0,
            payload_captured: 0,
            payload_wire: 0,
            vlan: 0,
            tunnels: 0,
            dscp: 0,
        }
    }

    fn data(flags: u8, tsn: u32, ssn: u16, octets: &[u8]) -> Vec<u8> {
        let mut chunk = vec![0, flags, 0, 16 + octets.len() as u8];
        chunk.extend_from_slice(&tsn.to_be_bytes());
        chunk.extend_from_slice(&[0, 1]);
        chunk.extend_from_slice(&ssn.to_be_bytes());
        chunk.extend_from_slice(&[0, 0, 0, 46]);
        chunk.extend_from_slice(octets);
        chunk.resize(chunk.len().next_multiple_of(4), 0);
        chunk
    }

    fn push(table: &mut SctpReassembly, payload: &[u8]) -> String {
        let mut said = String::new();
        table.push(1, 7u32, &datagram(3868), payload, &mut |m| {
            assert_eq!((m.stream, m.protocol, m.tag), (1, 46, 7));
            said.push_str(&format!("{}({})", String::from_utf8_lossy(m.octets), m.wire));
        });
        said
    }

    #[test]
    fn whole_messages_once() {
        let mut table = SctpReassembly::new();
        let two = [data(3, 9, 0, b"one"), data(3, 10, 1, b"two")].concat();
        assert_eq!(push(&mut table, &two), "one(3)two(3)");
        assert_eq!(push(&mut table, &two), "");
        assert_eq!(push(&mut table, &data(3, 8, 9, b"late")), "late(4)");
        assert_eq!((table.counts().messages, table.counts().duplicates), (3, 2));
    }

    #[test]
    fn fragments_in_any_order_across_the_wrap() {
        let mut table = SctpReassembly::new();
        assert_eq!(push(&mut table, &data(2, u32::MAX - 1, 4, b"be")), "");
        assert_eq!(push(&mut table, &data(1, 1, 4, b"end")), "");
        assert_eq!(push(&mut table, &data(0, u32::MAX, 4, b"gin")), "");
        assert_eq!(push(&mut table, &data(0, 0, 4, b"..")), "begin..end(10)");
        assert_eq!(table.waiting_octets(), 0);
    }

    #[test]
    fn interleaved_messages() {
        let fragment = |flags: u8, tsn: u8, message: u8, number: u8, text: &[u8; 4]| {
            [&[64, flags, 0, 24, 0, 0, 0, tsn, 0, 1, 0, 0, 0, 0, 0, message, 0, 0, 0, number][..], text].concat()
        };
        let mut table = SctpReassembly::new();
        assert_eq!(push(&mut table, &fragment(2, 1, 0, 46, b"aaaa")), "");
        assert_eq!(push(&mut table, &fragment(2, 2, 1, 46, b"bbbb")), "");
        assert_eq!(push(&mut table, &fragment(1, 4, 1, 1, b"BBBB")), "bbbbBBBB(8)");
        assert_eq!(push(&mut table, &fragment(1, 3, 0, 1, b"AAAA")), "aaaaAAAA(8)");
    }

    #[test]
    fn a_new_association_counts_anew() {
        let mut table = SctpReassembly::new();
        assert_eq!(push(&mut table, &data(3, 9, 0, b"one")), "one(3)");
        let init = [1, 0, 0, 20, 0, 0, 0, 1, 0, 0, 16, 0, 0, 1, 0, 1, 0, 0, 0, 9];
        assert_eq!(push(&mut table, &[&init[..], &data(3, 9, 0, b"new")].concat()), "new(3)");
    }

    #[test]
    fn all_is_bounded() {
        let mut table = SctpReassembly::new();
        for n in 0..=FRAGMENTS_MAX as u32 {
            push(&mut table, &data(0, n * 2, 0, b"x"));
        }
        assert_eq!((table.counts().dropped, table.waiting_octets()), (513, 0));
        for port in 0..=DIRECTIONS_MAX as u16 {
            table.push(i64::from(port), 0, &datagram(port), &data(3, 1, 0, b"x"), &mut |_| {});
        }
        assert_eq!(table.ways.len(), DIRECTIONS_MAX);
    }
}
