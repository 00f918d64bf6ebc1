//! A store of synthetic calls: made for one benchmark and taken away with it, or kept for several.

use super::example::{self, number};
use super::{Bench, Outcome, need};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Names a folder whose store is used, and made first if there is none; nothing in it is deleted.
pub const KEPT: &str = "TRUNKLINE_BENCH_STORE";
/// The days over which calls are spread.
pub const DAYS: u64 = 5;
/// Calls of the store that is kept.
pub const MANY: u64 = 10_000_000;
/// What each of them takes of the disk at most, octets.
const CALL_OCTETS_MAX: u64 = 860;
/// What was told when the store was made.
const MADE: &str = "made.json";

/// A store of calls.
pub struct Calls {
    /// The days.
    pub folder: PathBuf,
    /// What makes and asks it.
    pub program: PathBuf,
    /// How many calls it has, its octets, and the seconds that it took.
    pub made: Value,
}

/// The store: of so many calls, or the one that is kept.
///
/// # Errors
/// It cannot be made. `Ok(Err(..))`: there is no room for it.
pub fn store(bench: &Bench<'_>, calls: u64) -> Result<Result<Calls, Outcome>, String> {
    let kept = std::env::var_os(KEPT).map(PathBuf::from);
    let calls = if kept.is_some() && !bench.quick { MANY } else { calls };
    let folder = kept.filter(|_| !bench.quick).unwrap_or_else(|| bench.folder.join("store"));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let program = example::build(bench, "trunkline-store", "search_speed")?;
    if let Some(made) = known(&folder) {
        return Ok(Ok(Calls { folder, program, made }));
    }
    if let Some(why) = need::no_room(&folder, calls * CALL_OCTETS_MAX) {
        return Ok(Err(Outcome::Skipped(why)));
    }
    eprintln!("bench: writing {calls} calls");
    let words = ["make".to_owned(), folder.display().to_string(), calls.to_string(), DAYS.to_string()];
    let made = example::run(&program, &words)?;
    std::fs::write(folder.join(MADE), made.to_string()).map_err(|e| format!("{MADE}: {e}"))?;
    Ok(Ok(Calls { folder, program, made }))
}

fn known(folder: &Path) -> Option<Value> {
    let made: Value = serde_json::from_slice(&std::fs::read(folder.join(MADE)).ok()?).ok()?;
    (number(&made, "calls") > 0.0).then_some(made)
}
