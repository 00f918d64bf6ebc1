//! Packets per CPU second and memory, ours and other programs', in one run: `cargo xtask bench [--quick]`.

mod machine;
mod measure;
mod table;
mod world;

use crate::repository::Repository;
use measure::{Measured, Program};
use std::path::{Path, PathBuf};
use std::process::Command;
use world::{Preset, World};

/// Where the worlds and the data folders lie meanwhile; ignored by git, deleted at the end.
const FOLDER: &str = "bench/work";
/// Runs of each program on each world.
const RUNS: u32 = 3;
/// A program that took longer than this is not run again, seconds.
const AGAIN_SECONDS_MAX: f64 = 60.0;

/// One world read by all programs.
pub struct Round {
    /// The world.
    pub world: World,
    /// Each program with its best run, or why there is none.
    pub rows: Vec<(Program, Result<Measured, String>)>,
    /// What our program (one thread) cost on half the calls, where memory must not grow with their number.
    pub half: Option<Measured>,
}

/// Measures and writes bench/results.md (not with `--quick`); true if every program of ours ran.
///
/// # Errors
/// A wrong option, the program cannot be built, or a world cannot be made.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    let quick = match options {
        [] => false,
        [quick] if quick == "--quick" => true,
        _ => return Err("the only option is --quick".to_owned()),
    };
    measure::check_time()?;
    let program = build(repository)?;
    let folder = repository.path(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{FOLDER}: {e}"))?;
    let outcome = all_worlds(&program, &folder, quick);
    std::fs::remove_dir_all(&folder).map_err(|e| format!("{FOLDER}: {e}"))?;
    let results = outcome?;
    let text = table::markdown(&results, &machine::describe(&program));
    print!("{text}");
    if !quick {
        std::fs::write(repository.path(table::PATH), text).map_err(|e| format!("{}: {e}", table::PATH))?;
    }
    Ok(results.iter().flat_map(|r| &r.rows).all(|(program, measured)| !program.ours || measured.is_ok()))
}

/// Builds the release program, or takes the one that `TRUNKLINE` names.
///
/// # Errors
/// It does not build.
pub fn build(repository: &Repository) -> Result<PathBuf, String> {
    if let Some(program) = std::env::var_os("TRUNKLINE") {
        return Ok(program.into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--locked", "--package", "trunkline", "--release"])
        .current_dir(repository.path(""))
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        return Err("trunkline does not build".to_owned());
    }
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let target = here.ancestors().nth(2).ok_or("no target folder")?;
    Ok(target.join("release/trunkline"))
}

fn all_worlds(program: &Path, folder: &Path, quick: bool) -> Result<Vec<Round>, String> {
    let part = if quick { 10 } else { 1 };
    let round = |preset: &'static Preset| {
        let world = world::make(program, folder, preset, part)?;
        let rows = measure::programs(program, &world).into_iter().map(|p| measure_one(folder, p)).collect();
        world.remove();
        let half = if preset.flat { Some(half(program, folder, preset, part * 2)?) } else { None };
        Ok(Round { world, rows, half })
    };
    world::PRESETS.iter().map(round).collect()
}

fn half(program: &Path, folder: &Path, preset: &'static Preset, part: u32) -> Result<Measured, String> {
    let world = world::make(program, folder, preset, part)?;
    let ours = measure::programs(program, &world).into_iter().find(|p| p.ours).ok_or("no program of ours")?;
    let measured = measure::run(&ours, folder);
    world.remove();
    measured
}

/// Runs a program several times and keeps its run with the least CPU time, with the highest memory of all.
fn measure_one(folder: &Path, program: Program) -> (Program, Result<Measured, String>) {
    let mut best: Result<Measured, String> = Err("not run".to_owned());
    for _ in 0..RUNS {
        match measure::run(&program, folder) {
            Ok(run) => {
                eprintln!("bench: {}: {:.2} s CPU, {} MiB", program.name, run.cpu_seconds(), run.memory_kib / 1024);
                let long = run.wall_seconds > AGAIN_SECONDS_MAX;
                best = Ok(best.map_or(run, |before| before.better(run)));
                if long {
                    break;
                }
            }
            Err(reason) => {
                eprintln!("bench: {}: {reason}", program.name);
                return (program, Err(reason));
            }
        }
    }
    (program, best)
}
