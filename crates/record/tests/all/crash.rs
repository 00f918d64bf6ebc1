//! `kill -9` of the whole recorder under load: what the next start finds is whole, readable by other programs, indexed
//! as a full scan would, and lacks at most what was recorded within the time that the rules promise.
//!
//! How long a write takes is the machine's affair: on one that has much else to do, a disk may answer after seconds and
//! a thread may not run for as long, and a test that measures from outside cannot tell that from a hole in the rules.
//! So three things are asked. Without any clock: what the recorder itself called written is there. By the recorder's
//! own time: what waits for longer than a flush was handed to the disk, unless a flush before it is still on its way,
//! and what the disk has not taken is never older than [`trunkline_spool::VolumeStats::unwritten`] says. By the wall's
//! time: what is older than that and [`WAY`] is there, but for as long as the kernel says that tasks were held up.
//!
//! Test group: waits: for a recorder that is killed.

use crate::traffic;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use traffic::{Lane, Stream, found, now_ns, options, segments};
use trunkline_record::index::Span;
use trunkline_record::job::folder::{Wish, list};
use trunkline_record::job::verify::{Contents, Depth, verify};
use trunkline_record::{Class, Recorded, Recorder, Rules};
use trunkline_spool::{Engine, Stats, Volume};

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
/// recorded, and how many of them it takes for written.
#[test]
fn child() {
    let (Ok(folder), Ok(run)) = (std::env::var(FOLDER), std::env::var(RUN)) else { return };
    let run: u64 = run.parse().unwrap();
    let mut options = options(Volume::new(&folder)).memory(32 << 20);
    options.engine = if run.is_multiple_of(2) { Engine::Auto } else { Engine::Pwrite };
    let (recorder, opened) = Recorder::open(options, rules()).unwrap();
    assert!(opened.repaired.iter().all(|r| r.left.is_empty() && r.in_use.is_empty()), "{opened:?}");
    let lane = |lane| Watched::new(Lane::new(recorder.lane(lane, "eth0"), run, lane));
    let mut lanes: Vec<Watched> = (0..LANES).map(lane).collect();
    let mut out = std::io::stdout().lock();
    loop {
        for lane in &mut lanes {
            // Every packet is recorded: what is refused would be no loss by the crash. A slow disk slows this down.
            let memory = recorder.stats().memory;
            for i in (0..200).take_while(|_| memory.used < memory.limit / 2) {
                lane.send(Class::Rtp, 172);
                if i % 20 == 0 {
                    lane.send(Class::Sip, 600);
                }
                if i % 5 == 0 {
                    lane.send(Class::Other, 1400);
                }
            }
            lane.look(|| recorder.stats());
            let (number, [sip, rtp, other], [a, b, c]) = (lane.lane.lane, lane.lane.sent, lane.written);
            let _ = writeln!(out, "run {run} {number} {sip} {rtp} {other} {a} {b} {c}");
        }
        let _ = out.flush();
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// A lane, and of its packets by class those that are not known to be written.
struct Watched {
    lane: Lane,
    waiting: [VecDeque<Waiting>; 3],
    /// How many are.
    written: [u64; 3],
}

struct Waiting {
    recorded: Recorded,
    octets: u64,
    /// The packet's time, and a moment when it had been recorded.
    at_ns: i64,
    since: Instant,
}

impl Watched {
    fn new(lane: Lane) -> Watched {
        Watched { lane, waiting: Default::default(), written: [0; 3] }
    }

    fn send(&mut self, class: Class, payload: usize) {
        let at_ns = now_ns();
        let (recorded, octets) = self.lane.record(class, at_ns, payload).expect("there is memory");
        self.waiting[class as usize].push_back(Waiting { recorded, octets, at_ns, since: Instant::now() });
    }

    /// Lets time go on, and holds the recorder to what it says, in its own time: that holds however busy the machine.
    fn look(&mut self, stats: impl FnOnce() -> Stats) {
        let ticked_ns = now_ns();
        self.lane.log.tick(ticked_ns);
        // In this order: what is not written below was not written when this was asked.
        let asked = Instant::now();
        let unwritten = stats().volumes[0].unwritten.unwrap_or_default();
        for class in Class::ALL {
            let Some(standing) = self.lane.log.standing(class) else { continue };
            let waiting = &mut self.waiting[class as usize];
            let is_written = |w: &Waiting| match w.recorded.segment == standing.segment {
                true => w.recorded.offset + w.octets <= standing.on_disk,
                // One volume takes what it is given in order.
                false => standing.on_disk > 0,
            };
            while waiting.front().is_some_and(is_written) {
                waiting.pop_front();
                self.written[class as usize] += 1;
            }
            // Whether the rest of an earlier segment is written is known with the first block of this one.
            let of_this = |w: &&Waiting| w.recorded.segment == standing.segment;
            let is_handed_over = |w: &&Waiting| w.recorded.offset + w.octets <= standing.handed_over;
            if let Some(oldest) = waiting.front().filter(of_this).filter(is_handed_over) {
                let age = asked.saturating_duration_since(oldest.since);
                assert!(age <= unwritten, "{class:?}: {age:?} old, and {unwritten:?} are told: {standing:?}");
            }
            if let Some(next) = waiting.iter().filter(of_this).find(|w| !is_handed_over(w)) {
                let age_ns = ticked_ns - next.at_ns;
                let is_young = age_ns < FLUSH.as_nanos() as i64;
                assert!(is_young || standing.is_late, "{class:?}: {age_ns} ns old and not handed over: {standing:?}");
            }
        }
    }
}

#[test]
fn killed_twenty_times() {
    killed(20);
}

/// As often as issue 3 asks: `cargo test -p trunkline-record --test all crash:: -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn killed_two_hundred_times() {
    killed(200);
}

fn killed(times: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (mut seen, mut indexed, mut packets, mut kept) = (BTreeSet::new(), 0, 0, Kept::default());
    for run in 0..times {
        // Some die while they start or repair, some when a segment ends, some in the middle.
        let life = Duration::from_millis(10 + run * 7919 % 2400);
        let said = record_and_kill(folder.path(), run, life);
        let fresh = reopen(folder.path(), &mut seen);
        indexed += indexes_agree(folder.path(), &fresh);
        others_read(&fresh);
        let found = found(&fresh);
        packets += found.values().map(BTreeSet::len).sum::<usize>();
        kept.judge(run, &said, &found);
    }
    let Kept { written, settled, late, held_up } = kept;
    println!("{times} kills: {indexed} segments with indexes as a full scan makes them, {packets} packets in them;");
    println!("{written} were told as written and {settled} recorded {:?} before a kill: all are there,", FLUSH + WAY);
    println!("but for what was up to {late:?} older while tasks were held up for {held_up:?}");
    assert!(indexed > times as usize && written > 0 && settled > 0, "{indexed} segments, {written}, {settled}");
    let still: BTreeSet<PathBuf> = segments(folder.path()).into_iter().collect();
    assert_eq!(still, seen, "what was committed stays");
}

/// What a child said until it was killed.
struct Said {
    lines: Vec<Line>,
    killed: Instant,
    /// [`held_up`] then.
    held_up: Duration,
}

/// How many packets of each class a lane had recorded, and how many of them it took for written, before this time.
struct Line {
    lane: u16,
    sent: [u64; 3],
    written: [u64; 3],
    at: Instant,
    held_up: Duration,
}

/// Runs a child and kills it.
fn record_and_kill(folder: &Path, run: u64, life: Duration) -> Said {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(FOLDER, folder)
        .env(RUN, run.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || out.lines().map_while(Result::ok).filter_map(|l| line(&l)).collect());
    let until = Instant::now() + life;
    while Instant::now() < until {
        std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
    }
    // What a line says was so before the line was read.
    let killed = Instant::now();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "it ended before it was killed");
    Said { lines: reader.join().unwrap(), killed, held_up: held_up() }
}

/// `run 7 1 10 200 40 10 190 30`: lane, packets by class, and of these those that are written.
fn line(line: &str) -> Option<Line> {
    let numbers: Vec<u64> = line.strip_prefix("run ")?.split(' ').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let [_, lane, sip, rtp, other, a, b, c] = numbers[..] else { return None };
    let (sent, written) = ([sip, rtp, other], [a, b, c]);
    Some(Line { lane: lane as u16, sent, written, held_up: held_up(), at: Instant::now() })
}

/// For how long the kernel says, since it began, that tasks of this machine waited for a processor, a disk or memory
/// (Linux Documentation/accounting/psi.rst). None that keeps no such account: then nothing excuses.
fn held_up() -> Duration {
    let total = |of: &str| {
        let text = std::fs::read_to_string(format!("/proc/pressure/{of}")).ok()?;
        text.lines().find(|l| l.starts_with("some "))?.rsplit_once("total=")?.1.parse::<u64>().ok()
    };
    Duration::from_micros(["cpu", "io", "memory"].iter().filter_map(|of| total(of)).sum())
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
        let verified = verify(file, Depth::Contents).unwrap();
        assert!(verified.fault.is_none() && verified.index.is_none(), "{}: {verified:?}", file.path.display());
        assert!(matches!(verified.contents, Contents::Whole(_)), "{}: {verified:?}", file.path.display());
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
        Err(_) => println!("SKIPPED IN PART: no capinfos"),
    }
    for file in fresh {
        // To nowhere by its standard output: as root it would give /dev/null to its user.
        match Command::new("tcpdump").args(["-nn", "-q", "-w", "-", "-r"]).arg(file).stdout(Stdio::null()).output() {
            Ok(out) => {
                assert!(out.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&out.stderr));
            }
            Err(_) => return println!("SKIPPED IN PART: no tcpdump"),
        }
    }
}

/// What was kept of what was promised.
#[derive(Default)]
struct Kept {
    /// Packets that were told as written.
    written: u64,
    /// Packets that had been recorded [`FLUSH`] and [`WAY`] before a kill.
    settled: u64,
    /// By how much more the oldest packet was recorded before that is missing, and for how long tasks were held up
    /// since.
    late: Duration,
    held_up: Duration,
}

impl Kept {
    fn judge(&mut self, run: u64, said: &Said, found: &BTreeMap<Stream, BTreeSet<u64>>) {
        assert!(found.keys().all(|(of, ..)| *of == run), "packets of another run in new segments");
        for (lane, class) in (0..LANES).flat_map(|lane| [0, 1, 2].map(|class| (lane, class))) {
            let of = (run, lane, class as u8);
            let lines = || said.lines.iter().filter(|line| line.lane == lane);
            let numbers = found.get(&of).cloned().unwrap_or_default();
            let missing = (0..).find(|number| !numbers.contains(number)).unwrap_or_default();
            let written = lines().next_back().map_or(0, |line| line.written[class]);
            assert!(written <= missing, "{of:?}: {written} were told as written, and {missing} is missing");
            self.written += written;
            let is_settled = |line: &&Line| said.killed.duration_since(line.at) > FLUSH + WAY;
            self.settled += lines().rfind(is_settled).map_or(0, |line| line.sent[class]);
            let Some(line) = lines().find(|line| line.sent[class] > missing).filter(is_settled) else { continue };
            let late = said.killed.duration_since(line.at) - FLUSH - WAY;
            let held_up = said.held_up.saturating_sub(line.held_up);
            println!("{of:?}: {missing} is missing, {late:?} too old; tasks were held up for {held_up:?} since");
            assert!(late <= held_up, "{of:?}: {missing} is missing, {late:?} too old, and {held_up:?} excuse that");
            if late > self.late {
                (self.late, self.held_up) = (late, held_up);
            }
        }
    }
}
