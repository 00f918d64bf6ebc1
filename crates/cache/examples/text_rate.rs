//! What a command costs one thread, without a network: `cargo run --release --example text_rate`.
//!
//! A million items of 32-octet keys and 100-octet values (`text_rate 10000` for fewer), 16 commands in a buffer, keys
//! by chance. Nanoseconds are of all there is to a command: parsing, the store, the answer.

use std::sync::Arc;
use std::time::Instant;
use trunkline_cache::protocol::Now;
use trunkline_cache::service::{Alone, Service, Settings, Shared};
use trunkline_cache::store::{Rules, Store};

const COMMANDS: usize = 2_000_000;
const PIPELINED: usize = 16;
const DEFAULT_ITEMS: u64 = 1_000_000;

fn main() {
    let items = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(DEFAULT_ITEMS);
    let store = Store::new(Rules { limit_octets: 1 << 30, ..Rules::default() });
    let now = Now::new(1_700_000_000, 1_700_000_100_000_000);
    let settings = Settings { turn_requests_max: 0, ..Settings::default() };
    let mut service = Service::new(&Shared::new(store, settings, Arc::new(Alone), now));
    for n in 0..items {
        run(&mut service, &set(n), now);
    }
    println!("{items} items, {PIPELINED} commands in a buffer, nanoseconds each:");
    let list = |n: &mut dyn FnMut() -> u64, keys: usize| (0..keys).map(|_| key(n())).collect::<Vec<_>>().join(" ");
    let mut state = 1;
    let mut chance = move || random(&mut state) % items;
    for (name, keys) in [("get", 1), ("get of 10", 10), ("get of 100", 100)] {
        let commands =
            measure(&mut service, now, keys, &mut |_| format!("get {}\r\n", list(&mut chance, keys)).into_bytes());
        println!("{name:12} {commands:8.1} a key");
    }
    let sets = measure(&mut service, now, 1, &mut |_| set(chance()));
    println!("{:12} {sets:8.1}", "set");
    let gets = measure(&mut service, now, 1, &mut |_| format!("mg {} v\r\n", key(chance())).into_bytes());
    println!("{:12} {gets:8.1}", "mg v");
    let misses =
        measure(&mut service, now, 1, &mut |n| format!("get missing-key-of-thirty-two-{n:04}\r\n").into_bytes());
    println!("{:12} {misses:8.1}", "get, a miss");
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 20
}

fn key(n: u64) -> String {
    format!("key-of-thirty-two-octets-{n:07}")
}

fn set(n: u64) -> Vec<u8> {
    format!("set {} 0 0 100\r\n{:0100}\r\n", key(n), n).into_bytes()
}

fn run(service: &mut Service, octets: &[u8], now: Now) -> usize {
    let mut connection = service.accepted(1);
    let mut out = Vec::new();
    service.octets(&mut connection, octets, &mut out, now);
    out.len()
}

/// Nanoseconds a key of what `make` makes.
fn measure(service: &mut Service, now: Now, keys: usize, make: &mut dyn FnMut(usize) -> Vec<u8>) -> f64 {
    let buffers: Vec<Vec<u8>> =
        (0..4000).map(|n| (0..PIPELINED).flat_map(|m| make(n * PIPELINED + m)).collect()).collect();
    let (mut connection, mut out) = (service.accepted(1), Vec::with_capacity(1 << 20));
    let rounds = (COMMANDS / keys / PIPELINED).max(buffers.len());
    let begin = Instant::now();
    for round in 0..rounds {
        let mut input = &buffers[round % buffers.len()][..];
        while !input.is_empty() {
            out.clear();
            input = &input[service.octets(&mut connection, input, &mut out, now).octets..];
        }
    }
    begin.elapsed().as_nanos() as f64 / (rounds * PIPELINED * keys) as f64
}
