//! `trunkline charge load`: how fast a charging server answers, and whether it charges every octet once.

mod amount;
mod answer;
mod ask;
mod connection;
mod driver;
mod exchanges;
mod gnuplot;
mod kind;
mod ledger;
mod link;
mod lose;
mod pace;
mod peer;
mod plan;
mod quota;
mod report;
mod request;
mod run;
mod schedule;
pub mod server;
mod sessions;
mod subscribers;
mod svg;
mod take;
mod tally;
mod timeline;

use amount::{Usage, time};
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use pace::{Begins, Pace};
use plan::{Plan, Protocol};
use server::Server;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use subscribers::Subscribers;
use timeline::Row;
use trunkline_charge::job::read_mapping;
use trunkline_kit::exit::Exit;
use trunkline_show::failure::Failure;
use trunkline_show::output::stdout;
use trunkline_show::table;
use trunkline_show::terminal::Terminal;
use trunkline_wire::diameter::enumerated::SubscriptionIdType;

/// Requests a second that may be asked for.
const RATE_MAX: f64 = 1e8;
/// The longest run: a row of each second is kept.
const RUN_MAX: Duration = Duration::from_secs(86_400);
/// How long [`play`] plays at a time: a row of each second is kept so long.
const ROUND: Duration = Duration::from_secs(6 * 3600);
/// Rating groups of a session.
const GROUPS_MAX: usize = 32;
/// The longest time between the requests of a session: a hundred days.
const INTERVAL_SECONDS_MAX: f64 = 8_640_000.0;
/// Seconds between the requests of a session, unless the options say it.
const INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
/// Sessions of a run that names neither a rate nor a number: requests that wait at a time.
const CLOSED_DEFAULT: usize = 64;

/// Run sessions against a charging server, and measure speed and correctness
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline charge load 127.0.0.1 --closed 64                      64 requests wait at a time: the most it can do\n  \
    trunkline charge load 127.0.0.1 --requests-per-second 20000      open loop: latency from when a request was due\n  \
    trunkline charge load ocs1 --failover ocs2 --duplicates 0.2 --ledger truth.jsonl\n  \
    trunkline charge load 127.0.0.1 --sessions-per-second 500 --csv load.csv --plot load.svg\n\n\
    Exit code 3: a time-out, a lost connection, an answer that is malformed or other than that to the first copy, or\n\
    a result of 3xxx or 5xxx. Refusals for want of money (4xxx) are counted and are no reason.")]
pub struct Load {
    /// Server to load: HOST or HOST:PORT
    #[arg(value_name = "ADDRESS")]
    target: Server,
    /// Protocol: Diameter Gy over TCP, or quota requests by GTP' version 0 over UDP
    #[arg(long, value_enum, value_name = "NAME", default_value = "diameter")]
    protocol: Protocol,
    /// Numbers of messages and elements by GTP' (docs/manual/gtpp.md) [default: the project's own]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    gtpp_profile: Option<PathBuf>,
    /// Failover server for lost connections and timeouts; repeat the option for more
    #[arg(long, value_name = "HOST:PORT")]
    failover: Vec<Server>,
    /// New sessions per second (open loop)
    #[arg(long, value_name = "R", value_parser = rate, conflicts_with_all = ["requests_per_second", "closed"])]
    sessions_per_second: Option<f64>,
    /// Requests per second (open loop)
    #[arg(long, value_name = "R", value_parser = rate, conflicts_with = "closed")]
    requests_per_second: Option<f64>,
    /// Outstanding requests (closed loop) [default without a rate: 64]
    #[arg(long, value_name = "N", value_parser = within(1, 1_000_000))]
    closed: Option<usize>,
    /// Concurrent sessions [default: from rate and interval; in closed loop as --closed]
    #[arg(long, value_name = "N", value_parser = within(1, driver::SESSIONS_MAX as u64))]
    concurrent: Option<usize>,
    /// Updates per session between the first and the last request
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    updates: u32,
    /// Interval between requests of a session in open loop: 1s, 500ms [default: 1s, or from --concurrent]
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "closed")]
    interval: Option<Duration>,
    /// Duration of the run: 30, 10m
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10")]
    duration: Duration,
    /// Subscribers: FROM..TO, or a pattern and a count such as 49170%07d:100000
    #[arg(long, value_name = "WHO", default_value = "491700000000..491700099999")]
    subscribers: Subscribers,
    /// Type of the subscriber identity
    #[arg(long, value_name = "KIND", default_value = "e164", value_parser = SUBSCRIPTIONS.map(|(name, _)| name))]
    subscription: String,
    /// Rating groups per session, separated by commas
    #[arg(long, value_name = "N", default_value = "1", value_delimiter = ',')]
    rating_groups: Vec<u32>,
    /// Units used of each grant before the next request: all, N, or a random number A-B, at most the grant
    #[arg(long, value_name = "HOW", default_value = "all")]
    usage: Usage,
    /// Requested octets [default: the server chooses]
    #[arg(long, value_name = "N")]
    request_octets: Option<u64>,
    /// Share of events (direct debiting of one unit) among new sessions, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    events: f64,
    /// Rating group of events [default: the first of --rating-groups]
    #[arg(long, value_name = "N")]
    event_rating_group: Option<u32>,
    /// APN (Called-Station-Id)
    #[arg(long, value_name = "NAME", default_value = "internet", value_parser = name)]
    apn: String,
    /// Network of the subscribers (3GPP-SGSN-MCC-MNC)
    #[arg(long, value_name = "MCCMNC", value_parser = name)]
    network: Option<String>,
    /// Service-Context-Id
    #[arg(long, value_name = "NAME", default_value = "32251@3gpp.org", value_parser = name)]
    context: String,
    /// Connections to each server, each with its own Origin-Host
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Prefix of the Origin-Hosts: NAME-0.REALM and so on; use another one for each parallel load
    #[arg(long, value_name = "NAME", default_value = "load", value_parser = name)]
    origin: String,
    /// Origin-Realm
    #[arg(long, value_name = "REALM", default_value = "load.example", value_parser = name)]
    realm: String,
    /// Destination-Realm [default: the server's]
    #[arg(long, value_name = "REALM", value_parser = name)]
    destination_realm: Option<String>,
    /// Share of requests sent twice with the T bit, 0 to 1, on the same or another connection
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    duplicates: f64,
    /// Maximum delay of the second copy
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = time)]
    duplicate_delay: Duration,
    /// Response timeout
    #[arg(long, value_name = "TIME", default_value = "10", value_parser = time)]
    tx: Duration,
    /// Maximum number of transmissions of a request [default: one per server]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    tries: Option<u32>,
    /// Leave sessions open at the end
    #[arg(long)]
    leave: bool,
    /// Random seed: the same seed repeats the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads, each with a share of connections and subscribers
    #[arg(long, value_name = "N", default_value = "1", value_parser = within(1, 256))]
    threads: usize,
    /// File for the result of each request and the sums per subscriber, one line of JSON each
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    ledger: Option<PathBuf>,
    /// File for statistics, one line per second
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    csv: Option<PathBuf>,
    /// File for a chart: requests per second by type, and latencies
    #[arg(long, value_name = "FILE.svg", value_hint = clap::ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// File for a gnuplot script of the same chart; its data is written to FILE.dat
    #[arg(long, value_name = "FILE.gp", value_hint = clap::ValueHint::FilePath)]
    gnuplot: Option<PathBuf>,
    /// Process id of the server on this machine: reports its CPU time
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The options by themselves.
#[derive(Debug, clap::Parser)]
#[command(no_binary_name = true)]
struct Words {
    #[command(flatten)]
    load: Load,
}

/// Plays by options as they are typed, run after run until it is over; nothing is told of it.
///
/// # Errors
/// Options that are none; the server cannot be reached.
pub fn play(options: &[String], over: &AtomicBool) -> Result<(), Failure> {
    let words = Words::try_parse_from(options).map_err(|wrong| Failure::Usage(wrong.to_string()))?;
    let plan = Plan { run: ROUND, ..words.load.plan()? };
    while !over.load(Ordering::Relaxed) {
        run::quietly(&plan, over)?;
    }
    Ok(())
}

/// Kinds of names (Subscription-Id-Type).
const SUBSCRIPTIONS: [(&str, SubscriptionIdType); 5] = [
    ("e164", SubscriptionIdType::E164),
    ("imsi", SubscriptionIdType::Imsi),
    ("sip", SubscriptionIdType::SipUri),
    ("nai", SubscriptionIdType::Nai),
    ("private", SubscriptionIdType::Private),
];

fn within(least: u64, most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=most)
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share from 0 to 1".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| *rate >= 0.001 && *rate <= RATE_MAX);
    rate.ok_or_else(|| "a number from 0.001 to 100000000".to_owned())
}

/// Names of hosts, realms and the like: whatever is written with them needs no escape, and fits into a message.
fn name(text: &str) -> Result<String, String> {
    let plain = text.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"-._@:+/".contains(&octet));
    if plain && (1..=peer::NAME_OCTETS_MAX).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(format!("1 to {} letters, digits and -._@:+/", peer::NAME_OCTETS_MAX))
}

impl Load {
    /// Loads the server and prints what came of it.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let plan = self.plan()?;
        let pictures = [&self.plot, &self.gnuplot].into_iter().flatten();
        // What cannot be written is told before a long run, not after it.
        pictures.map(|path| run::create(path)).collect::<Result<Vec<_>, _>>()?;
        let (report, rows) = run::run(self, &plan)?;
        self.draw(&rows)?;
        let mut out = stdout();
        if self.json {
            writeln!(out, "{}", report.json())?;
        } else {
            table::write(&report.lines(terminal), terminal, &mut out)?;
        }
        out.flush()?;
        Ok(if report.tally.is_healthy() { Exit::Done } else { Exit::Degraded })
    }

    fn draw(&self, rows: &[Row]) -> Result<(), Failure> {
        let title = format!("trunkline charge load {}", self.target);
        let write = |path: &Path, text: String| {
            std::fs::write(path, text).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))
        };
        if let Some(path) = &self.plot {
            write(path, svg::draw(&title, rows))?;
        }
        if let Some(path) = &self.gnuplot {
            let figures = path.with_extension("dat");
            write(&figures, gnuplot::figures(rows))?;
            write(path, gnuplot::script(&title, &figures, rows))?;
        }
        Ok(())
    }

    /// The options as a plan.
    fn plan(&self) -> Result<Plan, Failure> {
        self.check()?;
        let servers =
            [&self.target].into_iter().chain(&self.failover).map(|server| server.address(self.protocol.port()));
        let servers: Vec<_> = servers.collect::<Result<_, _>>()?;
        let kind = SUBSCRIPTIONS.iter().find(|(name, _)| *name == self.subscription);
        Ok(Plan {
            protocol: self.protocol,
            profile: self
                .gtpp_profile
                .as_deref()
                .map(|path| read_mapping(path).map_err(Failure::Failed))
                .transpose()?
                .unwrap_or_default()
                .profile,
            clients: self.connections,
            threads: self.threads,
            pace: self.pace()?,
            updates: self.updates,
            events: self.events,
            run: self.duration,
            subscribers: self.subscribers.clone(),
            subscription: kind.map_or(SubscriptionIdType::E164, |(_, kind)| *kind),
            groups: self.rating_groups.clone(),
            event_group: self.event_rating_group.unwrap_or(self.rating_groups[0]),
            usage: self.usage,
            requested: self.request_octets,
            origin: self.origin.clone(),
            realm: self.realm.clone(),
            destination_realm: self.destination_realm.clone(),
            context: self.context.clone(),
            apn: self.apn.clone(),
            network: self.network.clone(),
            duplicates: self.duplicates,
            duplicate_delay: self.duplicate_delay,
            patience: self.tx,
            tries: self.tries.unwrap_or(servers.len() as u32),
            servers,
            leave: self.leave,
            seed: self.seed,
        })
    }

    fn check(&self) -> Result<(), Failure> {
        let mut groups = self.rating_groups.clone();
        groups.sort_unstable();
        groups.dedup();
        let wrong = if self.threads > self.connections as usize {
            "--threads: at most as many as connections"
        } else if groups.len() != self.rating_groups.len() || groups.len() > GROUPS_MAX {
            "--rating-groups: at most 32, each once"
        } else if !(Duration::from_millis(100)..=RUN_MAX).contains(&self.duration) {
            "--duration: from 100ms to 24h"
        } else if self.protocol == Protocol::Gtpp && (self.rating_groups.len() > 1 || self.events > 0.0) {
            "--protocol gtpp: one rating group, and no events"
        } else if self.tx.is_zero() {
            "--tx: more than 0"
        } else if self.interval.is_some_and(|interval| interval.is_zero()) {
            "--interval: more than 0; --closed sends each request as soon as one is answered"
        } else if self.ledger.is_some() && self.subscribers.count() > ledger::SUBSCRIBERS_MAX {
            "--ledger: at most 10000000 subscribers"
        } else {
            return Ok(());
        };
        Err(Failure::Usage(wrong.to_owned()))
    }

    /// Two of rate, sessions held and interval give the third.
    fn pace(&self) -> Result<Pace, Failure> {
        let firsts = if self.protocol == Protocol::Gtpp { 2 } else { 1 };
        let each = Begins::requests_each(self.events, self.updates, firsts);
        let asked = self.requests_per_second.map(|rate| rate / each);
        let held_each = Begins::held_each(self.events, self.updates);
        let (rate, interval) = match (self.sessions_per_second.or(asked), self.concurrent, self.interval) {
            (Some(_), Some(_), Some(_)) => {
                let text = "--concurrent: rate and --interval say already how many sessions are held; leave one out";
                return Err(Failure::Usage(text.to_owned()));
            }
            (Some(rate), Some(held), None) => {
                let seconds = (held as f64 / (rate * held_each).max(1e-9)).clamp(1e-6, INTERVAL_SECONDS_MAX);
                (rate, Duration::from_secs_f64(seconds))
            }
            (Some(rate), None, interval) => (rate, interval.unwrap_or(INTERVAL_DEFAULT)),
            (None, Some(held), Some(interval)) => {
                ((held as f64 / (interval.as_secs_f64() * held_each).max(1e-9)).min(RATE_MAX), interval)
            }
            (None, None, Some(_)) => {
                return Err(Failure::Usage("--interval: needs a rate, or --concurrent".to_owned()));
            }
            (None, held, None) => {
                let in_flight = self.closed.unwrap_or(CLOSED_DEFAULT);
                return Ok(Pace::Closed { in_flight, held: held.unwrap_or(in_flight).max(in_flight) });
            }
        };
        // Who names sessions a second wants as many to begin from the start.
        let warm = if self.sessions_per_second.is_some() { Duration::ZERO } else { interval };
        let begins = Begins::new(rate, self.events, self.updates, firsts, warm.as_secs_f64());
        Ok(Pace::Open { begins, interval_ns: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX) })
    }
}
