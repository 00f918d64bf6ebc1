//! `trunkline cache --warm-from`: a cold cache takes what a peer has, and never puts it over what a client did here.
//!
//! Test group: waits: for copies that are made at a given rate.

use crate::caches;
use crate::eventually::eventually;
use crate::memcached;
use caches::{Cache, Client, Ended};
use std::net::TcpListener;
use std::process::Child;
use std::time::{Duration, Instant};

const ITEMS: usize = 2000;

fn value(key: usize, version: usize) -> Vec<u8> {
    format!("<{key}:{version}>").bytes().cycle().take([30, 700, 3000][key % 3]).collect()
}

fn fill(client: &mut Client) {
    for key in 0..ITEMS {
        let seconds = if key % 2 == 0 { 0 } else { 1000 };
        client.set(&format!("k{key}"), key as u32, seconds, &value(key, 1));
    }
}

/// Items of every other kind: a key that no line can have, a large value, a stale one, one that ends.
fn oddities(client: &mut Client) {
    client.say(b"ms a2V5IHdpdGggYmxhbmtz 5 b\r\nhello\r\n");
    assert_eq!(client.line(), "HD");
    client.set("large", 3, 0, &vec![b'x'; 700_000]);
    client.set("empty", 4, 0, b"");
    client.set("stale", 0, 0, b"old");
    assert_eq!(client.ask("md stale I T60"), "HD");
}

/// Started at a peer, and waited for until the warm-up has ended; what was told of it.
fn warmed(peer: &str, options: &[&str]) -> (Cache, String) {
    let mut cache = Cache::start(&[&["-m", "128", "--warm-from", peer], options].concat());
    let line = cache.until_told("warm-up from");
    (cache, line)
}

fn is_as_the_peer(cache: &Cache, line: &str) {
    assert!(line.contains(": done; 2003 items, "), "{line}");
    let mut client = cache.client();
    for key in 0..ITEMS {
        assert_eq!(client.get(&format!("k{key}")), Some((key as u32, value(key, 1))), "k{key}");
    }
    let left = client.ask("mg k1 t").replace("HD t", "").parse::<u32>().unwrap();
    assert!((900..=1000).contains(&left), "{left}");
    assert_eq!((client.ask("mg k2 t"), client.get("large").unwrap().1.len()), ("HD t-1".to_owned(), 700_000));
    assert_eq!((client.get("empty"), client.get("stale")), (Some((4, Vec::new())), None));
    assert_eq!(client.ask("mg a2V5IHdpdGggYmxhbmtz v b"), "VA 5");
    assert_eq!(client.line(), "hello");
    assert_eq!(client.stat("warm_state").as_deref(), Some("done"));
    assert_eq!(client.stat("warm_items").as_deref(), Some("2003"));
}

#[test]
fn a_cold_cache_takes_what_its_own_kind_has() {
    let peer = Cache::start(&["-m", "128"]);
    let mut client = peer.client();
    fill(&mut client);
    oddities(&mut client);
    let (mut cache, line) = warmed(&peer.address(), &[]);
    is_as_the_peer(&cache, &line);
    assert_eq!((cache.end(), client.stat("warm_state")), (Ended::Code(0), None));
}

/// memcached itself; none where it is not installed.
struct Memcached(Child, String);

impl Memcached {
    fn start() -> Option<Self> {
        memcached::start("128", false).map(|(child, address)| Memcached(child, address))
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_cold_cache_takes_what_memcached_has() {
    let Some(peer) = Memcached::start() else { return println!("SKIPPED: no memcached") };
    let mut client = Client::connect(&peer.1);
    fill(&mut client);
    oddities(&mut client);
    let (cache, line) = warmed(&peer.1, &[]);
    is_as_the_peer(&cache, &line);
}

/// Sets and deletes all over while items come from the peer: what was done here last is what is here, or nothing.
fn changes_win(peer: &str) {
    let mut cache = Cache::start(&["-m", "128", "--warm-from", peer, "--warm-rate", "1"]);
    let mut client = cache.client();
    let mut expected = vec![None; ITEMS];
    let mut seed = 7usize;
    let mut during = 0;
    for turn in 0..3 * ITEMS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = (seed >> 33) % ITEMS;
        match turn % 3 {
            0 => client.set(&format!("k{key}"), 1, 0, &value(key, 2)),
            // Both answers are right: that it was not there yet, or that it is gone.
            1 => assert!(["DELETED", "NOT_FOUND"].contains(&client.ask(&format!("delete k{key}")).as_str())),
            _ => {
                client.set(&format!("k{key}"), 1, 0, &value(key, 2));
                client.ask(&format!("delete k{key}"));
            }
        }
        expected[key] = Some(turn % 3 == 0);
        if turn % 500 == 0 {
            during += usize::from(client.stat("warm_state").as_deref() == Some("running"));
        }
    }
    let line = cache.until_told("warm-up from");
    assert!(line.contains(": done;") && during > 0, "{during} {line}");
    let mut warm = 0;
    for (key, expected) in expected.into_iter().enumerate() {
        let found = client.get(&format!("k{key}")).map(|(_, value)| value);
        match expected {
            Some(true) => assert_eq!(found, Some(value(key, 2)), "k{key} was set here"),
            Some(false) => assert_eq!(found, None, "k{key} was deleted here"),
            None => {
                assert!(found.is_none() || found == Some(value(key, 1)));
                warm += usize::from(found.is_some());
            }
        }
    }
    assert!(warm > 20, "of what nobody changed {warm}");
}

#[test]
fn what_clients_do_here_wins() {
    let peer = Cache::start(&["-m", "128"]);
    fill(&mut peer.client());
    changes_win(&peer.address());
}

#[test]
fn what_clients_do_here_wins_over_memcached() {
    let Some(peer) = Memcached::start() else { return println!("SKIPPED: no memcached") };
    fill(&mut Client::connect(&peer.1));
    changes_win(&peer.1);
}

#[test]
fn the_rate_is_kept() {
    let peer = Cache::start(&["-m", "128"]);
    fill(&mut peer.client());
    let began = Instant::now();
    let (_cache, line) = warmed(&peer.address(), &["--warm-rate", "1"]);
    // 2.4 MiB of values.
    assert!(line.contains(": done;") && began.elapsed() > Duration::from_millis(1800), "{:?}", began.elapsed());
}

#[test]
fn a_flush_ends_it() {
    let peer = Cache::start(&["-m", "128"]);
    fill(&mut peer.client());
    let mut cache = Cache::start(&["-m", "128", "--warm-from", &peer.address(), "--warm-rate", "1"]);
    let mut client = cache.client();
    assert_eq!(client.ask("flush_all"), "OK");
    let line = cache.until_told("warm-up from");
    assert!(line.contains("ended early: flushed"), "{line}");
    for key in 0..ITEMS {
        assert_eq!(client.get(&format!("k{key}")), None, "k{key} was flushed");
    }
}

#[test]
fn a_peer_that_is_full_of_more_than_fits() {
    let peer = Cache::start(&["-m", "128"]);
    fill(&mut peer.client());
    let mut cache = Cache::start(&["-m", "1", "-I", "256k", "--warm-from", &peer.address()]);
    let line = cache.until_told("warm-up from");
    assert!(line.contains("ended early: memory is full"), "{line}");
    assert_eq!(cache.end(), Ended::Code(0));
}

#[test]
fn a_peer_that_does_not_tell_or_is_gone_is_given_up() {
    let peer = Cache::start(&["-m", "64", "-X"]);
    let (_cache, line) = warmed(&peer.address(), &[]);
    assert!(line.contains("refused by the peer: ERROR metadump not allowed"), "{line}");

    let mut peer = Cache::start(&["-m", "128"]);
    fill(&mut peer.client());
    let mut cache = Cache::start(&["-m", "128", "--warm-from", &peer.address(), "--warm-rate", "1"]);
    let mut client = cache.client();
    eventually("some come", || client.stat("warm_items").is_some_and(|items| items != "0"));
    peer.kill();
    client.set("served", 0, 0, b"meanwhile");
    let line = cache.until_told("warm-up from");
    assert!(line.contains("given up: ") && !line.contains(" 0 items"), "{line}");
    assert_eq!(client.stat("warm_state").as_deref(), Some("lost"));
    assert_eq!(cache.end(), Ended::Code(0));
}

#[test]
fn a_peer_that_speaks_something_else_is_given_up_and_the_end_is_not_held_up() {
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = deaf.local_addr().unwrap().to_string();
    let mut cache = Cache::start(&["--warm-from", &address]);
    let began = Instant::now();
    assert_eq!(cache.client().ask("mn"), "MN");
    assert_eq!(cache.end(), Ended::Code(0));
    assert!(began.elapsed() < Duration::from_secs(8), "a deaf peer holds up the end: {:?}", began.elapsed());
    let mut cache = Cache::spawn(&["--warm-from", "a:b:c"]);
    assert_eq!(cache.ended(), Ended::Code(2), "{:?}", cache.told);
}
