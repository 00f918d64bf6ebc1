//! Programs that are measured: on which processors they are, and what they take of them, of memory and of the disk.

use super::super::{cache, charge, need, web};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to end when it is asked to: files are written first.
const END_PATIENCE: Duration = Duration::from_secs(120);
/// Octets of a sector, as the kernel counts them.
const SECTOR_OCTETS: f64 = 512.0;

/// A process; killed with this value.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a program on processors, as `taskset -c` takes them. What it says is left out.
    ///
    /// # Errors
    /// The system's.
    pub fn start<W: AsRef<OsStr>>(processors: &str, program: &Path, words: &[W]) -> Result<Process, String> {
        let mut command = charge::node::ahead(processors, program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("{}: {e}", program.display()))?;
        Ok(Process { child })
    }

    /// Whether it has ended by itself, and how.
    pub fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap_or_default()
    }

    /// Seconds of processors that it has had.
    pub fn cpu_seconds(&self) -> f64 {
        web::server::cpu_seconds(&self.proc("stat"))
    }

    /// Its resident memory now, octets.
    pub fn resident_octets(&self) -> f64 {
        cache::server::resident_octets(&self.proc("status"))
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        let _gone_already = self.child.kill();
        let _waited_for = self.child.wait();
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Errors
    /// It does not.
    pub fn end(&mut self) -> Result<(), String> {
        let pid = self.child.id().to_string();
        std::process::Command::new("kill").arg(pid).status().map_err(|e| format!("kill: {e}"))?;
        let begun = Instant::now();
        while self.ended().is_none() {
            if begun.elapsed() > END_PATIENCE {
                return Err(format!("process {} does not end", self.child.id()));
            }
            need::pause(20);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the disk of a folder has done, all programs together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disk {
    /// Writes that it was given.
    pub writes: f64,
    /// Octets of them.
    pub octets: f64,
    /// Seconds in which it had something to do.
    pub busy_s: f64,
    /// Flushes of its cache.
    pub flushes: f64,
}

impl Disk {
    /// What it has done so far; none where the folder is on no disk of its own that the system counts.
    pub fn of(folder: &Path) -> Option<Disk> {
        let told = std::process::Command::new("df").arg("--output=source").arg(folder).output().ok()?;
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let name = told.lines().last()?.trim().strip_prefix("/dev/")?.to_owned();
        Disk::read(&std::fs::read_to_string("/proc/diskstats").ok()?, &name)
    }

    /// See the kernel's Documentation/admin-guide/iostats.rst.
    fn read(stats: &str, name: &str) -> Option<Disk> {
        let line = stats.lines().find(|line| line.split_whitespace().nth(2) == Some(name))?;
        let numbers: Vec<f64> = line.split_whitespace().skip(3).filter_map(|word| word.parse().ok()).collect();
        let at = |place: usize| numbers.get(place).copied().unwrap_or(0.0);
        Some(Disk { writes: at(4), octets: at(6) * SECTOR_OCTETS, busy_s: at(9) / 1e3, flushes: at(15) })
    }

    /// What it has done since.
    pub fn since(self, before: Disk) -> Disk {
        Disk {
            writes: self.writes - before.writes,
            octets: self.octets - before.octets,
            busy_s: self.busy_s - before.busy_s,
            flushes: self.flushes - before.flushes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_disk_has_done() {
        let stats = " 254 1 vdb 1 1 1 1 1 1 1 1 1 1 1\n 254 0 vda 10 1 200 3 40 2 800 5 0 600 9 0 0 0 0 70 4\n";
        let disk = Disk::read(stats, "vda").unwrap();
        assert_eq!(disk, Disk { writes: 40.0, octets: 409_600.0, busy_s: 0.6, flushes: 70.0 });
        assert_eq!(Disk::read(stats, "sda"), None);
        assert_eq!(disk.since(disk), Disk::default());
    }
}
