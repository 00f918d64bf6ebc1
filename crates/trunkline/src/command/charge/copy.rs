//! `trunkline charge copy`: ledger and records of a node, beside it, for another one.

use super::place::Place;
use crate::bar::Bar;
use crate::charge::configured;
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::figure;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use trunkline_charge::job::copy;
use trunkline_kit::exit::Exit;

/// Back up ledger and records while the node is running
#[derive(Debug, clap::Args)]
#[command(
    after_help = "For a node that stands by and has been away for longer than the stream keeps, for one that joins, \
    and for keeping.\nDIR is a data folder; DIR/charge must not be there. The copy is as if the node had been switched \
    off at some time\nafter the call: `trunkline charge audit --data DIR` adds it up. Two nodes that are no pair must \
    never serve from\nthe same ledger.\n\nExample:\n  \
    trunkline charge copy --to /mnt/copy && rsync -a /mnt/copy/charge south:/var/lib/trunkline/"
)]
pub struct Copy {
    /// Target data folder
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    to: PathBuf,
    #[command(flatten)]
    place: Place,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Copy {
    /// Copies.
    ///
    /// # Errors
    /// There is nothing to copy, or something in the way; a disk fails.
    pub fn run(&self) -> Result<Exit, Failure> {
        let (from, to) = (configured::folder(self.place.data()), configured::folder(&self.to));
        let none = |e| {
            Failure::Failed(format!(
                "there is no charging node in this data folder ({}: \
            {e})",
                from.display()
            ))
        };
        let (total, mut done, mut bar) = (copy::size(&from).map_err(none)?, 0, Bar::start());
        let copied = copy::copy(&from, &to, |octets| {
            done += octets;
            bar.draw(done, total, || figure::octets(done));
        });
        bar.end();
        let copied = copied.map_err(Failure::Failed)?;
        let (ledger, mut out) = (copied.ledger, stdout());
        if self.json {
            let octets = ledger.octets + copied.octets;
            let all = json!({"first": ledger.first, "last": ledger.next - 1, "files": copied.files, "octets": octets});
            writeln!(out, "{all}")?;
        } else {
            let files = figure::of(copied.files, "file", "files");
            let octets = [ledger.octets, copied.octets].map(figure::octets);
            let to = to.display();
            writeln!(out, "entries {} to {} of the ledger ({})", ledger.first, ledger.next - 1, octets[0])?;
            writeln!(out, "{files} of records ({})", octets[1])?;
            writeln!(out, "in {to}")?;
        }
        Ok(Exit::Done)
    }
}
