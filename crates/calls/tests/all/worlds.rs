//! Worlds of large networks: forks, hunts, back-to-back user agents, long ringing, video, hold, transfers, prompts, in
//! random mixtures. Where nothing is wrong there is no verdict; where something is, it is named, and on its call alone.

use crate::live;
use crate::truth::state_name;
use crate::world;
use std::collections::{BTreeMap, HashMap};
use trunkline_sim::tap::Set;
use trunkline_sim::truth::{CallTruth, Moment, State, StreamTruth};
use trunkline_sim::{Preset, Settings, Tap};
use trunkline_store::row::{Call, Message, Rows, Stream};
use trunkline_wire::Endpoint;
use world::{World, read_rows, world};

/// How far times may be from the truth: messages that share a TCP segment are told with its last octet.
const TIME_NS: i64 = 1_000_000;
/// Share of the planted faults of each kind that must be found, per cent.
const RECALL_MIN: usize = 99;

fn mixed(seed: u64, calls: u64) -> Settings {
    Settings { seed, calls, ..Settings::preset(Preset::Mixed) }
}

fn name_of<T: serde::Serialize>(value: T) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap_or_default().to_owned()
}

/// A call with its truth, and the legs behind a back-to-back user agent that are calls of their own with theirs.
type Legs<'a> = Vec<(&'a CallTruth, &'a Call)>;

fn legs<'a>(world: &'a World, rows: &'a Rows) -> Vec<Legs<'a>> {
    let by_id: HashMap<&str, &Call> = rows.calls.iter().map(|c| (c.sip_call_id.as_str(), c)).collect();
    let mut of: BTreeMap<&str, Legs<'a>> = BTreeMap::new();
    for truth in world.calls() {
        let first = truth.leg_of.as_deref().unwrap_or(&truth.sip_call_id);
        let call = by_id.get(truth.sip_call_id.as_str()).unwrap_or_else(|| panic!("{} not found", truth.sip_call_id));
        of.entry(first).or_default().push((truth, *call));
    }
    of.into_values().collect()
}

/// What goes wrong with the clock of the capture while calls are up: an hour forward, an hour back, both.
fn clocks(seed: u64) -> Tap {
    let at_s = 40.0 + (seed % 7) as f64 * 9.0;
    let set = |after_s: f64, by_s: f64| Set { at_s: at_s + after_s, by_s };
    let clock = match seed % 3 {
        0 => vec![set(0.0, 3600.0)],
        1 => vec![set(0.0, -3600.0)],
        _ => vec![set(0.0, 3600.0), set(60.0, -3600.0)],
    };
    Tap { clock, ..Tap::default() }
}

#[test]
fn a_clock_that_is_set_is_no_fault_of_calls() {
    let mut judged = Judged::default();
    for seed in 31..=33 {
        let world = world(&Settings { tap: clocks(seed), ..mixed(seed, 300) });
        let (rows, summary) = read_rows(&world.file, 1);
        assert!(!summary.leaps.is_empty(), "seed {seed}");
        assert_eq!(rows.calls.len(), world.calls().count(), "seed {seed}");
        for call in &rows.calls {
            assert_eq!(call.verdict, None, "seed {seed} {}", call.sip_call_id);
        }
        let faulty = Settings { tap: clocks(seed), faults: 0.6, near_misses: 0.3, ..mixed(seed + 10, 300) };
        let world = crate::world::world(&faulty);
        legs(&world, &read_rows(&world.file, 1).0).iter().for_each(|legs| judged.judge(legs));
    }
    judged.is_right();
}

fn kind_of(call: &Call) -> Option<&str> {
    call.verdict.as_ref().map(|v| v.kind.as_str())
}

/// What of a call is not as it truly was.
fn differences(truth: &CallTruth, call: &Call) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            wrong.push(format!("{}: {what} is {ours}, truly {theirs}", truth.sip_call_id));
        }
    };
    same("state", state_name(call.state), name_of(truth.state));
    same("messages", call.ladder.messages.len().to_string(), truth.messages.to_string());
    // Of a call that the capture joins it need not be known who called.
    if truth.state != State::JoinedMidCall {
        same("code", call.code.to_string(), truth.code.to_string());
        same("src", call.src.to_string(), truth.src.clone());
        same("dst", call.dst.to_string(), truth.dst.clone());
    }
    for (what, ours, theirs) in [
        ("start", Some(call.start_ns), &truth.start),
        ("ringing", call.ringing_ns, &truth.ringing),
        ("answer", call.answer_ns, &truth.answer),
        ("end", call.end_ns, &truth.end),
    ] {
        let theirs = theirs.as_ref().map(|moment: &Moment| moment.ns);
        let near = ours.zip(theirs).is_some_and(|(a, b)| (a - b).abs() <= TIME_NS) || ours == theirs;
        if !near {
            same(what, format!("{ours:?}"), format!("{theirs:?}"));
        }
    }
    wrong
}

fn port(end: &str) -> u16 {
    end.parse::<Endpoint>().unwrap().port
}

/// All that is wrong with what was read of a world in which nothing is wrong.
fn mistakes(world: &World, rows: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    let count = world.calls().count();
    if rows.calls.len() != count || !rows.streams.is_empty() {
        wrong.push(format!("{} calls of {count}, {} streams without a call", rows.calls.len(), rows.streams.len()));
    }
    for legs in legs(world, rows) {
        for (truth, call) in &legs {
            wrong.extend(differences(truth, call));
            wrong.extend(call.verdict.as_ref().map(|v| format!("{}: {}: {}", truth.sip_call_id, v.kind, v.text)));
        }
        let streams = |of: &dyn Fn(&(&CallTruth, &Call)) -> usize| legs.iter().map(of).sum::<usize>();
        let (ours, theirs) = (streams(&|(_, call)| call.streams.len()), streams(&|(truth, _)| truth.streams.len()));
        if ours != theirs {
            wrong.push(format!("{}: {ours} streams, truly {theirs}", legs[0].0.sip_call_id));
        }
        wrong.extend(unreported(&legs));
        let ours = streams(&|(_, call)| call.streams.iter().filter(|s| s.encrypted).count());
        let theirs = streams(&|(truth, _)| truth.streams.iter().filter(|s| s.encrypted).count());
        if ours != theirs {
            wrong.push(format!("{}: {ours} encrypted streams, truly {theirs}", legs[0].0.sip_call_id));
        }
    }
    wrong
}

/// Streams whose RTCP goes where SDP names it, of which as much is reported as truly is.
fn unreported(legs: &Legs<'_>) -> Vec<String> {
    let of = |truth: &StreamTruth| {
        let same = |s: &&Stream| {
            (format!("0x{:08x}", s.ssrc), s.src.to_string(), s.dst.to_string())
                == (truth.ssrc.clone(), truth.src.clone(), truth.dst.clone())
        };
        let ours = legs.iter().flat_map(|(_, call)| &call.streams).find(same);
        ours.map_or(0, |s| s.rtcp.receiver_reports)
    };
    // Where the capture begins in mid-call, nothing names it until the parties change something.
    let whole = legs.iter().filter(|(truth, _)| truth.state != State::JoinedMidCall);
    let all: Vec<&StreamTruth> = whole.flat_map(|(truth, _)| &truth.streams).collect();
    let named = all.iter().filter(|t| t.rtcp_named && !t.encrypted);
    let wrong = named.filter(|truth| of(truth) != truth.receiver_reports);
    wrong.map(|t| format!("{} {} {}: {} reports, truly {}", t.ssrc, t.src, t.dst, of(t), t.receiver_reports)).collect()
}

#[test]
fn nothing_is_wrong_in_mixed_worlds() {
    let (mut calls, mut hops, mut legs, mut joined, mut video, mut long) = (0, 0, 0, 0, 0, 0);
    let (mut in_turn, mut encrypted, mut mapped, mut nat, mut over_tcp) = (0, 0, 0, 0, 0);
    let (mut pracks, mut updates, mut reports_elsewhere) = (0, 0, 0);
    let (mut again, mut twice) = (0, 0);
    for seed in 1..=3 {
        let world = world(&mixed(seed, 600));
        let (rows, _) = read_rows(&world.file, 1);
        let wrong = mistakes(&world, &rows);
        wrong.iter().take(20).for_each(|mistake| println!("{mistake}"));
        assert!(wrong.is_empty(), "{} mistakes, seed {seed}", wrong.len());
        assert!(read_rows(&world.file, 3).0 == rows, "three threads read seed {seed} otherwise");
        calls += rows.calls.len();
        for truth in world.calls() {
            hops += usize::from(truth.hops > 1);
            legs += usize::from(truth.leg_of.is_some());
            joined += usize::from(truth.state == State::JoinedMidCall);
            video += usize::from(truth.streams.iter().any(|s| matches!(&*s.codec, "VP8" | "H264")));
            long += usize::from(truth.setup_ms.is_some_and(|ms| ms > 60_000.0));
            in_turn += usize::from(truth.streams.iter().any(|s| s.in_turn));
            encrypted += usize::from(truth.streams.iter().any(|s| s.encrypted));
            mapped += usize::from(truth.dst.starts_with("10."));
            nat += usize::from(truth.streams.iter().any(|s| !s.in_turn && port(&s.src) >= 49_152));
            over_tcp += usize::from(truth.streams.iter().any(|s| s.over_tcp));
            reports_elsewhere += usize::from(truth.streams.iter().any(|s| s.rtcp_named && s.receiver_reports > 0));
        }
        again += ports_again(&world);
        for call in &rows.calls {
            twice += usize::from(has_two_answers(call));
            pracks += usize::from(describes(call, "PRACK"));
            updates += usize::from(describes(call, "UPDATE"));
        }
    }
    // Of each there is enough that it is tested.
    assert!(calls > 2000 && hops > 300 && legs > 150 && joined > 30 && video > 100 && long > 100);
    assert!(in_turn > 50 && encrypted > 50 && mapped > 10 && nat > 50, "{in_turn} {encrypted} {mapped} {nat}");
    assert!(over_tcp > 10 && pracks > 40 && updates > 60, "{over_tcp} {pracks} {updates}");
    assert!(reports_elsewhere > 50, "{reports_elsewhere}");
    assert!(again > 5 && twice > 10, "{again} {twice}");
}

/// Calls with the callee's ports of an earlier one whose BYE was not captured.
fn ports_again(world: &World) -> usize {
    let of = |truth: &CallTruth| truth.streams.iter().map(|s| s.dst.clone()).collect::<Vec<_>>();
    let open = || world.calls().filter(|truth| truth.state == State::Answered);
    let left: Vec<(&str, Vec<String>)> = open().map(|truth| (truth.sip_call_id.as_str(), of(truth))).collect();
    let has = |truth: &&CallTruth| {
        let own = of(truth);
        left.iter().any(|(id, ends)| *id != truth.sip_call_id && ends.iter().any(|end| own.contains(end)))
    };
    world.calls().filter(has).count()
}

/// Another target accepted it as well: the caller gets two 200 from different dialogs.
fn has_two_answers(call: &Call) -> bool {
    let accepts = |m: &&Message| m.method_name() == "INVITE" && (200..300).contains(&m.status) && m.cseq == 1;
    let hosts: std::collections::BTreeSet<u8> = call.ladder.messages.iter().filter(accepts).map(|m| m.src).collect();
    hosts.len() > 2
}

/// Whether media was described before the answer in requests of this method, or in their responses.
fn describes(call: &Call, method: &str) -> bool {
    let before = |at_ns: i64| call.answer_ns.is_none_or(|answer_ns| at_ns < answer_ns);
    call.ladder.messages.iter().any(|m| m.method_name() == method && m.flags & Message::SDP > 0 && before(m.at_ns))
}

/// What was planted of each kind, and how much of it was found; what was said that is not so.
#[derive(Default)]
struct Judged {
    planted: BTreeMap<String, (usize, usize)>,
    missed: Vec<String>,
    wrong: Vec<String>,
}

impl Judged {
    fn judge(&mut self, legs: &Legs<'_>) {
        let deserved: Vec<String> = legs.iter().flat_map(|(truth, _)| truth.expect.iter().map(name_of)).collect();
        let mut found = false;
        for (truth, call) in legs {
            let Some(kind) = kind_of(call) else { continue };
            if deserved.iter().any(|d| d == kind) {
                found = true;
            } else {
                self.wrong.push(format!("{}: {kind}, deserves {deserved:?}", truth.sip_call_id));
            }
        }
        let planted = legs.iter().find_map(|(truth, _)| truth.planted.filter(|p| !p.near_miss));
        if let Some(planted) = planted.filter(|_| !deserved.is_empty()) {
            let (all, ours) = self.planted.entry(name_of(planted.kind)).or_default();
            (*all, *ours) = (*all + 1, *ours + usize::from(found));
            if !found {
                let calls = legs.iter().map(|(truth, _)| truth.sip_call_id.as_str());
                self.missed.push(format!("{}: nothing, deserves {deserved:?}", calls.collect::<Vec<_>>().join(" ")));
            }
        }
    }

    fn is_right(&self) {
        self.planted.iter().for_each(|(kind, (all, found))| println!("{kind}: {found} of {all}"));
        self.wrong.iter().chain(&self.missed).take(20).for_each(|wrong| println!("{wrong}"));
        assert!(self.wrong.is_empty(), "{} verdicts that nobody deserves", self.wrong.len());
        for (kind, (all, found)) in &self.planted {
            assert!(found * 100 >= all * RECALL_MIN, "{kind}: {found} of {all}");
        }
    }
}

#[test]
fn faults_amid_mixtures_are_named_on_their_calls_alone() {
    let mut judged = Judged::default();
    for seed in 11..=12 {
        let world = world(&Settings { faults: 0.6, near_misses: 0.3, ..mixed(seed, 700) });
        let (rows, _) = read_rows(&world.file, 1);
        legs(&world, &rows).iter().for_each(|legs| judged.judge(legs));
        assert!(read_rows(&world.file, 3).0 == rows, "three threads read seed {seed} otherwise");
    }
    judged.is_right();
    assert!(judged.planted.len() > 20 && judged.planted.values().all(|(all, _)| *all > 10), "{:?}", judged.planted);
}

#[test]
fn mixed_worlds_are_the_same_live() {
    for (seed, faults) in [(21, 0.0), (22, 0.5)] {
        live::compare(&world(&Settings { faults, ..mixed(seed, 200) }).file);
    }
}

/// The seeds of a long run: those that `WORLD_SEEDS` names (`1026`, or `2000..2100`), or the usual ones.
fn seeds(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(named) = std::env::var("WORLD_SEEDS") else { return usual };
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("WORLD_SEEDS is {named:?}"));
    match named.split_once("..") {
        Some((from, until)) => number(from)..number(until),
        None => number(&named)..number(&named) + 1,
    }
}

/// The packets of a world of a long run stay where `WORLD_FOLDER` says.
fn keep(world: &World, seed: u64) {
    if let Some(folder) = std::env::var_os("WORLD_FOLDER") {
        std::fs::copy(&world.file, std::path::Path::new(&folder).join(format!("{seed}.pcap"))).unwrap();
    }
}

/// Each thousand is a world of its own, so that the disk holds a thousand.
#[test]
#[ignore = "100,000 calls take some minutes: run by hand"]
fn a_hundred_thousand_calls_with_nothing_wrong() {
    let (mut calls, mut wrong) = (0, Vec::new());
    for seed in seeds(1000..1100) {
        let world = world(&mixed(seed, 1000));
        keep(&world, seed);
        let (rows, _) = read_rows(&world.file, 2);
        calls += rows.calls.len();
        let found = mistakes(&world, &rows);
        found.iter().for_each(|mistake| println!("seed {seed}: {mistake}"));
        wrong.extend(found);
    }
    println!("{calls} calls, {} mistakes", wrong.len());
    assert!(wrong.is_empty());
}

/// The same with a fault in six of ten.
#[test]
#[ignore = "30,000 calls take some minutes: run by hand"]
fn thirty_thousand_calls_with_faults() {
    let mut judged = Judged::default();
    for seed in seeds(2000..2030) {
        let world = world(&Settings { faults: 0.6, near_misses: 0.3, ..mixed(seed, 1000) });
        keep(&world, seed);
        let (rows, _) = read_rows(&world.file, 2);
        legs(&world, &rows).iter().for_each(|legs| judged.judge(legs));
    }
    judged.is_right();
}
