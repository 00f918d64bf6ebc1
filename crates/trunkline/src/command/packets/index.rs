//! `trunkline packets index`: any capture made searchable where it lies.

use crate::bar::Bar;
use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::figure;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use trunkline_kit::exit::Exit;
use trunkline_record::index::{Facts, View};
use trunkline_record::job::index_file::{FileAt, make_of_file, places, write};

/// Makes the indexes.
pub fn run(files: &[PathBuf], data: &DataFolder, json: bool) -> Result<Exit, Failure> {
    let (mut out, mut bar, mut bad) = (stdout(), Bar::start(), false);
    for (n, path) in files.iter().enumerate() {
        bar.draw(n as u64, files.len() as u64, || path.display().to_string());
        let made = make(path, &data.path);
        bad |= made.as_ref().map_or(true, |(_, _, fault)| fault.is_some());
        let fault = match &made {
            Ok((.., fault)) => fault.clone(),
            Err(fault) => Some(fault.clone()),
        };
        let made = made.ok();
        if json {
            writeln!(out, "{}", object(path, made.as_ref().map(|(index, facts, _)| (index, facts)), fault.as_deref()))?;
            continue;
        }
        if let Some((index, facts, _)) = &made {
            let (packets, octets) =
                (figure::of(facts.packets, "packet", "packets"), figure::octets(facts.index_octets));
            let part = figure::percent(facts.index_octets, facts.file.octets);
            let whole = if facts.sequential { "; it has to be read from its beginning" } else { "" };
            writeln!(out, "{}: {packets}, index of {octets} ({part}) in {}{whole}", path.display(), index.display())?;
        }
        if let Some(fault) = fault {
            writeln!(std::io::stderr(), "trunkline: {fault}")?;
        }
    }
    bar.end();
    out.flush()?;
    Ok(if bad { Exit::Degraded } else { Exit::Done })
}

/// Where the index went, what it says, and what was damaged.
fn make(path: &Path, data: &Path) -> Result<(PathBuf, Facts, Option<String>), String> {
    let owner = FileAt::open(path).and_then(|file| file.owner()).map_err(|e| format!("{}: {e}", path.display()))?;
    let (octets, fault) = make_of_file(path).map_err(|e| e.to_string())?;
    let facts = View::open(octets.as_slice()).map_err(|e| format!("{}: {e}", path.display()))?.facts();
    let mut failed = String::new();
    for place in places(path, Some(data)) {
        if place.starts_with(data) {
            let _ = place.parent().map(std::fs::create_dir_all);
        }
        match write(&place, &octets, owner) {
            Ok(()) => return Ok((place, facts, fault.map(|e| e.to_string()))),
            Err(e) => failed = format!("cannot write {}: {e}", place.display()),
        }
    }
    Err(failed)
}

fn object(path: &Path, made: Option<(&PathBuf, &Facts)>, fault: Option<&str>) -> serde_json::Value {
    json!({
        "path": path.to_string_lossy(), "index": made.map(|(index, _)| index.to_string_lossy()),
        "packets": made.map(|(_, f)| f.packets), "index_octets": made.map(|(_, f)| f.index_octets),
        "octets": made.map(|(_, f)| f.file.octets), "sequential": made.map(|(_, f)| f.sequential), "fault": fault,
    })
}
