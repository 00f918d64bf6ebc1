//! What was told to be durable is there after any end, once and in order; nothing else is but what was appended.

use crate::world;
use core::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use trunkline_commit::{
    Follower, Group, Keep, Log, Options, Place, Refused, Sealed, Snapshot, SnapshotWriter, cut, read, read_sealed,
    sealed,
};
use world::{End, World};

const OPTIONS: Options = Options { segment_octets: 4096, waiting_octets: 1 << 20 };

/// What there is to know: each record's number is its place.
#[derive(Debug)]
struct Truth {
    /// Those that were told to be durable, or were found.
    told: Vec<Vec<u8>>,
    /// What was appended behind those in this life.
    appended: Vec<Vec<u8>>,
    /// Makes every record another one.
    made: u64,
    keep: Keep,
}

impl Truth {
    fn new(keep: Keep) -> Truth {
        Truth { told: Vec::new(), appended: Vec::new(), made: 0, keep }
    }

    fn record(&mut self, octets: usize) -> Vec<u8> {
        self.made += 1;
        let mut record = self.made.to_le_bytes().to_vec();
        record.resize(8 + octets, u8::try_from(self.made % 251).unwrap());
        record
    }

    /// What a start found: all that was told, and what was appended behind it up to some place.
    fn found(&mut self, found: Vec<Vec<u8>>) {
        let all: Vec<_> = self.told.iter().chain(&self.appended).cloned().collect();
        assert!(found.len() >= self.told.len(), "{} of {} told", found.len(), self.told.len());
        assert!(found.len() <= all.len());
        assert_eq!(found, all[..found.len()]);
        (self.told, self.appended) = (found, Vec::new());
    }
}

/// A snapshot's records are those that it stands for, a prefix as long as its number.
fn open(world: &Arc<World>) -> (Log<World>, Vec<Vec<u8>>) {
    let (mut begun, mut since) = (Vec::new(), Vec::new());
    let log = Log::open(
        Arc::clone(world),
        OPTIONS,
        |record| {
            begun.push(record.to_vec());
            Ok(())
        },
        |number, record| {
            since.push((number, record.to_vec()));
            Ok(())
        },
    );
    let log = log.unwrap();
    for (number, record) in since {
        begun.push(record);
        assert_eq!(number, begun.len() as u64);
    }
    assert_eq!(log.next(), begun.len() as u64 + 1);
    assert_eq!(log.found().last, begun.len() as u64);
    (log, begun)
}

/// The records from a number on.
fn history(world: &World, from: u64) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let next = read(world, from, |number, record| {
        assert_eq!(number, from + records.len() as u64);
        records.push(record.to_vec());
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!(next.unwrap(), from + records.len() as u64);
    records
}

/// Folds the closed segments into a snapshot, as who runs beside the log does.
fn snapshot(world: &World, sealed: u64, keep: Keep) -> Result<(), trunkline_commit::Fault> {
    let newest = Snapshot::all(world)?.into_iter().next();
    let mut records = Vec::new();
    if let Some(newest) = &newest {
        newest.each(world, |record| {
            records.push(record.to_vec());
            Ok(())
        })?;
    }
    let from = newest.map_or(0, |snapshot| snapshot.last) + 1;
    if from > sealed {
        return Ok(());
    }
    read_sealed(world, Sealed { from, to: sealed }, |number, record| {
        records.push(record.to_vec());
        assert_eq!(number, records.len() as u64);
        Ok(())
    })?;
    let mut writer = SnapshotWriter::begin(world, sealed)?;
    records.iter().try_for_each(|record| writer.put(record))?;
    writer.finish(keep).map(|_| ())
}

#[derive(Clone, Debug)]
enum Act {
    /// Groups of records of so many octets.
    Commit(Vec<usize>),
    Snapshot,
}

fn act() -> impl Strategy<Value = Act> {
    let octets = prop_oneof![4 => 0..100_usize, 1 => 100..3000_usize];
    prop_oneof![
        8 => prop::collection::vec(octets, 1..6).prop_map(Act::Commit),
        1 => Just(Act::Snapshot),
    ]
}

/// One life: acts until the end, or until they are through.
fn live(log: &mut Log<World>, world: &World, truth: &mut Truth, acts: &[Act]) -> Result<(), trunkline_commit::Fault> {
    let mut group = Group::new(&OPTIONS);
    for act in acts {
        match act {
            Act::Snapshot => snapshot(world, log.sealed(), truth.keep)?,
            Act::Commit(records) => {
                for octets in records {
                    let record = truth.record(*octets);
                    if group.put(&record) == Err(Refused::Waiting) {
                        break;
                    }
                    truth.appended.push(record);
                }
                let last = log.commit(&mut group)?;
                truth.told.append(&mut truth.appended);
                assert_eq!((last, group.count()), (truth.told.len() as u64, 0));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_was_told_is_there_after_any_end(
        lives in prop::collection::vec(
            (prop::collection::vec(act(), 1..40), 0..120_u32, any::<bool>(), any::<u64>()), 1..7),
        all in any::<bool>(),
    ) {
        let keep = if all { Keep::All } else { Keep::Needed };
        let (world, mut truth) = (Arc::new(World::default()), Truth::new(keep));
        for (acts, operations, power, seed) in lives {
            world.ends_after(operations);
            // A start may meet the end, too.
            let mut opened = Vec::new();
            let log = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Ok(()));
            if let Ok(mut log) = log {
                let _ended = live(&mut log, &world, &mut truth, &acts);
            }
            world.again(if power { End::Power } else { End::Killed }, seed);
            let (log, found) = open(&world);
            opened.push(log);
            truth.found(found);
            if keep == Keep::All {
                prop_assert_eq!(history(&world, 1), truth.told.clone());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_cut_off_never_comes_back(
        acts in prop::collection::vec(act(), 1..40),
        others in prop::collection::vec(act(), 1..20),
        share in 0..=100_u64,
        ends in prop::collection::vec((0..30_u32, any::<bool>(), any::<u64>()), 0..4),
        power in any::<u64>(),
    ) {
        let (world, mut truth) = (Arc::new(World::default()), Truth::new(Keep::All));
        let (mut log, _) = open(&world);
        live(&mut log, &world, &mut truth, &acts).unwrap();
        drop(log);
        let (all, after) = (truth.told.len() as u64, truth.told.len() as u64 * share / 100);
        let stay = places(&world, after);
        for (operations, power, seed) in ends {
            world.ends_after(operations);
            let _ended = cut(&*world, OPTIONS, after);
            world.again(if power { End::Power } else { End::Killed }, seed);
            let (_, found) = open(&world);
            prop_assert!(found.len() as u64 >= after && found[..] == truth.told[..found.len()]);
        }
        prop_assert!(cut(&*world, OPTIONS, after).unwrap() <= all - after);
        prop_assert_eq!(cut(&*world, OPTIONS, after).unwrap(), 0);
        prop_assert_eq!(places(&world, after), stay);
        // Other records take their numbers.
        truth.told.truncate(usize::try_from(after).unwrap());
        let (mut log, found) = open(&world);
        prop_assert_eq!(&found, &truth.told);
        live(&mut log, &world, &mut truth, &others).unwrap();
        drop(log);
        world.again(End::Power, power);
        prop_assert_eq!(open(&world).1, truth.told.clone());
        prop_assert_eq!(history(&world, 1), truth.told);
    }
}

/// Where each record up to a number lies.
fn places(world: &World, last: u64) -> Vec<Place> {
    let (mut follower, mut places) = (Follower::<World>::new(1), Vec::new());
    let mut see = |number: u64, place: Place, _: &[u8]| {
        places.extend((number <= last).then_some(place));
        Ok(())
    };
    while follower.poll(world, last, &mut see).unwrap() {}
    places
}

#[test]
fn a_log_is_not_cut_before_it_begins() {
    let (world, mut truth) = (Arc::new(World::default()), Truth::new(Keep::All));
    let (mut log, _) = open(&world);
    for _ in 0..2 {
        live(&mut log, &world, &mut truth, &vec![Act::Commit(vec![400, 400]); 6]).unwrap();
        live(&mut log, &world, &mut truth, &[Act::Snapshot]).unwrap();
    }
    drop(log);
    let oldest = Snapshot::all(&*world).unwrap().last().unwrap().last;
    let mut writer = SnapshotWriter::begin(&*world, oldest).unwrap();
    truth.told[..usize::try_from(oldest).unwrap()].iter().try_for_each(|record| writer.put(record)).unwrap();
    writer.open_with().unwrap();
    assert!(cut(&*world, OPTIONS, 1).unwrap_err().to_string().contains("it cannot be cut after 1"));
    assert_eq!(open(&world).1, truth.told);
}

#[test]
fn no_room_for_a_segment_takes_nothing_and_goes_on_when_there_is() {
    let (world, mut truth) = (Arc::new(World::default()), Truth::new(Keep::Needed));
    let (mut log, _) = open(&world);
    world.has_room(Some(100));
    let acts = vec![Act::Commit(vec![900]); 10];
    assert!(live(&mut log, &world, &mut truth, &acts).is_err());
    assert!(!log.is_closed());
    assert_eq!(truth.told.len(), 4);
    truth.appended.clear();
    world.has_room(None);
    live(&mut log, &world, &mut truth, &acts).unwrap();
    assert_eq!(truth.told.len(), 14);
    drop(log);
    let (_, found) = open(&world);
    assert_eq!(found, truth.told);
}

/// A log of four segments, of which the first two are in a snapshot each.
fn long(world: &Arc<World>) -> Truth {
    let mut truth = Truth::new(Keep::Needed);
    let (mut log, _) = open(world);
    for _ in 0..2 {
        live(&mut log, world, &mut truth, &vec![Act::Commit(vec![400, 400]); 6]).unwrap();
        live(&mut log, world, &mut truth, &[Act::Snapshot]).unwrap();
    }
    live(&mut log, world, &mut truth, &vec![Act::Commit(vec![400, 400]); 10]).unwrap();
    assert_eq!(Snapshot::all(&**world).unwrap().len(), 2);
    truth
}

fn opened(world: &Arc<World>) -> Result<Log<World>, String> {
    Log::open(Arc::clone(world), OPTIONS, |_| Ok(()), |_, _| Ok(())).map_err(|fault| fault.to_string())
}

fn names(world: &World, ending: &str) -> Vec<String> {
    trunkline_commit::Disk::list(world).unwrap().into_iter().filter(|name| name.ends_with(ending)).collect()
}

#[test]
fn what_is_gone_is_told_and_nothing_is_taken() {
    let world = Arc::new(World::default());
    let truth = long(&world);
    let segments = names(&world, ".log");
    assert!(segments.len() >= 3, "{segments:?}");
    let last = segments.last().unwrap();

    // In the last segment, but not in its last block.
    world.spoil(last, 100);
    let fault = opened(&world).unwrap_err();
    assert!(fault.starts_with(&format!("{last}, octet 32: records ")) && fault.contains("are gone"), "{fault}");
    world.spoil(last, 100);
    // In a closed one.
    let closed = &segments[segments.len() - 2];
    world.spoil(closed, 60);
    let fault = opened(&world).unwrap_err();
    assert!(fault.contains("are gone"), "{fault}");
    world.spoil(closed, 60);
    // A head.
    world.spoil(last, 9);
    let fault = opened(&world).unwrap_err();
    assert!(fault.starts_with(&format!("{last}, octet 0: the head of the segment is damaged: records ")), "{fault}");
    world.spoil(last, 9);
    assert_eq!(open(&world).1, truth.told);
    // A segment.
    world.lose(closed);
    let fault = opened(&world).unwrap_err();
    assert!(fault.contains("are gone, those from"), "{fault}");
}

#[test]
fn all_segments_gone_is_told() {
    let world = Arc::new(World::default());
    long(&world);
    names(&world, ".log").iter().for_each(|name| world.lose(name));
    let fault = opened(&world).unwrap_err();
    assert!(fault.contains("are gone: records were durable up to 44 (the mark durable)"), "{fault}");
}

#[test]
fn a_damaged_snapshot_is_told_and_the_one_before_it_is_read() {
    let world = Arc::new(World::default());
    let truth = long(&world);
    let snapshots = names(&world, ".snapshot");
    world.spoil(&snapshots[1], 200);
    let (log, found) = open(&world);
    assert_eq!(found, truth.told);
    assert_eq!(log.found().damaged.len(), 1);
    drop(log);
    world.spoil(&snapshots[0], 200);
    let fault = opened(&world).unwrap_err();
    assert_eq!(fault, format!("{}, octet 32: a block of the snapshot is damaged", snapshots[0]));
}

#[test]
fn who_does_not_understand_a_record_ends_the_start() {
    let world = Arc::new(World::default());
    long(&world);
    let refused = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Err("of a newer program".to_owned()));
    let fault = refused.unwrap_err().to_string();
    assert!(
        fault.starts_with("record ") && fault.ends_with(": of a newer program (00000000000000000017.log, octet 32)"),
        "{fault}"
    );
}

/// A history is kept whole, whatever snapshots stand for it, until it is cut; then it begins with what it was cut with.
#[test]
fn a_history_is_cut_by_what_it_then_begins_with() {
    let (world, mut truth) = (Arc::new(World::default()), Truth::new(Keep::All));
    let (mut log, _) = open(&world);
    for _ in 0..4 {
        live(&mut log, &world, &mut truth, &vec![Act::Commit(vec![400, 400]); 6]).unwrap();
        live(&mut log, &world, &mut truth, &[Act::Snapshot]).unwrap();
    }
    assert_eq!((Snapshot::all(&*world).unwrap().len(), sealed(&*world).unwrap()), (2, log.sealed()));
    assert_eq!((history(&world, 1), Snapshot::opening(&*world).unwrap()), (truth.told.clone(), None));
    let mut shown = 0;
    let next = read(&*world, 3, |_, _| {
        shown += 1;
        Ok(if shown == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    assert_eq!((next.unwrap(), shown), (8, 5));
    // Nothing newer stands for what is cut.
    let writer = SnapshotWriter::begin(&*world, log.sealed() + 1).unwrap();
    assert!(writer.open_with().is_err());
    let segments = names(&world, ".log");
    let cut = segments[2].trim_end_matches(".log").parse::<u64>().unwrap() - 1;
    let cut_with = |cut: u64| {
        let mut writer = SnapshotWriter::begin(&*world, cut).unwrap();
        truth.told[..cut as usize].iter().try_for_each(|record| writer.put(record)).unwrap();
        writer.open_with().unwrap()
    };
    assert_eq!(cut_with(cut), 2);
    assert_eq!(Snapshot::opening(&*world).unwrap().map(|opening| opening.last), Some(cut));
    assert_eq!(history(&world, cut + 1), truth.told[cut as usize..]);
    assert!(read(&*world, cut, |_, _| Ok(ControlFlow::Continue(()))).is_err(), "it is gone");
    // The segment before is needed as long as it has records after the cut; the opening before is not.
    assert_eq!(cut_with(cut + 1), 1);
    assert_eq!(history(&world, cut + 2), truth.told[cut as usize + 1..]);
    drop(log);
    assert_eq!(open(&world).1, truth.told);
}
