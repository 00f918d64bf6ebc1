//! `trunkline repair`: damaged logs of graphs and alerts are mended by order of an operator.

use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::output::stdout;
use crate::rights;
use crate::same_folder::SameFolder;
use crate::show::figure;
use crate::verify::mendable_logs;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use trunkline_commit::{Fault, Folder, Gone, Keep, Repaired, Snapshot, Survey, repair, survey};
use trunkline_kit::exit::Exit;
use trunkline_kit::untrusted::shell_word;

/// Parts of a data folder that have such logs.
const PARTS: [&str; 2] = ["alert", "graphs"];

/// Repair damaged logs of graphs and alerts that no process has open: keep intact records, drop lost ones
#[derive(Debug, clap::Args)]
#[command(
    after_help = "`trunkline verify` lists damaged files. Records that are gone keep their numbers; the job begins \
    with what is\nleft, and says in its log that some were given up. Files of graphs whose devices only those knew go \
    to `graphs/aside`.\nThe damaged files stay beside the mended ones as NAME.damaged. Done again, there is nothing \
    left to do.\n\nOthers have their own: `trunkline packets repair`, `trunkline charge repair`.\n\n\
    Exit code 3 if a log cannot be mended, with --dry-run also if anything is to be mended."
)]
pub struct Repair {
    #[command(flatten)]
    data: DataFolder,
    /// Only show what is lost
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object per log
    #[arg(long)]
    json: bool,
}

/// What is told of a damaged log beside the damage.
pub fn hint(data: &Path) -> String {
    let data = shell_word(&data.to_string_lossy()).into_owned();
    format!("; `trunkline repair --data {data} --dry-run` shows what a repair would do")
}

/// What was found, and done.
struct Found {
    survey: Survey,
    done: Repaired,
    /// Up to which record a whole snapshot stands for all: what is gone before it costs nothing.
    snapshot: u64,
}

/// The result of a log.
struct Mended {
    folder: PathBuf,
    outcome: Result<Found, String>,
}

impl Repair {
    /// Does it, or says what it would do.
    ///
    /// # Errors
    /// There is no such folder; root cannot go on as its owner.
    pub fn run(&self) -> Result<Exit, Failure> {
        let data = &self.data.path;
        let same = SameFolder::of(data);
        let logs = mendable_logs(data, &PARTS);
        let logs = logs.map_err(|e| Failure::Failed(format!("{}: {e}", data.display())))?;
        if !self.dry_run {
            rights::write_as_owner(data, &PARTS)?;
        }
        let mut out = stdout();
        let (mut left, mut damaged) = (false, false);
        for folder in &logs {
            let mended = Mended { folder: folder.clone(), outcome: self.mend(folder) };
            left |= mended.outcome.is_err();
            damaged |= mended.outcome.as_ref().is_ok_and(|found| !found.survey.is_whole());
            if self.json {
                writeln!(out, "{}", mended.as_json(self.dry_run))?;
            } else {
                mended.tell(&mut out, self.dry_run)?;
            }
        }
        if logs.is_empty() && !self.json {
            writeln!(out, "{}: no graph or alert logs", data.display())?;
        }
        out.flush()?;
        Ok(if left | same.is_replaced() || damaged && self.dry_run { Exit::Degraded } else { Exit::Done })
    }

    fn mend(&self, folder: &Path) -> Result<Found, String> {
        let opened = if self.dry_run { Folder::beside(folder) } else { Folder::open(folder) };
        let disk = opened.map_err(|error| match error.kind() {
            ErrorKind::ResourceBusy => format!("{error}: stop it first (`trunkline run` or another), then repair"),
            _ => error.to_string(),
        })?;
        let text = |fault: Fault| fault.to_string();
        let survey = survey(&disk, Keep::Needed, &[], &mut |_, _| Ok(())).map_err(text)?;
        let snapshots = Snapshot::all(&disk).map_err(text)?;
        let whole = snapshots.iter().find(|snapshot| snapshot.check(&disk).is_ok());
        let snapshot = whole.map_or(0, |snapshot| snapshot.last);
        let done = if self.dry_run { Repaired::default() } else { repair(&disk, &survey).map_err(text)? };
        Ok(Found { survey, done, snapshot })
    }
}

impl Mended {
    fn tell(&self, out: &mut impl Write, is_dry: bool) -> std::io::Result<()> {
        let folder = self.folder.display();
        let Found { survey, done, snapshot } = match &self.outcome {
            Err(why) => return writeln!(out, "{folder}: not repaired: {why}"),
            Ok(found) if found.survey.is_whole() => return writeln!(out, "{folder}: nothing is damaged"),
            Ok(found) => found,
        };
        survey.lost.iter().try_for_each(|gone| writeln!(out, "{folder}: {gone}"))?;
        survey.also.iter().try_for_each(|why| writeln!(out, "{folder}: {why}"))?;
        let told = if is_dry { "to be given up" } else { "given up" };
        let costs = match survey.lost.last() {
            Some(last) if last.to <= *snapshot => "; a snapshot has what they came to: nothing is lost by it",
            _ => "",
        };
        writeln!(out, "{folder}: {told}: {}{costs}", figure::of(survey.lost(), "record", "records"))?;
        done.written.iter().try_for_each(|name| writeln!(out, "{folder}: written: {name}"))?;
        done.kept.iter().try_for_each(|name| writeln!(out, "{folder}: kept: {name}"))
    }

    fn as_json(&self, is_dry: bool) -> Value {
        let folder = self.folder.to_string_lossy();
        let Found { survey, done, snapshot } = match &self.outcome {
            Err(why) => return json!({ "log": folder, "dry_run": is_dry, "failed": why }),
            Ok(found) => found,
        };
        let gone = |gone: &Gone| json!({ "file": gone.name, "octet": gone.at, "from": gone.from, "to": gone.to });
        json!({
            "log": folder,
            "dry_run": is_dry,
            "whole": survey.is_whole(),
            "gone": survey.lost.iter().map(gone).collect::<Vec<_>>(),
            "also": survey.also.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "in_snapshot_up_to": snapshot,
            "written": done.written,
            "kept": done.kept,
            "next": survey.next,
        })
    }
}
