//! `cargo xtask soak cache [--minutes 20] [--program FILE]`: a server with little memory under load by TCP and UDP, and
//! one by a unix socket, for long; every value is checked. The verdict: nothing wrong, memory flat, descriptors back.

mod report;
mod sample;

use crate::bench::build_release;
use crate::repository::Repository;
use sample::{Sample, Watched};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const USAGE: &str = "cargo xtask soak cache [--minutes N] [--program FILE]";
/// A round of loads, after which all connections end and new ones come.
const ROUND_S: u64 = 20;
/// The server's memory, in MiB: written over every few seconds.
const MEMORY_MIB: &str = "8";
/// What the loads of a round ask, each with its own keys; the first is sent by TCP, the second by UDP, the third by a
/// unix socket. Keys expire within seconds where they would within hours, and all are evicted long before they recur.
const LOADS: [&[&str]; 3] = [
    &["--letter=a", "--value-octets=24-6000", "--ttl=0-30", "--zipf=0.9", "--in-flight=4", "--multi-get=3"],
    &["--letter=b", "--value-octets=24-1200", "--ttl=1-10", "--udp", "--in-flight=2"],
    &["--letter=c", "--value-octets=24-40000", "--ttl=0-20", "--zipf=0.6", "--meta", "--multi-get=4"],
];
const LOAD: [&str; 6] = ["--verify", "--json", "--connections=16", "--keys=50000", "--sets=0.3", "--timeout-ms=5000"];

/// A server that ends with the soak.
struct Server {
    child: Child,
    /// Where it listens: by TCP, by UDP; or by a unix socket.
    addresses: Vec<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What all loads said together.
#[derive(Debug, Default)]
struct Sum {
    requests: u64,
    sets: u64,
    hits: u64,
    misses: u64,
    errors: u64,
    closed: u64,
    lost: u64,
    wrong: u64,
    rounds: u64,
    sent_octets: u64,
    trouble: Option<String>,
}

impl Sum {
    fn add(&mut self, load: &Value) {
        let of = |name: &str| load.get(name).and_then(Value::as_u64).unwrap_or(0);
        self.requests += of("requests");
        self.sets += of("sets");
        self.hits += of("hits");
        self.misses += of("misses");
        self.errors += of("errors");
        self.closed += of("closed");
        self.lost += of("lost");
        self.sent_octets += of("sent_octets");
        let wrong = load.get("wrong").and_then(Value::as_object);
        self.wrong += wrong.into_iter().flat_map(|kinds| kinds.values()).filter_map(Value::as_u64).sum::<u64>();
        let trouble = load.get("trouble").and_then(Value::as_str);
        self.trouble = self.trouble.take().or_else(|| trouble.map(str::to_owned));
    }

    fn is_good(&self) -> bool {
        self.requests > 0 && self.wrong == 0 && self.errors == 0 && self.closed == 0
    }
}

/// Soaks and tells the verdict.
///
/// # Errors
/// A program does not start or says nothing.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    let (minutes, program) = parse(options)?;
    let program = match program {
        Some(program) => program,
        None => build_release(repository, &["--package", "trunkline"], Path::new("trunkline"))?,
    };
    let socket = std::env::temp_dir().join(format!("trunkline-soak-{}", std::process::id()));
    let path = socket.to_string_lossy().into_owned();
    let servers =
        [serve(&program, &["-l", "127.0.0.1", "-p", "-1", "-U", "-1"], 2)?, serve(&program, &["-s", &path], 1)?];
    let mut watched = Vec::new();
    for server in &servers {
        watched.push(Watched::new(server.child.id(), &server.addresses[0])?);
    }
    let targets = [servers[0].addresses[0].clone(), servers[0].addresses[1].clone(), format!("unix:{path}")];
    // The first round brings everything into being that stays: what is compared with comes after it.
    let mut sum = Sum::default();
    round(&program, &targets, &mut watched, &mut sum)?;
    let before: Vec<Sample> = watched.iter_mut().map(Watched::idle).collect::<Result<_, _>>()?;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60 * minutes) {
        round(&program, &targets, &mut watched, &mut sum)?;
    }
    let after: Vec<Sample> = watched.iter_mut().map(Watched::idle).collect::<Result<_, _>>()?;
    let (text, good) = report::report(minutes, &sum, &watched, &before, &after);
    println!("{text}");
    Ok(good)
}

fn parse(options: &[String]) -> Result<(u64, Option<PathBuf>), String> {
    let mut options = options.iter().map(String::as_str);
    if options.next() != Some("cache") {
        return Err(USAGE.to_owned());
    }
    let (mut minutes, mut program) = (20, None);
    while let Some(option) = options.next() {
        match (option, options.next()) {
            ("--minutes", Some(number)) => minutes = number.parse().map_err(|_| USAGE.to_owned())?,
            ("--program", Some(file)) => program = Some(PathBuf::from(file)),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok((minutes, program))
}

/// Starts a server, and waits until it has said where it listens.
fn serve(program: &Path, options: &[&str], listeners: usize) -> Result<Server, String> {
    let mut command = Command::new(program);
    command.args(["cache", "-m", MEMORY_MIB, "-t", "2"]).args(options);
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(|e| format!("{}: {e}", program.display()))?;
    let said = child.stderr.take().ok_or("no pipe")?;
    let mut server = Server { child, addresses: Vec::new() };
    let mut lines = BufReader::new(said).lines();
    while server.addresses.len() < listeners {
        let line = lines.next().ok_or("the server ended")?.map_err(|e| e.to_string())?;
        let place = ["TCP ", "UDP ", "unix socket "]
            .iter()
            .find_map(|kind| line.strip_prefix("trunkline cache: ").and_then(|rest| rest.strip_prefix(kind)));
        server.addresses.extend(place.map(str::to_owned));
    }
    // Goes on reading, so that the server never waits for a full pipe.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    Ok(server)
}

/// Three loads at once; samples are taken meanwhile.
fn round(program: &Path, targets: &[String; 3], watched: &mut [Watched], sum: &mut Sum) -> Result<(), String> {
    let seconds = format!("--seconds={ROUND_S}");
    let mut loads = Vec::new();
    for (number, (target, own)) in targets.iter().zip(LOADS).enumerate() {
        let seed = format!("--seed={}", sum.rounds * 3 + number as u64);
        let mut command = Command::new(program);
        command.args(["cache", "load", target, &seconds, &seed]).args(LOAD).args(own).stdout(Stdio::piped());
        loads.push(command.spawn().map_err(|e| format!("{}: {e}", program.display()))?);
    }
    for load in loads {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(load.wait_with_output()));
        let output = loop {
            match told.recv_timeout(Duration::from_secs(1)) {
                Ok(output) => break output.map_err(|e| e.to_string())?,
                Err(_) => watched.iter_mut().try_for_each(Watched::sample)?,
            }
        };
        let line = String::from_utf8_lossy(&output.stdout);
        sum.add(&serde_json::from_str(&line).map_err(|e| format!("a load said no figures: {e}: {line}"))?);
    }
    sum.rounds += 1;
    Ok(())
}
