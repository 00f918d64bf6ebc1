//! `trunkline packets prune`: what leaves now, by limits that are given here.

use crate::command::packet_log::{Part, has_log};
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::figure;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use trunkline_kit::exit::Exit;
use trunkline_record::Class;
use trunkline_record::job::{FOLDER, KINDS, PINS, Volumes};
use trunkline_spool::retention::{Action, ClassRule, Retention, RetentionOptions, Swept};
use trunkline_spool::{Limit, Volume};

/// Removes segments, the oldest first; never what is pinned or being read.
pub fn run(part: &Part, age: Option<Duration>, octets: Option<u64>, json: bool) -> Result<Exit, Failure> {
    if age.is_none() && octets.is_none() {
        return Err(Failure::Usage("--keep-age or --keep-size is required".to_owned()));
    }
    if let Some(data) = part.data.iter().find(|data| !has_log(data)) {
        return Err(Failure::Failed(format!("no packet log in {}", data.display())));
    }
    let rule = ClassRule { age, octets, move_after: None };
    let of = |class: Class| if part.classes().contains(&class) { rule } else { ClassRule::default() };
    let mut left = false;
    let mut out = stdout();
    // A data folder has its pins beside its segments.
    for data in &part.data {
        let volumes = Volumes::of(data)?;
        let unlimited = |path: &Path| Volume { limit: Limit::Octets(u64::MAX), ..Volume::new(path) };
        let options = RetentionOptions {
            folder: PathBuf::from(FOLDER),
            classes: Class::ALL.map(|class| (class.name().to_owned(), of(class))).to_vec(),
            volumes: volumes.all().map(unlimited).collect(),
            slow: None,
            kinds: KINDS,
            keep_free: 0,
            passing: Vec::new(),
            pins: data.join(PINS),
        };
        let failed = |e: trunkline_spool::SpoolError| Failure::Failed(e.to_string());
        let mut retention = Retention::open(options, Duration::ZERO).map_err(failed)?;
        let mut swept = retention.run(SystemTime::now(), Duration::ZERO).map_err(failed)?;
        swept.ages_suspended &= age.is_some();
        left |= !swept.failed.is_empty() || swept.ages_suspended;
        tell(&swept, json, &mut out)?;
    }
    out.flush()?;
    Ok(if left { Exit::Degraded } else { Exit::Done })
}

fn tell(swept: &Swept, json: bool, out: &mut impl Write) -> std::io::Result<()> {
    for removed in &swept.removed {
        let (path, why) = (removed.path.display().to_string(), removed.reason.name());
        if json {
            let moved = removed.action == Action::Move;
            writeln!(out, "{}", json!({"path": path, "octets": removed.octets, "moved": moved, "why": why}))?;
        } else {
            writeln!(out, "{path}: removed, {why}")?;
        }
    }
    for (path, why) in &swept.failed {
        writeln!(std::io::stderr(), "trunkline: {}: {why}", path.display())?;
    }
    if swept.ages_suspended {
        writeln!(
            std::io::stderr(),
            "trunkline: no deletion by age: this clock is far from the time of the newest packet"
        )?;
    }
    if !json {
        let octets = swept.removed.iter().map(|r| r.octets).sum();
        let segments = figure::of(swept.removed.len() as u64, "segment", "segments");
        let used = if swept.in_use > 0 { format!("; {} in use stay", swept.in_use) } else { String::new() };
        writeln!(out, "{segments} removed, {}{used}", figure::octets(octets))?;
    }
    Ok(())
}
