//! What ran where: the machine and the versions of the programs, without a date.

use std::path::Path;
use std::process::Command;

/// Lines about the machine and the programs.
pub fn describe(trunkline: &Path, beside: &[[&str; 2]]) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let memory = field("/proc/meminfo", "MemTotal").and_then(|m| m.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0);
    let system = field_of("/etc/os-release", "PRETTY_NAME", '=').unwrap_or_else(|| "unknown system".to_owned());
    let mut lines = vec![format!("{cores} cores of {processor}, {} GiB of memory, {system}", memory / 1024 / 1024)];
    let program = trunkline.to_string_lossy();
    lines.extend(first_line([program.as_ref(), "--version"]));
    lines.extend(beside.iter().filter_map(|command| first_line(*command)));
    lines
}

fn field(path: &str, name: &str) -> Option<String> {
    field_of(path, name, ':')
}

fn field_of(path: &str, name: &str, mark: char) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let (_, value) = text.lines().filter_map(|line| line.split_once(mark)).find(|(key, _)| key.trim() == name)?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// The first line with a digit that a program says about its version.
fn first_line(command: [&str; 2]) -> Option<String> {
    let output = Command::new(command[0]).arg(command[1]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains(|c: char| c.is_ascii_digit()))?;
    Some(line.split(" (Git").next().unwrap_or(line).trim().to_owned())
}
