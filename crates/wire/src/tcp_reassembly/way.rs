//! One direction of a connection: what is delivered, what waits behind a hole, what the other side acknowledged.
//!
//! Sequence numbers wrap (RFC 9293 section 3.4); all comparing is of differences to `next`, which are small here.

use super::{Gap, GapCause, TcpCounts, TcpLimits};
use std::collections::VecDeque;

/// A segment's data, or a rest of it.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a, T> {
    pub seq: u32,
    pub octets: &'a [u8],
    /// Octets on the wire; more than `octets` when the snap length cut it.
    pub wire: u32,
    pub tag: T,
}

/// What becomes of a direction, in order.
pub(super) enum Step<'a, T> {
    Octets(&'a [u8], T),
    Gap(Gap),
}

/// What all connections share while one of them is worked on.
pub(super) struct Shared<'a> {
    pub limits: &'a TcpLimits,
    pub counts: &'a mut TcpCounts,
    /// Octets that wait, in all connections.
    pub waiting: &'a mut usize,
}

struct Waiting<T> {
    seq: u32,
    wire: u32,
    octets: Box<[u8]>,
    tag: T,
}

/// One direction.
pub(super) struct Way<T> {
    /// Sequence number of the next octet to deliver, once anything was seen.
    pub next: Option<u32>,
    /// Sequence number of SYN, if it was seen.
    pub initial: Option<u32>,
    /// Sequence number of FIN, if it was seen.
    fin: Option<u32>,
    /// Highest acknowledgement by the other side, and when it first passed `next`.
    acked: Option<u32>,
    acked_ns: i64,
    /// In order, without overlap, all beyond `next`.
    waiting: VecDeque<Waiting<T>>,
    waiting_octets: usize,
}

impl<T> Default for Way<T> {
    fn default() -> Self {
        Way {
            next: None,
            initial: None,
            fin: None,
            acked: None,
            acked_ns: 0,
            waiting: VecDeque::new(),
            waiting_octets: 0,
        }
    }
}

impl<T: Copy> Way<T> {
    /// How far `seq` lies beyond what was delivered; negative if before.
    #[inline]
    pub fn ahead(&self, seq: u32) -> i32 {
        self.next.map_or(0, |next| seq.wrapping_sub(next) as i32)
    }

    /// Whether FIN and all before it were delivered.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.fin.is_some_and(|fin| self.ahead(fin) <= 0)
    }

    /// Whether in-order data can be handed out as it is.
    #[inline]
    pub fn expects(&self, seq: u32) -> bool {
        self.next == Some(seq) && self.waiting.is_empty()
    }

    /// Notes where the direction ends.
    pub fn finishes_at(&mut self, seq: u32) {
        self.fin = self.fin.or(Some(seq));
        self.next = self.next.or(Some(seq));
    }

    /// Takes a segment's data, wherever it belongs.
    pub fn take(&mut self, shared: &mut Shared, piece: Piece<T>, sink: &mut impl FnMut(Step<T>)) {
        if piece.wire == 0 {
            return;
        }
        if self.next.is_none() {
            self.next = Some(piece.seq);
        }
        let Some(piece) = self.without_old(shared, piece) else { return };
        if self.ahead(piece.seq) == 0 {
            self.deliver(shared.counts, &piece, sink);
            return self.drain(shared, sink);
        }
        shared.counts.out_of_order += 1;
        self.hold(shared, piece);
        while self.is_over(shared) {
            shared.counts.overflows += 1;
            self.skip_hole(shared, GapCause::Overflow, sink);
        }
    }

    /// Cuts off what was delivered before; none if that is all of it (a retransmission or a keep-alive probe).
    fn without_old<'a>(&self, shared: &mut Shared, piece: Piece<'a, T>) -> Option<Piece<'a, T>> {
        let old = match self.ahead(piece.seq) {
            0.. => return Some(piece),
            behind => behind.unsigned_abs(),
        };
        shared.counts.retransmitted += 1;
        (old < piece.wire).then(|| piece.from(old))
    }

    fn deliver(&mut self, counts: &mut TcpCounts, piece: &Piece<T>, sink: &mut impl FnMut(Step<T>)) {
        if !piece.octets.is_empty() {
            sink(Step::Octets(piece.octets, piece.tag));
        }
        let cut = piece.wire.saturating_sub(piece.octets.len() as u32);
        if cut > 0 {
            counts.gaps += 1;
            counts.gap_octets += u64::from(cut);
            sink(Step::Gap(Gap { octets: cut, cause: GapCause::Cut }));
        }
        self.next = Some(piece.seq.wrapping_add(piece.wire));
    }

    /// Delivers what waits and is in order now.
    fn drain(&mut self, shared: &mut Shared, sink: &mut impl FnMut(Step<T>)) {
        while self.waiting.front().is_some_and(|w| self.ahead(w.seq) <= 0) {
            let Some(waiting) = self.waiting.pop_front() else { break };
            self.waiting_octets -= waiting.octets.len();
            *shared.waiting -= waiting.octets.len();
            let piece = Piece { seq: waiting.seq, octets: &waiting.octets, wire: waiting.wire, tag: waiting.tag };
            let old = self.ahead(piece.seq).unsigned_abs();
            if old < piece.wire {
                self.deliver(shared.counts, &piece.from(old), sink);
            }
        }
    }

    /// Keeps what is new of a piece until the hole before it is filled.
    fn hold(&mut self, shared: &mut Shared, piece: Piece<T>) {
        let Some(next) = self.next else { return };
        let place = |seq: u32| seq.wrapping_sub(next);
        let (mut at, end) = (place(piece.seq), place(piece.seq).saturating_add(piece.wire));
        let start = at;
        let mut index = self.waiting.partition_point(|w| place(w.seq).saturating_add(w.wire) <= at);
        while at < end {
            let neighbour = self.waiting.get(index).map(|w| (place(w.seq), place(w.seq).saturating_add(w.wire)));
            let until = neighbour.map_or(end, |(begins, _)| begins.min(end));
            if at < until {
                self.insert(shared, index, piece.from(at - start).up_to(until - at));
                index += 1;
            }
            let Some((_, ends)) = neighbour else { break };
            at = at.max(ends);
            index += 1;
        }
    }

    fn insert(&mut self, shared: &mut Shared, index: usize, piece: Piece<T>) {
        self.waiting_octets += piece.octets.len();
        *shared.waiting += piece.octets.len();
        let waiting = Waiting { seq: piece.seq, wire: piece.wire, octets: piece.octets.into(), tag: piece.tag };
        self.waiting.insert(index, waiting);
    }

    fn is_over(&self, shared: &Shared) -> bool {
        let limits = shared.limits;
        !self.waiting.is_empty()
            && (self.waiting_octets > limits.direction_octets
                || self.waiting.len() > limits.direction_segments
                || *shared.waiting > limits.octets)
    }

    /// Gives up the hole before what waits.
    fn skip_hole(&mut self, shared: &mut Shared, cause: GapCause, sink: &mut impl FnMut(Step<T>)) {
        if let Some(seq) = self.waiting.front().map(|w| w.seq) {
            self.skip_to(shared, seq, cause, sink);
        }
    }

    fn skip_to(&mut self, shared: &mut Shared, seq: u32, cause: GapCause, sink: &mut impl FnMut(Step<T>)) {
        let octets = self.ahead(seq).max(0).unsigned_abs();
        if octets > 0 {
            shared.counts.gaps += 1;
            shared.counts.gap_octets += u64::from(octets);
            sink(Step::Gap(Gap { octets, cause }));
            self.next = Some(seq);
        }
        self.drain(shared, sink);
    }

    /// The other side acknowledged everything before `ack`.
    #[inline]
    pub fn acknowledge(&mut self, ack: u32, at_ns: i64, limits: &TcpLimits) {
        let ahead = self.ahead(ack);
        if ahead <= 0 || self.next.is_none() || ahead.unsigned_abs() > limits.jump {
            return;
        }
        match self.acked_ahead(limits) {
            0 => (self.acked, self.acked_ns) = (Some(ack), at_ns),
            before if ahead > before => self.acked = Some(ack),
            _ => {}
        }
    }

    /// How far the other side acknowledged beyond what was delivered; 0 if it did not.
    #[inline]
    fn acked_ahead(&self, limits: &TcpLimits) -> i32 {
        let ahead = self.acked.map_or(0, |acked| self.ahead(acked));
        if self.next.is_none() || ahead < 0 || ahead.unsigned_abs() > limits.jump { 0 } else { ahead }
    }

    /// Gives up what was acknowledged and never seen: it was lost at the tap. The grace lets packets that the capture
    /// put behind the acknowledgement come.
    #[inline]
    pub fn give_up_acked(&mut self, shared: &mut Shared, at_ns: i64, sink: &mut impl FnMut(Step<T>)) {
        let acked = self.acked_ahead(shared.limits);
        if acked == 0 {
            return;
        }
        let waited = at_ns.saturating_sub(self.acked_ns) >= shared.limits.grace_ns;
        if waited || self.waiting.len() >= shared.limits.grace_segments {
            self.skip_acked(shared, acked, sink);
        }
    }

    fn skip_acked(&mut self, shared: &mut Shared, acked: i32, sink: &mut impl FnMut(Step<T>)) {
        let waits_at = self.waiting.front().map(|w| self.ahead(w.seq));
        match waits_at {
            Some(hole) if hole <= acked => self.skip_hole(shared, GapCause::Acked, sink),
            // One number may be FIN's alone, and FIN is no octet.
            _ => {
                let end = self.fin.map_or(acked, |fin| acked.min(self.ahead(fin)));
                if let Some(next) = self.next.filter(|_| end > i32::from(self.fin.is_none())) {
                    self.skip_to(shared, next.wrapping_add(end.unsigned_abs()), GapCause::Acked, sink);
                }
            }
        }
    }

    /// Delivers all that waits, with the holes, as nothing more will come.
    pub fn flush(&mut self, shared: &mut Shared, sink: &mut impl FnMut(Step<T>)) {
        while let Some(hole) = self.waiting.front().map(|w| self.ahead(w.seq)) {
            let cause = if self.acked_ahead(shared.limits) >= hole { GapCause::Acked } else { GapCause::Unfilled };
            self.skip_hole(shared, cause, sink);
        }
        let acked = self.acked_ahead(shared.limits);
        if acked > 0 {
            self.skip_acked(shared, acked, sink);
        }
    }

    /// Forgets all that waits.
    pub fn clear(&mut self, waiting: &mut usize) {
        *waiting -= self.waiting_octets;
        *self = Self::default();
    }
}

impl<'a, T: Copy> Piece<'a, T> {
    fn from(&self, skip: u32) -> Piece<'a, T> {
        Piece {
            seq: self.seq.wrapping_add(skip),
            octets: self.octets.get(skip as usize..).unwrap_or(&[]),
            wire: self.wire.saturating_sub(skip),
            tag: self.tag,
        }
    }

    fn up_to(self, wire: u32) -> Piece<'a, T> {
        let octets = self.octets.get(..wire as usize).unwrap_or(self.octets);
        Piece { octets, wire, ..self }
    }
}
