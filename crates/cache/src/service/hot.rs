//! Hot keys: which keys are asked for and written most, from samples that each thread takes for itself.
//!
//! Every so many requests a thread looks at one key. How many lie between adapts: up to [`SAMPLES_PER_S`] all requests
//! are looked at, beyond that about so many of them a second, each standing for those that were passed over. A thread
//! keeps the weights of [`KEYS_MAX`] keys by the space-saving rule (Metwally, Agrawal, El Abbadi 2005): a key that has
//! no place takes the lightest one's, and what it may have been given too much is noted and taken off again when the
//! keys are told. Weights halve in [`HALF_LIFE_S`], so that a key which was hot once cools down.

use crate::protocol::Now;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keys that a thread keeps apart: what it tells of a share is too low by a 512th of all requests at most.
// Limit: keys that one thread watches to find hot keys
// Beyond: the key used least gives way
// Seen in: the list of hot keys
pub const KEYS_MAX: usize = 512;
/// Hot keys that are told.
pub const HOT_KEYS_MAX: usize = 100;
/// Samples of a thread that are taken in a second, about.
pub const SAMPLES_PER_S: u32 = 2000;
/// Seconds in which a weight halves.
pub const HALF_LIFE_S: f64 = 10.0;
/// Requests between two samples, at most.
const GAP_MAX: u32 = 1 << 14;
const US_PER_S: u64 = 1_000_000;

/// A key that is asked for or written often.
#[derive(Clone, Debug, PartialEq)]
pub struct HotKey {
    /// Up to 250 octets.
    pub key: Vec<u8>,
    /// How often, of late: the last seconds count most.
    pub requests_per_s: f64,
    /// The part of all requests, 0 to 1.
    pub share: f64,
}

/// What a thread samples with.
#[derive(Debug)]
pub(super) struct Sampler {
    /// Requests until the next sample.
    left: u32,
    /// Requests for which that one stands.
    stands_for: u32,
    /// Requests between two samples, on average.
    gap: u32,
    /// Samples since `second`.
    taken: u32,
    second: u32,
    random: u64,
    sketch: Arc<Mutex<Sketch>>,
}

impl Sampler {
    /// Notes a request for a key.
    #[inline]
    pub fn see(&mut self, key: &[u8], now: Now) {
        self.left -= 1;
        if self.left == 0 {
            self.sample(key, now);
        }
    }

    /// Notes requests for keys.
    #[inline]
    pub fn see_all(&mut self, keys: &[&[u8]], now: Now) {
        match self.left.checked_sub(keys.len() as u32) {
            Some(left) if left > 0 => self.left = left,
            _ => keys.iter().for_each(|key| self.see(key, now)),
        }
    }

    #[cold]
    fn sample(&mut self, key: &[u8], now: Now) {
        self.adapt(now.second);
        // Who tells the keys just now is not waited for: that sample is lost.
        if let Ok(mut sketch) = self.sketch.try_lock() {
            sketch.add(key, f64::from(self.stands_for), now.unix_us);
        }
        // Not always the same distance, or requests that come in turns would hide behind each other.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let spread = u64::from(2 * self.gap - 1);
        self.stands_for = 1 + ((self.random >> 33) % spread) as u32;
        self.left = self.stands_for;
    }

    fn adapt(&mut self, second: u32) {
        self.taken += 1;
        if second != self.second {
            if self.taken < SAMPLES_PER_S / 2 {
                self.gap = (self.gap / 2).max(1);
            }
            (self.second, self.taken) = (second, 0);
        } else if self.taken >= SAMPLES_PER_S {
            (self.gap, self.taken) = ((2 * self.gap).min(GAP_MAX), 0);
        }
    }
}

/// The weights of a thread's keys.
#[derive(Debug, Default)]
struct Sketch {
    keys: HashMap<Box<[u8]>, Weight>,
    /// The weight of all requests.
    total: f64,
    /// The weight of the seconds in which they came, up to `at_us`.
    span_s: f64,
    /// The moment for which all this was made lighter last; 0 before the first sample.
    at_us: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    requests: f64,
    /// Of these, what may have been others'.
    doubtful: f64,
}

impl Sketch {
    /// Makes everything as light as it is by now.
    fn fade(&mut self, now_us: u64) {
        let factor = 1.0 / self.growth(now_us);
        for weight in self.keys.values_mut() {
            weight.requests *= factor;
            weight.doubtful *= factor;
        }
        self.total *= factor;
        self.span_s = self.span_s * factor + HALF_LIFE_S / std::f64::consts::LN_2 * (1.0 - factor);
        self.at_us = now_us;
    }

    /// By how much what comes now is heavier than what came at `at_us`.
    fn growth(&self, now_us: u64) -> f64 {
        let passed_s = now_us.saturating_sub(self.at_us) as f64 / US_PER_S as f64;
        (passed_s / HALF_LIFE_S).exp2()
    }

    fn add(&mut self, key: &[u8], requests: f64, now_us: u64) {
        if self.at_us == 0 {
            self.at_us = now_us;
        }
        if now_us.saturating_sub(self.at_us) >= US_PER_S {
            self.fade(now_us);
        }
        let requests = requests * self.growth(now_us);
        self.total += requests;
        if let Some(weight) = self.keys.get_mut(key) {
            weight.requests += requests;
            return;
        }
        let mut doubtful = 0.0;
        if self.keys.len() >= KEYS_MAX {
            let lightest = self.keys.iter().min_by(|a, b| a.1.requests.total_cmp(&b.1.requests));
            if let Some((lightest, weight)) = lightest.map(|(key, weight)| (key.clone(), *weight)) {
                doubtful = weight.requests;
                self.keys.remove(&lightest);
            }
        }
        self.keys.insert(key.into(), Weight { requests: requests + doubtful, doubtful });
    }
}

/// The sketches of all threads.
#[derive(Debug, Default)]
pub(super) struct Sketches {
    threads: Mutex<Vec<Arc<Mutex<Sketch>>>>,
}

impl Sketches {
    /// What one more thread samples with.
    pub fn sampler(&self) -> Sampler {
        let sketch = Arc::default();
        let mut threads = lock(&self.threads);
        threads.push(Arc::clone(&sketch));
        let random = threads.len() as u64;
        Sampler { left: 1, stands_for: 1, gap: 1, taken: 0, second: 0, random, sketch }
    }

    /// The hottest keys of all threads, the hottest first.
    pub fn hot_keys(&self, now_us: u64) -> Vec<HotKey> {
        let (mut rates, mut all) = (HashMap::<Box<[u8]>, f64>::new(), 0.0);
        for thread in &*lock(&self.threads) {
            let mut sketch = lock(thread);
            sketch.fade(now_us);
            // Of the first second not more is told than came.
            let span_s = sketch.span_s.max(1.0);
            all += sketch.total / span_s;
            for (key, weight) in &sketch.keys {
                *rates.entry(key.clone()).or_default() += (weight.requests - weight.doubtful) / span_s;
            }
        }
        let told = |(key, rate): (Box<[u8]>, f64)| {
            let share = if all > 0.0 { rate / all } else { 0.0 };
            HotKey { key: key.into_vec(), requests_per_s: rate, share }
        };
        // What would be told as 0.0 a second is not hot.
        let mut keys: Vec<_> = rates.into_iter().filter(|(_, rate)| *rate >= 0.05).map(told).collect();
        keys.sort_by(|a, b| b.requests_per_s.total_cmp(&a.requests_per_s).then_with(|| a.key.cmp(&b.key)));
        keys.truncate(HOT_KEYS_MAX);
        keys
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: usize = 20_000;

    fn at(us: u64) -> Now {
        Now::new(1_000_000, 1_000_100 * US_PER_S + us)
    }

    /// Ranks by Zipf's law with exponent 1: rank `n` has the share 1 / n / (1 + 1/2 + 1/3 ..).
    struct Zipf {
        sums: Vec<f64>,
        random: u64,
    }

    impl Zipf {
        fn new() -> Self {
            let mut sum = 0.0;
            let sums = (1..=KEYS).map(|rank| {
                sum += 1.0 / rank as f64;
                sum
            });
            Zipf { sums: sums.collect(), random: 7 }
        }

        fn share(&self, rank: usize) -> f64 {
            1.0 / (rank + 1) as f64 / self.sums[KEYS - 1]
        }

        fn next(&mut self) -> usize {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99_991);
            let at = (self.random >> 11) as f64 / (1u64 << 53) as f64 * self.sums[KEYS - 1];
            self.sums.partition_point(|sum| *sum < at)
        }
    }

    #[test]
    fn the_ten_hottest_keys_are_found_with_their_shares() {
        let (sketches, mut zipf) = (Sketches::default(), Zipf::new());
        let mut threads = [sketches.sampler(), sketches.sampler()];
        let keys: Vec<_> = (0..KEYS).map(|rank| format!("key-{rank}").into_bytes()).collect();
        // 50,000 requests a second for 60 s, one after the other by two threads.
        for request in 0..3_000_000u64 {
            threads[request as usize % 2].see(&keys[zipf.next()], at(request * 20));
        }
        let told = sketches.hot_keys(at(60 * US_PER_S).unix_us);
        for (rank, key) in keys.iter().enumerate().take(10) {
            let place = told.iter().position(|hot| hot.key == *key);
            let place = place.unwrap_or_else(|| panic!("rank {rank} is not told"));
            assert!(place < 14, "rank {rank} is told at {place}");
            let (hot, share) = (&told[place], zipf.share(rank));
            assert!((hot.share / share - 1.0).abs() < 0.2, "rank {rank}: {hot:?} has {share}");
            assert!((hot.requests_per_s / (50_000.0 * share) - 1.0).abs() < 0.2, "rank {rank}: {hot:?}");
        }
        assert!(told[0].key == keys[0] && told[1].key == keys[1], "{:?}", &told[..2]);
    }

    #[test]
    fn a_few_requests_are_all_counted() {
        let sketches = Sketches::default();
        let mut thread = sketches.sampler();
        // 30 a second, two of three for one key, in batches of three.
        for batch in 0..300u64 {
            thread.see_all(&[b"often", b"seldom", b"often"], at(batch * 100_000));
        }
        let told = sketches.hot_keys(at(30 * US_PER_S).unix_us);
        assert_eq!(told.len(), 2);
        assert!((told[0].share - 2.0 / 3.0).abs() < 1e-9 && (told[0].requests_per_s - 20.0).abs() < 1.0, "{told:?}");
    }

    #[test]
    fn what_was_hot_cools_down() {
        let sketches = Sketches::default();
        let mut thread = sketches.sampler();
        (0..10_000).for_each(|n| thread.see(b"before", at(n * 1000)));
        (0..20_000).for_each(|n| thread.see(b"now", at((10_000 + n) * 1000)));
        let told = sketches.hot_keys(at(30 * US_PER_S).unix_us);
        assert!(told[0].key == b"now" && told[0].share > 0.7 && told[1].key == b"before", "{told:?}");
        assert!(sketches.hot_keys(at(600 * US_PER_S).unix_us).is_empty());
    }

    #[test]
    fn a_flood_of_new_keys_has_bounded_memory_and_hides_no_hot_one() {
        let sketches = Sketches::default();
        let mut thread = sketches.sampler();
        for n in 0..200_000u64 {
            let key = if n % 10 == 0 { b"hot".to_vec() } else { n.to_string().into_bytes() };
            thread.see(&key, at(n * 100));
        }
        assert_eq!(lock(&thread.sketch).keys.len(), KEYS_MAX);
        let told = sketches.hot_keys(at(20 * US_PER_S).unix_us);
        assert!(told[0].key == b"hot" && (told[0].share - 0.1).abs() < 0.02, "{:?}", &told[..3]);
    }
}
