//! How much goes over an interface: a floor, a wave a day and one of some minutes, in whole numbers, so that what was
//! counted up to a moment is one expression.

use super::Counter;
use crate::random::Random;

const DAY_MS: u64 = 86_400_000;

/// A wave that rises from nothing to its height and falls again, evenly.
#[derive(Clone, Copy, Debug)]
struct Wave {
    /// At its height, octets a second.
    octets: u64,
    period_ms: u64,
    phase_ms: u64,
}

impl Wave {
    /// Octets, times a thousand, in the first milliseconds.
    fn count(&self, ms: u64) -> u128 {
        self.sum(ms + self.phase_ms) - self.sum(self.phase_ms)
    }

    fn sum(&self, ms: u64) -> u128 {
        let (whole, rest) = (u128::from(ms / self.period_ms), u128::from(ms % self.period_ms));
        let (period, height) = (u128::from(self.period_ms), u128::from(self.octets));
        let falls = period - rest;
        let part = if rest * 2 <= period {
            height * rest * rest / period
        } else {
            height * (period / 2) - height * falls * falls / period
        };
        whole * height * (period / 2) + part
    }
}

/// One direction.
#[derive(Clone, Copy, Debug)]
struct Direction {
    floor: u64,
    day: Wave,
    minutes: Wave,
    packet_octets: u64,
    /// Of a million packets so many are broken, and so many dropped.
    errors: u64,
    discards: u64,
    base: u64,
}

impl Direction {
    fn new(random: &mut Random, speed: u64) -> Direction {
        let most = speed / 8;
        let share = |random: &mut Random, percent: u64| most / 100 * random.below(percent + 1);
        let is_bad = random.below(10) == 0;
        let wave = |random: &mut Random, period_ms: u64, percent: u64| Wave {
            octets: share(random, percent),
            period_ms,
            phase_ms: random.below(period_ms),
        };
        let minutes = 2 * (60_000 + random.below(900_000));
        Direction {
            floor: share(random, 10),
            day: wave(random, DAY_MS, 50),
            minutes: wave(random, minutes, 20),
            packet_octets: 80 + random.below(1400),
            errors: if is_bad { random.below(5000) } else { 0 },
            discards: if is_bad { random.below(20_000) } else { 0 },
            // Some counters of 32 bits are about to begin again.
            base: (1 << 32) * random.below(1000) + (1 << 32) - 1 - random.below(1 << 31),
        }
    }

    fn octets(&self, ms: u64) -> u64 {
        let sum = u128::from(self.floor) * u128::from(ms) + self.day.count(ms) + self.minutes.count(ms);
        (sum / 1000) as u64
    }
}

/// An interface.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    /// Bits a second.
    pub speed: u64,
    directions: [Direction; 2],
}

impl Curve {
    pub fn new(random: &mut Random) -> Curve {
        let speed =
            [100_000_000, 1_000_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000][random.below(5) as usize];
        Curve { speed, directions: [(); 2].map(|()| Direction::new(random, speed)) }
    }

    /// What was counted in so many milliseconds of work.
    pub fn count(&self, counter: Counter, ms: i64) -> u64 {
        let (direction, count) = self.of(counter);
        count(direction, direction.octets(ms.max(0) as u64))
    }

    /// What had been counted before the farm begins.
    pub fn base(&self, counter: Counter) -> u64 {
        let (direction, count) = self.of(counter);
        count(direction, direction.base)
    }

    fn of(&self, counter: Counter) -> (&Direction, fn(&Direction, u64) -> u64) {
        let [incoming, outgoing] = &self.directions;
        let direction = match counter {
            Counter::InOctets | Counter::InPackets | Counter::InErrors | Counter::InDiscards => incoming,
            _ => outgoing,
        };
        let packets = |d: &Direction, octets: u64| octets / d.packet_octets;
        let count: fn(&Direction, u64) -> u64 = match counter {
            Counter::InOctets | Counter::OutOctets => |_, octets| octets,
            Counter::InPackets | Counter::OutPackets => packets,
            Counter::InErrors | Counter::OutErrors => |d, octets| scaled(octets / d.packet_octets, d.errors),
            Counter::InDiscards | Counter::OutDiscards => |d, octets| scaled(octets / d.packet_octets, d.discards),
        };
        (direction, count)
    }
}

fn scaled(packets: u64, of_a_million: u64) -> u64 {
    (u128::from(packets) * u128::from(of_a_million) / 1_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_only_rise_and_never_faster_than_the_wire() {
        for number in 0..200 {
            let curve = Curve::new(&mut Random::of(7, number));
            for counter in [Counter::InOctets, Counter::OutOctets, Counter::InErrors, Counter::OutPackets] {
                let mut before = 0;
                for step in 1..500 {
                    let ms = step * 7 * 60_000 + number as i64;
                    let now = curve.count(counter, ms);
                    assert!(now >= before && now - before <= curve.speed / 8 * 7 * 60, "{number} {counter:?} {step}");
                    before = now;
                }
            }
        }
    }
}
