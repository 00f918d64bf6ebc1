//! `kill -9` at any moment: after repair each segment is a whole prefix, none is missing before the last, and what the
//! writer called written is there. How soon that is, is the disk's affair; that a flush is not put off is tested by the
//! recorder, which calls it.
//!
//! Test group: waits: for a writer that is killed.

use crate::support;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{KINDS, Pattern, extra, files, first_number, mend, options, prefix_from, volume};
use trunkline_spool::{Engine, Options, Priority, Spool, repair};

/// Where the child writes, and the first of its three seeds.
const FOLDER: &str = "TRUNKLINE_SPOOL_KILL_FOLDER";
const SEED: &str = "TRUNKLINE_SPOOL_KILL_SEED";
const WRITERS: u64 = 3;

/// Not a test of its own: what the parent starts and kills.
#[test]
fn child() {
    let (Ok(folder), Ok(seed)) = (std::env::var(FOLDER), std::env::var(SEED)) else { return };
    let seed: u64 = seed.parse().unwrap();
    let engine = if seed.is_multiple_of(2) { Engine::Auto } else { Engine::Pwrite };
    let options = Options { engine, ..options(volume(Path::new(&folder))) }.memory(16 << 20);
    let (spool, _) = Spool::open(options).unwrap();
    let mut writers: Vec<_> =
        (0..WRITERS).map(|i| (spool.writer(Priority::ALL[i as usize], i as u32), Pattern::new(seed + i))).collect();
    // Of each writer, the segments (ends of records) that are not wholly written, and records that are.
    let mut states: Vec<(VecDeque<VecDeque<u64>>, u64)> = writers.iter().map(|_| Default::default()).collect();
    let mut out = std::io::stdout().lock();
    for round in 0u64.. {
        for ((writer, pattern), (open, written)) in writers.iter_mut().zip(&mut states) {
            let tag = u64::from(writer.tag());
            if round % (7 + 4 * tag) == 0 {
                writer.seal(vec![extra(b"index")]);
            }
            if !writer.is_open() {
                writer.begin(Path::new(&format!("p/{tag}/12-{tag}.seg"))).unwrap();
                open.push_back(VecDeque::new());
            }
            for _ in 0..100 * (1 + tag * tag * 10) {
                if pattern.append(writer, 0).is_ok() {
                    open.back_mut().unwrap().push_back(writer.position());
                }
            }
            writer.flush();
            let on_disk = writer.on_disk();
            // A volume takes what it is given in order: once it has something of a segment, it has all before.
            while on_disk > 0 && open.len() > 1 {
                *written += open.pop_front().unwrap().len() as u64;
            }
            while open.len() == 1 && open[0].front().is_some_and(|end| *end <= on_disk) {
                open[0].pop_front();
                *written += 1;
            }
            let _ = writeln!(out, "{} {written}", seed + tag);
        }
        let _ = out.flush();
        std::thread::park_timeout(Duration::from_millis(15));
    }
}

#[test]
fn killed_a_few_times() {
    killed(8, 1);
}

/// As often as issue 3 asks: `cargo test -p trunkline-spool --test all kill:: -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn killed_many_times() {
    killed(200, 1000);
}

fn killed(times: u64, first_seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut written = BTreeMap::new();
    let mut found = BTreeMap::new();
    for run in 0..times {
        let seed = first_seed + run * WRITERS;
        // Some die while they start, some have flushed for seconds.
        let life = Duration::from_millis(20 + run * 7919 % 1900);
        written.extend(run_and_kill(folder.path(), seed, life));
        let repaired = repair(folder.path(), KINDS, Duration::from_secs(20), &mut mend).unwrap();
        assert!(repaired.left.is_empty() && repaired.in_use.is_empty(), "{repaired:?}");
        take_records(folder.path(), &mut found);
    }
    assert!(written.values().any(|records| *records > 0));
    for (seed, records) in &written {
        let found = found.get(seed).copied().unwrap_or_default();
        assert!(found >= *records, "seed {seed}: {found} records, {records} were told as written");
    }
    let (there, promised) = (found.values().sum::<u64>(), written.values().sum::<u64>());
    println!("{times} kills: {there} records of {} writers are there, whole and in order;", found.len());
    println!("{promised} of {} had been told as written before a kill, all of them are there", written.len());
}

/// How many records of each seed it said were written.
fn run_and_kill(folder: &Path, seed: u64, life: Duration) -> BTreeMap<u64, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture"])
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let numbers = |line: String| {
            let (seed, records) = line.split_once(' ')?;
            Some((seed.parse().ok()?, records.parse().ok()?))
        };
        out.lines().map_while(Result::ok).filter_map(numbers).collect()
    });
    let until = Instant::now() + life;
    while Instant::now() < until {
        std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// Counts the records of each seed from 0 up to the first that is missing (a segment may have been begun while the last
/// block of the one before was still in flight). Every segment is whole. Removes the segments.
fn take_records(folder: &Path, found: &mut BTreeMap<u64, u64>) {
    let mut segments = Vec::new();
    for name in files(folder) {
        assert!(!name.ends_with(".part"), "{name}");
        if name.ends_with(".seg") {
            let path = folder.join(&name);
            assert!(path.with_extension("idx").exists(), "{name}");
            let octets = std::fs::read(&path).unwrap();
            let seed = u32::from_le_bytes(octets[4..8].try_into().unwrap());
            segments.push((u64::from(seed), first_number(&octets).unwrap(), octets, name));
        }
    }
    files(folder).iter().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
    segments.sort_by_key(|s| (s.0, s.1));
    for (seed, first, octets, name) in segments {
        let next = found.entry(seed).or_default();
        let whole = prefix_from(seed, first, &octets);
        assert_eq!(whole.octets, octets.len() as u64, "{name}");
        if first == *next {
            *next += whole.records;
        }
    }
}
