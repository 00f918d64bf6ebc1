//! A log is copied beside its writer, again and again: each copy has all that was durable when it began.
//!
//! Test group: waits: for a log that is written meanwhile.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trunkline_commit::{Copied, Fault, Folder, Group, Keep, Log, Options, Snapshot, SnapshotWriter, copy, read};

const OPTIONS: Options = Options { segment_octets: 64 << 10, waiting_octets: 1 << 20 };
const GROUPS: u64 = 1500;

fn record(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(1 + (number % 60) as usize)
}

fn log(path: &Path) -> Log<Folder> {
    Log::open(Arc::new(Folder::open(path).unwrap()), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap()
}

fn append(log: &mut Log<Folder>, group: &mut Group, records: u64) {
    let next = log.next();
    (next..next + records).for_each(|number| group.put(&record(number)).unwrap());
    log.commit(group).unwrap();
}

/// Copies, and looks at every record of the copy.
fn copied(from: &Path, to: &Path) -> Copied {
    let mut written = 0;
    let (source, target) = (Folder::beside(from).unwrap(), Folder::open(to).unwrap());
    let copied = copy(&source, &target, |octets| written += octets).unwrap();
    assert_eq!(written, copied.octets);
    drop(target);
    let mut next = copied.first;
    let end = read(&Folder::beside(to).unwrap(), copied.first, |number, octets| {
        assert_eq!((number, octets), (next, &record(number)[..]));
        next += 1;
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!((end.unwrap(), next), (copied.next, copied.next));
    copied
}

#[test]
fn a_copy_beside_the_writer_has_all_that_was_durable() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("log");
    let durable = AtomicU64::new(0);
    let (mut own, mut group) = (log(&from), Group::new(&OPTIONS));
    append(&mut own, &mut group, 10);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for at in 0..GROUPS {
                append(&mut own, &mut group, 1 + at % 70);
                durable.store(own.next() - 1, Ordering::Release);
            }
        });
        let (mut copies, mut went_on) = (0, 0);
        while !writer.is_finished() {
            let (to, before) = (folder.path().join(copies.to_string()), durable.load(Ordering::Acquire));
            let copied = copied(&from, &to);
            assert!(copied.next > before, "{copied:?} and {before} were durable");
            went_on += usize::from(durable.load(Ordering::Acquire) > before);
            // The copy goes on by itself.
            let (mut other, mut group) = (log(&to), Group::new(&OPTIONS));
            assert_eq!(other.next(), copied.next);
            append(&mut other, &mut group, 5);
            copies += 1;
        }
        assert!(went_on > 3, "the writer rested in all but {went_on} of {copies}");
    });
}

#[test]
fn the_newest_snapshot_goes_along_and_what_the_records_begin_with() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("log"), folder.path().join("copy"));
    {
        let (mut log, mut group) = (log(&from), Group::new(&OPTIONS));
        (0..200).for_each(|_| append(&mut log, &mut group, 20));
        assert!(log.sealed() > 3000);
    }
    let disk = Folder::open(&from).unwrap();
    let snapshot = |last: u64| {
        let mut writer = SnapshotWriter::begin(&disk, last).unwrap();
        writer.put(format!("all up to {last}").as_bytes()).unwrap();
        writer
    };
    for last in [1000, 2000, 3000] {
        snapshot(last).finish(Keep::All).unwrap();
    }
    snapshot(900).open_with().unwrap();
    copied(&from, &to);
    let target = Folder::beside(&to).unwrap();
    let told: Vec<u64> = Snapshot::all(&target).unwrap().iter().map(|snapshot| snapshot.last).collect();
    assert_eq!(told, [3000], "one is enough");
    assert_eq!(Snapshot::opening(&target).unwrap().map(|opening| opening.last), Some(900));
}

#[test]
fn what_is_no_log_or_lacks_a_part_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("log"), folder.path().join("copy"));
    std::fs::create_dir(&from).unwrap();
    let tried = || {
        let (source, target) = (Folder::beside(&from).unwrap(), Folder::open(&to).unwrap());
        copy(&source, &target, |_| ())
    };
    assert!(matches!(tried(), Err(Fault::Option(why)) if why == "there is no record to copy"));
    {
        let (mut log, mut group) = (log(&from), Group::new(&OPTIONS));
        (0..200).for_each(|_| append(&mut log, &mut group, 20));
    }
    let mut segments: Vec<_> = std::fs::read_dir(&from).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.retain(|path| path.extension().is_some_and(|ending| ending == "log"));
    segments.sort();
    std::fs::remove_file(&segments[segments.len() / 2]).unwrap();
    assert!(matches!(tried(), Err(Fault::Damaged { what, .. }) if what.starts_with("the segment before it ends with")));
}
