//! The owner of many files on a real disk.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trunkline_rrd::{
    Archive, Consolidation, Fault, Folder, Full, Made, Options, Plan, Question, Reading, Recovered, Refused, RrdFile,
    Time, Value, Writer,
};

const START_S: i64 = 1_700_000_000;
const FILES: u64 = 20;
const HELD: &str = "TRUNKLINE_RRD_HELD";
const CHILD: &str = "TRUNKLINE_RRD_WRITER_IN";

fn made(file: u64) -> Made {
    let definitions = ["DS:in:COUNTER:120:U:U", "DS:out:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:50", "RRA:MAX:0.5:5:500"];
    Plan::read(60, definitions).unwrap().create(START_S, |rows| file * 7 % rows).unwrap()
}

fn path(file: u64) -> Option<PathBuf> {
    Some(PathBuf::from(format!("{file}.rrd")))
}

fn sample(file: u64, number: u64) -> (Time, [Reading; 2]) {
    let values = [Value::Unsigned(number * (file + 1) * 6000), Value::Float(number as f64 / 4.0)];
    (Time::at(START_S + number as i64 * 60), values)
}

fn create(folder: &Path) {
    (0..FILES).for_each(|file| RrdFile::create(&folder.join(path(file).unwrap()), &made(file)).unwrap());
}

fn open(folder: &Path, options: Options) -> Writer<Folder> {
    Writer::open(Folder::open(folder).unwrap(), options).unwrap().0
}

fn small() -> Options {
    Options { together: 7, redo_octets: 1 << 17, header_octets_max: 20_000, ..Options::default() }
}

#[test]
fn samples_wait_until_there_are_enough_or_they_are_old() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path());
    let mut writer = open(folder.path(), small());
    let put = |writer: &mut Writer<Folder>, number: u64, now_s: i64| {
        let (time, values) = sample(3, number);
        writer.put(3, time, &values, now_s).unwrap();
    };
    (1..7).for_each(|number| put(&mut writer, number, 100));
    assert!(writer.flush_due(100, path).unwrap().stored.is_empty());
    put(&mut writer, 7, 100);
    assert_eq!(writer.flush_due(100, path).unwrap().stored, [(3, sample(3, 7).0)]);
    assert_eq!(writer.waiting_octets(), 0);
    put(&mut writer, 8, 200);
    assert!(writer.flush_due(1999, path).unwrap().stored.is_empty());
    assert_eq!(writer.flush_due(2000, path).unwrap().stored, [(3, sample(3, 8).0)]);
    put(&mut writer, 9, 2000);
    // Whoever reads first asks for it.
    assert_eq!(writer.flush(3, path).unwrap().stored, [(3, sample(3, 9).0)]);
    let counters = writer.counters();
    assert_eq!((counters.samples_stored_total, counters.values_stored_total), (9, 18));
    assert_eq!((counters.headers_read_total, counters.headers_kept_total), (1, 2));
    let file = RrdFile::open(&folder.path().join("3.rrd")).unwrap();
    let (start_s, end_s) = (START_S + 200, START_S + 400);
    let question = Question { consolidation: Consolidation::Average, start_s, end_s, step_s: 1 };
    let series = file.fetch(&question).unwrap();
    // A counter of 24,000 more each minute is 400 a second.
    assert!(series.values.chunks(2).all(|row| row[0] == 400.0), "{series:?}");
}

#[test]
fn what_cannot_be_written_is_told_and_nothing_else_suffers() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path());
    std::fs::remove_file(folder.path().join("0.rrd")).unwrap();
    std::fs::write(folder.path().join("1.rrd"), b"not a round-robin file").unwrap();
    let mut writer = open(folder.path(), small());
    for file in 0..4 {
        let (time, values) = sample(file, 2);
        writer.put(file, time, &values, 0).unwrap();
        writer.put(file, sample(file, 1).0, &values, 0).unwrap();
    }
    let flushed = writer.flush_all(path).unwrap();
    assert_eq!(flushed.stored, [(2, sample(2, 2).0), (3, sample(3, 2).0)]);
    assert!(matches!(&flushed.failed[..], [(0, Fault::Io(_)), (1, Fault::Format { .. })]), "{:?}", flushed.failed);
    assert!(flushed.refused.iter().all(|(_, _, why)| matches!(why, Refused::Past(_))));
    assert_eq!((flushed.refused.len(), writer.counters().samples_lost_total), (2, 4));
    assert_eq!(writer.counters().samples_past_total, 2);
}

#[test]
fn more_samples_than_may_wait_are_refused_and_the_oldest_are_due() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path());
    let mut writer = open(folder.path(), Options { waiting_octets_max: 4000, together: 1000, ..small() });
    let mut taken = 0;
    while writer.put(taken % FILES, sample(taken % FILES, taken + 1).0, &sample(0, taken).1, taken as i64).is_ok() {
        taken += 1;
    }
    assert!(taken > FILES && writer.waiting_octets() <= 4000);
    assert_eq!(writer.put(0, Time::at(START_S), &[], 0), Err(Full));
    let stored = writer.flush_due(50, path).unwrap().stored;
    assert!(!stored.is_empty() && stored.len() < FILES as usize && stored[0].0 == 0, "{stored:?}");
    assert!(writer.waiting_octets() <= 2000 && writer.counters().samples_overflow_total == 2);
}

#[test]
fn files_that_others_hold_or_change_are_not_spoilt() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path());
    let Ok(rrdtool) = Command::new("rrdtool").arg("--version").output() else {
        eprintln!("SKIPPED: rrdtool is not there; scripts/setup test installs it");
        return;
    };
    assert!(rrdtool.status.success());
    let mut writer = open(folder.path(), small());
    for number in 1..=3 {
        let (time, values) = sample(5, number);
        writer.put(5, time, &values, 0).unwrap();
        writer.flush_all(path).unwrap();
    }
    // Another program goes on with the file: what is in memory of it does not count any more.
    let (time, _) = sample(5, 4);
    let sample_text = format!("{}:144000:1", time.seconds);
    let mut update = Command::new("rrdtool");
    update.current_dir(folder.path()).args(["update", "5.rrd", &sample_text]);
    assert!(update.status().unwrap().success());
    let (time, values) = sample(5, 5);
    writer.put(5, time, &values, 0).unwrap();
    assert_eq!(writer.flush_all(path).unwrap().stored, [(5, time)]);
    assert_eq!(writer.counters().headers_read_total, 2);
    let info = Command::new("rrdtool").current_dir(folder.path()).args(["lastupdate", "5.rrd"]).output().unwrap();
    assert!(String::from_utf8_lossy(&info.stdout).contains("180000 1.25"), "{info:?}");
}

#[test]
fn what_redo_files_hold_of_files_that_are_gone_or_made_anew_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path());
    let mut writer = open(folder.path(), small());
    for file in 0..3 {
        let (time, values) = sample(file, 1);
        writer.put(file, time, &values, 0).unwrap();
    }
    writer.flush_all(path).unwrap();
    drop(writer);
    std::fs::remove_file(folder.path().join("0.rrd")).unwrap();
    RrdFile::create(&folder.path().join("1.rrd"), &made(1)).unwrap();
    let (_, recovered) = Writer::open(Folder::open(folder.path()).unwrap(), small()).unwrap();
    assert_eq!(recovered, Recovered { entries: 1, gone: 1, changed: 1 });
    assert!(std::fs::read(folder.path().join("1.rrd")).unwrap() == made(1).octets());
    check(folder.path(), 2, sample(2, 1).0.seconds);
    let (_, recovered) = Writer::open(Folder::open(folder.path()).unwrap(), small()).unwrap();
    assert_eq!(recovered, Recovered::default());
}

/// Holds a file's lock until its input ends.
#[test]
fn holder() {
    let Some(path) = std::env::var_os(HELD) else { return };
    let _held = RrdFile::open_to_update(Path::new(&path)).unwrap();
    println!("held");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn samples_of_a_file_that_is_locked_wait_on() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path());
    let held = folder.path().join("2.rrd");
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer::holder", "--nocapture"])
        .env(HELD, &held)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("held")));
    assert!(matches!(RrdFile::open(&held), Err(Fault::Locked)));
    let mut writer = open(folder.path(), small());
    for file in 1..4 {
        let (time, values) = sample(file, 1);
        writer.put(file, time, &values, 0).unwrap();
    }
    let flushed = writer.flush_all(path).unwrap();
    assert_eq!(flushed.stored.iter().map(|(file, _)| *file).collect::<Vec<_>>(), [1, 3]);
    assert!(matches!(flushed.failed[..], [(2, Fault::Locked)]), "{:?}", flushed.failed);
    assert!(writer.waiting_octets() > 0 && writer.counters().files_locked_total == 1);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert_eq!(writer.flush_all(path).unwrap().stored, [(2, sample(2, 1).0)]);
    check(folder.path(), 2, sample(2, 1).0.seconds);
}

/// Writes until it is killed, and says what is stored.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let folder = PathBuf::from(folder);
    let mut writer = open(&folder, small());
    let from = |file: u64| Archive::open(&std::fs::read(folder.join(path(file).unwrap())).unwrap()).unwrap().last();
    let mut next: Vec<u64> = (0..FILES).map(|file| ((from(file).seconds - START_S) / 60) as u64 + 1).collect();
    println!();
    for round in 0u64.. {
        for file in 0..FILES {
            for _ in 0..(round + file) % 5 {
                let (time, values) = sample(file, next[file as usize]);
                writer.put(file, time, &values, 0).unwrap();
                next[file as usize] += 1;
            }
        }
        for (file, time) in writer.flush_due(0, path).unwrap().stored {
            println!("stored {file} {}", time.seconds);
        }
    }
}

#[test]
fn files_are_whole_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path());
    let mut stored = [START_S; FILES as usize];
    for life in 0..12u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer::child", "--nocapture"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let few = lines.by_ref().filter(|line| line.as_ref().is_ok_and(|line| line.starts_with("stored")));
        let mut told: Vec<String> = few.take(20 + (life as usize * 97) % 300).map(Result::unwrap).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        told.extend(lines.map_while(Result::ok).filter(|line| line.starts_with("stored")));
        for line in told {
            let numbers: Vec<i64> = line.split(' ').skip(1).filter_map(|number| number.parse().ok()).collect();
            // The last line may be cut.
            if let [file, seconds] = numbers[..]
                && (seconds - START_S) % 60 == 0
            {
                stored[file as usize] = stored[file as usize].max(seconds);
            }
        }
        drop(open(folder.path(), small()));
        (0..FILES).for_each(|file| check(folder.path(), file, stored[file as usize]));
    }
    assert!(stored.iter().all(|seconds| *seconds > START_S), "{stored:?}");
}

/// Octet by octet what its samples make of it, as far as it is; at least as far as was told.
fn check(folder: &Path, file: u64, stored_s: i64) {
    let octets = std::fs::read(folder.join(path(file).unwrap())).unwrap();
    let last_s = Archive::open(&octets).unwrap().last().seconds;
    assert!(last_s >= stored_s, "file {file} is at {last_s}, told was {stored_s}");
    let other = folder.join("other.rrd");
    RrdFile::create(&other, &made(file)).unwrap();
    let samples: Vec<_> = (1..=((last_s - START_S) / 60) as u64).map(|number| sample(file, number)).collect();
    let samples = samples.iter().map(|(time, values)| (*time, &values[..]));
    RrdFile::open_to_update(&other).unwrap().update(samples, |time, why| panic!("{time:?}: {why}")).unwrap();
    assert!(octets == std::fs::read(&other).unwrap(), "file {file} is not whole at {last_s}");
}
