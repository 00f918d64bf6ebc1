//! The server as scrapers and strangers meet it.

use super::{Bound, CONNECTIONS_MAX, Page, Served, Server, bind};
use crate::run::config::Listen;
use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use trunkline_kit::metrics::{CONTENT_TYPE, Sample};

/// Long enough for any machine; only a server that hangs takes it.
const PATIENCE: Duration = Duration::from_secs(60);

fn page() -> Page {
    let lane = |lane: u32| Sample::counter("trunkline_capture_packets_total", "packets seen", 7).label("lane", lane);
    let fill = Sample::gauge("trunkline_capture_ring_fill_ratio", "share of the ring \"in use\"", 0.25);
    let odd = Sample::gauge("trunkline_capture_link_up_ratio", "link\nis up", 1.0).label("interface", "a\"b\\c\nd");
    Page { samples: vec![lane(0), fill, lane(1), odd], unhealthy: Vec::new() }
}

fn on_loopback() -> Bound {
    bind(&Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap()
}

fn address(listen: &Listen) -> SocketAddr {
    match listen {
        Listen::Tcp(address) => *address,
        Listen::Unix(_) => unreachable!(),
    }
}

fn serving(page: impl Fn() -> Page + Send + Sync + 'static) -> (Server, SocketAddr) {
    let bound = on_loopback();
    let address = address(&bound.address());
    (bound.serve(page).unwrap(), address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn body(answer: &str) -> &str {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    body
}

/// The text format 0.0.4, strictly: every line is one of the grammar, help and type before values, each metric in one
/// piece, no value twice. Gives how many values there are.
fn strictly(text: &str) -> usize {
    let (mut seen, mut values, mut current) = (HashSet::new(), HashSet::new(), String::new());
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(is_name(name) && !help.is_empty() && seen.insert(name.to_owned()), "{line}");
            current = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(name == current && ["counter", "gauge"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        } else {
            let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap();
            assert_eq!(&line[..end], current, "{line}");
            let rest = labels(&line[end..]);
            rest.strip_prefix(' ').unwrap().parse::<f64>().unwrap();
            assert!(values.insert(line[..line.len() - rest.len()].to_owned()), "twice: {line}");
        }
    }
    values.len()
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Reads `{name="value",...}` if it is there; gives what follows.
fn labels(text: &str) -> &str {
    let Some(mut rest) = text.strip_prefix('{') else { return text };
    loop {
        let (name, value) = rest.split_once("=\"").unwrap();
        assert!(is_name(name), "{text}");
        let mut chars = value.char_indices();
        let end = loop {
            match chars.next().unwrap() {
                (_, '\\') => assert!(matches!(chars.next().unwrap().1, '\\' | 'n' | '"'), "{text}"),
                (at, '"') => break at,
                (_, c) => assert_ne!(c, '\n'),
            }
        };
        rest = &value[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return rest.strip_prefix('}').unwrap(),
        }
    }
}

#[test]
fn serves_the_text_format() {
    let (server, address) = serving(page);
    for _ in 0..2 {
        let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains(CONTENT_TYPE), "{answer}");
        assert_eq!(strictly(body(&answer)), page().samples.len() + Served::default().list().len());
        assert!(body(&answer).contains("trunkline_capture_packets_total{lane=\"1\"} 7\n"));
    }
    assert!(ask(address, "GET /healthz HTTP/1.0\r\n\r\n").ends_with("\r\n\r\nok\n"));
    let head = ask(address, "HEAD /metrics?a=b HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n") && !head.contains("Content-Length: 0"));
    for (request, status) in
        [("GET / HTTP/1.1\r\n\r\n", " 404 "), ("PUT /metrics HTTP/1.1\r\n\r\n", " 405 "), ("hello\r\n\r\n", " 400 ")]
    {
        assert!(ask(address, request).starts_with(&format!("HTTP/1.1{status}")), "{request}");
    }
    // An answer is sent before its request is counted, by a thread of its own.
    let begun = Instant::now();
    while server.served().requests < 4 {
        assert!(begun.elapsed() < PATIENCE, "{:?}", server.served());
        std::thread::yield_now();
    }
    assert_eq!((server.served().requests, server.served().crowded), (4, 0));
}

#[test]
fn what_is_unhealthy_is_503() {
    let (_server, address) = serving(|| Page { unhealthy: vec!["the disk is full".to_owned()], ..Page::default() });
    let answer = ask(address, "GET /healthz HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("the disk is full\n"), "{answer}");
}

#[test]
fn a_unix_socket_is_made_replaced_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metrics");
    let listen = Listen::Unix(path.clone());
    // One that nobody listens on any more, as kill -9 leaves it.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let server = bind(&listen).unwrap().serve(page).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    assert!(bind(&listen).is_err(), "somebody listens");
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    strictly(body(&answer));
    drop(server);
    assert!(!path.exists());
    std::fs::write(&path, "a file of somebody").unwrap();
    assert!(bind(&listen).is_err() && path.exists());
}

#[test]
fn who_says_nothing_keeps_nobody_out() {
    let (server, address) = serving(page);
    let mut silent: Vec<TcpStream> = Vec::new();
    for _ in 0..4 * CONNECTIONS_MAX {
        let mut stream = connect(address);
        stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap();
        silent.push(stream);
        assert!(ask(address, "GET /healthz HTTP/1.1\r\n\r\n").ends_with("ok\n"));
    }
    assert!(server.served().crowded > 0);
    // The end does not wait for them either.
    drop(server);
}

#[test]
fn who_is_too_slow_is_told_so() {
    let bound = on_loopback();
    let address = address(&bound.address());
    let _server = bound.serve_within(Duration::from_millis(50), page).unwrap();
    let answer = ask(address, "GET /metrics HTT");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[test]
fn a_request_without_end_is_cut_off() {
    let (_server, address) = serving(page);
    let mut stream = connect(address);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap();
    let mut written = 0usize;
    while written < 64 << 20 && stream.write_all(&[b'x'; 4096]).is_ok() {
        written += 4096;
    }
    assert!(written < 64 << 20, "it took all of it");
    let mut stream = connect(address);
    stream.write_all(format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(10_000)).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

/// Runs a program if the machine has it.
fn tool(program: &str, arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        println!("SKIPPED IN PART: no {program}");
        return None;
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {text}");
    Some(text)
}

#[test]
fn curl_and_promtool_take_it() {
    let (_server, address) = serving(page);
    let url = format!("http://{address}/metrics");
    let answer = ask(address, "GET /metrics HTTP/1.1\r\n\r\n");
    if let Some(text) = tool("curl", &["-sS", "--fail", "--noproxy", "*", &url], "") {
        strictly(&text);
    }
    tool("promtool", &["check", "metrics"], body(&answer));
}
