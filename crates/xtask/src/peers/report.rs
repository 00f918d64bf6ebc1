//! What became of each peer: a line for people, an object for programs, and the closing line.

use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};

/// Lines at the end of a log that are shown.
const SHOWN_LINES: usize = 100;

/// What became of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is as the peer says, but for what is known.
    Passed,
    /// Something is not.
    Failed,
    /// It cannot run here.
    NotAvailable,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::NotAvailable => "not available",
        })
    }
}

/// A peer and what became of it.
#[derive(Debug)]
pub struct Verdict {
    /// The peer's name.
    pub name: String,
    /// Its version, if it is set up.
    pub version: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// What it compared, or why it failed or is not available.
    pub note: String,
    /// Differences that are known, as `NAME: reason`.
    pub known: Vec<String>,
    /// How long its set-up took, or the look for it, in seconds.
    pub setup_seconds: f64,
    /// How long it ran, in seconds.
    pub run_seconds: f64,
    /// What it printed.
    pub log: Option<PathBuf>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<14} {}", self.outcome, self.name)?;
        if let Some(version) = &self.version {
            write!(f, " {version} ({:.1} s to set up, {:.1} s to run)", self.setup_seconds, self.run_seconds)?;
        }
        write!(f, ": {}", self.note)?;
        self.known.iter().try_for_each(|known| write!(f, "\n{:<14} known: {known}", ""))
    }
}

impl Verdict {
    /// For programs.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name, "version": self.version, "outcome": self.outcome.to_string(), "note": self.note,
            "known": self.known, "setup_seconds": self.setup_seconds, "run_seconds": self.run_seconds,
            "log": self.log.as_ref().map(|path| path.display().to_string()),
        })
    }

    /// The end of the log, each line moved to the right; nothing if there is none.
    pub fn shown_log(&self) -> String {
        let text = self.log.as_ref().map(|path| read(path)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].iter().map(|line| format!("    {line}\n")).collect()
    }
}

fn count(verdicts: &[Verdict], outcome: Outcome) -> usize {
    verdicts.iter().filter(|verdict| verdict.outcome == outcome).count()
}

/// The closing line.
pub fn closing(verdicts: &[Verdict]) -> String {
    let [passed, failed, not_available] =
        [Outcome::Passed, Outcome::Failed, Outcome::NotAvailable].map(|outcome| count(verdicts, outcome));
    format!("{passed} passed, {failed} failed, {not_available} not available")
}

/// All verdicts, for programs.
pub fn to_json(verdicts: &[Verdict]) -> Value {
    json!({
        "peers": verdicts.iter().map(Verdict::to_json).collect::<Vec<_>>(),
        "passed": count(verdicts, Outcome::Passed),
        "failed": count(verdicts, Outcome::Failed),
        "not_available": count(verdicts, Outcome::NotAvailable),
    })
}

/// The last line of a log that is not blank.
pub fn last_line(log: &Path) -> String {
    let text = read(log);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| "nothing was printed".to_owned(), |line| line.trim().to_owned())
}

/// A log's text; what is not UTF-8 is replaced.
pub fn read(log: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(name: &str, outcome: Outcome, version: Option<&str>) -> Verdict {
        Verdict {
            name: name.to_owned(),
            version: version.map(str::to_owned),
            outcome,
            note: "5 calls".to_owned(),
            known: vec![],
            setup_seconds: 0.04,
            run_seconds: 2.46,
            log: None,
        }
    }

    #[test]
    fn a_line_for_each_and_one_for_all() {
        let mut passed = verdict("kamailio", Outcome::Passed, Some("5.6.3-2"));
        assert_eq!(passed.to_string(), "passed         kamailio 5.6.3-2 (0.0 s to set up, 2.5 s to run): 5 calls");
        passed.known = vec!["code: told otherwise".to_owned()];
        assert!(passed.to_string().ends_with(": 5 calls\n               known: code: told otherwise"));
        let absent = verdict("asterisk", Outcome::NotAvailable, None);
        assert_eq!(absent.to_string(), "not available  asterisk: 5 calls");
        let all = [passed, absent, verdict("x", Outcome::Failed, None), verdict("y", Outcome::Passed, None)];
        assert_eq!(closing(&all), "2 passed, 1 failed, 1 not available");
        assert_eq!(closing(&[]), "0 passed, 0 failed, 0 not available");
        let json = to_json(&all);
        assert_eq!((json["passed"].as_u64(), json["peers"][1]["outcome"].as_str()), (Some(2), Some("not available")));
    }
}
