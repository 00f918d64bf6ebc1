//! Caches that run, and what is said to them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// A cache that runs, and what it said so far.
pub struct Cache {
    child: Child,
    lines: Receiver<String>,
    pub told: Vec<String>,
}

/// How a cache ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Killed,
}

impl Cache {
    /// Started on a free port of loopback; not waited for.
    pub fn spawn(options: &[&str]) -> Cache {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        command.args(["cache", "-l", "127.0.0.1", "-p", "-1", "-t", "2"]).args(options);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
        let error = BufReader::new(child.stderr.take().expect("a pipe"));
        let (tell, lines) = channel();
        // Goes on reading, so that the cache never waits for a full pipe.
        std::thread::spawn(move || error.lines().map_while(Result::ok).for_each(|line| _ = tell.send(line)));
        Cache { child, lines, told: Vec::new() }
    }

    /// Started, and waited for until it serves.
    pub fn start(options: &[&str]) -> Cache {
        let mut cache = Cache::spawn(options);
        cache.until_told("TCP ");
        cache
    }

    /// Waits for a line.
    pub fn until_told(&mut self, what: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no '{what}' in {:?}", self.told));
            self.told.push(line.clone());
            if line.contains(what) {
                return line;
            }
        }
    }

    pub fn address(&self) -> String {
        let line = self.told.iter().find_map(|line| line.strip_prefix("trunkline cache: TCP "));
        line.unwrap_or_else(|| panic!("no address in {:?}", self.told)).to_owned()
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.address())
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).expect("a number");
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// Gives it less of something that the system limits.
    pub fn limit(&self, what: rustix::process::Resource, limits: rustix::process::Rlimit) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32);
        rustix::process::prlimit(pid, what, limits).expect("it may be limited");
    }

    /// Ended as an operator does, and waited for.
    pub fn end(&mut self) -> Ended {
        self.signal(rustix::process::Signal::TERM);
        self.ended()
    }

    /// Killed, unless it has ended, and waited for.
    pub fn kill(&mut self) -> Ended {
        let _ = self.child.kill();
        self.ended()
    }

    /// Waited for; everything that it said is told then.
    pub fn ended(&mut self) -> Ended {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.told.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {:?}", self.told),
            }
        }
        let status = self.child.wait().expect("a status");
        if status.signal().is_some() { Ended::Killed } else { Ended::Code(status.code().unwrap_or(-1)) }
    }

    pub fn said(&self, what: &str) -> bool {
        self.told.iter().any(|line| line.contains(what))
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        // It has ended already where a test asked for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client of the text protocol.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(address: &str) -> Client {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Client { stream: BufReader::new(stream) }
    }

    pub fn say(&mut self, octets: &[u8]) {
        self.stream.get_mut().write_all(octets).expect("said");
    }

    pub fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).expect("a line");
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    /// Says a line, and takes a line.
    pub fn ask(&mut self, line: &str) -> String {
        self.say(format!("{line}\r\n").as_bytes());
        self.line()
    }

    pub fn set(&mut self, key: &str, flags: u32, seconds: i32, value: &[u8]) {
        self.say(&[format!("set {key} {flags} {seconds} {}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat());
        assert_eq!(self.line(), "STORED");
    }

    /// The value of a key, and its flags.
    pub fn get(&mut self, key: &str) -> Option<(u32, Vec<u8>)> {
        let line = self.ask(&format!("get {key}"));
        if line == "END" {
            return None;
        }
        let words: Vec<_> = line.split(' ').collect();
        assert_eq!((words[0], words[1]), ("VALUE", key), "{line}");
        let mut value = vec![0; words[3].parse::<usize>().expect("a length") + 2];
        self.stream.read_exact(&mut value).expect("a value");
        value.truncate(value.len() - 2);
        assert_eq!(self.line(), "END");
        Some((words[2].parse().expect("flags"), value))
    }

    /// A number of `stats`, or its text.
    pub fn stat(&mut self, name: &str) -> Option<String> {
        self.say(b"stats\r\n");
        let (mut found, prefix) = (None, format!("STAT {name} "));
        loop {
            let line = self.line();
            if line == "END" {
                return found;
            }
            found = found.or_else(|| line.strip_prefix(&prefix).map(str::to_owned));
        }
    }
}

/// Lets time pass, at most this long; nothing tells of the moment at which a test wants to interfere.
pub fn pass(time: Duration) {
    std::thread::park_timeout(time);
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}
