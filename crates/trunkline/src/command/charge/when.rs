//! What commands about calls and bills have in common: the span of time, the profile, and how failures are told.

use crate::charge::bill::Failed;
use crate::charge::damage;
use crate::failure::Failure;
use crate::moment;
use crate::search;
use crate::show::figure;
use crate::show::table::Row;
use crate::show::text::{Line as Cell, Style};
use crate::terminal::Terminal;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::Value;
use std::path::{Path, PathBuf};
use trunkline_charge::compare::{Profile, read_profile};
use trunkline_charge::tariff::{self, Plan};
use trunkline_kit::config::Mistake;
use trunkline_kit::untrusted::cell as csv;
use trunkline_store::Skipped;

/// A span of time.
#[derive(Debug, clap::Args)]
pub struct Span {
    /// Start time; without --to, until now
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// End time; a day is included
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
}

impl Span {
    /// Nanoseconds, the begin in it, the end not; none where neither option is there.
    pub fn read(&self, terminal: &Terminal) -> Result<Option<(i64, i64)>, Failure> {
        if self.from.is_none() && self.to.is_none() {
            return Ok(None);
        }
        let wrong = |option: &'static str| move |why: String| Failure::Usage(format!("{option}: {why}"));
        let (Some(from), to) = (self.from.as_deref(), self.to.as_deref()) else {
            return Err(Failure::Usage("--to needs --from".to_owned()));
        };
        let (from, _) = moment::span(from, &terminal.zone).map_err(wrong("--from"))?;
        let to = match to {
            // A day counts as a whole; a moment is that moment.
            Some(text) => {
                let (first, after) = moment::span(text, &terminal.zone).map_err(wrong("--to"))?;
                if text.len() == 10 { after } else { first }
            }
            None => nanoseconds(Timestamp::now()),
        };
        if from >= to && self.to.is_none() {
            return Err(Failure::Usage("--from is in the future".to_owned()));
        }
        if from >= to {
            return Err(Failure::Usage("--to must be after --from".to_owned()));
        }
        Ok(Some((from, to)))
    }
}

/// The day before this one.
pub fn yesterday(zone: &TimeZone) -> Result<(i64, i64), Failure> {
    let failed = |e: jiff::Error| Failure::Failed(e.to_string());
    let today = Timestamp::now().to_zoned(zone.clone()).start_of_day().map_err(failed)?;
    let before = today.checked_sub(1.day()).map_err(failed)?;
    Ok((nanoseconds(before.timestamp()), nanoseconds(today.timestamp())))
}

fn nanoseconds(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX)
}

/// A span for people.
pub fn shown((from, to): (i64, i64), zone: &TimeZone) -> String {
    format!("{} to {}", figure::second(from, zone), figure::second(to, zone))
}

/// How numbers and bills are written.
#[derive(Debug, clap::Args)]
pub struct Profiled {
    /// Profile of number formats and bill columns, a TOML file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    profile: Option<PathBuf>,
}

impl Profiled {
    /// Reads it.
    ///
    /// # Errors
    /// All mistakes of the file.
    pub fn read(&self) -> Result<Profile, Failure> {
        let Some(path) = &self.profile else { return Ok(Profile::default()) };
        read_profile(&path.display().to_string(), &text(path)?).map_err(|mistakes| wrong(&mistakes))
    }
}

/// Reads a plan.
///
/// # Errors
/// All mistakes of the file.
pub fn plan(path: &Path) -> Result<Plan, Failure> {
    tariff::read(&path.display().to_string(), &text(path)?).map_err(|mistakes| wrong(&mistakes))
}

fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))
}

fn wrong(mistakes: &[Mistake]) -> Failure {
    Failure::Failed(mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// A line of comma-separated values: what stands at each of these places of an object.
pub fn csv_line(columns: &[&str], of: &Value) -> String {
    let value = |name: &&str| match name.split('.').fold(of, |of, part| &of[part]) {
        Value::Null => String::new(),
        Value::String(text) => csv(text),
        other => csv(&other.to_string()),
    };
    columns.iter().map(value).collect::<Vec<_>>().join(",")
}

/// A row of plain texts.
pub fn cells(texts: &[String], terminal: &Terminal) -> Row {
    Row { cells: texts.iter().map(|text| Cell::new(terminal).with(Style::Plain, text)).collect(), below: Vec::new() }
}

/// What failed of a data folder.
pub fn failure(data: &Path, failed: Failed) -> Failure {
    match failed {
        Failed::Store(error) => search::failure(error),
        Failed::Ledger(fault) => damage::failure(data, &fault),
        other => Failure::Failed(other.to_string()),
    }
}

/// Tells days that were passed over.
pub fn tell_skipped(skipped: &[Skipped]) {
    for day in skipped {
        eprintln!("trunkline: {}: skipped", day.why);
    }
}
