//! A ledger that is damaged: who knows what of it was durable, and what people are told.

use super::{configured, gtpp, records};
use crate::failure::Failure;
use std::path::Path;
use trunkline_charge::job::records::checkpoint::{self, Unusable};
use trunkline_charge::job::{received_strange, received_witness, witness};
use trunkline_charge::ledger::Fault;
use trunkline_commit::{Folder, Witness};
use trunkline_kit::untrusted::shell_word;

/// Those who know which entries of the ledger of a data folder were durable. A cursor that cannot be read knows
/// nothing: that is told by who writes its files.
pub fn witnesses(data: &Path) -> Vec<Witness> {
    let records = Folder::beside(&records::files(data)).ok().and_then(|folder| witness(&folder).ok().flatten());
    let received = Folder::beside(&gtpp::received_files(data)).ok();
    let received = received.and_then(|folder| received_witness(&folder).ok().flatten());
    records.into_iter().chain(received).collect()
}

/// That charging records were made of another ledger than the one of a data folder.
pub fn strange(data: &Path) -> Option<String> {
    let ledger = Folder::beside(&configured::ledger(data)).ok()?;
    let records = Folder::beside(&records::files(data)).ok()?;
    match checkpoint::load_of(&ledger, &records) {
        Err(Unusable::Another(why)) => Some(why),
        _ => None,
    }
}

/// That received records were made of another log than the one of a data folder's charging gateway.
pub fn strange_received(data: &Path) -> Option<String> {
    let files = Folder::beside(&gtpp::received_files(data)).ok()?;
    received_strange(&files, &Folder::beside(&gtpp::log(data)).ok()?)
}

/// Why a ledger cannot be read: one that is damaged is told with what can be said and what cannot.
pub fn failure(data: &Path, fault: &Fault) -> Failure {
    if !fault.is_damage() {
        return Failure::Failed(format!("charging: {fault}"));
    }
    let text = format!(
        "{}: {}; `trunkline charge repair --data {} --dry-run` shows what a repair would do (docs/manual/charging.md)",
        configured::ledger(data).display(),
        told(fault),
        shell_word(&data.to_string_lossy())
    );
    Failure::Damaged(text)
}

/// The damage of a ledger, and of which entries nothing can be said.
pub fn told(fault: &Fault) -> String {
    let unknown = fault.gone().map_or_else(String::new, |gone| match gone.last {
        last if last > gone.from => format!("; nothing can be said of entries {} to {last}", gone.from),
        _ => format!("; nothing can be said of entry {}", gone.from),
    });
    format!("the ledger is damaged: {fault}{unknown}")
}
