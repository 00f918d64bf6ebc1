//! A charging node as a process, and clients of Gy that go on whatever becomes of it.

mod ccr;
mod client;
mod records;

pub use client::Client;
pub use memcached::free_port;
pub use records::Recorded;

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use trunkline_charge::account::{Effect, Entry};
use trunkline_commit::Folder;

use crate::memcached;

pub const PLAN: &str = r#"
[plan]
name = "standard"
currency = "EUR"
time-zone = "Europe/Paris"
[[version]]
from = "2026-01-01"
[[version.rule]]
name = "data"
rating-groups = [1]
step = "1 KiB"
price = 1
tranche = "1 MiB"
tranche-least = "1 KiB"
validity = "1 h"
"#;

/// Octets that are kept of what a node says.
const SAID_OCTETS_MAX: usize = 64 << 10;

/// The process.
pub struct Node {
    child: Child,
    folder: PathBuf,
    pub address: SocketAddr,
    /// What it wrote to its standard error, up to a limit.
    said: Arc<Mutex<String>>,
}

/// The name of an account's subscriber.
pub fn imsi(account: u64) -> String {
    format!("00101{account:010}")
}

fn trunkline(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.arg("charge").args(words).args(["--data".as_ref(), folder.as_os_str()]);
    command
}

impl Node {
    /// Starts it on a folder, at the port that it had there before.
    pub fn start(folder: &Path) -> Node {
        Node::start_with(folder, &[])
    }

    /// The same with more options.
    pub fn start_with(folder: &Path, options: &[&str]) -> Node {
        Node::start_until(folder, options, "operated over")
    }

    /// The same, until it says something.
    pub fn start_until(folder: &Path, options: &[&str], says: &str) -> Node {
        Node::start_as(folder, options, says, &[])
    }

    /// The same with more in its environment.
    pub fn start_as(folder: &Path, options: &[&str], says: &str, environment: &[(&str, &str)]) -> Node {
        let noted = folder.join("port");
        let port = std::fs::read_to_string(&noted).unwrap_or_else(|_| {
            let port = free_port();
            std::fs::write(&noted, &port).expect("a file");
            port
        });
        let listen = format!("127.0.0.1:{port}");
        let words = ["serve", "--host", "ocs.example", "--realm", "example", "--listen", &listen, "--threads", "2"];
        let mut command = trunkline(folder, &words);
        command.args(options).envs(environment.iter().copied()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        let mut said = BufReader::new(child.stderr.take().expect("standard error"));
        let (mut line, mut before) = (String::new(), String::new());
        while !line.contains(says) {
            line.clear();
            assert_ne!(said.read_line(&mut line).expect("text"), 0, "it does not serve: {before}");
            before += &line;
        }
        // What it says later must find somebody who reads. Its threads write in any order, some before it serves.
        let all = Arc::new(Mutex::new(before));
        let kept = Arc::clone(&all);
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                let mut kept = kept.lock().expect("no panic");
                if kept.len() < SAID_OCTETS_MAX {
                    *kept += &format!("{line}\n");
                }
            }
        });
        Node { child, folder: folder.to_path_buf(), address: listen.parse().expect("an address"), said: all }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to its standard error since its start, up to a limit.
    pub fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    /// What it says of itself; none where it does not answer.
    pub fn status(&self) -> Option<Value> {
        let mut command = trunkline(&self.folder, &["status", "--json"]);
        let done = command.stdin(Stdio::null()).stderr(Stdio::null()).output().expect("the program");
        serde_json::from_slice(&done.stdout).ok()
    }

    /// Stops it where it is, without an end: what is sent to it now is not answered.
    pub fn freeze(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("a signal");
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("its end");
    }

    /// Asks it to end, and waits until it has.
    pub fn stop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        assert!(self.child.wait().expect("its end").success());
    }

    /// A plan, and accounts from 1 on with so much each.
    pub fn fill(&self, accounts: u64, balance: i64) {
        self.fill_under(PLAN, accounts, balance);
    }

    /// The same under a plan that has the name `standard`.
    pub fn fill_under(&self, text: &str, accounts: u64, balance: i64) {
        let plan = self.folder.join("standard.toml");
        std::fs::write(&plan, text).expect("a file");
        self.run(&["plan", plan.to_str().expect("a path")], "");
        let mut file = "subscriber,account,plan,balance,imsi\n".to_owned();
        (1..=accounts).for_each(|number| {
            file.push_str(&format!("{number},{number},standard,{balance},{}\n", imsi(number)));
        });
        let told = self.run(&["import", "-"], &file);
        assert_eq!(
            told.trim(),
            format!("{accounts} accounts created, 0 already existed, {accounts} subscribers, 0 rejected")
        );
    }

    fn run(&self, words: &[&str], input: &str) -> String {
        let mut command = trunkline(&self.folder, words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program");
        child.stdin.take().expect("standard input").write_all(input.as_bytes()).expect("written");
        let done = child.wait_with_output().expect("its end");
        assert!(done.status.success(), "{words:?}: {:?}", done.status);
        String::from_utf8(done.stdout).expect("text")
    }

    pub fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.run(&words, "")).expect("JSON")
    }

    /// Octets that the ledger has as charged.
    pub fn charged_octets(&self) -> u64 {
        let disk = Folder::beside(&self.folder.join("charge/ledger")).expect("the ledger");
        let mut octets = 0;
        let add = |entry: Entry| {
            octets += entry
                .effects
                .iter()
                .map(|effect| match effect {
                    Effect::Charged { charge, .. } => charge.units,
                    _ => 0,
                })
                .sum::<u64>();
            ControlFlow::Continue(())
        };
        trunkline_charge::ledger::read(&disk, 1, add).expect("entries");
        octets
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
