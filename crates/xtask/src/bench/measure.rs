//! Running one program under GNU time: CPU seconds, time passed, highest resident memory.

use super::world::World;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// The longest run, seconds.
const RUN_SECONDS_MAX: u32 = 900;
/// What GNU time prints for [`parse`].
pub const FORMAT: &str = "%e %U %S %M";

/// A program with its arguments.
pub struct Program {
    /// As the table shows it.
    pub name: String,
    /// Whether it is ours.
    pub ours: bool,
    /// The program and its arguments.
    command: Vec<OsString>,
}

/// What a run cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Time that passed, seconds.
    pub wall_seconds: f64,
    /// CPU time in the program, seconds.
    pub user_seconds: f64,
    /// CPU time in the kernel for it, seconds.
    pub system_seconds: f64,
    /// Highest resident memory, KiB.
    pub memory_kib: u64,
}

impl Measured {
    /// CPU time in all, seconds.
    pub fn cpu_seconds(&self) -> f64 {
        self.user_seconds + self.system_seconds
    }

    /// The run with less CPU time, with the higher memory of both.
    pub fn better(self, other: Measured) -> Measured {
        let memory_kib = self.memory_kib.max(other.memory_kib);
        let less = if other.cpu_seconds() < self.cpu_seconds() { other } else { self };
        Measured { memory_kib, ..less }
    }
}

/// Whether GNU time is there.
///
/// # Errors
/// It is not.
pub fn check_time() -> Result<(), String> {
    let found = Command::new("time").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.map(|_| ()).map_err(|_| "GNU time is needed: apt-get install time".to_owned())
}

/// The programs that read a world.
pub fn programs(trunkline: &Path, world: &World) -> Vec<Program> {
    let file = world.file.as_os_str();
    let command = |words: &[&str]| -> Vec<OsString> {
        words.iter().map(|w| if *w == "FILE" { file.to_owned() } else { OsString::from(*w) }).collect()
    };
    let ours = |threads: &str, more: &[&str]| {
        let mut words = vec![trunkline.as_os_str().to_owned()];
        words.extend(command(&["read", "FILE", "--threads", threads, "--data", "DATA"]));
        words.extend(command(more));
        words
    };
    let program = |name: &str, ours: bool, command| Program { name: name.to_owned(), ours, command };
    vec![
        program("trunkline read, 1 thread", true, ours("1", &[])),
        program("trunkline read, 2 threads", true, ours("2", &[])),
        program("trunkline read --record, 1 thread", true, ours("1", &["--record"])),
        program("tshark -q -z rtp,streams", false, command(&["tshark", "-n", "-q", "-r", "FILE", "-z", "rtp,streams"])),
        program("sngrep -N -I", false, command(&["sngrep", "-N", "-q", "-F", "-l", "1000000", "-I", "FILE"])),
        program("tcpdump -w /dev/null", false, command(&["tcpdump", "-r", "FILE", "-w", "/dev/null"])),
    ]
}

/// Runs a program once, with a fresh data folder, within limits of time and memory.
///
/// # Errors
/// It is not there, failed, or came to a limit.
pub fn run(program: &Program, folder: &Path) -> Result<Measured, String> {
    let (data, costs) = (folder.join("data"), folder.join("costs"));
    let place = |word: &OsString| if word == "DATA" { data.clone().into_os_string() } else { word.clone() };
    let limited = format!("ulimit -v {}; exec \"$@\"", memory_limit_kib());
    let status = Command::new("time")
        .args(["-q", "-f", FORMAT, "-o"])
        .arg(&costs)
        .args(["timeout", &RUN_SECONDS_MAX.to_string(), "sh", "-c", &limited, "sh"])
        .args(program.command.iter().map(place))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|e| format!("time: {e}"))?;
    let _ = std::fs::remove_dir_all(&data);
    match status.code() {
        Some(0) => {}
        // Ours: done, and something in the capture was lost.
        Some(3) if program.ours => {}
        Some(124) => return Err(format!("did not end within {RUN_SECONDS_MAX} s")),
        Some(127) => return Err("not installed".to_owned()),
        _ => return Err(format!("failed: {status}")),
    }
    let text = std::fs::read_to_string(&costs).map_err(|e| format!("time's output: {e}"))?;
    parse(&text).ok_or_else(|| format!("time printed {text:?}"))
}

/// Three quarters of the machine's memory: a program that wants more fails, and the machine goes on.
fn memory_limit_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok());
    total.unwrap_or(8 * 1024 * 1024) / 4 * 3
}

/// `wall user system memory`, on the last line.
pub fn parse(text: &str) -> Option<Measured> {
    let mut words = text.lines().next_back()?.split(' ');
    let mut seconds = || words.next()?.parse::<f64>().ok();
    let (wall_seconds, user_seconds, system_seconds) = (seconds()?, seconds()?, seconds()?);
    Some(Measured { wall_seconds, user_seconds, system_seconds, memory_kib: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_time_prints() {
        let run = parse("Command exited with non-zero status 3\n1.50 1.25 0.25 2048\n").unwrap();
        assert_eq!((run.wall_seconds, run.cpu_seconds(), run.memory_kib), (1.5, 1.5, 2048));
        assert_eq!(parse("time: cannot run\n"), None);
    }

    #[test]
    fn the_better_run_keeps_the_higher_memory() {
        let run =
            |user_seconds, memory_kib| Measured { wall_seconds: 1.0, user_seconds, system_seconds: 0.0, memory_kib };
        assert_eq!(run(2.0, 10).better(run(1.0, 5)), run(1.0, 10));
        assert_eq!(run(1.0, 5).better(run(2.0, 10)), run(1.0, 10));
    }
}
