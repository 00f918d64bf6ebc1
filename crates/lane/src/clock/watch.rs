//! Finds leaps of the packets' time and judges them: was the clock set, or did the time pass?

use super::witness::{Look, Votes, Witness, look};
use super::{Kind, Leap, SECOND_NS};
use std::collections::VecDeque;
use trunkline_capture::Batch;

trunkline_kit::counters! {
    /// What the watch over the clock counts.
    pub struct ClockCounters {
        /// times the clock was set while packets went on
        set: "trunkline_calls_clock_set_total",
        /// times the capture goes back because its parts are in the wrong order
        disorder: "trunkline_calls_clock_wrong_order_total",
        /// times the capture goes back and nothing shows why
        unclear: "trunkline_calls_clock_back_total",
        /// single packets whose time is far from that of all packets beside them
        strays: "trunkline_calls_clock_stray_packets_total",
        /// leaps of time that were not looked at because there were too many
        overflow: "trunkline_calls_clock_leaps_overflow_total",
    }
}

/// From here on a difference between neighbours is a leap, nanoseconds. Queues that are not in step, and clocks that
/// are slewed, are below it.
pub const LEAP_NS: i64 = 2 * SECOND_NS;
/// If one of so many packets after a leap is where the time was before it, the first one alone was off.
const RETURN_PACKETS: usize = 8;
/// Packets before a leap that are looked at.
const BACK_PACKETS: usize = 512;
/// Packets after a leap that are looked at.
const AHEAD_PACKETS: usize = 2048;
/// How long before and after a leap packets are looked at, forward and back, nanoseconds.
const NEAR_NS: [i64; 2] = [SECOND_NS, 10 * SECOND_NS];
/// A stream must have been there so shortly before a leap forward: else nothing went on across it.
const ALIVE_NS: i64 = SECOND_NS / 2;
/// Signalling so near to a leap forward may have brought the pause about: hold.
const SIGNALLED_NS: i64 = SECOND_NS / 2;
/// So many senders do not pause at once by themselves.
const SENDERS_MANY: usize = 4;
/// Clocks are set by half hours for summer time and time zones.
const HALF_HOUR_NS: i64 = 1800 * SECOND_NS;
/// One packet of so many is remembered as a witness, and so many at the end of each batch.
const STRIDE: u64 = 128;
const TAIL_PACKETS: usize = 16;
/// Witnesses that are remembered; the oldest are forgotten.
const WITNESSES_MAX: usize = 1024;
/// Looks at packets for the sake of leaps: so many at once, and one for so many packets read.
// Limit: looks at packets to find leaps of the capture's clock, at once
// Beyond: the time is taken as it is
// Seen in: `trunkline_calls_clock_leaps_overflow_total`
const LOOKS_MAX: u64 = 1 << 18;
const LOOKS_EVERY: u64 = 4;
/// After a leap back that nothing explains, one forward by as much and up to so much more is the way back.
const RETURN_NS: i64 = 60 * SECOND_NS;

/// Watches over the capture's clock.
#[derive(Debug)]
pub struct Watch {
    /// The latest time since the last leap, as the clock told it.
    latest_ns: i64,
    offset_ns: i64,
    /// The last leap, if it went back and nothing explained it.
    unexplained_ns: Option<i64>,
    witnesses: VecDeque<Witness>,
    looks: u64,
    /// The file of the last packet of the batch before.
    file: u32,
    /// What was counted.
    pub counters: ClockCounters,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            latest_ns: i64::MIN,
            offset_ns: 0,
            unexplained_ns: None,
            witnesses: VecDeque::new(),
            looks: 0,
            file: 0,
            counters: ClockCounters::default(),
        }
    }
}

/// More packets for a batch, behind those that it has; false if there are none.
pub type More<'a> = &'a mut dyn FnMut(&mut Batch) -> bool;

impl Watch {
    /// Looks at a batch's packets, which are in the order of the input, and finds leaps. Where one is to be judged by
    /// what follows, `more` is asked for it. Packets keep their times, but for single ones that are far off.
    pub fn look(&mut self, batch: &mut Batch, more: More<'_>) -> Vec<Leap> {
        let mut leaps = Vec::new();
        let (mut from, mut since) = (0, 0);
        while let Some(next) = self.next_leap(batch, from) {
            let at = from + next;
            match self.leap(batch, since, at, more) {
                Some(leap) => {
                    since = at;
                    leaps.push(leap);
                }
                // What was a stray has the time before it; a pause is over.
                None => self.latest_ns = self.latest_ns.max(batch.packets[at].at_ns),
            }
            from = at + 1;
        }
        self.remember(batch, since);
        self.file = batch.packets.last().map_or(self.file, |packet| packet.file);
        leaps
    }

    /// What is taken off times now.
    pub fn offset_ns(&self) -> i64 {
        self.offset_ns
    }

    /// The latest steady time.
    pub fn now_ns(&self) -> i64 {
        self.latest_ns.saturating_sub(self.offset_ns)
    }

    fn next_leap(&mut self, batch: &Batch, from: usize) -> Option<usize> {
        let packets = &batch.packets[from..];
        let mut latest_ns = match self.latest_ns {
            i64::MIN => packets.first()?.at_ns,
            latest_ns => latest_ns,
        };
        let found = packets.iter().position(|packet| {
            let is_leap = packet.at_ns.wrapping_sub(latest_ns).unsigned_abs() >= LEAP_NS as u64;
            latest_ns = if is_leap { latest_ns } else { latest_ns.max(packet.at_ns) };
            is_leap
        });
        self.latest_ns = latest_ns;
        found
    }

    /// The packet at `at` is far from those before it; those since `since` have the same offset.
    #[cold]
    fn leap(&mut self, batch: &mut Batch, since: usize, at: usize, more: More<'_>) -> Option<Leap> {
        while batch.packets.len() <= at + RETURN_PACKETS && more(batch) {}
        let packet = batch.packets[at];
        let (before_ns, leap_ns) = (self.latest_ns, packet.at_ns.saturating_sub(self.latest_ns));
        let is_near = |p: &trunkline_capture::Packet| p.at_ns.saturating_sub(before_ns).saturating_abs() < LEAP_NS;
        if batch.packets[at + 1..].iter().take(RETURN_PACKETS).any(is_near) {
            self.counters.strays += 1;
            batch.packets[at].at_ns = before_ns;
            return None;
        }
        let (kind, by_ns, senders, is_sure) = self.judge(batch, since, at, leap_ns, more)?;
        match kind {
            Kind::Set => self.counters.set += 1,
            Kind::Disorder => self.counters.disorder += 1,
            Kind::Unclear => self.counters.unclear += 1,
        }
        self.unexplained_ns = (kind == Kind::Unclear && by_ns < 0).then_some(by_ns);
        // Time does not go back, whatever the delay of single packets says.
        let by_ns = by_ns.min(leap_ns);
        self.offset_ns = self.offset_ns.saturating_add(by_ns);
        self.latest_ns = packet.at_ns;
        let (at_ns, offset_ns) = (self.now_ns(), self.offset_ns);
        let before = at.checked_sub(1).map_or(self.file, |at| batch.packets[at].file);
        let (number, files) = (packet.number, Some((before, packet.file)));
        Some(Leap { number, files, before_ns, at_ns, by_ns, offset_ns, kind, senders, is_sure })
    }

    /// What a leap is, by how much the clock leapt, who tells, and whether that is sure; none if time passed.
    fn judge(
        &mut self,
        batch: &mut Batch,
        since: usize,
        at: usize,
        leap_ns: i64,
        more: More<'_>,
    ) -> Option<(Kind, i64, u32, bool)> {
        let is_back = leap_ns < 0;
        if let Some(by_ns) =
            self.unexplained_ns.filter(|by_ns| (0..RETURN_NS).contains(&leap_ns.saturating_add(*by_ns)))
        {
            return Some((Kind::Unclear, by_ns.saturating_neg(), 0, false));
        }
        let mut votes = self.votes(batch, since, at, leap_ns, more);
        let step_ns = votes.step_ns();
        let senders = votes.senders();
        let found = |kind, by_ns, is_sure| Some((kind, by_ns, senders as u32, is_sure));
        match step_ns {
            Some(by_ns) if is_back => found(Kind::Set, by_ns, true),
            None if is_back && votes.is_passed() => found(Kind::Disorder, leap_ns, true),
            None if is_back => found(Kind::Unclear, leap_ns, false),
            Some(by_ns) => {
                let is_zone = by_ns.saturating_add(SECOND_NS).rem_euclid(HALF_HOUR_NS) <= 2 * SECOND_NS
                    && by_ns > HALF_HOUR_NS / 2;
                let is_sure = senders >= SENDERS_MANY || senders >= 2 && (is_zone || !votes.signalled);
                if is_sure || is_zone { found(Kind::Set, by_ns, is_sure) } else { None }
            }
            None => None,
        }
    }

    /// Asks the streams on both sides of a leap.
    fn votes(&mut self, batch: &mut Batch, since: usize, at: usize, leap_ns: i64, more: More<'_>) -> Votes {
        let mut votes = Votes::default();
        let first = batch.packets[at];
        if self.looks > LOOKS_MAX + first.number / LOOKS_EVERY {
            self.counters.overflow += 1;
            return votes;
        }
        let (steady_ns, near_ns) = (self.now_ns(), NEAR_NS[usize::from(leap_ns < 0)]);
        for packet in batch.packets[since..at].iter().rev().take(BACK_PACKETS) {
            let age_ns = self.latest_ns.saturating_sub(packet.at_ns);
            if age_ns > near_ns {
                break;
            }
            self.looks += 1;
            match look(batch, packet, self.offset_ns) {
                Look::Media(witness) => votes.before(witness),
                Look::Signalling => votes.signalled |= age_ns <= SIGNALLED_NS,
                Look::Other => {}
            }
        }
        let is_near = |w: &&Witness| steady_ns.saturating_sub(w.at_ns) <= near_ns;
        self.witnesses.iter().rev().filter(is_near).for_each(|w| votes.before(*w));
        if leap_ns > 0 && !votes.is_any_since(steady_ns.saturating_sub(ALIVE_NS)) {
            return votes;
        }
        let mut next = at;
        while next - at < AHEAD_PACKETS && (next < batch.packets.len() || more(batch)) {
            let packet = batch.packets[next];
            next += 1;
            let later_ns = packet.at_ns.saturating_sub(first.at_ns);
            if later_ns > near_ns {
                break;
            }
            self.looks += 1;
            match look(batch, &packet, self.offset_ns) {
                Look::Media(witness) if votes.after(&witness, leap_ns) => break,
                Look::Signalling => votes.signalled |= later_ns <= SIGNALLED_NS,
                _ => {}
            }
        }
        votes
    }

    /// Remembers some packets, of which the next leap may be the end of their batch.
    fn remember(&mut self, batch: &Batch, since: usize) {
        let packets = &batch.packets[since..];
        let Some(first) = packets.first() else { return };
        let until_next = (STRIDE - first.number % STRIDE) as usize % STRIDE as usize;
        let tail = packets.len().saturating_sub(TAIL_PACKETS);
        let strided = (until_next..tail).step_by(STRIDE as usize);
        for at in strided.chain(tail..packets.len()) {
            if let Look::Media(witness) = look(batch, &packets[at], self.offset_ns) {
                if self.witnesses.len() >= WITNESSES_MAX {
                    self.witnesses.pop_front();
                }
                self.witnesses.push_back(witness);
            }
        }
    }
}
