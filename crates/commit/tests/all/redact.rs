//! Parts of records are made unreadable: the log stays whole, in whichever moment it ends, and nothing of them is left.

use crate::world::{End, World};
use core::ops::ControlFlow;
use std::sync::Arc;
use trunkline_commit::{
    Fault, Group, Keep, Log, Options, Redacted, Snapshot, SnapshotWriter, check_mark, read, redact, repair, survey,
};

const OPTIONS: Options = Options { segment_octets: 4096, waiting_octets: 1 << 20 };

fn record(number: u64) -> Vec<u8> {
    let name = if number.is_multiple_of(5) { "alice" } else { "bob.." };
    format!("{number} {name} {}", "x".repeat((number * 37 % 200) as usize)).into_bytes()
}

fn change(record: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let text = String::from_utf8(record.to_vec()).map_err(|e| e.to_string())?;
    Ok(text.contains("alice").then(|| text.replace("alice", "*****").into_bytes()))
}

/// A log of 120 records, the last two snapshots of its segments, and what a crash cut off at its end.
fn world() -> Arc<World> {
    let world = Arc::new(World::default());
    let mut log = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
    let mut group = Group::new(&OPTIONS);
    for number in 1..=120 {
        group.put(&record(number)).unwrap();
        if number % 3 == 0 {
            log.commit(&mut group).unwrap();
        }
        if number % 50 == 0 {
            let mut writer = SnapshotWriter::begin(&*world, log.sealed()).unwrap();
            (1..=log.sealed()).for_each(|number| writer.put(&record(number)).unwrap());
            writer.finish(Keep::All).unwrap();
        }
    }
    world
}

fn records(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    read(world, 1, |_, record| {
        all.push(String::from_utf8(record.to_vec()).unwrap());
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    all
}

fn names_alice(world: &World) -> bool {
    use trunkline_commit::Disk;
    world.list().unwrap().iter().any(|name| world.octets(name).windows(5).any(|part| part == b"alice"))
}

#[test]
fn records_keep_numbers_and_lengths_and_lose_the_name() {
    let world = world();
    let before = records(&world);
    let found = redact(&*world, false, &mut change).unwrap();
    assert!(names_alice(&world) && found.records > 24 && found.files > 4, "{found:?}");
    assert_eq!(redact(&*world, true, &mut change).unwrap(), found);
    assert!(!names_alice(&world));
    let after = records(&world);
    let expected: Vec<String> = before.iter().map(|text| text.replace("alice", "*****")).collect();
    assert_eq!(after, expected);
    assert!(Snapshot::all(&*world).unwrap().iter().all(|snapshot| snapshot.check(&*world).is_ok()));
    assert!(survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap().is_whole());
    assert!(check_mark(&*world).unwrap().is_none());
    assert_eq!(redact(&*world, true, &mut change).unwrap(), Redacted::default());
    let mut log = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
    let mut group = Group::new(&OPTIONS);
    group.put(b"goes on").unwrap();
    assert_eq!(log.commit(&mut group).unwrap(), 121);
}

#[test]
fn whatever_ends_it_the_log_is_whole_and_another_one_finishes_it() {
    for end in [End::Killed, End::Power] {
        for operations in 0.. {
            let world = world();
            let before = records(&world);
            world.ends_after(operations);
            let ended = redact(&*world, true, &mut change).is_err();
            world.again(end, u64::from(operations) + 1);
            let log = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
            drop(log);
            for (before, after) in before.iter().zip(records(&world)) {
                assert!(after == *before || after == before.replace("alice", "*****"), "{operations}");
            }
            redact(&*world, true, &mut change).unwrap();
            assert!(!names_alice(&world), "{end:?} after {operations}");
            assert!(survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap().is_whole());
            if !ended {
                break;
            }
        }
    }
}

#[test]
fn what_would_not_fit_is_refused_before_anything_is_written() {
    let world = world();
    let before = records(&world);
    let mut longer = |record: &[u8]| Ok(record.starts_with(b"117 ").then(|| [record, b"!"].concat()));
    assert!(matches!(redact(&*world, true, &mut longer), Err(Fault::Option(_))));
    let mut refuses = |record: &[u8]| match record.starts_with(b"117 ") {
        true => Err("no".to_owned()),
        false => change(record),
    };
    assert!(matches!(redact(&*world, true, &mut refuses), Err(Fault::Option(_))));
    assert_eq!(records(&world), before);
}

#[test]
fn a_damaged_log_is_repaired_first_and_its_damaged_files_are_told() {
    let world = world();
    let (name, octet, _) = world.blocks()[5].clone();
    world.spoil(&name, octet + 30);
    assert!(matches!(redact(&*world, true, &mut change), Err(Fault::Gone(_))));
    let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    repair(&*world, &found).unwrap();
    let found = redact(&*world, true, &mut change).unwrap();
    assert_eq!(found.kept, 1);
    assert_eq!(redact(&*world, true, &mut change).unwrap().records, 0);
}
