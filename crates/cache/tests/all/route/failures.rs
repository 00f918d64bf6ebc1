//! Servers that are gone, that come back, that do not answer, that talk nonsense.

use crate::route::world::{Cache, Client, PATIENCE, Proxy, eventually};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Instant;

const ONE: &str = "[route]\nfailures = 2\nretry = \"50 ms\"\nretry-max = \"100 ms\"\ntimeout = \"200 ms\"\n\
                   [pool.main]\nservers = [\"@0\"]\n";

/// A server that does what it is told to with each connection.
fn server(serve: impl Fn(std::net::TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    address
}

#[test]
fn a_server_that_is_gone_is_told_and_asked_again_when_it_is_back() {
    let cache = Cache::start();
    let address = cache.address;
    let proxy = Proxy::start(ONE, &[address]);
    let mut client = proxy.client();
    assert_eq!(client.ask("set k 0 0 1\n1\nget k"), "STORED\nVALUE k 0 1\n1\nEND");
    drop(cache);
    eventually("a miss", || client.ask("get k") == "END");
    assert_eq!(client.ask("mg k v k O1"), "EN kk O1");
    let told = client.ask("set k 0 0 1\n1");
    assert!(told.starts_with("SERVER_ERROR unavailable "), "{told}");
    eventually("out", || client.ask("delete k") == "SERVER_ERROR unavailable out");
    assert_eq!(client.ask("get a b\nset k 0 0 1 noreply\n1\nms k 1 q\n1"), "END\nSERVER_ERROR unavailable out");
    eventually("told", || client.ask("stats servers").contains("STAT 0:state out"));
    assert!(client.ask("stats servers").contains(&format!("STAT 0:name {address}")));
    let _back = Cache::at(address);
    eventually("back", || client.ask("set k 0 0 1\n2") == "STORED");
    assert_eq!(client.ask("get k"), "VALUE k 0 1\n2\nEND");
    eventually("in", || client.ask("stats servers").contains("STAT 0:state in"));
    let counts = proxy.job.figures().counts;
    assert!(counts.dead_reads > 0 && counts.unavailable > 0, "{counts:?}");
}

#[test]
fn reads_at_a_dead_server_are_errors_where_that_is_wanted() {
    let cache = Cache::start();
    let address = cache.address;
    drop(cache);
    let proxy = Proxy::start(&ONE.replace("[route]", "[route]\ndead-reads = \"error\""), &[address]);
    let mut client = proxy.client();
    for ask in ["get k", "get a b c", "mg k v q", "gats 0 k"] {
        let told = client.ask(ask);
        assert!(told.starts_with("SERVER_ERROR unavailable ") && told.lines().count() == 1, "{told}");
    }
}

#[test]
fn one_dead_server_of_two_leaves_the_keys_of_the_other() {
    let caches = [Cache::start(), Cache::start()];
    let text = ONE.replace("\"@0\"", "\"@0\", \"@1\"");
    let proxy = Proxy::start(&text, &[caches[0].address, caches[1].address]);
    let mut client = proxy.client();
    let keys: Vec<String> = (0..40).map(|n| format!("k{n}")).collect();
    keys.iter().for_each(|key| assert_eq!(client.ask(&format!("set {key} 0 0 1\n1")), "STORED"));
    let [first, second] = caches;
    drop(first);
    let left = second.client().ask(&format!("get {}", keys.join(" ")));
    assert!(left.lines().count() > 10);
    eventually("the rest", || client.ask(&format!("get {}", keys.join(" "))) == left);
}

#[test]
fn who_does_not_answer_in_time_is_given_up() {
    let deaf = server(|mut stream| {
        std::thread::spawn(move || while stream.read(&mut [0; 4096]).is_ok_and(|octets| octets > 0) {});
    });
    let proxy = Proxy::start(ONE, &[deaf]);
    let mut client = proxy.client();
    let before = Instant::now();
    assert_eq!(client.ask("set k 0 0 1\n1"), "SERVER_ERROR unavailable timeout");
    assert!(before.elapsed().as_millis() >= 200 && before.elapsed() < PATIENCE / 4, "{:?}", before.elapsed());
    assert_eq!(client.ask("get k\ndelete k"), "END\nSERVER_ERROR unavailable timeout");
    // From now on nobody waits.
    eventually("out", || client.ask("delete k") == "SERVER_ERROR unavailable out");
    eventually("counted", || proxy.job.figures().servers[0].tally.late >= 2);
}

#[test]
fn who_talks_nonsense_is_given_up() {
    let confused = server(|mut stream| {
        std::thread::spawn(move || {
            while stream.read(&mut [0; 4096]).is_ok_and(|octets| octets > 0) {
                if stream.write_all(b"VALUE other 0 9999999999\r\n").is_err() {
                    return;
                }
            }
        });
    });
    let proxy = Proxy::start(&ONE.replace("[route]", "[route]\ndead-reads = \"error\""), &[confused]);
    assert_eq!(proxy.client().ask("get k"), "SERVER_ERROR unavailable protocol");
    eventually("counted", || proxy.job.figures().servers[0].tally.broken == 1);
}

#[test]
fn a_proxy_that_stops_answers_what_came() {
    let slow = server(|mut stream| {
        std::thread::spawn(move || {
            while stream.read(&mut [0; 4096]).is_ok_and(|octets| octets > 0) {
                std::thread::park_timeout(std::time::Duration::from_millis(150));
                let _ = stream.write_all(b"STORED\r\n");
            }
        });
    });
    let proxy = Proxy::start(ONE, &[slow]);
    let mut client: Client = proxy.client();
    client.say("set k 0 0 1\r\n1\r\n");
    eventually("sent", || proxy.job.figures().net.writes > 0);
    proxy.job.stop().unwrap();
    assert_eq!(client.rest(), b"STORED\r\n");
}
