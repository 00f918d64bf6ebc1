//! Requests of every shape, to both servers in turn.

use super::super::Bench;
use super::load::{self, CONNECTIONS, Loaded};
use super::server::{BOTH, How, Server, Who};

/// What must be reached of memcached's requests a second.
pub const BUDGET: f64 = 1.5;
/// A server whose processor was busy for less of the time could have answered more.
pub const BUSY: f64 = 0.95;
/// Keys that are asked for.
pub const KEYS: &str = "100000";
/// Rounds of each row: ours, memcached, ours, and so on.
const ROUNDS: usize = 3;
/// Seconds of each run.
const SECONDS: u32 = 3;

/// What is asked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// For the table.
    pub name: &'static str,
    way: Way,
    in_flight: &'static str,
    keys: &'static str,
}

/// How requests are written and travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// get and set by TCP.
    Tcp,
    /// mg and ms by TCP.
    Meta,
    /// get and set by UDP.
    Udp,
}

const fn shape(name: &'static str, way: Way, in_flight: &'static str, keys: &'static str) -> Shape {
    Shape { name, way, in_flight, keys }
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    shape("TCP, 1 in flight", Way::Tcp, "1", "1"),
    shape("TCP, 16 in flight", Way::Tcp, "16", "1"),
    shape("TCP, 16 in flight, mg and ms", Way::Meta, "16", "1"),
    shape("TCP, gets of 10 keys", Way::Tcp, "1", "10"),
    shape("TCP, gets of 100 keys", Way::Tcp, "1", "100"),
    shape("UDP, 1 in flight", Way::Udp, "1", "1"),
    shape("UDP, 16 in flight", Way::Udp, "16", "1"),
    shape("UDP, gets of 10 keys", Way::Udp, "1", "10"),
    shape("UDP, gets of 100 keys", Way::Udp, "1", "100"),
];

/// Octets of a value, as the program takes them.
const LENGTHS: &[&str] = &["100", "1024"];
/// Sets among the requests, with the name of the mix.
const MIXES: &[(&str, &str)] = &[("9:1", "0.1"), ("100:0", "0")];

/// Which processors serve and load, and with how much.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// For the document.
    pub title: &'static str,
    how: How,
    /// The processors of the load.
    load: &'static str,
    load_threads: &'static str,
    /// Whether lengths and mixes are all gone through, or only the first of each.
    all: bool,
}

/// One processor for each; then both for both.
pub const PASSES: &[Pass] = &[
    Pass {
        title: "One processor serves (`-t 1`), the other loads",
        how: How { processors: "0", threads: 1, mebibytes: 1024 },
        load: "1",
        load_threads: "1",
        all: true,
    },
    Pass {
        title: "Two processors serve (`-t 2`) and load",
        how: How { processors: "0,1", threads: 2, mebibytes: 1024 },
        load: "0,1",
        load_threads: "2",
        all: false,
    },
];

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was asked.
    pub shape: Shape,
    /// Octets of a value.
    pub octets: &'static str,
    /// Gets to sets.
    pub mix: &'static str,
    /// Whether server and load had processors of their own.
    pub apart: bool,
    /// Ours, the medians.
    pub ours: Loaded,
    /// memcached's.
    pub theirs: Loaded,
}

/// What is to be said of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// So many times memcached's requests a second.
    Met,
    /// The load was busier than our server, whose processor time a request meets the budget (or not).
    LoadIsTheLimit(bool),
    /// Our server was the limit.
    Missed,
}

impl Row {
    /// Our requests a second by memcached's.
    pub fn by_rate(&self) -> f64 {
        self.ours.rate / self.theirs.rate.max(1e-9)
    }

    /// memcached's processor time of a request by ours.
    pub fn by_cpu(&self) -> f64 {
        self.theirs.cpu_us / self.ours.cpu_us.max(1e-9)
    }

    /// Whether the budget is met. Where both share the processors, the load always has its part of them.
    pub fn verdict(&self) -> Verdict {
        match () {
            () if self.by_rate() >= BUDGET => Verdict::Met,
            () if !self.apart || self.ours.busy < BUSY => Verdict::LoadIsTheLimit(self.by_cpu() >= BUDGET),
            () => Verdict::Missed,
        }
    }
}

/// How many rounds of how many seconds.
pub fn rounds(bench: &Bench<'_>) -> (usize, u32) {
    if bench.quick { (1, 1) } else { (ROUNDS, SECONDS) }
}

/// All rows of a pass.
///
/// # Errors
/// A server cannot be started or loaded.
pub fn run(bench: &Bench<'_>, pass: &Pass) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for octets in if pass.all { LENGTHS } else { &LENGTHS[..1] } {
        let servers = [Server::start(bench, Who::Ours, pass.how)?, Server::start(bench, Who::Theirs, pass.how)?];
        for server in &servers {
            let fill = ["--fill", "--keys", KEYS, "--value-octets", octets, "--sets", "0", "--seconds", "1"];
            load::run(bench, server, pass.load, &load::words(&fill))?;
        }
        for shape in SHAPES {
            for (mix, sets) in if pass.all { MIXES } else { &MIXES[..1] } {
                let [ours, theirs] = both(bench, pass, &servers, |who| shape.words(who, octets, sets, pass))?;
                let row = Row { shape: *shape, octets, mix, apart: pass.all, ours, theirs };
                eprintln!("bench: cache: {row:?}");
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

impl Shape {
    fn words(&self, who: Who, octets: &str, sets: &str, pass: &Pass) -> Vec<String> {
        let mut words = load::words(&["--connections", CONNECTIONS, "--threads", pass.load_threads, "--keys", KEYS]);
        words.extend(load::words(&["--in-flight", self.in_flight, "--multi-get", self.keys]));
        words.extend(load::words(&["--value-octets", octets, "--sets", sets]));
        words.extend(load::words(match (self.way, who) {
            (Way::Tcp, _) => &[],
            (Way::Meta, _) => &["--meta"],
            (Way::Udp, Who::Ours) => &["--udp"],
            (Way::Udp, Who::Theirs) => &["--udp", "--old-udp-numbering"],
        }));
        words
    }
}

/// Both servers in turn, some times; the medians.
fn both(
    bench: &Bench<'_>,
    pass: &Pass,
    servers: &[Server; 2],
    words: impl Fn(Who) -> Vec<String>,
) -> Result<[Loaded; 2], String> {
    let (rounds, seconds) = rounds(bench);
    let mut runs = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (at, who) in BOTH.into_iter().enumerate() {
            let mut words = words(who);
            words.extend(load::words(&["--seconds", &seconds.to_string()]));
            runs[at].push(load::run(bench, &servers[at], pass.load, &words)?);
        }
    }
    Ok(runs.map(|runs| load::middle(&runs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_tell_who_was_the_limit() {
        let verdict = |rate, busy, cpu_us, apart| {
            let theirs = Loaded { rate: 100.0, cpu_us: 4.0, ..Loaded::default() };
            let ours = Loaded { rate, busy, cpu_us, ..Loaded::default() };
            Row { shape: SHAPES[0], octets: "100", mix: "9:1", apart, ours, theirs }.verdict()
        };
        assert_eq!(verdict(150.0, 0.5, 4.0, true), Verdict::Met);
        assert_eq!(verdict(149.0, 0.99, 1.0, true), Verdict::Missed);
        assert_eq!(verdict(149.0, 0.9, 2.0, true), Verdict::LoadIsTheLimit(true));
        assert_eq!(verdict(149.0, 0.99, 3.0, false), Verdict::LoadIsTheLimit(false));
    }

    #[test]
    fn memcached_numbers_datagrams_in_its_own_way() {
        let words = |who| SHAPES[8].words(who, "100", "0", &PASSES[0]);
        assert!(words(Who::Theirs).contains(&"--old-udp-numbering".to_owned()));
        assert!(!words(Who::Ours).contains(&"--old-udp-numbering".to_owned()));
        assert!(words(Who::Ours).windows(2).any(|pair| pair == ["--multi-get", "100"]));
    }
}
