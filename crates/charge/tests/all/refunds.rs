//! Refunds: at most what was debited, to where it came from, once, and only by who may.

use crate::network;
use network::{NOW, Network, asked};
use trunkline_charge::account::{Effect, Entry, Identity, IdentityKind, MoneyReason, Refund, Sums, audit};
use trunkline_charge::money::Money;
use trunkline_charge::session::{
    Answer, Asked, Core, DEBITS_MAX, Kind, Limits, REFUND_KEPT_S, Request, STRAYS_MAX, code,
};
use trunkline_charge::tariff::Code;
use trunkline_charge::trust::Trust;
use trunkline_charge::units::{Amounts, Unit};

const DATA: u32 = 1;
const FREE: u32 = 3;
const CAPPED: u32 = 6;
const BUNDLE: u32 = 9;
const MESSAGE: u32 = 10;
const MINUTES: u32 = 11;

fn trust() -> Trust {
    let of = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
    Trust {
        failover: vec![of(&["gw.example", "gw2.example"])],
        refunds: of(&["gw.example", "shop.example"]),
        ..Trust::default()
    }
}

fn shop(balance: i64) -> Network {
    let mut network = Network::new(Money(balance), Money::ZERO);
    network.trust(trust());
    network
}

fn messages(units: u64) -> Vec<Asked> {
    vec![Asked { requested: Some(Amounts::of(Unit::Events, units)), ..asked(MESSAGE, None, None) }]
}

fn event(network: &mut Network, session: &str, kind: Kind, number: u32, services: Vec<Asked>) -> Answer {
    let request = network.request(session, kind, number, services);
    network.send(&request)
}

fn debit(network: &mut Network, session: &str, units: u64) {
    assert_eq!(event(network, session, Kind::DirectDebit, 0, messages(units)).code, code::SUCCESS);
}

fn refund(network: &mut Network, session: &str, number: u32, units: u64) -> (u32, Option<Money>) {
    let answer = event(network, session, Kind::Refund, number, messages(units));
    (answer.code, answer.cost)
}

/// 100 GiB given back three times to an account that never paid made 3 million EUR.
#[test]
fn what_was_never_debited_is_not_given_back() {
    let mut network = Network::new(Money(0), Money::ZERO);
    let much = || vec![asked(DATA, None, Some(100 << 30))];
    for session in ["r0", "r1", "r2"] {
        assert_eq!(event(&mut network, session, Kind::Refund, 0, much()).code, code::AUTHORIZATION_REJECTED);
    }
    network.trust(trust());
    for session in ["r3", "r4", "r5"] {
        assert_eq!(event(&mut network, session, Kind::Refund, 0, much()).code, code::UNABLE_TO_COMPLY);
    }
    assert_eq!(network.account().balance, Money(0));
    network.check_from_the_first();
}

#[test]
fn a_debit_is_given_back_once_over_copies_and_restarts() {
    let mut network = shop(100);
    debit(&mut network, "e", 3);
    assert_eq!(network.account().balance, Money(70));
    let request = network.request("e", Kind::Refund, 1, messages(3));
    let answer = network.send(&request);
    assert_eq!((answer.code, answer.cost, network.account().balance), (code::SUCCESS, Some(Money(30)), Money(100)));
    // The copy (T flag) after a failure, of the same client at another connection, and after restarts.
    assert_eq!(network.send(&request), answer);
    network.restart();
    assert_eq!(network.send(&request), answer);
    network.store();
    assert_eq!(network.send(&Request { end_to_end: 4711, ..request.clone() }), answer);
    // Another request for the same, and a copy after the answer is forgotten.
    assert_eq!(refund(&mut network, "e", 2, 1), (code::UNABLE_TO_COMPLY, None));
    network.timeout(NOW + 1000);
    assert_eq!(network.core.state().kept_sessions(), 0);
    assert_eq!(network.send(&request).code, code::UNABLE_TO_COMPLY);
    assert_eq!(network.account().balance, Money(100));
    network.store();
    network.check_from_the_first();
}

/// What is left to be given back is the debit and no more (balanced-dashboard issue 1086), in whole minor units that
/// are rounded down (Commerce pull request 15).
#[test]
fn more_than_was_debited_is_never_given_back() {
    for (debited, wanted, back) in [(3, 1, 10), (3, 3, 30), (3, 100, 30), (3, 0, 30), (1, 1_000_000_000, 10)] {
        let mut network = shop(100);
        debit(&mut network, "e", debited);
        let (code, cost) = refund(&mut network, "e", 1, wanted);
        assert_eq!((code, cost), (code::SUCCESS, Some(Money(back))), "{wanted} of {debited}");
        assert_eq!(network.account().balance, Money(100 - 10 * debited as i64 + back));
        assert_eq!(refund(&mut network, "e", 2, 1).0, code::UNABLE_TO_COMPLY, "once, in part or wholly");
        network.check_from_the_first();
    }
    for wanted in 1..=120 {
        let mut network = shop(10_000);
        event(&mut network, "m", Kind::DirectDebit, 0, vec![asked(MINUTES, None, Some(97))]);
        let debited = 10_000 - network.account().balance.0;
        let answer = event(&mut network, "m", Kind::Refund, 1, vec![asked(MINUTES, None, Some(wanted))]);
        let back = answer.cost.unwrap_or_default().0;
        assert_eq!(back, debited * wanted.min(97) as i64 / 97, "{wanted} of {debited}");
        network.check_from_the_first();
    }
}

/// CC-Correlation-Id (RFC 8506 section 8.1): the shop gives back in another session.
#[test]
fn a_correlation_names_the_debit_of_another_session() {
    let mut network = shop(100);
    let with = |request: Request, correlation: &[u8]| Request { correlation: correlation.into(), ..request };
    let request = with(network.request("d", Kind::DirectDebit, 0, messages(2)), b"order 1");
    network.send(&request);
    let wrong = with(network.request("r1", Kind::Refund, 0, messages(2)), b"order 2");
    assert_eq!(network.send(&wrong).code, code::UNABLE_TO_COMPLY);
    let right = with(network.request("r2", Kind::Refund, 0, messages(2)), b"order 1");
    assert_eq!(network.send(&right).cost, Some(Money(20)));
    let again = with(network.request("r3", Kind::Refund, 0, messages(2)), b"order 1");
    assert_eq!(network.send(&again).code, code::UNABLE_TO_COMPLY);
    // An empty one is none: sessions without a correlation have nothing in common.
    debit(&mut network, "d2", 1);
    assert_eq!(refund(&mut network, "r4", 0, 1).0, code::UNABLE_TO_COMPLY);
    assert_eq!(network.account().balance, Money(90));
    network.check_from_the_first();
}

/// Only who is named gives back, and only what it or one of its set debited; no debit, no refund (balanced-ruby issue
/// 146).
#[test]
fn a_refund_is_of_the_client_that_debited() {
    let mut network = shop(100);
    let by = |request: Request, origin: &str| Request { origin: origin.into(), ..request };
    debit(&mut network, "e", 1);
    let request = |network: &Network, session: &str| network.request(session, Kind::Refund, 1, messages(1));
    let not_named = by(request(&network, "e"), "gw2.example");
    assert_eq!(network.send(&not_named).code, code::AUTHORIZATION_REJECTED);
    let others = by(request(&network, "e"), "shop.example");
    assert_eq!(network.send(&others).code, code::UNABLE_TO_COMPLY, "named, and not its debit");
    // What the other one of its set debited it may give back.
    let debited = by(network.request("e2", Kind::DirectDebit, 0, messages(1)), "gw2.example");
    network.send(&debited);
    let back = request(&network, "e2");
    assert_eq!(network.send(&back).cost, Some(Money(10)));
    assert_eq!(network.account().balance, Money(90));
    network.check_from_the_first();
}

/// Units of bundles go back to the bundle that they came from (cgrates issue 320), and not as money.
#[test]
fn bundles_are_given_back_as_units_while_they_are_there() {
    for late in [false, true] {
        let mut network = shop(1000);
        let entry = network.core.buy_allowance(1, "gift", NOW);
        network.entry(entry);
        let gift = |network: &Network| network.account().bucket(Code::of("allowance", "gift")).map(|b| b.left);
        network.initial("s", vec![asked(BUNDLE, None, Some(0))]);
        network.end("s", 1, vec![asked(BUNDLE, Some(70_000), None)]);
        assert_eq!((gift(&network), network.account().balance), (Some(0), Money(980)));
        if late {
            // Its answers are forgotten by then, and what it was debited is not.
            network.timeout(NOW + 6 * 86_400);
            assert_eq!(network.core.state().kept_sessions(), 0);
        }
        let answer = event(&mut network, "s", Kind::Refund, 2, vec![asked(BUNDLE, None, None)]);
        assert_eq!((answer.code, answer.cost), (code::SUCCESS, Some(Money(20))));
        assert_eq!((gift(&network), network.account().balance), (Some(50_000), Money(1000)));
        network.store();
        network.check_from_the_first();
    }
}

/// A bundle that has ended since is not made anew by what comes back.
#[test]
fn units_of_a_bundle_that_has_ended_are_gone() {
    let mut network = shop(1000);
    let entry = network.core.buy_allowance(1, "gift", NOW - 6 * 86_400);
    network.entry(entry);
    network.initial("s", vec![asked(BUNDLE, None, Some(0))]);
    network.end("s", 1, vec![asked(BUNDLE, Some(70_000), None)]);
    network.now += 2 * 86_400;
    let answer = event(&mut network, "s", Kind::Refund, 2, vec![asked(BUNDLE, None, None)]);
    assert_eq!((answer.code, answer.cost, network.account().balance), (code::SUCCESS, Some(Money(20)), Money(1000)));
    assert!(network.account().buckets.iter().all(|bucket| bucket.left == 0));
    network.check_from_the_first();
}

#[test]
fn caps_count_what_was_given_back_no_more() {
    let mut network = shop(1000);
    let spent = |network: &Network| network.account().counter(Code::of("cap", "day"), network.now).0;
    event(&mut network, "c", Kind::DirectDebit, 0, vec![asked(CAPPED, None, Some(50_000))]);
    assert_eq!(spent(&network), 50);
    event(&mut network, "c", Kind::Refund, 1, vec![asked(CAPPED, None, Some(20_000))]);
    assert_eq!((spent(&network), network.account().balance), (30, Money(970)));
    network.check_from_the_first();
}

#[test]
fn another_subscriber_does_not_get_it_and_a_former_account_does() {
    let mut network = shop(100);
    let identity = |digits: &str| vec![Identity::new(IdentityKind::Imsi, digits)];
    let entry = network.core.set_account(2, "test", Money::ZERO, NOW);
    network.entry(entry);
    let entry = network.core.set_subscriber(2, 2, identity("002"), NOW);
    network.entry(entry);
    let with = |request: Request| Request { correlation: (*b"order").into(), ..request };
    let debited = with(network.request("d", Kind::DirectDebit, 0, messages(2)));
    network.send(&debited);
    let thief = Request { identities: identity("002"), ..with(network.request("r", Kind::Refund, 0, messages(2))) };
    assert_eq!(network.send(&thief).code, code::UNABLE_TO_COMPLY);
    // The subscriber is paid for by another account since.
    let entry = network.core.set_subscriber(1, 2, identity("001010000000001"), NOW);
    network.entry(entry);
    let back = with(network.request("r2", Kind::Refund, 0, messages(2)));
    assert_eq!(network.send(&back).cost, Some(Money(20)));
    let balance = |account| network.core.state().account(account).map(|account| account.balance);
    assert_eq!((balance(1), balance(2)), (Some(Money(100)), Some(Money(0))));
    network.check_from_the_first();
}

/// A session is given back when it has ended, service by service or all of it.
#[test]
fn sessions_are_given_back_when_they_have_ended() {
    let mut network = shop(1000);
    network.initial("s", vec![asked(DATA, None, Some(0)), asked(CAPPED, None, Some(0))]);
    network.update("s", 1, vec![asked(DATA, Some(40_000), Some(0)), asked(CAPPED, Some(10_000), None)]);
    assert_eq!(event(&mut network, "s", Kind::Refund, 2, vec![asked(DATA, None, None)]).code, code::UNABLE_TO_COMPLY);
    let request = network.request("r", Kind::Refund, 0, vec![asked(DATA, None, None)]);
    assert_eq!(network.send(&request).code, code::UNABLE_TO_COMPLY);
    network.end("s", 3, vec![asked(DATA, Some(20_000), None)]);
    assert_eq!(network.account().balance, Money(1000 - 90 - 10));
    assert_eq!(event(&mut network, "s", Kind::Refund, 4, vec![asked(DATA, None, None)]).cost, Some(Money(90)));
    // The rest of it, without the name of a service.
    let rest = event(&mut network, "s", Kind::Refund, 5, vec![Asked::default()]);
    assert_eq!((rest.cost, network.account().balance), (Some(Money(10)), Money(1000)));
    network.store();
    network.check_from_the_first();
}

/// What cost nothing is not given back (cgrates pull request 4562: nothing was debited), nor what nobody knows (2123).
#[test]
fn what_cost_nothing_is_no_debit() {
    let mut network = shop(1000);
    network.initial("s", vec![asked(FREE, None, Some(0))]);
    network.end("s", 1, vec![asked(FREE, Some(7000), None)]);
    for group in [FREE, DATA, 99] {
        let answer = event(&mut network, "s", Kind::Refund, 1 + group, vec![asked(group, None, Some(1000))]);
        assert_eq!((answer.code, answer.cost), (code::UNABLE_TO_COMPLY, None));
    }
    assert_eq!(network.account().balance, Money(1000));
    network.check_from_the_first();
}

/// Ledgers of older versions say of no session that it can be given back, and have refunds that name no debit: they are
/// read, what they say stands, and nothing more is given back of it.
#[test]
fn ledgers_of_older_versions_are_read() {
    let mut network = Network::new(Money(100), Money::ZERO);
    debit(&mut network, "e", 3);
    let entry = network.core.add_money(1, MoneyReason::Refund, Money(30), "message", NOW);
    network.entry(entry);
    network.trust(trust());
    network.restart();
    assert_eq!(refund(&mut network, "e", 1, 3).0, code::UNABLE_TO_COMPLY);
    assert_eq!(network.account().balance, Money(100));
    let mut sums = Sums::default();
    network.entries.iter().for_each(|entry| sums.add(entry));
    assert_eq!((sums.untied(), sums.differences(network.core.state())), ((1, Money(30)), vec![]));
}

#[test]
fn what_can_be_given_back_is_bounded_by_time_and_number() {
    let mut network = shop(100);
    debit(&mut network, "e", 1);
    network.timeout(NOW + REFUND_KEPT_S);
    network.now = NOW + 300 + REFUND_KEPT_S;
    assert_eq!(refund(&mut network, "e", 1, 1).0, code::UNABLE_TO_COMPLY);
    let more = DEBITS_MAX as u32 + 10;
    let mut core = network.core.clone();
    let entry = core.add_money(1, MoneyReason::TopUp, Money(i64::from(more) * 10), "", network.now);
    assert!(entry.is_ok());
    for number in 0..more {
        let mut request = network.request(&format!("many {number}"), Kind::DirectDebit, 0, messages(1));
        request.end_to_end = number;
        assert_eq!(core.handle(&request, network.now).answer.code, code::SUCCESS);
    }
    let state = core.state();
    // The first one is over by now.
    assert_eq!((state.debits().count(), state.debits_forgotten()), (DEBITS_MAX, 10));
    let ask = |core: &mut Core, session: &str| {
        core.handle(&network.request(session, Kind::Refund, 1, messages(1)), network.now).answer.code
    };
    assert_eq!(ask(&mut core, "many 9"), code::UNABLE_TO_COMPLY);
    assert_eq!(ask(&mut core, "many 10"), code::SUCCESS);
}

/// The audit knows by itself what was debited.
#[test]
fn the_audit_finds_refunds_that_are_wrong() {
    let mut network = shop(100);
    let entry = network.core.set_account(2, "test", Money::ZERO, NOW);
    network.entry(entry);
    debit(&mut network, "e", 3);
    let begun = network.entries.len() as u64;
    refund(&mut network, "e", 1, 1);
    assert_eq!(audit(&network.entries, network.core.state()), []);
    let right = network.entries.iter().flat_map(|entry| &entry.effects).find_map(|effect| match effect {
        Effect::Refunded { refund, .. } => Some(refund.clone()),
        _ => None,
    });
    let right = right.expect("a refund");
    assert_eq!((right.debit, right.money), (begun, Money(10)));
    let wrong = [
        (right.clone(), true, "a second time"),
        (Refund { money: Money(31), ..right.clone() }, false, "of 30 that were debited"),
        (Refund { debit: begun + 1, ..right.clone() }, false, "debited nothing"),
        (Refund { service: asked(99, None, None).key, ..right.clone() }, false, "debited nothing"),
        (Refund { account: 2, ..right.clone() }, false, "that account 1 paid"),
        (Refund { taken: vec![(Code::of("allowance", "gift"), 5)], ..right.clone() }, false, "5 units of allowance"),
    ];
    for (refund, after, what) in wrong {
        let keeps = if after { network.entries.len() } else { begun as usize };
        let mut entries: Vec<Entry> = network.entries[..keeps].to_vec();
        let (session, origin) = ("e".into(), "gw.example".into());
        let effects = vec![Effect::Refunded { slot: 0, session, origin, subscriber: 1, refund }];
        entries.push(Entry { sequence: keeps as u64 + 1, at: NOW, effects });
        let mut core = Core::new(Limits::default());
        entries.iter().try_for_each(|entry| core.apply(entry)).expect("plans that were read before");
        let found = audit(&entries, core.state());
        assert!(found.iter().any(|one| one.what.contains(what)), "{what}: {found:?}");
    }
}

/// Requests to give back are no usage: a flood of them writes nothing that fills a table of strays.
#[test]
fn refused_refunds_write_nothing() {
    let mut network = shop(100);
    let entries = network.entries.len();
    for number in 0..2 * STRAYS_MAX as u32 {
        let request = network.request("x", Kind::Refund, number, messages(1));
        let answer = network.core.handle(&Request { origin: "evil.example".into(), ..request }, NOW);
        assert_eq!((answer.answer.code, answer.entry), (code::AUTHORIZATION_REJECTED, None));
    }
    assert_eq!(network.entries.len(), entries);
    network.check();
}
