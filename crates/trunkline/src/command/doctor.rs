//! `trunkline doctor`: what this machine can do, what would be lost, and what mends it.

use crate::doctor::facts::{Facts, Interface};
use crate::doctor::gather::{Asked, facts, look_at_files};
use crate::doctor::judge::judge;
use crate::doctor::{Finding, State};
use crate::failure::Failure;
use crate::output::stdout;
use crate::run::config::{Given, load};
use crate::show::figure;
use crate::show::table;
use crate::show::text::{Line, Style, wrap};
use crate::terminal::Terminal;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use trunkline_kit::exit::Exit;

/// Check this machine for packet loss and other problems, with the fix for each
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline doctor -i eth1                     one interface, and the disk of ./trunkline-data\n  \
    trunkline doctor -c trunkline.toml           what that configuration needs\n  \
    trunkline doctor --packets mirror.pcap       whether a mirror port gives both directions, each packet once\n  \
    trunkline doctor --json | jq 'select(.state != \"ok\")'\n\n\
    Nothing is changed. To measure a disk 256 MiB are written to a file without a name.\n\
    Exit code 3: something would be lost.")]
pub struct Doctor {
    /// Interface; repeat the option for more [default: those of the configuration, else those that are up]
    #[arg(short, long = "interface", value_name = "NAME")]
    interface: Vec<String>,
    /// The configuration
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// The data folder [default: that of the configuration]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: Option<PathBuf>,
    /// How long to watch the interfaces
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Write nothing; skips the disk test
    #[arg(long)]
    no_disk: bool,
    /// Check only the packets of this capture file; repeat the option for more
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    packets: Vec<PathBuf>,
    /// Print one JSON object per finding
    #[arg(long)]
    json: bool,
}

impl Doctor {
    /// Finds out and tells.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let findings = if self.packets.is_empty() { self.of_machine()? } else { self.of_packets()? };
        let mut out = stdout();
        if self.json {
            for finding in &findings {
                writeln!(out, "{}", as_json(finding))?;
            }
        } else {
            table::write(&lines(&findings, terminal), terminal, &mut out)?;
        }
        out.flush()?;
        let bad = findings.iter().any(|finding| finding.state == State::Bad);
        Ok(if bad { Exit::Degraded } else { Exit::Done })
    }

    fn of_machine(&self) -> Result<Vec<Finding>, Failure> {
        let mut given = Given { file: self.config.clone(), ..Given::default() };
        if !self.interface.is_empty() {
            given.options.push(("capture", "interfaces", self.interface.join(","), "--interface"));
        }
        if let Some(data) = &self.data {
            given.options.push(("data", "folder", data.to_string_lossy().into_owned(), "--data"));
        }
        let settings = load(&given)?.settings;
        let asked = Asked { time: Duration::from_secs(u64::from(self.seconds)), disks: !self.no_disk };
        Ok(judge(&facts(&settings, &asked)))
    }

    fn of_packets(&self) -> Result<Vec<Finding>, Failure> {
        let mirror = look_at_files(&self.packets).map_err(Failure::Failed)?;
        let name = self.packets.first().map_or_else(String::new, |path| path.display().to_string());
        let interface = Interface { name, is_up: true, mirror: Some(mirror), ..Interface::default() };
        let all = judge(&Facts { interfaces: vec![interface], ..Facts::default() });
        Ok(all.into_iter().filter(|finding| matches!(finding.check, "mirror" | "copies")).collect())
    }
}

fn as_json(finding: &Finding) -> serde_json::Value {
    json!({
        "check": finding.check,
        "subject": (!finding.subject.is_empty()).then_some(&finding.subject),
        "state": finding.state.name(),
        "seen": finding.seen,
        "lost": finding.lost,
        "fix": finding.fix,
    })
}

/// A finding a line, what would be lost and what mends it below; the machine first, then each subject.
fn lines(findings: &[Finding], terminal: &Terminal) -> Vec<Line> {
    let width = findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    let mut subject = "";
    for finding in findings {
        if finding.subject != subject {
            lines.push(Line::new(terminal));
            lines.push(Line::new(terminal).with(Style::Bold, &finding.subject));
            subject = &finding.subject;
        }
        lines.extend(finding_lines(finding, width, terminal));
    }
    lines.push(Line::new(terminal));
    lines.push(total(findings, terminal));
    lines
}

/// Columns before the name of the check: two and the state.
const STATE_COLUMNS: usize = 2 + 4 + 2;

fn finding_lines(finding: &Finding, width: usize, terminal: &Terminal) -> Vec<Line> {
    let style = match finding.state {
        State::Good => Style::Good,
        State::Warn => Style::Warn,
        State::Bad => Style::Bad,
    };
    let indent = STATE_COLUMNS + width + 2;
    let room = terminal.width.saturating_sub(indent).max(20);
    let mut lines = Vec::new();
    for (i, part) in wrap(&finding.seen, room).iter().enumerate() {
        let mut line = Line::new(terminal);
        if i == 0 {
            line = line.with(Style::Plain, "  ").with(style, finding.state.name());
            line.pad(STATE_COLUMNS);
            line.push(Style::Plain, finding.check);
        }
        line.pad(indent);
        lines.push(line.with(Style::Plain, part));
    }
    let below = |line: &mut Vec<Line>, text: &str, style: Style| {
        let mut below = Line::new(terminal);
        below.pad(indent);
        line.push(below.with(style, text));
    };
    for part in finding.lost.iter().flat_map(|lost| wrap(&format!("lost: {lost}"), room)) {
        below(&mut lines, &part, Style::Plain);
    }
    // A command is to be copied: it is never broken.
    if let Some(fix) = &finding.fix {
        below(&mut lines, fix, Style::Bold);
    }
    lines
}

fn total(findings: &[Finding], terminal: &Terminal) -> Line {
    let count = |state: State| findings.iter().filter(|finding| finding.state == state).count() as u64;
    let line = Line::new(terminal);
    match (count(State::Bad), count(State::Warn)) {
        (0, 0) => line.with(Style::Good, "Nothing would be lost."),
        (0, warn) => line.with(Style::Warn, &format!("Nothing would be lost; {}.", worth(warn))),
        (bad, 0) => line.with(Style::Bad, &format!("Packets would be lost: {bad} bad.")),
        (bad, warn) => line.with(Style::Bad, &format!("Packets would be lost: {bad} bad; {}.", worth(warn))),
    }
}

fn worth(warnings: u64) -> String {
    figure::of(warnings, "thing is worth a look", "things are worth a look")
}
