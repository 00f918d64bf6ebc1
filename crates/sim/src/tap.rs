//! The tap: what of the packets that pass it gets into the capture. It loses packets of media alone; signalling is
//! always seen, so that the truth about calls stays what it is.

use crate::random::Random;
use crate::truth::Who;
use serde::{Deserialize, Serialize};

/// Times at which a tap may be blind.
pub const BLIND_MAX: usize = 1000;

/// What is wrong with the tap. By default nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tap {
    /// When a share of all packets is lost, whoever sent them.
    pub blind: Vec<Blind>,
    /// Share of the packets that the ring drops, 0..=1. The capture is pcapng then and says how many.
    pub ring_drops: f64,
    /// Nothing of what callees send is mirrored.
    pub one_sided: bool,
    /// When its clock is set.
    pub clock: Vec<Set>,
}

/// A time at which the clock of the capture is set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// When, seconds from the world's beginning.
    pub at_s: f64,
    /// By how much, seconds; back if below 0.
    pub by_s: f64,
}

/// A time at which the tap loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blind {
    /// When it begins, seconds from the world's beginning.
    pub at_s: f64,
    /// How long it lasts, seconds.
    pub for_s: f64,
    /// Share of the packets that are lost; 1 is a hole.
    pub share: f64,
}

impl Tap {
    /// Whether everything is seen.
    pub fn is_sound(&self) -> bool {
        *self == Tap::default()
    }

    pub(crate) fn check(&self, wrong: &mut Vec<String>) {
        let shares = self.blind.iter().map(|b| b.share).chain([self.ring_drops]);
        let spans = self.blind.iter().flat_map(|b| [b.at_s, b.for_s]);
        if self.clock.len() > BLIND_MAX || self.clock.iter().any(|c| c.at_s.abs() > 1e8 || c.by_s.abs() > 1e8) {
            wrong.push(format!("tap.clock: {BLIND_MAX} times of 100,000,000 s at most are allowed"));
        }
        if self.blind.len() > BLIND_MAX {
            wrong.push(format!("tap.blind has {} times: {BLIND_MAX} are allowed", self.blind.len()));
        }
        if shares.into_iter().any(|s| !(0.0..=1.0).contains(&s)) {
            wrong.push("tap: a share is not from 0 to 1".into());
        }
        if spans.into_iter().any(|s| !(0.0..=1e8).contains(&s)) {
            wrong.push("tap.blind: a time is not from 0 to 100,000,000 s".into());
        }
    }
}

/// The tap at work.
pub(crate) struct Watching {
    tap: Tap,
    sound: bool,
    start_ns: i64,
    random: Random,
    /// Packets that the ring dropped.
    pub dropped: u64,
}

impl Watching {
    pub fn new(tap: &Tap, start_ns: i64, seed: u64) -> Self {
        let random = Random::of(seed, u64::MAX - 1);
        Watching { tap: tap.clone(), sound: tap.is_sound(), start_ns, random, dropped: 0 }
    }

    /// What the clock of the capture says at this time.
    #[inline]
    pub fn clock_ns(&self, at_ns: i64) -> i64 {
        if self.sound {
            return at_ns;
        }
        let at_s = (at_ns - self.start_ns) as f64 / 1e9;
        let set = self.tap.clock.iter().filter(|c| c.at_s <= at_s);
        at_ns + set.map(|c| (c.by_s * 1e9) as i64).sum::<i64>()
    }

    /// Whether a packet of media gets into the capture.
    #[inline]
    pub fn sees(&mut self, at_ns: i64, sender: Who) -> bool {
        self.sound || self.looks(at_ns, sender)
    }

    fn looks(&mut self, at_ns: i64, sender: Who) -> bool {
        if self.tap.one_sided && sender == Who::Callee {
            return false;
        }
        let at_s = (at_ns - self.start_ns) as f64 / 1e9;
        let mut blind = self.tap.blind.iter().filter(|b| (b.at_s..b.at_s + b.for_s).contains(&at_s));
        if blind.any(|b| self.random.chance(b.share)) {
            return false;
        }
        let dropped = self.tap.ring_drops > 0.0 && self.random.chance(self.tap.ring_drops);
        self.dropped += u64::from(dropped);
        !dropped
    }
}

/// Which numbers of a stream passed the tap, and which of them it saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    first: Option<u64>,
    passed: Vec<u64>,
    seen: Vec<u64>,
}

impl Passed {
    /// A packet with this extended number passed.
    pub fn note(&mut self, sequence: u64, seen: bool) {
        // What comes late may be below the first.
        let first = *self.first.get_or_insert(sequence - 4096);
        let at = (sequence - first) as usize;
        if self.passed.len() <= at / 64 {
            self.passed.resize(at / 64 + 1, 0);
            self.seen.resize(at / 64 + 1, 0);
        }
        self.passed[at / 64] |= 1 << (at % 64);
        self.seen[at / 64] |= u64::from(seen) << (at % 64);
    }

    /// Numbers that passed and were not seen, between the lowest and the highest that were.
    pub fn lost(&self) -> u64 {
        let seen = |at: &usize| self.seen[at / 64] >> (at % 64) & 1 == 1;
        let passed = |at: &usize| self.passed[at / 64] >> (at % 64) & 1 == 1;
        let all = 0..self.seen.len() * 64;
        let Some((low, high)) = all.clone().find(seen).zip(all.rev().find(seen)) else { return 0 };
        (low..=high).filter(|at| passed(at) && !seen(at)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passed_unseen_is_lost_only_between_what_was_seen() {
        let mut passed = Passed::default();
        for (sequence, seen) in [(70_000, false), (70_001, true), (70_003, false), (69_999, false), (70_004, true)] {
            passed.note(sequence, seen);
        }
        passed.note(70_005, false);
        assert_eq!(passed.lost(), 1);
    }
}
