//! Files of another log in a folder: whole each, and told.
//!
//! Users of other stores meet them after a backup was put back in part, or a folder was copied: the segments of before
//! that lay in another folder and stayed (etcd 9109), a database of one moment with a snapshot of another (etcd 7834),
//! a snapshot of another server beside the own log (RaftKeeper 312), one that outlived its cluster (openraft 1894), an
//! old segment that came back between others (etcd 11949), snapshots that lead into a gap (camunda 3573), a state that
//! is ahead of the records beside it (nats-server 6600).

use crate::world::World;
use core::ops::ControlFlow;
use std::sync::Arc;
use trunkline_commit::{
    Disk, Fault, Group, Keep, Log, LogId, Options, Snapshot, SnapshotWriter, check_mark, copy, read, repair, sealed,
    survey,
};

const OPTIONS: Options = Options { segment_octets: 4096, waiting_octets: 1 << 20 };

fn open(world: &Arc<World>) -> Result<Log<World>, Fault> {
    Log::open(Arc::clone(world), OPTIONS, |_| Ok(()), |_, _| Ok(()))
}

/// A log of so many records, all of one length: segments begin with the same numbers in each. With a snapshot of the
/// closed segments.
fn log(seed: u64, records: u64) -> Arc<World> {
    let world = Arc::new(World::default());
    world.again(crate::world::End::Power, seed);
    let (mut log, mut group) = (open(&world).unwrap(), Group::new(&OPTIONS));
    for number in 1..=records {
        group.put(&[(number * seed) as u8; 200]).unwrap();
        log.commit(&mut group).unwrap();
    }
    log.sync_mark().unwrap();
    drop(log);
    let mut writer = SnapshotWriter::begin(&*world, sealed(&*world).unwrap()).unwrap();
    writer.put(&[seed as u8; 10]).unwrap();
    writer.finish(Keep::All).unwrap();
    world
}

/// Who is asked, and what all of them say.
fn told(world: &Arc<World>) -> [String; 3] {
    let text = |fault: Option<Fault>| fault.map_or_else(|| "nothing".to_owned(), |fault| fault.to_string());
    let read = read(&**world, 1, |_, _| Ok(ControlFlow::Continue(()))).err();
    let survey = survey(&**world, Keep::All, &[], &mut |_, _| Ok(())).err();
    [text(open(&Arc::new(world.copied())).err()), text(read), text(survey)]
}

#[test]
fn a_segment_of_another_log_is_told_by_all_whatever_its_numbers() {
    let (own, other) = (log(3, 100), log(5, 100));
    assert_eq!(own.segments(), other.segments());
    assert!(own.segments().len() > 4);
    assert_eq!(told(&own), ["nothing", "nothing", "nothing"]);
    assert_ne!(LogId::of(&*own).unwrap(), LogId::of(&*other).unwrap());
    for name in own.segments() {
        let world = Arc::new(own.copied());
        world.put(&name, other.octets(&name));
        let [started, read, surveyed] = told(&world);
        // Both are named: which of them is the own one only people know.
        let newest = own.segments().pop().unwrap();
        let strange = if name == newest { own.segments().remove(0) } else { name.clone() };
        for told in [&read, &surveyed] {
            let text = format!("{strange}, octet 0: it is a segment of another log than {newest}, the newest one");
            assert!(told.starts_with(&text), "{name}: {told}");
        }
        let copied = copy(&*world, &World::default(), |_| {}).unwrap_err().to_string();
        assert!(copied.contains("another log than"), "{name}: {copied}");
        // A start reads from the snapshot on; what lies before is for who reads all.
        let is_read = name == *own.segments().last().unwrap();
        assert!(!is_read || started.contains("another log"), "{name}: {started}");
    }
    // Who moves it away has the rest, and the gap is told.
    let world = Arc::new(own.copied());
    let name = own.segments()[1].clone();
    world.lose(&name);
    let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    assert_eq!(found.lost.len(), 1);
    repair(&*world, &found).unwrap();
    assert_eq!(told(&world), ["nothing", "nothing", "nothing"]);
    assert_eq!(LogId::of(&*world).unwrap(), LogId::of(&*own).unwrap());
}

#[test]
fn a_snapshot_of_another_log_is_not_read_and_knows_nothing() {
    let (own, other) = (log(3, 100), log(5, 400));
    let world = Arc::new(own.copied());
    let names = |world: &World| -> Vec<String> {
        world.list().unwrap().into_iter().filter(|name| name.ends_with(".snapshot")).collect()
    };
    let foreign = names(&other).remove(0);
    world.put(&foreign, other.octets(&foreign));
    let log = open(&Arc::new(world.copied())).unwrap();
    assert_eq!((log.next(), log.found().damaged.len()), (101, 1));
    assert!(log.found().damaged[0].to_string().contains("it is a snapshot of another log"), "{:?}", log.found());
    drop(log);
    let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    assert!(found.lost.is_empty() && found.also[0].to_string().contains("another log"), "{found:?}");
    repair(&*world, &found).unwrap();
    assert!(!names(&world).contains(&foreign));
    assert!(survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap().is_whole());
}

/// All segments are those of another log, its snapshots are not: no snapshot is believed.
#[test]
fn a_log_that_was_put_back_beside_snapshots_of_another_is_read_without_them() {
    let (own, other) = (log(3, 100), log(5, 100));
    let world = Arc::new(own.copied());
    other.segments().iter().for_each(|name| world.put(name, other.octets(name)));
    let log = open(&world).unwrap();
    assert!(log.found().damaged[0].to_string().contains("it is a snapshot of another log"), "{:?}", log.found());
    assert_eq!((log.next(), log.found().snapshot), (101, 0));
}

/// A copy is the same log, and so is one that was written on; one of an earlier version says nothing until it is
/// written on.
#[test]
fn copies_are_the_same_log_and_older_ones_are_believed() {
    let own = log(3, 100);
    let to = World::default();
    copy(&*own, &to, |_| {}).unwrap();
    assert_eq!(LogId::of(&to).unwrap(), LogId::of(&*own).unwrap());
    let before = Arc::new(own.copied());
    let snapshots = before.list().unwrap().into_iter().filter(|name| name.ends_with(".snapshot"));
    for name in before.segments().into_iter().chain(snapshots) {
        let mut octets = before.octets(&name);
        octets[28..32].copy_from_slice(b"MRKD");
        let checksum = crc32fast::hash(&[&octets[..24], b"MRKD"].concat());
        octets[24..28].copy_from_slice(&checksum.to_le_bytes());
        before.put(&name, octets);
    }
    assert_eq!(LogId::of(&*before).unwrap(), None);
    assert_eq!(told(&before), ["nothing", "nothing", "nothing"]);
    let (mut log, mut group) = (open(&before).unwrap(), Group::new(&OPTIONS));
    assert!(log.found().damaged.is_empty() && log.id().is_none());
    for _ in 0..30 {
        group.put(&[7; 200]).unwrap();
        log.commit(&mut group).unwrap();
    }
    assert_eq!(log.id(), LogId::of(&*before).unwrap());
    assert!(log.id().is_some());
    drop(log);
    assert_eq!(told(&before), ["nothing", "nothing", "nothing"]);
}

fn opened_with(world: &World, last: u64) -> String {
    let mut writer = SnapshotWriter::begin(world, last).unwrap();
    writer.put(&[1; 10]).unwrap();
    writer.open_with().unwrap();
    Snapshot::opening(world).unwrap().unwrap().name().to_owned()
}

/// The mark of a log that was longer, or shorter, came here alone: it knows nothing, and that is told.
#[test]
fn a_mark_of_another_log_knows_nothing_of_this_one() {
    let own = log(3, 100);
    for records in [10, 400] {
        let other = log(5, records);
        let world = Arc::new(own.copied());
        world.put("durable", other.octets("durable"));
        assert_eq!(told(&world), ["nothing", "nothing", "nothing"]);
        let text = "durable, octet 0: it is of another log than the segments beside it";
        let said = |fault: Option<&Fault>| assert!(fault.unwrap().to_string().starts_with(text), "{fault:?}");
        said(check_mark(&*world).unwrap().as_ref());
        let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
        assert!(!found.is_whole() && found.lost.is_empty() && found.next == 101, "{found:?}");
        said(found.also.first());
        let log = open(&Arc::new(world.copied())).unwrap();
        assert_eq!(log.next(), 101);
        said(log.found().damaged.first());
        repair(&*world, &found).unwrap();
        assert!(survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap().is_whole());
        assert!(check_mark(&*world).unwrap().is_none());
    }
    // Of the own log it counts: an end that was put back is told.
    let world = Arc::new(own.copied());
    let (name, at, _) = world.blocks().pop().unwrap();
    world.cut(&name, at);
    assert!(told(&world)[0].contains("records were durable up to 100 (the mark durable)"), "{:?}", told(&world));
}

/// What the records of another log begin with stands for nothing here: no segment leaves because of it.
#[test]
fn an_opening_of_another_log_removes_nothing() {
    let (own, other) = (log(3, 100), log(5, 100));
    let boundary = other.segments()[3][..20].parse::<u64>().unwrap() - 1;
    let name = opened_with(&other, boundary);
    let world = Arc::new(own.copied());
    world.put(&name, other.octets(&name));
    assert!(Snapshot::opening(&*world).unwrap().is_none());
    assert_eq!(told(&world), ["nothing", "nothing", "nothing"]);
    let mut writer = SnapshotWriter::begin(&*world, sealed(&*world).unwrap()).unwrap();
    writer.put(&[3; 10]).unwrap();
    writer.finish(Keep::All).unwrap();
    assert_eq!(world.segments(), own.segments());
    let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    assert!(found.lost.is_empty(), "{found:?}");
    assert!(found.also[0].to_string().contains("it is a snapshot of another log"), "{found:?}");
    repair(&*world, &found).unwrap();
    assert!(survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap().is_whole());
    assert!(world.list().unwrap().contains(&format!("{name}.damaged")));
}

/// Two snapshots of the own log stay, however many of another one lie beside them, and all segments that they need.
#[test]
fn snapshots_of_another_log_take_no_place_of_the_own_ones() {
    let (own, other) = (log(3, 100), log(5, 100));
    let number = |at: usize| own.segments()[at][..20].parse::<u64>().unwrap() - 1;
    let snapshot = |world: &World, last: u64| {
        let mut writer = SnapshotWriter::begin(world, last).unwrap();
        writer.put(&[1; 10]).unwrap();
        writer.finish(Keep::Needed).unwrap();
    };
    let world = own.copied();
    snapshot(&world, number(2));
    for last in [number(3), number(4)] {
        let name = format!("{last:020}.snapshot");
        let mut writer = SnapshotWriter::begin(&*other, last).unwrap();
        writer.put(&[5; 10]).unwrap();
        writer.finish(Keep::All).unwrap();
        world.put(&name, other.octets(&name));
    }
    snapshot(&world, sealed(&world).unwrap());
    assert_eq!(world.segments()[0], own.segments()[2], "from the older of the two own ones on");
}

/// A crash between the two leaves segments that an opening stands for: nothing is wrong with them.
#[test]
fn segments_that_a_crash_left_before_an_opening_are_no_damage() {
    let own = log(3, 100);
    let (before, with) = (own.copied(), own.copied());
    let boundary = own.segments()[2][..20].parse::<u64>().unwrap() - 1;
    let name = opened_with(&with, boundary);
    before.put(&name, with.octets(&name));
    assert_eq!(told(&Arc::new(before.copied())), ["nothing", "nothing", "nothing"]);
    let mut first = None;
    let found = survey(&before, Keep::All, &[], &mut |numbers, _| {
        first.get_or_insert(*numbers.start());
        Ok(())
    });
    assert!(found.unwrap().is_whole());
    assert_eq!(first, Some(boundary + 1));
}

/// One that is damaged stands for nothing: a repair puts it aside and says what it stood for.
#[test]
fn an_opening_that_is_damaged_is_put_aside() {
    let world = log(3, 100);
    let boundary = world.segments()[2][..20].parse::<u64>().unwrap() - 1;
    let name = opened_with(&world, boundary);
    world.spoil(&name, 40);
    let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    assert_eq!((found.lost(), found.also.len()), (boundary, 1), "{found:?}");
    repair(&*world, &found).unwrap();
    assert!(survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap().is_whole());
    assert_eq!(open(&world).unwrap().next(), 101);
}
