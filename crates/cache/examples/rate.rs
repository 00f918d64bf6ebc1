//! How fast the store is: reads and writes of one thread and of two, with a million items of 32 + 100 octets.
//!
//! `cargo run --release -p trunkline-cache --example rate [ITEMS]`
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use trunkline_cache::store::{Decision, Put, Rules, Store, Touch, Value, Writer};

/// Requests of a thread, at least: so that few items are measured as exactly as many.
const REQUESTS_MIN: u64 = 1_000_000;
const VALUE: [u8; 100] = [7; 100];

fn main() {
    let items = std::env::args().nth(1).map_or(1_000_000, |n| n.parse::<u64>().expect("a number of items"));
    let before = resident_octets();
    let store = Store::new(Rules { limit_octets: 1 << 30, ..Rules::default() });
    measure("set, new", &store, items, 1, set);
    let counts = store.counts();
    let overhead = (counts.segment_octets + counts.table_octets) as f64 / counts.items as f64 - 132.0;
    println!("{overhead:.1} octets an item beside key and value, by the store's account");
    let resident = resident_octets().saturating_sub(before) as f64 / counts.items as f64;
    println!("{resident:.1} octets of the process an item, as the system counts them");
    for threads in [1, 2] {
        measure("get", &store, items, threads, get);
        measure("get, 16 together", &store, items, threads, get_many);
        measure("set, over", &store, items, threads, set);
        measure("get 9 : set 1", &store, items, threads, mixed);
    }
    println!("{:?}", store.counts());
}

/// Octets of memory that the system has given the process; 0 where it does not tell.
fn resident_octets() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}

fn key(number: u64) -> [u8; 32] {
    let mut key = [b'k'; 32];
    for (place, octet) in key[16..].iter_mut().enumerate() {
        *octet = b'a' + (number >> (4 * place) & 15) as u8;
    }
    key
}

/// Keys in an order of chance, the same each time; made, as reading them from memory would be measured as well.
fn order(items: u64, seed: u64) -> impl Iterator<Item = [u8; 32]> {
    let mut state = seed;
    (0..items.max(REQUESTS_MIN)).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        key((state >> 33) % items)
    })
}

fn set_one(writer: &mut Writer, key: &[u8]) {
    writer.change(key, Value::Octets(&VALUE), 1, |_, _| (Decision::Put(Put::default()), ())).expect("memory");
}

fn set(writer: &mut Writer, items: u64, seed: u64) {
    match writer.store().counts().items {
        0 => (0..items).for_each(|number| set_one(writer, &key(number))),
        _ => order(items, seed).for_each(|key| set_one(writer, &key)),
    }
}

fn get(writer: &mut Writer, items: u64, seed: u64) {
    let mut value = Vec::new();
    for key in order(items, seed) {
        get_one(writer, &key, &mut value);
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

fn get_many(writer: &mut Writer, items: u64, seed: u64) {
    let mut value = Vec::new();
    let mut keys = Vec::new();
    for key in order(items, seed) {
        keys.push(key);
        if keys.len() == 16 {
            let asked: [&[u8]; 16] = std::array::from_fn(|index| &keys[index][..]);
            writer.read_many(&asked, 1, Touch::Yes, |_, seen| {
                value.clear();
                seen.expect("stored").copy(&mut value);
            });
            black_box(&value);
            keys.clear();
        }
    }
}

fn mixed(writer: &mut Writer, items: u64, seed: u64) {
    let mut value = Vec::new();
    for (number, key) in order(items, seed).enumerate() {
        if number % 10 == 0 {
            set_one(writer, &key);
        } else {
            get_one(writer, &key, &mut value);
        }
    }
}

fn measure(what: &str, store: &Arc<Store>, items: u64, threads: u64, work: fn(&mut Writer, u64, u64)) {
    let begin = Instant::now();
    let running: Vec<_> = (0..threads)
        .map(|seed| {
            let mut writer = store.writer();
            thread::spawn(move || work(&mut writer, items, seed + 1))
        })
        .collect();
    running.into_iter().for_each(|thread| thread.join().expect("the thread's work"));
    let seconds = begin.elapsed().as_secs_f64();
    let count = (threads * if what == "set, new" { items } else { items.max(REQUESTS_MIN) }) as f64;
    let nanoseconds = seconds * 1e9 / count * threads as f64;
    println!("{what:<18} {threads} threads: {:>6.2} M/s, {nanoseconds:>5.0} ns each", count / seconds / 1e6);
}
