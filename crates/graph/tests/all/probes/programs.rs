//! Programs: what they say, and what becomes of those that misbehave.

use crate::probes::world::{PATIENCE, once, probing, real, see, source, target};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trunkline_graph::job::{Probing, ProbingOptions};
use trunkline_graph::poller::{Reading, Unknown};
use trunkline_graph::probe::{Check, Limits, Source};

fn script(id: u32, words: &[&str], reads: &[&str]) -> Source {
    let command = words.iter().map(|word| (*word).to_owned()).collect();
    source(id, 60, Check::Script { command, timeout: Duration::from_secs(2) }, reads)
}

#[test]
fn what_programs_say_is_read() {
    let seen = once(vec![
        script(10, &["sh", "-c", "echo 1min:0.25 5min:7 up:U"], &["5min", "1min", "up", "none", "exit-code"]),
        script(11, &["echo", "42"], &["any"]),
        // Nothing is done to an argument.
        script(12, &["printf", "%s", "a:$((1+1)) b:3;4 c:5"], &["a", "b", "c"]),
        script(13, &["sh", "-c", "echo a:1; echo it is broken >&2; exit 3"], &["a", "exit-code", "time-total"]),
        script(14, &["sh", "-c", "echo home:${#HOME} user:${#CARGO_MANIFEST_DIR} path:${#PATH}"], &["home", "user"]),
        script(15, &["no-such-program-anywhere"], &["a"]),
    ]);
    let [none, no_number] = [Unknown::Omitted, Unknown::NoNumber].map(Reading::Unknown);
    let integer = Reading::Integer;
    assert_eq!(seen.of(10)[0], [integer(7), Reading::Real(0.25), no_number, none, integer(0)]);
    assert_eq!(seen.of(11)[0], [integer(42)]);
    assert_eq!(seen.of(12)[0], [no_number, no_number, integer(5)]);
    assert_eq!(seen.of(13)[0][..2], [Reading::Unknown(Unknown::AgentError), integer(3)]);
    assert!((0.0..2.0).contains(&real(seen.of(13)[0][2])));
    assert_eq!(seen.fault(13), Some("exit code 3: it is broken"));
    assert_eq!(seen.of(14)[0], [integer(0), integer(0)]);
    assert_eq!(seen.of(15)[0], [Reading::Unknown(Unknown::NotAsked)]);
    assert!(seen.fault(15).unwrap().starts_with("no-such-program-anywhere: "));
}

/// The processes whose command line holds a mark, those that have ended and are not reaped among them.
fn processes_with(mark: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let holds = |id: &String| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        *id != own && String::from_utf8_lossy(&line).contains(mark)
    };
    all.filter(|id| id.bytes().all(|b| b.is_ascii_digit())).filter(holds).collect()
}

/// Children of this process that have ended and are not reaped.
fn zombies() -> usize {
    let own = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let is_one = |stat: &String| {
        let mut rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
        rest.next() == Some("Z") && rest.next() == Some(&own)
    };
    stats.filter(is_one).count()
}

fn wait_for(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

#[test]
fn programs_that_hang_or_say_too_much_are_ended_with_all_they_have_started() {
    // A number that nobody else sleeps for.
    let mark = format!("7{}.25", std::process::id());
    let hang = format!("sleep {mark} & sleep {mark} & sleep {mark}");
    let seen = once(vec![
        script(10, &["sh", "-c", &hang], &["a"]),
        script(11, &["head", "-c", "10000000", "/dev/zero"], &["a"]),
        script(12, &["sh", "-c", "while :; do echo a:1; done"], &["a"]),
        // What it leaves behind does not keep its answer, and does not stay.
        script(13, &["sh", "-c", &format!("echo a:6; sleep {mark} &")], &["a"]),
    ]);
    assert_eq!(seen.of(10)[0], [Reading::Unknown(Unknown::Timeout)]);
    assert_eq!(seen.fault(10), Some("sh did not end within 2 s and was killed"));
    assert_eq!(seen.of(11)[0], [Reading::Unknown(Unknown::Malformed)]);
    assert_eq!(seen.fault(11), Some("head said more than 65536 octets and was killed"));
    assert_eq!(seen.of(12)[0], [Reading::Unknown(Unknown::Malformed)]);
    assert_eq!(seen.of(13)[0], [Reading::Integer(6)]);
    wait_for(|| processes_with(&mark).is_empty());
    wait_for(|| zombies() == 0);
}

#[test]
fn programs_end_with_their_prober_and_with_their_device() {
    let mark = format!("8{}.25", std::process::id());
    let hang = |id, time| {
        let command = vec!["sleep".to_owned(), mark.clone()];
        source(id, 60, Check::Script { command, timeout: Duration::from_secs(time) }, &["a"])
    };
    let mut probing = probing();
    probing.add(target(1, "127.0.0.1", &[], vec![hang(10, 300)])).unwrap();
    probing.add(target(2, "127.0.0.1", &[], vec![hang(20, 300)])).unwrap();
    let begun = Instant::now();
    while processes_with(&mark).len() < 2 {
        assert!(begun.elapsed() < PATIENCE);
        probing.turn(Duration::from_millis(50)).unwrap();
    }
    assert!(probing.remove(1));
    probing.turn(Duration::ZERO).unwrap();
    wait_for(|| processes_with(&mark).len() == 1);
    drop(probing);
    wait_for(|| processes_with(&mark).is_empty());
}

#[test]
fn no_more_programs_run_at_once_than_may() {
    let limits = Limits { programs: 2, ..Limits::default() };
    let mut probing = Probing::new(ProbingOptions { limits, seed: 1, ..ProbingOptions::default() }).unwrap();
    let sources = (0..12).map(|id| script(id, &["sleep", "0.1"], &["exit-code"])).collect();
    probing.add(target(1, "127.0.0.1", &[], sources)).unwrap();
    let mut seen = 0;
    let mut most = 0;
    while seen < 12 {
        probing.turn(Duration::from_millis(200)).unwrap();
        most = most.max(probing.prober().outstanding()[2]);
        seen += probing.samples().filter(|sample| sample.readings == [Reading::Integer(0)]).count();
        probing.clear();
    }
    assert!((1..=2).contains(&most));
}

#[test]
fn the_programs_own_metrics_are_a_device() {
    let own = || "# TYPE trunkline_a_total counter\ntrunkline_a_total{lane=\"0\"} 3\ntrunkline_a_total{lane=\"1\"} 4\n";
    let own = Arc::new(move || own().to_owned());
    let mut probing = Probing::new(ProbingOptions { own: Some(own), ..ProbingOptions::default() }).unwrap();
    let reads = ["trunkline_a_total", "trunkline_a_total{lane=\"1\"}"];
    probing.add(target(1, "127.0.0.1", &[], vec![source(10, 1, Check::Program, &reads)])).unwrap();
    let seen = see(&mut probing, |seen| !seen.of(10).is_empty());
    assert_eq!(seen.of(10)[0], [Reading::Counter64(7), Reading::Counter64(4)]);
}
