//! Following a log beside its writer: every durable record once, in order, and again by its place.

use crate::world;
use std::sync::Arc;
use trunkline_commit::{Follower, Group, Log, Options, Place, read_again};
use world::World;

const OPTIONS: Options = Options { segment_octets: 4096, waiting_octets: 1 << 20 };

fn record(number: u64) -> Vec<u8> {
    let octets = 1 + (number * 37 % 700) as usize;
    [&number.to_le_bytes()[..], &vec![number as u8; octets]].concat()
}

/// Appends records in groups of some.
fn append(log: &mut Log<World>, count: u64, group: u64) {
    let mut records = Group::new(&OPTIONS);
    for number in log.next()..log.next() + count {
        if number % group == 0 || records.put(&record(number)).is_err() {
            log.commit(&mut records).expect("a whole disk");
            if number % group != 0 {
                records.put(&record(number)).expect("an empty group has room");
            }
        }
        if number % group == 0 {
            records.put(&record(number)).expect("an empty group has room");
        }
    }
    log.commit(&mut records).expect("a whole disk");
}

fn follow(follower: &mut Follower<World>, world: &World, durable: u64) -> Vec<(u64, Place, Vec<u8>)> {
    let mut seen = Vec::new();
    let mut see = |number, place, record: &[u8]| {
        seen.push((number, place, record.to_vec()));
        Ok(())
    };
    while follower.poll(world, durable, &mut see).expect("what is durable") {}
    seen
}

#[test]
fn every_record_is_shown_once_and_found_again() {
    let world = Arc::new(World::default());
    let mut log = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
    let mut follower = Follower::new(1);
    assert!(follow(&mut follower, &world, 0).is_empty());
    let mut seen = Vec::new();
    for part in 1..40 {
        append(&mut log, part, 3);
        seen.extend(follow(&mut follower, &world, log.next() - 1));
        assert_eq!(follower.next(), log.next());
    }
    assert!(log.sealed() > 0, "several segments");
    for (number, (at, place, octets)) in (1..).zip(&seen) {
        assert_eq!((number, octets), (*at, &record(number)));
        assert_eq!(read_again(&*world, *place).unwrap(), *octets);
    }
    for from in [2, 100, log.next() - 1] {
        let again = follow(&mut Follower::new(from), &world, log.next() - 1);
        assert!(again.iter().map(|(number, ..)| *number).eq(from..log.next()), "from {from}");
    }
    assert!(read_again(&*world, Place { segment: 1, at: 2 }).is_err());
    assert!(read_again(&*world, Place { segment: 2, at: 60 }).is_err());
}

#[test]
fn what_is_gone_is_told() {
    let world = Arc::new(World::default());
    let mut log = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
    append(&mut log, 200, 3);
    let see = |_: u64, _: Place, _: &[u8]| Ok(());
    assert!(Follower::<World>::new(log.next()).poll(&world, log.next(), see).is_err(), "told, and not there");
    let refuses = |_: u64, _: Place, _: &[u8]| Err("no".to_owned());
    assert!(Follower::<World>::new(1).poll(&world, 1, refuses).unwrap_err().to_string().contains("no"));
    world.spoil("00000000000000000001.log", 80);
    let told = Follower::<World>::new(1).poll(&world, 1, see).unwrap_err().to_string();
    assert!(told.contains("00000000000000000001.log") && told.contains("damaged"), "{told}");
    world.lose("00000000000000000001.log");
    assert!(Follower::<World>::new(1).poll(&world, 1, see).is_err());
}

/// The head of a segment's first block is not to be known again: it would be taken for the segment behind itself.
#[test]
fn a_segment_without_a_record_is_told_and_not_looked_at_for_ever() {
    let world = Arc::new(World::default());
    let mut log = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
    append(&mut log, 20, 3);
    world.spoil("00000000000000000001.log", 32);
    let see = |_: u64, _: Place, _: &[u8]| Ok(());
    for next in [1, 7] {
        let told = Follower::<World>::new(next).poll(&world, 20, see).unwrap_err().to_string();
        assert_eq!(told, "00000000000000000001.log, octet 32: record 1 is not there, and was told");
    }
}
