//! The cache beside memcached, on the same processors in one run: requests of every shape by TCP and UDP, memory of
//! items and connections, what stays when memory is short, and how long a set waits for room.

mod hits;
pub mod load;
mod memory;
mod pass;
mod reclaim;
mod report;
pub mod server;

use super::{Bench, Outcome};
use memory::Memory;
use pass::{PASSES, Pass, Row, Verdict};
use reclaim::Sets;
use serde_json::Value;
use server::BOTH;

/// Everything that was measured.
pub struct Measured {
    /// Rounds of a row, and seconds of a round.
    pub rounds: (usize, u32),
    /// Each pass with its rows.
    pub passes: Vec<(&'static Pass, Vec<Row>)>,
    /// Ours, then memcached's.
    pub memory: Vec<Memory>,
    /// Sets with and without room.
    pub sets: Vec<Sets>,
    /// What the example tells of hits.
    pub hits: Value,
    /// How the system's TCP decides when to send.
    pub congestion: String,
}

/// Starts both, loads them in turn, compares.
///
/// # Errors
/// A server cannot be started or loaded.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    if let Some(why) = server::missing() {
        return Ok(Outcome::Skipped(why));
    }
    let memory: Result<Vec<Memory>, String> = BOTH.into_iter().map(|who| memory::measure(bench, who)).collect();
    let (memory, sets, hits) = (memory?, reclaim::measure(bench)?, hits::measure(bench)?);
    let passes: Result<Vec<_>, String> = PASSES.iter().map(|pass| Ok((pass, pass::run(bench, pass)?))).collect();
    let congestion = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    let rounds = pass::rounds(bench);
    let measured = Measured { rounds, passes: passes?, memory, sets, hits, congestion: congestion.trim().to_owned() };
    Ok(Outcome::Measured(report::markdown(&measured), measured.is_well()))
}

impl Measured {
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.passes.iter().flat_map(|(_, rows)| rows)
    }

    /// No row misses its budget by our fault, nothing of ours was lost, and nothing takes more memory than memcached's.
    fn is_well(&self) -> bool {
        let met = |row: &Row| !matches!(row.verdict(), Verdict::Missed | Verdict::LoadIsTheLimit(false));
        let less = match &self.memory[..] {
            [ours, theirs] => ours.is_less_than(theirs),
            _ => false,
        };
        self.rows().all(|row| met(row) && row.ours.failed == 0.0) && less
    }
}
