//! Losses of the tap itself, found by what they have in common: a mirror port that overflows loses packets of many
//! streams in the same milliseconds, and a capture that stands still sees nothing at all, while a network loses on one
//! path.
//!
//! Time is cut into windows of [`WINDOW_NS`]. Lanes say how many RTP packets they heard in each, and which gaps their
//! streams have; a window is judged [`PATIENCE_NS`] after its end, by what was known until then. All of that depends on
//! packet times alone: not on the number of lanes, nor on when they hand over.
//!
//! **Mirror.** In two windows that follow each other, K pairs of addresses lost something. Were their losses
//! independent, K would be a sum of independent trials with the mean λ, and Chernoff's bound holds:
//! P(K >= k) <= exp(k - λ) (λ / k)^k for k > λ. λ comes from what the streams themselves lose: the share of packets
//! that begin the loss of a pair, over the last half minute that was not suspect, with three standard deviations added,
//! times the packets of these windows. Below [`CHANCE_MAX`] it is no chance. Then at least two networks (/24, /48) must
//! have sent and two must have received what is missing: what one network sends or receives is lost on its way, too.
//! An overflow that goes on for [`OVERFLOW_NS_MAX`] is taken for what is usual here.
//!
//! **Hole.** No stream at all was heard for [`HOLE_WINDOWS`] windows, and then [`HOLE_STREAMS_MIN`] streams go on with
//! numbers missing, among them both directions between two addresses: no fault of a network takes both, unless it sits
//! where we listen. Senders that were silent by themselves (hold, silence suppression) lack no numbers. A call that is
//! alone has two streams: they are enough where nothing was heard for more than [`LONE_WINDOWS`], and both stop and go
//! on within [`EDGE_WINDOWS`] of each other.
//!
//! A silence that begins in the midst of steady traffic is remembered, too, though no stream of before goes on after
//! it: a call that nothing was heard of meanwhile cannot be said to be without audio.

use crate::stream::Gap;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use trunkline_wire::Address;

/// Length of a window, nanoseconds: two packets of usual speech.
pub const WINDOW_NS: i64 = 40_000_000;
/// A window is judged this long after its end. What is known later is too late; calls stay open for longer
/// ([`crate::limits::SETTLED_NS`]).
pub const PATIENCE_NS: i64 = 2_000_000_000;
/// Windows without any RTP that may be a hole.
pub const HOLE_WINDOWS: i64 = 5;
/// Streams that go on after a hole with numbers missing, at least.
pub const HOLE_STREAMS_MIN: usize = 4;
/// Windows without any RTP after which both directions of one call are enough: a second. In a shorter time two paths
/// may well lose each a run of packets.
pub const LONE_WINDOWS: i64 = 25;
/// Both of them stop, and go on, within so many windows of the silence.
pub const EDGE_WINDOWS: i64 = 2;
/// Pairs of addresses that lose something at once, at least.
pub const PAIRS_MIN: usize = 4;
/// Chance of independent losses below which they are not believed to be independent.
pub const CHANCE_MAX: f64 = 1e-9;
/// An overflow that goes on for longer is taken for what is usual.
pub const OVERFLOW_NS_MAX: i64 = 60_000_000_000;
/// Gaps that are laid against a window; further ones are not looked at, and counted.
pub const STRUCK_MAX: usize = 8192;
/// Long gaps kept to lay against a hole; further ones are not looked at, and counted.
// Limit: gaps of streams compared to find losses of the tap
// Beyond: further gaps are not compared
// Seen in: `trunkline_calls_tap_gaps_overflow_total`
pub const LONG_GAPS_MAX: usize = 1 << 16;
/// Times at which the tap was blind that are kept to lay against calls; the oldest are forgotten.
pub const BLIND_KEPT_MAX: usize = 1 << 14;

/// Packets in each of [`STEADY_WINDOWS`] windows that make a traffic whose end is no chance: four streams.
pub const STEADY_PACKETS: u64 = 8;
/// A second.
pub const STEADY_WINDOWS: i64 = 25;
/// A silence of all that goes on for longer is taken for a time without calls from then on.
pub const SILENCE_NS_MAX: i64 = 60_000_000_000;
/// Silences kept to lay against calls; the oldest are forgotten.
pub const SILENCES_MAX: usize = 1024;

/// Missing packets are placed in time where their neighbours are not farther from each other than this.
const STEP_NS_MAX: i64 = 100_000_000;
/// Windows between two overflows that make them two rows.
const APART_WINDOWS: i64 = 5;
/// What is usual is what was in so many windows, about.
const MEMORY_WINDOWS: f64 = 750.0;

trunkline_kit::counters! {
    /// What the watch over the tap counts.
    pub struct TapCounters {
        /// packets lost at once with those of unrelated streams: a mirror port that overflowed
        mirror: "trunkline_calls_tap_mirror_lost_packets_total",
        /// packets lost while nothing at all was seen
        hole: "trunkline_calls_tap_hole_lost_packets_total",
        /// gaps that were not laid against others because there were too many at once
        gaps_overflow: "trunkline_calls_tap_gaps_overflow_total",
        /// networks of which it is not known whether their media passes the tap, because there were too many
        networks_overflow: "trunkline_calls_tap_networks_overflow_total",
    }
}

/// RTP packets that a lane followed in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The window: times from `window * WINDOW_NS` on.
    pub window: i64,
    /// How many.
    pub packets: u64,
}

/// A gap of a stream that is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// When it was known to be settled, nanoseconds since 1970.
    pub known_ns: i64,
    /// Who sent the stream.
    pub src: Address,
    /// To whom.
    pub dst: Address,
    /// What is missing.
    pub gap: Gap,
    /// Where the stream was captured, as [`trunkline_capture::CaptureLoss::file`] says it.
    pub source: u32,
}

/// How the tap was blind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Packets of unrelated streams are missing at once.
    Mirror,
    /// Nothing at all was seen.
    Hole,
}

impl Kind {
    /// The place in rows of losses.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mirror => "mirror",
            Kind::Hole => "hole",
        }
    }
}

/// A time at which the tap was blind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blind {
    /// From when on packets that are missing count as lost at the tap.
    pub since_ns: i64,
    /// And before when.
    pub until_ns: i64,
    /// What had become known by then, nanoseconds since 1970, decided it.
    pub decided_ns: i64,
    /// How.
    pub kind: Kind,
}

/// An overflow or a hole that is over, for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapLoss {
    /// When it began.
    pub since_ns: i64,
    /// When it was over.
    pub at_ns: i64,
    /// What it was.
    pub kind: Kind,
    /// Packets that are missing.
    pub packets: u64,
    /// Where; none if packets of several sources are missing.
    pub source: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct Window {
    heard: u64,
    struck: Vec<Struck>,
}

#[derive(Clone, Copy, Debug)]
struct Struck {
    src: Address,
    dst: Address,
    missing: u64,
    source: u32,
}

/// What was heard last.
#[derive(Clone, Copy, Debug, Default)]
struct Heeded {
    last: Option<i64>,
    /// Windows in a row, up to the last, with steady traffic.
    steady: i64,
}

impl Heeded {
    /// Something was heard in a window; the silence before it, if traffic was steady until then: its first window and
    /// the one behind it.
    fn hear(&mut self, at: i64, packets: u64) -> Option<(i64, i64)> {
        let last = self.last.unwrap_or(at - 1);
        let quiet = at.saturating_sub(last);
        let silence = (self.steady >= STEADY_WINDOWS && quiet > HOLE_WINDOWS).then_some((last + 1, at));
        let goes_on = if quiet == 1 { self.steady } else { 0 };
        self.steady = if packets >= STEADY_PACKETS { goes_on + 1 } else { 0 };
        self.last = Some(at);
        silence
    }
}

/// Watches over the tap.
#[derive(Debug, Default)]
pub struct Watch {
    windows: BTreeMap<i64, Window>,
    /// All windows below are judged.
    judged: Option<i64>,
    /// Windows that nothing was heard in, until it is known whether they are a hole.
    silent: Vec<(i64, Window)>,
    heard: Heeded,
    silences: VecDeque<(i64, i64)>,
    long: Vec<Hit>,
    usual: Usual,
    /// Blind because the window before was, with this one.
    carried: Option<i64>,
    /// The first window of the overflow that goes on.
    overflow_since: Option<i64>,
    open: Option<TapLoss>,
    blind: VecDeque<Blind>,
    done: Vec<TapLoss>,
    /// What was counted.
    pub counters: TapCounters,
}

impl Watch {
    /// Takes what lanes heard and missed since the last time, in any order, and judges all windows that are over at
    /// `now_ns`; all there are if that is `i64::MAX`.
    pub fn take(&mut self, heard: &[Heard], mut hits: Vec<Hit>, now_ns: i64) {
        for h in heard {
            if self.judged.is_none_or(|judged| h.window >= judged) {
                self.windows.entry(h.window).or_default().heard += h.packets;
            }
        }
        hits.sort_unstable_by_key(|h| (h.known_ns, h.gap.from_ns, h.gap.to_ns, h.src, h.dst));
        for hit in hits {
            self.judge_until(hit.known_ns);
            self.strike(hit);
        }
        self.judge_until(now_ns);
        if now_ns == i64::MAX {
            self.close();
        }
    }

    /// Overflows and holes that are over since the last time.
    pub fn poll(&mut self) -> Vec<TapLoss> {
        core::mem::take(&mut self.done)
    }

    /// Times within these at which the tap was blind, as far as that was known at `decided_ns`.
    pub fn blind(&self, since_ns: i64, until_ns: i64, decided_ns: i64) -> impl Iterator<Item = &Blind> {
        let from = self.blind.partition_point(|b| b.until_ns <= since_ns);
        let near = self.blind.range(from..).take_while(move |b| b.since_ns <= until_ns);
        near.filter(move |b| b.decided_ns <= decided_ns)
    }

    /// Whether no media was seen so far.
    pub fn is_quiet(&self) -> bool {
        self.heard.last.is_none() && self.windows.is_empty()
    }

    /// How long nothing at all was heard within these times, and before `decided_ns`, although traffic was steady
    /// before.
    pub fn silent_ns(&self, since_ns: i64, until_ns: i64, decided_ns: i64) -> i64 {
        let mut heard = self.heard;
        let windows = self.windows.iter().filter(|(_, w)| w.heard > 0);
        let mut all: Vec<_> = windows.filter_map(|(at, w)| heard.hear(*at, w.heard)).collect();
        all.extend(heard.hear(i64::MAX, 0));
        let near = self.silences.iter().rev().take_while(|s| start_of(s.1) > since_ns);
        let until_ns = until_ns.min(decided_ns);
        let within = |(first, behind): &(i64, i64)| {
            let end_ns = start_of(*behind).min(start_of(*first).saturating_add(SILENCE_NS_MAX)).min(until_ns);
            end_ns.saturating_sub(start_of(*first).max(since_ns))
        };
        all.iter().chain(near).map(|s| within(s).max(0)).sum()
    }

    fn strike(&mut self, hit: Hit) {
        let gap = hit.gap;
        if gap.step_ns() > STEP_NS_MAX {
            return;
        }
        if gap.to_ns.saturating_sub(gap.from_ns) >= HOLE_WINDOWS * WINDOW_NS {
            if self.long.len() < LONG_GAPS_MAX {
                self.long.push(hit);
            } else {
                self.counters.gaps_overflow += 1;
            }
        }
        let first = window_of(gap.from_ns).max(self.judged.unwrap_or(i64::MIN));
        for window in first..=window_of(gap.to_ns) {
            let missing = gap.within(start_of(window), start_of(window + 1));
            if missing == 0 {
                continue;
            }
            let struck = &mut self.windows.entry(window).or_default().struck;
            if struck.len() < STRUCK_MAX {
                struck.push(Struck { src: hit.src, dst: hit.dst, missing, source: hit.source });
            } else {
                self.counters.gaps_overflow += 1;
            }
        }
    }

    fn judge_until(&mut self, now_ns: i64) {
        let last = window_of(now_ns.saturating_sub(PATIENCE_NS));
        while let Some(entry) = self.windows.first_entry().filter(|e| *e.key() < last || now_ns == i64::MAX) {
            let (at, window) = entry.remove_entry();
            self.judged = self.judged.max(Some(at + 1));
            if window.heard == 0 {
                self.silent.push((at, window));
                continue;
            }
            self.end_silence(at);
            self.judge(at, &window, decided_ns(at));
            if let Some(silence) = self.heard.hear(at, window.heard) {
                if self.silences.len() >= SILENCES_MAX {
                    self.silences.pop_front();
                }
                self.silences.push_back(silence);
            }
        }
        if now_ns < i64::MAX {
            self.judged = self.judged.max(Some(last));
        }
    }

    /// Something is heard again in a window: whether the silence before it was a hole.
    fn end_silence(&mut self, at: i64) {
        let silent = core::mem::take(&mut self.silent);
        let before = self.heard.last.unwrap_or(at);
        if at.saturating_sub(before) > HOLE_WINDOWS && self.hole(before, at) {
            return;
        }
        for (window, what) in silent {
            self.judge(window, &what, decided_ns(at));
        }
    }

    /// Nothing was heard between two windows: whether streams of both directions went on meanwhile.
    fn hole(&mut self, before: i64, at: i64) -> bool {
        self.long.retain(|h| h.gap.to_ns >= start_of(before));
        let over = |h: &&Hit| h.gap.from_ns < start_of(before + 1) && h.gap.to_ns >= start_of(at);
        let over: Vec<Hit> = self.long.iter().filter(over).copied().collect();
        let at_once = |h: &&Hit| {
            h.gap.from_ns >= start_of(before - EDGE_WINDOWS) && h.gap.to_ns < start_of(at + 1 + EDGE_WINDOWS)
        };
        let many = over.len() >= HOLE_STREAMS_MIN && both_ways(over.iter());
        let lone = || at.saturating_sub(before) > LONE_WINDOWS && both_ways(over.iter().filter(at_once));
        if !many && !lone() {
            return false;
        }
        self.close();
        let (since_ns, until_ns) = (start_of(before), start_of(at + 1));
        self.remember(Blind { since_ns, until_ns, decided_ns: decided_ns(at), kind: Kind::Hole });
        let packets = over.iter().map(|h| u64::from(h.gap.missing)).sum();
        self.counters.hole += packets;
        self.done.push(TapLoss {
            since_ns: over.iter().map(|h| h.gap.from_ns).max().unwrap_or(since_ns),
            at_ns: over.iter().map(|h| h.gap.to_ns).min().unwrap_or(until_ns),
            kind: Kind::Hole,
            packets,
            source: one_of(over.iter().map(|h| h.source)),
        });
        true
    }

    fn judge(&mut self, at: i64, window: &Window, decided_ns: i64) {
        let next = self.windows.get(&(at + 1));
        let both: Vec<Struck> = window.struck.iter().chain(next.map_or(&[][..], |n| &n.struck)).copied().collect();
        let packets = window.packets() + next.map_or(0, Window::packets);
        let sudden = self.usual.is_exceeded(pairs(&both), packets) && is_spread(&both);
        let carried = self.carried.take() == Some(at);
        self.carried = sudden.then_some(at + 1);
        if !sudden && !carried {
            self.overflow_since = None;
            self.usual.learn(pairs(&window.struck), window.packets());
            return;
        }
        let since = *self.overflow_since.get_or_insert(at);
        if (at - since).saturating_mul(WINDOW_NS) > OVERFLOW_NS_MAX {
            self.usual.learn(pairs(&window.struck), window.packets());
            return;
        }
        let (since_ns, until_ns) = (start_of(at), start_of(at + 1));
        self.remember(Blind { since_ns, until_ns, decided_ns, kind: Kind::Mirror });
        self.overflow(at, window);
    }

    /// Adds a window to the row of the overflow.
    fn overflow(&mut self, at: i64, window: &Window) {
        let packets = window.struck.iter().map(|s| s.missing).sum();
        if packets == 0 {
            return;
        }
        self.counters.mirror += packets;
        if self.open.is_some_and(|o| start_of(at - APART_WINDOWS) > o.at_ns) {
            self.close();
        }
        let source = one_of(window.struck.iter().map(|s| s.source));
        match &mut self.open {
            Some(open) => {
                open.at_ns = start_of(at + 1);
                open.packets += packets;
                open.source = open.source.filter(|s| source == Some(*s));
            }
            None => {
                let (since_ns, at_ns) = (start_of(at), start_of(at + 1));
                self.open = Some(TapLoss { since_ns, at_ns, kind: Kind::Mirror, packets, source });
            }
        }
    }

    fn close(&mut self) {
        self.done.extend(self.open.take());
    }

    fn remember(&mut self, blind: Blind) {
        if self.blind.len() >= BLIND_KEPT_MAX {
            self.blind.pop_front();
        }
        self.blind.push_back(blind);
    }
}

impl Window {
    /// Packets that there were, or should have been.
    fn packets(&self) -> u64 {
        self.heard + self.struck.iter().map(|s| s.missing).sum::<u64>()
    }
}

/// How much is usually lost.
#[derive(Clone, Copy, Debug, Default)]
struct Usual {
    pairs: f64,
    packets: f64,
}

impl Usual {
    fn learn(&mut self, pairs: usize, packets: u64) {
        let keep = 1.0 - 1.0 / MEMORY_WINDOWS;
        self.pairs = self.pairs * keep + pairs as f64;
        self.packets = self.packets * keep + packets as f64;
    }

    /// Whether so many pairs among so many packets are more than chance brings.
    fn is_exceeded(&self, pairs: usize, packets: u64) -> bool {
        if pairs < PAIRS_MIN || self.packets <= 0.0 {
            return false;
        }
        let rate = (self.pairs + 3.0 * self.pairs.sqrt() + 3.0) / self.packets;
        let (mean, seen) = (rate * packets as f64, pairs as f64);
        seen > mean && seen - mean + seen * (mean / seen).ln() <= CHANCE_MAX.ln()
    }
}

/// Among them are both directions between two addresses.
fn both_ways<'a>(hits: impl Iterator<Item = &'a Hit>) -> bool {
    let ways: BTreeSet<_> = hits.map(|h| (h.src, h.dst)).collect();
    ways.iter().any(|(src, dst)| src != dst && ways.contains(&(*dst, *src)))
}

/// How many pairs of addresses there are, whoever of the two sent.
fn pairs(struck: &[Struck]) -> usize {
    if struck.len() < 2 {
        return struck.len();
    }
    let mut pairs: Vec<_> = struck.iter().map(|s| (s.src.min(s.dst), s.src.max(s.dst))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.len()
}

/// Several networks sent, and several should have received.
fn is_spread(struck: &[Struck]) -> bool {
    let differ = |mut of: Box<dyn Iterator<Item = Address> + '_>| {
        let first = of.next();
        of.any(|network| Some(network) != first)
    };
    differ(Box::new(struck.iter().map(|s| network(s.src)))) && differ(Box::new(struck.iter().map(|s| network(s.dst))))
}

/// The network of an address: /24, or /48 of IPv6.
fn network(address: Address) -> Address {
    let mut octets = *address.octets();
    let kept = if address.is_v4() { 15 } else { 6 };
    octets[kept..].fill(0);
    Address::v6(octets)
}

fn one_of(mut sources: impl Iterator<Item = u32>) -> Option<u32> {
    let first = sources.next();
    first.filter(|f| sources.all(|s| s == *f))
}

/// The window of a time.
pub fn window_of(at_ns: i64) -> i64 {
    at_ns.div_euclid(WINDOW_NS)
}

/// When a window begins.
fn start_of(window: i64) -> i64 {
    window.saturating_mul(WINDOW_NS)
}

/// When a window is judged.
fn decided_ns(window: i64) -> i64 {
    start_of(window.saturating_add(1)).saturating_add(PATIENCE_NS)
}

#[cfg(test)]
mod tests;
