//! How often what is asked for is there: the store, an exact LRU of the same octets, and memcached if it is installed,
//! on traces with a Zipf distribution, with and without scans; what is missed is stored. Prints a line for people for
//! each trace, and at the end one line of JSON.
//!
//! `cargo run --release -p trunkline-cache --example hits [MEBIBYTES [REQUESTS]]`
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use trunkline_cache::store::{Decision, Put, Rules, Store, Touch, Value, Writer};

const KEYS: usize = 1_000_000;
const REQUESTS: usize = 3_000_000;
/// Requests of a round with scans, and those at its end that are a scan.
const ROUND: usize = 300_000;
const SCAN: usize = 100_000;
/// Keys that memcached is asked for in one write.
const AT_ONCE: usize = 32;
const VALUE: [u8; 100] = [7; 100];
/// What an item takes in the LRU: as much as in the store.
const ITEM_OCTETS: u64 = 20 + 100 + 28;

fn main() {
    let number = |at, default| std::env::args().nth(at).map_or(default, |word| word.parse::<u64>().expect("a number"));
    let (mebibytes, requests) = (number(1, 16), number(2, REQUESTS as u64) as usize);
    eprintln!("{KEYS} keys, {requests} requests, {mebibytes} MiB; hits in percent, of the second half");
    let mut rows = Vec::new();
    for exponent in [0.9, 1.0, 1.1] {
        for scans in [false, true] {
            let trace = trace(requests, exponent, scans);
            let store = hits(&trace, &mut OurStore::new(mebibytes << 20));
            let lru = hits(&trace, &mut Lru::new((mebibytes << 20) / ITEM_OCTETS));
            let memcached = Memcached::start(mebibytes).map(|mut memcached| hits(&trace, &mut memcached));
            let theirs = memcached.map_or("not there".to_owned(), |hits| format!("{hits:.2}"));
            let scanned = if scans { ", scans" } else { "" };
            eprintln!("Zipf {exponent}{scanned}: store {store:.2}, LRU {lru:.2}, memcached {theirs}");
            let theirs = memcached.map_or("null".to_owned(), |hits| hits.to_string());
            rows.push(format!(
                r#"{{"zipf":{exponent:?},"scans":{scans},"store":{store},"lru":{lru},"memcached":{theirs}}}"#
            ));
        }
    }
    let rows = rows.join(",");
    println!(r#"{{"keys":{KEYS},"requests":{requests},"mebibytes":{mebibytes},"rows":[{rows}]}}"#);
}

trait Cache {
    /// Asks for keys, all of them different, and stores those that are not there. How many were.
    fn ask(&mut self, keys: &[String]) -> usize;
}

fn hits(trace: &[u32], cache: &mut dyn Cache) -> f64 {
    let (first, second) = trace.split_at(trace.len() / 2);
    ask_all(first, cache);
    ask_all(second, cache) as f64 * 100.0 / second.len() as f64
}

/// Asks for some at a time, which end before a key that comes again.
fn ask_all(mut trace: &[u32], cache: &mut dyn Cache) -> usize {
    let mut hits = 0;
    while !trace.is_empty() {
        let most = trace.len().min(AT_ONCE);
        let fresh = (1..most).take_while(|at| !trace[..*at].contains(&trace[*at])).count() + 1;
        let (now, later) = trace.split_at(fresh);
        let keys: Vec<_> = now.iter().map(|key| format!("key:{key:016}")).collect();
        hits += cache.ask(&keys);
        trace = later;
    }
    hits
}

fn chance(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Keys asked for: the more often, the lower; scans ask for others, each once.
fn trace(requests: usize, exponent: f64, scans: bool) -> Vec<u32> {
    let mut sums = Vec::with_capacity(KEYS);
    let mut sum = 0.0;
    for rank in 1..=KEYS {
        sum += 1.0 / (rank as f64).powf(exponent);
        sums.push(sum);
    }
    let (mut state, mut scanned) = (0x9e37_79b9_7f4a_7c15, KEYS as u32);
    (0..requests)
        .map(|index| {
            if scans && index % ROUND >= ROUND - SCAN {
                scanned += 1;
                return scanned;
            }
            let point = (chance(&mut state) >> 11) as f64 / (1u64 << 53) as f64 * sum;
            sums.partition_point(|sum| *sum < point) as u32
        })
        .collect()
}

struct OurStore(Writer);

impl OurStore {
    fn new(octets: u64) -> Self {
        OurStore(Store::new(Rules { limit_octets: octets, ..Rules::default() }).writer())
    }
}

impl Cache for OurStore {
    fn ask(&mut self, keys: &[String]) -> usize {
        keys.iter().filter(|key| self.ask_one(key.as_bytes())).count()
    }
}

impl OurStore {
    fn ask_one(&mut self, key: &[u8]) -> bool {
        let hit = self.0.read(key, 1, Touch::Yes, |_| ()).is_some();
        if !hit {
            let put = |writer: &mut Writer| {
                writer.change(key, Value::Octets(&VALUE), 1, |_, _| (Decision::Put(Put::default()), ()))
            };
            put(&mut self.0).expect("room is made");
        }
        hit
    }
}

struct Lru {
    items: u64,
    clock: u64,
    times: HashMap<Vec<u8>, u64>,
    order: BTreeMap<u64, Vec<u8>>,
}

impl Lru {
    fn new(items: u64) -> Self {
        Lru { items, clock: 0, times: HashMap::new(), order: BTreeMap::new() }
    }
}

impl Cache for Lru {
    fn ask(&mut self, keys: &[String]) -> usize {
        keys.iter().filter(|key| self.ask_one(key.as_bytes())).count()
    }
}

impl Lru {
    fn ask_one(&mut self, key: &[u8]) -> bool {
        self.clock += 1;
        let before = self.times.insert(key.to_vec(), self.clock);
        before.into_iter().for_each(|time| drop(self.order.remove(&time)));
        self.order.insert(self.clock, key.to_vec());
        if self.order.len() as u64 > self.items {
            let (_, oldest) = self.order.pop_first().expect("more than none");
            self.times.remove(&oldest);
        }
        before.is_some()
    }
}

struct Memcached {
    child: Child,
    socket: PathBuf,
    stream: BufReader<UnixStream>,
}

impl Memcached {
    /// Starts one with a socket of its own; none if it is not installed.
    fn start(mebibytes: u64) -> Option<Self> {
        let socket = std::env::temp_dir().join(format!("hits-{}.sock", std::process::id()));
        let mut command = Command::new("memcached");
        command.args(["-u", "nobody", "-t", "1", "-m", &mebibytes.to_string(), "-a", "777", "-s"]).arg(&socket);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let mut turns = 0;
        let stream = loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => break stream,
                Err(_) if turns < 1_000_000 => turns += 1,
                Err(error) => panic!("{error}"),
            }
            std::thread::yield_now();
        };
        Some(Memcached { child, socket, stream: BufReader::new(stream) })
    }

    fn send(&mut self, requests: &str) {
        self.stream.get_mut().write_all(requests.as_bytes()).expect("written");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line");
        line
    }

    /// Reads the answer to a get.
    fn is_there(&mut self) -> bool {
        let there = self.line().starts_with("VALUE");
        if there {
            let mut rest = [0; VALUE.len() + 7];
            self.stream.read_exact(&mut rest).expect("value and END");
        }
        there
    }
}

impl Cache for Memcached {
    fn ask(&mut self, keys: &[String]) -> usize {
        self.send(&keys.iter().map(|key| format!("get {key}\r\n")).collect::<String>());
        let missed: Vec<_> = keys.iter().filter(|_| !self.is_there()).collect();
        let value = core::str::from_utf8(&VALUE).expect("text");
        let set = |key: &&String| format!("set {key} 0 0 {}\r\n{value}\r\n", VALUE.len());
        self.send(&missed.iter().map(set).collect::<String>());
        missed.iter().for_each(|_| assert_eq!(self.line(), "STORED\r\n"));
        keys.len() - missed.len()
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _was_gone_already = self.child.kill();
        let _was_waited_for = self.child.wait();
        let _was_removed = std::fs::remove_file(&self.socket);
    }
}
