//! `trunkline cache route`: the program in front of servers that are killed under load.

use crate::eventually::{PATIENCE, eventually};
use crate::memcached;
use memcached::free_port;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MEMORY_MIB: &str = "128";

/// A process that says where it listens, and ends with the test.
struct Process {
    child: Child,
    address: String,
}

impl Process {
    fn start(options: &[&str]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        let command = command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut error = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = error.by_ref().map_while(Result::ok).find(|line| line.contains(": TCP "));
        let address = line.and_then(|line| line.rsplit(' ').next().map(str::to_owned)).expect("it listens");
        // Goes on reading, so that it never waits for a full pipe.
        std::thread::spawn(move || error.map_while(Result::ok).for_each(drop));
        Process { child, address }
    }

    fn cache(port: &str) -> Process {
        Process::start(&["cache", "-l", "127.0.0.1", "-p", port, "-t", "1", "-m", MEMORY_MIB])
    }

    /// memcached; none where it is not installed.
    fn memcached() -> Option<Process> {
        memcached::start(MEMORY_MIB, false).map(|(child, address)| Process { child, address })
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    /// Keys that were asked for and there.
    fn hits(&self) -> u64 {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(b"stats\r\n").unwrap();
        let lines = BufReader::new(stream).lines().map(Result::unwrap);
        let mut lines = lines.take_while(|line| line != "END");
        let hits = lines.find_map(|line| line.strip_prefix("STAT get_hits ").map(|count| count.parse().unwrap()));
        hits.expect("it counts hits")
    }

    /// SIGKILL.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn load(address: &str, seconds: &str) -> Child {
    let options = ["cache", "load", address, "--json", "--verify", "--fill", "--seconds", seconds];
    let more = ["--keys", "3000", "--connections", "8", "--in-flight", "4", "--sets", "0.3", "--multi-get", "5"];
    // As long as the proxy waits for its servers: what is slow is not lost.
    let wait = ["--timeout-ms", "20000"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(options).args(more).args(wait).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// The report of a load, and its exit code.
fn report(load: Child) -> (Value, Option<i32>) {
    let output = load.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    (serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}")), output.status.code())
}

/// Whether a proxy stores keys of all its servers, as one connection sees it. What is only read is not there where a
/// server is out.
fn all_store(address: &str) -> bool {
    const KEYS: usize = 64;
    let mut stream = TcpStream::connect(address).unwrap();
    let asked: String = (0..KEYS).map(|key| format!("set probe-{key} 0 0 1\r\nx\r\n")).collect();
    stream.write_all(asked.as_bytes()).unwrap();
    let told: Vec<String> = BufReader::new(stream).lines().take(KEYS).map(Result::unwrap).collect();
    assert!(told.iter().all(|line| line == "STORED" || line.starts_with("SERVER_ERROR unavailable")), "{told:?}");
    told.iter().all(|line| line == "STORED")
}

/// Under load a server is killed and comes back empty: nobody gets a wrong value, no client is closed, and in the end
/// everything is answered again.
fn killed_under_load(first: Process, mut second: Process, again: impl Fn(&str) -> Process) {
    let own = format!("127.0.0.1:{}", free_port());
    // One that is killed is known by its closed port at once; one that is slow, as its machine is, is no failure.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let servers = format!("servers = [\"{}\", \"{}\"]", first.address, second.address);
    write!(file, "[route]\ntimeout = \"20 s\"\nconnect-timeout = \"20 s\"\n[pool.main]\n{servers}\n").unwrap();
    let proxy = Process::start(&["cache", "route", "-l", &own, "-t", "2", "-c", file.path().to_str().unwrap()]);
    let (run, code) = report(load(&proxy.address, "1"));
    assert_eq!((code, run["errors"].as_u64(), run["misses"].as_u64()), (Some(0), Some(0), Some(0)), "{run}");
    let before = second.hits();
    let load = load(&proxy.address, "4");
    // It asks for keys once it has stored them all; what the load before had asked for last may be counted yet.
    eventually("much is asked for", || second.hits() >= before + 5000);
    second.kill();
    std::thread::park_timeout(Duration::from_millis(700));
    let _again = again(second.port());
    let (run, _) = report(load);
    assert_eq!(run["wrong"], serde_json::json!({"torn": 0, "foreign": 0, "unknown": 0, "stale": 0}), "{run}");
    assert_eq!((run["closed"].as_u64(), run["lost"].as_u64()), (Some(0), Some(0)), "{run}");
    assert!(run["errors"].as_u64() > Some(0) && run["misses"].as_u64() > Some(0), "{run}");
    assert!(run["hits"].as_u64() > Some(1000), "{run}");
    // One that is back is asked again by and by, of each thread of the proxy for itself; where all is slow that may be
    // after the load has ended. Each of so many connections is of one of its threads.
    eventually("the one that is back is asked", || (0..16).all(|_| all_store(&proxy.address)));
    let (run, code) = report(self::load(&proxy.address, "1"));
    assert_eq!((code, run["errors"].as_u64(), run["misses"].as_u64()), (Some(0), Some(0), Some(0)), "{run}");
}

#[test]
fn servers_of_ours_are_killed_under_load() {
    killed_under_load(Process::cache("-1"), Process::cache("-1"), Process::cache);
}

#[test]
fn memcacheds_are_killed_under_load() {
    let (Some(first), Some(second)) = (Process::memcached(), Process::memcached()) else {
        println!("SKIPPED: memcached is not installed");
        return;
    };
    killed_under_load(first, second, |port| {
        let (child, address) = memcached::start_at(port, MEMORY_MIB, false).expect("its port is free again");
        Process { child, address }
    });
}

fn run(options: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_trunkline")).args(["cache", "route"]).args(options).output().unwrap();
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn mistakes_are_told_at_once() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(file, "[pool.main]\nservers = [\"127.0.0.1:x\"]\npolcy = \"plain\"\n").unwrap();
    let path = file.path().to_str().unwrap();
    let (code, _, error) = run(&["--check", "-c", path]);
    assert_eq!(code, Some(2));
    assert!(error.contains(":2:11: 127.0.0.1:x: 'x' is no port"), "{error}");
    assert!(error.contains(":3:1: unknown key 'polcy' in [pool.main]; did you mean 'policy'?"), "{error}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[pool.main]\nservers = [\"127.0.0.1:1\", \"127.0.0.1:2 weight 3\"]\n").unwrap();
    let (code, out, _) = run(&["--check", "-c", file.path().to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (Some(0), "2 servers in 1 pools\n"));
    assert_eq!(run(&[]).0, Some(2));
    assert_eq!(run(&["-c", "/nowhere/at/all"]).0, Some(1));
}

#[test]
fn metrics_are_served() {
    let server = Process::cache("-1");
    let (own, metrics) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let _proxy = Process::start(&["cache", "route", "-l", &own, "--metrics", &metrics, &server.address]);
    let mut client = TcpStream::connect(&own).unwrap();
    client.write_all(b"get k\r\n").unwrap();
    let mut told = [0; 5];
    client.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"END\r\n");
    // Threads lay down what they counted some times a second.
    let begin = Instant::now();
    let mut text = page(&metrics);
    while !text.contains("trunkline_cache_route_requests_total 1") && begin.elapsed() < PATIENCE {
        text = page(&metrics);
    }
    for line in ["trunkline_cache_route_requests_total 1", "trunkline_net_open_dialled_connections 1"] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let name = "trunkline_cache_route_server_requests_total{pool=\"main\",server=\"0\"} 1";
    let other = "trunkline_cache_route_server_requests_total{server=\"0\",pool=\"main\"} 1";
    assert!(text.contains(name) || text.contains(other), "{text}");
}

/// What is told to Prometheus.
fn page(address: &str) -> String {
    let mut page = TcpStream::connect(address).unwrap();
    page.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    page.read_to_string(&mut text).unwrap();
    text
}
