//! A wire of its own for tests: two interfaces in a network namespace, and `trunkline run` on one end.
//!
//! Needs root and iproute2; without, it says so and the test is skipped.

use crate::eventually::{PATIENCE, awaited};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");

/// A network namespace with the interfaces `out` and `in` at the ends of one wire.
pub struct Wire {
    name: String,
    pub folder: tempfile::TempDir,
    disk: Option<Disk>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.disk.take());
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

impl Wire {
    /// Lays it, or says why not.
    pub fn lay(name: &str) -> Option<Wire> {
        Wire::lay_for(name, 9000)
    }

    /// Lays one for packets of so many octets at most.
    pub fn lay_for(name: &str, mtu: u32) -> Option<Wire> {
        let mtu = mtu.to_string();
        let name = format!("trunkline-{name}-{}", std::process::id());
        if let Err(why) = ip(&["netns", "add", &name]) {
            println!("SKIPPED: no network namespace: {why}");
            return None;
        }
        let wire = Wire { name, folder: tempfile::tempdir().unwrap(), disk: None };
        let entered = wire.within(&["true"]).output().unwrap();
        if !entered.status.success() {
            println!("SKIPPED: a network namespace cannot be entered: {}", String::from_utf8_lossy(&entered.stderr));
            return None;
        }
        // Else the kernel sends packets of its own.
        let quiet = wire.within(&["sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"]).status();
        assert!(quiet.is_ok_and(|s| s.success()));
        let link =
            ["-n", &wire.name, "link", "add", "out", "mtu", &mtu, "type", "veth", "peer", "name", "in", "mtu", &mtu];
        if let Err(why) = ip(&link) {
            println!("SKIPPED: no veth pair: {why}");
            return None;
        }
        for end in ["out", "in"] {
            ip(&["-n", &wire.name, "link", "set", end, "up"]).unwrap();
        }
        Some(wire)
    }

    /// A command that runs in the namespace.
    pub fn within(&self, words: &[&str]) -> Command {
        let mut command = match &self.disk {
            Some(disk) => disk.within(&["ip"]),
            None => Command::new("ip"),
        };
        command.args(["netns", "exec", &self.name]).args(words).env("TZ", "UTC").env("NO_COLOR", "1");
        command
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a disk of so many KiB at a folder, which only programs that run within see; or says why not.
    pub fn mount(&mut self, name: &str, kib: u32) -> Option<()> {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        self.disk = Some(Disk::mount(&path, kib)?);
        Some(())
    }

    pub fn disk(&self) -> &Disk {
        self.disk.as_ref().unwrap()
    }

    /// The same as [`trunkline`], by a program that sees the disk.
    pub fn trunkline(&self, words: &[&str]) -> String {
        output(self.disk().within(&[PROGRAM]), words)
    }

    /// What programs within see at this name, for programs outside.
    pub fn seen(&self, name: &str) -> PathBuf {
        self.disk().seen(&self.path(name))
    }

    /// A simulated world.
    pub fn world(&self, name: &str, words: &[&str]) -> PathBuf {
        let world = self.path(name);
        trunkline(&[&["sim", "-w", text(&world)], words].concat());
        world
    }

    /// What is served at this path of the metrics' socket, which lies at `metrics`.
    pub fn get(&self, path: &str) -> String {
        let mut stream = UnixStream::connect(self.path("metrics")).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The metric of this name and these labels, as a number; 0 if it is not there.
    pub fn metric(&self, name: &str) -> f64 {
        let answer = self.get("/metrics");
        let of = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
        answer.lines().find_map(of).unwrap_or_default()
    }

    /// Waits until something is so.
    pub fn until(&self, what: &str, mut is_so: impl FnMut(&Wire) -> bool) {
        awaited(what, || if is_so(self) { Ok(()) } else { Err(self.get("/metrics")) });
    }

    /// Starts `trunkline run` and waits until it listens.
    pub fn run(&self, data: &str, config: &str) -> Running {
        let mut running = self.begin(&self.path(data), &self.path(&format!("{data}.toml")), config);
        running.hear("running");
        running
    }

    /// Starts `trunkline run` on a data folder with this configuration, and does not wait for it.
    pub fn begin(&self, data: &Path, file: &Path, config: &str) -> Running {
        std::fs::write(file, config).unwrap();
        // `ip netns exec` becomes the program: its process is ours to signal.
        let words = [PROGRAM, "run", "-c", text(file), "-i", "in", "--data", text(data)];
        let mut child = self.within(&words).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (to, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = to.send(line);
            }
        });
        Running { child, lines, said: Vec::new() }
    }

    /// Replays a capture onto the wire; what was sent.
    pub fn replay(&self, file: &Path, pace: &str) -> Value {
        let words = [PROGRAM, "replay", text(file), "-i", "out", "--pace", pace, "--json"];
        let done = self.within(&words).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }
}

/// A small disk in memory, mounted in a namespace of its own.
pub struct Disk {
    holder: Child,
    path: PathBuf,
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

impl Disk {
    fn mount(path: &Path, kib: u32) -> Option<Disk> {
        let script = format!("mount -t tmpfs -o size={kib}k none {} && echo mounted && exec cat", text(path));
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = match command.spawn() {
            Ok(holder) => holder,
            Err(why) => {
                println!("SKIPPED: no mount namespace: {why}");
                return None;
            }
        };
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let disk = Disk { holder, path: path.to_owned() };
        if line.trim() != "mounted" {
            println!("SKIPPED: nothing can be mounted");
            return None;
        }
        Some(disk)
    }

    /// A command that sees it.
    pub fn within(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.holder.id().to_string(), "-m", "-r", "-w"]).args(words);
        command
    }

    fn seen(&self, path: &Path) -> PathBuf {
        Path::new("/proc").join(self.holder.id().to_string()).join("root").join(path.strip_prefix("/").unwrap())
    }

    /// Fills it with a file of somebody else.
    pub fn fill(&self) -> PathBuf {
        let path = self.seen(&self.path).join("ballast");
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        for octets in [1 << 16, 4096, 1] {
            while file.write_all(&vec![0; octets]).is_ok() {}
        }
        path
    }
}

pub fn ip(words: &[&str]) -> Result<(), String> {
    let done = Command::new("ip").args(words).output().map_err(|e| e.to_string())?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()) }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A running program with what it said at standard error.
pub struct Running {
    pub child: Child,
    lines: Receiver<String>,
    pub said: Vec<String>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// What it says until it says this, that line with it.
    pub fn hear(&mut self, what: &str) -> Vec<String> {
        let from = self.said.len();
        self.wait_for(what, from);
        self.said[from..].to_vec()
    }

    fn wait_for(&mut self, what: &str, from: usize) {
        while self.said.len() == from || !self.said.last().is_some_and(|line| line.contains(what)) {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(_) => panic!("it never said '{what}': {:#?}", self.said),
            }
        }
    }

    /// Whether it says this before it ends.
    pub fn hears(&mut self, what: &str) -> bool {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => panic!("it hangs before '{what}': {:#?}", self.said),
            }
            if self.said.last().is_some_and(|line| line.contains(what)) {
                return true;
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it; its exit code and all it said.
    pub fn end(mut self) -> (i32, Vec<String>) {
        self.signal(Signal::TERM);
        let status = self.child.wait().unwrap();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(5)) {
            self.said.push(line);
        }
        (status.code().unwrap(), core::mem::take(&mut self.said))
    }
}

pub fn trunkline(words: &[&str]) -> String {
    output(Command::new(PROGRAM), words)
}

fn output(mut command: Command, words: &[&str]) -> String {
    let done = command.args(words).env("TZ", "UTC").output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Calls by their Call-ID.
pub fn calls(lines: &str) -> BTreeMap<String, Value> {
    let calls = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    calls.filter_map(|call| Some((call.get("sip_call_id")?.as_str()?.to_owned(), call))).collect()
}

/// Every packet that was sent is in the packet log, once.
pub fn recorded_once(data: &Path, sent: &Value) {
    let mut packets = 0;
    let mut folders = vec![data.join("packets")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pcapng") {
                packets += packets_of(&path);
            } else {
                assert_ne!(path.extension().and_then(|e| e.to_str()), Some("part"), "{}", path.display());
            }
        }
    }
    assert_eq!(Some(packets), sent["packets"].as_u64());
}

/// The packets of a file that is whole.
pub fn packets_of(path: &Path) -> u64 {
    let mut source = trunkline_capture::FileSource::open(&[path.to_owned()]);
    let mut batch = trunkline_capture::Batch::default();
    let mut packets = 0;
    while source.fill(&mut batch) {
        packets += batch.packets.len() as u64;
    }
    assert_eq!(source.files()[0].error.as_ref().map(ToString::to_string), None);
    packets
}
