//! `trunkline graph serve` on a folder of its own, and the farm that it polls.

use super::super::example::number;
use super::super::{Bench, need};
use super::process::Process;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Connections over which devices are added.
const CONNECTIONS: usize = 8;
/// How long something may take to come.
const PATIENCE: Duration = Duration::from_secs(900);
const LOOK_MS: u64 = 100;

/// `trunkline graph farm`: sound devices, but for dead ones.
pub struct Farm {
    /// The farm's process.
    pub process: Process,
    /// Its port.
    pub port: u16,
}

impl Farm {
    /// Starts it; at that port, or at one that is free.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(bench: &Bench<'_>, processors: &str, size: Size, port: Option<u16>) -> Result<Farm, String> {
        let free = || UdpSocket::bind("127.64.0.1:0").and_then(|socket| socket.local_addr());
        let port =
            port.map_or_else(|| free().map(|address| address.port()), Ok).map_err(|e| format!("no port: {e}"))?;
        let numbers = [size.devices.to_string(), size.interfaces.to_string(), size.dead_permille.to_string()];
        let port_text = port.to_string();
        let mut words = vec!["graph", "farm", "--sound", "--port", &port_text, "--devices", &numbers[0]];
        words.extend(["--interfaces", &numbers[1], "--dead-permille", &numbers[2]]);
        let mut process = Process::start(processors, &bench.program, &words)?;
        // The last device is bound last; its address is taken then.
        let last = std::net::Ipv4Addr::from(0x7f40_0000 + size.devices as u32);
        let begun = Instant::now();
        while UdpSocket::bind((last, port)).is_ok() {
            if let Some(status) = process.ended() {
                return Err(format!("trunkline graph farm ended: {status}: may it open {} sockets?", size.devices));
            }
            if begun.elapsed() > PATIENCE {
                return Err("trunkline graph farm does not answer".to_owned());
            }
            need::pause(LOOK_MS);
        }
        Ok(Farm { process, port })
    }
}

/// How large a farm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub devices: usize,
    pub interfaces: usize,
    pub dead_permille: u32,
}

impl Size {
    pub fn interfaces_all(self) -> f64 {
        (self.devices * self.interfaces) as f64
    }
}

/// How graphs are served.
pub struct How<'a> {
    /// Its processors.
    pub processors: &'a str,
    /// Threads that poll.
    pub lanes: &'a str,
    /// What `[graph]` says else.
    pub configuration: &'a str,
    /// Templates of its own.
    pub templates: &'a str,
}

/// The process; ended with this value.
pub struct Node {
    /// The process.
    pub process: Process,
    /// The data folder.
    pub data: PathBuf,
    program: PathBuf,
    words: Vec<String>,
}

impl Node {
    /// Starts it on an empty folder.
    ///
    /// # Errors
    /// It does not serve.
    pub fn start(bench: &Bench<'_>, name: &str, how: &How<'_>) -> Result<Node, String> {
        let data = bench.folder.join(name);
        let templates = data.join("graphs/templates");
        std::fs::create_dir_all(&templates).map_err(|e| format!("{}: {e}", templates.display()))?;
        let write = |path: PathBuf, text: &str| {
            std::fs::write(&path, text).map(|()| path.clone()).map_err(|e| format!("{}: {e}", path.display()))
        };
        write(templates.join("bench.toml"), how.templates)?;
        let configuration = write(data.join("trunkline.toml"), &format!("[graph]\n{}", how.configuration))?;
        let (configuration, folder) = (configuration.display().to_string(), data.display().to_string());
        let words = ["graph", "serve", "-c", &configuration, "--data", &folder, "--lanes", how.lanes];
        let words: Vec<String> = words.map(str::to_owned).to_vec();
        let process = Process::start(how.processors, &bench.program, &words)?;
        let mut node = Node { process, data, program: bench.program.clone(), words };
        node.serves()?;
        Ok(node)
    }

    /// Starts it again on these processors, when it was ended or killed; seconds until it answers.
    ///
    /// # Errors
    /// It does not serve.
    pub fn restart(&mut self, processors: &str) -> Result<f64, String> {
        let begun = Instant::now();
        self.process = Process::start(processors, &self.program, &self.words)?;
        self.serves()?;
        Ok(begun.elapsed().as_secs_f64())
    }

    fn serves(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        while self.status().is_err() {
            if let Some(status) = self.process.ended() {
                return Err(format!("trunkline graph serve did not start: {status}"));
            }
            if begun.elapsed() > PATIENCE {
                return Err("trunkline graph serve does not answer".to_owned());
            }
            need::pause(20);
        }
        Ok(())
    }

    fn connect(&self) -> Result<Connection, String> {
        let path = self.data.join("graphs/control.sock");
        let stream = UnixStream::connect(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|e| e.to_string())?;
        Ok(Connection(BufReader::new(stream)))
    }

    /// What it answers to an order.
    ///
    /// # Errors
    /// It refuses it, or does not answer.
    pub fn ask(&self, order: &Value) -> Result<Value, String> {
        self.connect()?.ask(order)
    }

    /// How it goes.
    ///
    /// # Errors
    /// It does not answer.
    pub fn status(&self) -> Result<Value, String> {
        self.ask(&json!({ "do": "status" }))
    }

    /// Adds the devices of a farm; they are looked at and polled from then on.
    ///
    /// # Errors
    /// It does not take one.
    pub fn add(&self, size: Size, port: u16, step_s: u32) -> Result<(), String> {
        self.ask(&json!({ "do": "credential", "name": "farm", "login": { "community": "public" } }))?;
        let add = |connection: &mut Connection, device: usize| {
            let address = std::net::Ipv4Addr::from(0x7f40_0001 + device as u32).to_string();
            connection.ask(&json!({
                "do": "add", "name": format!("device-{device}"), "address": address, "port": port,
                "credential": "farm", "step": step_s,
            }))
        };
        let share = |first: usize| -> Result<(), String> {
            let mut connection = self.connect()?;
            (first..size.devices).step_by(CONNECTIONS).try_for_each(|device| add(&mut connection, device).map(drop))
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..CONNECTIONS).map(|first| scope.spawn(move || share(first))).collect();
            all.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| Err("a thread failed".to_owned())))
        })
    }

    /// Waits until something holds of its status; that status.
    ///
    /// # Errors
    /// It never does.
    pub fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let begun = Instant::now();
        loop {
            let status = self.status()?;
            if holds(&status) {
                return Ok(status);
            }
            if let Some(status) = self.process.ended() {
                return Err(format!("trunkline graph serve ended: {status}"));
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("never: {what}: {status}"));
            }
            need::pause(LOOK_MS * 5);
        }
    }
}

/// Lines of JSON each way.
struct Connection(BufReader<UnixStream>);

impl Connection {
    fn ask(&mut self, order: &Value) -> Result<Value, String> {
        let failed = |e: std::io::Error| format!("{order}: {e}");
        self.0.get_mut().write_all(format!("{order}\n").as_bytes()).map_err(failed)?;
        let mut line = String::new();
        self.0.read_line(&mut line).map_err(failed)?;
        let told: Value = serde_json::from_str(&line).map_err(|e| format!("{order}: {e}"))?;
        match told.get("error") {
            Some(why) => Err(format!("{order}: {why}")),
            None => Ok(told),
        }
    }
}

/// A number of a status, by its path.
pub fn at(status: &Value, path: &str) -> f64 {
    let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
    let group = if group.is_empty() { Some(status) } else { status.pointer(&format!("/{group}")) };
    group.map_or(0.0, |group| number(group, name))
}
