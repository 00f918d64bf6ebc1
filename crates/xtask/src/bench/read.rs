//! Captures read by all programs: packets per CPU second and memory.

use super::measure::{self, Measured, Program};
use super::table;
use super::world::{self, Preset, World};
use super::{Bench, Outcome};
use std::path::Path;

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

/// Reads every world with every program.
///
/// # Errors
/// A world cannot be made.
pub fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let part = if bench.quick { 10 } else { 1 };
    let round = |preset: &'static Preset| {
        let world = world::make(&bench.program, &bench.folder, preset, part)?;
        let programs = measure::programs(&bench.program, &world).into_iter();
        let rows = programs.map(|p| measure_one(&bench.folder, p)).collect();
        world.remove();
        let half = if preset.flat { Some(half(&bench.program, &bench.folder, preset, part * 2)?) } else { None };
        Ok(Round { world, rows, half })
    };
    let rounds = world::PRESETS.iter().map(round).collect::<Result<Vec<Round>, String>>()?;
    let well = rounds.iter().flat_map(|r| &r.rows).all(|(program, measured)| !program.ours || measured.is_ok());
    Ok(Outcome::Measured(table::markdown(&rounds), well))
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
