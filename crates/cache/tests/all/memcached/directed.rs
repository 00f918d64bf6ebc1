//! Scripts with a purpose: what chance would not find.

use crate::memcached::compare::Relations;
use crate::memcached::oracle::Oracle;
use crate::memcached::ours::{Ours, unix_us};
use std::time::Duration;
use trunkline_cache::protocol::{Now, udp};
use trunkline_cache::service::Settings;

/// Plays batches to both; false if there is no memcached.
pub fn both(settings: Settings, options: &[&str], batches: &[&[u8]]) -> bool {
    let Some(oracle) = Oracle::start(options) else {
        println!("SKIPPED: memcached 1.6.18 is not installed");
        return false;
    };
    let (mut ours, mut client, mut relations) = (Ours::with(settings), oracle.connect(), Relations::default());
    ours.connect();
    for batch in batches {
        let told = ours.exchange(&relations.for_us(batch), 0);
        let expected = client.exchange(&relations.for_them(batch), told.len(), ours.closed);
        if let Err(difference) = relations.text(&expected, &told) {
            panic!("after {:?}: {difference}", String::from_utf8_lossy(&batch[..batch.len().min(300)]));
        }
        if ours.closed {
            break;
        }
    }
    true
}

#[test]
fn stale_while_revalidate() {
    both(
        Settings::default(),
        &[],
        &[
            b"ms k 3 T100 c\r\nold\r\n",
            b"md k I T30\r\n",
            b"mg k v t c\r\nmg k v\r\nmg k s\r\n",
            b"ms k 3 I C@NUMBER-TOLD-BEFORE@ c\r\nnew\r\n",
            b"mg k v t c\r\nms k 4 C@LAST-NUMBER-TOLD-@@\r\nlast\r\nmg k v t\r\n",
            b"mg n N30 v t c\r\nmg n v\r\nms n 1\r\nx\r\nmg n v t\r\n",
            b"ms r 1 T20\r\nx\r\nmg r R30 v\r\nmg r R30 v\r\nmg r R10 v\r\n",
            b"mg missing N30 Oopaque k q\r\nmg other q k O1\r\nmn\r\n",
        ],
    );
}

/// A key that came as base64 is told so by `mg` and `me`, whoever asks, until its item is written anew without.
#[test]
fn keys_that_came_as_base64() {
    both(
        Settings::default(),
        &[],
        &[
            b"ms Zm9v 2 b k\r\nhi\r\nms bar 2\r\nhi\r\nmg foo k v\r\nmg bar k\r\n",
            b"mg YmFy b k O1\r\nme foo\r\nme Zm9v b\r\n",
            b"touch foo 0\r\ngat 0 foo\r\nmg Zm9v b k t\r\nmg foo k T30 t\r\n",
            b"append foo 0 0 1\r\n1\r\nmg foo k v\r\nms Zm9v 1 b MA k\r\n2\r\nmg foo k v\r\nme foo\r\n",
            b"ms Zm9v 2 b S2\r\n12\r\nmd Zm9v b k I\r\nmg foo k\r\nmg foo k\r\nset foo 0 0 1\r\ny\r\nmg Zm9v b k v\r\n",
            b"ms bnVt 1 b\r\n9\r\nincr num 1\r\nmg num k v\r\nma bnVt b k\r\nma num k\r\nme num\r\n",
            b"ms bnVt 2 b\r\n98\r\nincr num 1\r\nmg num k v\r\nma bnVt b k\r\nme num\r\n",
            b"mg bmV3 N30 b k\r\nmg new k v\r\nmg bm9uZQ== b k O7\r\nmg none k\r\nmd Zm9v b k\r\nmd Zm9v b k\r\n",
        ],
    );
}

#[test]
fn signing_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("accounts");
    std::fs::write(&file, "user:secret\nother:word\n").unwrap();
    let accounts = Some(vec![("user".to_owned(), "secret".to_owned()), ("other".to_owned(), "word".to_owned())]);
    let settings = Settings { accounts, ..Settings::default() };
    both(
        settings,
        &["-Y", file.to_str().unwrap()],
        &[
            b"get a\r\n",
            b"set a 0 0\r\n",
            b"set a 0 0 x\r\n",
            b"set a 0 0 11\r\nuser wrong!\r\n",
            b"set a 0 0 4\r\nuser\r\n",
            b"set a 0 0 11\r\nuser secretxx",
            b"set a 0 0 10\r\nother word\r\n",
            b"set a 0 0 1\r\nx\r\nget a\r\n",
        ],
    );
}

#[test]
fn large_values_and_long_gets() {
    let large = vec![b'v'; 1_000_000];
    let set = [&b"set large 5 0 1000000\r\n"[..], &large, b"\r\n"].concat();
    let keys = "large missing ".repeat(300);
    let get = format!("get {}large\r\n", "k ".repeat(20_000));
    both(Settings::default(), &[], &[&set, format!("get {keys}\r\n").as_bytes(), b"mg large s v\r\n", get.as_bytes()]);
}

#[test]
fn values_that_are_too_large() {
    let value = vec![b'v'; 1 << 20];
    let set = |line: &str| [line.as_bytes(), &value, b"\r\n"].concat();
    both(
        Settings::default(),
        &[],
        &[
            b"set k 0 0 1\r\nx\r\n",
            &set("add k 0 0 1048576\r\n"),
            b"get k\r\n",
            &set("set k 0 0 1048576\r\n"),
            b"get k\r\n",
            &set("set k 0 0 1048576 noreply\r\n"),
            &set("ms k 1048576 q\r\n"),
            b"version\r\n",
        ],
    );
}

/// Up to 64 bits, round to 0, and not below it (protocol.txt, "Increment/Decrement").
#[test]
fn numbers_go_round_at_64_bits() {
    let mut ours = Ours::new();
    let script = b"set n 0 0 20\r\n18446744073709551615\r\nincr n 2\r\ndecr n 5\r\nget n\r\n";
    let blanks = " ".repeat(19);
    let expected = format!("STORED\r\n1\r\n0\r\nVALUE n 0 20\r\n0{blanks}\r\nEND\r\n");
    assert_eq!(String::from_utf8_lossy(&ours.exchange(script, 0)), expected);
}

/// Where memcached forgets the new time to live, because the number has a digit more than before.
#[test]
fn a_number_that_grows_takes_its_new_time_to_live() {
    let mut ours = Ours::new();
    assert_eq!(
        ours.exchange(b"set n 0 0 1\r\n9\r\nma n T100 v\r\nmg n t\r\n", 0),
        b"STORED\r\nVA 2\r\n10\r\nHD t100\r\n"
    );
}

#[test]
fn what_closes_a_connection() {
    for last in [&b"quit\r\n"[..], b"POST / HTTP/1.1\r\n", &[b'x'; 3000]] {
        both(Settings::default(), &[], &[b"version\r\n", last]);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "memcached's clock is the machine's")]
fn an_item_expires() {
    let Some(oracle) = Oracle::start(&[]) else { return };
    let (mut ours, mut client) = (Ours::new(), oracle.connect());
    ours.connect();
    let mut ask = |text: &str, octets: usize| {
        assert_eq!(ours.exchange(text.as_bytes(), 0), client.exchange(text.as_bytes(), octets, false), "{text}");
    };
    let absolute = unix_us() / 1_000_000 + 1000;
    ask(&format!("set a 0 1 1\r\nx\r\nset b 0 {absolute} 1\r\ny\r\nset c 0 -1 1\r\nz\r\nget b c\r\n"), 46);
    std::thread::sleep(Duration::from_millis(2300));
    ask("get a b c\r\n", 21);
}

/// Two pipelined commands and a multi-get are one message.
#[test]
fn a_datagram_is_answered_by_one_message() {
    let mut ours = Ours::new();
    let now = Now::new(unix_us() / 1_000_000 - 100, unix_us());
    let mut ask = |payload: &[u8]| {
        let mut answer = Vec::new();
        let id = ours.service.datagram(&[b"\x12\x34\0\0\0\x01\0\0", payload].concat(), &mut answer, now);
        (id, answer)
    };
    let value = "v".repeat(1000);
    for n in 0..3 {
        ask(format!("set k{n} 0 0 1000 noreply\r\n{value}\r\n").as_bytes());
    }
    let (id, answer) = ask(b"get k0 k1 k2\r\nversion\r\n");
    assert_eq!(id, Some(0x1234));
    let parts: Vec<_> = udp::datagrams(0x1234, &answer).map(|(head, piece)| (head[3], head[5], piece.len())).collect();
    assert_eq!(parts, [(0, 3, 1392), (1, 3, 1392), (2, 3, answer.len() - 2784)]);
    assert!(answer.ends_with(b"END\r\nVERSION 1.6.18\r\n"));
    let (_, refused) = ask(format!("get {}\r\n", "k0 ".repeat(300)).as_bytes());
    assert_eq!(refused, b"SERVER_ERROR answer too large for UDP\r\n");
    assert_eq!(ask(b"set k 0 0 1 noreply\r\nx\r\n"), (None, Vec::new()));
    // What is not whole is told so, and leaves what was there.
    assert_eq!(ask(b"set k 0 0 9\r\nx\r\n").1, b"CLIENT_ERROR bad data chunk\r\n");
    assert_eq!(ask(b"version\r\nms k 3\r\nab").1, b"VERSION 1.6.18\r\nCLIENT_ERROR bad data chunk\r\n");
    assert_eq!(ask(b"set k 0 0 9 noreply\r\nx\r\n"), (None, Vec::new()));
    assert_eq!(ask(b"get k"), (None, Vec::new()));
    assert_eq!(ask(b"get k\r\n").1, b"VALUE k 0 1\r\nx\r\nEND\r\n");
    let cut = ours.service.shared().sums().of(trunkline_cache::service::Count::DatagramsCut);
    assert_eq!(cut, 4);
}

/// A datagram's sender may be anybody's address: it neither empties the cache nor has what is in it sent there, unless
/// networks were named; a connection may, whatever came by datagrams. (CVE-2018-1000115 and the attacks of its time.)
#[test]
fn a_datagram_neither_empties_nor_tells_all() {
    let now = Now::new(unix_us() / 1_000_000 - 100, unix_us());
    let binary = |opcode: u8| [&[0x80, opcode][..], &[0; 22]].concat();
    for trusted in [false, true] {
        let mut ours = Ours::with(Settings { udp_is_trusted: trusted, ..Settings::default() });
        ours.exchange(b"set k 0 0 1\r\nx\r\n", 0);
        let ask = |ours: &mut Ours, payload: &[u8]| {
            let mut answer = Vec::new();
            ours.service.datagram(&[b"\x12\x34\0\0\0\x01\0\0", payload].concat(), &mut answer, now);
            String::from_utf8_lossy(&answer).into_owned()
        };
        let told = [&b"lru_crawler metadump all\r\n"[..], b"stats cachedump 1 0\r\n"];
        let told = told.map(|line| ask(&mut ours, line));
        if trusted {
            assert!(told[0].starts_with("key=k ") && told[1].starts_with("ITEM k "), "{told:?}");
        } else {
            let refused = ["ERROR metadump not allowed\r\n", "CLIENT_ERROR stats cachedump not allowed\r\n"];
            assert_eq!(told, refused);
        }
        // flush_all, flush_all without an answer, and the binary protocol's.
        for (flush, quiet) in
            [(b"flush_all\r\n".to_vec(), false), (b"flush_all noreply\r\n".to_vec(), true), (binary(8), false)]
        {
            ours.exchange(b"set k 0 0 1\r\nx\r\n", 0);
            let answer = ask(&mut ours, &flush);
            assert_eq!(answer.is_empty(), quiet, "{answer:?}");
            let left = ours.exchange(b"get k\r\n", 0);
            assert_eq!(left == b"END\r\n", trusted, "{}", String::from_utf8_lossy(&flush));
        }
        assert!(ours.exchange(b"lru_crawler metadump all\r\n", 0).ends_with(b"END\r\n"));
        assert_eq!(ours.exchange(b"flush_all\r\n", 0), b"OK\r\n");
    }
}

/// What is looked at ahead is answered as if nobody had: whatever it is, and wherever keys lie.
#[test]
fn a_look_ahead_changes_nothing() {
    let now = Now::new(unix_us() / 1_000_000 - 100, unix_us());
    let value = "v".repeat(900);
    let frame = |payload: &str| [b"\0\x01\0\0\0\x01\0\0", payload.as_bytes()].concat();
    let mut datagrams: Vec<Vec<u8>> = (0..12).map(|n| frame(&format!("get k{n}\r\n"))).collect();
    datagrams.extend([frame("get k1 k2\r\n"), frame("set k3 0 0 1\r\nx\r\n"), frame("get k3\r\n"), b"get".to_vec()]);
    datagrams.extend([frame("mg k4 v\r\n"), frame("ms k5 99\r\n"), b"\0\x01\0\0\0\x02\0\0get k1\r\n".to_vec()]);
    let answers = |looks: bool| {
        let mut ours = Ours::new();
        for n in 0..9 {
            ours.exchange(format!("set k{n} 0 0 900\r\n{value}\r\n").as_bytes(), 0);
        }
        if looks {
            let looked = |ours: &mut Ours, from: usize| ours.service.ahead(datagrams[from..].iter().map(Vec::as_slice));
            assert_eq!((looked(&mut ours, 0), looked(&mut ours, 16), looked(&mut ours, 19)), (16, 3, 0));
        }
        let mut answer = Vec::new();
        for datagram in &datagrams {
            ours.service.datagram(datagram, &mut answer, now);
        }
        // Gets and sets in one piece, with a set that is not all there at the end.
        let pieces = b"get k1\r\nset k1 0 0 2\r\nhi\r\nmg k1 v\r\nms new 3\r\nabc\r\nget new\r\nset k2 0 0 9\r\nab";
        answer.extend(ours.exchange(pieces, 0));
        let sums = ours.service.shared().sums();
        (answer, sums.of(trunkline_cache::service::Count::Hit), sums.of(trunkline_cache::service::Count::Miss))
    };
    let looked = answers(true);
    assert_eq!(looked, answers(false));
    assert!(looked.1 > 10 && looked.2 > 2);
}

/// A client that asks for a hundred megabytes gets them by pieces.
#[test]
fn an_answer_stops_when_the_output_is_full() {
    let mut ours = Ours::new();
    let large = vec![b'v'; 1_000_000];
    ours.exchange(&[&b"set large 0 0 1000000\r\n"[..], &large, b"\r\n"].concat(), 0);
    let mut connection = ours.service.accepted(2);
    let request = format!("get{}\r\nversion\r\n", " large".repeat(100)).into_bytes();
    let (mut input, mut told, mut most) = (&request[..], 0, 0);
    loop {
        let (mut out, now) = (Vec::new(), ours.now());
        let taken = ours.service.octets(&mut connection, input, &mut out, now);
        input = &input[taken.octets..];
        (told, most) = (told + out.len(), most.max(out.len()));
        if taken.next == trunkline_cache::service::Next::More {
            assert!(out.ends_with(b"END\r\nVERSION 1.6.18\r\n"));
            break;
        }
    }
    assert_eq!(told, 100 * ("VALUE large 0 1000000\r\n".len() + 1_000_002) + 5 + 16);
    assert!(most <= trunkline_cache::service::OUTPUT_OCTETS_MAX + 64, "{most} octets in one call");
}

#[test]
fn a_watcher_is_told_as_memcached_tells() {
    let mut ours = Ours::new();
    let mut watcher = ours.service.accepted(9);
    let (mut out, now) = (Vec::new(), ours.now());
    ours.service.octets(&mut watcher, b"watch fetchers mutations\r\n", &mut out, now);
    assert_eq!(out, b"OK\r\n");
    ours.exchange(b"get a\r\nset a 0 0 1\r\nx\r\nget a\r\n", 0);
    out.clear();
    let now = ours.now();
    ours.service.resume(&mut watcher, &mut out, now);
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.split_once(" type=").unwrap().1).collect();
    assert_eq!(
        lines,
        [
            "item_get key=a status=not_found clsid=0 cfd=1 size=0",
            "item_store key=a status=stored cmd=set ttl=0 clsid=1 cfd=1 size=1",
            "item_get key=a status=found clsid=1 cfd=1 size=1",
        ]
    );
    ours.service.closed(watcher);
}

#[test]
fn statistics_by_their_names() {
    let mut ours = Ours::new();
    ours.exchange(b"stats reset\r\nset s 0 0 1\r\nx\r\nget s t\r\ngat 0 s\r\ndelete t\r\nincr s 1\r\n", 0);
    let told = String::from_utf8(ours.exchange(b"stats\r\n", 0)).unwrap();
    for row in
        ["cmd_get 2", "get_hits 1", "get_misses 1", "cmd_set 1", "cmd_touch 1", "delete_misses 1", "curr_items 1"]
    {
        assert!(told.contains(&format!("STAT {row}\r\n")), "{row} of {told}");
    }
    let dump = String::from_utf8(ours.exchange(b"lru_crawler metadump all\r\n", 0)).unwrap();
    assert!(dump.starts_with("key=s exp=-1 la=") && dump.ends_with("cls=1 size=61\nEND\r\n"), "{dump}");
    assert_eq!(ours.exchange(b"stats cachedump 1 0\r\n", 0), b"ITEM s [1 b; 0 s]\r\nEND\r\n");
}
