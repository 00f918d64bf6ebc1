//! What is kept: more of what is asked for than an exact LRU of the same octets keeps, with scans and without.

use std::collections::{BTreeMap, HashMap};
use trunkline_cache::store::{Decision, Put, Rules, Store, Touch, Value};

const KEYS: usize = 300_000;
const REQUESTS: usize = 400_000;
const LIMIT_OCTETS: u64 = 4 << 20;
/// Of key and value.
const OCTETS: usize = 8 + 100;
/// What an item of the LRU takes: as much as one of the store, table and all.
const LRU_ITEM_OCTETS: u64 = OCTETS as u64 + 28;

fn trace(exponent: f64, scans: bool) -> Vec<u64> {
    let mut sum = 0.0;
    let mut sums = Vec::with_capacity(KEYS);
    for rank in 1..=KEYS {
        sum += 1.0 / (rank as f64).powf(exponent);
        sums.push(sum);
    }
    let (mut state, mut scanned) = (0x9e37_79b9_7f4a_7c15u64, KEYS as u64);
    let mut next = |index: usize| {
        if scans && index % 60_000 >= 40_000 {
            scanned += 1;
            return scanned;
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let point = (state >> 11) as f64 / (1u64 << 53) as f64 * sum;
        sums.partition_point(|sum| *sum < point) as u64
    };
    (0..REQUESTS).map(&mut next).collect()
}

fn store_hits(trace: &[u64]) -> usize {
    let store = Store::new(Rules { limit_octets: LIMIT_OCTETS, ..Rules::default() });
    let mut writer = store.writer();
    let value = [1; OCTETS - 8];
    let mut ask = |key: &u64| {
        let key = key.to_be_bytes();
        let hit = writer.read(&key, 1, Touch::Yes, |_| ()).is_some();
        if !hit {
            let put = Decision::Put(Put::default());
            writer.change(&key, Value::Octets(&value), 1, |_, _| (put, ())).expect("room is made");
        }
        hit
    };
    trace.iter().filter(|key| ask(key)).count()
}

fn lru_hits(trace: &[u64]) -> usize {
    let (mut times, mut order) = (HashMap::new(), BTreeMap::new());
    let mut hits = 0;
    for (time, &key) in trace.iter().enumerate() {
        if let Some(before) = times.insert(key, time) {
            hits += 1;
            order.remove(&before);
        }
        order.insert(time, key);
        if order.len() as u64 > LIMIT_OCTETS / LRU_ITEM_OCTETS {
            let (_, oldest) = order.pop_first().expect("more than none");
            times.remove(&oldest);
        }
    }
    hits
}

#[test]
fn more_is_hit_than_with_an_lru_of_the_same_octets() {
    for (exponent, scans, margin) in
        [(0.9, false, 1.01), (1.0, false, 1.005), (1.1, false, 1.0), (0.9, true, 1.05), (1.0, true, 1.03)]
    {
        let trace = trace(exponent, scans);
        let (ours, lru) = (store_hits(&trace), lru_hits(&trace));
        println!("Zipf {exponent}, scans {scans}: {ours} hits, LRU {lru}");
        assert!(ours as f64 > lru as f64 * margin, "Zipf {exponent}, scans {scans}: {ours} hits, LRU {lru}");
    }
}
