//! The web over a store of calls: what the API answers under load, and how long the Calls page lets one wait in a
//! browser.

mod http;
pub mod load;
mod pages;
mod report;
pub mod server;

use super::{Bench, Outcome, calls, need};
use load::{CONNECTIONS, How, Load, Loaded};
use serde_json::Value;
use server::Server;
use std::path::Path;

/// Calls, where no store is kept: enough for the API, made in seconds.
const CALLS: u64 = 500_000;
/// Seconds of each question, and before them to warm up.
const SECONDS: u32 = 5;
const SECONDS_WARM: u32 = 1;

/// What was asked of the API, and how it went.
pub struct Row {
    name: &'static str,
    /// The path without what comes before all of them.
    path: String,
    /// Octets of an answer.
    octets: usize,
    loaded: Loaded,
    /// CPU seconds of the server meanwhile.
    cpu_seconds: f64,
}

/// Everything that was measured.
pub struct Measured {
    made: Value,
    rows: Vec<Row>,
    /// A file of the same octets as the 100 newest calls, served by nginx; or why there is none.
    peer: Result<Loaded, String>,
    /// Highest resident memory of the server, KiB.
    memory_kib: u64,
    /// The steps in the browser; or why there are none.
    pages: Result<Vec<pages::Step>, String>,
}

/// Serves, asks, opens pages.
///
/// # Errors
/// The store cannot be made, or the server does not answer.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    if let Some(why) = need::missing(None, &[("wrk", "wrk")]) {
        return Ok(Outcome::Skipped(why));
    }
    let store = match calls::store(bench, if bench.quick { CALLS / 10 } else { CALLS })? {
        Ok(store) => store,
        Err(skipped) => return Ok(skipped),
    };
    let server = Server::start(bench, &store.folder)?;
    let (session, token) = server.sign_in(&["calls.read", "numbers.read"])?;
    let seconds = if bench.quick { 1 } else { SECONDS };
    let script = bench.folder.join("paced.lua");
    let load = Load {
        base: server.base(),
        token: &token,
        connections: CONNECTIONS,
        seconds,
        seconds_warm: SECONDS_WARM,
        script: &script,
    };
    let mut rows = vec![];
    for (name, path) in questions(&server, &token)? {
        rows.push(row(&server, &load, &token, name, path)?);
    }
    let peer = newest(&server, &token).and_then(|answer| peer(bench, &answer, seconds));
    let pages = pages::walk(bench, &server, &session);
    let memory_kib = server.memory_kib();
    drop(server);
    let measured = Measured { made: store.made, rows, peer, memory_kib, pages };
    Ok(Outcome::Measured(report::markdown(&measured), measured.is_well()))
}

/// What is asked: a name, and a path.
fn questions(server: &Server, token: &str) -> Result<Vec<(&'static str, String)>, String> {
    let call = server.json(token, "/calls?limit=1&filter=has:streams")?;
    let call = call["calls"][0]["id"].as_str().ok_or("no call has streams")?.to_owned();
    Ok(vec![
        ("session", "/session".to_owned()),
        (NEWEST, "/calls?limit=100".to_owned()),
        (COMPRESSED, "/calls?limit=100".to_owned()),
        ("callers of a block", "/calls?limit=100&filter=caller:%2B44207001234*".to_owned()),
        ("low scores", "/calls?limit=100&filter=mos%3C3".to_owned()),
        (ONE_CALL, format!("/calls/{call}")),
        ("its intervals", format!("/calls/{call}/intervals")),
        ("summary", "/calls/summary?buckets=0".to_owned()),
        ("histogram", "/calls/summary?buckets=150".to_owned()),
        ("system", "/system".to_owned()),
    ])
}

const NEWEST: &str = "100 newest calls";
const COMPRESSED: &str = "the same, compressed";
/// Each look stands in the audit log, and one user may make 3,000 in a minute.
const ONE_CALL: &str = "one call, paced";

fn newest(server: &Server, token: &str) -> Result<String, String> {
    Ok(server.get(token, "/calls?limit=100")?.body)
}

fn row(server: &Server, load: &Load<'_>, token: &str, name: &'static str, path: String) -> Result<Row, String> {
    let octets = server.get(token, &path)?.body.len();
    let how = match name {
        COMPRESSED => How::Compressed,
        ONE_CALL => How::Paced,
        _ => How::Plain,
    };
    load.run(&path, how, load.seconds_warm)?;
    let before = server.cpu_seconds();
    let loaded = load.run(&path, how, load.seconds)?;
    let cpu_seconds = server.cpu_seconds() - before;
    eprintln!("bench: {name}: {loaded:?}");
    Ok(Row { name, path, octets, loaded, cpu_seconds })
}

/// The same octets as a file, served by nginx: what HTTP alone costs.
fn peer(bench: &Bench<'_>, answer: &str, seconds: u32) -> Result<Loaded, String> {
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).is_file());
    let program = program.ok_or("nginx is not installed: apt-get install nginx-light")?;
    let peer = server::Peer::start(program, &bench.folder.join("nginx"), answer)?;
    let script = bench.folder.join("paced.lua");
    let load = Load {
        base: peer.base(),
        token: "",
        connections: CONNECTIONS,
        seconds,
        seconds_warm: SECONDS_WARM,
        script: &script,
    };
    load.run("/calls.json", How::Plain, load.seconds_warm)?;
    load.run("/calls.json", How::Plain, load.seconds)
}

impl Measured {
    /// Every answer came, and no page missed its budget.
    fn is_well(&self) -> bool {
        let answered = self.rows.iter().all(|row| row.loaded.failed == 0 && row.loaded.requests > 0);
        answered && self.pages.iter().flatten().all(pages::Step::is_well)
    }
}
