//! Disks that are full, broken, read-only: nothing is lost silently, the rest goes on, and writing resumes by itself.
//!
//! Test group: waits: for disks that are slow.

use crate::eventually::{PATIENCE, awaited, eventually};
use crate::support;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use support::{KINDS, Pattern, extra, files, first_number, mend, options, prefix_from, volume, whole};
use tempfile::TempDir;
use trunkline_spool::{
    Ended, Fault, Faults, Loss, Options, Place, Priority, Spool, State, Stats, What, Writer, repair,
};

/// A spool with one volume whose faults are ours.
struct Bench {
    folder: TempDir,
    faults: Arc<Faults>,
    spool: Spool,
}

impl Bench {
    fn new(of: impl FnOnce(Options) -> Options) -> Bench {
        let (folder, faults) = (tempfile::tempdir().unwrap(), Arc::new(Faults::default()));
        let mut volume = volume(folder.path());
        volume.faults = Some(faults.clone());
        let (spool, _) = Spool::open(of(options(volume))).unwrap();
        Bench { folder, faults, spool }
    }

    fn writer(&self) -> Writer {
        let mut writer = self.spool.writer(Priority::Middle, 5);
        writer.begin(Path::new("a.seg")).unwrap();
        writer
    }

    /// Records of all files below the folder, each file from its first number on; every file is whole to its end.
    fn records(&self, seed: u64) -> u64 {
        let whole = files(self.folder.path()).into_iter().filter(|f| f.contains(".seg")).map(|name| {
            let octets = std::fs::read(self.folder.path().join(&name)).unwrap();
            let found = prefix_from(seed, first_number(&octets).unwrap(), &octets);
            assert_eq!(found.octets, octets.len() as u64, "{name}");
            found.records
        });
        whole.sum()
    }
}

/// Appends until the writer's segment has failed, pacing itself so that the memory is not what refuses.
fn append_until_failure(bench: &Bench, pattern: &mut Pattern, writer: &mut Writer) {
    let began = Instant::now();
    while writer.is_open() {
        for _ in 0..200 {
            let at = pattern.records() as i64;
            let _ = pattern.append(writer, at);
        }
        writer.flush();
        bench.spool.settle(PATIENCE);
        assert!(began.elapsed() < PATIENCE, "never failed");
    }
}

fn await_state(spool: &Spool, wanted: impl Fn(&State) -> bool) {
    awaited("it is in that state", || {
        let volume = spool.stats().volumes[0].clone();
        if wanted(&volume.state) { Ok(()) } else { Err(Box::new(volume)) }
    });
}

/// Begins a segment once a volume is there, and appends to it.
fn go_on(bench: &Bench, pattern: &mut Pattern, writer: &mut Writer) {
    await_state(&bench.spool, State::is_usable);
    writer.begin(Path::new("a.seg")).unwrap();
    for _ in 0..500 {
        pattern.append(writer, 0).unwrap();
    }
    writer.seal(vec![extra(b"index")]);
    assert!(bench.spool.settle(PATIENCE));
}

/// What was appended is on disk or counted as lost, and losses say the same.
fn nothing_is_silent(stats: &Stats, losses: &[Loss], pattern: &Pattern, on_disk: u64) {
    assert_eq!(stats.counts.appended_records, pattern.records());
    assert_eq!(stats.counts.appended_octets, pattern.octets());
    assert_eq!(stats.counts.appended_octets, stats.counts.written_octets + stats.counts.lost_octets);
    assert_eq!(stats.counts.appended_records, on_disk + stats.counts.lost_records);
    assert_eq!(losses.iter().map(|l| l.records).sum::<u64>(), stats.counts.lost_records);
    assert_eq!(losses.iter().map(|l| l.octets).sum::<u64>(), stats.counts.lost_octets);
    assert!(losses.iter().all(|l| l.tag == 5 && l.priority == Priority::Middle && l.place == Place::Disk));
    assert_eq!(stats.drops[1].lost.records, stats.counts.lost_records);
    assert_eq!(stats.memory.used, 0);
}

/// The whole story with one fault.
fn story(fault: Fault, is_state: impl Fn(&State) -> bool) {
    let bench = Bench::new(|o| o);
    let (mut writer, mut pattern) = (bench.writer(), Pattern::new(3));
    for _ in 0..2000 {
        pattern.append(&mut writer, 0).unwrap();
    }
    assert!(writer.flush() && bench.spool.settle(PATIENCE));
    bench.faults.set(fault);
    append_until_failure(&bench, &mut pattern, &mut writer);
    let state = bench.spool.stats().volumes[0].state.clone();
    assert!(is_state(&state), "{state:?}");
    // Nothing is accepted while there is no volume, and each record is counted.
    let refused = bench.spool.stats().counts.disk_dropped_records;
    assert_eq!(writer.append(0, &[b"x"]).unwrap_err().place, Place::Disk);
    assert_eq!(writer.begin(Path::new("b.seg")).unwrap_err().place, Place::Disk);
    assert_eq!(bench.spool.stats().counts.disk_dropped_records, refused + 1);
    bench.faults.set(Fault::default());
    go_on(&bench, &mut pattern, &mut writer);
    let events = bench.spool.events();
    assert!(
        events
            .iter()
            .any(|e| matches!(&e.what, What::Cut { path, octets } if *octets > 0 && path.ends_with("a.seg.part")))
    );
    let (stats, losses) = (bench.spool.stats(), bench.spool.losses());
    assert!(stats.counts.lost_records > 0 && stats.volumes[0].last_error.is_some());
    let repaired = repair(bench.folder.path(), KINDS, Duration::ZERO, &mut mend).unwrap();
    assert_eq!(repaired.kept.len(), 1, "{repaired:?}");
    nothing_is_silent(&stats, &losses, &pattern, bench.records(3));
    assert_eq!(files(bench.folder.path()), ["a.1.idx", "a.1.seg", "a.idx", "a.seg"]);
}

#[test]
fn a_full_disk() {
    story(Fault { space: Some(300_000), ..Fault::default() }, |s| *s == State::Full);
}

#[test]
fn a_broken_disk() {
    story(
        Fault { write_error: true, ..Fault::default() },
        |s| matches!(s, State::Failed(text) if text.contains("os error 5")),
    );
}

#[test]
fn a_disk_that_became_read_only() {
    story(Fault { read_only: true, ..Fault::default() }, |s| *s == State::ReadOnly);
}

/// What is in flight when a volume turns read-only may still arrive, and cannot be cut off: it is repaired, so it is
/// not lost.
#[test]
fn what_arrives_after_all_is_not_told_as_lost() {
    let bench = Bench::new(|o| Options { whole: Some(whole), ..o });
    // While the first write is on its way, the others queue up; when it has ended, several are sent at once.
    bench.faults.set(Fault { write_delay: Duration::from_secs(5), ..Fault::default() });
    let (mut writer, mut pattern) = (bench.writer(), Pattern::new(9));
    for _ in 0..3000 {
        pattern.append(&mut writer, 0).unwrap();
    }
    let queued = || bench.spool.stats().volumes[0].queued_blocks;
    let all = queued();
    eventually("they are sent", || queued() + 2 <= all);
    bench.faults.set(Fault { read_only: true, ..Fault::default() });
    writer.seal(vec![extra(b"index")]);
    assert!(bench.spool.settle(PATIENCE));
    let (stats, losses) = (bench.spool.stats(), bench.spool.losses());
    assert!(stats.counts.lost_records > 0 && stats.counts.written_blocks > 1, "{:?}", stats.counts);
    let cut = bench.spool.events().into_iter().find_map(|e| match e.what {
        What::Cut { path, octets } => Some((path, octets)),
        _ => None,
    });
    let repaired = repair(bench.folder.path(), KINDS, Duration::ZERO, &mut mend).unwrap();
    assert_eq!(repaired.kept, [(bench.folder.path().join("a.seg"), cut.unwrap().1)], "{repaired:?}");
    nothing_is_silent(&stats, &losses, &pattern, bench.records(9));
}

#[test]
fn space_that_is_to_stay_free_is_left() {
    let bench = Bench::new(|o| Options { keep_free: 1 << 20, ..o });
    let (mut writer, mut pattern) = (bench.writer(), Pattern::new(4));
    for _ in 0..2000 {
        pattern.append(&mut writer, 0).unwrap();
    }
    bench.faults.set(Fault { space: Some(1 << 20), ..Fault::default() });
    eventually("it is closed", || {
        if writer.is_open() {
            pattern.append(&mut writer, 0).unwrap();
            writer.flush();
        }
        !writer.is_open()
    });
    assert_eq!(bench.spool.stats().volumes[0].state, State::Full);
    bench.faults.set(Fault::default());
    go_on(&bench, &mut pattern, &mut writer);
    let repaired = repair(bench.folder.path(), KINDS, Duration::ZERO, &mut mend).unwrap();
    assert_eq!(repaired.kept.len(), 1, "{repaired:?}");
    nothing_is_silent(&bench.spool.stats(), &bench.spool.losses(), &pattern, bench.records(4));
}

#[test]
fn a_segment_that_cannot_be_synchronised_is_not_committed() {
    let bench = Bench::new(|o| o);
    let (mut writer, mut pattern) = (bench.writer(), Pattern::new(5));
    for _ in 0..2000 {
        pattern.append(&mut writer, 0).unwrap();
    }
    bench.faults.set(Fault { sync_error: true, ..Fault::default() });
    writer.seal(vec![extra(b"index")]);
    assert!(bench.spool.settle(PATIENCE));
    assert_eq!(files(bench.folder.path()), ["a.seg.part"]);
    let stats = bench.spool.stats();
    assert_eq!((stats.counts.sync_errors, stats.counts.cut_segments, stats.counts.sealed_segments), (1, 1, 0));
    assert!(matches!(stats.volumes[0].state, State::Failed(_)));
    bench.faults.set(Fault::default());
    go_on(&bench, &mut pattern, &mut writer);
    assert_eq!(repair(bench.folder.path(), KINDS, Duration::ZERO, &mut mend).unwrap().kept.len(), 1);
    nothing_is_silent(&bench.spool.stats(), &bench.spool.losses(), &pattern, bench.records(5));
}

#[test]
fn one_volume_fails_and_the_other_takes_over() {
    let (folders, faults) = ([tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()], Arc::new(Faults::default()));
    let mut first = volume(folders[0].path());
    first.faults = Some(faults.clone());
    let mut both = options(first);
    both.volumes.push(volume(folders[1].path()));
    let (spool, _) = Spool::open(both).unwrap();
    faults.set(Fault { write_error: true, ..Fault::default() });
    let (mut writer, mut pattern) = (spool.writer(Priority::Middle, 5), Pattern::new(6));
    for _ in 0..6 {
        if !writer.is_open() {
            writer.begin(Path::new("a.seg")).unwrap();
        }
        for _ in 0..500 {
            let _ = pattern.append(&mut writer, 0);
        }
        writer.flush();
        spool.settle(PATIENCE);
    }
    writer.seal(Vec::new());
    assert!(spool.settle(PATIENCE));
    assert_eq!(files(folders[0].path()), [""; 0]);
    assert_eq!(files(folders[1].path()).len(), 1);
    let stats = spool.stats();
    assert!(stats.volumes[1].state.is_usable() && !stats.volumes[0].state.is_usable());
    assert_eq!(stats.counts.appended_octets, stats.counts.written_octets + stats.counts.lost_octets);
    assert!(stats.counts.written_octets > stats.counts.lost_octets);
}

#[test]
fn without_direct_writes_the_page_cache_does() {
    let (folder, faults) = (tempfile::tempdir().unwrap(), Arc::new(Faults::default()));
    faults.set(Fault { no_direct: true, ..Fault::default() });
    let mut volume = volume(folder.path());
    volume.faults = Some(faults);
    let (spool, opened) = Spool::open(options(volume)).unwrap();
    assert_eq!(opened.notes.len(), 1);
    let (mut writer, mut pattern) = (spool.writer(Priority::Middle, 5), Pattern::new(7));
    writer.begin(Path::new("a.seg")).unwrap();
    for _ in 0..5000 {
        pattern.append(&mut writer, 0).unwrap();
    }
    writer.seal(Vec::new());
    assert!(spool.settle(PATIENCE));
    assert!(!spool.stats().volumes[0].direct);
    assert!(pattern.is(&std::fs::read(folder.path().join("a.seg")).unwrap()));
}

#[test]
fn who_closes_in_a_hurry_counts_what_is_thrown_away() {
    let bench = Bench::new(|o| o);
    bench.faults.set(Fault { write_delay: Duration::from_millis(100), ..Fault::default() });
    let (mut writer, mut pattern) = (bench.writer(), Pattern::new(8));
    for _ in 0..12_000 {
        pattern.append(&mut writer, 0).unwrap();
    }
    writer.seal(Vec::new());
    let Ended { stats, losses, .. } = bench.spool.close(Duration::from_millis(300));
    assert!(stats.counts.lost_records > 0);
    // Nobody can ask for them afterwards.
    assert_eq!(losses.iter().map(|l| l.records).sum::<u64>(), stats.counts.lost_records);
    assert_eq!(losses.iter().map(|l| l.octets).sum::<u64>(), stats.counts.lost_octets);
    assert_eq!(stats.counts.appended_octets, stats.counts.written_octets + stats.counts.lost_octets);
    assert_eq!(stats.memory.used, 0);
}
