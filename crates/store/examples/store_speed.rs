//! Measures the store: `store_speed FOLDER [CALLS] [CALLS PER SECOND] [CALLS PER COMMIT] [STREAMS PER CALL]`.
//!
//! Writes synthetic calls (seven ladder messages each) as a job does, in order of their end, then searches. Prints CPU
//! time (user and system, from /proc/self/stat) and wall time a row, octets a row, and milliseconds a search.

use std::path::Path;
use std::time::Instant;
use trunkline_kit::Id;
use trunkline_store::row::*;
use trunkline_store::{Access, Filter, Query, SqlLimits, Store};

const START_NS: i64 = 1_795_132_800_000_000_000; // 2026-11-20
const BATCH: usize = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder =
        arguments.next().ok_or("usage: store_speed FOLDER [CALLS, 0 to search only] [RATE] [COMMIT] [STREAMS]")?;
    let mut number = |default| arguments.next().map_or(Ok(default), |a| a.parse::<usize>());
    let (calls, rate, commit, streams) = (number(1_000_000)?, number(500)?, number(20_000)?, number(0)?);
    let folder = Path::new(&folder);

    let cpu = cpu_seconds();
    for first in (0..calls).step_by(BATCH) {
        std::hint::black_box(batch(first, rate, streams));
    }
    let making = cpu_seconds() - cpu;

    if calls == 0 {
        return search(folder);
    }
    let mut store = Store::open(folder, Access::Load)?;
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    for first in (0..calls).step_by(BATCH) {
        store.write(&batch(first, rate, streams))?;
        if (first + BATCH) % commit < BATCH {
            store.commit()?;
        }
    }
    store.commit()?;
    drop(store);
    let us = |seconds: f64| seconds * 1e6 / calls as f64;
    let (cpu, wall) = (cpu_seconds() - cpu - making, wall.elapsed().as_secs_f64());
    println!("written: {:.2} us CPU a call, {:.2} us wall ({:.0} calls/s)", us(cpu), us(wall), calls as f64 / wall);
    println!("size: {} octets a call", octets(folder)? / calls as u64);

    search(folder)
}

fn search(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::open(folder, Access::Read)?;
    let page = |filter: &str, limit| -> Result<(), Box<dyn std::error::Error>> {
        let query = Query { filter: Some(Filter::parse(filter)?), limit, ..Query::default() };
        store.calls(&query)?;
        let began = Instant::now();
        let found = store.calls(&query)?.rows.len();
        println!("{filter}: {found} calls in {:.2} ms", began.elapsed().as_secs_f64() * 1e3);
        Ok(())
    };
    page("caller:+44207000042", 50)?;
    page("caller:+44207000042 start>=2026-11-20T00:10 start<2026-11-20T00:20", 50)?;
    page("caller:+4420700004*", 50)?;
    page("number:*0042", 50)?;
    page("callid:77@198.51.100.7", 50)?;
    page("mos<3", 50)?;
    page("ip:203.0.113.9", 50)?;
    page("code:5xx and ua:nothing*", 50)?;
    let began = Instant::now();
    store.call("4242@198.51.100.7")?;
    println!("call by Call-ID: {:.2} ms", began.elapsed().as_secs_f64() * 1e3);
    let began = Instant::now();
    store
        .sql("SELECT state, count(*), avg(duration) FROM calls GROUP BY 1", &SqlLimits::default(), &mut |_, _| true)?;
    println!("sql count by state: {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Calls that ended one after the other: they began up to three minutes before, at any moment.
fn batch(first: usize, rate: usize, streams: usize) -> Rows {
    let calls = (first..first + BATCH).map(|n| call(n, rate, streams)).collect();
    Rows { calls, ..Rows::default() }
}

fn call(n: usize, rate: usize, streams: usize) -> Call {
    let random = scatter(n as u64);
    let duration = (random % 180_000) as i64 * 1_000_000;
    let start_ns =
        START_NS + n as i64 * (1_000_000_000 / rate as i64) - duration + 200_000_000_000 + (random >> 40) as i64;
    let sip_call_id = format!("{n}@198.51.100.7");
    let (caller, callee) =
        (format!("+44207{:06}", random % 1_000_000), format!("+49301{:07}", (random >> 20) % 10_000_000));
    let id = Id::derive(start_ns, sip_call_id.as_bytes());
    let messages = [(0, 1), (100, 1), (180, 1), (200, 1), (0, 2), (0, 3), (200, 3)];
    let mut texts = String::new();
    let messages = messages.iter().enumerate().map(|(i, (status, method))| {
        let text = ["INVITE sdp PCMA 198.51.100.7:4000", "Trying", "Ringing", "OK sdp PCMA", "", "", "OK"][i];
        let from = texts.len() as u32;
        texts.push_str(text);
        Message {
            at_ns: start_ns + i as i64 * 1_234_567_891,
            packet: n as u64 * 7 + i as u64 * 31,
            offset: n as u64 * 4000 + i as u64 * 20_000,
            octets: 500 + i as u32,
            cseq: 1 + u32::from(i > 4),
            status: *status,
            method: *method,
            src: (i % 2) as u8,
            dst: 1 - (i % 2) as u8,
            text: (if text.is_empty() { 0 } else { from }, text.len() as u16),
            ..Message::default()
        }
    });
    let (src, dst) = ("198.51.100.7:5060".parse().unwrap(), "203.0.113.9:5060".parse().unwrap());
    let messages = messages.collect();
    let streams: Vec<Stream> = (0..streams).map(|s| stream(id, start_ns, n as u64 * 2 + s as u64)).collect();
    Call {
        id,
        sip_call_id,
        state: if random.is_multiple_of(5) { CallState::Rejected } else { CallState::Completed },
        from_uri: format!("sip:{caller}@198.51.100.7"),
        to_uri: format!("sip:{callee}@203.0.113.9"),
        from: caller,
        to: callee,
        start_ns,
        ringing_ns: Some(start_ns + 2_000_000_000),
        answer_ns: Some(start_ns + 4_000_000_000),
        end_ns: Some(start_ns + duration),
        last_ns: start_ns + duration + 1_000_000,
        code: if random.is_multiple_of(5) { 486 } else { 200 },
        reason: "OK".into(),
        src,
        dst,
        user_agent: "Asterisk PBX 20.5.0".into(),
        mos: streams.first().and_then(|s| s.mos.g107),
        ladder: Ladder { hosts: vec![src, dst], messages, texts, not_kept: 0 },
        streams,
        files: vec!["/captures/2026-11-20.pcap".into()],
        ..Call::default()
    }
}

fn stream(call: Id, at: i64, n: u64) -> Stream {
    Stream {
        id: Id::derive(at + 4_000_000_000, &n.to_le_bytes()),
        call: Some(call),
        ssrc: scatter(n) as u32,
        src: "198.51.100.7:4000".parse().unwrap(),
        dst: "203.0.113.9:4000".parse().unwrap(),
        direction: Direction::Caller,
        codec: "PCMA, telephone-event".into(),
        clock_rate: 8000,
        payload_types: vec![8, 101],
        packets: 3000,
        expected: 3000,
        jitter_mean_ms: 0.7,
        jitter_max_ms: 3.3,
        first_ns: at + 4_000_000_000,
        last_ns: at + 64_000_000_000,
        mos: Mos { g107: Some(2.9 + (n % 150) as f32 / 100.0), vm_f1: Some(4.5), vm_f2: Some(4.5), ..Mos::default() },
        ..Stream::default()
    }
}

/// SplitMix64: the same calls on every run.
fn scatter(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn octets(folder: &Path) -> std::io::Result<u64> {
    std::fs::read_dir(folder)?.map(|e| e?.metadata().map(|m| m.len())).sum()
}

/// User and system time of this process, seconds (fields 14 and 15 of proc(5) stat, 100 ticks a second).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = behind.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / 100.0
}
