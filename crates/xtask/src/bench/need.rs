//! What a benchmark needs of the machine, and what is said where it is not there.

use std::path::Path;
use std::process::{Command, Stdio};

/// Why something cannot be measured: a right or a program is missing. None if nothing is.
pub fn missing(root_for: Option<&str>, commands: &[(&str, &str)]) -> Option<String> {
    if let Some(what) = root_for.filter(|_| !is_root()) {
        return Some(format!("only root may {what}: sudo -E cargo xtask bench"));
    }
    let lack: Vec<&str> = commands.iter().filter(|(c, _)| !has(c)).map(|(_, package)| *package).collect();
    (!lack.is_empty()).then(|| format!("apt-get install {}", lack.join(" ")))
}

/// Whether there is a program of this name.
pub fn has(command: &str) -> bool {
    let places = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&places).any(|folder| folder.join(command).is_file())
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().nth(1));
    effective == Some("0")
}

/// Octets free on the file system of a folder, as `df` tells.
pub fn free_octets(folder: &Path) -> u64 {
    let output = Command::new("df").args(["--output=avail", "-B1"]).arg(folder).stderr(Stdio::null()).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next_back().and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}

/// Why a folder's file system has no room for so many octets beside what must stay free; none if it has.
pub fn no_room(folder: &Path, octets: u64) -> Option<String> {
    /// What others are left.
    const KEEP_FREE: u64 = 20 << 30;
    let free = free_octets(folder);
    let gib = |octets: u64| octets >> 30;
    (free < octets.saturating_add(KEEP_FREE))
        .then(|| format!("{} GiB of {} free, and {} must stay free", gib(octets), gib(free), gib(KEEP_FREE)))
}

/// Lets other threads work for a while.
pub fn pause(milliseconds: u64) {
    let until = std::time::Instant::now() + std::time::Duration::from_millis(milliseconds);
    while let Some(left) = until.checked_duration_since(std::time::Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}
