//! Gaps of more records than anybody can have lost, and octets of files that ask for more memory than there is: each is
//! refused with its place, before time or memory goes into it, and no number is used again.

use crate::world::World;
use core::ops::ControlFlow;
use std::sync::Arc;
use trunkline_commit::{
    Disk, Fault, Follower, Group, Keep, Log, Options, Snapshot, SnapshotWriter, Witness, copy, cut, read, redact,
    repair, survey,
};

const OPTIONS: Options = Options { segment_octets: 4096, waiting_octets: 1 << 20 };
/// Records of a gap at most, and of all gaps of a log.
const GAP_MAX: u32 = 1 << 22;
const LOST_MAX: u64 = 1 << 28;

fn open(world: &Arc<World>) -> Result<Log<World>, Fault> {
    Log::open(Arc::clone(world), OPTIONS, |_| Ok(()), |_, _| Ok(()))
}

/// A log of two records, each in a block of 32 octets.
fn world() -> Arc<World> {
    let world = Arc::new(World::default());
    let (mut log, mut group) = (open(&world).unwrap(), Group::new(&OPTIONS));
    for record in [b"one.", b"two."] {
        group.put(record).unwrap();
        log.commit(&mut group).unwrap();
    }
    world
}

/// A gap without room, with a checksum that fits.
fn gap(octets: &[u8], first: u64, count: u32, room: u32) -> Vec<u8> {
    let mut head = b"TLGP".to_vec();
    head.extend(room.to_le_bytes());
    head.extend(first.to_le_bytes());
    head.extend(count.to_le_bytes());
    let sum = crc32fast::hash(&[&octets[8..16], &head].concat());
    head.extend(sum.to_le_bytes());
    head
}

/// The log with these gaps behind its records.
fn with_gaps(counts: &[u32]) -> Arc<World> {
    let world = world();
    let name = &world.segments()[0];
    let mut octets = world.octets(name);
    let (mut at, mut first) = (96, 3);
    for count in counts {
        octets.splice(at..at + 24, gap(&octets, first, *count, 0));
        (at, first) = (at + 24, first + u64::from(*count));
    }
    world.put(name, octets);
    world
}

/// What all who read a log say of it.
fn told_by_all(world: &Arc<World>) -> Vec<String> {
    let disk = &**world;
    let mut follower = Follower::<World>::new(3);
    let follow = loop {
        match follower.poll(disk, u64::MAX, |_, _, _| Ok(())) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(fault) => break Some(fault),
        }
    };
    let all = [
        open(world).err(),
        read(disk, 1, |_, _| Ok(ControlFlow::Continue(()))).err(),
        survey(disk, Keep::All, &[], &mut |_, _| Ok(())).err(),
        copy(disk, &World::default(), |_| {}).err(),
        cut(disk, OPTIONS, 1).err(),
        redact(disk, true, &mut |_| Ok(None)).err(),
        follow,
    ];
    all.into_iter().map(|fault| fault.expect("it is refused").to_string()).collect()
}

#[test]
fn a_gap_of_more_than_a_block_is_refused_with_its_place_by_all() {
    for count in [GAP_MAX + 1, 1 << 30, u32::MAX] {
        let world = with_gaps(&[count]);
        let before: Vec<_> = world.list().unwrap().iter().map(|name| world.octets(name)).collect();
        let wrong = format!(
            "00000000000000000001.log, octet 96: a gap of {count} records from 3 on: one has {GAP_MAX} at most"
        );
        assert_eq!(told_by_all(&world), vec![wrong; 7]);
        let after: Vec<_> = world.list().unwrap().iter().map(|name| world.octets(name)).collect();
        assert_eq!(after, before);
    }
    // The most that one has is read by all.
    let world = with_gaps(&[GAP_MAX]);
    let next = 3 + u64::from(GAP_MAX);
    assert_eq!(open(&world).unwrap().next(), next);
    let mut seen = Vec::new();
    survey(&*world, Keep::All, &[], &mut |numbers, record| {
        seen.push((numbers, record.is_some()));
        Ok(())
    })
    .unwrap();
    assert_eq!(seen, [(1..=1, true), (2..=2, true), (3..=next - 1, false)], "a range at once");
    // Of a gap, too, no more is seen than is wanted.
    let mut wanted = 0;
    let see = |_: u64, _: &[u8]| {
        wanted += 1;
        Ok(if wanted == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    assert_eq!((read(&*world, 100, see).unwrap(), wanted), (105, 5));
}

#[test]
fn many_gaps_of_more_than_a_log_can_lose_are_refused_with_their_place() {
    let many = LOST_MAX / u64::from(GAP_MAX);
    let world = with_gaps(&vec![GAP_MAX; many as usize + 1]);
    let (at, first) = (96 + many * 24, 3 + LOST_MAX);
    let wrong = format!(
        "00000000000000000001.log, octet {at}: the records from {first} on were given up, and {LOST_MAX} of a log can be"
    );
    let mut shown = 0;
    let fault = survey(&*world, Keep::All, &[], &mut |numbers, _| {
        shown = *numbers.end();
        Ok(())
    });
    assert_eq!((fault.unwrap_err().to_string(), shown), (wrong.clone(), first - 1));
    // Those that are not wanted take no time, and those that are wanted are told by who stops there.
    let see = |_: u64, _: &[u8]| Ok(ControlFlow::Continue(()));
    assert_eq!(read(&*world, 3, see).unwrap_err().to_string(), wrong);
    assert_eq!(read(&*world, first, see).unwrap(), first + u64::from(GAP_MAX));
}

/// More than one gap has records for: a repair makes several, in the room that there is.
#[test]
fn many_records_that_are_gone_are_several_gaps_and_keep_their_numbers() {
    let last = 3 * u64::from(GAP_MAX) + 7;
    let witness = Witness { who: "another".to_owned(), last };
    let world = world();
    let found = survey(&*world, Keep::All, std::slice::from_ref(&witness), &mut |_, _| Ok(())).unwrap();
    assert_eq!((found.lost(), found.next), (last - 2, last + 1));
    repair(&*world, &found).unwrap();
    assert_eq!(open(&world).unwrap().next(), last + 1);
    // One of the gaps between others is damaged, with the numbers that it had.
    let name = &world.segments()[1];
    world.spoil(name, 32 + 24 + 17);
    let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    let (from, to) = (3 + u64::from(GAP_MAX), 2 + 2 * u64::from(GAP_MAX));
    assert_eq!((found.lost.len(), found.lost[0].from, found.lost[0].to), (1, from, to));
    repair(&*world, &found).unwrap();
    // Two of them: there is room for two.
    world.spoil(name, 32 + 24 + 17);
    world.spoil(name, 32 + 24 + 24 + 17);
    let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    assert_eq!((found.lost.len(), found.lost[0].from, found.lost[0].to), (1, from, last - 5));
    repair(&*world, &found).unwrap();
    assert!(survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap().is_whole());
    assert_eq!(open(&world).unwrap().next(), last + 1);
}

#[test]
fn a_hole_with_less_room_than_its_records_had_is_refused() {
    let world = world();
    let name = &world.segments()[0];
    let mut octets = world.octets(name);
    let first = 0x3a00_0002;
    octets.splice(128..152, gap(&octets, first, 1, 0));
    world.put(name, octets);
    let fault = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap_err().to_string();
    assert_eq!(fault, format!("{name}, octet 128: record {first} is where record 3 should be"));
}

#[test]
fn a_snapshot_has_no_gap_and_takes_no_memory_for_one() {
    let world = world();
    let mut writer = SnapshotWriter::begin(&*world, 2).unwrap();
    writer.put(b"both").unwrap();
    writer.finish(Keep::All).unwrap();
    let snapshot = Snapshot::all(&*world).unwrap().remove(0);
    for (count, room) in [(0, 0xfb00_0010), (u32::MAX, 0), (1, 0)] {
        let mut octets = world.octets(snapshot.name());
        octets.splice(32..56, gap(&octets, 1, count, room));
        let other = Arc::new(world.copied());
        other.put(snapshot.name(), octets);
        let fault = snapshot.check(&*other).unwrap_err().to_string();
        assert_eq!(fault, format!("{}, octet 32: a block of the snapshot is damaged", snapshot.name()));
        // It costs nothing: the records are there.
        assert_eq!(open(&other).unwrap().next(), 3);
    }
}

#[test]
fn a_repair_without_room_leaves_nothing_behind_and_is_done_again() {
    let world = world();
    let name = world.segments().remove(0);
    world.spoil(&name, 32 + 24);
    let before = world.list().unwrap();
    let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    for room in [0, 100, 4096 + 100] {
        world.has_room(Some(room));
        assert!(matches!(repair(&*world, &found), Err(Fault::Io { .. })), "{room}");
        assert!(world.list().unwrap().iter().all(|name| !name.ends_with(".part")), "{room}");
    }
    world.has_room(None);
    assert_eq!(repair(&*world, &found).unwrap().written, std::slice::from_ref(&name));
    assert_eq!(world.list().unwrap().len(), before.len() + 1);
    assert_eq!(open(&world).unwrap().next(), 3);
}

#[test]
fn more_than_a_log_can_lose_is_damage_with_its_place() {
    let world = world();
    for (last, is_believed) in [(2 + LOST_MAX, true), (3 + LOST_MAX, false), (1 << 40, false), (u64::MAX, false)] {
        let witness = Witness { who: "another".to_owned(), last };
        let found = survey(&*world, Keep::All, std::slice::from_ref(&witness), &mut |_, _| Ok(()));
        let wrong = format!("octet 96: records 3 to {last} are gone, and {LOST_MAX} of a log can be given up");
        match found {
            Ok(found) => assert!(is_believed && found.lost() == LOST_MAX),
            Err(fault) => assert!(!is_believed && fault.is_damage() && fault.to_string().ends_with(&wrong), "{fault}"),
        }
    }
}
