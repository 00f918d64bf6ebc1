//! What a server looks like from outside, second by second.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Seconds until a server has noticed that connections have ended.
const IDLE_S: u64 = 20;

/// A server at one moment.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Seconds since it is watched.
    pub second: f64,
    /// Octets of resident memory.
    pub resident: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: u64,
    /// Connections, by its own account.
    pub connections: u64,
    /// Octets that its store takes, by its own account.
    pub octets: u64,
    /// Items evicted since it runs.
    pub evictions: u64,
    /// Octets that it may take.
    pub limit: u64,
}

/// A connection for questions alone.
enum Desk {
    Tcp(BufReader<TcpStream>),
    Unix(BufReader<UnixStream>),
}

/// A server that is watched.
pub struct Watched {
    process: u32,
    since: Instant,
    desk: Desk,
    /// What was seen.
    pub samples: Vec<Sample>,
}

impl Watched {
    /// Connects to it.
    ///
    /// # Errors
    /// Nobody listens.
    pub fn new(process: u32, address: &str) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("{address}: {e}");
        let desk = match address.starts_with('/') {
            true => Desk::Unix(BufReader::new(UnixStream::connect(address).map_err(failed)?)),
            false => Desk::Tcp(BufReader::new(TcpStream::connect(address).map_err(failed)?)),
        };
        Ok(Watched { process, since: Instant::now(), desk, samples: Vec::new() })
    }

    /// Takes a sample.
    ///
    /// # Errors
    /// The server is gone or says nothing.
    pub fn sample(&mut self) -> Result<(), String> {
        let sample = self.look()?;
        self.samples.push(sample);
        Ok(())
    }

    /// How it looks when all connections but this one have ended, or 20 s later.
    ///
    /// # Errors
    /// As [`Watched::sample`].
    #[expect(clippy::disallowed_methods, reason = "another process tells nobody when it has noticed")]
    pub fn idle(&mut self) -> Result<Sample, String> {
        for _ in 0..IDLE_S {
            let sample = self.look()?;
            if sample.connections <= 1 {
                return Ok(sample);
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        self.look()
    }

    fn look(&mut self) -> Result<Sample, String> {
        let folder = format!("/proc/{}", self.process);
        let failed = |e: std::io::Error| format!("{folder}: {e}");
        let status = std::fs::read_to_string(format!("{folder}/status")).map_err(failed)?;
        let descriptors = std::fs::read_dir(format!("{folder}/fd")).map_err(failed)?.count();
        let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).and_then(first_number);
        let stats = self.desk.ask("stats").map_err(|e| format!("stats: {e}"))?;
        let stat = |name: &str| {
            let words = stats.iter().map(|line| line.split_whitespace().collect::<Vec<_>>());
            words.filter(|words| words.get(1) == Some(&name)).find_map(|words| words.get(2)?.parse().ok()).unwrap_or(0)
        };
        Ok(Sample {
            second: self.since.elapsed().as_secs_f64(),
            resident: of("VmRSS:").unwrap_or(0) * 1024,
            descriptors,
            threads: of("Threads:").unwrap_or(0),
            connections: stat("curr_connections"),
            octets: stat("bytes"),
            evictions: stat("evictions"),
            limit: stat("limit_maxbytes"),
        })
    }
}

impl Desk {
    fn ask(&mut self, question: &str) -> std::io::Result<Vec<String>> {
        match self {
            Desk::Tcp(stream) => {
                writeln!(stream.get_mut(), "{question}\r")?;
                answer(stream)
            }
            Desk::Unix(stream) => {
                writeln!(stream.get_mut(), "{question}\r")?;
                answer(stream)
            }
        }
    }
}

/// Lines up to `END`.
fn answer(stream: &mut impl BufRead) -> std::io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line.trim_end() == "END" {
            return Ok(lines);
        }
        lines.push(line);
    }
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}
