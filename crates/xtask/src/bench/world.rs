//! The simulated worlds that are read, as capture files.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A world to make.
pub struct Preset {
    /// The simulator's name of it.
    pub name: &'static str,
    /// What it holds, for the table.
    pub what: &'static str,
    /// Calls of the whole world.
    pub calls: u32,
    /// Whether memory must not grow with the number of calls: half the world is read as well.
    pub flat: bool,
    /// What must be reached: packets in a CPU second.
    pub budget_per_second: f64,
    /// The same with every packet recorded and indexed.
    pub recorded_per_second: Option<f64>,
    /// What must not be exceeded: MiB of memory.
    pub budget_mib: u64,
}

/// The worlds of the benchmark, with the budgets of the design.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "busy",
        what: "1,000 G.711 calls at a time for 60 s",
        calls: 1_000,
        flat: false,
        budget_per_second: 3e6,
        recorded_per_second: Some(2e6),
        budget_mib: 100,
    },
    Preset {
        name: "short",
        what: "100,000 short calls without media, 500 a second",
        calls: 100_000,
        flat: true,
        budget_per_second: 1e6,
        recorded_per_second: None,
        budget_mib: 400,
    },
];

/// A world as a file.
pub struct World {
    /// What it is.
    pub preset: &'static Preset,
    /// The capture file.
    pub file: PathBuf,
    /// Its size, octets.
    pub octets: u64,
    /// Its packets.
    pub packets: u64,
    /// Its SIP messages.
    pub sip_messages: u64,
    /// Its calls.
    pub calls: u64,
}

/// Makes a world, or one `part`th of it, and counts what it holds (which also brings the file into the file cache).
///
/// # Errors
/// The simulator or the reader failed.
pub fn make(program: &Path, folder: &Path, preset: &'static Preset, part: u32) -> Result<World, String> {
    eprintln!("bench: making the world '{}'", preset.name);
    let file = folder.join(format!("{}.pcap", preset.name));
    let mut command = Command::new(program);
    command.args(["sim", "--preset", preset.name, "--seed", "1"]);
    if part > 1 {
        command.args(["--calls", &(preset.calls / part).to_string()]);
    }
    let status = command.arg("-w").arg(&file).stdout(Stdio::null()).status().map_err(|e| format!("sim: {e}"))?;
    if !status.success() {
        return Err(format!("trunkline sim --preset {}: {status}", preset.name));
    }
    let octets = file.metadata().map_err(|e| format!("{}: {e}", file.display()))?.len();
    let summary = summary(program, folder, &file)?;
    let count = |field: &str| summary.get(field).and_then(Value::as_u64).ok_or(format!("no '{field}' in the summary"));
    let (packets, sip_messages, calls) = (count("packets")?, count("sip_messages")?, count("calls")?);
    Ok(World { preset, file, octets, packets, sip_messages, calls })
}

/// The last line of `trunkline read --json`.
fn summary(program: &Path, folder: &Path, file: &Path) -> Result<Value, String> {
    let folder = folder.join("count");
    let mut command = Command::new(program);
    let output = command.arg("read").arg(file).args(["--json", "--data"]).arg(&folder).output();
    let output = output.map_err(|e| format!("read: {e}"))?;
    std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let last = output.stdout.split(|&o| o == b'\n').rfind(|line| !line.is_empty()).unwrap_or_default();
    let value: Value = serde_json::from_slice(last).map_err(|e| format!("the summary of read --json: {e}"))?;
    value.get("summary").cloned().ok_or("no summary at the end".to_owned())
}

impl World {
    /// Deletes the file; what is left is deleted with the folder.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.file);
    }
}
