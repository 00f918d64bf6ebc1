//! Graphs: what one core polls and stores, a million interfaces, dead devices, pages of years; beside Cacti's spine and
//! rrdcached. `GRAPH_PARTS="rate pages"` does some of it, and writes no file.

mod cycle;
mod dead;
mod node;
mod pages;
mod peers;
mod process;
mod rate;
mod report;

use super::{Bench, Outcome, need};
use node::Size;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What can be measured alone.
const PARTS: [&str; 5] = ["rate", "peers", "dead", "pages", "cycle"];
/// The variable that says which.
const WHICH: &str = "GRAPH_PARTS";
/// Octets that the largest part needs of the disk.
const ROOM_OCTETS: u64 = 16 << 30;
/// Files that a process must be allowed to open: a socket for each device of the farm.
const DESCRIPTORS: u64 = 10_400;

/// The farm of the parts that measure the rate.
fn size(bench: &Bench<'_>) -> Size {
    Size { devices: if bench.quick { 1000 } else { 10_000 }, interfaces: 50, dead_permille: 0 }
}

/// Everything that was measured; a part that was not asked for is not there.
#[derive(Default)]
pub struct Measured {
    rate: Option<rate::Rate>,
    peers: Option<peers::Peers>,
    dead: Option<dead::Both>,
    pages: Option<pages::Pages>,
    cycle: Option<cycle::Cycle>,
}

/// Measures one part after the other.
///
/// # Errors
/// A program cannot be started, or does not do what it must.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let tools = [("taskset", "util-linux"), ("setsid", "util-linux"), ("wrk", "wrk")];
    if let Some(why) =
        need::missing(None, &tools).or_else(too_small).or_else(|| need::no_room(&bench.folder, ROOM_OCTETS))
    {
        return Ok(Outcome::Skipped(why));
    }
    let asked = std::env::var(WHICH).unwrap_or_default();
    let asked: Vec<&str> = asked.split_whitespace().collect();
    if let Some(wrong) = asked.iter().find(|part| !PARTS.contains(part)) {
        return Err(format!("{WHICH}: there is no part '{wrong}'; there are {}", PARTS.join(", ")));
    }
    let is_asked = |part: &str| asked.is_empty() || asked.contains(&part);
    let mut measured = Measured::default();
    if is_asked("rate") {
        measured.rate = Some(rate::measure(bench)?);
    }
    if is_asked("peers") {
        measured.peers = Some(peers::measure(bench)?);
    }
    if is_asked("dead") {
        measured.dead = Some(dead::measure(bench)?);
    }
    if is_asked("pages") {
        measured.pages = Some(pages::measure(bench)?);
    }
    if is_asked("cycle") {
        measured.cycle = Some(cycle::measure(bench)?);
    }
    let text = report::markdown(&measured);
    if asked.is_empty() {
        return Ok(Outcome::Measured(text, measured.is_well()));
    }
    print!("{}", super::table::wrapped(&text));
    Ok(Outcome::Skipped(format!("the rest of it: {WHICH} asked for {}", asked.join(", "))))
}

/// Why the machine is not enough; none if it is.
fn too_small() -> Option<String> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if processors < 2 {
        return Some("two processors are needed, one for the program and one for the devices".to_owned());
    }
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let most: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    (most < DESCRIPTORS).then(|| format!("{DESCRIPTORS} files are to be open at once, and {most} may be: ulimit -n"))
}

/// Removes what a part has made: the next one needs the room.
fn remove(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        // Millions of files: rm is no slower than we are, and says nothing.
        let done = Command::new("rm").arg("-rf").arg(folder).status().map_err(|e| format!("rm: {e}"))?;
        if !done.success() {
            return Err(format!("{} cannot be removed", folder.display()));
        }
    }
    Ok(())
}

/// Files of an unpacked package of Cacti, as `scripts/setup bench` leaves it.
fn unpacked(bench: &Bench<'_>, path: &str) -> PathBuf {
    bench.repository.path("target/tools/cacti").join(path)
}

impl Measured {
    /// No budget is missed.
    fn is_well(&self) -> bool {
        self.rate.as_ref().is_none_or(rate::Rate::is_well)
            && self.dead.as_ref().is_none_or(dead::Both::is_well)
            && self.pages.as_ref().is_none_or(pages::Pages::is_well)
            && self.cycle.as_ref().is_none_or(cycle::Cycle::is_well)
    }
}
