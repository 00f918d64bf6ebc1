//! Numbers by chance that come again with the seed, and which keys they choose: evenly, or few of them often.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

/// Its output function: close numbers become far ones.
pub fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Random {
    /// From a seed; `stream` makes many of one seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        Random(mixed(seed).wrapping_add(mixed(!stream)))
    }

    /// The next 64 bits.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// Less than `limit`; 0 where that is 0.
    pub fn below(&mut self, limit: u32) -> u32 {
        ((u128::from(self.number()) * u128::from(limit)) >> 64) as u32
    }

    /// From 0 to less than 1.
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// How keys are chosen.
#[derive(Clone, Debug)]
pub enum Keys {
    /// Each as often as any other: how many there are.
    Uniform(u32),
    /// The n-th in proportion to n to the power of -s.
    Zipf(Zipf),
}

impl Keys {
    /// Of this many, by Zipf's law if `s` is given.
    pub fn new(keys: u32, s: Option<f64>) -> Self {
        s.map_or(Keys::Uniform(keys), |s| Keys::Zipf(Zipf::new(keys, s)))
    }

    /// One, from 0.
    pub fn choose(&self, random: &mut Random) -> u32 {
        match self {
            Keys::Uniform(keys) => random.below(*keys),
            Keys::Zipf(zipf) => zipf.choose(random),
        }
    }
}

/// Zipf's law by rejection-inversion (Hoermann, Derflinger: Rejection-inversion to generate variates from monotone
/// discrete distributions, 1996), for any s above 0 and without a table.
#[derive(Clone, Debug)]
pub struct Zipf {
    keys: f64,
    s: f64,
    first: f64,
    last: f64,
    near: f64,
}

impl Zipf {
    fn new(keys: u32, s: f64) -> Self {
        let mut zipf = Zipf { keys: f64::from(keys), s, first: 0.0, last: 0.0, near: 0.0 };
        zipf.first = zipf.area(1.5) - 1.0;
        zipf.last = zipf.area(zipf.keys + 0.5);
        zipf.near = 2.0 - zipf.inverse(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    fn choose(&self, random: &mut Random) -> u32 {
        loop {
            let area = self.last + random.unit() * (self.first - self.last);
            let at = self.inverse(area);
            let rank = at.round().clamp(1.0, self.keys);
            if rank - at <= self.near || area >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u32 - 1;
            }
        }
    }

    /// x to the power of -s.
    fn height(&self, x: f64) -> f64 {
        (-self.s * x.ln()).exp()
    }

    /// The integral of the height, up to a constant.
    fn area(&self, x: f64) -> f64 {
        if self.is_harmonic() { x.ln() } else { (((1.0 - self.s) * x.ln()).exp() - 1.0) / (1.0 - self.s) }
    }

    fn inverse(&self, area: f64) -> f64 {
        if self.is_harmonic() { area.exp() } else { ((1.0 + area * (1.0 - self.s)).ln() / (1.0 - self.s)).exp() }
    }

    /// Whether s is so near to 1 that the quotient would lose its digits.
    fn is_harmonic(&self) -> bool {
        (1.0 - self.s).abs() < 1e-9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_again() {
        let numbers = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [random.number(), random.number(), random.number()]
        };
        assert_eq!(numbers(1, 0), numbers(1, 0));
        assert!(numbers(1, 0) != numbers(1, 1) && numbers(1, 0) != numbers(2, 0));
        let mut random = Random::new(7, 7);
        assert!((0..1000).all(|_| random.below(3) < 3 && random.unit() < 1.0));
    }

    #[test]
    fn uniform_keys_come_equally_often() {
        let (keys, mut random, mut seen) = (Keys::new(10, None), Random::new(1, 0), [0u32; 10]);
        (0..100_000).for_each(|_| seen[keys.choose(&mut random) as usize] += 1);
        assert!(seen.iter().all(|n| (9_500..10_500).contains(n)), "{seen:?}");
    }

    #[test]
    fn zipf_keys_come_by_their_law() {
        for s in [0.5, 0.99, 1.0, 1.3, 2.0] {
            let (keys, mut random, mut seen) = (Keys::new(100, Some(s)), Random::new(3, 0), [0u32; 100]);
            (0..200_000).for_each(|_| seen[keys.choose(&mut random) as usize] += 1);
            let sum: f64 = (1..=100).map(|n| f64::from(n).powf(-s)).sum();
            for rank in [1usize, 2, 3, 10, 50] {
                let (want, got) = (200_000.0 * (rank as f64).powf(-s) / sum, f64::from(seen[rank - 1]));
                assert!((want - got).abs() < 5.0 * want.sqrt() + 1.0, "s {s}, rank {rank}: {got}, not {want}");
            }
        }
        assert_eq!(Keys::new(1, Some(0.9)).choose(&mut Random::new(1, 1)), 0);
    }
}
