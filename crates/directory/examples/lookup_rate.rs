//! Look-ups a second out of OpenLDAP's server with 100,000 subscribers, beside clients that ask one after the other:
//! `cargo run --release -p trunkline-directory --example lookup_rate [SECONDS]`.
//!
//! It starts its own servers. Each row is of look-ups in random order by an indexed attribute; processor time is that
//! of the client and that of the servers, in user and system mode.

#[path = "../../kit/tests/shared/eventually.rs"]
mod eventually;
#[path = "../../kit/tests/shared/ports.rs"]
mod ports;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../tests/all/slapd/world.rs"]
mod world;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use trunkline_directory::{Completion, Directory, DirectorySection, Ended, Identity, Kind, LookedUp, Running, start};
use world::{Server, Subscriber, Tree, is_installed};

const SUBSCRIBERS: usize = 100_000;
/// Look-ups of `ldapsearch`, which reads them from a file.
const SERIAL: usize = 20_000;

/// What a row is measured with.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    servers: usize,
    connections: u16,
    window: u32,
    outstanding: usize,
    remember: Duration,
}

/// What came of it.
struct Measured {
    look_ups: usize,
    seconds: f64,
    client_seconds: f64,
    server_seconds: f64,
    /// Microseconds of the median, of 99 of 100, and of the longest.
    latency: Option<[u128; 3]>,
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    if !is_installed() {
        return;
    }
    let tree = Tree::new(world::ldif(SUBSCRIBERS));
    let servers = [tree.serve(), tree.serve()];
    println!("| client | look-ups/s | p50 us | p99 us | most us | client CPU us each | server CPU us each |");
    println!("|---|---|---|---|---|---|---|");
    if let Some(measured) = ldapsearch(&tree, &servers[0]) {
        show("ldapsearch, one after the other", &measured);
    }
    let remember = Duration::ZERO;
    let row = |name, servers, connections, window, outstanding| Row {
        name,
        servers,
        connections,
        window,
        outstanding,
        remember,
    };
    for row in [
        row("one after the other", 1, 1, 1, 1),
        row("1 server, 1 connection, window 64", 1, 1, 64, 64),
        row("1 server, 4 connections, window 64", 1, 4, 64, 256),
        row("2 servers, 2 connections each, window 64", 2, 2, 64, 256),
        Row { remember: Duration::from_secs(600), ..row("all remembered", 1, 1, 64, 256) },
    ] {
        show(row.name, &engine(row, &servers[..row.servers], Duration::from_secs(seconds)));
    }
}

fn show(name: &str, measured: &Measured) {
    let [median, most_of, most] = measured.latency.map_or([const { String::new() }; 3], |l| l.map(|us| us.to_string()));
    let each = |seconds: f64| seconds * 1e6 / measured.look_ups as f64;
    println!(
        "| {name} | {:.0} | {median} | {most_of} | {most} | {:.1} | {:.1} |",
        measured.look_ups as f64 / measured.seconds,
        each(measured.client_seconds),
        each(measured.server_seconds),
    );
}

/// The package's own client: it reads numbers from a file and asks for one after the other on one connection.
fn ldapsearch(tree: &Tree, server: &Server) -> Option<Measured> {
    let program = world::program("ldapsearch")?;
    let mut random = StdRng::seed_from_u64(1);
    let mut numbers = String::new();
    (0..SERIAL).for_each(|_| writeln!(numbers, "{}", any(&mut random).mobile).expect("a string takes all"));
    std::fs::write(tree.path("numbers"), numbers).expect("a file");
    let (before, began) = (server.processor_seconds(), Instant::now());
    let mut child = Command::new(program)
        .args(["-x", "-LLL", "-H", &server.url(), "-b", "ou=people,dc=example", "-f"])
        .arg(tree.path("numbers"))
        .args(["(&(objectClass=inetOrgPerson)(mobile=%s))", "uid", "employeeType", "departmentNumber"])
        .stdout(Stdio::null())
        .spawn()
        .expect("ldapsearch runs");
    let mut client_seconds = 0.0;
    // Its processor time is read while it is there, and gone with it.
    while child.try_wait().expect("its state").is_none() {
        client_seconds = world::processor_seconds(child.id()).unwrap_or(client_seconds);
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let seconds = began.elapsed().as_secs_f64();
    let server_seconds = server.processor_seconds() - before;
    Some(Measured { look_ups: SERIAL, seconds, client_seconds, server_seconds, latency: None })
}

fn any(random: &mut StdRng) -> Subscriber {
    Subscriber::number(random.random_range(0..SUBSCRIBERS))
}

fn engine(row: Row, servers: &[Server], time: Duration) -> Measured {
    let mut load = Load::new(row, servers);
    // All that is asked for comes into memory: the server's, and ours where that is measured.
    load.run(if row.remember.is_zero() { Duration::from_secs(1) } else { Duration::from_secs(30) });
    let own = || world::processor_seconds(std::process::id()).unwrap_or_default();
    let theirs = || servers.iter().map(Server::processor_seconds).sum::<f64>();
    let (own_before, theirs_before) = (own(), theirs());
    let (seconds, mut latencies) = load.run(time);
    let (client_seconds, server_seconds) = (own() - own_before, theirs() - theirs_before);
    latencies.sort_unstable();
    let at = |share: usize| latencies[(latencies.len() - 1) * share / 100];
    let latency = Some([at(50), at(99), at(100)]);
    Measured { look_ups: latencies.len(), seconds, client_seconds, server_seconds, latency }
}

/// Look-ups in random order, so many at once.
struct Load {
    directory: Directory,
    completions: Receiver<Completion>,
    _running: Running,
    outstanding: usize,
    random: StdRng,
    /// When each began, by its token.
    began: Vec<Instant>,
}

impl Load {
    fn new(row: Row, servers: &[Server]) -> Load {
        let fields = ["account = uid required", "plan = employeeType", "credit = departmentNumber"];
        let section = DirectorySection {
            servers: servers.iter().map(Server::url).collect(),
            base: "ou=people,dc=example".to_owned(),
            filters: vec!["(&(objectClass=inetOrgPerson)(mobile={msisdn}))".to_owned()],
            attributes: fields.map(String::from).into(),
            connections: row.connections,
            window: row.window,
            remember: row.remember,
            ..DirectorySection::default()
        };
        let (sender, completions) = channel();
        let tell = move |completion| drop(sender.send(completion));
        let (directory, running) = start(section.options().expect("settings"), Box::new(tell)).expect("it starts");
        let (outstanding, random) = (row.outstanding, StdRng::seed_from_u64(2));
        Load { directory, completions, _running: running, outstanding, random, began: Vec::new() }
    }

    /// For so long: seconds, and the microseconds that each took.
    fn run(&mut self, time: Duration) -> (f64, Vec<u128>) {
        let (from, mut open, mut latencies) = (Instant::now(), 0, Vec::new());
        while from.elapsed() < time || open > 0 {
            while open < self.outstanding && from.elapsed() < time {
                let identity = Identity::new(Kind::Msisdn, any(&mut self.random).mobile);
                self.began.push(Instant::now());
                self.directory.look_up(identity, self.began.len() as u64 - 1).expect("there is room");
                open += 1;
            }
            let completion = self.completions.recv().expect("each has an end");
            open -= 1;
            latencies.push(self.began[completion.token as usize].elapsed().as_micros());
            assert!(matches!(completion.ended, Ended::LookedUp(LookedUp::Found(..))), "{:?}", completion.ended);
        }
        (from.elapsed().as_secs_f64(), latencies)
    }
}
