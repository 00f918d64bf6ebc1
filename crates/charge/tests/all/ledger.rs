//! The ledger on a disk: what was told to be durable is there after any end, and all entries come to the balances.

use crate::network;
use crate::world;

use core::ops::ControlFlow;
use network::{NOW, Network, asked};
use proptest::prelude::*;
use std::sync::Arc;
use trunkline_charge::account::{Effect, Entry, MoneyReason};
use trunkline_charge::ledger::{self, Fault, Mark};
use trunkline_charge::money::Money;
use trunkline_charge::session::{Limits, State};
use trunkline_commit::{Disk, Group, Keep, Log, Options, Refused, SnapshotWriter};
use world::{End, World};

const OPTIONS: Options = Options { segment_octets: 8192, waiting_octets: 1 << 20 };

#[derive(Clone, Debug)]
enum Act {
    /// A request of one of some sessions, and what it reports.
    Ask(u32, u64),
    TopUp(i64),
    Wait(i64),
    Commit,
    Fold,
    Retain(prop::sample::Index),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        12 => (0u32..4, 0u64..30_000).prop_map(|(session, used)| Act::Ask(session, used)),
        1 => (0i64..300).prop_map(Act::TopUp),
        1 => prop_oneof![0i64..100, 1000i64..3000].prop_map(Act::Wait),
        4 => Just(Act::Commit),
        1 => Just(Act::Fold),
        1 => any::<prop::sample::Index>().prop_map(Act::Retain),
    ];
    prop::collection::vec(act, 1..60)
}

/// A network whose entries go to a disk in groups.
struct Life<'a> {
    network: &'a mut Network,
    world: &'a World,
    log: Log<World>,
    group: Group,
    /// Entries that are in the group or the log, and those that were told to be durable.
    appended: usize,
    told: &'a mut u64,
}

impl Life<'_> {
    fn act(&mut self, act: &Act, serial: u32) -> Result<(), Fault> {
        match act {
            Act::Ask(session, used) => self.ask(*session, *used, serial),
            Act::TopUp(amount) => self.network.top_up(*amount),
            Act::Wait(seconds) => self.network.timeout(self.network.now + seconds),
            Act::Commit => self.commit()?,
            Act::Fold => {
                ledger::fold(self.world)?;
            }
            Act::Retain(at) => {
                ledger::retain(self.world, at.index(self.network.entries.len()) as u64)?;
            }
        }
        self.append()
    }

    /// Each session begins, goes on, and ends.
    fn ask(&mut self, session: u32, used: u64, serial: u32) {
        let name = format!("session {}", serial / 20 * 4 + session);
        let usage = |wanted| vec![asked(1, Some(used), wanted)];
        match serial % 20 {
            0..4 => self.network.initial(&name, vec![asked(1, None, Some(0))]),
            16.. => self.network.end(&name, serial, usage(None)),
            _ => self.network.update(&name, serial, usage(Some(0))),
        };
    }

    fn append(&mut self) -> Result<(), Fault> {
        while let Some(entry) = self.network.entries.get(self.appended) {
            let octets = entry.encode();
            if self.group.put(&octets) == Err(Refused::Waiting) {
                self.commit()?;
                self.group.put(&octets).expect("an empty group has room");
            }
            self.appended += 1;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        *self.told = self.log.commit(&mut self.group)?;
        Ok(())
    }
}

fn open(world: &Arc<World>) -> Result<(trunkline_charge::session::Core, Log<World>), Fault> {
    ledger::open(Arc::clone(world), OPTIONS, Limits::default())
}

/// A new ledger, with what a network begins with.
fn begin(network: &mut Network, world: &Arc<World>, told: &mut u64) {
    let (_, log) = open(world).expect("an empty folder");
    live(network, world, log, told, &[Act::Commit]).expect("a whole disk");
}

fn live(network: &mut Network, world: &World, log: Log<World>, told: &mut u64, acts: &[Act]) -> Result<(), Fault> {
    let (group, appended, serial) = (Group::new(&OPTIONS), log.next() as usize - 1, network.entries.len() as u32);
    let mut life = Life { network, world, log, group, appended, told };
    life.append()?;
    acts.iter().zip(serial..).try_for_each(|(act, serial)| life.act(act, serial))
}

/// The history is whole, adds up, and is what the network did.
fn check(world: &World, network: &Network) {
    let audit = ledger::audit(world).expect("a whole ledger");
    assert_eq!((audit.last, audit.differences), (network.entries.len() as u64, vec![]));
    let mut next = audit.first;
    let read = ledger::read(world, audit.first, |entry| {
        assert_eq!(entry, network.entries[next as usize - 1]);
        next += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((read.expect("entries"), next), (audit.last + 1, audit.last + 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_was_told_is_in_the_state_after_any_end(
        lives in prop::collection::vec((acts(), 0..150_u32, any::<bool>(), any::<u64>()), 1..5),
    ) {
        let (world, mut told) = (Arc::new(World::default()), 0);
        let mut network = Network::new(Money(2000), Money::ZERO);
        begin(&mut network, &world, &mut told);
        for (acts, operations, power, seed) in lives {
            world.ends_after(operations);
            // A start may meet the end, too.
            if let Ok((_, log)) = open(&world) {
                let _ended = live(&mut network, &world, log, &mut told, &acts);
            }
            world.again(if power { End::Power } else { End::Killed }, seed);
            let (core, log) = open(&world).expect("what was told");
            prop_assert!(core.state().sequence() >= told && log.next() == core.state().sequence() + 1);
            told = core.state().sequence();
            network.resume(core);
            check(&world, &network);
        }
    }
}

/// A network that wrote some segments, and was folded now and then.
fn long(world: &Arc<World>) -> Network {
    let (mut network, mut told) = (Network::new(Money(100_000), Money::ZERO), 0);
    begin(&mut network, world, &mut told);
    for _ in 0..4 {
        let (_, log) = open(world).expect("a ledger");
        let acts: Vec<Act> = (0..80).map(|at| Act::Ask(at % 4, 500)).chain([Act::Commit, Act::Fold]).collect();
        live(&mut network, world, log, &mut told, &acts).expect("a whole disk");
    }
    network
}

#[test]
fn folds_keep_all_entries_and_retention_leaves_an_opening() {
    let world = Arc::new(World::default());
    let network = long(&world);
    let names = || world.list().expect("names");
    assert_eq!(names().iter().filter(|name| name.ends_with(".snapshot")).count(), 2);
    let audit = ledger::audit(&*world).expect("a ledger");
    assert_eq!((audit.first, audit.accounts), (1, 1));
    check(&world, &network);
    assert_eq!(ledger::fold(&*world).expect("nothing to do").entries, 0);
    // What a statement tells is what there was, also when it begins with an opening.
    let whole = ledger::statement(&*world, 1, None, usize::MAX).expect("lines");
    assert!(whole.whole && whole.next == Mark { next: audit.last + 1, balance: network.account().balance });
    let first = ledger::retain(&*world, 200).expect("retained");
    assert!(first > 5 && first <= 200, "{first}");
    assert_eq!(ledger::retain(&*world, 200).expect("nothing to do"), first);
    assert_eq!(names().iter().filter(|name| name.ends_with(".opening")).count(), 1);
    assert_eq!(ledger::audit(&*world).expect("a ledger").first, first);
    check(&world, &network);
    let rest = ledger::statement(&*world, 1, None, usize::MAX).expect("lines");
    let later: Vec<_> = whole.lines.iter().filter(|line| line.sequence >= first).cloned().collect();
    assert_eq!(rest.lines, later);
    assert!(ledger::read(&*world, first - 1, |_| ControlFlow::Continue(())).is_err(), "it is gone");
    // Nothing goes that a start needs.
    let first = ledger::retain(&*world, u64::MAX).expect("retained");
    let (core, _log) = open(&world).expect("a ledger");
    assert!(first < core.state().sequence() && *core.state() == *network.core.state());
    check(&world, &network);
}

#[test]
fn a_statement_comes_in_parts() {
    let world = Arc::new(World::default());
    let network = long(&world);
    let whole = ledger::statement(&*world, 1, None, usize::MAX).expect("lines");
    let charges = network.charges().count();
    assert_eq!(whole.lines.len(), charges + 1);
    let (mut lines, mut mark) = (Vec::new(), None);
    loop {
        let part = ledger::statement(&*world, 1, mark, 7).expect("lines");
        assert!(part.whole || part.lines.len() == 7);
        lines.extend(part.lines);
        mark = Some(part.next);
        if part.whole {
            break;
        }
    }
    assert_eq!(lines, whole.lines);
    assert_eq!(ledger::statement(&*world, 77, None, 10).expect("nobody").lines, []);
}

#[test]
fn the_ledger_is_read_backwards_as_forwards() {
    let world = Arc::new(World::default());
    let network = long(&world);
    let mut whole = ledger::statement(&*world, 1, None, usize::MAX).expect("lines").lines;
    whole.reverse();
    let newest = Mark { next: network.entries.len() as u64 + 1, balance: network.account().balance };
    let (mut lines, mut mark) = (Vec::new(), newest);
    loop {
        let part = ledger::history(&*world, 1, mark, 7, || true).expect("lines");
        lines.extend(part.lines);
        mark = part.next;
        if part.whole {
            break;
        }
    }
    assert_eq!((lines, mark.balance), (whole, Money::ZERO));
}

#[test]
fn what_happened_in_a_session_is_found() {
    let world = Arc::new(World::default());
    let network = long(&world);
    let end = network.entries.len() as u64 + 1;
    let opened = network.entries.iter().flat_map(|entry| &entry.effects).find_map(|effect| match effect {
        Effect::Opened { session, .. } => Some(session.clone()),
        _ => None,
    });
    let name = opened.expect("some session began");
    let found = ledger::find_session(&*world, &name, end, || true).expect("entries").expect("it began");
    let told = ledger::timeline(&*world, found, usize::MAX, || true).expect("entries");
    let charged = |effect: &&Effect| matches!(effect, Effect::Charged { .. });
    let of = |effect: &Effect| matches!(effect, Effect::Opened { session, .. } if *session == name);
    assert!(told.happened[0].effects.iter().any(of), "{:?}", told.happened[0]);
    let charges = told.happened.iter().flat_map(|happened| &happened.effects).filter(charged).count();
    assert!(charges > 0, "{charges}");
    // In parts it is the same.
    let (mut happened, mut next) = (Vec::new(), Some(found));
    while let Some(from) = next.filter(|(_, from)| *from < end) {
        let part = ledger::timeline(&*world, from, 3, || true).expect("entries");
        happened.extend(part.happened);
        next = part.next;
    }
    assert_eq!(happened, told.happened);
    assert_eq!(ledger::find_session(&*world, "nobody", end, || true).expect("entries"), None);
}

#[test]
fn a_plan_is_tried_from_a_snapshot_on() {
    let world = Arc::new(World::default());
    let network = long(&world);
    let plan = || trunkline_charge::tariff::read("plan", network::PLAN).expect("a plan");
    let all = ledger::Span { from: 0, to: i64::MAX };
    let tried = ledger::try_out(&*world, plan(), all, |_, _| true).expect("entries").expect("it goes on");
    let debited = network.charges().fold(Money::ZERO, |sum, charge| sum.plus(charge.money));
    assert_eq!((tried.tryout.all.was, tried.tryout.all.would), (debited, debited));
    assert_eq!(tried.entries, network.entries.len() as u64);
    // After everything nothing is tried, and little is read.
    let later = ledger::Span { from: NOW + 1_000_000, to: i64::MAX };
    let tried = ledger::try_out(&*world, plan(), later, |_, _| true).expect("entries").expect("it goes on");
    assert_eq!((tried.tryout.all.reports, tried.first), (0, None));
    assert!(tried.entries < network.entries.len() as u64);
}

/// A log with these records.
fn written(records: &[Vec<u8>]) -> Arc<World> {
    let world = Arc::new(World::default());
    let mut log = Log::open(Arc::clone(&world), OPTIONS, |_| Ok(()), |_, _| Ok(())).expect("an empty folder");
    let mut group = Group::new(&OPTIONS);
    records.iter().for_each(|record| group.put(record).expect("room"));
    log.commit(&mut group).expect("a whole disk");
    world
}

fn top_up(sequence: u64) -> Vec<u8> {
    let (account, reason, amount) = (1, MoneyReason::TopUp, Money(1));
    Entry { sequence, at: NOW, effects: vec![Effect::Money { account, reason, amount, note: "".into() }] }.encode()
}

#[test]
fn what_is_no_ledger_of_this_program_is_refused() {
    let refused = |world: &Arc<World>| open(world).map(drop).expect_err("refused").to_string();
    assert_eq!(
        refused(&written(&[top_up(1), top_up(3)])),
        "record 2: it holds entry 3 (00000000000000000001.log, octet 32)"
    );
    let other = refused(&written(&[top_up(1), vec![99]]));
    assert_eq!(other, "record 2: not an entry of this version of the ledger (00000000000000000001.log, octet 32)");
    let text = Box::from("[plan]\nname = \"x\"");
    let plan = Entry { sequence: 1, at: NOW, effects: vec![Effect::Plan { name: "x".into(), text }] };
    let world = written(&[plan.encode()]);
    assert!(refused(&world).starts_with("plan 'x', version 1, is not read by this program:\n  plan:"));
    assert!(matches!(open(&world), Err(Fault::Plan(fault)) if !fault.mistakes.is_empty()));
    // A snapshot of a program that is newer, and one that is cut off.
    for (records, told) in [
        (vec![vec![0, 99, 1]], "record 1: a snapshot of version 99, this program reads 1"),
        (
            network::snapshot(&State::default())[..1].to_vec(),
            "record 1: not a snapshot: records are missing, or too many",
        ),
    ] {
        let world = written(&[top_up(1), top_up(2)]);
        let mut writer = SnapshotWriter::begin(&*world, 1).expect("a file");
        records.iter().for_each(|record| writer.put(record).expect("a record"));
        writer.finish(Keep::All).expect("a snapshot");
        assert!(refused(&world).contains(told.trim_start_matches("record 1: ")), "{}", refused(&world));
    }
}

/// The sums are of the entries, not of the snapshot.
#[test]
fn an_audit_finds_a_snapshot_that_lies() {
    let account = Entry {
        sequence: 1,
        at: NOW,
        effects: vec![Effect::Account { account: 1, plan: trunkline_charge::tariff::Code(0), credit: Money::ZERO }],
    };
    let world = written(&[account.encode(), top_up(2), top_up(3)]);
    assert_eq!(ledger::audit(&*world).expect("a ledger").differences, []);
    let mut lie = State::default();
    lie.fold(&account);
    lie.fold(&Entry { sequence: 2, ..Entry::decode(&top_up(2)).expect("an entry") });
    lie.fold(&Entry { sequence: 2, ..Entry::decode(&top_up(2)).expect("an entry") });
    let mut writer = SnapshotWriter::begin(&*world, 2).expect("a file");
    network::snapshot(&lie).iter().for_each(|record| writer.put(record).expect("a record"));
    writer.finish(Keep::All).expect("a snapshot");
    let found = ledger::audit(&*world).expect("a ledger").differences;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "the balance is 3, its entries are 2");
}
