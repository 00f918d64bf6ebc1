//! How fast the store is: reads and writes of one thread and of two, with a million items of 32 + 100 octets.
//!
//! `cargo run --release -p trunkline-cache --example rate [ITEMS]`
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use trunkline_cache::store::{Decision, Put, Rules, Store, Touch, Value, Writer};

const VALUE: [u8; 100] = [7; 100];

fn main() {
    let items = std::env::args().nth(1).map_or(1_000_000, |n| n.parse().expect("a number of items"));
    let keys: Arc<Vec<[u8; 32]>> = Arc::new((0..items).map(key).collect());
    let store = Store::new(Rules { limit_octets: 1 << 30, ..Rules::default() });
    measure("set, new", &store, &keys, 1, set);
    let counts = store.counts();
    let overhead = (counts.segment_octets + counts.table_octets) as f64 / counts.items as f64 - 132.0;
    println!("{overhead:.1} octets an item beside key and value");
    for threads in [1, 2] {
        measure("get", &store, &keys, threads, get);
        measure("get, 16 together", &store, &keys, threads, get_many);
        measure("set, over", &store, &keys, threads, set);
        measure("get 9 : set 1", &store, &keys, threads, mixed);
    }
    println!("{:?}", store.counts());
}

fn key(number: u64) -> [u8; 32] {
    let mut key = [b'k'; 32];
    let digits = format!("{number:020}");
    key[12..].copy_from_slice(digits.as_bytes());
    key
}

/// Keys in an order of chance, the same each time.
fn order(keys: &[[u8; 32]], seed: u64) -> impl Iterator<Item = &[u8; 32]> {
    let mut state = seed;
    (0..keys.len()).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        &keys[(state >> 33) as usize % keys.len()]
    })
}

fn set_one(writer: &mut Writer, key: &[u8]) {
    writer.change(key, Value::Octets(&VALUE), 1, |_, _| (Decision::Put(Put::default()), ())).expect("memory");
}

fn set(writer: &mut Writer, keys: &[[u8; 32]], seed: u64) {
    match writer.store().counts().items {
        0 => keys.iter().for_each(|key| set_one(writer, key)),
        _ => order(keys, seed).for_each(|key| set_one(writer, key)),
    }
}

fn get(writer: &mut Writer, keys: &[[u8; 32]], seed: u64) {
    let mut value = Vec::new();
    for key in order(keys, seed) {
        get_one(writer, key, &mut value);
    }
}

fn get_one(writer: &mut Writer, key: &[u8], value: &mut Vec<u8>) {
    let found = writer.read(key, 1, Touch::Yes, |seen| {
        value.clear();
        seen.copy(value);
    });
    assert!(found.is_some());
    black_box(&value);
}

fn get_many(writer: &mut Writer, keys: &[[u8; 32]], seed: u64) {
    let mut value = Vec::new();
    let mut asked: Vec<&[u8]> = Vec::new();
    for key in order(keys, seed) {
        asked.push(key);
        if asked.len() == 16 {
            writer.read_many(&asked, 1, Touch::Yes, |_, seen| {
                value.clear();
                seen.expect("stored").copy(&mut value);
            });
            black_box(&value);
            asked.clear();
        }
    }
}

fn mixed(writer: &mut Writer, keys: &[[u8; 32]], seed: u64) {
    let mut value = Vec::new();
    for (number, key) in order(keys, seed).enumerate() {
        if number % 10 == 0 {
            set_one(writer, key);
        } else {
            get_one(writer, key, &mut value);
        }
    }
}

fn measure(
    what: &str,
    store: &Arc<Store>,
    keys: &Arc<Vec<[u8; 32]>>,
    threads: u64,
    work: fn(&mut Writer, &[[u8; 32]], u64),
) {
    let begin = Instant::now();
    let running: Vec<_> = (0..threads)
        .map(|seed| {
            let (mut writer, keys) = (store.writer(), Arc::clone(keys));
            thread::spawn(move || work(&mut writer, &keys, seed + 1))
        })
        .collect();
    running.into_iter().for_each(|thread| thread.join().expect("the thread's work"));
    let seconds = begin.elapsed().as_secs_f64();
    let count = (threads * keys.len() as u64) as f64;
    let nanoseconds = seconds * 1e9 / count * threads as f64;
    println!("{what:<18} {threads} threads: {:>6.2} M/s, {nanoseconds:>5.0} ns each", count / seconds / 1e6);
}
