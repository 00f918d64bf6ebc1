//! `trunkline charge load` against a server that answers as each test wants: every figure is compared with what that
//! server saw and did.
//!
//! Test group: loads: offers load as fast as it is answered.

use crate::responder;
use responder::{Reply, Responder, Seen};
use serde_json::Value;
use std::collections::HashMap;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use trunkline_wire::gtpp;
use trunkline_wire::gtpp::profile::{Field, FieldValue, Profile, Role};

fn trunkline(options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(["charge", "load"]).args(options).stdin(Stdio::null());
    command.output().unwrap()
}

/// The JSON of a run that ends with this exit code.
fn load(address: &str, options: &[&str], code: i32) -> Value {
    let output = trunkline(&[&[address, "--json"], options].concat());
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{options:?}: {out}{error}");
    serde_json::from_str(&out).unwrap()
}

/// Grants so much to each rating group.
fn grant(units: u64) -> impl FnMut(&Seen) -> Reply + Send {
    move |seen| Reply::Answer(2001, services(seen, units))
}

fn services(seen: &Seen, units: u64) -> Vec<(u32, u32, u64)> {
    let units = if seen.kind == 3 { 0 } else { units };
    seen.services.iter().map(|(group, ..)| (*group, 2001, units)).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

const KINDS: [&str; 4] = ["initial", "update", "termination", "event"];

#[test]
fn closed_loop_plays_whole_sessions() {
    let server = Responder::start(grant(1000));
    let run =
        load(&server.address, &["--duration", "1", "--closed", "20", "--updates", "3", "--rating-groups", "7,8"], 0);
    compare_kinds(&run, &server);
    let (types, sessions) = (&run["types"], &run["sessions"]);
    let stopped = number(&sessions["stopped_at_end"]);
    assert!(KINDS.iter().all(|name| types[name]["sent"] == types[name]["succeeded"]), "{run}");
    assert!(number(&types["initial"]["sent"]) > 50 && number(&sessions["held_most"]) == 20, "{run}");
    assert_eq!(number(&sessions["begun"]), number(&sessions["completed"]) + stopped, "{run}");
    assert_eq!(number(&sessions["stopped_at_end_well"]), stopped);
    // All that was granted was used, but for what the last update of a session was granted.
    let used: u64 = server.requests().iter().flat_map(|seen| &seen.services).filter_map(|service| service.1).sum();
    assert_eq!((number(&run["units"]["used_acknowledged"]), number(&run["units"]["granted"])), (used, used), "{run}");
    assert_eq!(run["watchdogs"], 2, "{run}");
}

/// What each kind of request came to must be what the server saw of it.
fn compare_kinds(run: &Value, server: &Responder) {
    let stopped = number(&run["sessions"]["stopped_at_end"]);
    for (kind, name) in (1..).zip(KINDS) {
        let counts = &run["types"][name];
        let at_end = if kind == 3 { stopped } else { 0 };
        assert_eq!(number(&counts["sent"]) + at_end, server.firsts(kind), "{name}: {run}");
        let outcomes = ["answered", "timeouts", "lost"].map(|outcome| number(&counts[outcome]));
        assert_eq!(number(&counts["sent"]), outcomes.iter().sum::<u64>(), "{name}: {run}");
    }
}

/// How often a result came, of a type, at a level.
fn failures(run: &Value, kind: &str, level: &str, code: u64) -> u64 {
    let all = run["types"][kind]["failures"].as_array().unwrap();
    let found = all.iter().find(|failure| failure["level"] == level && failure["code"] == code);
    found.map_or(0, |failure| number(&failure["count"]))
}

// Test group: alone: counts what is sent when it is due
#[test]
fn open_loop_begins_as_many_as_are_due() {
    let server = Responder::start(grant(1000));
    let options = ["--sessions-per-second", "50", "--updates", "2", "--interval", "200ms", "--duration", "2"];
    let run = load(&server.address, &options, 0);
    compare_kinds(&run, &server);
    let due = |name: &str| number(&run["types"][name]["sent"]) + number(&run["types"][name]["unsent"]);
    assert_eq!((due("initial"), run["due_per_second"].as_f64()), (100, Some(200.0)), "{run}");
    // Updates follow 200 and 400 ms later, so that those of the last begins are not due any more. One that was late has
    // no next one.
    assert!((160..=90 + 80).contains(&due("update")) && (60..=70).contains(&due("termination")), "{run}");

    // A warm begin: as many requests are due in the first second as in the last one.
    let server = Responder::start(grant(1000));
    let options = ["--requests-per-second", "400", "--concurrent", "150", "--updates", "2", "--duration", "2"];
    let run = load(&server.address, &options, 0);
    compare_kinds(&run, &server);
    let (requests, held) = (number(&run["requests"]), number(&run["sessions"]["held_most"]));
    assert!((620..=810).contains(&requests) && (120..=310).contains(&held), "{run}");
}

// Test group: alone: measures latencies
#[test]
fn latency_counts_from_when_a_request_was_due() {
    let (mut stood, mut number_of) = (false, 0);
    let server = Responder::start(move |seen| {
        number_of += 1;
        let stands = number_of > 100 && !std::mem::replace(&mut stood, number_of > 100);
        let time = Duration::from_millis(if stands { 600 } else { 0 });
        Reply::Later(time, 2001, services(seen, 1000))
    });
    let options = ["--sessions-per-second", "200", "--updates", "0", "--interval", "10s", "--duration", "2"];
    let run = load(&server.address, &[&options[..], &["--connections", "1"]].concat(), 0);
    compare_kinds(&run, &server);
    // 120 of the 400 were due while the server stood still, evenly: a sixth of all has waited 200 ms or more.
    let latency = &run["latency_us"];
    assert!(latency["max"].as_f64() > Some(550_000.0) && latency["p90"].as_f64() > Some(200_000.0), "{run}");
    assert!(latency["p50"].as_f64() < Some(100_000.0), "{run}");
}

#[test]
fn failures_are_counted_by_type_level_and_code() {
    let mut asked = 0u64;
    let server = Responder::start(move |seen| {
        asked += 1;
        match seen.kind {
            1 if asked.is_multiple_of(7) => Reply::Answer(5030, Vec::new()),
            2 if asked.is_multiple_of(5) => Reply::Answer(2001, vec![(1, 4012, 0), (2, 2001, 500)]),
            3 if asked.is_multiple_of(3) => Reply::Answer(3004, Vec::new()),
            _ => Reply::Answer(2001, services(seen, 1000)),
        }
    });
    let options = ["--closed", "4", "--rating-groups", "1,2", "--duration", "1", "--leave"];
    let run = load(&server.address, &options, 3);
    compare_kinds(&run, &server);
    let (mut unknown, mut refused, mut busy) = (0, 0, 0);
    for (at, seen) in (1..).zip(server.requests()) {
        unknown += u64::from(seen.kind == 1 && at % 7 == 0);
        refused += u64::from(seen.kind == 2 && at % 5 == 0);
        busy += u64::from(seen.kind == 3 && at % 3 == 0);
    }
    assert!(unknown > 5 && refused > 5 && busy > 5, "{run}");
    assert_eq!(failures(&run, "initial", "command", 5030), unknown, "{run}");
    assert_eq!(failures(&run, "update", "service", 4012), refused, "{run}");
    assert_eq!(failures(&run, "termination", "command", 3004), busy, "{run}");
    assert_eq!(number(&run["types"]["initial"]["failed"]), unknown, "{run}");
    assert_eq!(number(&run["sessions"]["broken_off"]), unknown + busy, "{run}");
}

#[test]
fn want_of_money_alone_is_no_reason_for_exit_3() {
    let server = Responder::start(|seen| match seen.kind {
        1 => Reply::Answer(4012, Vec::new()),
        _ => Reply::Silence,
    });
    let run = load(&server.address, &["--sessions-per-second", "100", "--duration", "1"], 0);
    assert_eq!(failures(&run, "initial", "command", 4012), 100, "{run}");
    assert_eq!((number(&run["sessions"]["broken_off"]), number(&run["sessions"]["completed"])), (100, 0));
}

// Test group: alone: what is answered within 300 ms is in time
#[test]
fn silence_times_out_and_what_comes_then_is_late() {
    let mut asked = 0u64;
    let server = Responder::start(move |seen| {
        asked += 1;
        match (seen.kind, asked % 10) {
            (2, 0) => Reply::Silence,
            (1, 1) if asked > 50 => {
                asked = 0;
                Reply::Later(Duration::from_millis(500), 2001, services(seen, 10))
            }
            _ => Reply::Answer(2001, services(seen, 1000)),
        }
    });
    let options = ["--closed", "2", "--updates", "1", "--tx", "300ms", "--duration", "2", "--connections", "1"];
    let run = load(&server.address, &options, 3);
    compare_kinds(&run, &server);
    let all = |name: &str| KINDS.iter().map(|kind| number(&run["types"][*kind][name])).sum::<u64>();
    assert!(number(&run["types"]["update"]["timeouts"]) > 0 && number(&run["late"]) > 0, "{run}");
    assert!(number(&run["sessions"]["broken_off"]) == all("timeouts") && all("lost") == 0, "{run}");
}

#[test]
fn copies_have_the_t_bit_and_the_same_identifiers() {
    let server = Responder::start(|seen| Reply::Answer(2001, services(seen, 100 + u64::from(seen.number))));
    let options = ["--closed", "10", "--duplicates", "0.5", "--duplicate-delay", "20ms", "--duration", "1"];
    let run = load(&server.address, &[&options[..], &["--connections", "3", "--seed", "7"]].concat(), 0);
    compare_kinds(&run, &server);
    let requests = server.requests();
    let copies: Vec<_> = requests.iter().filter(|seen| seen.again).collect();
    let duplicates = &run["duplicates"];
    assert_eq!(number(&duplicates["sent"]), copies.len() as u64, "{run}");
    assert_eq!(number(&duplicates["same"]), copies.len() as u64, "{run}");
    let identity = |seen: &Seen| (seen.origin.clone(), seen.end_to_end);
    // In their order, so that of several the first one stays.
    let firsts: HashMap<_, _> = requests.iter().rev().filter(|seen| !seen.again).map(|s| (identity(s), s)).collect();
    let mut elsewhere = 0;
    for copy in &copies {
        let first = firsts.get(&identity(copy)).expect("a copy has a first one");
        let all = |seen: &Seen| (seen.session.clone(), seen.kind, seen.number, seen.services.clone());
        assert_eq!(all(first), all(copy));
        elsewhere += usize::from(first.connection != copy.connection);
    }
    assert!(copies.len() > 50 && elsewhere > 5 && elsewhere < copies.len(), "{elsewhere} of {}", copies.len());
}

#[test]
fn a_second_answer_that_differs_is_told() {
    let server = Responder::start(|seen| match (seen.again, seen.number) {
        (true, 1) => Reply::Answer(2001, services(seen, 99)),
        (true, 2) => Reply::Answer(5012, Vec::new()),
        _ => Reply::Answer(2001, services(seen, 100)),
    });
    let options = ["--closed", "5", "--duplicates", "1", "--duplicate-delay", "1ms", "--duration", "1"];
    let run = load(&server.address, &options, 3);
    // A stop that is the second request is granted nothing either time.
    let other = |seen: &Seen| seen.again && (seen.number == 2 || seen.number == 1 && seen.kind == 2);
    let want = server.requests().iter().filter(|seen| other(seen)).count() as u64;
    assert!(want > 0, "{run}");
    assert_eq!(number(&run["duplicates"]["different"]), want, "{run}");
    let told = run["duplicates"]["differences"].to_string();
    assert!(told.contains("2001 with 100 units, then 2001 with 99 units"), "{told}");
}

// Test group: alone: offers load at a rate
#[test]
fn a_connection_that_ends_is_opened_again() {
    let mut asked = 0u64;
    let close = move |seen: &Seen| {
        asked += 1;
        if asked % 200 == 150 { Reply::Close } else { Reply::Answer(2001, services(seen, 1000)) }
    };
    let options = ["--requests-per-second", "400", "--updates", "1", "--interval", "100ms", "--duration", "2"];
    let server = Responder::start(close);
    let run = load(&server.address, &options, 3);
    let all = |run: &Value, name: &str| KINDS.iter().map(|kind| number(&run["types"][*kind][name])).sum::<u64>();
    assert!(all(&run, "lost") > 0 && number(&run["closed"]) > 0 && number(&run["resent"]) == 0, "{run}");
    assert!(number(&run["reconnected"]) + 2 >= number(&run["closed"]), "{run}");

    // With more than one try nothing is lost: what waited comes again with the T bit.
    let server = Responder::start(close);
    let run = load(&server.address, &[&options[..], &["--tries", "5"]].concat(), 3);
    assert_eq!((all(&run, "lost"), all(&run, "timeouts")), (0, 0), "{run}");
    assert_eq!(run["requests"], run["answered"], "{run}");
    let again = server.requests().iter().filter(|seen| seen.again).count() as u64;
    // What is written to a connection that closes is not seen.
    assert!(again > 0 && number(&run["resent"]) >= again, "{run}");
}

// Test group: alone: what is answered within 300 ms is in time
#[test]
fn another_server_goes_on_when_one_fails() {
    let mut asked = 0u64;
    let first = Responder::start(move |seen| {
        asked += 1;
        match asked {
            0..60 => Reply::Answer(2001, services(seen, 1000)),
            60..80 => Reply::Silence,
            _ => Reply::Close,
        }
    });
    let second = Responder::start(grant(1000));
    let options = ["--failover", &second.address, "--closed", "10", "--duration", "2", "--tx", "300ms", "--tries", "4"];
    let run = load(&first.address, &options, 3);
    assert_eq!((&run["requests"], &run["sessions"]["broken_off"]), (&run["answered"], &0.into()), "{run}");
    let (before, after) = (first.requests(), second.requests());
    let moved = after.iter().filter(|seen| seen.again);
    // The rest was on its way when the connection was closed, so that the first server never read it.
    let known =
        |copy: &&Seen| before.iter().any(|seen| seen.end_to_end == copy.end_to_end && seen.origin == copy.origin);
    assert!(moved.clone().filter(known).count() > 5, "{run}");
    assert!(after.len() > before.len() && number(&run["resent"]) >= moved.count() as u64, "{run}");
}

#[test]
fn a_server_asks_within_a_session() {
    let server = Responder::start(|seen| match (seen.kind, seen.number) {
        (2, 1) => Reply::AnswerAndAsk(2001, services(seen, 500), 258),
        (2, 3) => Reply::AnswerAndAsk(2001, services(seen, 500), 274),
        _ => Reply::Answer(2001, services(seen, 500)),
    });
    let options = ["--sessions-per-second", "20", "--interval", "100ms", "--updates", "9", "--duration", "2"];
    let run = load(&server.address, &options, 0);
    compare_kinds(&run, &server);
    let requests = server.requests();
    let of =
        |kind, number| requests.iter().filter(|seen| seen.kind == kind && seen.number == number).collect::<Vec<_>>();
    assert_eq!(number(&run["re_auths"]), of(2, 1).len() as u64, "{run}");
    assert_eq!(number(&run["aborts"]), of(2, 3).len() as u64, "{run}");
    // The request that follows a RAR tells why (3GPP-Reporting-Reason FORCED_REAUTHORISATION); an ASR ends the session.
    assert!(of(2, 2).iter().all(|seen| seen.services[0].2 == Some(7)), "{:?}", of(2, 2));
    assert!(of(2, 4).is_empty() && of(3, 4).len() == of(2, 3).len() && of(3, 4).len() > 10, "{run}");
    let others = server.noted.lock().unwrap().others.clone();
    let answers = |command: u32| others.iter().filter(move |other| other.0 == command && !other.1).map(|other| other.2);
    assert!(answers(258).all(|result| result == Some(2002)) && answers(274).all(|result| result == Some(2001)));
    assert_eq!((answers(258).count(), answers(274).count(), answers(280).count()), (of(2, 1).len(), of(2, 3).len(), 2));
    // Both connections were left in peace.
    assert_eq!(others.iter().filter(|other| (other.0, other.1) == (282, true)).count(), 2);
}

#[test]
fn the_ledger_has_every_octet() {
    let server = Responder::start(|seen| match (seen.kind, seen.number, seen.end_to_end % 4) {
        (2, 2, 0) => Reply::Answer(5012, Vec::new()),
        (2, 3, 0) => Reply::Silence,
        _ => Reply::Answer(2001, services(seen, 1_000_000)),
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("truth.jsonl");
    let options =
        ["--usage", "1000-900000", "--subscribers", "26201%010d:7", "--subscription", "imsi", "--tx", "300ms"];
    let more = ["--closed", "5", "--duration", "1", "--threads", "2", "--ledger", file.to_str().unwrap()];
    let run = load(&server.address, &[&options[..], &more].concat(), 3);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (sums, lines): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line["total"] == true);
    let requests = server.requests();
    assert_eq!((lines.len(), sums.len()), (requests.len(), 7), "{run}");
    let mut acknowledged = 0;
    for line in &lines {
        let is_its = |seen: &&Seen| line["session"] == *seen.session && line["number"] == seen.number;
        let seen = requests.iter().find(is_its).expect("the server saw it");
        assert_eq!(
            (line["subscriber"].as_str(), number(&line["services"][0]["used"])),
            (Some(seen.subscriber.as_str()), seen.services.first().and_then(|service| service.1).unwrap_or(0)),
            "{line}"
        );
        acknowledged += if line["acknowledged"] == true { number(&line["services"][0]["used"]) } else { 0 };
    }
    assert_eq!(acknowledged, number(&run["units"]["used_acknowledged"]), "{run}");
    assert!(number(&run["units"]["used_unacknowledged"]) > 0, "{run}");
    for (name, unit) in [("acknowledged", "used_acknowledged"), ("unacknowledged", "used_unacknowledged")] {
        let sum: u64 = sums.iter().map(|line| number(&line[name])).sum();
        assert_eq!(sum, number(&run["units"][unit]), "{name}");
    }
}

// Test group: alone: a line for each second
#[test]
fn a_line_a_second_and_pictures() {
    let server = Responder::start(grant(1000));
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, svg, script) = (path("load.csv"), path("load.svg"), path("load.gp"));
    let files = ["--csv", &csv, "--plot", &svg, "--gnuplot", &script];
    let options = ["--requests-per-second", "300", "--interval", "100ms", "--duration", "3", "--events", "0.2"];
    let run = load(&server.address, &[&options[..], &files].concat(), 0);
    compare_kinds(&run, &server);
    assert!(number(&run["types"]["event"]["sent"]) > 10, "{run}");
    let text = std::fs::read_to_string(&csv).unwrap();
    let titles: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    assert!(rows.len() >= 3 && rows.iter().enumerate().all(|(at, row)| row[0] == at as f64), "{text}");
    let sum = |title: &str| {
        let at = titles.iter().position(|other| *other == title).unwrap();
        rows.iter().map(|row| row[at]).sum::<f64>() as u64
    };
    for (kind, name) in (1..).zip(KINDS) {
        assert_eq!(sum(&format!("{name}_sent")), server.firsts(kind), "{name}: {text}");
        assert_eq!(sum(&format!("{name}_answered")), server.firsts(kind), "{name}: {text}");
    }
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains(">event<") && picture.ends_with("</svg>\n"));
    let Ok(drawn) = Command::new("gnuplot").arg(&script).output() else {
        return println!("SKIPPED IN PART: no gnuplot");
    };
    assert!(drawn.status.success() && drawn.stderr.is_empty(), "{}", String::from_utf8_lossy(&drawn.stderr));
    let drawn = std::fs::read_to_string(path("load.gnuplot.svg")).unwrap();
    assert!(drawn.contains("<svg") && drawn.contains("termination"));
}

#[test]
fn answers_that_are_none_are_malformed() {
    let server = Responder::start(|seen| match seen.number {
        2 => {
            // The header of an answer that has nothing behind it.
            let mut octets = vec![1, 0, 0, 20, 0x40, 0, 1, 16, 0, 0, 0, 4];
            octets.extend_from_slice(&seen.hop_by_hop.to_be_bytes());
            octets.extend_from_slice(&seen.end_to_end.to_be_bytes());
            Reply::Octets(octets)
        }
        _ => Reply::Answer(2001, services(seen, 1000)),
    });
    let run = load(&server.address, &["--closed", "3", "--duration", "1"], 3);
    compare_kinds(&run, &server);
    let want = server.requests().iter().filter(|seen| seen.number == 2).count() as u64;
    assert!(want > 0 && number(&run["malformed"]) == want, "{run}");
    assert!(run["trouble"].as_str().unwrap().contains("without a result"), "{run}");
}

#[test]
fn tshark_has_no_complaint_about_what_is_sent() {
    let server = Responder::bind("127.0.0.1:0".parse().unwrap(), true, |seen| match seen.number {
        1 => Reply::AnswerAndAsk(2001, services(seen, 1000), 258),
        _ => Reply::Answer(2001, services(seen, 1000)),
    });
    let options = ["--requests-per-second", "100", "--updates", "2", "--interval", "50ms", "--duration", "1"];
    let more = ["--events", "0.2", "--duplicates", "0.3", "--network", "26202", "--request-octets", "5000"];
    load(&server.address, &[&options[..], &more].concat(), 0);
    let messages = server.noted.lock().unwrap().octets.clone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sent.pcap");
    std::fs::write(&file, responder::capture(&messages)).unwrap();
    let fields = ["-T", "fields", "-e", "diameter.cmd.code", "-e", "diameter.flags.request"];
    let experts = ["-e", "_ws.expert.message", "-e", "_ws.malformed", "-o", "tcp.check_checksum:FALSE"];
    let Ok(done) = Command::new("tshark").arg("-r").arg(&file).args(fields).args(experts).output() else {
        return println!("SKIPPED: no tshark");
    };
    let text = String::from_utf8_lossy(&done.stdout);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), messages.len(), "{text}");
    assert!(lines.iter().all(|line| line[2..].iter().all(|cell| cell.is_empty())), "{text}");
    for command in ["257", "258", "272", "280", "282"] {
        assert!(lines.iter().any(|line| line[0] == command), "{command}: {text}");
    }
}

#[test]
fn options_and_exit_codes() {
    let code = |options: &[&str]| {
        let output = trunkline(options);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let wrong: [(&[&str], &str); 12] = [
        (&["--closed", "0"], "--closed"),
        (&["--closed", "5", "--sessions-per-second", "3"], "cannot be used with"),
        (&["--requests-per-second", "10", "--sessions-per-second", "3"], "cannot be used with"),
        (&["--sessions-per-second", "9", "--concurrent", "9", "--interval", "1s"], "leave one out"),
        (&["--interval", "1s"], "needs a rate"),
        (&["--threads", "3"], "at most as many as connections"),
        (&["--rating-groups", "1,1"], "each once"),
        (&["--duration", "0"], "from 100ms"),
        (&["--tx", "0"], "more than 0"),
        (&["--subscribers", "9..1"], "FROM is at most TO"),
        (&["--usage", "some"], "all, N, or A-B"),
        (&["--realm", "a b"], "letters, digits"),
    ];
    for (options, want) in wrong {
        let (code, error) = code(&[&["127.0.0.1:1"], options].concat());
        assert!(code == Some(2) && error.contains(want), "{options:?}: {code:?} {error}");
    }
    let (nobody, error) = code(&["127.0.0.1:1"]);
    assert!(nobody == Some(1) && error.contains("nobody listens there"), "{nobody:?} {error}");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (unheard, error) = code(&[&silent.local_addr().unwrap().to_string()]);
    assert!(unheard == Some(1) && error.contains("exchange of capabilities"), "{unheard:?} {error}");
    let server = Responder::start(grant(1));
    let (file, error) = code(&[&server.address, "--csv", "missing-folder/file.csv"]);
    assert!(file == Some(1) && error.contains("missing-folder"), "{file:?} {error}");
    let output = trunkline(&[&server.address, "--duration", "500ms", "--threads", "2", "--pid", "1"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("initial") && text.contains("server's CPU"), "{text}");
}

/// A quota server over UDP: what it was asked, role by role, with the sender and the sequence number.
type Asked = (std::net::SocketAddr, u16, Role, Vec<u8>);

/// Answers each first copy by `decide`: none is silence, else cause and units; the others as the first.
fn quota_server(
    mut decide: impl FnMut(usize, Role) -> Option<(u64, u64)> + Send + 'static,
) -> (String, Arc<Mutex<Vec<Asked>>>) {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let (address, asked) = (socket.local_addr().unwrap().to_string(), Arc::new(Mutex::new(Vec::new())));
    let noted: Arc<Mutex<Vec<Asked>>> = Arc::clone(&asked);
    std::thread::spawn(move || {
        let (profile, mut room) = (Profile::default(), vec![0; 65_536]);
        let mut answers = std::collections::HashMap::new();
        while let Ok((octets, from)) = socket.recv_from(&mut room) {
            let message = gtpp::Message::new(&room[..octets]).unwrap();
            let header = message.header;
            let mut out = Vec::new();
            if header.kind == gtpp::message_type::ECHO_REQUEST {
                let answer = gtpp::Header { kind: gtpp::message_type::ECHO_RESPONSE, ..header };
                gtpp::Writer::new(&mut out, &answer).recovery(1).finish().unwrap();
                socket.send_to(&out, from).unwrap();
                continue;
            }
            let quota = profile.read(&message).unwrap();
            let mut noted = noted.lock().unwrap();
            noted.push((from, header.sequence, quota.role, room[..octets].to_vec()));
            let given = *answers.entry((from, header.sequence)).or_insert_with(|| decide(noted.len(), quota.role));
            let Some((cause, units)) = given else { continue };
            let session = quota.octets(Field::Session).unwrap_or_default();
            let values = [
                (Field::Session, FieldValue::Octets(session)),
                (Field::Cause, FieldValue::Number(cause)),
                (Field::Granted, FieldValue::Number(units)),
            ];
            profile.write(quota.role.response().unwrap(), header.sequence, &values, &mut out).unwrap();
            socket.send_to(&out, from).unwrap();
        }
    });
    (address, asked)
}

#[test]
fn a_quota_server_by_gtpp() {
    let (address, asked) = quota_server(|_, role| Some((128, if role == Role::ServiceStopRequest { 0 } else { 700 })));
    let options = ["--protocol", "gtpp", "--requests-per-second", "1500", "--interval", "50ms", "--updates", "2"];
    let options = [&options[..], &["--duration", "1", "--duplicates", "0.4"]].concat();
    let run = load(&address, &options, 0);
    let asked = asked.lock().unwrap().clone();
    let mut firsts = std::collections::HashMap::new();
    for (from, sequence, role, octets) in &asked {
        let first = firsts.entry((*from, *sequence)).or_insert((*role, octets));
        assert_eq!(*first, (*role, octets), "a copy has the octets of the first one");
    }
    let of = |role: Role| firsts.values().filter(|first| first.0 == role).count() as u64;
    let sent = |name: &str| number(&run["types"][name]["sent"]);
    assert_eq!((sent("profile"), sent("initial")), (of(Role::UserProfileRequest), of(Role::AuthorizationRequest)));
    let stopped = number(&run["sessions"]["stopped_at_end"]);
    assert_eq!(sent("update"), of(Role::ReauthorizationRequest), "{run}");
    assert_eq!(sent("termination") + stopped, of(Role::ServiceStopRequest), "{run}");
    let copies = (asked.len() - firsts.len()) as u64;
    assert!(copies > 10 && sent("initial") > 50, "{run}");
    assert_eq!((number(&run["duplicates"]["sent"]), number(&run["duplicates"]["same"])), (copies, copies), "{run}");
    assert_eq!(run["units"]["used_acknowledged"].as_u64(), Some(700 * (sent("update") + of(Role::ServiceStopRequest))));
}

#[test]
fn datagrams_that_are_lost_are_sent_again_and_refusals_counted() {
    let (address, asked) = quota_server(|nth, role| match (nth % 20, role) {
        (0, _) => None,
        (_, Role::AuthorizationRequest) if nth % 3 == 0 => Some((255, 0)),
        (_, Role::ReauthorizationRequest) if nth % 7 == 0 => Some((204, 0)),
        _ => Some((128, 700)),
    });
    let options = ["--protocol", "gtpp", "--closed", "4", "--tx", "100ms", "--tries", "2", "--duration", "1"];
    let run = load(&address, &options, 3);
    let all = |name: &str| run["types"].as_object().unwrap().values().map(|kind| number(&kind[name])).sum::<u64>();
    assert!(number(&run["resent"]) > 0 && all("timeouts") > 0 && all("lost") == 0, "{run}");
    assert_eq!(all("sent"), all("answered") + all("timeouts"), "{run}");
    assert!(failures(&run, "initial", "command", 255) > 0 && failures(&run, "update", "command", 204) > 0, "{run}");
    let asked = asked.lock().unwrap();
    let total = all("sent") + number(&run["resent"]) + number(&run["sessions"]["stopped_at_end"]);
    assert_eq!(asked.len() as u64, total, "{run}");
    let wrong = trunkline(&[&address, "--protocol", "gtpp", "--events", "0.5"]);
    assert_eq!(wrong.status.code(), Some(2));
    // Nobody listens: the system tells of it, or the echo is not answered.
    let nobody = trunkline(&["127.0.0.1:9", "--protocol", "gtpp"]);
    assert_eq!(nobody.status.code(), Some(1));
}
