//! A damaged ledger is refused with what is known of it, and mended: numbers are not used again, what is whole stays,
//! what is gone stays to be seen, and no record is made twice.

use crate::recorded;
use proptest::prelude::*;
use recorded::world::World;
use recorded::{Life, OPTIONS, closed, settings};
use std::collections::BTreeSet;
use std::sync::Arc;
use trunkline_charge::account::{Effect, Entry};
use trunkline_charge::job::records::Step;
use trunkline_charge::job::{Mended, look_through, mend, witness};
use trunkline_charge::ledger::{self, Fault};
use trunkline_charge::session::{Limits, State};
use trunkline_commit::{Disk, Gone, Snapshot, Witness};

const LATER: i64 = 2_000_000_000;

/// A ledger with records made of all of it, and a checkpoint at its end.
fn life(requests: u32) -> Life {
    let mut life = Life::new();
    life.go_on(requests);
    let mut files = life.open(settings(10)).unwrap();
    files.end(life.durable(), life.network.now).unwrap();
    life
}

/// The same disks after the damage, and who knows.
fn copied(life: &Life) -> (Arc<World>, Arc<World>, Vec<Witness>) {
    let known = witness(&*life.files).unwrap().into_iter().collect();
    (Arc::new(life.ledger.copied()), Arc::new(life.files.copied()), known)
}

fn opened(world: &Arc<World>, known: &[Witness]) -> Result<State, Fault> {
    let (core, log) = ledger::open_known(Arc::clone(world), OPTIONS, Limits::default(), known)?;
    assert_eq!(log.next(), core.state().sequence() + 1);
    Ok(core.state().clone())
}

fn gone(fault: Fault) -> Gone {
    fault.gone().unwrap_or_else(|| panic!("{fault}")).clone()
}

fn files_of(world: &World) -> Vec<(String, Vec<u8>)> {
    world.list().unwrap().into_iter().map(|name| (name.clone(), world.octets(&name))).collect()
}

/// Says what a repair would do, does it, and does it again.
fn mended(ledger: &Arc<World>, files: &Arc<World>, known: &[Witness]) -> Mended {
    let (before, files_before) = (files_of(ledger), files_of(files));
    let dry = mend(ledger, Some(&**files), known, (OPTIONS, LATER, true)).unwrap();
    assert_eq!((files_of(ledger), files_of(files)), (before, files_before), "only said");
    let done = mend(ledger, Some(&**files), known, (OPTIONS, LATER, false)).unwrap();
    let told = |mended: &Mended| {
        let Mended { untold, accounts, sessions, closed, records_made, records_open, .. } = mended;
        (untold.clone(), [*accounts, *sessions, *closed, *records_open], *records_made, mended.lost.clone())
    };
    assert_eq!(told(&dry), told(&done));
    let after = (files_of(ledger), files_of(files));
    let again = mend(ledger, Some(&**files), known, (OPTIONS, LATER, false)).unwrap();
    assert!(again.is_whole() && again.closed == 0, "{again:?}");
    assert_eq!((files_of(ledger), files_of(files)), after, "a second time nothing is done");
    done
}

/// Records go on behind a repair: their numbers, and no file is there twice.
fn records_go_on(ledger: &Arc<World>, files: &Arc<World>) {
    let before = closed(files).0.len();
    let (core, log) = ledger::open(Arc::clone(ledger), OPTIONS, Limits::default()).unwrap();
    let durable = log.next() - 1;
    assert_eq!(core.state().sequence(), durable);
    let files_of = || {
        trunkline_charge::job::records::Files::open(Arc::clone(ledger), Arc::clone(files), settings(10), recorded::CUTS)
    };
    let mut open = files_of().unwrap();
    while open.step(durable, LATER).unwrap() == Step::More {}
    open.end(durable, LATER).unwrap();
    drop(open);
    drop(files_of().unwrap());
    assert!(closed(files).0.len() >= before);
}

/// The ledger was cut: numbers that records were made of are not used again, sessions that ended stay ended, and what
/// is gone is told by every audit from then on.
#[test]
fn a_ledger_that_was_cut_is_refused_and_mended() {
    let life = life(200);
    let last = life.durable();
    for half in [40, 90, 140] {
        let (world, files, known) = copied(&life);
        // Of an older program: nothing but the cursor of records knows.
        world.lose("durable");
        let blocks = world.blocks();
        let (name, octet, first) = &blocks[blocks.len() * half / 160];
        world.cut(name, *octet);
        blocks
            .iter()
            .map(|(other, ..)| other)
            .filter(|other| *other > name)
            .collect::<BTreeSet<_>>()
            .iter()
            .for_each(|other| world.lose(other));
        let fault = gone(opened(&world, &known).unwrap_err());
        assert_eq!((fault.from, fault.to, &fault.name, fault.at), (*first, last, name, *octet as u64), "{fault}");
        let text = format!("records were durable up to {last} (the cursor of charging records)");
        assert!(fault.to_string().contains(&text), "{fault}");
        assert_eq!(gone(ledger::audit_known(&*world, &known).unwrap_err()), fault);

        let truth: BTreeSet<_> =
            life.network.core.state().opened().map(|(slot, name, _)| (slot, name.to_owned())).collect();
        let done = mended(&world, &files, &known);
        assert_eq!(done.untold, [(*first, last)]);
        assert!(done.sessions > 0 && done.accounts == 1 && done.records_made > Some(0), "{done:?}");
        let state = opened(&world, &known).unwrap();
        assert!(state.sequence() > last && done.next == state.sequence() + 1);
        // None is open again that had ended.
        assert!(state.opened().all(|(slot, name, _)| truth.contains(&(slot, name.to_owned()))), "{half}");
        let audit = ledger::audit_known(&*world, &known).unwrap();
        assert_eq!((audit.last, audit.differences), (done.next - 1, vec![]));
        assert_eq!(audit.lost.iter().map(|lost| (lost.from, lost.to)).collect::<Vec<_>>(), [(*first, last)]);
        let (at, place) = audit.lost[0].told.clone().unwrap();
        assert_eq!((at, &*place), (LATER, &*format!("{name}, octet {octet}")));
        records_go_on(&world, &files);
    }
}

/// One changed octet of each block in turn: entries behind it count, as they are whole.
#[test]
fn a_changed_octet_costs_the_entries_of_its_block() {
    let life = life(160);
    let last = life.durable();
    let blocks = life.ledger.blocks();
    for (at, (name, octet, first)) in blocks.iter().enumerate() {
        let (world, files, known) = copied(&life);
        world.spoil(name, octet + 30);
        let behind = blocks.get(at + 1).map_or(last, |(_, _, first)| first - 1);
        let fault = gone(opened(&world, &known).unwrap_err());
        assert_eq!((fault.from, &fault.name, fault.at, fault.last), (*first, name, *octet as u64, last), "{fault}");
        let done = mended(&world, &files, &known);
        assert_eq!(done.untold, [(*first, behind)]);
        let (mut next, mut told) = (1, 0);
        ledger::read(&*world, 1, |entry| {
            assert_eq!(entry.sequence, next);
            let was = life.network.entries.get(next as usize - 1);
            match (*first..=behind).contains(&next) {
                true => assert!(entry.is_lost()),
                false if next <= last => assert_eq!(Some(&entry), was),
                false => told += entry.effects.iter().filter(|effect| matches!(effect, Effect::Lost { .. })).count(),
            }
            next += 1;
            core::ops::ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!((next, told), (done.next, 1));
        let audit = ledger::audit(&*world).unwrap();
        assert_eq!((audit.last, audit.lost.len()), (done.next - 1, 1));
        let reserved = |what: &str| what.contains("reserved");
        assert!(!audit.differences.iter().any(|one| reserved(&one.what)), "{:?}", audit.differences);
        let state = opened(&world, &known).unwrap();
        assert_eq!(state.lost(), behind - first + 1);
        // A snapshot of it is the same state.
        ledger::fold(&*world).unwrap();
        assert_eq!(opened(&world, &known).unwrap(), state);
        assert_eq!(ledger::audit(&*world).unwrap().differences, audit.differences);
        records_go_on(&world, &files);
    }
}

/// What a snapshot says was there is what holds: entries before it that are gone change no balance.
#[test]
fn what_is_gone_before_a_snapshot_changes_no_balance() {
    let mut life = life(160);
    ledger::fold(&*life.ledger).unwrap();
    life.go_on(30);
    let snapshot = trunkline_commit::Snapshot::all(&*life.ledger).unwrap()[0].last;
    let blocks = life.ledger.blocks();
    let known = witness(&*life.files).unwrap().into_iter().collect::<Vec<_>>();
    for (name, octet, first) in blocks.iter().filter(|(_, _, first)| *first + 10 < snapshot) {
        let (world, files, _) = copied(&life);
        world.spoil(name, octet + 30);
        // A start does not read it: who reads all of it says so.
        opened(&world, &known).unwrap();
        assert_eq!(gone(ledger::audit_known(&*world, &known).unwrap_err()).from, *first);
        let done = mended(&world, &files, &known);
        assert_eq!(done.lost[0].from, *first);
        let (state, truth) = (opened(&world, &known).unwrap(), life.network.core.state());
        assert_eq!(state.account(1).map(|account| account.balance), truth.account(1).map(|account| account.balance));
        assert!(truth.opened().eq(state.opened()));
        let audit = ledger::audit_known(&*world, &known).unwrap();
        assert_eq!((audit.differences, audit.lost.len()), (vec![], 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever is done to the files: who opens it says so or has all of it, and after a repair it is opened, adds up
    /// as far as it is there, and records go on.
    #[test]
    fn any_damage_is_told_or_harmless_and_is_mended(
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, 0..8192_usize), 1..4),
        requests in 40..160_u32,
    ) {
        let life = life(requests);
        let (world, files, known) = copied(&life);
        for (which, kind, at) in damages {
            let names = world.segments();
            let Some(name) = names.get(which.index(names.len().max(1))) else { break };
            match kind {
                0 if at < world.octets(name).len() => world.spoil(name, at),
                1 => world.zero(name, at, 512),
                2 => world.cut(name, at),
                3 if at % 2 == 0 => world.lose(name),
                _ => {}
            }
        }
        match opened(&world, &known) {
            Ok(state) => prop_assert_eq!(state.sequence(), life.durable()),
            Err(fault) => prop_assert!(fault.is_damage(), "{}", fault),
        }
        let done = mended(&world, &files, &known);
        prop_assert!(done.next > life.durable());
        let state = opened(&world, &known).unwrap();
        prop_assert_eq!(state.sequence() + 1, done.next);
        let audit = ledger::audit_known(&*world, &known).unwrap();
        prop_assert_eq!(audit.lost.iter().map(|lost| lost.to - lost.from + 1).sum::<u64>(), state.lost());
        records_go_on(&world, &files);
    }
}

#[test]
fn an_entry_that_is_gone_has_no_octets() {
    assert_eq!(Entry::of_record(7, &[]), Ok(Entry::lost(7)));
    assert!(Entry::lost(7).is_lost());
    let told = Entry { at: 1, effects: vec![Effect::Lost { from: 1, to: 6, place: "a".into() }], sequence: 7 };
    assert_eq!((Entry::of_record(7, &told.encode()), told.is_lost()), (Ok(told.clone()), false));
    assert!(Entry::of_record(8, &told.encode()).is_err());
}

/// A ledger whose first entries were given up by age; the name of what they come to, and the first that is there.
fn retained() -> (Life, String, u64) {
    let mut life = Life::new();
    for _ in 0..4 {
        life.go_on(120);
        life.append();
        ledger::fold(&*life.ledger).unwrap();
    }
    let mut files = life.open(settings(10)).unwrap();
    files.end(life.durable(), life.network.now).unwrap();
    drop(files);
    let first = ledger::retain(&*life.ledger, 200).unwrap();
    let opening = Snapshot::opening(&*life.ledger).unwrap().unwrap().name().to_owned();
    (life, opening, first)
}

/// What the first entries came to is damaged or cut: a repair puts it aside, tells those entries, and the balances are
/// those of the snapshots behind it.
#[test]
fn an_opening_that_is_damaged_is_told_and_mended() {
    let (life, opening, first) = retained();
    let balance = life.network.core.state().account(1).unwrap().balance;
    for cut in [false, true] {
        let (world, files, known) = copied(&life);
        if cut {
            world.cut(&opening, 20)
        } else {
            world.spoil(&opening, 60)
        }
        let fault = ledger::audit_known(&*world, &known).unwrap_err();
        assert!(fault.is_damage() && fault.to_string().starts_with(&opening), "{fault}");
        let done = mended(&world, &files, &known);
        assert_eq!(done.untold, [(1, first - 1)]);
        assert!(done.also[0].starts_with(&opening) && done.kept == [format!("{opening}.damaged")], "{done:?}");
        assert_eq!(opened(&world, &known).unwrap().account(1).unwrap().balance, balance);
        let audit = ledger::audit_known(&*world, &known).unwrap();
        assert_eq!((audit.differences, audit.lost.len(), audit.lost[0].to), (vec![], 1, first - 1));
        records_go_on(&world, &files);
    }
}

/// A crash after the opening was written, before the segments that it stands for were removed: nothing is wrong.
#[test]
fn segments_before_an_opening_are_no_damage() {
    let mut life = Life::new();
    for _ in 0..4 {
        life.go_on(120);
        life.append();
        ledger::fold(&*life.ledger).unwrap();
    }
    let (left, cut) = (Arc::new(life.ledger.copied()), life.ledger.copied());
    let first = ledger::retain(&cut, 200).unwrap();
    let opening = Snapshot::opening(&cut).unwrap().unwrap().name().to_owned();
    left.put(&opening, cut.octets(&opening));
    assert!(first > 1 && left.segments().len() > cut.segments().len());
    assert!(look_through(&*left, &[]).unwrap().is_whole());
    let audit = ledger::audit(&*left).unwrap();
    assert_eq!((audit.first, audit.differences), (first, vec![]));
    assert!(mend(&left, None::<&World>, &[], (OPTIONS, LATER, true)).unwrap().is_whole());
}
