//! What is told of the server itself.

use crate::memcached::oracle::Oracle;
use crate::memcached::ours::{Ours, unix_us};
use std::sync::Arc;
use std::time::Duration;
use trunkline_cache::protocol::Now;
use trunkline_cache::service::{Alone, Client, Count, Service, Settings, Shared, Survey};
use trunkline_cache::store::{Rules, Store};

/// The names that both tell for one of the groups, in their order.
fn names(options: &[&str], settings: &Settings, group: &str) -> Option<(Vec<String>, Vec<String>)> {
    let (mut ours, oracle) = (Ours::with(settings.clone()), Oracle::start_plain(options)?);
    let mut client = oracle.connect();
    let set = b"set s 0 0 1\r\nx\r\n";
    assert_eq!(client.exchange(set, 8, false), ours.exchange(set, 0));
    let ask = format!("stats {group}\r\nmn\r\n");
    let theirs = client.exchange(ask.as_bytes(), 1 << 20, false);
    let told = |text: Vec<u8>| {
        let text = String::from_utf8(text).unwrap();
        text.lines().filter_map(|line| Some(line.strip_prefix("STAT ")?.split_once(' ')?.0.to_owned())).collect()
    };
    Some((told(theirs), told(ours.exchange(ask.as_bytes(), 0))))
}

#[test]
fn all_names_of_memcached_in_its_order() {
    let settings = Settings::default();
    for (group, least) in [("", 90), ("settings", 70), ("items", 25), ("slabs", 17)] {
        let Some((theirs, ours)) = names(&[], &settings, group) else { return };
        assert!(theirs.len() >= least, "{group}: {theirs:?}");
        assert_eq!(theirs, ours, "stats {group}");
    }
}

#[test]
fn names_that_options_bring() {
    let settings = Settings { idle_timeout_s: 10, refuses_connections: false, ..Settings::default() };
    let options = ["-o", "idle_timeout=10,no_maxconns_fast"];
    let Some((theirs, ours)) = names(&options, &settings, "") else { return };
    assert!(theirs.contains(&"idle_kicks".to_owned()) && !theirs.contains(&"rejected_connections".to_owned()));
    assert_eq!(theirs, ours);
}

#[test]
fn items_by_size() {
    let Some(oracle) = Oracle::start_plain(&["-o", "track_sizes"]) else { return };
    let (mut ours, mut client) = (Ours::new(), oracle.connect());
    for octets in [0usize, 1, 20, 30, 31, 32, 33, 100, 1000, 40_000, 300_000] {
        let set = format!("set k{octets} {} 0 {octets}\r\n{}\r\n", octets % 2, "x".repeat(octets));
        assert_eq!(client.exchange(set.as_bytes(), 8, false), ours.exchange(set.as_bytes(), 0));
    }
    let (shared, now) = (Arc::clone(ours.service.shared()), ours.now());
    let mut survey = Survey::default();
    while shared.shape().is_none() {
        survey.step(ours.service.writer(), &shared, now);
    }
    let told = ours.exchange(b"stats sizes\r\nmn\r\n", 0);
    let theirs = client.exchange(b"stats sizes\r\nmn\r\n", told.len(), false);
    assert_eq!(String::from_utf8(theirs), String::from_utf8(told));
}

/// What was asked for too late is counted once, as a miss and by its cause.
#[test]
#[expect(clippy::disallowed_methods, reason = "memcached's clock is the machine's")]
fn what_came_too_late_is_counted() {
    let Some(oracle) = Oracle::start(&[]) else { return };
    let (mut ours, mut client) = (Ours::new(), oracle.connect());
    let mut both = |text: &[u8]| {
        let told = ours.exchange(text, 0);
        let theirs = client.exchange(text, told.len(), false);
        (String::from_utf8(theirs).unwrap(), String::from_utf8(told).unwrap())
    };
    let (theirs, ours) = both(b"stats reset\r\nset a 0 1 1\r\nx\r\nset b 0 1 1\r\nx\r\nset c 0 0 1\r\nx\r\n");
    assert_eq!(theirs, ours);
    std::thread::sleep(Duration::from_millis(2300));
    let (theirs, ours) = both(b"get a\r\nget a\r\ndelete b\r\nflush_all\r\nmg c\r\nmg c\r\nget none\r\nmn\r\n");
    assert_eq!(theirs, ours);
    let (theirs, ours) = both(b"stats\r\nmn\r\n");
    let counts = |text: &str| -> Vec<String> {
        let names = ["get_expired ", "get_flushed ", "get_misses ", "get_hits ", "cmd_get "];
        let rows = text.lines().filter(|line| names.iter().any(|name| line.starts_with(&format!("STAT {name}"))));
        rows.map(str::to_owned).collect()
    };
    assert!(theirs.contains("STAT get_expired 2\r\n") && theirs.contains("STAT get_flushed 1\r\n"), "{theirs}");
    assert_eq!(counts(&theirs), counts(&ours));
}

/// A second earlier than its delay says, as in memcached.
#[test]
fn a_flush_that_is_to_come() {
    let (started, mut service) = (1_000_000, service(64 << 20));
    let mut connection = service.accepted(1);
    let mut ask = |second: u64, text: &[u8]| {
        let (mut out, now) = (Vec::new(), Now::new(started, (started + second) * 1_000_000));
        service.octets(&mut connection, text, &mut out, now);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(ask(10, b"set a 0 0 1\r\nx\r\nflush_all 3\r\nget a\r\n"), "STORED\r\nOK\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
    assert_eq!(ask(11, b"mg a\r\n"), "HD\r\n");
    assert_eq!(ask(12, b"mg a\r\nset a 0 0 1\r\ny\r\nmg a\r\n"), "EN\r\nSTORED\r\nHD\r\n");
    assert_eq!(ask(20, b"flush_all 1\r\nmg a\r\n"), "OK\r\nEN\r\n");
}

fn service(limit_octets: u64) -> Service {
    let store = Store::new(Rules { limit_octets, ..Rules::default() });
    Service::new(&Shared::new(store, Settings::default(), Arc::new(Alone), Now::new(1_000_000, 1_000_000_000_000)))
}

/// The words of a line of `watch`, but for time and number.
fn words(line: &str) -> Vec<&str> {
    line.split(' ').filter_map(|word| word.split_once('=')).map(|(name, _)| name).collect()
}

#[test]
fn evictions_are_told_item_by_item() {
    let mut service = service(4 << 20);
    let (mut watcher, mut connection) = (service.accepted(1), service.accepted(2));
    let now = Now::new(unix_us() / 1_000_000 - 100, unix_us());
    let mut out = Vec::new();
    let value = "x".repeat(1000);
    // Nobody watches yet: nothing is noted.
    for n in 0..10_000 {
        service.octets(&mut connection, format!("set key-{n} 0 50 1000\r\n{value}\r\n").as_bytes(), &mut out, now);
        out.clear();
    }
    service.octets(&mut watcher, b"watch evictions\r\n", &mut out, now);
    assert_eq!(out, b"OK\r\n");
    for n in 0..500 {
        service.octets(&mut connection, format!("set new-{n} 0 0 1000\r\n{value}\r\n").as_bytes(), &mut out, now);
    }
    out.clear();
    service.resume(&mut watcher, &mut out, now);
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.len() > 100, "{}", lines.len());
    for line in &lines {
        assert!(
            line.contains(" type=eviction key=key-") && line.contains(" fetch=no ttl=50 la=0 clsid=1 size=1000"),
            "{line}"
        );
    }
    // As memcached's logger has them.
    assert_eq!(words(lines[0]), ["ts", "gid", "type", "key", "fetch", "ttl", "la", "clsid", "size"]);
    service.closed(watcher);
    assert!(!service.writer().has_evicted());
    for n in 0..500 {
        service.octets(
            &mut connection,
            format!("set more-{n} 0 0 1000\r\n{value}\r\n").as_bytes(),
            &mut Vec::new(),
            now,
        );
    }
    assert!(service.writer().take_evicted().0.is_empty());
}

#[test]
fn hot_keys_and_slow_commands_are_told() {
    let mut service = service(64 << 20);
    let mut connection = service.accepted(1);
    let now = |ms: u64| Now { monotonic_us: ms * 1000, ..Now::new(1_000_000, 1_000_010_000_000 + ms * 1000) };
    let mut out = Vec::new();
    for n in 0..2000u64 {
        let text = format!("get often\r\nmg often v\r\nset k{} 0 0 1\r\nx\r\nincr often 1\r\n", n % 50);
        service.octets(&mut connection, text.as_bytes(), &mut out, now(n * 5));
    }
    out.clear();
    let input = b"get slow two\r\n";
    let taken = service.octets(&mut connection, input, &mut out, now(10_100));
    service.took(&mut connection, input, taken, now(10_100), 10_130_000, || "tcp:192.0.2.1:7".to_owned());
    out.clear();
    service.octets(&mut connection, b"stats hotkeys\r\nstats slow\r\n", &mut out, now(10_200));
    let text = String::from_utf8(out).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("STAT hotkey:1 key=often requests_per_s=5") && first.contains(" share=0.7"), "{first}");
    let slow =
        "took_us=30000 served_us=30000 waited=no command=get key=slow keys=2 octets=19 together=1 peer=tcp:192.0.2.1:7";
    assert!(text.contains("STAT slow:1 ts=") && text.contains(slow), "{text}");
}

/// A client that begins values and never ends them has no more than its part; the others are served.
#[test]
fn values_that_never_end_have_a_limit_for_each_address() {
    let store = Store::new(Rules { limit_octets: 64 << 20, ..Rules::default() });
    let settings = Settings { incoming_octets_max: 4 << 20, ..Settings::default() };
    let now = Now::new(1_000_000, 1_000_000_000_000);
    let mut service = Service::new(&Shared::new(Arc::clone(&store), settings, Arc::new(Alone), now));
    let client = Arc::new(Client::default());
    let half = vec![b'x'; 500_000];
    let mut refused = 0;
    let mut hostile: Vec<_> = (0..100).map(|name| service.accepted(name)).collect();
    for connection in &mut hostile {
        connection.belong_to(&client);
        let mut out = Vec::new();
        service.octets(connection, b"set half 0 0 1000000\r\n", &mut out, now);
        service.octets(connection, &half, &mut out, now);
        refused += u32::from(out.starts_with(b"SERVER_ERROR"));
    }
    assert!(client.incoming_octets() <= 4 << 20 && client.incoming_octets() > 3 << 20);
    assert!(store.counts().large_octets < 5 << 20 && refused > 85, "{refused}: {:?}", store.counts());
    assert_eq!(service.shared().sums().of(Count::AddressFull), u64::from(refused));
    // Another one, and a value that comes whole.
    let (mut other, mut out) = (service.accepted(200), Vec::new());
    other.belong_to(&Arc::new(Client::default()));
    service.octets(&mut other, b"set half 0 0 1000000\r\n", &mut out, now);
    service.octets(&mut other, &half, &mut out, now);
    service.octets(&mut other, &[&half[..], b"\r\nget none\r\n"].concat(), &mut out, now);
    assert_eq!(out, b"STORED\r\nEND\r\n");
    hostile.into_iter().for_each(|connection| service.closed(connection));
    assert_eq!(client.incoming_octets(), 0);
}
