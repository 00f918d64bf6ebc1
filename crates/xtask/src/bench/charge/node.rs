//! The node that is measured, on the first processor.

use super::super::example::number;
use super::super::{Bench, need};
use super::free;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PLAN: &str = r#"
[plan]
name = "standard"
currency = "EUR"
time-zone = "Europe/Paris"
[[version]]
from = "2026-01-01"
[[version.rule]]
name = "night"
rating-groups = [1]
times = ["22:00-06:00"]
step = "1 KiB"
price = "0.001"
tranche = "1 MiB"
validity = "1 h"
[[version.rule]]
name = "data"
rating-groups = [1]
step = "1 KiB"
price = "0.001"
tranche = "1 MiB"
validity = "1 h"
"#;
/// What each account has: more than any run spends.
const BALANCE: u64 = 900_000_000;
/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The process; it ends with this value, its ledger goes.
pub struct Node {
    child: Child,
    address: String,
    program: PathBuf,
    data: PathBuf,
}

/// The subscribers of so many accounts, as the load takes them.
pub fn subscribers(accounts: u64) -> String {
    format!("00101%010d:{accounts}")
}

/// A program on a processor, with a group of the scheduler of its own that goes before those of other programs: what
/// else runs on the machine has that processor only while this one leaves it. Needs root, and goes on without.
pub fn ahead(processor: &str, program: &Path) -> Command {
    let mut command = Command::new("setsid");
    let group = "echo -19 2>/dev/null > /proc/self/autogroup; exec taskset -c \"$@\"";
    command.args(["sh", "-c", group, "sh", processor]).arg(program);
    command
}

fn launch(program: &Path, data: &Path, address: &str, processors: &str) -> Result<Child, String> {
    let mut command = ahead(processors, program);
    command.args(["charge", "serve", "--host", "ocs.example", "--realm", "example"]);
    // GTP' has the same port of UDP.
    command.args(["--listen", address, "--gtpp", address, "--threads", "1", "--data"]).arg(data);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|e| format!("setsid: {e}"))
}

impl Node {
    /// Starts one with a plan and so many accounts.
    ///
    /// # Errors
    /// It does not serve.
    pub fn start(bench: &Bench<'_>, accounts: u64) -> Result<Node, String> {
        Node::start_in(&bench.folder, bench, accounts)
    }

    /// The same, its ledger in another folder.
    ///
    /// # Errors
    /// It does not serve.
    pub fn start_in(folder: &Path, bench: &Bench<'_>, accounts: u64) -> Result<Node, String> {
        let (data, address) = (folder.join("charge"), free()?);
        if data.exists() {
            std::fs::remove_dir_all(&data).map_err(|e| format!("{}: {e}", data.display()))?;
        }
        std::fs::create_dir_all(&data).map_err(|e| format!("{}: {e}", data.display()))?;
        let child = launch(&bench.program, &data, &address, "0")?;
        let mut node = Node { child, address, program: bench.program.clone(), data };
        node.wait()?;
        let plan = node.data.join("plan.toml");
        std::fs::write(&plan, PLAN).map_err(|e| format!("{}: {e}", plan.display()))?;
        node.ask(&["plan", &plan.display().to_string()], "")?;
        let mut file = "subscriber,account,plan,balance,imsi\n".to_owned();
        for number in 0..accounts {
            file.push_str(&format!("{0},{0},standard,{BALANCE},00101{number:010}\n", number + 1));
        }
        node.ask(&["import", "-"], &file)?;
        Ok(node)
    }

    /// Kills it, and starts it again on what it left, on both processors: nothing loads it.
    ///
    /// # Errors
    /// It does not serve.
    pub fn restart(&mut self, bench: &Bench<'_>) -> Result<(), String> {
        self.end();
        self.child = launch(&bench.program, &self.data, &self.address, "0,1")?;
        self.wait()
    }

    fn wait(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        while self.status().is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("trunkline charge serve did not start: {status}"));
            }
            if begun.elapsed() > PATIENCE {
                return Err("trunkline charge serve does not answer".to_owned());
            }
            need::pause(20);
        }
        Ok(())
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        self.address.clone()
    }

    /// Its process; taskset has become it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its resident memory, octets.
    pub fn resident_octets(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        super::super::cache::server::resident_octets(&text)
    }

    /// What it tells of itself.
    ///
    /// # Errors
    /// It does not answer.
    pub fn status(&self) -> Result<Value, String> {
        let told = self.ask(&["status", "--json"], "")?;
        serde_json::from_str(&told).map_err(|e| e.to_string())
    }

    /// Differences that an audit finds.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn differences(&self) -> Result<u64, String> {
        let told = self.ask(&["audit", "--json"], "")?;
        let told: Value = serde_json::from_str(&told).map_err(|e| e.to_string())?;
        let found = told["differences"].as_array().map_or(0, Vec::len) as u64;
        if number(&told, "last") == 0.0 { Err("an audit of nothing".to_owned()) } else { Ok(found) }
    }

    fn ask(&self, words: &[&str], input: &str) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.arg("charge").args(words).arg("--data").arg(&self.data);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        let written = child.stdin.take().map(|mut pipe| pipe.write_all(input.as_bytes()));
        let done = child.wait_with_output().map_err(|e| e.to_string())?;
        // An audit that finds something says so by its code, and tells it.
        let told = done.status.success() || done.status.code() == Some(3);
        match (written, told) {
            (Some(Ok(())), true) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            _ => Err(format!("trunkline charge {words:?}: {}", done.status)),
        }
    }

    fn end(&mut self) {
        let _gone_already = self.child.kill();
        let _waited_for = self.child.wait();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end();
        // The folder is the benchmark's, and is emptied by the next one.
        let _gone = std::fs::remove_dir_all(&self.data);
    }
}
