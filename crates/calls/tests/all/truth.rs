//! A thousand simulated calls, impaired and with faults, against what really happened to them.

use crate::world;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trunkline_calls::job::Summary;
use trunkline_sim::settings::Impairments;
use trunkline_sim::truth::{CallTruth, StreamTruth, Truth, Who};
use trunkline_sim::{Preset, Settings};
use trunkline_store::delay;
use trunkline_store::row::{Call, CallState, Direction, Hangup, Rows, Stream, StreamInterval};
use world::{World, read_rows, world};

/// How far jitter may be from the truth, milliseconds.
const JITTER_MS: f64 = 0.02;
/// How far delay may be from the truth where no clock drifts, milliseconds.
const DELAY_MS: f64 = 0.5;
/// How far times may be from the truth.
const TIME_NS: i64 = 1000;
/// Mistakes that are printed.
const SHOWN: usize = 40;

/// Mistakes, each with what it is about.
#[derive(Default)]
struct Mistakes(Vec<String>);

impl Mistakes {
    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, field: &str, ours: T, truth: T) {
        if ours != truth {
            self.0.push(format!("{what}: {field} is {ours:?}, truly {truth:?}"));
        }
    }

    fn near(&mut self, what: &str, field: &str, ours: f64, truth: f64, within: f64) {
        if (ours - truth).abs() > within || ours.is_nan() {
            self.0.push(format!("{what}: {field} is {ours}, truly {truth}"));
        }
    }

    fn time(&mut self, what: &str, field: &str, ours: Option<i64>, truth: Option<i64>) {
        match (ours, truth) {
            (Some(a), Some(b)) if (a - b).abs() <= TIME_NS => {}
            (None, None) => {}
            _ => self.0.push(format!("{what}: {field} is {ours:?}, truly {truth:?}")),
        }
    }

    fn none(self, of: &str) {
        for mistake in self.0.iter().take(SHOWN) {
            println!("{mistake}");
        }
        assert!(self.0.is_empty(), "{} mistakes in {of}", self.0.len());
    }
}

fn calls_of(world: &World) -> impl Iterator<Item = &CallTruth> {
    world.truth.iter().filter_map(|t| match t {
        Truth::Call(call) => Some(&**call),
        _ => None,
    })
}

fn name_of<T: serde::Serialize>(value: T) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap_or_default().to_owned()
}

pub fn state_name(state: CallState) -> String {
    match state {
        CallState::Attempted => "attempted",
        CallState::Trying => "trying",
        CallState::Ringing => "ringing",
        CallState::AuthChallenged => "auth-challenged",
        CallState::Redirected => "redirected",
        CallState::Rejected => "rejected",
        CallState::Cancelled => "cancelled",
        CallState::Answered => "answered",
        CallState::Completed => "completed",
        CallState::JoinedMidCall => "joined-mid-call",
    }
    .to_owned()
}

fn by_call_id(rows: &Rows) -> HashMap<&str, &Call> {
    rows.calls.iter().map(|c| (c.sip_call_id.as_str(), c)).collect()
}

fn compare_call(m: &mut Mistakes, call: &Call, truth: &CallTruth) {
    let what = &truth.sip_call_id;
    let ns = |t: &Option<trunkline_sim::truth::Moment>| t.as_ref().map(|t| t.ns);
    m.same(what, "state", state_name(call.state), name_of(truth.state));
    m.same(what, "from", call.from.as_str(), truth.from.as_str());
    m.same(what, "to", call.to.as_str(), truth.to.as_str());
    m.same(what, "code", call.code, truth.code);
    m.same(what, "src", call.src.to_string(), truth.src.clone());
    m.same(what, "dst", call.dst.to_string(), truth.dst.clone());
    m.same(what, "messages", call.ladder.messages.len() as u32, truth.messages);
    let hangup = match call.hangup {
        Hangup::None => Who::None,
        Hangup::Caller => Who::Caller,
        Hangup::Callee => Who::Callee,
    };
    m.same(what, "hangup", hangup, truth.hangup);
    m.time(what, "start", Some(call.start_ns), ns(&truth.start));
    m.time(what, "ringing", call.ringing_ns, ns(&truth.ringing));
    m.time(what, "answer", call.answer_ns, ns(&truth.answer));
    m.time(what, "end", call.end_ns, ns(&truth.end));
    let mut ours: BTreeMap<_, &Stream> = BTreeMap::new();
    for s in &call.streams {
        ours.insert((format!("{:#010x}", s.ssrc), s.src.to_string(), s.dst.to_string()), s);
    }
    m.same(what, "streams", ours.len(), truth.streams.len());
    for t in &truth.streams {
        let key = (t.ssrc.to_lowercase(), t.src.clone(), t.dst.clone());
        let what = format!("{what} {} {}>{}", t.ssrc, t.src, t.dst);
        match ours.get(&key) {
            Some(stream) => compare_stream(m, &what, stream, t),
            None => m.0.push(format!("{what}: stream not found")),
        }
    }
}

fn compare_stream(m: &mut Mistakes, what: &str, stream: &Stream, truth: &StreamTruth) {
    m.same(what, "packets", stream.packets, truth.packets);
    m.same(what, "octets", stream.octets, truth.octets);
    m.same(what, "expected", stream.expected, truth.expected);
    m.same(what, "missing", stream.missing, truth.missing);
    m.same(what, "lost", stream.lost, truth.lost);
    m.same(what, "duplicates", stream.duplicates, truth.duplicates);
    m.same(what, "reordered", stream.reordered, truth.reordered);
    m.same(what, "codec", stream.codec.as_str(), truth.codec.as_str());
    m.same(what, "clock_rate", stream.clock_rate, truth.clock_rate);
    m.same(what, "payload_types", &stream.payload_types, &truth.payload_types);
    m.same(what, "dtmf", stream.dtmf.as_str(), truth.dtmf.as_str());
    m.same(what, "comfort_noise", u64::from(stream.comfort_noise), truth.comfort_noise);
    m.near(what, "jitter_mean_ms", stream.jitter_mean_ms, truth.jitter_mean_ms, JITTER_MS);
    m.near(what, "jitter_max_ms", stream.jitter_max_ms, truth.jitter_max_ms, JITTER_MS);
    // A report that came before the stream's first packet is about a stream that nobody knows yet.
    let early = truth.sender_reports.saturating_sub(stream.rtcp.sender_reports);
    m.same(what, "sender_reports", early <= 1 && stream.rtcp.sender_reports <= truth.sender_reports, true);
    m.same(what, "receiver_reports", stream.rtcp.receiver_reports, truth.receiver_reports);
    m.same(what, "reported_lost", stream.rtcp.lost, truth.reported_lost);
    let direction = match truth.direction {
        Who::None => Direction::Unknown,
        Who::Caller => Direction::Caller,
        Who::Callee => Direction::Callee,
    };
    m.same(what, "direction", stream.direction, direction);
    m.time(what, "first", Some(stream.first_ns), truth.first.as_ref().map(|t| t.ns));
    m.time(what, "last", Some(stream.last_ns), truth.last.as_ref().map(|t| t.ns));
}

/// Delay of each ten seconds of each stream. Where the clock of a sender drifts, ours may be wrong by as much.
fn compare_delays(m: &mut Mistakes, world: &World, rows: &Rows) -> usize {
    let mut of_stream: HashMap<_, Vec<StreamInterval>> = HashMap::new();
    rows.intervals.iter().for_each(|i| of_stream.entry(i.stream).or_default().push(*i));
    let ours = by_call_id(rows);
    let mut compared = 0;
    for call in calls_of(world) {
        for truth in &call.streams {
            let same = |s: &&Stream| {
                format!("{:#010x}", s.ssrc) == truth.ssrc.to_lowercase()
                    && (s.src.to_string(), s.dst.to_string()) == (truth.src.clone(), truth.dst.clone())
            };
            let Some(stream) = ours.get(call.sip_call_id.as_str()).and_then(|c| c.streams.iter().find(same)) else {
                continue;
            };
            let what = format!("{} {}", call.sip_call_id, truth.ssrc);
            let intervals = of_stream.get(&stream.id).map_or(&[][..], Vec::as_slice);
            let delays = delay::of_intervals(intervals);
            let seconds = (stream.last_ns - stream.first_ns) as f64 * 1e-9;
            let within = DELAY_MS + truth.impairment.skew_ppm.abs() * seconds * 1e-3;
            for t in &truth.delays {
                let at = intervals.iter().position(|i| i.index == t.index);
                let Some(delay) = at.and_then(|at| delays[at]) else {
                    m.0.push(format!("{what}: no delay in interval {}", t.index));
                    continue;
                };
                m.near(&what, "delay_mean_ms", delay.mean_ms, t.mean_ms, within);
                m.near(&what, "delay_max_ms", delay.max_ms, t.max_ms, within);
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn delays_are_those_of_the_network() {
    let network = Impairments { share: 0.8, jitter_max_ms: 60.0, reorder_max: 0.02, ..Impairments::default() };
    let still = Impairments { skew_max_ppm: 0.0, ..network };
    let drifting = Impairments { skew_max_ppm: 100.0, ..network };
    for impairments in [still, drifting] {
        let world = world(&Settings { calls: 150, seed: 21, impairments, ..Settings::preset(Preset::Demo) });
        let (rows, _) = read_rows(&world.file, 2);
        let mut m = Mistakes::default();
        let compared = compare_delays(&mut m, &world, &rows);
        assert!(compared > 300, "{compared}");
        m.none("delays");
    }
}

fn compare_all(world: &World, rows: &Rows, summary: &Summary) {
    let mut m = Mistakes::default();
    let ours = by_call_id(rows);
    m.same("world", "calls", rows.calls.len(), calls_of(world).count());
    m.same("world", "streams without a call", rows.streams.len(), 0);
    for truth in calls_of(world) {
        match ours.get(truth.sip_call_id.as_str()) {
            Some(call) => compare_call(&mut m, call, truth),
            None => m.0.push(format!("{}: call not found", truth.sip_call_id)),
        }
    }
    for truth in &world.truth {
        if let Truth::World(w) = truth {
            m.same("world", "SIP messages", summary.sip_messages, w.totals.sip_messages);
            m.same("world", "RTP packets", summary.rtp_packets, w.totals.rtp_packets);
            m.same("world", "registrations", summary.registrations, w.totals.registrations);
            // Requests within calls (INFO, NOTIFY) are events of ours, but not of the truth.
        }
    }
    compare_events(&mut m, world, rows, &ours);
    m.none("calls and streams");
}

/// Requests within calls (INFO, NOTIFY) are events of ours, but not of the truth; and a subscription may have several
/// NOTIFY with one record of truth.
fn compare_events(m: &mut Mistakes, world: &World, rows: &Rows, calls: &HashMap<&str, &Call>) {
    let outside = rows.events.iter().filter(|e| !calls.contains_key(e.sip_call_id.as_str()));
    let got: BTreeSet<_> = outside.map(|e| (e.sip_call_id.as_str(), e.method.as_str())).collect();
    let true_ones = world.truth.iter().filter_map(|t| match t {
        Truth::Event(e) => Some((e.sip_call_id.as_str(), e.method.as_str())),
        _ => None,
    });
    m.same("world", "events", got, true_ones.collect());
}

/// The kinds that a call or registration got, against those it deserves; a near miss must not get its kind.
fn compare_verdicts(world: &World, rows: &Rows) {
    let mut m = Mistakes::default();
    let ours = by_call_id(rows);
    // In a world of signalling alone, that is said of each call with audio: it is no fault of the call.
    let heard = calls_of(world).any(|truth| !truth.streams.is_empty());
    for truth in calls_of(world) {
        let Some(call) = ours.get(truth.sip_call_id.as_str()) else { continue };
        let got = call.verdict.as_ref().map(|v| v.kind.clone()).filter(|kind| heard || kind != "media-not-captured");
        let deserved: Vec<String> = truth.expect.iter().map(name_of).collect();
        let right = match &got {
            None => deserved.is_empty(),
            Some(kind) => deserved.contains(kind),
        };
        if !right {
            let text = call.verdict.as_ref().map(|v| v.text.as_str()).unwrap_or_default();
            m.0.push(format!("{}: {got:?}, deserves {deserved:?} ({:?}): {text}", truth.sip_call_id, truth.planted));
        }
    }
    for truth in &world.truth {
        let Truth::Registration(t) = truth else { continue };
        let row = rows.registrations.iter().find(|r| r.sip_call_id == t.sip_call_id);
        let got = row.and_then(|r| r.verdict.as_ref()).map(|v| v.kind.clone());
        let deserved: Vec<String> = t.expect.iter().map(name_of).collect();
        m.same(&t.sip_call_id, "registration verdict", got.into_iter().collect(), deserved);
    }
    m.none("verdicts");
}

#[test]
fn a_thousand_impaired_calls_are_counted_exactly() {
    let settings = Settings { calls: 1000, seed: 7, ..Settings::preset(Preset::Impaired) };
    let world = world(&settings);
    let (rows, summary) = read_rows(&world.file, 1);
    compare_all(&world, &rows, &summary);
    compare_verdicts(&world, &rows);
}

#[test]
fn the_demo_world_gets_the_verdicts_it_deserves() {
    let world = world(&Settings { seed: 3, calls: 400, ..Settings::preset(Preset::Demo) });
    let (rows, summary) = read_rows(&world.file, 2);
    compare_all(&world, &rows, &summary);
    compare_verdicts(&world, &rows);
}

#[test]
fn faults_of_signalling_are_named_and_what_comes_close_is_not() {
    for seed in 41..44 {
        let settings = Settings { faults: 0.5, near_misses: 0.4, background: 0.0, ..Settings::preset(Preset::Demo) };
        let settings = Settings { seed, calls: 500, calls_per_second: 20.0, media: false, rtcp: false, ..settings };
        let world = world(&settings);
        let (rows, summary) = read_rows(&world.file, 1 + seed as usize % 3);
        compare_all(&world, &rows, &summary);
        compare_verdicts(&world, &rows);
        let of = |state| rows.calls.iter().filter(|c| c.state == state).count();
        assert!(of(CallState::JoinedMidCall) > 3 && of(CallState::AuthChallenged) > 3);
    }
}

#[test]
fn a_nonce_that_was_too_old_is_no_wrong_password() {
    let mut told = BTreeMap::new();
    for seed in 1..4 {
        let settings = Settings { faults: 0.6, near_misses: 0.4, background: 1.0, ..Settings::preset(Preset::Demo) };
        let world = world(&Settings { seed, calls: 60, media: false, rtcp: false, ..settings });
        let (rows, _) = read_rows(&world.file, 1);
        compare_verdicts(&world, &rows);
        for truth in &world.truth {
            let Truth::Registration(t) = truth else { continue };
            let row = rows.registrations.iter().find(|r| r.sip_call_id == t.sip_call_id).unwrap();
            let text = row.verdict.as_ref().map_or("", |v| v.text.as_str());
            let (too_old, wrong) = (text.contains("nonce was too old"), text.contains("Wrong password"));
            told.entry(format!("{:?}", t.planted)).or_insert_with(|| (too_old, wrong, text.to_owned()));
        }
    }
    told.iter().for_each(|(planted, (_, _, text))| println!("{planted}: {text}"));
    let kinds: Vec<_> = told.values().map(|(too_old, wrong, _)| (*too_old, *wrong)).collect();
    // Wrong credentials, forbidden, both ways to say that a nonce was too old; two near misses.
    assert_eq!(kinds.iter().filter(|k| **k == (false, true)).count(), 1);
    assert_eq!(kinds.iter().filter(|k| **k == (true, false)).count(), 2);
    assert_eq!(kinds.iter().filter(|k| **k == (false, false)).count(), 3);
}

#[test]
fn a_clean_world_gets_no_verdict() {
    let world = world(&Settings { calls: 200, seed: 11, ..Settings::preset(Preset::Clean) });
    let (rows, summary) = read_rows(&world.file, 1);
    compare_all(&world, &rows, &summary);
    compare_verdicts(&world, &rows);
    let verdicts: Vec<_> = rows.calls.iter().filter_map(|c| c.verdict.as_ref()).map(|v| &v.text).collect();
    assert!(verdicts.is_empty(), "{verdicts:?}");
}

#[test]
fn faults_of_every_kind_are_named_and_near_misses_are_not() {
    for seed in 20..24 {
        let settings = Settings { faults: 0.55, near_misses: 0.4, background: 0.0, ..Settings::preset(Preset::Demo) };
        let world = world(&Settings { seed, calls: 300, ..settings });
        let (rows, _) = read_rows(&world.file, 2);
        compare_verdicts(&world, &rows);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_rows() {
    let world = world(&Settings { calls: 150, seed: 5, ..Settings::preset(Preset::Demo) });
    let (one, _) = read_rows(&world.file, 1);
    for threads in [1, 2, 3, 7] {
        let (other, _) = read_rows(&world.file, threads);
        assert!(one == other, "{threads} threads");
    }
}

#[test]
fn prompts_with_another_base_are_nothing_wrong() {
    for seed in [3, 19] {
        let settings =
            Settings { calls: 400, seed, prompts: 0.6, answer_ratio: 1.0, dtx: 0.0, ..Settings::preset(Preset::Clean) };
        let world = world(&settings);
        let (rows, _) = read_rows(&world.file, 1);
        // Numbers that jump while a call is held look like packets that were lost after it; a machine that is silent at
        // first is late.
        let invites = |c: &Call| c.ladder.messages.iter().filter(|m| m.method == 1 && m.status == 200).count();
        let whole = rows.calls.iter().filter(|c| invites(c) == 1);
        let told: Vec<_> = whole.filter_map(|c| c.verdict.as_ref()).filter(|v| v.kind != "late-audio").collect();
        assert!(told.is_empty(), "{told:?}");
        let jumped = |s: &&Stream| s.timestamp_jumps > 0;
        let streams = || rows.calls.iter().flat_map(|c| &c.streams);
        assert!(streams().filter(jumped).count() > 100 && streams().any(|s| s.sequence_jumps > 0));
        let (three, _) = read_rows(&world.file, 3);
        assert!(rows == three, "three threads read it otherwise");
    }
}
