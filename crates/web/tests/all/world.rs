//! A small world: a store with rows of two days, a packet log, a capture and a reader that do what the test says.

use crate::client::Client;
use crate::eventually::eventually;
use crate::gallery::Gallery;
use crate::sentry::Sentry;
use crate::till::Till;
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use trunkline_kit::Id;
use trunkline_store::row::*;
use trunkline_store::time::{DAY_NS, SECOND_NS};
use trunkline_store::{Access, Store};
use trunkline_web::auth::{Desk, HashCost, NewUser, Role};
use trunkline_web::sources::*;
use trunkline_web::{Handle, Mode, Options, Server, Sources};

/// 2026-11-19T00:00:00Z.
pub const DAY: i64 = 1_795_132_800_000_000_000 - DAY_NS;
/// Calls of the store: half on each of two days.
pub const CALLS: i64 = 240;
/// Everybody's password.
pub const PASSWORD: &str = "correct horse battery";
/// Where files of this machine are, which nobody outside is told.
pub const HOME: &str = "/srv/voice/my captures/may";
/// What a stranger puts into a header.
pub const SCRIPT: &str = "<script>alert(1)</script>";
/// What another puts there.
pub const SQL: &str = "x'); DROP TABLE calls; --";

/// A server with its folder.
pub struct World {
    pub handle: Handle,
    pub packets: Arc<Log>,
    pub live: Arc<Capture>,
    pub charging: Arc<Till>,
    pub graphing: Arc<Gallery>,
    pub alerting: Arc<Sentry>,
    pub folder: TempDir,
}

/// How a world is made.
pub struct Made {
    pub options: Box<dyn FnOnce(&mut Options)>,
    pub live: bool,
    pub packets: bool,
    pub charging: bool,
    pub graphing: bool,
    pub alerting: bool,
}

impl Default for Made {
    fn default() -> Self {
        let options = Box::new(|_: &mut Options| {});
        Made { options, live: true, packets: true, charging: true, graphing: true, alerting: true }
    }
}

impl World {
    pub fn new() -> Self {
        World::made(Made::default())
    }

    pub fn made(made: Made) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fill(&folder.path().join("store"));
        let mut options = Options::new(folder.path(), Mode::Run);
        options.listen.set_port(0);
        options.auth.hash_cost = HashCost::Tests;
        options.uploads = true;
        (made.options)(&mut options);
        let charging = Arc::new(Till::default());
        let (graphing, alerting) = (Arc::new(Gallery::default()), Arc::new(Sentry::default()));
        let (packets, live) = (Arc::new(Log::default()), Arc::new(Capture::default()));
        let sources = Sources {
            store_folder: folder.path().join("store"),
            packets: made.packets.then(|| Arc::clone(&packets) as Arc<dyn Packets>),
            live: made.live.then(|| Arc::clone(&live) as Arc<dyn Live>),
            reader: Some(Arc::new(Reading)),
            caches: vec![Arc::new(Pot::default()), Arc::new(Gone)],
            charging: made.charging.then(|| Arc::clone(&charging) as Arc<dyn Charging>),
            graphing: made.graphing.then(|| Arc::clone(&graphing) as Arc<Graphing>),
            alerting: made.alerting.then(|| Arc::clone(&alerting) as Arc<dyn Alerting>),
            ages: None,
        };
        let handle = Server::bind(options).unwrap().serve(sources).unwrap();
        World { handle, packets, live, charging, graphing, alerting, folder }
    }

    /// A client that is not signed in.
    pub fn stranger(&self) -> Client {
        Client::new(self.handle.address())
    }

    /// A client of a user with a role, who is made if need be.
    pub fn signed_in(&self, role: Role) -> Client {
        let mut client = self.stranger();
        let answer = client.post("/session/link", &json!({"token": self.link(role)}));
        assert_eq!(answer.ok(200)["kind"], "signed-in");
        client.cookie = answer.cookie();
        client.csrf = client.get("/session").ok(200)["csrf"].as_str().map(str::to_owned);
        client
    }

    /// The secret of a link that signs in a user with a role, who is made if need be.
    pub fn link(&self, role: Role) -> String {
        let path = self.folder.path().join(trunkline_web::auth::DESK_FILE);
        let options = trunkline_web::auth::AuthOptions { hash_cost: HashCost::Tests, ..Default::default() };
        let desk = Desk::open(&path, &options).unwrap();
        let now_ns = jiff::Timestamp::now().as_nanosecond() as i64;
        let _ = desk.add_user(&NewUser { name: role.name(), display_name: "", role, password: None }, now_ns);
        let link = desk.make_link(&trunkline_web::auth::LinkKind::SignIn(role.name().to_owned()), now_ns).unwrap();
        link.expose().to_owned()
    }

    /// Another server on the same folder, as another process would be.
    pub fn another(&self) -> Handle {
        let mut options = Options::new(self.folder.path(), Mode::Web);
        options.listen.set_port(0);
        options.auth.hash_cost = HashCost::Tests;
        Server::bind(options).unwrap().serve(Sources::of_store(self.folder.path().join("store"))).unwrap()
    }

    /// What it counts under a name, all labels together.
    pub fn metric(&self, name: &str) -> f64 {
        let number = |n: trunkline_kit::metrics::Number| match n {
            trunkline_kit::metrics::Number::Whole(n) => n as f64,
            trunkline_kit::metrics::Number::Real(n) => n,
        };
        self.handle.metrics().into_iter().filter(|s| s.name == name).map(|s| number(s.value)).sum()
    }
}

/// A cache that is asked for more each time that it is looked at.
#[derive(Default)]
pub struct Pot(AtomicU64);

impl Cache for Pot {
    fn name(&self) -> String {
        "this run".to_owned()
    }

    fn look(&self) -> Result<Option<CacheSnapshot>, String> {
        let looks = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let hot = CacheHotKey { key: "profile:+442071000042".to_owned(), requests_per_s: 5.5, share: 0.25 };
        let slow =
            CacheSlowCommand { command: "get".to_owned(), key: "bob@example.com".to_owned(), ..Default::default() };
        Ok(Some(CacheSnapshot {
            at_ns: jiff::Timestamp::now().as_nanosecond() as i64,
            gets_total: Some(looks * 100),
            hits_total: Some(looks * 75),
            memory: vec![CacheMemory { kind: "items".to_owned(), octets: 1 << 20 }],
            hot_keys: Some(vec![hot]),
            slow_commands: Some(vec![slow]),
            ..CacheSnapshot::default()
        }))
    }
}

/// A cache that does not answer.
pub struct Gone;

impl Cache for Gone {
    fn name(&self) -> String {
        format!("unix:{HOME}/cache.sock")
    }

    fn look(&self) -> Result<Option<CacheSnapshot>, String> {
        Err(format!("unix:{HOME}/cache.sock: nobody listens there"))
    }
}

/// A call `n` minutes into the first day, or into the second for the later half.
pub fn call(n: i64) -> Call {
    let start_ns = DAY + n % (CALLS / 2) * 60 * SECOND_NS + n / (CALLS / 2) * DAY_NS + 123_456_789;
    let sip_call_id = format!("{n}@example.com");
    let id = Id::derive(start_ns, sip_call_id.as_bytes());
    let answered = n % 3 != 0;
    let hosts: Vec<_> = ["198.51.100.1:5060", "[2001:db8::1]:5060"].iter().map(|h| h.parse().unwrap()).collect();
    let stream = Stream {
        id: Id::derive(start_ns + 2 * SECOND_NS, sip_call_id.as_bytes()),
        call: Some(id),
        ssrc: n as u32,
        src: "192.0.2.1:4000".parse().unwrap(),
        dst: "192.0.2.2:4002".parse().unwrap(),
        direction: Direction::Caller,
        codec: "PCMA".into(),
        clock_rate: 8000,
        packets: 100,
        expected: 105,
        lost: 5,
        missing: 6,
        jitter_mean_ms: 0.5,
        jitter_max_ms: 7.5,
        first_ns: start_ns + 2 * SECOND_NS,
        last_ns: start_ns + 9 * SECOND_NS,
        mos: Mos { g107: Some(4.2), ..Mos::default() },
        dtmf: "12#".into(),
        ..Stream::default()
    };
    let message = |at: i64, status| Message {
        at_ns: start_ns + at,
        packet: at as u64 + 1,
        status,
        method: 1,
        dst: 1,
        flags: Message::SDP,
        text: (0, 2),
        ..Message::default()
    };
    let from = match n {
        7 => SCRIPT.to_owned(),
        8 => SQL.to_owned(),
        9 => "=HYPERLINK(\"http://evil.example\")".to_owned(),
        _ => format!("+442071{n:06}"),
    };
    Call {
        id,
        state: if answered { CallState::Completed } else { CallState::Rejected },
        from_uri: format!("sip:{from}@example.com"),
        from,
        to: "1001".into(),
        to_uri: "sip:1001@example.com".into(),
        numbers: if n == 3 { vec![asserted()] } else { vec![] },
        start_ns,
        ringing_ns: Some(start_ns + SECOND_NS),
        answer_ns: answered.then_some(start_ns + 2 * SECOND_NS),
        end_ns: Some(start_ns + 9 * SECOND_NS),
        last_ns: start_ns + 10 * SECOND_NS,
        code: if answered { 200 } else { 503 },
        reason: if answered { "OK".into() } else { "Service Unavailable".into() },
        hangup: Hangup::Callee,
        src: hosts[0],
        dst: hosts[1],
        user_agent: "Phone 1.0".into(),
        mos: answered.then_some(4.2 - (n % 7) as f32 / 4.0),
        verdict: (n % 5 == 0).then(|| Verdict {
            kind: "loss".into(),
            text: "6 packets lost.".into(),
            packets: vec![5],
        }),
        ladder: Ladder { hosts, messages: vec![message(0, 0), message(1, 200)], texts: "OK".into(), not_kept: 0 },
        streams: if answered { vec![stream] } else { vec![] },
        files: vec![format!("{HOME}/a.pcap")],
        sip_call_id,
        ..Call::default()
    }
}

/// What the network says of the caller of call 3.
fn asserted() -> OtherNumber {
    let sent = "P-Asserted-Identity: \"Bob 987654321\" <tel:+49-89-987654321;ext=98765>".into();
    OtherNumber { role: NumberRole::Asserted, number: "+4989987654321".into(), sent }
}

fn fill(folder: &Path) {
    let mut rows = Rows { calls: (0..CALLS).map(call).collect(), ..Rows::default() };
    for call in &rows.calls {
        for stream in &call.streams {
            let interval =
                StreamInterval { stream: stream.id, start_ns: stream.first_ns, packets: 50, ..Default::default() };
            rows.intervals.push(interval);
        }
    }
    for n in 0..30i64 {
        let start_ns = DAY + n * SECOND_NS;
        let name = format!("{n}@reg.example.com");
        let (id, src) = (Id::derive(start_ns, name.as_bytes()), "198.51.100.7:5060".parse().unwrap());
        rows.registrations.push(Registration {
            id,
            sip_call_id: name.clone(),
            aor: format!("sip:+442079{n:06}@example.com"),
            user: format!("+442079{n:06}"),
            start_ns,
            end_ns: Some(start_ns + 1_000_000),
            code: [200, 403, 0][n as usize % 3],
            src,
            requests: 2,
            ..Registration::default()
        });
        rows.events.push(SipEvent {
            id,
            method: if n % 2 == 0 { "OPTIONS".into() } else { "MESSAGE".into() },
            sip_call_id: name,
            from: "+442079000001".into(),
            to: "1002".into(),
            start_ns,
            code: 200,
            src,
            ..SipEvent::default()
        });
        rows.streams.push(Stream {
            id: Id::derive(start_ns, &n.to_le_bytes()),
            first_ns: start_ns,
            last_ns: start_ns + SECOND_NS,
            packets: 50,
            expected: 50,
            ..Stream::default()
        });
    }
    rows.losses.push(Loss {
        since_ns: DAY,
        at_ns: DAY + SECOND_NS,
        place: "ring".into(),
        source: "eth0".into(),
        count: 3,
    });
    let mut store = Store::open(folder, Access::Write).unwrap();
    store.write(&rows).unwrap();
    store.commit().unwrap();
}

/// A packet log of a few segments.
#[derive(Default)]
pub struct Log {
    /// While true, an extraction waits until it is cancelled.
    pub hold: AtomicBool,
    pub asked: Mutex<Vec<ExtractAsk>>,
    /// Readings of messages that go on until they are cancelled.
    pub reading: AtomicU64,
    pub cancelled: AtomicU64,
}

/// The octets of every capture.
pub const PCAP: &[u8] = b"\x0a\x0d\x0d\x0apcapng";

impl Packets for Log {
    fn messages(&self, call: &Call, cancel: &Cancel) -> Result<Vec<Option<Vec<u8>>>, SourceError> {
        if call.from == SCRIPT {
            self.reading.fetch_add(1, Ordering::SeqCst);
            eventually("it is cancelled", || cancel.is_cancelled());
            self.reading.fetch_sub(1, Ordering::SeqCst);
            return Err(SourceError::new(Trouble::Cancelled, "gone"));
        }
        if call.from == SQL {
            return Err(SourceError::new(Trouble::NotFound, format!("{} is gone", call.files[0])));
        }
        let invite =
            format!("INVITE sip:1001@example.com SIP/2.0\r\nFrom: <sip:{}@example.com>\r\n\r\n\u{ff}", call.from);
        Ok(vec![Some(invite.into_bytes()), None])
    }

    fn call_pcap(&self, call: &Call, out: &mut dyn io::Write, cancel: &Cancel) -> Result<u64, SourceError> {
        if call.state == CallState::Rejected {
            return Err(SourceError::new(Trouble::NotFound, format!("'{HOME}/a.pcap' is gone.")));
        }
        let failed = |e: io::Error| SourceError::new(Trouble::Failed, e.to_string());
        out.write_all(PCAP).map_err(failed)?;
        if call.from != SCRIPT {
            return Ok(1);
        }
        loop {
            if out.write_all(&[0; 65536]).is_err() || cancel.is_cancelled() {
                self.cancelled.fetch_add(1, Ordering::SeqCst);
                return Err(SourceError::new(Trouble::Cancelled, "gone"));
            }
        }
    }

    fn segments(&self, from_ns: i64, to_ns: i64) -> Result<Vec<SegmentInfo>, SourceError> {
        let segment = |n: i64| SegmentInfo {
            name: format!("{}/2026/11/19/00/{n:02}-0.pcapng", ["sip", "rtp", "other"][n as usize % 3]),
            class: ["sip", "rtp", "other"][n as usize % 3].to_owned(),
            from: Some(DAY + n * 60 * SECOND_NS),
            to: Some(DAY + (n + 1) * 60 * SECOND_NS - 1),
            packets: Some(600),
            octets: 60_000,
            stored_octets: 30_000,
            state: "sealed".to_owned(),
            ..SegmentInfo::default()
        };
        let all = (0..30).map(segment);
        Ok(all.filter(|s| s.to.is_some_and(|at| at >= from_ns) && s.from.is_some_and(|at| at < to_ns)).collect())
    }

    fn retention(&self) -> Result<Vec<RetentionInfo>, SourceError> {
        Ok(vec![RetentionInfo {
            class: "sip".into(),
            rule: "14 days".into(),
            stored_octets: 5,
            limit_s: Some(14 * 86_400),
            days_estimated: Some(3.0),
            ..RetentionInfo::default()
        }])
    }

    fn check_filter(&self, text: &str) -> Result<(), SourceError> {
        if text.contains("hots") {
            Err(SourceError::new(Trouble::Refused, "no 'hots'; did you mean 'host'?"))
        } else {
            Ok(())
        }
    }

    fn extract(
        &self,
        ask: &ExtractAsk,
        out: &mut dyn io::Write,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Extracted, SourceError> {
        self.asked.lock().unwrap().push(ask.clone());
        progress.total_octets.store(100, Ordering::Relaxed);
        progress.read_octets.store(50, Ordering::Relaxed);
        let is_held = || self.hold.load(Ordering::Relaxed);
        eventually("it goes on", || !is_held() || cancel.is_cancelled());
        if is_held() {
            self.cancelled.fetch_add(1, Ordering::SeqCst);
            return Err(SourceError::new(Trouble::Cancelled, "cancelled"));
        }
        let failed = |e: io::Error| SourceError::new(Trouble::Failed, e.to_string());
        if ask.filter == "endless" {
            loop {
                out.write_all(&[0; 65536]).map_err(failed)?;
                std::thread::park_timeout(std::time::Duration::from_millis(1));
            }
        }
        out.write_all(PCAP).map_err(failed)?;
        Ok(Extracted { packets: 7, faults: vec![format!("{HOME}/x.pcapng: at octet 7: cut short")] })
    }
}

/// A capture that moves on with each look.
#[derive(Default)]
pub struct Capture {
    pub down: AtomicBool,
    looks: AtomicU64,
}

impl Live for Capture {
    fn snapshot(&self) -> Option<LiveSnapshot> {
        if self.down.load(Ordering::Relaxed) {
            return None;
        }
        let n = self.looks.fetch_add(1, Ordering::Relaxed);
        let at_ns = jiff::Timestamp::now().as_nanosecond() as i64;
        Some(LiveSnapshot {
            at_ns,
            since_ns: at_ns - SECOND_NS,
            source: "live".into(),
            calls_up: 1,
            packets_total: ByClass { sip: n * 10, rtp: n * 100, other: 0 },
            octets_total: n * 1000,
            lanes: vec![LaneSnapshot { interface: "eth0".into(), up: true, ring_fill: 0.25, ..Default::default() }],
            buffer: Some(BufferSnapshot { used_octets: 1, limit_octets: 4, squeezed: None }),
            volumes: vec![VolumeSnapshot { path: format!("{HOME}/disk1"), writable: true, ..Default::default() }],
            drops_total: BTreeMap::from([("ring".to_owned(), n)]),
            unhealthy: vec![format!("{HOME}/disk1 is slow")],
            threads: vec![ThreadSnapshot { name: "lane-0".into(), cpu_s_total: n as f64 }],
            ..LiveSnapshot::default()
        })
    }

    fn calls_up(&self, limit: usize) -> CallsUp {
        let up = CallUp {
            id: Id::derive(DAY, b"up").to_string(),
            from: "+442071234567".into(),
            to: SCRIPT.into(),
            sip_call_id: "\u{e9}".repeat(60_000),
            state: "ringing".into(),
            ..CallUp::default()
        };
        CallsUp { total: 1, calls: vec![up].into_iter().take(limit).collect() }
    }

    fn metrics(&self) -> String {
        format!("trunkline_capture_packets_total 7\ntrunkline_spool_free_octets{{volume=\"{HOME}\"}} 7\n")
    }

    fn health(&self) -> Vec<String> {
        if self.down.load(Ordering::Relaxed) { vec!["the capture is down".into()] } else { vec![] }
    }
}

/// A reader that takes what begins like pcapng.
pub struct Reading;

impl Reader for Reading {
    fn read(&self, path: &Path, name: &str, progress: &Progress, cancel: &Cancel) -> Result<ReadDone, SourceError> {
        if name == "slow" {
            eventually("it is cancelled", || cancel.is_cancelled());
            return Err(SourceError::new(Trouble::Cancelled, "cancelled"));
        }
        let octets = std::fs::read(path).map_err(|e| SourceError::new(Trouble::Failed, e.to_string()))?;
        progress.read_octets.store(octets.len() as u64, Ordering::Relaxed);
        if !octets.starts_with(&PCAP[..4]) {
            return Err(SourceError::new(Trouble::Refused, format!("{HOME}/{name}: {name} is no capture.")));
        }
        Ok(ReadDone {
            packets: 3,
            calls: 2,
            from_ns: Some(DAY),
            to_ns: None,
            oddities: vec![format!("{HOME}/a.pcap: cut")],
            kept: None,
        })
    }
}
