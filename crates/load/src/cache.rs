//! `trunkline cache load`: how fast a server answers, and whether it answers right.

mod answer;
mod datagram;
mod drive;
mod exchange;
mod frame;
mod link;
mod plan;
mod report;
mod run;
mod source;
mod stream;
mod tally;
pub mod target;
mod value;
mod versions;

use clap::builder::RangedU64ValueParser;
use plan::{Lengths, Plan};
use std::io::Write;
use std::time::Duration;
use target::Target;
use trunkline_kit::exit::Exit;
use trunkline_show::failure::Failure;
use trunkline_show::output::stdout;
use trunkline_show::table;
use trunkline_show::terminal::Terminal;

/// How long a connection may take at least, before it is given up.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// Octets of the longest request by UDP: a datagram.
const UDP_VALUE_OCTETS_MAX: u32 = 65_000;

/// Load a cache server with gets and sets, and measure speed and correctness
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline cache load 127.0.0.1:11211 --fill                      8 connections, closed loop\n  \
    trunkline cache load 127.0.0.1:11211 --fill --rate 50000         open loop: latency from when a request was due\n  \
    trunkline cache load 127.0.0.1:11211 --fill --udp --multi-get 10\n  \
    trunkline cache load unix:/run/cache.sock --verify --zipf 0.99   checks every value that comes\n\n\
    It writes keys k0000000000 and so on. Exit code 3: an error, a wrong value, or a connection that ended.")]
pub struct Load {
    /// Server to load: HOST, HOST:PORT or unix:PATH
    #[arg(value_name = "ADDRESS")]
    target: Target,
    /// Requests by UDP
    #[arg(long)]
    udp: bool,
    /// Number of connections
    #[arg(long, value_name = "N", default_value = "8", value_parser = within(1, 10_000))]
    connections: usize,
    /// Outstanding requests per connection
    #[arg(long, value_name = "N", default_value = "1", value_parser = within(1, 1000))]
    in_flight: usize,
    /// Keys per get
    #[arg(long, value_name = "N", default_value = "1", value_parser = within(1, 1000))]
    multi_get: usize,
    /// Number of keys
    #[arg(long, value_name = "N", default_value = "100000")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    keys: u32,
    /// Key length in octets
    #[arg(long, value_name = "N", default_value = "11")]
    #[arg(value_parser = within(plan::NAME_OCTETS_LEAST as u64, plan::NAME_OCTETS_MAX as u64))]
    key_octets: usize,
    /// First letter of the keys: parallel loads with different letters use different keys
    #[arg(long, value_name = "C", default_value = "k", value_parser = letter)]
    letter: u8,
    /// Value length in octets: N, or a range A-B
    #[arg(long, value_name = "N", default_value = "100")]
    value_octets: Lengths,
    /// Expiry of items in seconds: N, or a range A-B; 0 is never
    #[arg(long, value_name = "N", default_value = "0")]
    ttl: Lengths,
    /// Share of sets among the requests, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    sets: f64,
    /// Seconds to measure
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// Total requests per second (open loop) [default: the next request after each answer]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    rate: Option<u64>,
    /// Put key, version and checksum into values, and check every value that comes
    #[arg(long)]
    verify: bool,
    /// Random seed: the same seed repeats the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads, each with its part of the connections
    #[arg(long, value_name = "N", default_value = "1", value_parser = within(1, 256))]
    threads: usize,
    /// Store every key once before the measurement
    #[arg(long)]
    fill: bool,
    /// Skew of the keys (Zipf exponent): the n-th key is used n^-S as often [default: all equally often]
    #[arg(long, value_name = "S", value_parser = skew)]
    zipf: Option<f64>,
    /// Use mg and ms instead of get and set
    #[arg(long)]
    meta: bool,
    /// Take each value as a message of its own, as memcached 1.6 numbers them
    #[arg(long, requires = "udp")]
    old_udp_numbering: bool,
    /// Milliseconds after which a request without an answer is lost
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    timeout_ms: u64,
    /// Process id of the server on this machine: reports its CPU time
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

fn within(least: u64, most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=most)
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share from 0 to 1".to_owned())
}

fn letter(text: &str) -> Result<u8, String> {
    let letter = text.parse::<char>().ok().filter(char::is_ascii_lowercase);
    letter.map(|letter| letter as u8).ok_or_else(|| "one letter, a to z".to_owned())
}

fn skew(text: &str) -> Result<f64, String> {
    let skew = text.parse().ok().filter(|skew| *skew > 0.0 && *skew <= 10.0);
    skew.ok_or_else(|| "above 0, at most 10".to_owned())
}

impl Load {
    /// Loads the server and prints what came of it.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let report = run::run(self, &self.plan()?)?;
        let mut out = stdout();
        if self.json {
            writeln!(out, "{}", report.json())?;
        } else {
            table::write(&report.lines(terminal), terminal, &mut out)?;
        }
        out.flush()?;
        let tally = &report.tally;
        let good = tally.wrong() == 0 && tally.errors == 0 && tally.closed == 0;
        Ok(if good { Exit::Done } else { Exit::Degraded })
    }

    /// The options as a plan.
    fn plan(&self) -> Result<Plan, Failure> {
        let wrong = |what: &str| Err(Failure::Usage(what.to_owned()));
        if self.udp && matches!(self.target, Target::Unix(_)) {
            return wrong("--udp: a unix socket has no UDP");
        }
        if self.udp && self.value_octets.most > UDP_VALUE_OCTETS_MAX {
            return wrong("--udp: a value has at most 65000 octets, since a request is one datagram");
        }
        if self.udp && self.meta && self.multi_get > 1 {
            return wrong("--udp --meta: a request is one command, so --multi-get is 1");
        }
        if self.verify && (self.value_octets.least as usize) < value::OCTETS_LEAST {
            return wrong("--verify: a value has at least 24 octets (--value-octets)");
        }
        if self.verify && (self.keys as usize) < self.connections {
            return wrong("--verify: at least as many keys as connections");
        }
        if self.threads > self.connections {
            return wrong("--threads: at most as many as connections");
        }
        Ok(Plan {
            connections: self.connections,
            in_flight: self.in_flight,
            multi_get: self.multi_get,
            keys: self.keys,
            name_octets: self.key_octets,
            letter: self.letter,
            ttl: self.ttl,
            lengths: self.value_octets,
            sets: self.sets,
            rate: self.rate,
            verify: self.verify,
            meta: self.meta,
            zipf: self.zipf,
            seed: self.seed,
            threads: self.threads,
            old_numbering: self.old_udp_numbering,
            run: Duration::from_secs(self.seconds.into()),
            patience: Duration::from_millis(self.timeout_ms),
        })
    }
}
