//! Octets in, octets out, in order and whole, however they come.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use trunkline_net::{Cause, Limits, Listen};

use crate::speaker::{Client, World, eventually, options, pattern, tcp};

#[test]
fn pipelined_requests_are_answered_in_order_and_together() {
    let world = World::tcp(options(2, Limits::default()));
    let mut client = world.client();
    let asked: String = (0..50_000).map(|n| format!("echo {n}\n")).collect();
    let mut writer = client.0.get_ref().try_clone().expect("a clone");
    let text = asked.clone();
    let writes = std::thread::spawn(move || writer.write_all(text.as_bytes()).expect("written"));
    for n in 0..50_000 {
        assert_eq!(client.line(), format!("{n}\n"));
    }
    writes.join().expect("written");
    // The counts of a round are shown when it ends, which may be after its answers were read.
    eventually("octets", || world.server.counts().received_octets == asked.len() as u64);
    let counts = world.server.counts();
    assert!(counts.writes < 5_000, "{} writes for 50,000 answers", counts.writes);
    assert!(counts.reads < 5_000, "{} reads", counts.reads);
}

#[test]
fn octets_may_come_one_by_one() {
    let world = World::tcp(options(1, Limits::default()));
    let mut client = world.client();
    client.0.get_ref().set_nodelay(true).expect("no delay");
    for octet in b"echo one\necho two\ntake 3\nabcecho three\n" {
        client.0.get_mut().write_all(&[*octet]).expect("written");
    }
    let lines: Vec<String> = (0..4).map(|_| client.line()).collect();
    assert_eq!(lines, ["one\n", "two\n", "took 3 294\n", "three\n"]);
}

#[test]
fn a_turn_ends_when_the_service_says_so_and_nothing_is_lost() {
    let world = World::with_lines_max(&[tcp()], options(1, Limits::default()), 7);
    let mut client = world.client();
    let mut other = world.client();
    let asked: String = (0..20_000).map(|n| format!("echo {n}\n")).collect();
    let mut writer = client.0.get_ref().try_clone().expect("a clone");
    let writes = std::thread::spawn(move || writer.write_all(asked.as_bytes()).expect("written"));
    assert_eq!(other.ask("echo between"), "between\n");
    for n in 0..20_000 {
        assert_eq!(client.line(), format!("{n}\n"));
    }
    writes.join().expect("written");
    eventually("yields", || world.server.counts().yields > 2_000);
}

#[test]
fn a_service_that_never_ends_holds_up_nobody() {
    let world = World::tcp(options(1, Limits::default()));
    let mut spinner = world.client();
    spinner.say("spin\n");
    let mut other = world.client();
    for n in 0..100 {
        assert_eq!(other.ask(&format!("echo {n}")), format!("{n}\n"));
    }
    eventually("counted", || world.server.counts().yields > 0);
}

#[test]
fn a_long_answer_to_a_slow_reader_takes_no_memory() {
    const OCTETS: usize = 64 << 20;
    let limits = Limits { output_octets: 128 * 1024, ..Limits::default() };
    let world = World::tcp(options(1, limits));
    let mut client = world.client();
    client.say(&format!("big {OCTETS}\necho after\n"));
    eventually("stuck", || world.server.counts().stuck > 0);
    let (mut at, mut buffer, mut held) = (0, vec![0; 1 << 20], 0.0f64);
    while at < OCTETS {
        let most = buffer.len().min(OCTETS - at);
        let got = client.0.read(&mut buffer[..most]).expect("octets");
        assert!(got > 0 && (0..got).step_by(977).all(|n| buffer[n] == pattern(at + n)), "wrong after {at}");
        at += got;
        held = held.max(world.server.gauges().held_octets);
    }
    assert_eq!(client.line(), "after\n");
    // What is stuck, with some slack of the allocator, and the `echo` behind.
    assert!(held <= 160.0 * 1024.0, "{held} octets");
    // How much of it the kernel leaves here is its matter.
    assert!(held > 0.0);
    eventually("nothing held", || world.server.gauges().held_octets == 0.0);
}

#[test]
fn input_behind_output_that_is_stuck_is_not_read() {
    let world = World::tcp(options(1, Limits::default()));
    let mut client = world.client();
    client.say(&format!("big {}\n", 64 << 20));
    eventually("stuck", || world.server.counts().stuck > 0);
    let before = world.server.counts().received_octets;
    let (mut sent, lines) = (0, "echo 0123456789\n".repeat(1 << 16));
    client.0.get_ref().set_nonblocking(true).expect("set");
    let until = Instant::now() + Duration::from_secs(5);
    let stream = client.0.get_mut();
    while Instant::now() < until {
        match stream.write(&lines.as_bytes()[sent % 16..]) {
            Ok(more) => sent += more,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(world.server.counts().received_octets <= before, "read on");
    client.0.get_ref().set_nonblocking(false).expect("set");
    client.big(64 << 20);
    for _ in 0..sent / 16 {
        assert_eq!(client.line(), "0123456789\n");
    }
}

#[test]
fn a_large_value_is_taken_as_it_comes() {
    const OCTETS: usize = 96 << 20;
    let world = World::tcp(options(1, Limits { carried_octets: 4096, ..Limits::default() }));
    let mut client = world.client();
    client.say(&format!("take {OCTETS}\n"));
    let piece = vec![3; 1 << 20];
    for _ in 0..OCTETS >> 20 {
        client.0.get_mut().write_all(&piece).expect("written");
    }
    assert_eq!(client.line(), format!("took {OCTETS} {}\n", OCTETS * 3));
    assert!(world.seen.longest_input.load(Ordering::Relaxed) <= 128 * 1024);
}

#[test]
fn a_peer_that_ends_its_side_gets_all_answers() {
    let world = World::tcp(options(1, Limits::default()));
    let mut client = world.client();
    client.say("big 5000000\necho last\necho cut");
    client.0.get_ref().shutdown(Shutdown::Write).expect("shut down");
    client.big(5_000_000);
    assert_eq!(client.rest(), b"last\n");
    world.saw(Cause::Peer);
    world.adds_up();
}

#[test]
fn last_words_arrive_though_the_peer_still_talks() {
    let world = World::tcp(options(1, Limits::default()));
    for _ in 0..50 {
        let mut client = world.client();
        client.say(&format!("close\n{}", "echo never\n".repeat(1000)));
        assert_eq!(client.line(), "bye\n");
        assert!(client.rest().is_empty());
    }
    world.saw(Cause::Service);
    eventually("counted", || world.server.counts().closed_service == 50);
}

#[test]
fn ipv6_and_unix_sockets_and_tcp_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listens = [
        tcp(),
        Listen::Tcp { address: "[::1]:0".parse().expect("address"), tls: None },
        Listen::Unix { path: path.clone(), mode: 0o600 },
    ];
    let world = World::start(&listens, options(3, Limits::default()));
    assert_eq!(world.server.addresses()[2], None);
    for address in world.server.addresses().iter().flatten() {
        let mut client = Client::of(std::net::TcpStream::connect(address).expect("connected"));
        assert_eq!(client.ask("echo here"), "here\n");
    }
    let clients: Vec<UnixStream> = (0..30).map(|_| UnixStream::connect(&path).expect("connected")).collect();
    for mut client in &clients {
        client.write_all(b"echo there\n").expect("written");
        let mut answer = [0; 6];
        client.read_exact(&mut answer).expect("read");
        assert_eq!(&answer, b"there\n");
    }
    drop((world, clients));
    assert!(!path.exists());
}

#[test]
fn connections_are_spread_evenly() {
    let world = World::tcp(options(4, Limits::default()));
    let mut clients: Vec<Client> = (0..40).map(|_| world.client()).collect();
    clients.iter_mut().for_each(|c| assert_eq!(c.ask("echo a"), "a\n"));
    let threads = world.seen.threads.lock().expect("lock");
    for thread in 0..4 {
        let count = threads.iter().filter(|t| **t == thread).count();
        assert!((8..=12).contains(&count), "{count} of 40 at one of four threads");
    }
}
