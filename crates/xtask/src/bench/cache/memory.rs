//! What an item and an idle connection take.

use super::super::example::number;
use super::super::{Bench, need};
use super::load::{self, KEY_OCTETS};
use super::server::{How, Server, Who};
use std::process::{Child, Command, Stdio};

/// Items that are stored, and octets of a value.
const ITEMS: u32 = 1_000_000;
const VALUE_OCTETS: &str = "100";
/// Connections that are open.
const CONNECTIONS: u32 = 10_000;

/// One processor, and room for all items.
const HOW: How = How { processors: "0", threads: 1, mebibytes: 1024 };

/// What was found of a server, octets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Items that were stored.
    pub items: f64,
    /// Resident memory by item, beyond key and value.
    pub item_resident: f64,
    /// The same by what the server itself tells: items and table.
    pub item_told: f64,
    /// Connections that were opened.
    pub connections: f64,
    /// Resident memory by connection that has asked nothing.
    pub connection_opened: f64,
    /// By connection that has asked, was answered, and is quiet again.
    pub connection_asked: f64,
}

impl Memory {
    /// Whether an item takes less, and a connection, too.
    pub fn is_less_than(&self, other: &Memory) -> bool {
        self.item_resident < other.item_resident && self.connection_asked < other.connection_asked
    }
}

/// Fills a server, then opens connections to another one that is empty.
///
/// # Errors
/// A server cannot be started or loaded.
pub fn measure(bench: &Bench<'_>, who: Who) -> Result<Memory, String> {
    let (items, item_resident, item_told) = item(bench, who)?;
    let connections = CONNECTIONS / if bench.quick { 10 } else { 1 };
    // In one load each connection asks about three times, in the other a few of them ask once.
    let opened = connection(bench, who, connections, 1)?;
    let asked = connection(bench, who, connections, connections / 2)?;
    let memory = Memory {
        items,
        item_resident,
        item_told,
        connections: connections.into(),
        connection_opened: opened,
        connection_asked: asked,
    };
    eprintln!("bench: cache: {who:?}: {memory:?}");
    Ok(memory)
}

/// How many were stored, and what each takes: of the process, and by the server's account.
fn item(bench: &Bench<'_>, who: Who) -> Result<(f64, f64, f64), String> {
    let server = Server::start(bench, who, HOW)?;
    let (before, told_before) = (server.resident_octets(), told_octets(&server, who)?);
    let items = (ITEMS / if bench.quick { 10 } else { 1 }).to_string();
    let mut words = load::words(&["--fill", "--keys", &items, "--value-octets", VALUE_OCTETS]);
    words.extend(load::words(&["--sets", "0", "--seconds", "1"]));
    load::run(bench, &server, "1", &words)?;
    let stored = number(&server.stats(&[])?, "curr_items").max(1.0);
    let own: f64 = [KEY_OCTETS, VALUE_OCTETS].iter().filter_map(|octets| octets.parse::<f64>().ok()).sum();
    let each = |octets: f64| octets / stored - own;
    let told = told_octets(&server, who)? - told_before;
    Ok((stored, each(server.resident_octets() - before), each(told)))
}

/// Octets of segments or slabs, and of the table, as the server tells them. Ours counts the table among them.
fn told_octets(server: &Server, who: Who) -> Result<f64, String> {
    let table = match who {
        Who::Ours => 0.0,
        Who::Theirs => number(&server.stats(&[])?, "hash_bytes"),
    };
    Ok(number(&server.stats(&["slabs"])?, "total_malloced") + table)
}

/// What a connection takes of the process, when so many are open and send so many requests a second in all.
fn connection(bench: &Bench<'_>, who: Who, connections: u32, rate: u32) -> Result<f64, String> {
    /// Until all are open and have asked, milliseconds; and how long the load lasts in all, seconds.
    const OPEN_MS: u64 = 7_000;
    const SECONDS: &str = "9";
    let server = Server::start(bench, who, HOW)?;
    let words = ["--fill", "--keys", "100", "--sets", "0", "--seconds", "1"];
    load::run(bench, &server, "1", &load::words(&words))?;
    let before = server.resident_octets();
    let mut command = Command::new("taskset");
    command.args(["-c", "1"]).arg(&bench.program).args(["cache", "load", &server.address().to_string()]);
    command.args(["--keys", "100", "--sets", "0", "--seconds", SECONDS, "--rate", &rate.to_string()]);
    command.args(["--connections", &connections.to_string()]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn();
    let mut held = Held(child.map_err(|e| format!("taskset: {e}"))?);
    need::pause(OPEN_MS);
    if let Ok(Some(status)) = held.0.try_wait() {
        return Err(format!("{connections} connections cannot be held: {status}"));
    }
    let open = number(&server.stats(&[])?, "curr_connections");
    if open < f64::from(connections) {
        return Err(format!("{open} of {connections} connections are open"));
    }
    Ok((server.resident_octets() - before) / f64::from(connections))
}

/// A load that ends with this value.
struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _waited_for = self.0.wait();
    }
}
