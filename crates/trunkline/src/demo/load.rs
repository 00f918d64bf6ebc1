//! Traffic for the demonstration's cache: what a charging system would ask of a cache before its subscriber database.
//! Profiles are asked for, brought where they are missing, changed now and then; a report looks at many at once.
//! It is simulated, on loopback, and bounded: a few hundred requests a second on one connection.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_kit::random::Random;

/// Subscribers whose profiles are asked for.
const SUBSCRIBERS: u64 = 60_000;
/// Requests in a step, and how long a step takes.
const STEP_REQUESTS: u32 = 40;
const STEP: Duration = Duration::from_millis(100);
/// Keys of a report.
const REPORT_KEYS: u32 = 60;
/// Steps from one report to the next.
const REPORT_EVERY: u64 = 50;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The traffic; it ends when this is dropped.
pub struct Load {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Load {
    /// On the cache at this address.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(at: SocketAddr, seed: u64) -> io::Result<Load> {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let work = move || {
            if let Err(error) = run(at, seed, &seen) {
                tracing::warn!("the traffic of the demonstration's cache has ended: {error}");
            }
        };
        let thread = std::thread::Builder::new().name("demo-cache".to_owned()).spawn(work)?;
        Ok(Load { over, thread: Some(thread) })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn run(at: SocketAddr, seed: u64, over: &AtomicBool) -> io::Result<()> {
    let stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut client = Client { answers: BufReader::new(stream.try_clone()?), stream, chance: Random::new(seed, 0) };
    for step in 0u64.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        for _ in 0..STEP_REQUESTS {
            client.request()?;
        }
        if step % REPORT_EVERY == 0 {
            client.report()?;
        }
        std::thread::park_timeout(STEP);
    }
    Ok(())
}

struct Client {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
    chance: Random,
}

impl Client {
    /// A profile is asked for and brought if it is missing; now and then one is changed.
    fn request(&mut self) -> io::Result<()> {
        let key = self.key();
        if self.chance.below(50) == 0 {
            return self.say(format!("delete {key}\r\n").as_bytes()).and_then(|()| self.line().map(|_| ()));
        }
        self.say(format!("get {key}\r\n").as_bytes())?;
        if self.answer()? == 0 { self.bring(&key) } else { Ok(()) }
    }

    fn bring(&mut self, key: &str) -> io::Result<()> {
        // Most profiles are short; some carry a history of charges.
        let octets =
            if self.chance.below(20) == 0 { 4_000 + self.chance.below(20_000) } else { 150 + self.chance.below(700) };
        let ttl_s = [60, 300, 900, 3600][self.chance.below(4) as usize];
        let mut request = format!("set {key} 0 {ttl_s} {octets}\r\n").into_bytes();
        request.resize(request.len() + octets as usize, b'p');
        request.extend_from_slice(b"\r\n");
        self.say(&request).and_then(|()| self.line().map(|_| ()))
    }

    fn report(&mut self) -> io::Result<()> {
        let keys: Vec<String> = (0..REPORT_KEYS).map(|_| self.key()).collect();
        self.say(format!("get {}\r\n", keys.join(" ")).as_bytes())?;
        self.answer().map(|_| ())
    }

    /// Some subscribers call much more than others.
    fn key(&mut self) -> String {
        let part = self.chance.unit();
        let subscriber = (part.powi(6) * SUBSCRIBERS as f64) as u64;
        format!("profile:+4420794{subscriber:05}")
    }

    fn say(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request)
    }

    /// Reads the answer to a get; how many values it had.
    fn answer(&mut self) -> io::Result<u32> {
        let mut values = 0;
        loop {
            let line = self.line()?;
            let Some(value) = line.strip_prefix("VALUE ") else { return Ok(values) };
            let octets: u64 = value.split_whitespace().last().and_then(|word| word.parse().ok()).unwrap_or(0);
            io::copy(&mut io::Read::take(&mut self.answers, octets + 2), &mut io::sink())?;
            values += 1;
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{configured, here::Running};
    use crate::eventually::awaited;
    use crate::run::config::{Cache, Door};
    use trunkline_job::{Figure, Job};

    #[test]
    fn profiles_are_asked_for_brought_and_found_again() {
        let section = Cache { listen: vec![Door::Tcp("127.0.0.1:0".parse().unwrap())], threads: 1, ..Cache::default() };
        let job = configured::start(configured::open(&section).unwrap().unwrap(), &section).unwrap();
        let at = job.addresses()[0].unwrap();
        let running = Running::new(job, &section);
        let load = Load::start(at, 7).unwrap();
        awaited("there are 300 requests", || match running.figures() {
            figures if matches!(figures[0], Figure::PerSecond("gets/s", 300..)) => Ok(()),
            figures => Err(figures),
        });
        drop(load);
        let figures = running.figures();
        assert!(matches!(figures[1], Figure::Share("hits", hits @ 1.., gets) if hits < gets), "{figures:?}");
        assert!(
            matches!(figures[2..5], [Figure::PerSecond("sets/s", 1..), _, Figure::Level("items", 1..)]),
            "{figures:?}"
        );
        assert_eq!(running.stop(), Vec::<String>::new());
    }
}
