//! What one dead device in ten does to the others: `crates/graph/examples/cycle.rs` polls a farm without and with them.

use super::super::Bench;
use super::super::example::{self, number};
use super::node::{Farm, Size};
use super::size;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Of a thousand devices so many are dead.
pub const DEAD_PERMILLE: u32 = 100;
/// Seconds from one cycle to the next: 500,000 readings a second are due.
pub const STEP_S: u32 = 2;
/// How much longer a cycle may be.
pub const BUDGET_PERCENT: f64 = 5.0;
const SECONDS: &str = "30";

/// What the example tells of a farm without and of one with dead devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Both {
    /// Without, with.
    pub told: [Value; 2],
}

impl Both {
    /// By how much a cycle is longer beside dead devices, percent.
    pub fn longer_percent(&self) -> f64 {
        let [without, with] = self.told.each_ref().map(|told| number(told, "cycle_s"));
        (with / without.max(1e-9) - 1.0) * 100.0
    }

    /// The cycle is as long, and no live device is left out.
    pub fn is_well(&self) -> bool {
        let whole = |told: &Value| number(told, "missing") == 0.0 && number(told, "cycles") > 0.0;
        self.longer_percent() < BUDGET_PERCENT && self.told.iter().all(whole)
    }
}

/// Polls both.
pub fn measure(bench: &Bench<'_>) -> Result<Both, String> {
    let program = example::build(bench, "trunkline-graph", "cycle")?;
    let of = |dead_permille| poll(bench, &program, Size { dead_permille, ..size(bench) });
    Ok(Both { told: [of(0)?, of(DEAD_PERMILLE)?] })
}

fn poll(bench: &Bench<'_>, program: &Path, size: Size) -> Result<Value, String> {
    let farm = Farm::start(bench, "1", size, None)?;
    let seconds = if bench.quick { "6" } else { SECONDS };
    let output = Command::new("taskset")
        .args(["-c", "0"])
        .arg(program)
        .args([farm.port.to_string(), size.devices.to_string(), size.interfaces.to_string(), STEP_S.to_string()])
        .args([seconds, &size.dead_permille.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("taskset: {e}"))?;
    let told = example::last_json(&output.stdout).ok_or_else(|| format!("no figures: {}", output.status))?;
    eprintln!("bench: graph: {told}");
    Ok(told)
}
