//! A run is killed at random moments while a world is replayed at 20 times its pace.
//!
//! 500 kills are twenty pieces, each with a data folder of its own; every fifth has calls of half an hour.
//! `KILL_PIECES` chooses some of them, as `0..5` or `4..5`; `KILL_FOLDER` keeps the data folder of a piece that is not
//! as it should be.
//!
//! `cargo test -p trunkline --test all five_hundred_random -- --ignored --nocapture`

use super::*;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_kit::random::Random;

/// Kills of one piece.
const KILLS: u64 = 25;
const PIECES: u64 = 20;
/// A call of half an hour, at 20 times its pace.
const LONG_NS: i64 = 30 * 60 * 1_000_000_000 / 20;

/// What a piece came to.
#[derive(Debug)]
struct Piece {
    packets: f64,
    after: Compared,
    /// The same after one more start, with the Call-IDs of rows whose figures are others than those of the log.
    again: Compared,
    differ: Vec<String>,
    /// Calls that were up over two kills and more, and of these those of half an hour; most kills of one call.
    over_two: usize,
    long: usize,
    most: usize,
}

impl Piece {
    fn is_good(&self) -> bool {
        self.after.is_same() && self.again.is_same() && self.differ.is_empty()
    }

    fn row(&self) -> String {
        let Compared { calls, missing, beyond, twice } = &self.after;
        format!(
            "{:9} {calls:6} {:8} {:7} {:6} {:13} {:9} {:5} {:5}",
            self.packets,
            missing.len(),
            beyond.len(),
            twice.len(),
            self.differ.len(),
            self.over_two,
            self.long,
            self.most
        )
    }
}

const HEAD: &str = "  packets  calls  missing  beyond  twice  other figures  over two  long  most";

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// Of how many of these moments a call was up: when it began and when it ended, and how long that was.
fn up_over(call: &Value, kills: &[i64]) -> Option<(usize, i64)> {
    let of = |key: &str| Some(trunkline_store::time::parse_span(call[key].as_str()?)?.0);
    let (start_ns, end_ns) = (of("start")?, of("end")?);
    Some((kills.iter().filter(|at| (start_ns..end_ns).contains(*at)).count(), end_ns - start_ns))
}

/// Kills one run after the other; none where there is no wire.
fn piece(seed: u64, kills: u64, is_long: bool) -> Option<Piece> {
    let wire = Wire::lay(&format!("kills{seed}"))?;
    let common = ["--calls", "300", "--rate", "0.3"];
    let short = ["--set", "duration.min_s=5", "--set", "duration.mean_s=150", "--set", "duration.max_s=1200"];
    let many = ["--calls", "40", "--rate", "0.2"];
    let hours = ["--set", "duration.min_s=1800", "--set", "duration.mean_s=1900", "--set", "duration.max_s=2100"];
    let words = if is_long { [&many[..], &hours].concat() } else { [&common[..], &short].concat() };
    let mut worlds = seed * 100;
    let mut world = || {
        worlds += 1;
        wire.world("world.pcap", &[&words[..], &["--seed", &worlds.to_string()]].concat())
    };
    let (config, data) = (config(&wire, ""), wire.path("data"));
    let mut random = Random::new(20_261_128 + seed, 0);
    let (mut packets, mut killed) = (0.0, Vec::new());
    let mut sends = replay(&wire, &world(), "20x");
    let mut running = wire.run("data", &config);
    for _ in 0..kills {
        // Killed in the midst of packets, or when there are no more.
        let until = 20_000.0 + f64::from(random.below(200_000));
        wire.until("packets are captured", |w| captured(w) >= until || sends.try_wait().unwrap().is_some());
        packets += captured(&wire);
        killed.push(now_ns());
        kill(running);
        if sends.try_wait().unwrap().is_some() {
            sends = replay(&wire, &world(), "20x");
        }
        running = wire.run("data", &config);
    }
    if !is_long {
        let _ = sends.kill();
    }
    sends.wait().unwrap();
    until_read(&wire);
    let (code, said) = running.end();
    assert_eq!(code, 0, "{said:#?}");
    let after = Compared::of(&by_hand(&data), &stored(&data));
    // What was up then is read as a whole by the next start, and is what reading by hand gives.
    let running = wire.run("data", &config);
    until_read(&wire);
    running.end();
    let (expected, found) = (by_hand(&data), stored(&data));
    let up: Vec<_> = found.values().flatten().filter_map(|call| up_over(call, &killed)).collect();
    let piece = Piece {
        packets,
        after,
        again: Compared::of(&expected, &found),
        differ: other_figures(&expected, &found),
        over_two: up.iter().filter(|(kills, _)| *kills >= 2).count(),
        long: up.iter().filter(|(kills, ns)| *kills >= 2 && *ns >= LONG_NS).count(),
        most: up.iter().map(|(kills, _)| *kills).max().unwrap_or_default(),
    };
    if !piece.is_good() {
        keep(&data, seed);
    }
    Some(piece)
}

/// Keeps a data folder for whoever wants to know.
fn keep(data: &Path, seed: u64) {
    let Ok(folder) = std::env::var("KILL_FOLDER") else { return };
    let to = Path::new(&folder).join(format!("piece{seed}"));
    let copied = std::process::Command::new("cp").args(["-a", text(data), text(&to)]).status();
    println!("kept in {}: {copied:?}", to.display());
}

#[test]
fn calls_in_progress_survive_random_kills() {
    let Some(piece) = piece(0, 20, false) else { return };
    assert!(piece.is_good(), "{piece:#?}");
    assert!(piece.after.calls > 20, "{} calls", piece.after.calls);
}

fn pieces() -> Range<u64> {
    let Ok(chosen) = std::env::var("KILL_PIECES") else { return 0..PIECES };
    let (from, to) = chosen.split_once("..").expect("KILL_PIECES is two numbers with .. between");
    from.parse().unwrap()..to.parse().unwrap()
}

#[test]
#[ignore = "three quarters of an hour"]
fn calls_in_progress_survive_five_hundred_random_kills() {
    let (mut bad, mut calls, mut long) = (Vec::new(), 0, 0);
    println!("piece kills {HEAD}");
    for number in pieces() {
        let Some(piece) = piece(number + 1, KILLS, number % 5 == 4) else { return };
        println!("{number:5} {KILLS:5} {}", piece.row());
        (calls, long) = (calls + piece.after.calls, long + piece.long);
        if !piece.is_good() {
            println!("{:#?} {:#?} {:#?}", piece.after, piece.again, piece.differ);
            bad.push(number);
        }
    }
    println!("{} calls in the log, {long} of half an hour up over two kills and more", calls);
    assert!(bad.is_empty(), "pieces {bad:?}");
}
