//! The live feed: the same second for all, masked for those who may not see numbers, and the end of it.
//!
//! Test group: waits: for sessions that expire.

use crate::client::Client;
use crate::schema::{compare, document};
use crate::world::{Made, SCRIPT, World};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;
use trunkline_web::auth::Role;

/// What a client of the live feed reads.
pub struct Feed(std::io::Lines<BufReader<TcpStream>>);

impl Feed {
    pub fn open(client: &Client) -> Self {
        let mut stream = TcpStream::connect(client.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (host, cookie) = (client.address, client.cookie_field());
        let more: String = client.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let ask = format!("GET /api/v1/live HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n{more}{cookie}\r\n");
        stream.write_all(ask.as_bytes()).unwrap();
        let mut feed = Feed(BufReader::new(stream).lines());
        let head: Vec<String> = feed.0.by_ref().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        assert!(head[0].contains(" 200 "), "{head:?}");
        assert!(head.iter().any(|line| line == "content-type: text/event-stream"), "{head:?}");
        assert!(!head.iter().any(|line| line.starts_with("content-encoding")), "{head:?}");
        feed
    }

    /// The data of the next event of a name, compared with the document.
    pub fn next(&mut self, name: &str) -> Value {
        let wanted = format!("event: {name}");
        let line = self.0.by_ref().map(Result::unwrap).find(|line| *line == wanted);
        assert!(line.is_some(), "the feed ended before {name}");
        let data = self.0.next().unwrap().unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        let schema = match name {
            "status" => "Status",
            "calls" => "LiveCalls",
            "idle" => "Idle",
            "alerts" => "LiveAlerts",
            _ => return data,
        };
        compare(&document()["components"]["schemas"][schema], &data, name);
        data
    }

    /// Whether it ends without an error.
    pub fn ends(&mut self) -> bool {
        self.0.by_ref().all(|line| line.is_ok())
    }
}

#[test]
fn two_clients_see_the_same_seconds() {
    let world = World::new();
    let (support, viewer) = (world.signed_in(Role::Support), world.signed_in(Role::Viewer));
    let (mut one, mut two, mut masked) = (Feed::open(&support), Feed::open(&support), Feed::open(&viewer));
    one.next("status");
    let (a, calls) = (one.next("status"), one.next("calls"));
    let b = (0..3).map(|_| two.next("status")).find(|b| b["at"] == a["at"]).unwrap();
    assert_eq!(a, b);
    assert!(a["rates"]["packets_per_s"]["rtp"].as_f64().unwrap() > 0.0, "{a}");
    assert!(a["rates"]["threads"][0]["cpu_percent"].as_f64().unwrap() > 0.0);
    let kinds: Vec<&str> = a["attention"].as_array().unwrap().iter().filter_map(|a| a["kind"].as_str()).collect();
    assert!(kinds.contains(&"drops") && kinds.contains(&"retention"), "{kinds:?}");
    assert_eq!((&calls["up"][0]["from"], &calls["up"][0]["to"]), (&"+442071234567".into(), &SCRIPT.into()));
    let named = calls["up"][0]["sip_call_id"].as_str().unwrap();
    assert_eq!(named.chars().count(), trunkline_web::sources::CALL_UP_CHARS_MAX + 3, "a stranger wrote it");
    let hidden = masked.next("calls");
    assert!(hidden["up"][0]["from"].as_str().unwrap().contains('*'), "{hidden}");
    masked.next("heartbeat");

    let system = viewer.get("/system").ok(200);
    assert_eq!(system["live"]["source"], "live");
    assert_eq!(system["days"].as_array().unwrap().len(), 2);
    assert!(!system["history"].as_array().unwrap().is_empty());
    let metrics = crate::client::text(&viewer.get("//metrics").body);
    assert!(metrics.contains("trunkline_web_live_clients 3") && metrics.contains("trunkline_capture_packets_total 7"));

    world.live.down.store(true, Ordering::Relaxed);
    assert_eq!(one.next("idle")["why"], "the capture is down");
    let health = viewer.get("//healthz");
    assert_eq!((health.status, crate::client::text(&health.body)), (503, "the capture is down\n".to_owned()));
    assert!(viewer.get("/system").ok(200)["live"].is_null());
    world.handle.stop();
    assert!(one.ends() && two.ends());
}

#[test]
fn without_a_capture_it_says_so() {
    let world = World::made(Made { live: false, packets: false, ..Made::default() });
    let client = world.signed_in(Role::Administrator);
    assert!(Feed::open(&client).next("idle")["why"].as_str().unwrap().contains("No capture"));
    assert_eq!(client.get("//healthz").status, 200);
    for path in ["/packets/segments", "/packets/timeline"] {
        client.get(path).problem(404, "not-found");
    }
}

/// A page that is left open looks on and asks on by itself: its session ends all the same, and the feed with it.
#[test]
fn a_page_that_is_left_alone_is_signed_out() {
    let world = World::new();
    let viewer = world.signed_in(Role::Viewer);
    let idle_s = trunkline_web::auth::AuthOptions::default().session_idle_s as i64;
    let file = rusqlite::Connection::open(world.folder.path().join(trunkline_web::auth::DESK_FILE)).unwrap();
    file.busy_timeout(Duration::from_secs(20)).unwrap();
    let seen = || file.query_row("SELECT seen_ns FROM sessions", [], |row| row.get::<_, i64>(0)).unwrap();
    let left_for = |seconds: i64| {
        let at = jiff::Timestamp::now().as_nanosecond() as i64 - seconds * 1_000_000_000;
        file.execute("UPDATE sessions SET seen_ns = ?1", [at]).unwrap();
        at
    };
    let at = left_for(idle_s / 2);
    let background = viewer.with("X-Trunkline-Background", "1");
    background.get("/calls").ok(200);
    background.get("/session").ok(200);
    assert_eq!(seen(), at, "nobody was there");
    viewer.get("/calls").ok(200);
    assert!(seen() > at, "somebody was");

    let at = left_for(idle_s - 5);
    let mut feed = Feed::open(&viewer.with("Accept", "text/event-stream"));
    feed.next("status");
    assert_eq!(seen(), at, "a feed is not somebody");
    assert!(feed.ends(), "it ends with the session");
    assert_eq!(seen(), at);
    background.get("/calls").problem(401, "signed-out");
}

#[test]
fn one_user_leaves_places_for_others() {
    let world = World::new();
    let (support, viewer) = (world.signed_in(Role::Support), world.signed_in(Role::Viewer));
    let feeds: Vec<_> = (0..20).map(|_| Feed::open(&support)).collect();
    support.get("/live").problem(503, "busy");
    Feed::open(&viewer).next("status");
    drop(feeds);
    // What has gone is seen when the next second is written to it.
    crate::eventually::eventually("there are places again", || world.metric("trunkline_web_live_clients") < 2.0);
    Feed::open(&support).next("status");
}

#[test]
fn who_is_removed_sees_no_more() {
    let world = World::new();
    let (boss, viewer) = (world.signed_in(Role::Administrator), world.signed_in(Role::Viewer));
    let mut feed = Feed::open(&viewer);
    feed.next("status");
    boss.delete("/users/viewer").ok(204);
    assert!(feed.ends());
}
