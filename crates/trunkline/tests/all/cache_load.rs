//! `trunkline cache load` and `trunkline cache stats` against our own server, memcached where it is, and nobody.
//!
//! Test group: alone: offers load and measures rates.

use crate::memcached;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// A server that ends with the test.
struct Server {
    child: Child,
    tcp: String,
    udp: String,
}

impl Server {
    fn start() -> Server {
        let options = ["cache", "-l", "127.0.0.1", "-p", "-1", "-U", "-1", "-t", "1", "-m", "256"];
        let mut child = trunkline(&options).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let error = BufReader::new(child.stderr.take().unwrap());
        let (tell, told) = std::sync::mpsc::channel();
        // Goes on reading, so that the server never waits for a full pipe.
        std::thread::spawn(move || error.lines().map_while(Result::ok).for_each(|line| _ = tell.send(line)));
        let mut server = Server { child, tcp: String::new(), udp: String::new() };
        while server.tcp.is_empty() || server.udp.is_empty() {
            let line = told.recv_timeout(PATIENCE).expect("the server says where it listens");
            if let Some(address) = line.strip_prefix("trunkline cache: TCP ") {
                server.tcp = address.to_owned();
            } else if let Some(address) = line.strip_prefix("trunkline cache: UDP ") {
                server.udp = address.to_owned();
            }
        }
        server
    }

    /// memcached itself, TCP and UDP on one port; none where it is not installed.
    fn memcached() -> Option<Server> {
        memcached::start("256", true).map(|(child, address)| Server { child, tcp: address.clone(), udp: address })
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn trunkline(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(options).stdin(Stdio::null());
    command
}

fn ran(options: &[&str]) -> Output {
    trunkline(&[&["cache"], options].concat()).output().unwrap()
}

/// The JSON of a run that ends with this exit code.
fn load(options: &[&str], code: i32) -> Value {
    let output = ran(&[&["load", "--json", "--seconds", "1"], options].concat());
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{options:?}: {out}{error}");
    serde_json::from_str(&out).unwrap()
}

fn is_clean(run: &Value) {
    for name in ["misses", "errors", "lost", "late", "closed"] {
        assert_eq!(run[name], 0, "{name}: {run}");
    }
    assert_eq!(run["wrong"], serde_json::json!({"torn": 0, "foreign": 0, "unknown": 0, "stale": 0}), "{run}");
    // A second of values of 300 KB is few requests on a machine that has other things to do.
    assert!(run["gets"].as_u64() > Some(20) && run["hits"].as_u64() >= run["gets"].as_u64(), "{run}");
    assert!(run["latency_us"]["p50"].as_f64() > Some(0.0), "{run}");
}

fn fails(options: &[&str], code: i32, says: &str) {
    let output = ran(options);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{options:?}: {error}");
    assert!(error.contains(says), "{options:?}: no '{says}' in {error}");
}

const CHECKED: [&str; 6] = ["--fill", "--verify", "--keys", "2000", "--connections", "4"];

#[test]
fn closed_loop_by_tcp_hits_all() {
    let server = Server::start();
    let pid = server.pid();
    let text = ["--threads", "2", "--in-flight", "4", "--value-octets", "24-3000", "--sets", "0.5", "--pid", &pid];
    let run = load(&[&[server.tcp.as_str()], &CHECKED[..], &text].concat(), 0);
    is_clean(&run);
    assert!(run["server_cpu_seconds"].as_f64() > Some(0.0) && run["sets"].as_u64() > Some(100), "{run}");
    for many in ["1", "5"] {
        is_clean(&load(&[&[server.tcp.as_str(), "--meta", "--multi-get", many], &CHECKED[..]].concat(), 0));
    }
    is_clean(&load(&[&[server.tcp.as_str(), "--zipf", "0.99"], &CHECKED[..]].concat(), 0));
    // Large values come in many pieces.
    let large = ["--value-octets", "300000", "--multi-get", "3", "--keys", "50"];
    is_clean(&load(&[&[server.tcp.as_str(), "--fill", "--verify"], &large[..]].concat(), 0));
}

#[test]
fn udp_puts_answers_of_many_datagrams_together() {
    let server = Server::start();
    let many = ["--udp", "--multi-get", "10", "--value-octets", "1024", "--in-flight", "2"];
    let run = load(&[&[server.udp.as_str()], &CHECKED[..], &many].concat(), 0);
    is_clean(&run);
    assert!(run["received_octets"].as_u64() > run["hits"].as_u64().map(|hits| hits * 1024), "{run}");
}

#[test]
fn open_loop_keeps_its_rate_and_counts_what_waits() {
    let server = Server::start();
    let rate = ["--rate", "1000", "--keys", "100", "--fill"];
    let run = load(&[&[server.tcp.as_str()], &rate[..]].concat(), 0);
    // What a machine that is busy did not come to send is told: as many were due in any case.
    let (requests, unsent) = (run["requests"].as_u64().unwrap(), run["unsent"].as_u64().unwrap());
    assert!((990..=1001).contains(&(requests + unsent)) && requests > 300, "{run}");

    // Accepts, and never answers: all that was due counts as waiting.
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = deaf.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = deaf.accept().unwrap();
        let mut room = [0; 4096];
        let first = stream.read(&mut room).unwrap();
        assert!(first > 0);
        stream.write_all(b"END\r\n").unwrap();
        while stream.read(&mut room).is_ok_and(|octets| octets > 0) {}
    });
    let stalled = ["--rate", "1000", "--connections", "1", "--sets", "0", "--timeout-ms", "100"];
    let run = load(&[&[address.as_str()], &stalled[..]].concat(), 0);
    assert_eq!((&run["requests"], &run["lost"]), (&1.into(), &1.into()), "{run}");
    assert!((990..=999).contains(&run["unsent"].as_u64().unwrap()), "{run}");
    // Half of what was due waited for half of the second or longer, if the end came late.
    let half = run["latency_us"]["p50"].as_f64().unwrap();
    assert!((400_000.0..5_000_000.0).contains(&half), "{run}");
}

#[test]
fn memcached_is_a_server_like_any_other() {
    let Some(server) = Server::memcached() else { return };
    is_clean(&load(&[&[server.tcp.as_str(), "--multi-get", "3"], &CHECKED[..]].concat(), 0));
    is_clean(&load(&[&[server.tcp.as_str(), "--meta"], &CHECKED[..]].concat(), 0));
    let udp = ["--udp", "--old-udp-numbering", "--multi-get", "3"];
    let run = load(&[&[server.udp.as_str()], &CHECKED[..], &udp].concat(), 0);
    is_clean(&run);
    let output = ran(&["stats", &server.tcp, "settings", "--json"]);
    let stats: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(stats["maxbytes"], 256 << 20, "{stats}");
}

#[test]
fn a_value_of_somebody_else_is_found() {
    let server = Server::start();
    let mut stream = TcpStream::connect(&server.tcp).unwrap();
    stream.write_all(b"set k0000000000 0 0 30\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n").unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"STORED\r\n");
    let options = [server.tcp.as_str(), "--verify", "--keys", "1", "--connections", "1", "--sets", "0"];
    let run = load(&options, 3);
    assert_eq!(run["wrong"]["torn"], run["gets"], "{run}");
}

#[test]
fn nobody_and_somebody_else_are_told() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    fails(&["load", &nobody, "--seconds", "1"], 1, "nobody listens there");
    fails(&["stats", &nobody], 1, "nobody listens there");
    fails(&["stats", "unix:/nowhere/at/all"], 1, "nobody listens there");
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    fails(&["load", &nobody, "--udp", "--seconds", "1"], 1, "nobody listens there");
    let deaf = UdpSocket::bind("127.0.0.1:0").unwrap();
    let deaf_address = deaf.local_addr().unwrap().to_string();
    let options = ["load", &deaf_address, "--udp", "--seconds", "1", "--timeout-ms", "50"];
    fails(&options, 1, "no answer within 50 ms");
    fails(&[&options[..], &["--fill"]].concat(), 1, "stored 0 of 100000 keys");
    fails(&["load", "unix:/x", "--udp"], 2, "a unix socket has no UDP");
    fails(&["load", "127.0.0.1:1", "--verify", "--value-octets", "8"], 2, "at least 24 octets");

    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = stranger.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    fails(&["stats", &address], 1, "does not speak memcached's text protocol: it says 'HTTP/1.1 400 Bad Request'");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    fails(&["stats", &silent.local_addr().unwrap().to_string()], 1, "no answer in time");
}

#[test]
fn stats_as_a_table_and_as_json() {
    let server = Server::start();
    let table = String::from_utf8(ran(&["stats", &server.tcp]).stdout).unwrap();
    let line = table.lines().find(|line| line.starts_with("limit_maxbytes")).unwrap_or_else(|| panic!("{table}"));
    assert!(line.contains("268435456") && line.ends_with("268.4 MB"), "{line}");
    let stats: Value = serde_json::from_slice(&ran(&["stats", &server.tcp, "--json"]).stdout).unwrap();
    assert_eq!((&stats["limit_maxbytes"], &stats["version"]), (&(256 << 20).into(), &"1.6.18".into()), "{stats}");
    assert_eq!(stats["pid"].as_u64(), Some(server.child.id().into()));
}

#[test]
fn top_tells_of_each_server_and_round() {
    let server = Server::start();
    let all = ["top", &server.tcp, "127.0.0.1:1", "--json", "--rounds", "2", "--every", "0.1"];
    let output = ran(&all);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((output.status.code(), lines.len()), (Some(0), 4), "{text}");
    assert_eq!((lines[2]["server"].as_str(), lines[2]["now"]["items"].as_u64()), (Some(server.tcp.as_str()), Some(0)));
    assert_eq!(lines[2]["rates"]["gets_per_s"].as_f64(), Some(0.0));
    assert!(lines[3]["trouble"].as_str().is_some_and(|why| why.contains("nobody listens there")), "{text}");
    let table = ran(&["top", &server.tcp, "--every", "0.1"]);
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.status.success() && text.contains("1 server") && text.contains("GETS/S"), "{text}");
    let nobody = ran(&["top", "127.0.0.1:1", "--every", "0.1"]);
    let error = String::from_utf8_lossy(&nobody.stderr);
    assert_eq!((nobody.status.code(), error.contains("nobody listens there")), (Some(1), true), "{error}");
}

#[test]
fn top_looks_at_memcached_too() {
    let Some(server) = Server::memcached() else { return println!("SKIPPED: memcached is not installed") };
    let output = ran(&["top", &server.tcp, "--json", "--every", "0.1"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["now"]["gets_total"].as_u64(), Some(0), "{told}");
    assert!(told["now"]["limit_octets"].as_u64() == Some(256 << 20) && told["now"]["hot_keys"].is_null(), "{told}");
}
