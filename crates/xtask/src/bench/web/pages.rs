//! The Calls page in a browser: `ui/e2e/pace.mjs` opens it, scrolls and filters, and tells how long each step took.

use super::super::log::median;
use super::super::{Bench, need};
use super::server::Server;
use serde_json::Value;
use std::process::{Command, Stdio};

/// Rounds, each in a fresh browser. The first finds a store of which nothing has been asked yet.
const ROUNDS: u32 = 8;
const ROUNDS_QUICK: u32 = 2;

/// A step on the page.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What was done.
    pub name: String,
    /// The longest that it may take, milliseconds.
    pub budget_ms: f64,
    /// Until the rows could be used, each round, milliseconds.
    pub rounds_ms: Vec<f64>,
}

impl Step {
    /// The first time: what it asks for may have to come from the disk.
    pub fn first_ms(&self) -> f64 {
        self.rounds_ms.first().copied().unwrap_or_default()
    }

    /// In the middle of the others.
    pub fn median_ms(&self) -> f64 {
        median(self.again().iter().copied())
    }

    /// At worst of the others.
    pub fn most_ms(&self) -> f64 {
        self.again().iter().copied().fold(0.0, f64::max)
    }

    /// Whether every round but the first met the budget.
    pub fn is_well(&self) -> bool {
        !self.again().is_empty() && self.most_ms() <= self.budget_ms
    }

    fn again(&self) -> &[f64] {
        self.rounds_ms.get(1..).unwrap_or_default()
    }
}

/// Takes the steps some times.
///
/// # Errors
/// What is missing, or what the page did not do.
pub fn walk(bench: &Bench<'_>, server: &Server, session: &str) -> Result<Vec<Step>, String> {
    if let Some(why) = need::missing(None, &[("node", "nodejs"), ("chromium", "chromium")]) {
        return Err(why);
    }
    let ui = bench.repository.path("ui");
    if !ui.join("node_modules/playwright-core").is_dir() || !ui.join("dist/index.html").is_file() {
        return Err("the pages are not built: make ui, before the program".to_owned());
    }
    let mut node = Command::new("node");
    node.args(["e2e/pace.mjs", &server.origin(), &if bench.quick { ROUNDS_QUICK } else { ROUNDS }.to_string()]);
    let output = node.current_dir(ui).env("TRUNKLINE_COOKIE", session).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| format!("node: {e}"))?;
    if !output.status.success() {
        return Err(format!("e2e/pace.mjs: {}", output.status));
    }
    let steps: Option<Vec<Step>> =
        output.stdout.split(|&o| o == b'\n').filter(|line| !line.is_empty()).map(step).collect();
    steps.filter(|steps| !steps.is_empty()).ok_or_else(|| "e2e/pace.mjs told no figures".to_owned())
}

/// `{"step": .., "budget_ms": .., "rounds_ms": [..]}`.
fn step(line: &[u8]) -> Option<Step> {
    let value: Value = serde_json::from_slice(line).ok()?;
    Some(Step {
        name: value["step"].as_str()?.to_owned(),
        budget_ms: value["budget_ms"].as_f64()?,
        rounds_ms: value["rounds_ms"].as_array()?.iter().filter_map(Value::as_f64).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_as_slow_as_its_slowest_round_but_the_first() {
        let step = step(br#"{"step": "x", "budget_ms": 200, "rounds_ms": [300, 90.5, 210, 100]}"#).unwrap();
        assert_eq!((step.first_ms(), step.median_ms(), step.most_ms(), step.is_well()), (300.0, 100.0, 210.0, false));
        assert!(Step { budget_ms: 210.0, ..step.clone() }.is_well());
        assert!(!Step { rounds_ms: vec![1.0], ..step }.is_well());
        assert_eq!(super::step(b"no"), None);
    }
}
