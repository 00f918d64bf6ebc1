//! Credit-control sessions: each result code, each way in which a request comes twice or late.

use crate::network;
use network::{NOW, Network, asked};
use trunkline_charge::account::{Effect, Identity, IdentityKind, MoneyReason, audit};
use trunkline_charge::money::Money;
use trunkline_charge::session::{Action, Asked, Core, KEPT_MAX, Kind, Limits, Refused, Request, Side, Used, code};
use trunkline_charge::units::{Amounts, Unit};

const DATA: u32 = 1;
const VOICE: u32 = 2;
const FREE: u32 = 3;
const BLOCKED: u32 = 4;
const PORTAL: u32 = 5;
const CAPPED: u32 = 6;
const POOL_A: u32 = 7;
const POOL_B: u32 = 8;
const BUNDLE: u32 = 9;

#[test]
fn each_service_has_a_result_of_its_own() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    let wanted = [DATA, FREE, BLOCKED, 99].map(|group| asked(group, None, Some(0)));
    let answer = network.initial("s", wanted.to_vec());
    let codes: Vec<u32> = answer.services.iter().map(|given| given.code).collect();
    assert_eq!(answer.code, code::SUCCESS);
    assert_eq!(codes, [code::SUCCESS, code::NOT_APPLICABLE, code::SERVICE_DENIED, code::RATING_FAILED]);
    let given = &answer.services[0];
    assert_eq!((given.granted, given.validity), (Some((Unit::Octets, 100_000)), Some(600)));
    assert_eq!((given.holding, given.threshold), (Some(60), Some(20_000)));
    // 100 steps of 1,000 octets at 1.5.
    assert_eq!(network.account().reserved, Money(150));
    network.check();
}

#[test]
fn who_is_unknown_and_what_is_beyond_limits() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    let mut request = network.request("s", Kind::Initial, 0, vec![asked(DATA, None, Some(0))]);
    request.identities = vec![Identity::new(IdentityKind::Imsi, "999")];
    assert_eq!(network.send(&request).code, code::USER_UNKNOWN);
    let request = network.request("s", Kind::Update, 1, vec![asked(DATA, Some(500), None)]);
    assert_eq!(network.send(&request).code, code::UNKNOWN_SESSION);
    assert_eq!(network.core.state().unrated(), 1, "usage of no session is told");
    let request = network.request("s", Kind::Initial, 0, vec![asked(DATA, Some(u64::MAX), None)]);
    assert_eq!(network.send(&request).code, code::INVALID_VALUE);
    let request = network.request(&"s".repeat(1000), Kind::Initial, 0, vec![]);
    assert_eq!(network.send(&request).code, code::INVALID_VALUE);
    assert_eq!(network.core.state().open_sessions(), 0);
}

#[test]
fn a_copy_gets_the_same_answer_and_is_not_charged() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    let initial = network.request("s", Kind::Initial, 0, vec![asked(DATA, None, Some(0))]);
    let first = network.core.handle(&initial, NOW);
    let copy = network.core.handle(&initial, NOW + 3);
    assert_eq!((&copy.answer, copy.entry, copy.after), (&first.answer, None, first.after));
    first.entry.into_iter().for_each(|entry| network.write(entry));
    let update = network.request("s", Kind::Update, 1, vec![asked(DATA, Some(50_000), Some(0))]);
    let answer = network.send(&update);
    let balance = network.account().balance;
    assert_eq!(balance, Money(1000 - 75));
    // From another connection, with another End-to-End Identifier, after a restart, after the end.
    let mut other = update.clone();
    other.end_to_end += 1000;
    network.restart();
    assert_eq!(network.send(&other), answer);
    let end = network.request("s", Kind::Terminate, 2, vec![asked(DATA, Some(10_000), None)]);
    let ended = network.send(&end);
    assert_eq!((network.send(&end), network.send(&update)), (ended, answer));
    assert_eq!(network.send(&initial), first.answer);
    assert_eq!(network.account().balance, Money(1000 - 90));
    assert_eq!(network.account().reserved, Money::ZERO);
    network.check();
}

#[test]
fn so_many_answers_are_kept_and_no_more() {
    let mut network = Network::new(Money(100_000), Money::ZERO);
    let initial = network.request("s", Kind::Initial, 0, vec![asked(DATA, None, Some(0))]);
    let first = network.send(&initial);
    for number in 1..KEPT_MAX as u32 {
        assert_eq!(network.send(&initial), first);
        let update = network.request("s", Kind::Update, number, vec![asked(DATA, Some(1000), Some(0))]);
        assert_eq!(network.send(&update).code, code::SUCCESS);
    }
    assert_eq!(network.send(&initial), first);
    let update = network.request("s", Kind::Update, KEPT_MAX as u32, vec![asked(DATA, Some(1000), Some(0))]);
    assert_eq!(network.send(&update).code, code::SUCCESS);
    let balance = network.account().balance;
    assert_eq!(network.send(&initial).code, code::UNABLE_TO_COMPLY);
    assert_eq!(network.account().balance, balance);
}

#[test]
fn a_number_with_another_content_changes_nothing() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    let before = network.core.state().clone();
    let mut other = network.request("s", Kind::Initial, 0, vec![asked(VOICE, None, Some(0))]);
    other.end_to_end = 777;
    assert_eq!(network.send(&other).code, code::UNABLE_TO_COMPLY);
    assert_eq!(*network.core.state(), before);
}

#[test]
fn what_is_late_is_charged_and_granted_nothing() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    network.update("s", 2, vec![asked(DATA, Some(10_000), Some(0))]);
    let reserved = network.account().reserved;
    let late = network.update("s", 1, vec![asked(DATA, Some(20_000), Some(0))]);
    assert_eq!((late.services[0].code, late.services[0].granted), (code::SUCCESS, None));
    assert_eq!(network.account().balance, Money(1000 - 15 - 30));
    assert_eq!(network.account().reserved, reserved);
    for number in 3..20 {
        network.update("s", number, vec![asked(DATA, None, Some(0))]);
    }
    // Its answer is not kept any more: it is not charged a second time.
    let again = network.update("s", 1, vec![asked(DATA, Some(20_000), Some(0))]);
    assert_eq!(again.code, code::UNABLE_TO_COMPLY);
    assert_eq!(network.account().balance, Money(1000 - 15 - 30));
    network.check();
}

#[test]
fn tranches_shrink_and_the_last_units_are_told() {
    let mut network = Network::new(Money(40), Money::ZERO);
    let answer = network.initial("s", vec![asked(PORTAL, None, Some(0))]);
    // Half of the balance at 1 a step of 1,000 octets.
    assert_eq!(answer.services[0].granted, Some((Unit::Octets, 20_000)));
    let mut number = 1;
    let mut granted = 20_000;
    let last = loop {
        let answer = network.update("s", number, vec![asked(PORTAL, Some(granted), Some(0))]);
        number += 1;
        granted = answer.services[0].granted.expect("a grant").1;
        if let Some(last) = answer.services[0].last.clone() {
            break last;
        }
        assert!(granted > 0 && number < 20);
    };
    assert_eq!((last.action, &*last.redirect), (Action::Redirect, "http://portal.example/"));
    let answer = network.update("s", number, vec![asked(PORTAL, Some(granted), Some(0))]);
    assert_eq!((answer.services[0].granted, answer.services[0].validity), (Some((Unit::Octets, 0)), Some(600)));
    assert_eq!(network.account().balance, Money::ZERO);
    assert!(network.core.poll().is_none());
    network.top_up(100);
    assert_eq!(network.core.poll().map(|push| (push.session, push.abort)), Some(("s".into(), false)));
    let answer = network.update("s", number + 1, vec![asked(PORTAL, None, Some(0))]);
    assert_eq!(answer.services[0].granted, Some((Unit::Octets, 50_000)));
    network.check();
}

#[test]
fn without_credit_a_session_that_terminates_is_refused() {
    let mut network = Network::new(Money::ZERO, Money::ZERO);
    let answer = network.initial("s", vec![asked(DATA, None, Some(0))]);
    assert_eq!((answer.code, answer.services[0].code), (code::SUCCESS, code::LIMIT_REACHED));
    let mut postpaid = Network::new(Money::ZERO, Money(75));
    postpaid.initial("s", vec![asked(DATA, None, Some(0))]);
    postpaid.end("s", 1, vec![asked(DATA, Some(1_000_000), None)]);
    assert_eq!(postpaid.account().balance, Money(-75), "as far as the credit limit");
    let short: i64 = postpaid.charges().map(|charge| charge.short.0).sum();
    assert_eq!(short, 1500 - 75);
    postpaid.check();
}

#[test]
fn several_sessions_share_a_balance() {
    let mut network = Network::new(Money(150), Money::ZERO);
    let mut granted = Vec::new();
    for session in ["a", "b", "c", "d", "e"] {
        let answer = network.initial(session, vec![asked(DATA, None, Some(0))]);
        granted.push(answer.services[0].granted.map_or(0, |granted| granted.1));
        network.check();
    }
    assert!(granted.iter().all(|granted| *granted > 0), "{granted:?}");
    for (session, granted) in ["a", "b", "c", "d", "e"].into_iter().zip(granted) {
        network.end(session, 1, vec![asked(DATA, Some(granted), None)]);
    }
    assert_eq!(network.charges().map(|charge| charge.short.0).sum::<i64>(), 0);
    network.check();
}

#[test]
fn subscribers_of_a_group_share_a_balance() {
    let mut network = Network::new(Money(100), Money::ZERO);
    let other = Identity::new(IdentityKind::E164, "33600000002");
    let entry = network.core.set_subscriber(2, 1, vec![other.clone()], network.now);
    network.entry(entry);
    network.initial("a", vec![asked(DATA, None, Some(0))]);
    let mut request = network.request("b", Kind::Initial, 0, vec![asked(DATA, None, Some(0))]);
    request.identities = vec![other];
    // Half of what the first left: 25 pay for 16 steps at 1.5.
    assert_eq!(network.send(&request).services[0].granted, Some((Unit::Octets, 16_000)));
    assert_eq!(network.core.set_subscriber(2, 1, vec![], network.now).map(|entry| entry.effects.len()), Ok(1));
    let entry = network.core.set_account(2, "test", Money::ZERO, network.now);
    assert!(entry.is_ok());
    assert_eq!(network.core.set_subscriber(2, 2, vec![], network.now), Err(Refused::SessionsOpen));
}

#[test]
fn a_change_of_the_price_is_told_and_split() {
    let mut network = Network::new(Money(10_000), Money::ZERO);
    // Five minutes before 18:00: peak costs 2 a second, off-peak 1.
    network.now = NOW + 8 * 3600 - 300;
    let answer = network.initial("s", vec![asked(VOICE, None, Some(0))]);
    let given = &answer.services[0];
    assert_eq!((given.change, given.granted), (Some(NOW + 8 * 3600), Some((Unit::Seconds, 600))));
    assert_eq!(network.account().reserved, Money(1200));
    network.now += 600;
    let used = |seconds, side| Used { amounts: Amounts::of(Unit::Seconds, seconds), side: Some(side) };
    let report = Asked { used: vec![used(100, Side::Before), used(50, Side::After)], ..asked(VOICE, None, Some(0)) };
    network.update("s", 1, vec![report]);
    assert_eq!(network.account().balance, Money(10_000 - 250));
    // Without a split the seconds are shared by time: 600 of them, all of them now off-peak.
    network.now += 600;
    network.end("s", 2, vec![asked(VOICE, Some(600), None)]);
    assert_eq!(network.account().balance, Money(10_000 - 250 - 600));
    network.check();
}

#[test]
fn usage_began_with_its_grant() {
    let mut network = Network::new(Money(10_000), Money::ZERO);
    // Half an hour before 18:00 nothing is used; what is granted after it is used after it.
    network.now = NOW + 8 * 3600 - 1800;
    network.initial("s", vec![asked(VOICE, None, Some(0))]);
    network.now += 3600;
    network.update("s", 1, vec![asked(VOICE, None, Some(0))]);
    network.now += 600;
    network.end("s", 2, vec![asked(VOICE, Some(600), None)]);
    assert_eq!(network.account().balance, Money(10_000 - 600));
    network.check();
}

#[test]
fn bundles_pay_first_come_again_and_expire() {
    let mut network = Network::new(Money(10), Money::ZERO);
    let entry = network.core.buy_allowance(1, "gift", network.now);
    network.entry(entry);
    let entry = network.core.buy_allowance(1, "monthly", network.now);
    network.entry(entry);
    let answer = network.initial("s", vec![asked(BUNDLE, None, Some(0))]);
    assert_eq!(answer.services[0].granted, Some((Unit::Octets, 100_000)));
    assert_eq!(network.account().reserved, Money::ZERO);
    network.end("s", 1, vec![asked(BUNDLE, Some(60_000), None)]);
    // The gift, 50,000, is used first.
    let left: Vec<u64> = network.account().buckets.iter().map(|bucket| bucket.left).collect();
    assert_eq!(left, [0, 190_000]);
    network.check();
    // The next month: 100,000 of what was left are taken over.
    network.now += 40 * 86_400;
    network.initial("t", vec![asked(BUNDLE, None, Some(0))]);
    let left: Vec<u64> = network.account().buckets.iter().map(|bucket| bucket.left).collect();
    assert_eq!(left, [300_000]);
    network.check();
    assert_eq!(network.core.buy_allowance(1, "none", network.now), Err(Refused::NoAllowance));
}

#[test]
fn caps_block_or_throttle() {
    let mut network = Network::new(Money(10_000), Money::ZERO);
    let answer = network.initial("s", vec![asked(CAPPED, None, Some(0))]);
    assert!(!answer.services[0].throttled);
    let answer = network.update("s", 1, vec![asked(CAPPED, Some(500_000), Some(0))]);
    assert_eq!(network.account().balance, Money(10_000 - 300), "the cap is what is charged");
    assert_eq!((answer.services[0].throttled, answer.services[0].granted), (true, Some((Unit::Octets, 100_000))));
    assert_eq!(network.account().reserved, Money::ZERO);
    // The next day it is charged again.
    network.now += 86_400;
    network.end("s", 2, vec![asked(CAPPED, Some(1000), None)]);
    network.initial("t", vec![asked(CAPPED, None, Some(0))]);
    assert!(network.account().reserved > Money::ZERO);
    network.check();
}

#[test]
fn a_cap_begins_anew_with_its_period() {
    let mut network = Network::new(Money(10_000), Money::ZERO);
    for day in 0..3 {
        for (used, charged) in [(200_000, 200), (200_000, 100), (200_000, 0)] {
            let before = network.account().balance;
            let name = format!("{day} {charged}");
            network.initial(&name, vec![asked(CAPPED, None, Some(0))]);
            network.end(&name, 1, vec![asked(CAPPED, Some(used), None)]);
            assert_eq!(before.minus(network.account().balance), Money(charged), "{name}");
        }
        network.now += 86_400;
    }
    network.check();
}

#[test]
fn a_cap_that_blocks_is_shared_by_sessions() {
    let mut network = Network::new(Money(10_000), Money::ZERO);
    // Each reserves half of what the cap still leaves.
    for (session, granted) in [("a", 50_000), ("b", 25_000), ("c", 12_000)] {
        let answer = network.initial(session, vec![asked(13, None, Some(0))]);
        assert_eq!(answer.services[0].granted, Some((Unit::Octets, granted)), "{session}");
        network.check();
    }
    network.end("a", 1, vec![asked(13, Some(50_000), None)]);
    network.end("b", 1, vec![asked(13, Some(50_000), None)]);
    assert_eq!(network.account().balance, Money(10_000 - 88), "what the third reserves is left");
    network.end("c", 1, vec![asked(13, Some(50_000), None)]);
    assert_eq!(network.account().balance, Money(10_000 - 100), "never more than the cap");
    let answer = network.initial("d", vec![asked(13, None, Some(0))]);
    assert_eq!(answer.services[0].code, code::LIMIT_REACHED);
    network.now += 86_400;
    let answer = network.update("d", 1, vec![asked(13, None, Some(0))]);
    assert_eq!(answer.services[0].granted, Some((Unit::Octets, 50_000)));
    network.check();
}

#[test]
fn tiers_go_by_the_counter_of_their_period() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    // The dearest tier is reserved: another session may not have moved the counter.
    network.initial("a", vec![asked(12, None, Some(0))]);
    assert_eq!(network.account().reserved, Money(100));
    for (name, charged) in [("a", 100), ("b", 50), ("c", 50)] {
        let before = network.account().balance;
        if name != "a" {
            network.initial(name, vec![asked(12, None, Some(0))]);
        }
        network.end(name, 1, vec![asked(12, Some(100_000), None)]);
        assert_eq!(before.minus(network.account().balance), Money(charged), "{name}");
    }
    network.now += 40 * 86_400;
    let before = network.account().balance;
    network.initial("d", vec![asked(12, None, Some(0))]);
    network.end("d", 1, vec![asked(12, Some(150_000), None)]);
    assert_eq!(before.minus(network.account().balance), Money(100 + 25));
    network.check();
}

#[test]
fn services_of_a_pool_use_what_others_reserved() {
    let mut network = Network::new(Money(400), Money::ZERO);
    let answer = network.initial("s", vec![asked(POOL_A, None, Some(0)), asked(POOL_B, None, Some(0))]);
    let units: Vec<u64> = answer.services.iter().map(|given| given.granted.map_or(0, |granted| granted.1)).collect();
    assert_eq!(answer.services[0].pool, Some((1, (1_000_000_000, -12))));
    assert_eq!(answer.services[1].pool, Some((1, (2_000_000_000, -12))));
    network.check();
    // The first uses its own units and half of the worth of the other's.
    let used = units[0] + units[1];
    network.update("s", 1, vec![asked(POOL_A, Some(used), None)]);
    assert_eq!(network.account().balance, Money(400 - used.div_ceil(1000) as i64));
    network.check();
    network.end("s", 2, vec![asked(POOL_B, Some(units[1] / 2), None)]);
    assert_eq!(network.charges().map(|charge| charge.short.0).sum::<i64>(), 0);
    network.check();
}

#[test]
fn events_are_debited_priced_and_checked() {
    let mut network = Network::new(Money(25), Money::ZERO);
    let event = |network: &mut Network, name: &str, kind, units| {
        let asked = Asked { requested: Some(Amounts::of(Unit::Events, units)), ..asked(10, None, None) };
        let request = network.request(name, kind, 0, vec![asked]);
        let answer = network.send(&request);
        assert_eq!(network.send(&request), answer, "a copy");
        answer
    };
    assert_eq!(event(&mut network, "p", Kind::PriceEnquiry, 3).cost, Some(Money(30)));
    assert_eq!(event(&mut network, "c", Kind::CheckBalance, 3).enough, Some(false));
    assert_eq!(event(&mut network, "d", Kind::CheckBalance, 2).enough, Some(true));
    assert_eq!(event(&mut network, "e", Kind::DirectDebit, 2).code, code::SUCCESS);
    assert_eq!(network.account().balance, Money(5));
    assert_eq!(event(&mut network, "f", Kind::DirectDebit, 1).code, code::LIMIT_REACHED);
    assert_eq!(event(&mut network, "g", Kind::Refund, 1).code, code::AUTHORIZATION_REJECTED);
    assert_eq!(network.account().balance, Money(5));
    assert_eq!(network.core.state().open_sessions(), 0);
    network.check();
}

#[test]
fn a_session_of_which_nothing_comes_gives_back_what_it_reserved() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    assert_eq!(network.core.next_timeout(), Some(NOW + 1200));
    assert_eq!(network.core.handle_timeout(NOW + 1199), None);
    network.timeout(NOW + 1200);
    assert_eq!((network.account().reserved, network.core.state().open_sessions()), (Money::ZERO, 0));
    network.now = NOW + 1210;
    let end = network.end("s", 1, vec![asked(DATA, Some(1000), None)]);
    assert_eq!((end.code, network.core.state().unrated()), (code::UNKNOWN_SESSION, 1));
    network.timeout(NOW + 1200 + 300);
    assert_eq!(network.core.next_timeout(), None, "its answers are forgotten");
    network.check();
}

#[test]
fn an_aborted_session_is_granted_nothing_and_charged_to_its_end() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    let entry = network.core.abort("s", network.now);
    network.entry(entry);
    assert_eq!(network.core.poll().map(|push| push.abort), Some(true));
    let answer = network.update("s", 1, vec![asked(DATA, Some(10_000), Some(0))]);
    assert_eq!(answer.services[0].code, code::SERVICE_DENIED);
    network.end("s", 2, vec![asked(DATA, Some(10_000), None)]);
    assert_eq!(network.account().balance, Money(1000 - 30));
    assert_eq!(network.core.abort("s", network.now), Err(Refused::NoSession));
    network.check();
}

#[test]
fn a_new_plan_asks_open_sessions_to_come_again() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    network.set_plan(network::PLAN);
    assert_eq!(network.core.poll().map(|push| push.origin), Some("gw.example".into()));
    assert_eq!(network.core.poll(), None);
}

/// A tariff holds as soon as it is set, and a start reads it out of the ledger.
#[test]
fn plans_are_part_of_the_ledger() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    let told = |network: &Network| {
        let plans = network.core.plans().map(|plan| (plan.name.to_string(), plan.version, plan.since));
        plans.collect::<Vec<_>>()
    };
    assert_eq!(told(&network), [("test".to_owned(), 1, 1)]);
    let dearer = network::PLAN.replace("\"1.5\"", "3");
    network.set_plan(&dearer);
    assert_eq!(told(&network), [("test".to_owned(), 2, network.core.state().sequence())]);
    network.restart();
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    network.end("s", 1, vec![asked(DATA, Some(10_000), None)]);
    assert_eq!(network.account().balance, Money(1000 - 30));
    let mistakes = network.core.set_plan("[plan]\nname = 1", NOW).expect_err("no plan");
    assert!(mistakes.len() > 1, "{mistakes:?}");
    let long = network::PLAN.replace("\"test\"", &format!("\"{}\"", "x".repeat(300)));
    assert!(network.core.set_plan(&long, NOW).is_err());
    // A program that reads other plans says so, and does not go on.
    let (mut core, mut entry) = (Core::new(Limits::default()), network.entries[0].clone());
    entry.effects = vec![Effect::Plan { name: "old".into(), text: "[plan]\ncurrency = \"euro\"".into() }];
    let fault = core.apply(&entry).expect_err("not read").to_string();
    assert!(fault.starts_with("plan 'old', version 1, is not read by this program:\n  plan:"), "{fault}");
    assert!(Core::of(core.state().clone(), Limits::default()).is_err());
    // A text that another one replaced is of no matter.
    let mut state = core.state().clone();
    let text = network::PLAN.replace("\"test\"", "\"old\"");
    entry.effects = vec![Effect::Plan { name: "old".into(), text: text.into() }];
    state.fold(&entry);
    assert!(Core::of(state, Limits::default()).is_ok_and(|core| core.plan("old").is_some()));
}

#[test]
fn usage_of_no_session_is_told_once() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    let request = network.request("gone", Kind::Update, 3, vec![asked(DATA, Some(500), None)]);
    assert_eq!(network.send(&request).code, code::UNKNOWN_SESSION);
    let entries = network.entries.len();
    let copy = network.core.handle(&request, NOW + 100);
    assert_eq!((copy.answer.code, copy.entry, copy.after), (code::UNKNOWN_SESSION, None, entries as u64));
    network.restart();
    assert_eq!(network.send(&request).code, code::UNKNOWN_SESSION);
    assert_eq!((network.core.state().unrated(), network.entries.len()), (1, entries));
    // Others are others, and identifiers come again.
    network.send(&Request { origin: "other.example".into(), ..request.clone() });
    network.now = NOW + 301;
    network.send(&request);
    assert_eq!(network.core.state().unrated(), 3);
    for end_to_end in 0..2000 {
        network.send(&Request { end_to_end: 10_000 + end_to_end, ..request.clone() });
    }
    network.send(&request);
    assert_eq!(network.core.state().unrated(), 3 + 2000 + 1, "the newest are remembered");
    network.check_from_the_first();
}

/// RFC 8506 section 9.1: the service may be given, and needs no credit control.
#[test]
fn free_usage_costs_nothing_and_stands_in_the_ledger() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    let answer = network.initial("s", vec![asked(FREE, None, Some(0)), asked(DATA, None, Some(0))]);
    let given = &answer.services[0];
    assert_eq!((answer.code, given.code), (code::SUCCESS, code::NOT_APPLICABLE));
    assert_eq!((given.granted, given.validity, given.last.clone()), (None, None, None));
    assert_eq!(answer.services[1].code, code::SUCCESS, "the others go on");
    let answer = network.update("s", 1, vec![asked(FREE, Some(7000), Some(0))]);
    assert_eq!(answer.services[0].code, code::NOT_APPLICABLE);
    network.end("s", 2, vec![asked(FREE, Some(500), None), asked(DATA, Some(1000), None)]);
    let charges: Vec<_> = network.charges().map(|charge| (charge.units, charge.used.seconds, charge.money.0)).collect();
    assert_eq!(charges, [(7000, 7000, 0), (500, 500, 0), (1000, 1000, 2)]);
    assert_eq!(network.account().balance, Money(998));
    network.check();
}

#[test]
fn the_ledger_tells_what_records_of_usage_need() {
    let mut network = Network::new(Money(100_000), Money::ZERO);
    let facts: Box<[u8]> = [7; 100].into();
    let request = network.request("s", Kind::Initial, 0, vec![asked(VOICE, None, Some(0))]);
    let long = Request { facts: [7; 5000].into(), ..request.clone() };
    assert_eq!(network.send(&long).code, code::INVALID_VALUE);
    let answer = network.send(&Request { facts: facts.clone(), ..request.clone() });
    assert_eq!(network.send(&request), answer, "facts are nothing that is asked");
    let opened = network.entries.iter().flat_map(|entry| &entry.effects).find_map(|effect| match effect {
        Effect::Opened { facts, .. } => Some(facts.clone()),
        _ => None,
    });
    assert_eq!(opened, Some(facts));
    // Nine hours over the change of the price at 18:00: two charges, and the report stands in the first.
    network.now += 9 * 3600;
    network.end("s", 1, vec![asked(VOICE, Some(9 * 3600), None)]);
    let charges: Vec<_> = network.charges().map(|charge| (charge.units, charge.used.seconds)).collect();
    assert_eq!(charges, [(8 * 3600, 9 * 3600), (3600, 0)]);
    network.check();
}

#[test]
fn operators_cannot_take_what_is_reserved() {
    let mut network = Network::new(Money(200), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    let take = |core: &mut trunkline_charge::session::Core, amount| {
        core.add_money(1, MoneyReason::Adjustment, Money(amount), "wrong top-up", NOW)
    };
    let free = 200 - network.account().reserved.0;
    assert_eq!(take(&mut network.core, -free - 1), Err(Refused::NotThere));
    let entry = take(&mut network.core, -free);
    network.entry(entry);
    network.check();
    assert_eq!(network.core.add_money(2, MoneyReason::TopUp, Money(1), "", NOW), Err(Refused::NoAccount));
    assert_eq!(network.core.add_money(1, MoneyReason::TopUp, Money(-1), "", NOW), Err(Refused::TooMuch));
    let taken = vec![Identity::new(IdentityKind::Imsi, "001010000000001")];
    assert_eq!(network.core.set_subscriber(9, 1, taken, NOW), Err(Refused::IdentityTaken));
}

#[test]
fn a_full_core_is_too_busy() {
    let mut network = Network::of(Limits { sessions: 2, ..Limits::default() }, Money(1000), Money::ZERO);
    for (session, told) in [("a", code::SUCCESS), ("b", code::SUCCESS), ("c", code::TOO_BUSY)] {
        assert_eq!(network.initial(session, vec![asked(DATA, None, Some(0))]).code, told);
    }
    network.end("a", 1, vec![]);
    network.timeout(NOW + 301);
    assert_eq!(network.initial("d", vec![]).code, code::SUCCESS);
}

#[test]
fn the_audit_finds_what_is_missing() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    network.end("s", 1, vec![asked(DATA, Some(10_000), None)]);
    let without = network
        .entries
        .iter()
        .filter(|entry| !entry.effects.iter().any(|effect| matches!(effect, Effect::Charged { .. })));
    let found = audit(without, network.core.state());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].what, "the balance is 985, its entries are 1000");
}

/// What is told of an entry, for other programs.
#[test]
fn entries_are_told_as_json_without_loss() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    network.end("s", 1, vec![asked(DATA, Some(10_000), None)]);
    for entry in &network.entries {
        let text = serde_json::to_string(entry).expect("text");
        assert_eq!(serde_json::from_str::<trunkline_charge::account::Entry>(&text).expect("an entry"), *entry);
    }
}

/// Octets that were broken on the disk are refused or another entry, and never more than that.
#[test]
fn broken_octets_are_no_entry() {
    let mut network = Network::new(Money(1000), Money::ZERO);
    network.initial("s", vec![asked(DATA, None, Some(0))]);
    let octets = network.entries.last().expect("an entry").encode();
    for at in 0..octets.len() {
        assert!(trunkline_charge::account::Entry::decode(&octets[..at]).is_err(), "cut at {at}");
        let mut broken = octets.clone();
        broken[at] ^= 0xff;
        let read = trunkline_charge::account::Entry::decode(&broken);
        assert!(read.is_err() || read != trunkline_charge::account::Entry::decode(&octets), "{at}");
    }
}
