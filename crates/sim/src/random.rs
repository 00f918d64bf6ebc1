//! Random numbers that are the same on every machine and in every version: xoshiro256++ seeded by SplitMix64
//! (Blackman and Vigna, public domain), and distributions made of additions, multiplications and divisions alone.

/// A generator. Two made of the same seed give the same numbers for ever.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Random([(); 4].map(|()| split_mix(&mut state)))
    }

    /// The generator of the `number`th thing of a world: calls do not depend on each other's numbers.
    pub fn of(seed: u64, number: u64) -> Self {
        let mut state = seed ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03);
        Random::new(split_mix(&mut state))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A whole number in `0..n` (0 if `n` is 0). The bias of the multiplication is below 2^-32 for all that is used.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A whole number from `low` to `high`, both included.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low).max(0) as u64 + 1) as i64
    }

    /// A number in `0.0..1.0`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number in `low..high`.
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.unit() < p
    }

    /// One of the things in the list; the list must not be empty.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// An exponentially distributed number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * natural_logarithm(1.0 - self.unit())
    }
}

/// The step of SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The natural logarithm of a normal positive number, to about 1e-12. The system's `ln` differs in the last bit from
/// machine to machine; this one cannot.
fn natural_logarithm(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let (mut sum, mut power) = (0.0, s);
    for k in 0..13 {
        sum += power / (2 * k + 1) as f64;
        power *= square;
    }
    exponent as f64 * core::f64::consts::LN_2 + 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of SplitMix64 for seed 1234567 as Rosetta Code and the reference in C give them.
    #[test]
    fn split_mix_gives_the_published_numbers() {
        let mut state = 1_234_567;
        let got = [(); 5].map(|()| split_mix(&mut state));
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(got, published);
    }

    /// xoshiro256++ of the state 1, 2, 3, 4, as the reference in C (and the rand_xoshiro crate's vectors) give it.
    #[test]
    fn xoshiro_gives_the_published_numbers() {
        let mut random = Random([1, 2, 3, 4]);
        let got = [(); 4].map(|()| random.bits());
        assert_eq!(got, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn the_logarithm_is_the_logarithm() {
        for x in [1e-9, 0.001, 0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 1e6] {
            assert!((natural_logarithm(x) - f64::ln(x)).abs() < 1e-11, "{x}");
        }
    }

    #[test]
    fn distributions_have_their_means() {
        let mut random = Random::new(7);
        let n = 100_000;
        let mean = (0..n).map(|_| random.exponential(20.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 20.0).abs() < 0.4, "{mean}");
        let hits = (0..n).filter(|_| random.chance(0.1)).count();
        assert!((9_500..10_500).contains(&hits), "{hits}");
        assert!((0..n).all(|_| (3..=5).contains(&random.between(3, 5))));
    }
}
