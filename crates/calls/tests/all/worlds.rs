//! Worlds of large networks: forks, hunts, back-to-back user agents, long ringing, video, hold, transfers, prompts, in
//! random mixtures. Where nothing is wrong there is no verdict; where something is, it is named on its call alone.

use crate::truth::state_name;
use crate::world;
use std::collections::{BTreeMap, HashMap};
use trunkline_sim::truth::CallTruth;
use trunkline_sim::{Preset, Settings};
use trunkline_store::row::{Call, Rows};
use world::{World, read_rows, world};

fn mixed(seed: u64, calls: u64) -> Settings {
    Settings { seed, calls, ..Settings::preset(Preset::Mixed) }
}

fn name_of<T: serde::Serialize>(value: T) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap_or_default().to_owned()
}

/// The legs of each call: its own row and truth, and those behind a back-to-back user agent.
fn legs<'a>(world: &'a World, rows: &'a Rows) -> Vec<Vec<(&'a CallTruth, &'a Call)>> {
    let by_id: HashMap<&str, &Call> = rows.calls.iter().map(|c| (c.sip_call_id.as_str(), c)).collect();
    let mut of: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for truth in world.calls() {
        let first = truth.leg_of.as_deref().unwrap_or(&truth.sip_call_id);
        let call = by_id.get(truth.sip_call_id.as_str()).unwrap_or_else(|| panic!("{} not found", truth.sip_call_id));
        of.entry(first).or_default().push((truth, *call));
    }
    of.into_values().collect()
}

fn told(call: &Call) -> Option<&str> {
    call.verdict.as_ref().map(|v| v.kind.as_str())
}

#[test]
fn explore() {
    let share = |name: &str, default: f64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (from, seeds, calls) = (share("FROM", 1.0) as u64, share("SEEDS", 1.0) as u64, share("CALLS", 500.0) as u64);
    let mut kinds: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    let mut total = 0;
    for seed in from..from + seeds {
        let settings = Settings { faults: share("FAULTS", 0.0), near_misses: share("NEAR", 0.0), ..mixed(seed, calls) };
        let world = world(&settings);
        let (rows, _) = read_rows(&world.file, 2);
        let mut say = |what: String, example: String| {
            let entry = kinds.entry(what).or_default();
            entry.0 += 1;
            if entry.1.len() < 3 {
                entry.1.push(format!("seed {seed}: {example}"));
            }
        };
        let count = world.calls().count();
        total += count;
        if rows.calls.len() != count {
            say("count".into(), format!("{} calls, truly {count}", rows.calls.len()));
        }
        if !rows.streams.is_empty() {
            say(
                "streams without a call".into(),
                format!(
                    "{} of {:?}",
                    rows.streams.len(),
                    rows.streams.first().map(|s| (s.ssrc, s.src, s.dst, s.packets))
                ),
            );
        }
        if let Ok(only) = std::env::var("ONLY") {
            for call in rows.calls.iter().filter(|c| c.sip_call_id.contains(&only)) {
                println!(
                    "CALL {} {:?} {} start {} answer {:?} end {:?} {:?}",
                    call.sip_call_id,
                    call.state,
                    call.code,
                    call.start_ns,
                    call.answer_ns,
                    call.end_ns,
                    told(call)
                );
                for m in &call.ladder.messages {
                    println!(
                        "  {:12.6} {} -> {} {} {} cseq {} {}",
                        (m.at_ns - 1_767_225_600_000_000_000) as f64 / 1e9,
                        call.ladder.hosts[usize::from(m.src)],
                        call.ladder.hosts[usize::from(m.dst)],
                        trunkline_store::row::Message::METHODS[usize::from(m.method)],
                        m.status,
                        m.cseq,
                        m.flags
                    );
                }
                for s in &call.streams {
                    println!(
                        "  {:x} {} {} {} {} {:.6} {:.6} {:?}",
                        s.ssrc,
                        s.src,
                        s.dst,
                        s.packets,
                        s.codec,
                        (s.first_ns - 1_767_225_600_000_000_000) as f64 / 1e9,
                        (s.last_ns - 1_767_225_600_000_000_000) as f64 / 1e9,
                        s.direction
                    );
                }
                if let Some(t) = world.calls().find(|t| t.sip_call_id == call.sip_call_id) {
                    println!(
                        "  TRUTH {:?} {} {:?} {:?} {:?}",
                        t.state,
                        t.code,
                        t.ringing.as_ref().map(|m| &m.utc),
                        t.answer.as_ref().map(|m| &m.utc),
                        t.end.as_ref().map(|m| &m.utc)
                    );
                    for s in &t.streams {
                        println!(
                            "  truth {} {} {} {} {} {:?}",
                            s.ssrc,
                            s.src,
                            s.dst,
                            s.packets,
                            s.codec,
                            s.first.as_ref().map(|m| &m.utc)
                        );
                    }
                }
            }
            continue;
        }
        for group in legs(&world, &rows) {
            let deserved: Vec<String> = group.iter().flat_map(|(t, _)| t.expect.iter().map(name_of)).collect();
            let mut found = deserved.is_empty();
            for (truth, call) in &group {
                let ns = |t: &Option<trunkline_sim::truth::Moment>| t.as_ref().map(|t| t.ns);
                let near = |a: Option<i64>, b: Option<i64>| match (a, b) {
                    (Some(a), Some(b)) => (a - b).abs() < 1000,
                    (a, b) => a == b,
                };
                let id = &truth.sip_call_id;
                if name_of(truth.state) != state_name(call.state)
                    || truth.code != call.code && !call.state.eq(&trunkline_store::row::CallState::JoinedMidCall)
                {
                    say(
                        format!("state {} truly {}", state_name(call.state), name_of(truth.state)),
                        format!("{id} {} {}", call.code, truth.code),
                    );
                }
                if !near(call.answer_ns, ns(&truth.answer)) {
                    say("answer".into(), format!("{id} {:?} {:?}", call.answer_ns, ns(&truth.answer)));
                }
                if !near(call.ringing_ns, ns(&truth.ringing)) {
                    say("ringing".into(), format!("{id} {:?} {:?}", call.ringing_ns, ns(&truth.ringing)));
                }
                if !near(call.end_ns, ns(&truth.end)) {
                    say("end".into(), format!("{id} {:?} {:?}", call.end_ns, ns(&truth.end)));
                }
                if call.ladder.messages.len() as u32 != truth.messages {
                    say("messages".into(), format!("{id} {} {}", call.ladder.messages.len(), truth.messages));
                }
                if truth.state != trunkline_sim::truth::State::JoinedMidCall && call.src.to_string() != truth.src
                    || call.dst.to_string() != truth.dst
                {
                    say("ends".into(), format!("{id} {} {} {} {}", call.src, truth.src, call.dst, truth.dst));
                }
                let kind = told(call);
                found |= kind.is_some_and(|k| deserved.iter().any(|d| d == k));
                if let Some(kind) = kind.filter(|k| !deserved.iter().any(|d| d == k)) {
                    say(
                        format!("FALSE {kind} deserved {deserved:?}"),
                        format!("{id} {:?} {}", truth.planted, call.verdict.as_ref().unwrap().text),
                    );
                }
            }
            let streams: usize = group.iter().map(|(t, _)| t.streams.len()).sum();
            let ours: usize = group.iter().map(|(_, c)| c.streams.len()).sum();
            if streams != ours {
                say(
                    "streams".into(),
                    format!(
                        "{} {ours} {streams} {:#?} {:#?}",
                        group[0].0.sip_call_id,
                        group
                            .iter()
                            .flat_map(|(t, _)| &t.streams)
                            .map(|s| format!(
                                "{} {} {} {} {} {:?} {:?}",
                                s.ssrc,
                                s.src,
                                s.dst,
                                s.packets,
                                s.codec,
                                s.first.as_ref().map(|m| m.utc.clone()),
                                s.last.as_ref().map(|m| m.utc.clone())
                            ))
                            .collect::<Vec<_>>(),
                        group
                            .iter()
                            .flat_map(|(_, c)| &c.streams)
                            .map(|s| format!(
                                "{:x} {} {} {} {} {} {}",
                                s.ssrc, s.src, s.dst, s.packets, s.codec, s.first_ns, s.last_ns
                            ))
                            .collect::<Vec<_>>()
                    ),
                );
            }
            if !found {
                say(format!("MISSED {deserved:?}"), format!("{} {:?}", group[0].0.sip_call_id, group[0].0.planted));
            }
        }
    }
    println!("{total} calls");
    for (kind, (count, examples)) in &kinds {
        println!("{count:6} {kind}");
        examples.iter().for_each(|e| println!("         {e}"));
    }
}
