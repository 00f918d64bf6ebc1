//! Measures how fast calls are found: what `cargo xtask bench search` runs.
//!
//! `search_speed make FOLDER CALLS DAYS` writes synthetic calls over some days, as a job does, in order of their end.
//! `search_speed questions` lists what can be asked, a name and a filter a line. `search_speed page FOLDER NAME` and
//! `search_speed summary FOLDER NAME` ask once, in a store that is opened for it, and print one line of JSON.

use std::path::Path;
use std::time::{Duration, Instant};
use trunkline_kit::Id;
use trunkline_store::row::*;
use trunkline_store::{Access, Filter, Query, Stop, Store, SummaryQuery};

type Done = Result<(), Box<dyn std::error::Error>>;

const DAY_NS: i64 = 86_400_000_000_000;
const START_NS: i64 = 1_795_132_800_000_000_000; // 2026-11-20
const BATCH: usize = 1000;
/// Calls between two commits: what a busy capture has in some seconds.
const COMMIT: usize = 5000;
/// How long a question may take.
const TIME_MAX: Duration = Duration::from_secs(1);
const PAGE: usize = 50;
/// So many of the last calls have their intervals; nothing here searches those.
const WITH_INTERVALS: usize = 10_000;

/// What is asked: a name, and a filter; empty for all calls.
const QUESTIONS: [(&str, &str); 31] = [
    ("all calls", ""),
    ("a number", "number:+442070012345"),
    ("a caller", "caller:+442070012345"),
    ("callers of a block", "caller:+442070012*"),
    ("callers of a country", "caller:+44*"),
    ("a number nobody has", "number:+999*"),
    ("a Call-ID", "callid:7654321@192.0.2.10"),
    ("a minute", "start:2026-11-20T15:30"),
    ("an end of numbers", "number:*77777"),
    ("a class of codes", "code:5xx"),
    ("a rare code", "code:606"),
    ("a code that never came", "code:699"),
    ("low scores", "mos<3"),
    ("a score that never was", "mos<0.9"),
    ("any verdict", "verdict:*"),
    ("a verdict", "verdict:one-way-audio"),
    ("a verdict that never was", "verdict:nothing"),
    ("a state", "state:cancelled"),
    ("a host", "ip:10.44.3.7"),
    ("a network", "ip:10.44.0.0/16"),
    ("a host that never was", "ip:192.0.2.99"),
    ("long calls", "duration>25m"),
    ("late ringing", "pdd>9s"),
    ("a User-Agent", "ua:*Phone-17*"),
    ("a codec", "codec:AMR-WB"),
    ("jitter", "jitter>40ms"),
    ("several", "caller:+4420* and mos<3.5 and duration>=60 and ip:10.0.0.0/8"),
    ("several, never", "callee:+49* and code:5xx and mos<3"),
    ("an SSRC that never was", "ssrc:0x1"),
    ("a part of a Call-ID", "callid:*nothing*"),
    ("all but", "not state:completed and not code:4xx"),
];

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["make", folder, calls, days] => make(Path::new(folder), calls.parse()?, days.parse()?),
        ["questions"] => {
            QUESTIONS.iter().for_each(|(name, filter)| println!("{name}\t{filter}"));
            Ok(())
        }
        ["page", folder, name] => page(Path::new(folder), name),
        ["summary", folder, name] => summary(Path::new(folder), name),
        _ => {
            Err("usage: search_speed make FOLDER CALLS DAYS | questions | page FOLDER NAME | summary FOLDER NAME"
                .into())
        }
    }
}

fn filter(name: &str) -> Result<Option<Filter>, Box<dyn std::error::Error>> {
    let (_, filter) = QUESTIONS.iter().find(|(n, _)| *n == name).ok_or("no such question")?;
    Ok(if filter.is_empty() { None } else { Some(Filter::parse(filter)?) })
}

/// The first page and the next one.
fn page(folder: &Path, name: &str) -> Done {
    let filter = filter(name)?;
    let ask = |store: &Store, cursor| {
        let began = Instant::now();
        let stop = Stop::after(TIME_MAX);
        let page = store.calls(&Query { filter: filter.clone(), limit: PAGE, cursor, stop, ..Query::default() });
        page.map(|page| (page, began.elapsed().as_secs_f64() * 1e3))
    };
    let began = Instant::now();
    let store = Store::open(folder, Access::Read)?;
    let (first, _) = ask(&store, None)?;
    let first_ms = began.elapsed().as_secs_f64() * 1e3;
    let next = first.next.map(|cursor| ask(&store, Some(cursor))).transpose()?;
    let next_ms = next.map_or("null".into(), |(_, ms)| format!("{ms:.2}"));
    let (rows, stopped) = (first.rows.len(), first.stopped);
    let cpu_ms = cpu_ms();
    println!(
        "{{\"cpu_ms\":{cpu_ms:.2},\"ms\":{first_ms:.2},\"next_ms\":{next_ms},\"rows\":{rows},\"stopped\":{stopped}}}"
    );
    Ok(())
}

fn summary(folder: &Path, name: &str) -> Done {
    let filter = filter(name)?;
    let began = Instant::now();
    let store = Store::open(folder, Access::Read)?;
    let query = SummaryQuery { filter, stop: Stop::after(TIME_MAX), ..SummaryQuery::default() };
    let summary = store.summary(&query)?;
    let ms = began.elapsed().as_secs_f64() * 1e3;
    let (calls, exact) = (summary.totals.started, summary.exact);
    let cpu_ms = cpu_ms();
    println!("{{\"cpu_ms\":{cpu_ms:.2},\"ms\":{ms:.2},\"calls\":{calls},\"exact\":{exact}}}");
    Ok(())
}

fn make(folder: &Path, calls: usize, days: usize) -> Done {
    let mut store = Store::open(folder, Access::Load)?;
    let began = Instant::now();
    for first in (0..calls).step_by(BATCH) {
        let batch: Vec<Call> = (first..(first + BATCH).min(calls)).map(|n| call(n, calls, days)).collect();
        let last = batch.iter().filter(|_| first + WITH_INTERVALS >= calls);
        let intervals = last.flat_map(|call| &call.streams).flat_map(intervals).collect();
        store.write(&Rows { calls: batch, intervals, ..Rows::default() })?;
        if (first + BATCH) % COMMIT < BATCH {
            store.commit()?;
        }
    }
    store.commit()?;
    drop(store);
    let octets: u64 =
        std::fs::read_dir(folder)?.map(|e| e?.metadata().map(|m| m.len())).sum::<std::io::Result<u64>>()?;
    let seconds = began.elapsed().as_secs_f64();
    println!("{{\"calls\":{calls},\"octets\":{octets},\"seconds\":{seconds:.1}}}");
    Ok(())
}

/// When the call with this number ends: few at night, many in the afternoon.
fn end_ns(n: usize, calls: usize, days: usize) -> i64 {
    let at = n as f64 / calls as f64 * days as f64;
    let (day, part) = (at.floor(), at.fract());
    // The rate of calls over a day is 1 - 0.8 cos; its integral, solved by halving.
    let share = |t: f64| t - 0.8 * (core::f64::consts::TAU * t).sin() / core::f64::consts::TAU;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        *(if share(middle) < part { &mut low } else { &mut high }) = middle;
    }
    START_NS + ((day + low) * DAY_NS as f64) as i64
}

/// A call: three quarters come from phones, one quarter from other networks; two thirds are answered.
fn call(n: usize, calls: usize, days: usize) -> Call {
    let random = scatter(n as u64);
    let pick = |shift: u32, of: u64| (random >> shift) % of;
    let (state, code) = match pick(3, 1000) {
        0..640 => (CallState::Completed, 200),
        640..650 => (CallState::Answered, 200),
        650..800 => (CallState::Cancelled, 487),
        800..880 => (CallState::Rejected, 486),
        880..930 => (CallState::Rejected, 480),
        930..960 => (CallState::Rejected, 404),
        960..972 => (CallState::Rejected, 503),
        972..980 => (CallState::Rejected, 500),
        980..988 => (CallState::Rejected, 603),
        988..990 => (CallState::Rejected, if random % 4000 < 4 { 606 } else { 600 }),
        990..995 => (CallState::Redirected, 302),
        _ => (CallState::AuthChallenged, 407),
    };
    let answered = code == 200;
    let ring_ns = 300_000_000 + (pick(7, 3000) * 1_000_000) as i64 * if pick(11, 100) == 0 { 4 } else { 1 };
    let answer_ns = ring_ns + (pick(13, 20_000) * 1_000_000) as i64;
    // Exponential, two minutes in the mean.
    let talk_ns = (-((pick(17, 1_000_000) + 1) as f64 / 1e6).ln() * 120e9) as i64;
    let length_ns = if answered { answer_ns + talk_ns } else { answer_ns };
    let start_ns = (end_ns(n, calls, days) - length_ns).max(START_NS) + (random >> 50) as i64;
    let sip_call_id = format!("{n}@192.0.2.10");
    let id = Id::derive(start_ns, sip_call_id.as_bytes());
    let caller =
        format!("+{}{:08}", ["4420", "4416", "4930", "331"][pick(23, 4) as usize], 70_000_000 + pick(5, 100_000));
    let callee = format!("+{}{:08}", ["4420", "4917", "1212", "4479"][pick(27, 4) as usize], pick(9, 20_000_000));
    let endpoint = |text: String| text.parse().unwrap();
    let src = match pick(31, 4) {
        0 => endpoint(format!("198.51.100.{}:5060", 1 + pick(33, 20))),
        _ => endpoint(format!("10.{}.{}.{}:5060", 40 + pick(33, 8), pick(37, 32), 1 + pick(41, 250))),
    };
    let dst = endpoint(format!("203.0.113.{}:5060", 1 + pick(45, 12)));
    let media = endpoint(format!("203.0.113.{}:0", 101 + pick(46, 16)));
    let bad = pick(19, 1000) < if answered { 25 } else { 8 };
    let mos = match answered {
        true if bad => Some(1.0 + pick(21, 250) as f32 / 100.0),
        true => Some(4.1 + pick(21, 30) as f32 / 100.0),
        false => None,
    };
    let kinds = ["loss", "one-way-audio", "jitter", "failure-503", "early-hangup"];
    let verdict = bad.then(|| Verdict { kind: kinds[pick(29, 5) as usize].into(), ..Verdict::default() });
    let ringing = answered || state == CallState::Cancelled || code == 486 || code == 480;
    let (messages, texts) = ladder(n, start_ns, answered);
    let streams = match answered && random.is_multiple_of(4) {
        true => (0..2).map(|s| stream(id, start_ns + answer_ns, n as u64 * 2 + s, src, media, mos)).collect(),
        false => vec![],
    };
    Call {
        id,
        sip_call_id,
        state,
        from_uri: format!("sip:{caller}@voice.example.com"),
        to_uri: format!("sip:{callee}@voice.example.com"),
        from: caller,
        to: callee,
        start_ns,
        ringing_ns: ringing.then_some(start_ns + ring_ns),
        answer_ns: answered.then_some(start_ns + answer_ns),
        end_ns: (state != CallState::Answered).then_some(start_ns + length_ns),
        last_ns: start_ns + length_ns,
        code,
        reason: "whatever".into(),
        hangup: if answered { Hangup::Caller } else { Hangup::None },
        src,
        dst,
        user_agent: format!("Example Phone-{} 12.{}", pick(47, 20), pick(51, 3)),
        mos,
        verdict,
        ladder: Ladder { hosts: vec![src, dst], messages, texts, not_kept: 0 },
        streams,
        files: vec![format!("/var/lib/trunkline/packets/sip/{:05}.pcapng", n / 2000)],
        ..Call::default()
    }
}

fn ladder(n: usize, start_ns: i64, answered: bool) -> (Vec<Message>, String) {
    let answered_by = [(0, 1), (100, 1), (180, 1), (200, 1), (0, 2), (0, 3), (200, 3)];
    let refused_by = [(0, 1), (100, 1), (180, 1), (486, 1), (0, 2)];
    let steps: &[(u16, u8)] = if answered { &answered_by } else { &refused_by };
    let texts = String::from("INVITE sdp PCMA 198.51.100.7:4000TryingRinging");
    let message = |(i, (status, method)): (usize, &(u16, u8))| Message {
        at_ns: start_ns + i as i64 * 1_234_567_891,
        packet: n as u64 * 7 + i as u64 * 31,
        offset: n as u64 % 2000 * 4000 + i as u64 * 20_000,
        octets: 500 + i as u32,
        cseq: 1 + u32::from(i > 4),
        status: *status,
        method: *method,
        src: (i % 2) as u8,
        dst: 1 - (i % 2) as u8,
        text: (0, if i == 0 { 33 } else { 0 }),
        ..Message::default()
    };
    (steps.iter().enumerate().map(message).collect(), texts)
}

fn stream(
    call: Id,
    at: i64,
    n: u64,
    src: trunkline_wire::Endpoint,
    dst: trunkline_wire::Endpoint,
    mos: Option<f32>,
) -> Stream {
    let random = scatter(n ^ 0x5555_5555);
    let codecs = ["PCMA, telephone-event", "PCMU, telephone-event", "G729", "AMR-WB"];
    Stream {
        id: Id::derive(at, &n.to_le_bytes()),
        call: Some(call),
        ssrc: random as u32 | 0x10,
        src,
        dst,
        direction: if n.is_multiple_of(2) { Direction::Caller } else { Direction::Callee },
        codec: codecs[(random >> 32) as usize % 4].into(),
        clock_rate: 8000,
        payload_types: vec![8, 101],
        packets: 3000,
        expected: 3000 + random % 7,
        missing: random % 7,
        jitter_mean_ms: (random >> 8) as f64 % 1000.0 / 500.0,
        jitter_max_ms: (random >> 16) as f64 % 6000.0 / 100.0,
        first_ns: at,
        last_ns: at + 60_000_000_000,
        mos: Mos { g107: mos, vm_f1: Some(4.5), vm_f2: Some(4.5), ..Mos::default() },
        ..Stream::default()
    }
}

/// Ten seconds after ten seconds of a stream.
fn intervals(stream: &Stream) -> impl Iterator<Item = StreamInterval> {
    let (id, start_ns, mos) = (stream.id, stream.first_ns, stream.mos.g107);
    (0..6).map(move |index| StreamInterval {
        stream: id,
        index,
        start_ns: start_ns + i64::from(index) * 10_000_000_000,
        packets: 500,
        jitter_mean_ms: 0.7,
        jitter_max_ms: 3.1,
        mos,
        mos_vm: [Some(4.5), Some(4.5), mos],
        ..StreamInterval::default()
    })
}

/// How long this thread was on a processor, milliseconds.
fn cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}

/// SplitMix64: the same calls on every run.
fn scatter(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
