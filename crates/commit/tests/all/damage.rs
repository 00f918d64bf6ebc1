//! Damage to a log on disk: what is gone is told with its place, whatever was done to the files, and is told apart from
//! an end that a crash cut off; a repair keeps all that is whole, and every number.
//!
//! Cases that users of other stores met, here with a known truth: zeros behind a torn record (etcd 5230, 6515, 11488),
//! a segment without preallocated room behind it (etcd 4903), a segment cut at the exact end of a record (RocksDB
//! 7701), a segment that was removed by hand (Prometheus 5456, 7409, Badger 541), damage in a closed segment that a
//! start does not read (Prometheus 18552), a damaged checkpoint for which the log was cut (Prometheus 7530), a log that
//! ends before its recovery point (Kafka, pull request 8812), records cut off behind a damaged one (Badger 434, Kafka
//! 10388), writing on behind a damaged place (Prometheus 7835), a file that is damaged from its first octet (Badger
//! 817).

use crate::world::{End, World};
use core::ops::{ControlFlow, RangeInclusive};
use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use trunkline_commit::{
    Disk, Fault, Follower, Gone, Group, Keep, Log, Options, Place, Snapshot, SnapshotWriter, Survey, Witness, copy,
    cut, read, read_again, read_known, repair, survey,
};

const OPTIONS: Options = Options { segment_octets: 4096, waiting_octets: 1 << 20 };

fn record(number: u64) -> Vec<u8> {
    let octets =
        [number.to_le_bytes().to_vec(), vec![u8::try_from(number % 251).unwrap(); (number * 37 % 400) as usize]];
    octets.concat()
}

fn open(world: &Arc<World>) -> Result<Log<World>, Fault> {
    Log::open(Arc::clone(world), OPTIONS, |_| Ok(()), |_, _| Ok(()))
}

/// A log of so many groups of one to four records; where each block begins: its segment, its place, its first record.
fn log(world: &Arc<World>, groups: u64) -> Vec<(String, usize, u64)> {
    let (mut log, mut group) = (open(world).unwrap(), Group::new(&OPTIONS));
    for at in 0..groups {
        let next = log.next();
        (next..=next + at % 4).for_each(|number| group.put(&record(number)).unwrap());
        log.commit(&mut group).unwrap();
    }
    world.blocks()
}

/// All that is there, and what is told of the rest.
fn seen(world: &World) -> (u64, Result<u64, Fault>) {
    let mut last = 0;
    let read = read(world, 1, |number, octets| {
        assert_eq!((number, octets), (last + 1, &record(number)[..]));
        last = number;
        Ok(ControlFlow::Continue(()))
    });
    (last, read)
}

fn gone(fault: Fault) -> Gone {
    match fault {
        Fault::Gone(gone) => *gone,
        other => panic!("{other}"),
    }
}

/// Repairs, and looks at all that is there afterwards: records as they were, or none of a number that was told.
fn mended(world: &Arc<World>, last: u64) -> BTreeSet<u64> {
    let (mut told, mut shown) = (BTreeSet::new(), 0);
    let mut see = |numbers: RangeInclusive<u64>, octets: Option<&[u8]>| {
        assert_eq!(*numbers.start(), shown + 1);
        shown = *numbers.end();
        match octets {
            Some(octets) => assert_eq!((octets, numbers.count()), (&record(shown)[..], 1)),
            None => numbers.for_each(|number| assert!(told.insert(number))),
        }
        Ok(())
    };
    let found = survey(&**world, Keep::All, &[], &mut see).unwrap();
    assert_eq!((shown, found.next), (last, last + 1), "{found:?}");
    let given_up = |found: &Survey| found.given_up.iter().map(|(from, to)| to - from + 1).sum::<u64>();
    assert_eq!(found.lost() + given_up(&found), told.len() as u64);
    repair(&**world, &found).unwrap();
    // Again: nothing is left to do.
    let before: Vec<_> = world.list().unwrap().iter().map(|name| (name.clone(), world.octets(name))).collect();
    let again = survey(&**world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    assert!(again.is_whole(), "{again:?}");
    assert_eq!(repair(&**world, &again).unwrap(), trunkline_commit::Repaired::default());
    assert_eq!(before, world.list().unwrap().iter().map(|name| (name.clone(), world.octets(name))).collect::<Vec<_>>());
    assert_eq!(given_up(&again), told.len() as u64);
    let next = read(&**world, 1, |number, octets| {
        assert_eq!(octets, if told.contains(&number) { Vec::new() } else { record(number) }, "record {number}");
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!(next.unwrap(), last + 1);
    assert_eq!(open(world).unwrap().next(), last + 1);
    told
}

/// One octet of every kind of place of every block and head, in turn: the first record that is told as gone is the
/// first of the block, all before it are read, and a repair gives up the records of that block and no others.
#[test]
fn each_changed_octet_is_told_where_it_is() {
    let whole = Arc::new(World::default());
    let blocks = log(&whole, 40);
    let last = open(&whole).unwrap().next() - 1;
    assert!(whole.segments().len() >= 4);
    for (at, (name, octet, first)) in blocks.iter().enumerate() {
        let behind = blocks.get(at + 1).map_or(last, |(_, _, first)| first - 1);
        // Mark, length, number, count, checksum; the first record's length and the last of its octets that counts.
        for place in [0, 3, 4, 6, 8, 15, 16, 20, 23, 24, 28] {
            let world = Arc::new(whole.copied());
            world.spoil(name, octet + place);
            let (read, fault) = seen(&world);
            let fault = gone(fault.unwrap_err());
            assert_eq!((read, fault.from, &fault.name, fault.at), (first - 1, *first, name, *octet as u64), "{fault}");
            assert_eq!(gone(open(&world).unwrap_err()).from, *first);
            assert_eq!(mended(&world, last), (*first..=behind).collect());
            let kept = format!("{name}.damaged");
            assert!(world.list().unwrap().contains(&kept));
            assert_eq!(world.octets(&kept)[octet + place], whole.octets(name)[octet + place] ^ 0x10);
        }
    }
}

#[test]
fn a_changed_octet_of_a_head_loses_no_record() {
    let whole = Arc::new(World::default());
    log(&whole, 40);
    let last = open(&whole).unwrap().next() - 1;
    for name in whole.segments() {
        let first: u64 = name.trim_end_matches(".log").parse().unwrap();
        for octet in 0..32 {
            let world = Arc::new(whole.copied());
            world.spoil(&name, octet);
            let fault = gone(seen(&world).1.unwrap_err());
            assert_eq!((fault.from, &fault.name, fault.at), (first, &name, 0), "octet {octet}: {fault}");
            assert!(open(&world).is_err());
            assert_eq!(mended(&world, last), BTreeSet::new(), "octet {octet}");
        }
    }
}

/// The mark knows what was durable: what is cut off the end of any segment is told, at whatever octet.
#[test]
fn a_cut_is_told_wherever_it_is() {
    let whole = Arc::new(World::default());
    let blocks = log(&whole, 30);
    let last = open(&whole).unwrap().next() - 1;
    for (at, (name, octet, first)) in blocks.iter().enumerate() {
        for place in [0, 1, 8, 23, 24, 26] {
            let world = Arc::new(whole.copied());
            world.cut(name, octet + place);
            let (read, fault) = seen(&world);
            let fault = gone(fault.unwrap_err());
            assert_eq!((read, fault.from, &fault.name, fault.at), (first - 1, *first, name, *octet as u64), "{fault}");
            assert!(open(&world).is_err());
            let next = blocks[at..].iter().find(|(other, ..)| other != name).map_or(last, |(_, _, first)| first - 1);
            assert_eq!(mended(&world, last), (*first..=next).collect());
        }
    }
    // From the head on: the file is empty, or nearly.
    for (name, octets) in whole.segments().iter().flat_map(|name| [0, 1, 16, 31].map(|octets| (name, octets))) {
        let world = Arc::new(whole.copied());
        world.cut(name, octets);
        assert!(gone(open(&world).unwrap_err()).to_string().contains("the head of the segment is damaged"));
        assert!(!mended(&world, last).is_empty());
    }
}

#[test]
fn zeros_in_place_of_a_piece_are_told() {
    let whole = Arc::new(World::default());
    log(&whole, 40);
    let last = open(&whole).unwrap().next() - 1;
    for name in whole.segments() {
        for (from, octets) in [(0, 512), (512, 512), (1024, 1024), (2048, 2048), (0, 4096)] {
            let world = Arc::new(whole.copied());
            world.zero(&name, from, octets);
            if world.octets(&name) == whole.octets(&name) {
                continue;
            }
            let fault = seen(&world).1.unwrap_err().to_string();
            assert!(fault.starts_with(&name) && fault.contains("are gone"), "{name} {from}: {fault}");
            assert!(open(&world).is_err());
            let lost = mended(&world, last);
            assert!(from == 0 || !lost.is_empty());
        }
    }
}

#[test]
fn a_removed_segment_is_told_and_its_numbers_are_not_used_again() {
    let whole = Arc::new(World::default());
    log(&whole, 40);
    let last = open(&whole).unwrap().next() - 1;
    let names = whole.segments();
    for (at, name) in names.iter().enumerate() {
        let world = Arc::new(whole.copied());
        world.lose(name);
        let first = |name: &String| name.trim_end_matches(".log").parse::<u64>().unwrap();
        let to = names.get(at + 1).map_or(last, |next| first(next) - 1);
        let fault = gone(seen(&world).1.unwrap_err());
        assert_eq!((fault.from, fault.to), (first(name), to), "{fault}");
        assert_eq!(gone(open(&world).unwrap_err()), fault);
        assert_eq!(mended(&world, last), (fault.from..=to).collect());
    }
    // All of them, and the folder as it is where somebody moved the files away.
    let world = Arc::new(whole.copied());
    names.iter().for_each(|name| world.lose(name));
    assert_eq!((gone(open(&world).unwrap_err()).from, seen(&world).0), (1, 0));
    assert_eq!(mended(&world, last), (1..=last).collect());
}

#[test]
fn swapped_segments_are_told_and_lose_nothing() {
    let whole = Arc::new(World::default());
    log(&whole, 40);
    let last = open(&whole).unwrap().next() - 1;
    let names = whole.segments();
    for one in 0..names.len() {
        for other in one + 1..names.len() {
            let world = Arc::new(whole.copied());
            world.swap(&names[one], &names[other]);
            let fault = open(&world).unwrap_err().to_string();
            assert!(fault.starts_with(&format!("{}, octet 0: ", names[one])), "{fault}");
            assert!(seen(&world).1.is_err());
            assert_eq!(mended(&world, last), BTreeSet::new());
        }
    }
}

/// Its head says what it is: nothing of it is given up.
#[test]
fn a_segment_under_a_name_that_none_has_is_found_and_loses_nothing() {
    let whole = Arc::new(World::default());
    log(&whole, 40);
    let last = open(&whole).unwrap().next() - 1;
    for name in &whole.segments() {
        for other in ["18446744073709551615.log", "99999999999999999999.log", "old.log"] {
            let world = Arc::new(whole.copied());
            world.put(other, world.octets(name));
            world.lose(name);
            assert!(open(&world).is_err() && seen(&world).1.is_err(), "{name}");
            let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
            assert!(
                found.also.iter().any(|fault| fault.to_string().starts_with(&format!("{other}, octet 0: it begins")))
            );
            assert_eq!(mended(&world, last), BTreeSet::new(), "{name}");
        }
    }
    // What is no segment stays what it is.
    let world = Arc::new(whole.copied());
    world.put("notes.log", b"somebody else's".to_vec());
    assert!(survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap().also.is_empty());
    assert_eq!(mended(&world, last), BTreeSet::new());
}

/// An older copy of each segment, at each of its blocks, in place of what it became.
#[test]
fn an_older_copy_of_a_segment_is_told() {
    let whole = Arc::new(World::default());
    let blocks = log(&whole, 40);
    let last = open(&whole).unwrap().next() - 1;
    for (name, octet, first) in &blocks {
        let world = Arc::new(whole.copied());
        world.zero(name, *octet, 4096);
        let fault = gone(seen(&world).1.unwrap_err());
        assert_eq!((fault.from, &fault.name, fault.at), (*first, name, *octet as u64), "{fault}");
        assert_eq!(mended(&world, last).first(), Some(first));
    }
}

/// The mark is a file as the others: an octet of it changes nothing but one commit, all of it is told, and then others
/// who know count.
#[test]
fn a_damaged_mark_is_told_and_others_who_know_count() {
    let whole = Arc::new(World::default());
    let blocks = log(&whole, 40);
    let last = open(&whole).unwrap().next() - 1;
    for octet in (0..28).chain(512..540) {
        let world = Arc::new(whole.copied());
        world.spoil("durable", octet);
        let log = open(&world).unwrap();
        assert_eq!((log.next(), log.found().damaged.len()), (last + 1, 0));
    }
    let damages: [fn(&World); 3] =
        [|world| world.lose("durable"), |world| world.zero("durable", 0, 1024), |world| world.cut("durable", 0)];
    for damage in damages {
        let world = Arc::new(whole.copied());
        damage(&world);
        let log = open(&world).unwrap();
        let told = log.found().damaged[0].to_string();
        assert!(told.starts_with("durable, octet 0: it is "), "{told}");
        drop(log);
        assert!(open(&world).unwrap().found().damaged.is_empty(), "it is made anew");
        // The last block is gone, too: nobody knows it here, and somebody else does.
        let world = Arc::new(whole.copied());
        damage(&world);
        let (name, octet, first) = blocks.last().unwrap();
        world.spoil(name, octet + 24);
        let witnesses =
            [("a cursor", last), ("another", last - 1)].map(|(who, last)| Witness { who: who.to_owned(), last });
        let known = Log::open_known(Arc::clone(&world), OPTIONS, &witnesses, |_| Ok(()), |_, _| Ok(()));
        let fault = gone(known.unwrap_err());
        assert_eq!((fault.from, fault.to, fault.at), (*first, last, *octet as u64));
        let text = format!("records were durable up to {last} (a cursor)");
        assert!(fault.to_string().contains(&text), "{fault}");
        if *first < last {
            assert!(fault.to_string().ends_with("these disagree, the highest counts"), "{fault}");
        }
        assert!(read_known(&*world, 1, &witnesses, |_, _| Ok(ControlFlow::Continue(()))).is_err());
        let found = survey(&*world, Keep::All, &witnesses, &mut |_, _| Ok(())).unwrap();
        assert_eq!((found.lost[0].from, found.next), (*first, last + 1));
    }
}

/// A folder of before there were marks is opened as it was, and has one from then on.
#[test]
fn a_folder_without_a_mark_is_opened_and_gets_one() {
    let world = Arc::new(World::default());
    let blocks = log(&world, 10);
    let last = open(&world).unwrap().next() - 1;
    world.lose("durable");
    for name in world.segments() {
        let mut octets = world.octets(&name);
        octets[28..32].fill(0);
        let checksum = crc32fast::hash(&octets[..24]);
        octets[24..28].copy_from_slice(&checksum.to_le_bytes());
        world.put(&name, octets);
    }
    let old = Arc::new(world.copied());
    let log = open(&old).unwrap();
    assert_eq!((log.next(), log.found().damaged.len(), log.found().cut_off), (last + 1, 0, false));
    drop(log);
    let (name, octet, first) = blocks.last().unwrap();
    old.spoil(name, octet + 24);
    assert_eq!(gone(open(&old).unwrap_err()).from, *first);
    // Before that nobody knew.
    world.spoil(name, octet + 24);
    let log = open(&world).unwrap();
    assert_eq!((log.next(), log.found().cut_off), (*first, true));
}

/// Snapshots know, too; and one that is damaged costs no record.
#[test]
fn a_log_that_ends_before_its_snapshot_is_refused() {
    let world = Arc::new(World::default());
    let blocks = log(&world, 12);
    let last = open(&world).unwrap().next() - 1;
    let mut writer = SnapshotWriter::begin(&*world, last).unwrap();
    (1..=last).for_each(|number| writer.put(&record(number)).unwrap());
    writer.finish(Keep::All).unwrap();
    let snapshot = Snapshot::all(&*world).unwrap()[0].name().to_owned();
    let damaged = Arc::new(world.copied());
    damaged.spoil(&snapshot, 100);
    let goes_on = open(&Arc::new(damaged.copied())).unwrap();
    assert_eq!((goes_on.next() - 1, goes_on.found().snapshot, goes_on.found().damaged.len()), (last, 0, 1));
    assert_eq!(mended(&damaged, last), BTreeSet::new());
    assert!(damaged.list().unwrap().contains(&format!("{snapshot}.damaged")));
    world.lose("durable");
    let (name, octet, first) = blocks.last().unwrap();
    world.cut(name, *octet);
    let fault = gone(open(&world).unwrap_err());
    assert_eq!((fault.from, fault.to, fault.witnesses.len()), (*first, last, 1), "{fault}");
    assert!(fault.to_string().contains(&format!("({snapshot})")), "{fault}");
}

/// Without a segment, and with a snapshot that stands for all: nothing is gone, and a start has nothing to write on.
#[test]
fn a_log_of_nothing_but_a_snapshot_gets_a_segment() {
    let world = Arc::new(World::default());
    log(&world, 12);
    let last = open(&world).unwrap().next() - 1;
    let mut writer = SnapshotWriter::begin(&*world, last).unwrap();
    (1..=last).for_each(|number| writer.put(&record(number)).unwrap());
    writer.finish(Keep::All).unwrap();
    world.segments().iter().for_each(|name| world.lose(name));
    let refused = format!("{:020}.log, octet 0: there is no segment", last + 1);
    assert_eq!(open(&world).unwrap_err().to_string(), refused);
    let found = survey(&*world, Keep::Needed, &[], &mut |_, _| Ok(())).unwrap();
    assert_eq!((found.is_whole(), found.lost(), found.next), (false, 0, last + 1));
    assert_eq!(found.also[0].to_string(), refused);
    repair(&*world, &found).unwrap();
    assert!(survey(&*world, Keep::Needed, &[], &mut |_, _| Ok(())).unwrap().is_whole());
    let mut log = open(&world).unwrap();
    let mut group = Group::new(&OPTIONS);
    group.put(&record(last + 1)).unwrap();
    assert_eq!(log.commit(&mut group).unwrap(), last + 1);
    drop(log);
    assert_eq!(open(&world).unwrap().next(), last + 2);
}

/// What is behind a gap has the place that it had, and the log is followed, copied, cut and written on.
#[test]
fn a_mended_log_is_followed_copied_cut_and_written_on() {
    let world = Arc::new(World::default());
    let blocks = log(&world, 40);
    let last = open(&world).unwrap().next() - 1;
    let places = |world: &World| {
        let (mut follower, mut places) = (Follower::<World>::new(1), Vec::<(u64, Place, usize)>::new());
        let mut see = |number: u64, place: Place, octets: &[u8]| {
            places.push((number, place, octets.len()));
            Ok(())
        };
        while follower.poll(world, last, &mut see).unwrap() {}
        places
    };
    let before = places(&world);
    let (name, octet, first) = &blocks[17];
    world.spoil(name, octet + 30);
    let lost = mended(&world, last);
    assert_eq!(lost.first(), Some(first));
    for ((number, place, octets), was) in places(&world).into_iter().zip(&before) {
        match lost.contains(&number) {
            true => assert_eq!((number, octets), (was.0, 0)),
            false => assert_eq!((number, place, read_again(&*world, place).unwrap()), (was.0, was.1, record(number))),
        }
    }
    let copied = World::default();
    assert_eq!(copy(&*world, &copied, |_| {}).unwrap().next, last + 1);
    assert_eq!(open(&Arc::new(copied)).unwrap().next(), last + 1);
    let mut log = open(&world).unwrap();
    let mut group = Group::new(&OPTIONS);
    group.put(&record(last + 1)).unwrap();
    assert_eq!(log.commit(&mut group).unwrap(), last + 1);
    drop(log);
    for after in [last - 3, *lost.last().unwrap() + 1, *first, first - 1] {
        cut(&*world, OPTIONS, after).unwrap();
        assert_eq!(open(&world).unwrap().next(), after + 1);
    }
    assert_eq!(seen(&world).0, first - 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Over ends in the midst of writing: a torn tail alone is cut off and raises no error, what was told is there
    /// once; and a repair finds nothing to do.
    #[test]
    fn a_torn_tail_alone_is_no_damage(
        lives in prop::collection::vec((1..30_u32, any::<bool>(), any::<u64>()), 1..12),
    ) {
        let (world, mut told) = (Arc::new(World::default()), 0);
        for (operations, power, seed) in lives {
            world.ends_after(operations);
            if let Ok(mut log) = open(&world) {
                let mut group = Group::new(&OPTIONS);
                loop {
                    let next = log.next();
                    (next..next + 3).for_each(|number| group.put(&record(number)).unwrap());
                    match log.commit(&mut group) {
                        Ok(last) => told = last,
                        Err(_) => break,
                    }
                }
            }
            world.again(if power { End::Power } else { End::Killed }, seed);
            if told > 0 {
                let found = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
                prop_assert!(found.is_whole(), "{:?}", found);
            }
            let (last, read) = seen(&world);
            prop_assert!(last >= told && read.unwrap() == last + 1);
            let log = open(&world).unwrap();
            prop_assert!(log.next() == last + 1 && log.found().damaged.is_empty());
            told = last;
        }
    }

    /// Whatever is done to the files, nothing that is shown is wrong, what is missing is told, and a repair that is
    /// ended anywhere, again and again, comes to the same as one that is not.
    #[test]
    fn a_repair_that_is_ended_goes_on(
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0..5_u8, 0..4096_usize), 1..4),
        ends in prop::collection::vec((1..25_u32, any::<bool>(), any::<u64>()), 0..4),
    ) {
        let world = Arc::new(World::default());
        log(&world, 24);
        let last = open(&world).unwrap().next() - 1;
        for (which, kind, at) in damages {
            let names = world.segments();
            if names.is_empty() {
                break;
            }
            let (name, other) = (which.get(&names), names.last().unwrap());
            match kind {
                0 | 1 if at < world.octets(name).len() => world.spoil(name, at),
                2 => world.zero(name, at, 512),
                3 => world.cut(name, at),
                4 if at % 2 == 0 => world.lose(name),
                _ if name != other => world.swap(name, other),
                _ => {}
            }
        }
        let (read, fault) = seen(&world);
        prop_assert!(fault.is_err() || read == last);
        let mut gaps = BTreeSet::new();
        let mut see = |numbers: RangeInclusive<u64>, octets: Option<&[u8]>| {
            match octets {
                Some(octets) => assert_eq!(octets, record(*numbers.start())),
                None => numbers.for_each(|number| assert!(gaps.insert(number))),
            }
            Ok(())
        };
        // Files that say the same of themselves are for a person to look at.
        let Ok(found) = survey(&*world, Keep::All, &[], &mut see) else { return Ok(()) };
        prop_assert_eq!(found.next, last + 1);
        for (operations, power, seed) in ends {
            world.ends_after(operations);
            let _ended = survey(&*world, Keep::All, &[], &mut |_, _| Ok(())).and_then(|found| repair(&*world, &found));
            world.again(if power { End::Power } else { End::Killed }, seed);
        }
        prop_assert_eq!(mended(&world, last).into_iter().chain(gaps.clone()).collect::<BTreeSet<_>>(), gaps);
    }
}
