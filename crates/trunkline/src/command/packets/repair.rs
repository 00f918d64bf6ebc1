//! `trunkline packets repair`: what a crash left behind, and indexes that are missing.

use crate::command::packet_log::{Part, has_log};
use crate::failure::Failure;
use crate::output::stdout;
use crate::same_folder::SameFolder;
use crate::show::figure;
use crate::terminal::Terminal;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use trunkline_kit::exit::Exit;
use trunkline_kit::sums::Origin;
use trunkline_record::identity::{Identity, LogId};
use trunkline_record::index::{Facts, ReadAt, View};
use trunkline_record::job::verify::{Belongs, belongs};
use trunkline_record::job::{FOLDER, KINDS, SegmentFile, Volumes, index_file, repair_log};

/// Repairs.
pub fn run(part: &Part, json: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut out = stdout();
    let mut left = false;
    let folders: Vec<_> = part.data.iter().map(|data| SameFolder::of(data)).collect();
    let mut say = |path: &Path, what: &str| -> std::io::Result<()> {
        if json {
            writeln!(out, "{}", json!({"path": path.to_string_lossy(), "what": what}))
        } else {
            writeln!(out, "{}: {what}", path.display())
        }
    };
    let mut done = 0u64;
    for data in part.data.iter().filter(|data| has_log(data)) {
        let volumes = mended(data, &mut say)?;
        left |= volumes.1;
        done += u64::from(volumes.1);
        for volume in volumes.0.all() {
            let repaired = repair_log(&volume.join(FOLDER), KINDS).map_err(|e| Failure::Failed(e.to_string()))?;
            for (path, octets) in &repaired.kept {
                say(path, &format!("committed with {}", figure::octets(*octets)))?;
            }
            repaired.discarded.iter().try_for_each(|path| say(path, "removed: no whole packet was in it"))?;
            repaired.orphans.iter().try_for_each(|path| say(path, "removed: incomplete leftover"))?;
            repaired.left.iter().try_for_each(|(path, why)| say(path, &format!("not changed: {why}")))?;
            left |= !repaired.left.is_empty();
            done += (repaired.kept.len() + repaired.discarded.len() + repaired.orphans.len()) as u64;
        }
    }
    let logs = part.logs();
    for file in part.segments(part.span(terminal)?)?.iter().filter(|f| !f.growing) {
        match index(file, logs.get(file.source).copied().flatten()) {
            Ok(None) => {}
            Ok(Some(what)) => {
                done += 1;
                say(&file.path, &what)?;
            }
            Err(why) => {
                left = true;
                say(&file.path, &why)?;
            }
        }
    }
    if !json {
        let text = if done == 0 { "nothing to repair".to_owned() } else { figure::of(done, "repair", "repairs") };
        writeln!(out, "{text}")?;
    }
    out.flush()?;
    let is_replaced = folders.iter().any(SameFolder::is_replaced);
    Ok(if left || is_replaced { Exit::Degraded } else { Exit::Done })
}

/// The volumes of a data folder. A note of them that is damaged is put aside, and what it still names noted anew:
/// whether that was so, as other volumes may be missing.
fn mended(data: &Path, say: &mut impl FnMut(&Path, &str) -> std::io::Result<()>) -> Result<(Volumes, bool), Failure> {
    let (volumes, damage) = Volumes::salvaged(data).map_err(|e| Failure::Failed(format!("{}: {e}", data.display())))?;
    let Some(why) = damage else { return Ok((volumes, false)) };
    let kept = volumes.mend(data).map_err(|e| Failure::Failed(format!("{}: {e}", data.display())))?;
    let folders: Vec<_> = volumes.all().map(|folder| folder.display().to_string()).collect();
    let what = format!(
        "{why}: {}; kept as {}, and made anew; name others by --data, or start `trunkline run` with them",
        folders.join(", "),
        kept.display()
    );
    say(&data.join(trunkline_record::job::volumes::FILE), &what)?;
    Ok((volumes, true))
}

/// Makes the index anew if it cannot be used. A segment that is another one than its name says, or of another log, is
/// left as it is, with whatever index it has: nobody knows where its own is.
fn index(file: &SegmentFile, log: Option<LogId>) -> Result<Option<String>, String> {
    let capture = file.open().map_err(|e| e.to_string())?;
    let Some(path) = file.indexes.first() else { return Ok(None) };
    let identity = Identity::of(&capture).map_err(|e| e.to_string())?;
    let own = |facts: &Facts| match belongs(file, (identity.as_ref(), Some(facts)), log) {
        Belongs::Elsewhere(why) => Err(format!("{why}: left as it is, bring back its own or move it away")),
        Belongs::Here | Belongs::Unknown(_) => Ok(()),
    };
    let octets = capture.octets();
    let written = index_file::sums_of(path).filter(|sums| sums.origin != Origin::None && sums.octets != octets);
    let other = written.map(|sums| {
        let was = sums.octets;
        format!(
            "it has {octets} octets, and by its index {was} were written: one of the two was cut or exchanged, bring \
             back its own"
        )
    });
    let opened = index_file::open(path, &capture).and_then(|view| {
        view.check()?;
        Ok(view.facts())
    });
    let why = match opened {
        Ok(facts) => return own(&facts).and_then(|()| other.map_or(Ok(None), Err)),
        Err(_) if !path.exists() => "its index was missing".to_owned(),
        Err(why) => why.to_string(),
    };
    let owner = capture.owner().map_err(|e| e.to_string())?;
    drop(capture);
    let (octets, fault) = index_file::make_again(&file.path, path).map_err(|e| e.fault.to_string())?;
    if let Some(fault) = fault {
        return Err(format!("at octet {}: {}; {why}", fault.offset, fault.fault));
    }
    own(&View::open(octets.clone()).map_err(|e| e.to_string())?.facts())?;
    index_file::write(path, &octets, owner).map_err(|e| format!("its index cannot be written: {e}"))?;
    match other {
        None => Ok(Some(format!("{why}: made anew"))),
        Some(other) => Err(format!("{why}: made anew; {other}")),
    }
}
