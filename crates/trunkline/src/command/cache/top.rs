//! `trunkline cache top`: servers as they go, in the terminal.

mod keys;
mod order;
mod picture;
mod round;
mod screen;

use crate::cache::ask::Asker;
use crate::cache::target::Target;
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table;
use crate::stop::Stop;
use crate::terminal::Terminal;
use keys::Key;
use order::Order;
use round::Round;
use screen::Screen;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use trunkline_kit::exit::Exit;

/// Servers that are looked at together.
const SERVERS_MAX: usize = 64;
/// Rounds where neither a terminal nor an option says how many.
const ROUNDS_DEFAULT: u64 = 1;

/// Watch servers: rates, hit ratio, memory, hot keys, slow commands
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline cache top                                  the server on port 11211 of this machine\n  \
    trunkline cache top 192.0.2.7 192.0.2.8:11212 unix:/run/cache.sock\n  \
    trunkline cache top --json --rounds 60               one line per server and second, for programs\n\n\
    q ends it. n, g, h, s, e, i, m, c sort by name, gets, hit ratio, sets, evictions, items, memory, connections; the\n\
    same key again reverses the order. Any server of memcached's text protocol can be watched; hot keys and slow\n\
    commands are available from trunkline caches only.")]
pub struct Top {
    /// Servers: HOST, HOST:PORT or unix:PATH
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:11211")]
    targets: Vec<Target>,
    /// Interval in seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    every: Duration,
    /// Exit after this many rounds [default: on a terminal none, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Initial sort order of the servers
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Order::Name)]
    sort: Order,
    /// Print one line of JSON for each server and round
    #[arg(long)]
    json: bool,
}

/// Seconds with a fraction, from a tenth to an hour.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "seconds, 0.1 to 3600".to_owned())
}

impl Top {
    /// Watches until it is told to end.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        if self.targets.len() > SERVERS_MAX {
            return Err(Failure::Usage(format!("more than {SERVERS_MAX} servers")));
        }
        let stop = Stop::on_signals();
        let mut watched = Watched::new(&self.targets);
        // Rates need a look before.
        let mut before = watched.look();
        if self.json || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            return self.print(terminal, &mut watched, before, &stop);
        }
        let mut screen = Screen::open().map_err(|e| Failure::Failed(format!("the terminal: {e}")))?;
        let (mut order, mut turned, mut rounds) = (self.sort, false, 0);
        let mut now = before.clone();
        while !stop.is_asked() && self.rounds.is_none_or(|most| rounds < most) {
            let due = Instant::now() + self.every;
            screen.draw(|terminal| picture::lines(&now, &before, (order, turned), terminal), terminal)?;
            while let Some(key) = screen.key(due, &stop)? {
                match keys::meaning(key) {
                    Key::End => return Ok(Exit::Done),
                    Key::Sort(by) => (order, turned) = (by, by == order && !turned),
                    Key::Other => continue,
                }
                screen.draw(|terminal| picture::lines(&now, &before, (order, turned), terminal), terminal)?;
            }
            before = std::mem::replace(&mut now, watched.look());
            rounds += 1;
        }
        Ok(Exit::Done)
    }

    /// Rounds one below the other; exit code 1 if nobody ever answered.
    fn print(
        &self,
        terminal: &Terminal,
        watched: &mut Watched,
        mut before: Round,
        stop: &Stop,
    ) -> Result<Exit, Failure> {
        let mut out = stdout();
        for _ in 0..self.rounds.unwrap_or(ROUNDS_DEFAULT) {
            wait(self.every, stop);
            if stop.is_asked() {
                break;
            }
            let now = watched.look();
            if self.json {
                now.objects(&before).iter().try_for_each(|object| writeln!(out, "{object}"))?;
            } else {
                table::write(&picture::lines(&now, &before, (self.sort, false), terminal), terminal, &mut out)?;
            }
            out.flush()?;
            before = now;
        }
        match before.trouble() {
            Some(why) => Err(Failure::Failed(why)),
            None => Ok(Exit::Done),
        }
    }
}

/// Waits, and not after a signal.
fn wait(time: Duration, stop: &Stop) {
    let until = Instant::now() + time;
    while !stop.is_asked() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::park_timeout(left.min(Duration::from_millis(100)));
    }
}

/// The servers that are watched.
struct Watched(Vec<Mutex<Asker>>);

impl Watched {
    fn new(targets: &[Target]) -> Self {
        Watched(targets.iter().map(|target| Mutex::new(Asker::new(target.clone()))).collect())
    }

    /// Looks at all of them at once: one that does not answer holds up the others for its patience at most.
    fn look(&mut self) -> Round {
        let look = |asker: &Mutex<Asker>| {
            let mut asker = asker.lock().unwrap_or_else(PoisonError::into_inner);
            let looked = asker.look();
            (asker.target().to_string(), looked)
        };
        let looks = std::thread::scope(|scope| {
            let threads: Vec<_> = self.0.iter().map(|asker| scope.spawn(move || look(asker))).collect();
            // A thread that failed has told why on standard error; its server is left out of this round.
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        Round(looks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_between_rounds_are_bounded() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(["0", "-1", "x", "4000", "nan", "inf"].into_iter().all(|text| seconds(text).is_err()));
    }
}
