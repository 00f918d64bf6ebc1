//! Latencies: counts in buckets, 128 to each doubling, so that a quantile is at most 0.8 % too high.

/// Bits of a number that are kept.
const BITS: u32 = 7;
/// Buckets of a doubling.
const WIDTH: usize = 1 << BITS;
/// Buckets up to the largest u64.
const BUCKETS: usize = (64 - BITS as usize + 1) * WIDTH;

/// How often each value came.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64]>,
    total: u64,
    most: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS].into(), total: 0, most: 0 }
    }
}

impl Histogram {
    /// Counts a value `times` times.
    pub fn record(&mut self, value: u64, times: u64) {
        if times > 0 {
            self.counts[bucket(value)] += times;
            self.total += times;
            self.most = self.most.max(value);
        }
    }

    /// Records so many values that lie evenly between nothing and the greatest, in at most a thousand steps.
    pub fn record_evenly(&mut self, greatest: u64, count: u64) {
        let steps = count.clamp(1, 1000);
        for step in 0..steps {
            let value = u128::from(greatest) * u128::from(steps - step) / u128::from(steps);
            let share = count * (step + 1) / steps - count * step / steps;
            self.record(value as u64, share);
        }
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.total += other.total;
        self.most = self.most.max(other.most);
    }

    /// The value that this part of all (0 to 1) does not exceed; 0 where none came.
    pub fn quantile(&self, part: f64) -> u64 {
        let rank = ((part * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut before = 0;
        let found = self.counts.iter().position(|count| {
            before += count;
            before >= rank
        });
        found.map_or(0, |bucket| highest(bucket).min(self.most))
    }

    /// The largest value, exactly.
    pub fn most(&self) -> u64 {
        self.most
    }
}

fn bucket(value: u64) -> usize {
    let shift = (64 - value.leading_zeros()).saturating_sub(BITS + 1);
    shift as usize * WIDTH + (value >> shift) as usize
}

/// The largest value of a bucket.
fn highest(bucket: usize) -> u64 {
    let shift = (bucket / WIDTH).saturating_sub(1);
    let lowest = (bucket - shift * WIDTH) as u64;
    (lowest << shift) + ((1u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_bucket_that_is_near() {
        let values = (0..64).flat_map(|bit| [1u64 << bit, (1u64 << bit) - 1, (1u64 << bit) + (1u64 << bit) / 3]);
        for value in values.chain([u64::MAX, 127, 128, 129, 255, 256]) {
            let high = highest(bucket(value));
            assert!(high >= value && high - value <= value / 128, "{value}: {high}");
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn quantiles_of_two_together() {
        let (mut one, mut other) = (Histogram::default(), Histogram::default());
        assert_eq!((one.quantile(0.5), one.most()), (0, 0));
        (1..=500).for_each(|n| one.record(n * 1000, 1));
        (501..=1000).for_each(|n| other.record(n * 1000, 1));
        one.add(&other);
        one.record(5, 0);
        for (part, want) in [(0.5, 500_000), (0.99, 990_000), (0.999, 999_000), (1.0, 1_000_000), (0.0, 1_000)] {
            let got = one.quantile(part);
            assert!(got >= want && got - want <= want / 100, "{part}: {got}");
        }
        assert_eq!(one.most(), 1_000_000);
    }
}
