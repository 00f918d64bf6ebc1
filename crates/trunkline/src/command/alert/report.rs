//! `trunkline alert reports` and `trunkline alert report`.

use super::node::Place;
use super::{begin, rows, said, tell, time};
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table::text;
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use trunkline_kit::exit::Exit;

/// A report.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline alert report weekly                     as text\n  \
    trunkline alert report weekly -w weekly.html      as a page; .eml is the mail, .json the figures\n  \
    trunkline alert report weekly --at 2026-11-23T07:00 --send\n\n\
    The report covers the period that ends at this time. See docs/manual/reports.md.")]
pub struct Ask {
    /// Name of the report: [report.NAME] in the rule files
    #[arg(value_name = "NAME")]
    report: String,
    /// Write it to a file: FILE.html, FILE.eml, FILE.txt or FILE.json
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    write: Option<PathBuf>,
    /// Time of the report: 2026-11-23T07:00, or seconds since 1970 [default: now]
    #[arg(long, value_name = "TIME", value_parser = begin)]
    at: Option<i64>,
    /// Send it to its channels now; exit code 1 if the delivery fails
    #[arg(long, conflicts_with = "write")]
    send: bool,
    #[command(flatten)]
    place: Place,
}

impl Ask {
    pub fn run(&self) -> Result<Exit, Failure> {
        if self.send {
            return self.send();
        }
        let form = match (&self.write, self.place.json) {
            (Some(path), _) => form(path)?,
            (None, true) => "json",
            (None, false) => "text",
        };
        let reply = self.place.ask(&json!({ "do": "report", "report": self.report, "at_s": self.at, "form": form }))?;
        let content = match &reply["content"] {
            Value::String(text) => text.clone(),
            figures => format!("{figures}\n"),
        };
        let Some(path) = &self.write else {
            let mut out = stdout();
            out.write_all(content.as_bytes())?;
            out.flush()?;
            return Ok(Exit::Done);
        };
        let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
        std::fs::write(path, content).map_err(failed)?;
        tell(&self.place, &json!({ "written": path }), |_, out| writeln!(out, "{} is written", path.display()))
    }

    fn send(&self) -> Result<Exit, Failure> {
        let reply = self.place.ask(&json!({ "do": "send-report", "report": self.report, "at_s": self.at }))?;
        let messages = reply["messages"].as_array().cloned().unwrap_or_default();
        tell(&self.place, &reply, |_, out| {
            messages.iter().try_for_each(|message| {
                let why = said(&message["why"]);
                let why = if why.is_empty() { why } else { format!(": {why}") };
                writeln!(out, "{}: {}{why}", said(&message["channel"]), said(&message["outcome"]))
            })
        })?;
        let arrived = messages.iter().all(|message| message["outcome"] == "delivered");
        Ok(if arrived { Exit::Done } else { Exit::Failed })
    }
}

/// What a file is by the end of its name.
fn form(path: &std::path::Path) -> Result<&'static str, Failure> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("html" | "htm") => Ok("html"),
        Some("eml") => Ok("mail"),
        Some("txt") => Ok("text"),
        Some("json") => Ok("json"),
        _ => Err(Failure::Usage(format!("{}: a report is written to .html, .eml, .txt or .json", path.display()))),
    }
}

/// One that could not be made, or whose last message was given up, is exit code 3.
pub fn list(place: &Place, terminal: &Terminal) -> Result<Exit, Failure> {
    let reply = place.ask(&json!({ "do": "reports" }))?;
    let columns = ["report", "next", "tells of", "to", "last", "outcome", "missed", "trouble"].map(text).to_vec();
    tell(place, &reply, |reply, out| {
        rows(&reply["reports"], columns, terminal, out, |report| {
            let to: Vec<String> = report["channels"].as_array().into_iter().flatten().map(said).collect();
            let missed = if report["missed"] == 0 { String::new() } else { said(&report["missed"]) };
            let (next, last) = (time(&report["next"]), time(&report["last"]["at"]));
            let (name, span, trouble) = (said(&report["report"]), said(&report["span"]), said(&report["trouble"]));
            vec![name, next, span, to.join(", "), last, outcome(&report["last"]), missed, trouble]
        })
    })?;
    let is_bad = |report: &Value| {
        let lost = |message: &Value| message["outcome"] == "given up" || message["outcome"] == "left in doubt";
        !report["trouble"].is_null() || report["last"]["messages"].as_array().into_iter().flatten().any(lost)
    };
    let any = reply["reports"].as_array().into_iter().flatten().any(is_bad);
    Ok(if any { Exit::Degraded } else { Exit::Done })
}

/// The result of the messages of a report: one word where it is the same of all.
fn outcome(last: &Value) -> String {
    let messages: Vec<&Value> = last["messages"].as_array().into_iter().flatten().collect();
    let one = |message: &&Value| (said(&message["outcome"]), said(&message["why"]));
    let Some((outcome, why)) = messages.first().map(one) else { return String::new() };
    if messages.iter().all(|message| message["outcome"] == messages[0]["outcome"]) {
        return if why.is_empty() { outcome } else { format!("{outcome}: {why}") };
    }
    let told = messages.iter().map(|message| format!("{} {}", said(&message["channel"]), said(&message["outcome"])));
    told.collect::<Vec<_>>().join(", ")
}
