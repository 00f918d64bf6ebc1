//! Entries that are whole and cannot be where they are: another one than their number says, or of a session that no
//! ledger of their length can have. Nobody takes memory for them, all who read say which and where, and a repair gives
//! up them alone.

use crate::recorded;
use crate::world::World;
use recorded::{Life, OPTIONS, closed, settings};
use std::sync::Arc;
use trunkline_charge::account::{Effect, Entry, MoneyReason, Place, SLOTS_MAX};
use trunkline_charge::cdr::{Cuts, Fold, Source};
use trunkline_charge::job::{look_through, mend, witness};
use trunkline_charge::ledger::{self, Fault};
use trunkline_charge::money::Money;
use trunkline_charge::session::{Limits, State};
use trunkline_commit::{Folder, Group, Keep, Log, Options, SnapshotWriter, Witness, repair, survey};

const LATER: i64 = 2_000_000_000;

fn entry(sequence: u64, effects: Vec<Effect>) -> Entry {
    Entry { sequence, at: 1_900_000_000, effects }
}

fn paid(sequence: u64, amount: i64) -> Entry {
    let (reason, amount) = (MoneyReason::TopUp, Money(amount));
    entry(sequence, vec![Effect::Money { account: 1, reason, amount, note: Box::default() }])
}

/// Appends entries in one block.
fn append(world: &Arc<World>, entries: &[Entry]) {
    let mut log = Log::open(Arc::clone(world), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
    let mut group = Group::new(&OPTIONS);
    entries.iter().for_each(|entry| group.put(&entry.encode()).unwrap());
    log.commit(&mut group).unwrap();
    log.sync_mark().unwrap();
}

fn opened(world: &Arc<World>, known: &[Witness]) -> Result<State, Fault> {
    let (core, _) = ledger::open_known(Arc::clone(world), OPTIONS, Limits::default(), known)?;
    Ok(core.state().clone())
}

/// Each kind, in the midst of a block of others that stay.
#[test]
fn an_entry_that_cannot_be_there_is_told_by_all_and_given_up_alone() {
    let mut life = Life::new();
    life.go_on(130);
    let mut files = life.open(settings(10)).unwrap();
    files.end(life.durable(), life.network.now).unwrap();
    drop(files);
    let (next, balance) = (life.durable() + 1, life.network.core.state().account(1).unwrap().balance);
    let used = life.network.core.state().kept_sessions() as u64;
    let unfit = [
        (vec![Effect::Moved { slot: u32::MAX, place: Place::default() }], next + 1, "it names slot 4294967295"),
        // Of the entry's number there could be as many; of the sessions there were there are not.
        (vec![Effect::Forgotten { slot: next as u32 - 1, done: true }], next + 1, "it names slot "),
        (Vec::new(), next + 9, "it holds entry "),
    ];
    assert!(used + 1 < next);
    for (effects, number, told) in unfit {
        let (world, records) = (Arc::new(life.ledger.copied()), Arc::new(life.files.copied()));
        let known: Vec<Witness> = witness(&*records).unwrap().into_iter().collect();
        append(&world, &[paid(next, 5), entry(number, effects), paid(next + 2, 7)]);
        let places = world.blocks();
        let (name, octet, _) = places.last().unwrap();
        for fault in [opened(&world, &known).unwrap_err(), ledger::audit_known(&*world, &known).unwrap_err()] {
            let said = fault.to_string();
            assert!(fault.is_damage() && said.starts_with(&format!("record {}: {told}", next + 1)), "{said}");
            assert!(said.ends_with(&format!("({name}, octet {octet})")), "{said}");
        }
        let found = look_through(&*world, &known).unwrap();
        assert_eq!((found.lost.len(), found.also.len(), found.next), (1, 1, next + 3));

        let dry = mend(&world, Some(&*records), &known, (OPTIONS, LATER, true)).unwrap();
        let done = mend(&world, Some(&*records), &known, (OPTIONS, LATER, false)).unwrap();
        for mended in [&dry, &done] {
            assert_eq!(mended.untold, [(next + 1, next + 1)]);
            assert!(mended.also[0].contains(told), "{:?}", mended.also);
            assert!(mended.accounts > 0 && mended.sessions > 0, "{mended:?}");
        }
        assert_eq!((done.kept.len(), done.written.len()), (1, 1));
        let again = mend(&world, Some(&*records), &known, (OPTIONS, LATER, false)).unwrap();
        assert!(again.is_whole(), "{again:?}");
        assert!(look_through(&*world, &known).unwrap().is_whole());

        let state = opened(&world, &known).unwrap();
        assert_eq!(state.account(1).unwrap().balance, balance.plus(Money(12)), "those beside it are there");
        assert_eq!((state.lost(), state.sequence() + 1), (1, done.next));
        let audit = ledger::audit_known(&*world, &known).unwrap();
        assert_eq!((audit.differences, audit.lost.len(), audit.lost[0].from), (vec![], 1, next + 1));
        // Records go on, and none is made twice.
        let before = closed(&records).0.len();
        let made = trunkline_charge::job::records::Files::open(
            Arc::clone(&world),
            Arc::clone(&records),
            settings(10),
            recorded::CUTS,
        );
        made.unwrap().end(state.sequence(), LATER).unwrap();
        assert!(closed(&records).0.len() >= before);
    }
}

/// What another version wrote is not known to be damage: nobody gives it up.
#[test]
fn what_is_not_understood_is_refused_by_a_repair() {
    let mut life = Life::new();
    life.go_on(40);
    let (world, next) = (Arc::new(life.ledger.copied()), life.durable() + 1);
    let mut octets = paid(next, 1).encode();
    octets[0] += 1;
    let mut log = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Ok(())).unwrap();
    let mut group = Group::new(&OPTIONS);
    group.put(&octets).unwrap();
    log.commit(&mut group).unwrap();
    drop(log);
    let fault = opened(&world, &[]).unwrap_err();
    assert!(!fault.is_damage() && fault.to_string().contains("not an entry of this version"), "{fault}");
    let fault = mend(&world, None::<&World>, &[], (OPTIONS, LATER, false)).unwrap_err();
    assert!(fault.to_string().contains("not an entry of this version"), "{fault}");
}

/// Memory that this process takes now, octets.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// A ledger that goes on behind the two-hundred-millionth entry: a slot of a hundred million cannot be told to be wrong
/// by the number alone, and took 1.6 GB.
#[test]
fn a_far_slot_takes_no_memory_for_those_before_it() {
    let far = SLOTS_MAX - 1;
    let sequence = 200_000_000;
    let before = memory();
    let mut fold = Fold::new(Cuts::default(), sequence);
    let moved = entry(sequence + 1, vec![Effect::Moved { slot: far, place: Place::default() }]);
    fold.take(&moved, Source::default(), &mut Vec::new());
    assert_eq!((fold.open(), fold.open_slots().collect::<Vec<_>>()), ((1, None), vec![(far, None)]));
    let mut octets = Vec::new();
    fold.put(|piece| {
        octets.extend_from_slice(piece);
        Ok::<_, ()>(())
    })
    .unwrap();
    assert_eq!(Fold::read(&octets).as_ref(), Ok(&fold));

    // A ledger that begins there, by a snapshot that stands for what was before.
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Folder::open(folder.path()).unwrap());
    let mut state = State::default();
    state.fold(&entry(sequence, Vec::new()));
    let written = |opening: bool| {
        let mut writer = SnapshotWriter::begin(&*disk, sequence).unwrap();
        state.snapshot(|record| writer.put(record)).unwrap();
        if opening { writer.open_with() } else { writer.finish(Keep::All) }.unwrap()
    };
    written(false);
    written(true);
    let found = survey(&*disk, Keep::All, &[], &mut |_, _| Ok(())).unwrap();
    repair(&*disk, &found).unwrap();
    let options = Options { segment_octets: 1 << 20, ..OPTIONS };
    let mut log = Log::open(Arc::clone(&disk), options, |_| Ok(()), |_, _| Ok(())).unwrap();
    let mut group = Group::new(&options);
    group.put(&moved.encode()).unwrap();
    log.commit(&mut group).unwrap();
    drop(log);
    let fault = ledger::open(Arc::clone(&disk), options, Limits::default()).unwrap_err();
    let told = format!(
        "record {}: it names slot {far} of sessions, and no more than 0 can have been used ({:020}.log, octet ",
        sequence + 1,
        sequence + 1
    );
    assert!(fault.is_damage() && fault.to_string().starts_with(&told), "{fault}");
    let done = mend(&disk, None::<&World>, &[], (options, LATER, false)).unwrap();
    assert_eq!(done.untold, [(sequence + 1, sequence + 1)]);
    let (core, _) = ledger::open(Arc::clone(&disk), options, Limits::default()).unwrap();
    assert_eq!((core.state().sequence(), core.state().lost()), (sequence + 2, 1));
    let taken = memory() - before;
    assert!(taken < 100 << 20, "{taken} octets");
}

/// A segment of another ledger of before heads said which it is can have millions that do not fit, among others that
/// do. Where each of them looks at all others, this takes hours: the runner ends it.
#[test]
fn hundreds_of_thousands_are_given_up_in_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Folder::open(folder.path()).unwrap());
    let options = Options { segment_octets: 16 << 20, ..OPTIONS };
    let mut log = Log::open(Arc::clone(&disk), options, |_| Ok(()), |_, _| Ok(())).unwrap();
    let (mut group, mut number) = (Group::new(&options), 0);
    for _ in 0..150 {
        for _ in 0..1000 {
            number += 1;
            let moved = Effect::Moved { slot: u32::MAX - 1, place: Place::default() };
            let one = if number % 3 == 0 { paid(number, 5) } else { entry(number, vec![moved]) };
            group.put(&one.encode()).unwrap();
        }
        log.commit(&mut group).unwrap();
    }
    drop(log);
    let before = memory();
    let found = look_through(&*disk, &[]).unwrap();
    assert_eq!((found.lost(), found.lost.len(), found.also.len()), (100_000, 50_000, 10_001));
    drop(found);
    let done = mend(&disk, None::<&World>, &[], (options, LATER, false)).unwrap();
    assert_eq!((done.untold.len(), done.also.len()), (50_000, 10_001));
    assert!(mend(&disk, None::<&World>, &[], (options, LATER, false)).unwrap().is_whole());
    let audit = ledger::audit(&*disk).unwrap();
    assert_eq!((audit.lost.len(), audit.lost[1].from, audit.lost[1].to), (50_000, 4, 5));
    assert!(audit.lost.iter().all(|lost| lost.told.is_some()));
    assert!(memory() - before < 150 << 20, "{} octets", memory() - before);
}
