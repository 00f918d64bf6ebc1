//! `trunkline charge repair`: a damaged ledger is mended by order of an operator.

use super::place::Place;
use crate::charge::{configured, damage, records};
use crate::failure::Failure;
use crate::output::stdout;
use crate::rights;
use crate::show::figure;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_charge::job::{Mended, TERMS, mend};
use trunkline_commit::{Folder, Gone, Options};
use trunkline_kit::exit::Exit;

/// Repair a damaged ledger of a stopped node: keep intact entries, drop lost ones
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Entries that are gone keep their numbers, and are told of by `trunkline charge audit` from then on. The \
    damaged\nfiles stay beside the mended ones as NAME.damaged. Sessions that ended in entries that are gone are \
    closed, as far\nas the open charging records tell it. Done again, there is nothing left to do. A node of a pair \
    is better given\nthe other one's ledger: `trunkline charge copy`.\n\nExit code 3 with --dry-run if there is \
    anything to mend."
)]
pub struct Repair {
    #[command(flatten)]
    place: Place,
    /// Only show what is lost and what a repair would do
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Repair {
    /// Does it, or says what it would do.
    ///
    /// # Errors
    /// There is no ledger, a node serves it, it is one of a pair; the disk fails.
    pub fn run(&self) -> Result<Exit, Failure> {
        let data = self.place.data();
        let (ledger, terms) = (self.place.ledger(), self.place.ledger().join(TERMS));
        if !ledger.is_dir() {
            return Err(Failure::Failed(format!("no ledger in {}", ledger.display())));
        }
        if terms.exists() && !self.dry_run {
            let why = "this ledger is one of several nodes: take a copy of another node's (trunkline charge copy), or \
                remove this file if it is to go on alone for good";
            return Err(Failure::Failed(format!("{}: {why}", terms.display())));
        }
        if !self.dry_run {
            rights::write_as_owner(data, &[configured::FOLDER])?;
        }
        let disk = Arc::new(self.folder(&ledger)?);
        let files = records::files(data);
        let records = if files.is_dir() { Some(self.folder(&files)?) } else { None };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |unix| unix.as_secs());
        let how = (Options::default(), i64::try_from(now).unwrap_or(i64::MAX), self.dry_run);
        let mended = mend(&disk, records.as_ref(), &damage::witnesses(data), how);
        let mended = mended.map_err(|fault| Failure::Failed(format!("{}: {fault}", ledger.display())))?;
        let mut out = stdout();
        if self.json {
            writeln!(out, "{}", self.as_json(&mended))?;
        } else {
            self.tell(&mut out, &mended)?;
        }
        out.flush()?;
        Ok(if self.dry_run && !mended.is_whole() { Exit::Degraded } else { Exit::Done })
    }

    fn folder(&self, path: &std::path::Path) -> Result<Folder, Failure> {
        let opened = if self.dry_run { Folder::beside(path) } else { Folder::open(path) };
        opened.map_err(|error| match error.kind() {
            ErrorKind::ResourceBusy => {
                let why = "stop it first (`trunkline charge serve`, `trunkline run` or another), then repair";
                Failure::Failed(format!("{}: {error}: {why}", path.display()))
            }
            _ => Failure::Failed(format!("{}: {error}", path.display())),
        })
    }

    fn tell(&self, out: &mut impl Write, mended: &Mended) -> std::io::Result<()> {
        if mended.is_whole() {
            return writeln!(out, "nothing is damaged: the next entry is {}", mended.next);
        }
        mended.lost.iter().try_for_each(|gone| writeln!(out, "{gone}"))?;
        mended.also.iter().try_for_each(|why| writeln!(out, "{why}"))?;
        let entries = mended.untold.iter().map(|(from, to)| to - from + 1).sum();
        let told = if self.dry_run { "to be given up" } else { "given up" };
        writeln!(out, "{told}: {}", figure::of(entries, "entry", "entries"))?;
        let (accounts, sessions) = (mended.accounts as u64, mended.sessions as u64);
        writeln!(out, "accounts affected, at most: {accounts}")?;
        writeln!(out, "sessions affected, at most: {sessions}; of these ended by the repair: {}", mended.closed)?;
        let made = mended.records_made.map_or_else(|| "an unknown number".to_owned(), |made| made.to_string());
        let open = mended.records_open;
        writeln!(
            out,
            "CDRs affected: {made} made of entries that are gone (they stay), {open} open that may lack usage"
        )?;
        mended.written.iter().try_for_each(|name| writeln!(out, "written: {name}"))?;
        mended.kept.iter().try_for_each(|name| writeln!(out, "kept: {name}"))?;
        writeln!(out, "the next entry is {}", mended.next)
    }

    fn as_json(&self, mended: &Mended) -> Value {
        let gone = |gone: &Gone| json!({ "file": gone.name, "octet": gone.at, "from": gone.from, "to": gone.to });
        let given_up = |(from, to): &(u64, u64)| json!({ "from": from, "to": to });
        json!({
            "dry_run": self.dry_run,
            "whole": mended.is_whole(),
            "gone": mended.lost.iter().map(gone).collect::<Vec<_>>(),
            "given_up": mended.untold.iter().map(given_up).collect::<Vec<_>>(),
            "also": mended.also,
            "accounts": mended.accounts,
            "sessions": mended.sessions,
            "sessions_ended": mended.closed,
            "cdrs_made": mended.records_made,
            "cdrs_open": mended.records_open,
            "written": mended.written,
            "kept": mended.kept,
            "next": mended.next,
        })
    }
}
