//! What is answered through the proxy is what a server alone answers.

use crate::memcached::compare::Relations;
use crate::memcached::oracle::Oracle;
use crate::memcached::script::{Kind, Script};
use crate::route::world::{Cache, Proxy};

/// Scripts of each kind.
const SCRIPTS: u64 = 60;
/// Words of commands that are answered by the proxy itself.
const OWN: [&str; 9] =
    ["stats", "verbosity", "cache_memlimit", "lru", "slabs", "extstore", "shutdown", "misbehave", "version"];

fn has(batch: &[u8], word: &str) -> bool {
    batch.windows(word.len()).any(|part| part == word.as_bytes())
}

/// A number that `ma` with N and q makes is told by memcached and not by the proxy, which cannot tell it from one that
/// was there.
fn makes_quietly(batch: &[u8]) -> bool {
    let lines = batch.split(|octet| *octet == b'\n').filter(|line| line.starts_with(b"ma "));
    lines.into_iter().any(|line| has(line, " q") && has(line, " N"))
}

fn play(kind: Kind) {
    let (Some(alone), Some(behind)) = (Oracle::start(&[]), Oracle::start(&[])) else {
        println!("SKIPPED: memcached 1.6.18 is not installed");
        return;
    };
    // It listens by now.
    drop((alone.connect(), behind.connect()));
    let path = behind.path();
    let proxy = Proxy::of(&format!("[route]\nflush = true\n[pool.main]\nservers = [\"unix:{}\"]\n", path.display()));
    let mut relations = Relations::default();
    for number in 0..SCRIPTS {
        let mut script = Script::new(kind, number);
        let (mut direct, mut through) = (alone.connect(), proxy.client());
        while let Some(mut batch) = script.next() {
            if !batch.ends_with(b"mn\r\n") {
                batch.extend_from_slice(b"mn\r\n");
            }
            if OWN.iter().any(|word| has(&batch, word)) || makes_quietly(&batch) {
                continue;
            }
            through.say(relations.for_us(&batch));
            let mut told = through.until_barrier();
            told.extend_from_slice(b"MN\r\n");
            let expected = direct.exchange(&relations.for_them(&batch), told.len(), false);
            if let Err(difference) = relations.compare(kind, &expected, &told) {
                let sent = String::from_utf8_lossy(&batch[..batch.len().min(600)]).into_owned();
                panic!("script {number} of {kind:?}, after {sent:?}: {difference}");
            }
        }
    }
}

#[test]
fn text_scripts_are_answered_as_by_memcached_alone() {
    play(Kind::Text);
}

#[test]
fn meta_scripts_are_answered_as_by_memcached_alone() {
    play(Kind::Meta);
}

const ONE: &str = "[pool.main]\nservers = [\"@0\"]\n";

#[test]
fn many_keys_come_in_the_order_in_which_they_were_asked() {
    let caches: Vec<Cache> = (0..3).map(|_| Cache::start()).collect();
    let addresses: Vec<_> = caches.iter().map(|cache| cache.address).collect();
    let proxy = Proxy::start("[pool.main]\nservers = [\"@0\", \"@1\", \"@2\"]\n", &addresses);
    let mut client = proxy.client();
    let keys: Vec<String> = (0..60).map(|n| format!("key-{n}")).collect();
    for key in &keys {
        assert_eq!(client.ask(&format!("set {key} 5 0 {}\n{key}", key.len())), "STORED");
    }
    for cache in &caches {
        let stats = cache.client().ask("stats");
        let items = stats.lines().find_map(|line| line.strip_prefix("STAT curr_items ")).unwrap();
        assert!((5..50).contains(&items.parse::<u32>().unwrap()), "{items} of 60 items");
    }
    let line = format!("get {} none key-0", keys.join(" "));
    let mut expected: String = keys.iter().map(|key| format!("VALUE {key} 5 {}\n{key}\n", key.len())).collect();
    expected.push_str("VALUE key-0 5 5\nkey-0\nEND");
    assert_eq!(client.ask(&line), expected);
}

#[test]
fn what_is_quiet_stays_so_and_a_barrier_holds() {
    let cache = Cache::start();
    let proxy = Proxy::start(ONE, &[cache.address]);
    let mut client = proxy.client();
    let quiet = "set a 0 0 1 noreply\n1\nms b 1 q\n2\nmg none v q\nmd a q\ndelete none noreply\nincr b 5 noreply";
    assert_eq!(client.ask(quiet), "");
    assert_eq!(client.ask("mg b v k q O7\nmg none q\nget a b"), "VA 1 kb O7\n7\nVALUE b 0 1\n7\nEND");
    assert_eq!(client.ask("mg none v N30 t q"), "VA 0 t30 W");
    assert_eq!(client.ask("mg none v s"), "VA 0 s0 Z");
    assert_eq!(client.ask("add b 0 0 1 noreply\nx\nget b"), "VALUE b 0 1\n7\nEND");
}

#[test]
fn clients_that_do_not_go_on_are_answered_and_closed() {
    let cache = Cache::start();
    let proxy = Proxy::start(ONE, &[cache.address]);
    let mut client = proxy.client();
    client.say("set a 0 0 1\r\n1\r\nget a\r\n");
    client.end();
    assert_eq!(client.rest(), b"STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n");
    let mut client = proxy.client();
    client.say("get a\r\nquit\r\nget a\r\n");
    assert_eq!(client.rest(), b"VALUE a 0 1\r\n1\r\nEND\r\n");
    let mut client = proxy.client();
    client.say([&[0x80, 0x0a][..], &[0; 10], b"opaq", &[0; 8]].concat());
    let told = client.rest();
    assert_eq!((told[0], told[1], &told[6..8], &told[12..16]), (0x81, 0x0a, &[0, 0x81][..], &b"opaq"[..]));
    assert!(told.ends_with(b"not the binary protocol"));
}

#[test]
fn values_up_to_the_limit_go_through_and_larger_ones_do_not() {
    let cache = Cache::start();
    let proxy = Proxy::start(&format!("[route]\nvalue-max = \"500 KiB\"\n{ONE}"), &[cache.address]);
    let mut client = proxy.client();
    let value = "v".repeat(500 << 10);
    assert_eq!(client.ask(&format!("set k 1 0 {}\n{value}", value.len())), "STORED");
    assert_eq!(client.ask("get k k"), format!("VALUE k 1 512000\n{value}\nVALUE k 1 512000\n{value}\nEND"));
    let told = client.ask(&format!("set k 1 0 {}\n{value}x\nget k", value.len() + 1));
    // What was there before is gone, as with memcached.
    assert_eq!(told, "SERVER_ERROR object too large for cache\nEND");
    assert_eq!(client.ask("flush_all"), "CLIENT_ERROR flush_all not allowed");
}

#[test]
fn many_requests_at_once_are_all_answered_in_order() {
    let cache = Cache::start();
    let proxy = Proxy::start(&format!("[route]\nclient-queue = 10\nconnections = 3\n{ONE}"), &[cache.address]);
    let mut client = proxy.client();
    let many: String = (0..5000).map(|n| format!("set k 0 0 4\r\n{n:04}\r\nget k\r\n")).collect();
    let expected: String = (0..5000).map(|n| format!("STORED\r\nVALUE k 0 4\r\n{n:04}\r\nEND\r\n")).collect();
    client.say(many + "mn\r\n");
    assert!(client.until_barrier() == expected.as_bytes());
}
