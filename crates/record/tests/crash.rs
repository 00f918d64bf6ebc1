//! `kill -9` of the whole recorder under load: what the next start finds is whole, readable by other programs, indexed
//! as a full scan would, and lacks at most what was recorded within the time that the rules promise.

mod traffic;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use traffic::{Lane, Stream, found, now_ns, options, segments};
use trunkline_record::index::Span;
use trunkline_record::job::folder::{Wish, list};
use trunkline_record::job::verify::verify;
use trunkline_record::{Class, Recorder, Rules};
use trunkline_spool::{Engine, Volume};

/// Where the child records, and its number.
const FOLDER: &str = "TRUNKLINE_RECORD_CRASH_FOLDER";
const RUN: &str = "TRUNKLINE_RECORD_CRASH_RUN";
const LANES: u16 = 2;
/// The promise of the tested rules: what is older is on its way to the disk...
const FLUSH: Duration = Duration::from_millis(250);
/// ...and there after so long, on a machine that has much else to do.
const WAY: Duration = Duration::from_secs(1);

fn rules() -> Rules {
    let flush_ns = FLUSH.as_nanos() as i64;
    Rules { segment_ns: 1_000_000_000, segment_octets: 2_000_000, flush_ns, ..Rules::default() }
}

/// Not a test of its own: what the parent starts and kills. Says now and then how many packets of each stream it has
/// recorded.
#[test]
fn child() {
    let (Ok(folder), Ok(run)) = (std::env::var(FOLDER), std::env::var(RUN)) else { return };
    let run: u64 = run.parse().unwrap();
    let mut options = options(Volume::new(&folder)).memory(32 << 20);
    options.engine = if run % 2 == 0 { Engine::Auto } else { Engine::Pwrite };
    let (recorder, opened) = Recorder::open(options, rules()).unwrap();
    assert!(opened.repaired.iter().all(|r| r.left.is_empty() && r.in_use.is_empty()), "{opened:?}");
    let mut lanes: Vec<Lane> = (0..LANES).map(|lane| Lane::new(recorder.lane(lane, "eth0"), run, lane)).collect();
    let mut out = std::io::stdout().lock();
    loop {
        for (lane, number) in lanes.iter_mut().zip(0..) {
            for i in 0..200 {
                // Every packet is recorded: what is refused would be no loss by the crash.
                assert!(lane.send(Class::Rtp, now_ns(), 172));
                assert!(i % 20 != 0 || lane.send(Class::Sip, now_ns(), 600));
                assert!(i % 5 != 0 || lane.send(Class::Other, now_ns(), 1400));
            }
            lane.log.tick(now_ns());
            let [sip, rtp, other] = lane.sent;
            let _ = writeln!(out, "run {run} {number} {sip} {rtp} {other}");
        }
        let _ = out.flush();
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
fn killed_twenty_times() {
    killed(20);
}

/// As often as issue 3 asks: `cargo test -p trunkline-record --test crash -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn killed_two_hundred_times() {
    killed(200);
}

fn killed(times: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (mut seen, mut indexed, mut promised, mut packets) = (BTreeSet::new(), 0, 0, 0);
    for run in 0..times {
        // Some die while they start or repair, some when a segment ends, some in the middle.
        let life = Duration::from_millis(10 + run * 7919 % 2400);
        let settled = record_and_kill(folder.path(), run, life);
        let fresh = reopen(folder.path(), &mut seen);
        indexed += indexes_agree(folder.path(), &fresh);
        others_read(&fresh);
        let found = found(&fresh);
        packets += found.values().map(BTreeSet::len).sum::<usize>();
        promised += promise_kept(run, &settled, &found);
    }
    println!("{times} kills: {indexed} segments with indexes as a full scan makes them, {packets} packets in them;");
    println!("{promised} had been recorded {:?} before a kill, all of them are there", FLUSH + WAY);
    assert!(indexed > times as usize && promised > 0, "{indexed} segments, {promised} packets promised");
    let still: BTreeSet<PathBuf> = segments(folder.path()).into_iter().collect();
    assert_eq!(still, seen, "what was committed stays");
}

/// Runs a child and kills it; how many packets of each stream it had recorded long enough before.
fn record_and_kill(folder: &Path, run: u64, life: Duration) -> BTreeMap<Stream, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(FOLDER, folder)
        .env(RUN, run.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let lines = out.lines().map_while(Result::ok);
        lines.filter_map(|line| Some((counts(&line)?, Instant::now()))).collect::<Vec<_>>()
    });
    let until = Instant::now() + life;
    while Instant::now() < until {
        std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
    }
    // What a line says was so before the line was read.
    let killed = Instant::now();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "it ended before it was killed");
    let mut settled = BTreeMap::new();
    for ((lane, sent), at) in reader.join().unwrap() {
        if killed.duration_since(at) > FLUSH + WAY {
            settled.extend(sent.iter().zip(0..).map(|(sent, class)| ((run, lane, class), *sent)));
        }
    }
    settled
}

/// `run 7 1 10 200 40`: lane, and packets by class.
fn counts(line: &str) -> Option<(u16, [u64; 3])> {
    let numbers: Vec<u64> = line.strip_prefix("run ")?.split(' ').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let [_, lane, sip, rtp, other] = numbers[..] else { return None };
    Some((lane as u16, [sip, rtp, other]))
}

/// The next start: repairs. Gives the segments that were not there before.
fn reopen(folder: &Path, seen: &mut BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let (recorder, opened) = Recorder::open(options(Volume::new(folder)), rules()).unwrap();
    for repaired in &opened.repaired {
        assert!(repaired.left.is_empty() && repaired.in_use.is_empty(), "{repaired:?}");
    }
    recorder.close(Duration::from_secs(20));
    for file in traffic::files(&folder.join("packets")) {
        let ending = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let is_whole = matches!(ending, "pcapng" | "idx") || file.ends_with("packets/volumes");
        // What the note of the volumes was to be replaced by.
        assert!(is_whole || file.ends_with("packets/volumes.part"), "{} was left behind", file.display());
        assert!(ending != "idx" || file.with_extension("pcapng").exists(), "{} is an orphan", file.display());
    }
    segments(folder).into_iter().filter(|segment| seen.insert(segment.clone())).collect()
}

/// Each index says what a full scan says.
fn indexes_agree(folder: &Path, fresh: &[PathBuf]) -> usize {
    let wish = Wish { span: Span::ALL, classes: Class::ALL.to_vec() };
    let mut files = list(folder, 0, &wish).unwrap();
    files.retain(|file| fresh.contains(&file.path));
    assert_eq!(files.len(), fresh.len());
    for file in &files {
        let verified = verify(file).unwrap();
        assert!(verified.fault.is_none() && verified.index.is_none(), "{}: {verified:?}", file.path.display());
    }
    files.len()
}

/// tshark's reader and tcpdump's take every segment.
fn others_read(fresh: &[PathBuf]) {
    if fresh.is_empty() {
        return;
    }
    match Command::new("capinfos").arg("-c").args(fresh).output() {
        Ok(out) => assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr)),
        Err(_) => println!("skipped: no capinfos"),
    }
    for file in fresh {
        match Command::new("tcpdump").args(["-nn", "-q", "-w", "/dev/null", "-r"]).arg(file).output() {
            Ok(out) => {
                assert!(out.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&out.stderr));
            }
            Err(_) => return println!("skipped: no tcpdump"),
        }
    }
}

/// What was settled is there, and nothing is missing before the last that is there. How many packets were promised.
fn promise_kept(run: u64, settled: &BTreeMap<Stream, u64>, found: &BTreeMap<Stream, BTreeSet<u64>>) -> u64 {
    assert!(found.keys().all(|(of, ..)| *of == run), "packets of another run in new segments");
    for (stream, settled) in settled {
        let numbers = found.get(stream).cloned().unwrap_or_default();
        let missing = (0..*settled).find(|number| !numbers.contains(number));
        assert_eq!(missing, None, "{stream:?}: {settled} were recorded {:?} before", FLUSH + WAY);
    }
    settled.values().sum()
}
