//! The servers that are measured: `trunkline cache` and memcached, on the processors and with the memory that they are
//! told.

use super::super::{Bench, need};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How long a server may take to listen, in steps of 20 ms.
const STEPS_MAX: u32 = 250;
/// Connections that a server takes.
const CONNECTIONS_MAX: &str = "12000";

/// Opens as many files as the system allows, then becomes what follows: memcached raises its own limit.
const WITH_FILES: &str = "ulimit -S -n \"$(ulimit -H -n)\"; exec \"$@\"";

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// `trunkline cache`.
    Ours,
    /// memcached.
    Theirs,
}

/// Both, in the order in which they take turns.
pub const BOTH: [Who; 2] = [Who::Ours, Who::Theirs];

/// How a server is started.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// The processors it may use, as `taskset -c` takes them.
    pub processors: &'static str,
    /// Its threads that answer.
    pub threads: u32,
    /// Its limit of memory (`-m`).
    pub mebibytes: u32,
}

/// A server that ends with this value.
pub struct Server {
    child: Child,
    address: SocketAddr,
    program: PathBuf,
}

impl Server {
    /// Starts one on loopback, TCP and UDP on the same port, and waits until it listens.
    ///
    /// # Errors
    /// It does not.
    pub fn start(bench: &Bench<'_>, who: Who, how: How) -> Result<Self, String> {
        let address = free()?;
        let port = address.port().to_string();
        let mut words: Vec<String> = match who {
            Who::Ours => vec![bench.program.display().to_string(), "cache".to_owned()],
            Who::Theirs => ["memcached", "-u", "nobody"].map(str::to_owned).to_vec(),
        };
        words.extend(["-l", "127.0.0.1", "-c", CONNECTIONS_MAX, "-p", &port, "-U", &port].map(str::to_owned));
        words.extend(["-t", &how.threads.to_string(), "-m", &how.mebibytes.to_string()].map(str::to_owned));
        Server::launch(bench, how.processors, &words, address)
    }

    /// Starts a program that listens at `address`, and waits until it does.
    ///
    /// # Errors
    /// It does not.
    pub fn launch(bench: &Bench<'_>, processors: &str, words: &[String], address: SocketAddr) -> Result<Self, String> {
        let mut command = Command::new("sh");
        command.args(["-c", WITH_FILES, "sh", "taskset", "-c", processors]).args(words);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|e| format!("sh: {e}"))?;
        let mut server = Server { child, address, program: bench.program.clone() };
        server.wait(&words.join(" "))?;
        Ok(server)
    }

    fn wait(&mut self, who: &str) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("'{who}' did not start: {status}"));
            }
            need::pause(20);
        }
        Err(format!("'{who}' does not listen on {}", self.address))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process; shell and taskset have become the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its resident memory now, octets.
    pub fn resident_octets(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        resident_octets(&text)
    }

    /// A group of what it tells of itself; without a name the general one.
    ///
    /// # Errors
    /// It tells nothing.
    pub fn stats(&self, group: &[&str]) -> Result<Value, String> {
        let mut command = Command::new(&self.program);
        let output = command.args(["cache", "stats", &self.address.to_string(), "--json"]).args(group).output();
        let output = output.map_err(|e| format!("{}: {e}", self.program.display()))?;
        serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("no stats: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _waited_for = self.child.wait();
    }
}

/// Why servers cannot be measured; none if they can.
pub fn missing() -> Option<String> {
    need::missing(None, &[("memcached", "memcached"), ("taskset", "util-linux")]).or_else(|| {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        (processors < 2).then(|| "two processors are needed, one for the server and one for the load".to_owned())
    })
}

/// A port that is free for both protocols.
pub fn free() -> Result<SocketAddr, String> {
    let free = || {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?.local_addr().ok()?;
        UdpSocket::bind(address).ok().map(|_| address)
    };
    (0..STEPS_MAX).find_map(|_| free()).ok_or_else(|| "no port is free".to_owned())
}

pub fn resident_octets(status: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0
}

/// Seconds for which a processor had nothing to do since the system began.
pub fn idle_seconds(processor: u32) -> f64 {
    idle_ticks(&std::fs::read_to_string(Path::new("/proc/stat")).unwrap_or_default(), processor) / 100.0
}

/// Idle time and waiting for disks, in ticks of 10 ms (proc(5), /proc/stat).
fn idle_ticks(stat: &str, processor: u32) -> f64 {
    let name = format!("cpu{processor}");
    let words = stat.lines().map(|line| line.split_whitespace()).find_map(|mut words| {
        let found = words.next() == Some(name.as_str());
        found.then_some(words)
    });
    words.map_or(0.0, |words| words.skip(3).take(2).filter_map(|word| word.parse::<f64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_idle_time_as_the_system_tells_them() {
        assert_eq!(resident_octets("Name:\tx\nVmHWM:\t  20 kB\nVmRSS:\t    16 kB\n"), 16384.0);
        let stat = "cpu  9 9 9 9 9 9\ncpu0 1 2 3 400 5 6 7\ncpu1 1 2 3 40 2 6 7\ncpu10 0 0 0 1 1\n";
        assert_eq!([0, 1, 10, 3].map(|processor| idle_ticks(stat, processor)), [405.0, 42.0, 2.0, 0.0]);
    }
}
