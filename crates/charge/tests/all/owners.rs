//! Whose a session is: who else asks for it is answered as if it were not there, and changes nothing.

use crate::network;
use network::{NOW, Network, asked};
use trunkline_charge::account::Effect;
use trunkline_charge::money::Money;
use trunkline_charge::session::{Kind, Request, code};
use trunkline_charge::trust::Trust;

const DATA: u32 = 1;

fn of(request: &Request, origin: &str) -> Request {
    Request { origin: origin.into(), ..request.clone() }
}

fn pair() -> Trust {
    let hosts = ["gw.example", "gw2.example"].map(str::to_owned);
    Trust { failover: vec![hosts.to_vec()], ..Trust::default() }
}

/// What a stranger says was used stands as usage of no session, and nothing else is changed.
fn changes_nothing(network: &mut Network, request: &Request) {
    let (account, entries) = (network.account().clone(), network.entries.len());
    let outcome = network.core.handle(request, network.now);
    assert!(outcome.foreign, "{outcome:?}");
    let expected = match request.kind {
        Kind::Update | Kind::Terminate => code::UNKNOWN_SESSION,
        _ => code::UNABLE_TO_COMPLY,
    };
    assert_eq!((outcome.answer.code, outcome.answer.services.len()), (expected, 0));
    outcome.entry.into_iter().for_each(|entry| network.write(entry));
    let effects = network.entries[entries..].iter().flat_map(|entry| &entry.effects);
    for effect in effects {
        assert!(matches!(effect, Effect::Unrated { .. } | Effect::Stray { .. }), "{effect:?}");
    }
    assert_eq!(*network.account(), account);
    network.check();
}

#[test]
fn another_client_neither_updates_nor_ends_a_session() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    let initial = network.request("s", Kind::Initial, 0, vec![asked(DATA, None, Some(0))]);
    network.send(&initial);
    let update = network.request("s", Kind::Update, 1, vec![asked(DATA, Some(50_000), Some(0))]);
    let end = network.request("s", Kind::Terminate, 1, vec![asked(DATA, Some(90_000), None)]);
    for request in [&initial, &update, &end] {
        changes_nothing(&mut network, &of(request, "evil.example"));
    }
    assert_eq!(network.core.state().open_sessions(), 1);
    network.restart();
    // Its owner goes on, with the number that the other one tried.
    let answer = network.send(&update);
    assert_eq!((answer.code, network.account().balance), (code::SUCCESS, Money(1000 - 75)));
    // The answer to a copy is not told to others either, open or closed.
    changes_nothing(&mut network, &of(&update, "evil.example"));
    network.end("s", 2, vec![asked(DATA, Some(10_000), None)]);
    changes_nothing(&mut network, &of(&update, "evil.example"));
    assert_eq!(network.send(&update), answer);
    network.check_from_the_first();
}

/// A client that is told 5002 ends the session all the same (ergw_aaa issue 190): that is 5002 once more, each time.
#[test]
fn what_a_stranger_ends_after_5002_is_still_not_his() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    for number in 1..4 {
        let end = network.request("s", Kind::Terminate, number, vec![asked(DATA, Some(10), None)]);
        changes_nothing(&mut network, &Request { end_to_end: 900 + number, ..of(&end, "evil.example") });
    }
    assert_eq!((network.core.state().unrated(), network.core.state().open_sessions()), (3, 1));
}

/// RFC 6733 section 5.5.4: duplicates are told by Origin-Host and End-to-End Identifier together (python diameter issue
/// 1), so the same identifier of another client is no copy.
#[test]
fn the_same_identifier_of_another_client_is_no_copy() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    let debit = network.request("e", Kind::DirectDebit, 0, vec![asked(DATA, None, Some(1000))]);
    let answer = network.send(&debit);
    assert_eq!(network.send(&debit), answer, "its own copy is");
    changes_nothing(&mut network, &of(&debit, "evil.example"));
    assert_eq!(network.account().balance, Money(1000 - 2));
}

/// The peer's second connection, or the way through an agent, leaves Origin-Host as it is; names know no capitals.
#[test]
fn failover_of_the_same_host_goes_on_as_before() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    let update = network.request("s", Kind::Update, 1, vec![asked(DATA, Some(50_000), Some(0))]);
    assert_eq!(network.send(&of(&update, "GW.Example")).code, code::SUCCESS);
    assert_eq!(network.end("s", 2, vec![]).code, code::SUCCESS);
    network.check_from_the_first();
}

#[test]
fn those_of_a_failover_set_go_on_with_each_others_sessions() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.trust(pair());
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    let update = network.request("s", Kind::Update, 1, vec![asked(DATA, Some(50_000), Some(0))]);
    let answer = network.send(&of(&update, "gw2.example"));
    assert_eq!((answer.code, network.account().balance), (code::SUCCESS, Money(1000 - 75)));
    // What was answered before the failure gets the same answer after it.
    assert_eq!(network.send(&update), answer);
    changes_nothing(&mut network, &of(&update, "gw3.example"));
    network.restart();
    let end = network.request("s", Kind::Terminate, 2, vec![asked(DATA, Some(10_000), None)]);
    assert_eq!(network.send(&of(&end, "gw2.example")).code, code::SUCCESS);
    assert_eq!((network.account().balance, network.account().reserved), (Money(1000 - 90), Money::ZERO));
    network.check_from_the_first();
}

/// Without a set the second gateway's reports are not lost: they stand in the ledger, for people to see.
#[test]
fn usage_that_a_stranger_reports_is_told_as_of_no_session() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    let update = network.request("s", Kind::Update, 1, vec![asked(DATA, Some(50_000), Some(0))]);
    changes_nothing(&mut network, &of(&update, "gw2.example"));
    changes_nothing(&mut network, &of(&update, "gw2.example"));
    assert_eq!(network.core.state().unrated(), 1, "once, however often it comes");
    assert!(network.core.was_stray("gw2.example", update.end_to_end, NOW));
}

/// A gateway by GTP' is its address: it asks from any port, and a client of Diameter cannot say that it is one.
#[test]
fn gateways_by_gtpp_keep_their_sessions_when_their_port_changes() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    let initial = network.request("gtpp;192.0.2.1;a1", Kind::Initial, 0, vec![asked(DATA, None, Some(0))]);
    network.send(&of(&initial, "gtpp:192.0.2.1:3386"));
    let update = network.request("gtpp;192.0.2.1;a1", Kind::Update, 1, vec![asked(DATA, Some(50_000), Some(0))]);
    changes_nothing(&mut network, &of(&update, "pgw.example"));
    changes_nothing(&mut network, &of(&update, "gtpp:192.0.2.2:3386"));
    assert_eq!(network.send(&of(&update, "gtpp:192.0.2.1:40000")).code, code::SUCCESS);
    network.check_from_the_first();
}
