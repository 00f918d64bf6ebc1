//! Programs that capture at an interface and write what they capture to a disk.

use crate::bench::example::number;
use crate::bench::measure::{self, Measured};
use crate::bench::need;
use crate::bench::wire::{IN, Wire};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to begin, and to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(60);
/// A program that writes nothing for so long has written what came, milliseconds.
const QUIET_MS: u64 = 1500;
/// The ring between kernel and program, of all programs, MiB.
pub const RING_MIB: u32 = 128;

/// A program that captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorder {
    /// `trunkline run` with this source and a ring of so many MiB.
    Ours(&'static str, u32),
    /// `tcpdump -w`.
    Tcpdump,
    /// `dumpcap -w`.
    Dumpcap,
    /// `netsniff-ng --out`.
    Netsniff,
}

/// A program that captures at the moment.
pub struct Recording {
    recorder: Recorder,
    folder: PathBuf,
    child: Child,
    pid: String,
}

/// What a program recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    /// Packets in its files.
    pub in_file: u64,
    /// Packets that it says were dropped.
    pub told: u64,
    /// What it cost.
    pub cost: Measured,
}

impl Recorder {
    /// As the table shows it.
    pub fn name(self) -> String {
        match self {
            Recorder::Ours(source, _) => format!("trunkline run, {source}"),
            Recorder::Tcpdump => "tcpdump -w".to_owned(),
            Recorder::Dumpcap => "dumpcap -w".to_owned(),
            Recorder::Netsniff => "netsniff-ng --out".to_owned(),
        }
    }

    /// Whether it is ours.
    pub fn is_ours(self) -> bool {
        matches!(self, Recorder::Ours(..))
    }

    /// Whether it is installed.
    pub fn is_there(self) -> bool {
        match self {
            Recorder::Ours(..) => true,
            Recorder::Tcpdump => need::has("tcpdump"),
            Recorder::Dumpcap => need::has("dumpcap"),
            Recorder::Netsniff => need::has("netsniff-ng"),
        }
    }

    /// Starts it and waits until it captures.
    ///
    /// # Errors
    /// It does not.
    pub fn start(self, wire: &Wire, program: &Path, folder: &Path) -> Result<Recording, String> {
        let folder = folder.join("recorded");
        let failed = |e: std::io::Error| format!("{}: {e}", self.name());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let said = File::create(folder.join("said")).map_err(failed)?;
        let (costs, pid) = (folder.join("costs"), folder.join("pid"));
        let mut command = wire.within(&["time", "-q", "-f", measure::FORMAT, "-o"]);
        command.arg(&costs).args(["sh", "-c", "echo $$ >\"$0\"; exec \"$@\""]).arg(&pid);
        command.args(self.command(program, &folder).map_err(failed)?);
        command.stdout(said.try_clone().map_err(failed)?).stderr(said).stdin(Stdio::null());
        let child = command.spawn().map_err(|e| format!("ip: {e}"))?;
        let mut recording = Recording { recorder: self, folder, child, pid: String::new() };
        recording.wait_until_ready()?;
        recording.pid = std::fs::read_to_string(&pid).map_err(failed)?.trim().to_owned();
        Ok(recording)
    }

    /// Program and arguments; everything it writes lies in `folder`.
    fn command(self, program: &Path, folder: &Path) -> std::io::Result<Vec<OsString>> {
        let file = folder.join(if self == Recorder::Dumpcap { "out.pcapng" } else { "out.pcap" });
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        Ok(match self {
            Recorder::Ours(source, ring) => {
                let config = folder.join("run.toml");
                std::fs::write(&config, format!("[capture]\nsource = \"{source}\"\nring = \"{ring} MiB\"\n"))?;
                let mut all = vec![program.into(), "run".into(), "-c".into(), config.into()];
                all.extend(words(&["-i", IN, "--data"]));
                all.push(folder.join("data").into());
                all
            }
            Recorder::Tcpdump => {
                let ring = (RING_MIB * 1024).to_string();
                let mut all = words(&["tcpdump", "-n", "-i", IN, "-B", &ring, "-Z", "root", "-w"]);
                all.push(file.into());
                all
            }
            Recorder::Dumpcap => {
                let mut all = words(&["dumpcap", "-q", "-i", IN, "-B", &RING_MIB.to_string(), "-w"]);
                all.push(file.into());
                all
            }
            Recorder::Netsniff => {
                let ring = format!("{RING_MIB}MiB");
                let mut all = words(&["netsniff-ng", "--in", IN, "--silent", "--ring-size", &ring, "--out"]);
                all.push(file.into());
                all
            }
        })
    }

    /// What it says when it captures.
    fn ready(self) -> &'static str {
        match self {
            Recorder::Ours(..) => "running",
            Recorder::Tcpdump => "listening on",
            Recorder::Dumpcap => "File:",
            Recorder::Netsniff => "Running!",
        }
    }

    /// The packets that it says were dropped.
    fn told(self, said: &str) -> Option<u64> {
        match self {
            Recorder::Ours(..) => None,
            Recorder::Tcpdump => first_number(said.lines().find(|l| l.contains("dropped by kernel"))?),
            Recorder::Dumpcap => {
                let line = said.lines().find(|l| l.contains("received/dropped"))?;
                first_number(line.rsplit_once("': ")?.1.split_once('/')?.1)
            }
            Recorder::Netsniff => first_number(said.lines().find(|l| l.contains("failed filter"))?),
        }
    }
}

impl Recording {
    fn said(&self) -> String {
        let octets = std::fs::read(self.folder.join("said")).unwrap_or_default();
        String::from_utf8_lossy(&octets).into_owned()
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        while !self.said().contains(self.recorder.ready()) {
            let ended = self.child.try_wait().map_err(|e| e.to_string())?;
            if ended.is_some() || begun.elapsed() > PATIENCE {
                let said = self.said();
                return Err(said.lines().next_back().unwrap_or("it did not begin").trim().to_owned());
            }
            need::pause(20);
        }
        // What it says may come a moment before it captures.
        need::pause(500);
        Ok(())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: &str) {
        let _ = Command::new("kill").args([signal, &self.pid]).status();
    }

    /// Waits until it has written what came, ends it, and counts. What it wrote is deleted.
    ///
    /// # Errors
    /// It failed, or what it wrote cannot be read.
    pub fn end(mut self, program: &Path) -> Result<Recorded, String> {
        self.wait_until_quiet();
        self.signal(if self.recorder.is_ours() { "-TERM" } else { "-INT" });
        self.wait_until_ended()?;
        let costs = std::fs::read_to_string(self.folder.join("costs")).unwrap_or_default();
        let cost = measure::parse(&costs).ok_or_else(|| format!("time printed {costs:?}"))?;
        let told = if self.recorder.is_ours() { self.losses(program)? } else { self.told_by_text()? };
        Ok(Recorded { in_file: in_files(&self.folder)?, told, cost })
    }

    fn told_by_text(&self) -> Result<u64, String> {
        self.recorder.told(&self.said()).ok_or_else(|| format!("{} told no drops", self.recorder.name()))
    }

    /// What our program keeps in its table of losses.
    fn losses(&self, program: &Path) -> Result<u64, String> {
        let sql = "SELECT coalesce(sum(count), 0) AS lost FROM losses";
        let data = self.folder.join("data");
        let output = Command::new(program).args(["sql", "--json", sql, "--data"]).arg(data).output();
        let output = output.map_err(|e| format!("trunkline sql: {e}"))?;
        let row: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("trunkline sql: {e}"))?;
        Ok(number(&row, "lost") as u64)
    }

    fn wait_until_quiet(&self) {
        let (begun, mut size) = (Instant::now(), 0);
        while begun.elapsed() < PATIENCE {
            need::pause(QUIET_MS);
            let now = files(&self.folder).iter().filter_map(|f| f.metadata().ok()).map(|m| m.len()).sum();
            if now == size {
                return;
            }
            size = now;
        }
    }

    fn wait_until_ended(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        while self.child.try_wait().map_err(|e| e.to_string())?.is_none() {
            if begun.elapsed() > PATIENCE {
                return Err(format!("{} did not end", self.recorder.name()));
            }
            need::pause(20);
        }
        Ok(())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // What was started ends with it: `time` waits for nobody else.
            self.signal("-KILL");
            let _ = self.child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Packets in all captures below a folder, as capinfos counts them.
fn in_files(folder: &Path) -> Result<u64, String> {
    let mut packets = 0;
    for file in files(folder) {
        let output = Command::new("capinfos").args(["-c", "-M", "-T", "-r"]).arg(&file).output();
        let output = output.map_err(|e| format!("capinfos: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let count = text.lines().next_back().and_then(|line| line.rsplit('\t').next()?.trim().parse::<u64>().ok());
        packets += count.ok_or_else(|| format!("capinfos: {}", String::from_utf8_lossy(&output.stderr).trim()))?;
    }
    Ok(packets)
}

/// The captures below a folder, those that are being written among them.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if [".pcap", ".pcapng", ".pcapng.part"].iter().any(|end| name.ends_with(end)) {
                files.push(path);
            }
        }
    }
    files
}

/// The number that a text begins with, spaces apart.
fn first_number(text: &str) -> Option<u64> {
    let digits: String = text.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_tell_of_their_drops_is_read() {
        let said = "9 packets captured\n12 packets received by filter\n3 packets dropped by kernel\n";
        assert_eq!(Recorder::Tcpdump.told(said), Some(3));
        let said = "Packets received/dropped on interface 'in': 10/4 (pcap:4/dumpcap:0/flushed:0/ps_ifdrop:0) (71.4%)";
        assert_eq!(Recorder::Dumpcap.told(said), Some(4));
        let said = "\n      12  packets passed filter\n       5  packets failed filter (out of space)\n";
        assert_eq!(Recorder::Netsniff.told(said), Some(5));
        assert_eq!(Recorder::Tcpdump.told("tcpdump: no such device"), None);
    }
}
