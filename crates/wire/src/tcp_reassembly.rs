//! TCP connections (RFC 9293) and the octets that flow through them, in order, each once.
//!
//! Segments come in any order, twice, overlapping; of octets that come twice the first are given. A connection may be
//! picked up in its midst, its sequence numbers wrap, its ports are used again. What never came is a gap of known size:
//! lost at the tap if the other side acknowledged it.
//!
//! Data in order are handed out as they lie in the packet; only what waits behind a hole is copied.

mod event;
mod way;

use crate::counts::counts;
use crate::hashing::Seeded;
use crate::tcp::{ACK, FIN, RST, SYN};
use crate::{Datagram, Endpoint, TcpHeader};
pub use event::{ConnectionId, Direction, EndCause, Event, Gap, GapCause, What};
use std::collections::HashMap;
use way::{Piece, Shared, Step, Way};

/// Connections followed at a time; then the one that was quiet longest is ended.
// Limit: TCP connections followed at once
// Beyond: the connection that was silent longest is ended
// Seen in: `trunkline_calls_tcp_connections_overflow_total`
pub const CONNECTIONS_MAX: usize = 131_072;
/// Octets that wait behind holes, in all connections; then the hole of the connection at hand is given up.
// Limit: memory of TCP data behind lost segments, all connections
// Beyond: the gap is given up
// Seen in: `trunkline_calls_tcp_gaps_overflow_total`
pub const OCTETS_MAX: usize = 64 << 20;
/// Octets that wait in one direction; then its hole is given up. A hole is filled within a window, 64 KiB mostly.
// Limit: memory of TCP data behind lost segments, one direction
// Beyond: the gap is given up
// Seen in: `trunkline_calls_tcp_gaps_overflow_total`
pub const DIRECTION_OCTETS_MAX: usize = 256 << 10;
/// Segments that wait in one direction; then its hole is given up.
// Limit: TCP segments behind a lost one, one direction
// Beyond: the gap is given up
// Seen in: `trunkline_calls_tcp_gaps_overflow_total`
pub const DIRECTION_SEGMENTS_MAX: usize = 512;
/// Packet time after which a quiet connection is forgotten. SIP keeps connections alive every two minutes at most
/// (RFC 5626 section 4.4.1).
pub const IDLE_NS: i64 = 600_000_000_000;
/// A sequence number this far from the expected one belongs to another connection on the same ports.
pub const JUMP_OCTETS: u32 = 16 << 20;
/// Time between an acknowledgement of unseen octets and giving them up: captures of several queues mix that much.
pub const GRACE_NS: i64 = 5_000_000;
/// Segments waiting behind acknowledged octets that end the grace at once (files whose times are all the same).
pub const GRACE_SEGMENTS: usize = 16;

/// A connection is moved to the young end of the table at most this often.
const TOUCH_NS: i64 = 1_000_000_000;
const NOWHERE: u32 = u32::MAX;

counts! {
    /// What happened to TCP connections.
    pub struct TcpCounts {
        /// TCP connections seen
        connections: "trunkline_calls_tcp_connections_total",
        /// TCP segments that came before an earlier one
        out_of_order: "trunkline_calls_tcp_out_of_order_segments_total",
        /// TCP segments that repeated octets
        retransmitted: "trunkline_calls_tcp_retransmitted_segments_total",
        /// gaps in TCP streams
        gaps: "trunkline_calls_tcp_gaps_total",
        /// octets missing in TCP streams
        gap_octets: "trunkline_calls_tcp_gap_octets_total",
        /// gaps in TCP streams given up because too much waited behind them
        overflows: "trunkline_calls_tcp_overflow_gaps_total",
        /// TCP connections forgotten because the table was full
        evicted: "trunkline_calls_tcp_evicted_connections_total",
        /// TCP connections forgotten because they were quiet
        idle: "trunkline_calls_tcp_idle_connections_total",
        /// packets of TCP connections that were set aside as of no interest
        ignored: "trunkline_calls_tcp_ignored_packets_total",
    }
}

/// Limits of a [`Connections`] table; each is the constant of its name by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpLimits {
    /// [`CONNECTIONS_MAX`].
    pub connections: usize,
    /// [`OCTETS_MAX`].
    pub octets: usize,
    /// [`DIRECTION_OCTETS_MAX`].
    pub direction_octets: usize,
    /// [`DIRECTION_SEGMENTS_MAX`].
    pub direction_segments: usize,
    /// [`IDLE_NS`].
    pub idle_ns: i64,
    /// [`JUMP_OCTETS`].
    pub jump: u32,
    /// [`GRACE_NS`].
    pub grace_ns: i64,
    /// [`GRACE_SEGMENTS`].
    pub grace_segments: usize,
}

impl Default for TcpLimits {
    fn default() -> Self {
        TcpLimits {
            connections: CONNECTIONS_MAX,
            octets: OCTETS_MAX,
            direction_octets: DIRECTION_OCTETS_MAX,
            direction_segments: DIRECTION_SEGMENTS_MAX,
            idle_ns: IDLE_NS,
            jump: JUMP_OCTETS,
            grace_ns: GRACE_NS,
            grace_segments: GRACE_SEGMENTS,
        }
    }
}

type Key = (Endpoint, Endpoint);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Followed,
    Ignored,
    /// Closed or reset; it stays for a while so that late copies are known for what they are.
    Ended,
}

struct Connection<T> {
    from: Endpoint,
    to: Endpoint,
    generation: u32,
    state: State,
    last_ns: i64,
    last_tag: T,
    touched_ns: i64,
    older: u32,
    younger: u32,
    ways: [Way<T>; 2],
}

/// The table of connections. `T` tags packets, so that events can name them.
pub struct Connections<T> {
    limits: TcpLimits,
    places: HashMap<Key, u32, Seeded>,
    slots: Vec<Connection<T>>,
    free: Vec<u32>,
    oldest: u32,
    youngest: u32,
    waiting: usize,
    counts: TcpCounts,
}

impl<T: Copy> Default for Connections<T> {
    fn default() -> Self {
        Self::with_limits(TcpLimits::default())
    }
}

impl<T: Copy> Connections<T> {
    /// An empty table with the usual limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table with these limits.
    pub fn with_limits(limits: TcpLimits) -> Self {
        Connections {
            limits,
            places: HashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            oldest: NOWHERE,
            youngest: NOWHERE,
            waiting: 0,
            counts: TcpCounts::default(),
        }
    }

    /// What happened so far.
    pub fn counts(&self) -> &TcpCounts {
        &self.counts
    }

    /// Connections in the table.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Octets that wait behind holes.
    pub fn waiting_octets(&self) -> usize {
        self.waiting
    }

    /// Takes a segment; `payload` is what was captured of its data ([`Datagram::payload_start`] and
    /// [`Datagram::payload_captured`] of the packet's octets).
    ///
    /// `at_ns` is packet time, nanoseconds; it may step back. The sink gets what the segment brings about, in order:
    /// first ends of connections that were quiet for too long, then what its acknowledgement shows to be lost, then its
    /// data. Gives the connection, which [`Connections::ignore`] takes; none for a segment that neither opens nor
    /// carries.
    pub fn push(
        &mut self,
        at_ns: i64,
        tag: T,
        datagram: &Datagram,
        header: &TcpHeader,
        payload: &[u8],
        sink: &mut impl FnMut(Event<'_, T>),
    ) -> Option<ConnectionId> {
        self.forget_quiet(at_ns, sink);
        let (from, to) = (datagram.from(), datagram.to());
        let key = if from <= to { (from, to) } else { (to, from) };
        let mut place = self.places.get(&key).copied();
        if let Some(index) = place.filter(|index| self.is_quiet(*index, at_ns)) {
            self.remove(index, EndCause::Idle, sink);
            place = None;
        }
        let index = match place {
            Some(index) => index,
            // Without SYN or data there is nothing to follow yet.
            None if header.flags & SYN == 0 && datagram.payload_wire == 0 => return None,
            None => self.open(at_ns, tag, key, (from, to), header.flags, sink),
        };
        self.touch(index, at_ns);
        let mut shared = Shared { limits: &self.limits, counts: &mut self.counts, waiting: &mut self.waiting };
        let connection = self.slots.get_mut(index as usize)?;
        let segment = Segment { at_ns, tag, header, payload, wire: datagram.payload_wire };
        connection.take(index, &mut shared, &segment, (from, to), sink);
        Some(ConnectionId { index, generation: connection.generation })
    }

    /// Sets a connection aside: no more events, not even its end. Its packets cost one look-up from now on, until its
    /// ports are used again.
    pub fn ignore(&mut self, id: ConnectionId) {
        let waiting = &mut self.waiting;
        if let Some(connection) = self.slots.get_mut(id.index as usize).filter(|c| c.generation == id.generation) {
            for way in &mut connection.ways {
                let (next, initial) = (way.next, way.initial);
                way.clear(waiting);
                (way.next, way.initial) = (next, initial);
            }
            connection.state = State::Ignored;
        }
    }

    /// Ends all connections, oldest first: what waited is delivered with its gaps.
    pub fn finish(&mut self, sink: &mut impl FnMut(Event<'_, T>)) {
        while self.oldest != NOWHERE {
            self.remove(self.oldest, EndCause::InputOver, sink);
        }
    }

    fn is_quiet(&self, index: u32, at_ns: i64) -> bool {
        self.slots.get(index as usize).is_some_and(|c| at_ns.saturating_sub(c.last_ns) > self.limits.idle_ns)
    }

    #[inline]
    fn forget_quiet(&mut self, at_ns: i64, sink: &mut impl FnMut(Event<'_, T>)) {
        while self.oldest != NOWHERE && self.is_quiet(self.oldest, at_ns) {
            self.remove(self.oldest, EndCause::Idle, sink);
        }
    }

    fn open(
        &mut self,
        at_ns: i64,
        tag: T,
        key: Key,
        (from, to): (Endpoint, Endpoint),
        flags: u8,
        sink: &mut impl FnMut(Event<'_, T>),
    ) -> u32 {
        while self.places.len() >= self.limits.connections.max(1) {
            self.remove(self.oldest, EndCause::Evicted, sink);
        }
        self.counts.connections += 1;
        // SYN with ACK comes from the side that was called.
        let (from, to) = if flags & (SYN | ACK) == SYN | ACK { (to, from) } else { (from, to) };
        let connection = Connection {
            from,
            to,
            generation: 0,
            state: State::Followed,
            last_ns: at_ns,
            last_tag: tag,
            touched_ns: at_ns,
            older: NOWHERE,
            younger: NOWHERE,
            ways: Default::default(),
        };
        let index = self.settle(connection);
        self.places.insert(key, index);
        self.append(index);
        index
    }

    fn settle(&mut self, mut connection: Connection<T>) -> u32 {
        match self.free.pop() {
            Some(index) => {
                let slot = &mut self.slots[index as usize];
                connection.generation = slot.generation.wrapping_add(1);
                *slot = connection;
                index
            }
            None => {
                self.slots.push(connection);
                (self.slots.len() - 1) as u32
            }
        }
    }

    fn remove(&mut self, index: u32, cause: EndCause, sink: &mut impl FnMut(Event<'_, T>)) {
        self.unlink(index);
        let Some(connection) = self.slots.get_mut(index as usize) else { return };
        match cause {
            EndCause::Idle => self.counts.idle += 1,
            EndCause::Evicted if connection.state != State::Ended => self.counts.evicted += 1,
            _ => {}
        }
        let (at_ns, tag) = (connection.last_ns, connection.last_tag);
        let mut shared = Shared { limits: &self.limits, counts: &mut self.counts, waiting: &mut self.waiting };
        connection.end(index, &mut shared, (at_ns, tag), cause, sink);
        connection.ways.iter_mut().for_each(|way| way.clear(&mut self.waiting));
        let (from, to) = (connection.from, connection.to);
        self.places.remove(&if from <= to { (from, to) } else { (to, from) });
        self.free.push(index);
    }

    #[inline]
    fn touch(&mut self, index: u32, at_ns: i64) {
        let connection = &mut self.slots[index as usize];
        if at_ns.saturating_sub(connection.touched_ns) >= TOUCH_NS {
            connection.touched_ns = at_ns;
            self.unlink(index);
            self.append(index);
        }
    }

    fn append(&mut self, index: u32) {
        let old = std::mem::replace(&mut self.youngest, index);
        let connection = &mut self.slots[index as usize];
        (connection.older, connection.younger) = (old, NOWHERE);
        match self.slots.get_mut(old as usize) {
            Some(old) => old.younger = index,
            None => self.oldest = index,
        }
    }

    fn unlink(&mut self, index: u32) {
        let Some((older, younger)) = self.slots.get(index as usize).map(|c| (c.older, c.younger)) else { return };
        match self.slots.get_mut(older as usize) {
            Some(older) => older.younger = younger,
            None => self.oldest = younger,
        }
        match self.slots.get_mut(younger as usize) {
            Some(younger) => younger.older = older,
            None => self.youngest = older,
        }
    }
}

/// A segment on its way into a connection.
struct Segment<'a, T> {
    at_ns: i64,
    tag: T,
    header: &'a TcpHeader,
    payload: &'a [u8],
    wire: u32,
}

impl<T: Copy> Segment<'_, T> {
    fn has(&self, flag: u8) -> bool {
        self.header.flags & flag != 0
    }

    /// Sequence number of the first octet of data: SYN takes one before it.
    fn data_seq(&self) -> u32 {
        self.header.seq.wrapping_add(u32::from(self.has(SYN)))
    }
}

impl<T: Copy> Connection<T> {
    fn take(
        &mut self,
        index: u32,
        shared: &mut Shared,
        segment: &Segment<T>,
        pair: (Endpoint, Endpoint),
        sink: &mut impl FnMut(Event<'_, T>),
    ) {
        let (mut forward, mut backward) = if self.from == pair.0 { (0, 1) } else { (1, 0) };
        if self.is_another(segment, forward, shared.limits) {
            self.end(index, shared, (self.last_ns, self.last_tag), EndCause::Reused, sink);
            self.restart(shared, segment, pair);
            (forward, backward) = if self.from == pair.0 { (0, 1) } else { (1, 0) };
        } else if self.state == State::Ignored {
            shared.counts.ignored += 1;
            self.last_ns = self.last_ns.max(segment.at_ns);
            return;
        }
        if self.state == State::Ended && !self.revives(segment, forward) {
            return;
        }
        (self.last_ns, self.last_tag) = (self.last_ns.max(segment.at_ns), segment.tag);
        if segment.has(RST) {
            return self.end(index, shared, (segment.at_ns, segment.tag), EndCause::Reset, sink);
        }
        self.acknowledgement(index, shared, segment, backward, sink);
        self.data(index, shared, segment, forward, sink);
        if self.ways.iter().all(Way::is_done) {
            self.end(index, shared, (segment.at_ns, segment.tag), EndCause::Close, sink);
        }
    }

    /// Whether the segment belongs to another connection on the same ports: SYN with a new initial number, or data far
    /// from what was expected.
    fn is_another(&self, segment: &Segment<T>, forward: usize, limits: &TcpLimits) -> bool {
        let way = &self.ways[forward];
        if segment.has(SYN) {
            return match way.initial {
                Some(initial) => initial != segment.header.seq,
                None => way.next.is_some() || self.state == State::Ignored,
            };
        }
        segment.wire > 0 && self.state != State::Ignored && way.ahead(segment.header.seq).unsigned_abs() > limits.jump
    }

    fn restart(&mut self, shared: &mut Shared, segment: &Segment<T>, (from, to): (Endpoint, Endpoint)) {
        shared.counts.connections += 1;
        self.ways.iter_mut().for_each(|way| way.clear(shared.waiting));
        self.generation = self.generation.wrapping_add(1);
        self.state = State::Followed;
        if segment.has(SYN) {
            (self.from, self.to) = if segment.has(ACK) { (to, from) } else { (from, to) };
        }
    }

    /// Whether something new comes after the end: data beyond a FIN or after a reset that nobody heeded.
    fn revives(&mut self, segment: &Segment<T>, forward: usize) -> bool {
        let way = &self.ways[forward];
        let end = segment.data_seq().wrapping_add(segment.wire);
        let new = segment.wire > 0 && !segment.has(RST) && (way.next.is_none() || way.ahead(end) > 0);
        if new {
            self.generation = self.generation.wrapping_add(1);
            self.state = State::Followed;
        }
        new
    }

    fn acknowledgement(
        &mut self,
        index: u32,
        shared: &mut Shared,
        segment: &Segment<T>,
        backward: usize,
        sink: &mut impl FnMut(Event<'_, T>),
    ) {
        let about = self.about(index, backward, (segment.at_ns, segment.tag));
        let way = &mut self.ways[backward];
        if segment.has(ACK) {
            way.acknowledge(segment.header.ack, segment.at_ns, shared.limits);
        }
        way.give_up_acked(shared, segment.at_ns, &mut |step| sink(about.event(step)));
    }

    fn data(
        &mut self,
        index: u32,
        shared: &mut Shared,
        segment: &Segment<T>,
        forward: usize,
        sink: &mut impl FnMut(Event<'_, T>),
    ) {
        let about = self.about(index, forward, (segment.at_ns, segment.tag));
        let way = &mut self.ways[forward];
        let seq = segment.data_seq();
        if segment.has(SYN) && way.next.is_none() {
            (way.initial, way.next) = (Some(segment.header.seq), Some(seq));
        }
        if way.expects(seq) && segment.payload.len() == segment.wire as usize {
            // Nearly all segments: nothing to put together, nothing to copy.
            way.next = Some(seq.wrapping_add(segment.wire));
            if segment.wire > 0 {
                sink(about.event(Step::Octets(segment.payload, segment.tag)));
            }
        } else {
            let piece = Piece { seq, octets: segment.payload, wire: segment.wire, tag: segment.tag };
            way.take(shared, piece, &mut |step| sink(about.event(step)));
            way.give_up_acked(shared, segment.at_ns, &mut |step| sink(about.event(step)));
        }
        if segment.has(FIN) {
            way.finishes_at(seq.wrapping_add(segment.wire));
        }
    }

    /// Delivers what waits and tells the end, unless it was told or nobody wants to know.
    fn end(
        &mut self,
        index: u32,
        shared: &mut Shared,
        when: (i64, T),
        cause: EndCause,
        sink: &mut impl FnMut(Event<'_, T>),
    ) {
        if self.state != State::Followed {
            return;
        }
        for forward in [0, 1] {
            let about = self.about(index, forward, when);
            self.ways[forward].flush(shared, &mut |step| sink(about.event(step)));
        }
        self.state = State::Ended;
        sink(self.about(index, 0, when).of(What::End(cause)));
    }

    #[inline]
    fn about(&self, index: u32, forward: usize, (at_ns, tag): (i64, T)) -> About<T> {
        About {
            connection: ConnectionId { index, generation: self.generation },
            is_forward: forward == 0,
            pair: (self.from, self.to),
            at_ns,
            tag,
        }
    }
}

/// What the events of one step have in common.
struct About<T> {
    connection: ConnectionId,
    is_forward: bool,
    pair: (Endpoint, Endpoint),
    at_ns: i64,
    tag: T,
}

impl<T: Copy> About<T> {
    fn event<'a>(&self, step: Step<'a, T>) -> Event<'a, T> {
        self.of(match step {
            Step::Octets(octets, carrier) => What::Octets { octets, carrier },
            Step::Gap(gap) => What::Gap(gap),
        })
    }

    fn of<'a>(&self, what: What<'a, T>) -> Event<'a, T> {
        let (direction, (from, to)) = match (self.is_forward, self.pair) {
            (true, pair) => (Direction::Forward, pair),
            (false, (from, to)) => (Direction::Backward, (to, from)),
        };
        Event { connection: self.connection, direction, from, to, at_ns: self.at_ns, tag: self.tag, what }
    }
}

impl<T> std::fmt::Debug for Connections<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections")
            .field("connections", &self.places.len())
            .field("waiting_octets", &self.waiting)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
