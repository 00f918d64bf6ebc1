//! `trunkline verify`: every file of a data folder, one line each: what was checked, and what came of it.

use crate::bar::Bar;
use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::output::stdout;
use crate::same_folder::SameFolder;
use crate::show::{figure, text};
use crate::verify::{Item, Outcome, files};
use serde_json::json;
use std::io::Write;
use trunkline_kit::exit::Exit;

/// Check the files of a data folder for damage, one line each
#[derive(Debug, clap::Args)]
#[command(
    after_help = "May run beside `trunkline run`: nothing is changed. A line says what was checked of a file; what \
    could not be\nchecked is told as such, with the reason. Without --deep the contents of the packet log are not \
    read.\n\nExamples:\n  \
    trunkline verify                                  indexes, logs, pages of databases, heads\n  \
    trunkline verify --deep                           also each packet and each row, by their checksums\n  \
    trunkline verify --deep --json | jq 'select(.outcome != \"whole\")'\n\n\
    Exit codes: 0 all that was checked is whole, 1 the folder cannot be read, 3 a file is damaged or cannot be read, \
    or\nthe folder was exchanged for another one meanwhile."
)]
pub struct Verify {
    #[command(flatten)]
    data: DataFolder,
    /// Read all contents and verify the checksums
    #[arg(long)]
    deep: bool,
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,
}

impl Verify {
    /// Does it.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be listed.
    pub fn run(&self) -> Result<Exit, Failure> {
        // Recording goes first.
        trunkline_spool::idle();
        let folder = SameFolder::of(&self.data.path);
        let files =
            files(&self.data.path).map_err(|e| Failure::Failed(format!("{}: {e}", self.data.path.display())))?;
        let total: u64 = files.iter().map(|file| file.octets).sum();
        let (mut out, mut bar, mut done) = (stdout(), Bar::start(), 0);
        let mut counts = [0u64; 4];
        for file in &files {
            bar.draw(done, total, || format!("{} of {}", figure::octets(done), figure::octets(total)));
            let item = file.check(&self.data.path, self.deep);
            done += file.octets;
            counts[item.outcome as usize] += 1;
            if self.json {
                writeln!(out, "{}", object(&item))?;
            } else {
                line(&mut out, &item)?;
            }
        }
        bar.end();
        let [whole, damaged, unreadable, not_checked] = counts;
        if !self.json {
            writeln!(
                out,
                "{}: {} whole, {} damaged, {} unreadable, {} could not be checked",
                figure::of(files.len() as u64, "file", "files"),
                figure::count(whole),
                figure::count(damaged),
                figure::count(unreadable),
                figure::count(not_checked),
            )?;
        }
        out.flush()?;
        let is_replaced = folder.is_replaced();
        Ok(if damaged + unreadable == 0 && !is_replaced { Exit::Done } else { Exit::Degraded })
    }
}

/// `whole: segment packets/sip/...: index, length; contents not read without --deep`
fn line(out: &mut impl Write, item: &Item) -> std::io::Result<()> {
    let path = item.path.to_string_lossy();
    let mut parts = Vec::new();
    parts.extend((!item.checked.is_empty()).then(|| format!("checked {}", item.checked)));
    parts.extend(item.faults.iter().cloned());
    parts.extend(item.not_checked.iter().map(|why| format!("not checked: {why}")));
    let line = format!("{}: {} {path}: {}", item.outcome.name(), item.kind, parts.join("; "));
    writeln!(out, "{}", text::clean(&line, false))
}

fn object(item: &Item) -> serde_json::Value {
    json!({
        "kind": item.kind, "path": item.path.to_string_lossy(), "outcome": item.outcome.name(),
        "checked": item.checked, "faults": item.faults, "not_checked": item.not_checked,
    })
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Outcome::Whole => "whole",
            Outcome::Damaged => "damaged",
            Outcome::Unreadable => "unreadable",
            Outcome::NotChecked => "could not be checked",
        }
    }
}
