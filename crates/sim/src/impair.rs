//! What the network does to the packets of one stream: loses, delays, lets them overtake each other, copies them.

use crate::random::Random;
use crate::settings::Impairments;
use serde::{Deserialize, Serialize};

/// No packet is delayed by more than this: two seconds.
const DELAY_MAX_NS: i64 = 2_000_000_000;

/// How packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Not at all.
    #[default]
    None,
    /// Each with this probability.
    Independent(f64),
    /// Gilbert's two states: all is lost in the bad one. Probabilities of going bad and of recovering, per packet.
    Gilbert {
        /// From good to bad.
        bad: f64,
        /// From bad to good; 1 / this is the mean length of a burst.
        good: f64,
    },
    /// Every n-th packet.
    Every(u32),
}

impl Loss {
    /// Gilbert's model with this loss rate and mean length of bursts.
    pub fn bursts(rate: f64, length: f64) -> Self {
        let good = 1.0 / length;
        Loss::Gilbert { bad: rate * good / (1.0 - rate), good }
    }
}

/// What is done to one stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Impairment {
    /// How packets are lost.
    pub loss: Loss,
    /// At no time is more than this share of what was sent lost: a healthy network is not unlucky.
    pub loss_cap: f64,
    /// Mean of the exponential delay beyond the least, milliseconds.
    pub jitter_ms: f64,
    /// Whether the delay is that of a queue: nobody overtakes.
    pub queue: bool,
    /// Share of the packets that are held back by one to four packet times.
    pub reorder: f64,
    /// Share of the packets that come twice.
    pub duplicate: f64,
    /// Deviation of the sender's clock, parts per million.
    pub skew_ppm: f64,
}

impl Default for Impairment {
    fn default() -> Self {
        let (loss, loss_cap) = (Loss::None, 1.0);
        Impairment { loss, loss_cap, jitter_ms: 0.0, queue: false, reorder: 0.0, duplicate: 0.0, skew_ppm: 0.0 }
    }
}

impl Impairment {
    /// One stream's share of what the world's network does.
    pub fn draw(of: &Impairments, random: &mut Random) -> Self {
        if !random.chance(of.share) {
            return Impairment::default();
        }
        let rate = random.uniform(0.0, of.loss_max);
        let loss = match random.chance(of.bursty) {
            _ if rate < 1e-4 => Loss::None,
            true => Loss::bursts(rate, random.uniform(1.5, 6.0)),
            false => Loss::Independent(rate),
        };
        Impairment {
            loss,
            loss_cap: of.loss_cap,
            jitter_ms: random.uniform(0.0, of.jitter_max_ms),
            queue: random.chance(0.7),
            reorder: random.uniform(0.0, of.reorder_max),
            duplicate: random.uniform(0.0, of.duplicate_max),
            skew_ppm: random.uniform(-of.skew_max_ppm, of.skew_max_ppm),
        }
    }
}

/// The way of one stream's packets, with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    impairment: Impairment,
    random: Random,
    bad: bool,
    sent: u64,
    lost: u64,
    last_ns: i64,
}

impl Way {
    pub fn new(impairment: Impairment, random: Random) -> Self {
        Way { impairment, random, bad: false, sent: 0, lost: 0, last_ns: 0 }
    }

    /// When a packet sent at `at_ns` arrives; none if it is lost.
    #[inline]
    pub fn arrival(&mut self, at_ns: i64, ptime_ns: i64) -> Option<i64> {
        self.sent += 1;
        if self.loses() && (self.lost + 1) as f64 <= self.impairment.loss_cap * self.sent as f64 {
            self.lost += 1;
            return None;
        }
        // A healthy network still shakes by a third of a millisecond.
        let mut delay = self.random.below(300_000) as i64;
        if self.impairment.jitter_ms > 0.0 {
            delay += (self.random.exponential(self.impairment.jitter_ms) * 1e6) as i64;
        }
        let mut arrival = at_ns + delay.min(DELAY_MAX_NS);
        if self.impairment.queue {
            arrival = arrival.max(self.last_ns + 20_000);
            self.last_ns = arrival;
        }
        if self.random.chance(self.impairment.reorder) {
            arrival += self.random.between(ptime_ns, 4 * ptime_ns);
        }
        Some(arrival)
    }

    /// When a copy of what arrives at `arrival_ns` arrives; mostly none.
    #[inline]
    pub fn copy(&mut self, arrival_ns: i64, ptime_ns: i64) -> Option<i64> {
        let comes = self.random.chance(self.impairment.duplicate);
        comes.then(|| arrival_ns + self.random.between(50_000, 2 * ptime_ns))
    }

    #[inline]
    fn loses(&mut self) -> bool {
        match self.impairment.loss {
            Loss::None => false,
            Loss::Independent(p) => self.random.chance(p),
            Loss::Every(n) => self.sent % u64::from(n.max(1)) == u64::from(n / 2),
            Loss::Gilbert { bad, good } => {
                let change = if self.bad { good } else { bad };
                self.bad ^= self.random.chance(change);
                self.bad
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: Loss) -> (f64, f64) {
        let mut way = Way::new(Impairment { loss, ..Impairment::default() }, Random::new(3));
        let (mut lost, mut bursts, mut before) = (0u32, 0u32, false);
        for n in 0..200_000 {
            let now = way.arrival(n * 20_000_000, 20_000_000).is_none();
            lost += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        (f64::from(lost) / 200_000.0, f64::from(lost) / f64::from(bursts))
    }

    #[test]
    fn losses_have_their_rates_and_bursts_their_lengths() {
        let (rate, length) = lost(Loss::Independent(0.05));
        assert!((rate - 0.05).abs() < 0.003 && (length - 1.0 / 0.95).abs() < 0.03, "{rate} {length}");
        let (rate, length) = lost(Loss::bursts(0.1, 4.0));
        assert!((rate - 0.1).abs() < 0.01 && (length - 4.0).abs() < 0.3, "{rate} {length}");
        assert!((lost(Loss::Every(200)).0 - 0.005).abs() < 1e-6);
    }

    #[test]
    fn a_queue_keeps_the_order() {
        let impairment = Impairment { jitter_ms: 80.0, queue: true, ..Impairment::default() };
        let mut way = Way::new(impairment, Random::new(4));
        let arrivals: Vec<_> = (0..1000).filter_map(|n| way.arrival(n * 20_000_000, 20_000_000)).collect();
        assert!(arrivals.is_sorted());
    }
}
