//! Who pays for which number, read out of a ledger without its sessions: as the core says that has read all of it.

use crate::world;

use core::cell::Cell;
use std::sync::Arc;
use trunkline_charge::account::{Entry, Identity, IdentityKind, MoneyReason, Place, ServiceKey};
use trunkline_charge::ledger::{self, NoPayers, PAYERS_MAX, Span};
use trunkline_charge::money::Money;
use trunkline_charge::session::{Asked, Core, Kind, Limits, Payers, Request};
use trunkline_charge::units::Amounts;
use trunkline_commit::{Group, Options};
use world::World;

const OPTIONS: Options = Options { segment_octets: 64 << 10, waiting_octets: 1 << 20 };
const PLAN: &str = "[plan]\nname = \"standard\"\ncurrency = \"EUR\"\n[allowance.gift]\namount = \"1 MiB\"\n\
    period = \"month\"\n[[version]]\nfrom = \"2026-01-01\"\n\
    rule = [ { name = \"data\", step = \"1 KiB\", price = 1 } ]\n";
const ACCOUNTS: u64 = 3000;
const NOW: i64 = 1_795_132_800;

fn number(of: u64) -> Identity {
    Identity::new(IdentityKind::E164, &format!("33610{of:06}"))
}

/// The first request of a session of who has a number.
fn request(of: u64) -> Request {
    Request {
        session: format!("gw;{of}").into(),
        origin: "gw.example".into(),
        end_to_end: of as u32,
        number: 0,
        kind: Kind::Initial,
        identities: vec![number(of)],
        place: Some(Place::default()),
        services: vec![Asked { key: ServiceKey::default(), requested: Some(Amounts::default()), used: Vec::new() }],
        correlation: Box::default(),
        facts: Box::default(),
    }
}

/// A ledger of accounts with subscribers who were renumbered and renamed, open sessions and answers; half of it stands
/// in a snapshot.
fn ledger() -> (Arc<World>, Core) {
    let world = Arc::new(World::default());
    let (mut core, mut log) = ledger::open(Arc::clone(&world), OPTIONS, Limits::default()).expect("an empty folder");
    let mut commit = |entries: Vec<Entry>| {
        let mut group = Group::new(&OPTIONS);
        entries.iter().for_each(|entry| group.put(&entry.encode()).expect("room"));
        log.commit(&mut group).expect("a whole disk");
    };
    commit(vec![core.set_plan(PLAN, NOW).expect("a plan")]);
    for account in 1..=ACCOUNTS {
        let made = core.set_account(account, "standard", Money(0), NOW).expect("an account");
        let imsi = Identity::new(IdentityKind::Imsi, &format!("00101{account:010}"));
        let known = core.set_subscriber(account, account, vec![imsi, number(account)], NOW).expect("a subscriber");
        let money = core.add_money(account, MoneyReason::TopUp, Money(500), "", NOW).expect("money");
        commit(vec![made, known, money]);
        if account % 10 == 0 {
            commit(core.handle(&request(account), NOW).entry.into_iter().collect());
        }
        if account == ACCOUNTS / 2 {
            assert!(ledger::fold(&*world).expect("a snapshot").entries > 0);
        }
    }
    // Every seventh number goes to the subscriber before it; every ninth subscriber has no number any more.
    for account in (7..=ACCOUNTS).step_by(7) {
        let without = core.set_subscriber(account, account, Vec::new(), NOW).expect("renumbered");
        let other = core.set_subscriber(account - 1, account - 1, vec![number(account)], NOW).expect("renumbered");
        commit(vec![without, other]);
    }
    (world, core)
}

#[test]
fn who_pays_is_what_the_core_says() {
    let (world, core) = ledger();
    let read = ledger::payers(&*world, &[], PAYERS_MAX, &mut || true).expect("a ledger");
    let of_core = Payers::new(core.state().clone());
    for account in 1..=ACCOUNTS + 1 {
        let digits = number(account).text;
        let expected = core.state().payer(&number(account));
        assert_eq!((read.account(&digits), of_core.account(&digits)), (expected, expected), "{digits}");
    }
    let plans = |payers: &Payers| payers.plans().cloned().collect::<Vec<_>>();
    assert_eq!(plans(&read), plans(&of_core));
}

#[test]
fn it_is_bounded_and_ends_when_nobody_waits() {
    let (world, _) = ledger();
    let too_many = ledger::payers(&*world, &[], 100, &mut || true).expect_err("it has more");
    assert_eq!(too_many.to_string(), "the ledger has more than 100 accounts and subscribers");
    let asked = Cell::new(0u32);
    let ended = ledger::payers(&*world, &[], PAYERS_MAX, &mut || asked.replace(asked.get() + 1) < 3);
    assert!(matches!(ended, Err(NoPayers::GivenUp)));
    assert_eq!(asked.get(), 4);
}

#[test]
fn a_try_out_ends_also_while_it_reads_a_snapshot() {
    let (world, _) = ledger();
    let plan = || trunkline_charge::tariff::read("plan", PLAN).expect("a plan");
    let span = Span { from: NOW + 1, to: i64::MAX };
    let told = Cell::new(None);
    let done = ledger::try_out(&*world, plan(), span, |read, _| {
        told.set(told.get().or(Some(read)));
        false
    });
    assert_eq!((done.expect("a ledger"), told.get()), (None, Some(0)), "it was asked before an entry was read");
}
