//! Append-only logs: the ledger, inventories, alerts, journals.

use super::Item;
use crate::charge::{configured, damage, gtpp};
use std::path::Path;
use trunkline_charge::job::look_through;
use trunkline_charge::ledger::Fault;
use trunkline_commit::{Folder, Keep, survey};

/// Whether it is a segment of a log: 20 digits.
pub fn is_segment(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.extension().is_some_and(|e| e == "log") && stem.len() == 20 && stem.bytes().all(|o| o.is_ascii_digit())
}

/// Whether a folder with such a file has a log: one whose segments are gone has its mark or snapshots still.
pub fn is_part(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_segment(path) || name.ends_with(".snapshot") || name == "durable"
}

/// Whether it is a file of a log.
pub fn is_of_log(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".snapshot", ".opening"].iter().any(|end| name.ends_with(end));
    is_segment(path) || ends || ["durable", "lock", "next.log.part"].contains(&&*name)
}

/// Checks all blocks of a log, its mark and its snapshots.
pub fn check(data: &Path, folder: &Path) -> Item {
    let is_ledger = folder == configured::ledger(data);
    let (kind, keep) = if is_ledger { ("ledger", Keep::All) } else { ("log", Keep::Needed) };
    let item = Item::new(kind, folder, "every record, the mark of what is durable, snapshots");
    let witnesses = if is_ledger { damage::witnesses(data) } else { Vec::new() };
    let disk = match Folder::beside(folder) {
        Ok(disk) => disk,
        Err(e) => return item.unreadable(e),
    };
    let found = match is_ledger {
        true => look_through(&disk, &witnesses),
        false => survey(&disk, keep, &witnesses, &mut |_, _| Ok(())).map_err(Fault::Log),
    };
    match found {
        Err(fault) if fault.is_damage() => item.fault(fault.to_string()),
        Err(fault) => item.unreadable(fault),
        Ok(found) => {
            let gone = found.lost.iter().map(ToString::to_string);
            let strange = match is_ledger {
                true => damage::strange(data),
                false if folder == gtpp::log(data) => damage::strange_received(data),
                false => None,
            };
            let mut item =
                item.faults(strange.into_iter().chain(gone).chain(found.also.iter().map(ToString::to_string)));
            for (from, to) in &found.given_up {
                item.not_checked.push(format!("records {from} to {to}: an earlier repair gave them up"));
            }
            item
        }
    }
}
