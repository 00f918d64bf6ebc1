//! What is tried out is what would have been: a plan against itself changes nothing, another one what it says.

use crate::network;
use network::{Network, PLAN, asked};
use proptest::prelude::*;
use trunkline_charge::account::{Effect, MoneyReason};
use trunkline_charge::money::Money;
use trunkline_charge::session::{Kind, Once, OrderKey, Refused, State, Trial, TryOut};
use trunkline_charge::tariff::read;

/// All entries of a network, from that one on tried with a plan.
fn tried(network: &Network, text: &str, from: usize) -> TryOut {
    let plan = read("plan", text).expect("a plan");
    let mut trial = Trial::new(plan, State::default());
    network.entries[..from].iter().for_each(|entry| trial.before(entry));
    network.entries[from..].iter().for_each(|entry| trial.take(entry));
    trial.finish()
}

fn debited(network: &Network, from: usize) -> Money {
    let effects = network.entries[from..].iter().flat_map(|entry| &entry.effects);
    effects.fold(Money::ZERO, |sum, effect| match effect {
        Effect::Charged { charge, .. } => sum.plus(charge.money),
        _ => sum,
    })
}

/// Groups with prices, steps, set-up, bundles, tiers and caps; without pools, whose reservations are not tried.
const GROUPS: [u32; 8] = [1, 2, 3, 6, 9, 10, 11, 12];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_plan_that_is_tried_against_what_it_charged_changes_nothing(
        acts in prop::collection::vec((0usize..8, 0u64..60_000, 0i64..4000, 0u32..3), 1..80),
        from in any::<prop::sample::Index>(),
    ) {
        let mut network = Network::new(Money(100_000_000), Money::ZERO);
        for (number, (group, used, wait, session)) in acts.iter().enumerate() {
            let (number, group) = (number as u32 + 1, GROUPS[*group]);
            // What other sessions reserve of a bundle is not tried.
            let name = if group == 9 { "bundled".to_owned() } else { format!("s{session}") };
            let wanted = |used| vec![asked(group, used, Some(0))];
            if network.core.session(&name).is_none() {
                let request = network.request(&name, Kind::Initial, 0, wanted(None));
                network.send(&request);
            }
            if used % 17 == 0 {
                let entry = network.core.buy_allowance(1, "gift", network.now);
                network.entry(entry);
            }
            match number % 9 {
                0 => drop(network.end(&name, number, vec![asked(group, Some(*used), None)])),
                _ => drop(network.update(&name, number, wanted(Some(*used)))),
            }
            network.timeout(network.now + wait);
        }
        let from = from.index(network.entries.len());
        let tryout = tried(&network, PLAN, from);
        prop_assert_eq!(tryout.all.was, debited(&network, from));
        prop_assert_eq!((tryout.all.would, tryout.all.would_unrated), (tryout.all.was, tryout.all.was_unrated));
        prop_assert_eq!((tryout.dearer, tryout.cheaper, tryout.differences.len()), (0, 0, 0));
    }
}

#[test]
fn another_price_is_told_by_group_and_account() {
    let mut network = Network::new(Money(10_000), Money::ZERO);
    let from = network.entries.len();
    network.initial("a", vec![asked(1, None, Some(0)), asked(11, None, Some(0))]);
    network.update("a", 1, vec![asked(1, Some(10_000), Some(0)), asked(11, Some(100), Some(0))]);
    network.end("a", 2, vec![asked(1, Some(5_000), None)]);
    // 15 kB at 1.5, and 3 and 100 s at 0.7, rounded up.
    assert_eq!(debited(&network, from), Money(23 + 73));
    let dearer = PLAN.replace("price = \"1.5\"", "price = \"3\"");
    let tryout = tried(&network, &dearer, from);
    assert_eq!((tryout.all.was, tryout.all.would, tryout.all.reports), (Money(96), Money(118), 3));
    let data = tryout.groups.iter().find(|(group, _)| *group == Some(1)).expect("the group").1;
    assert_eq!((data.was, data.would, data.reports), (Money(23), Money(45), 2));
    assert_eq!((tryout.accounts, tryout.dearer, tryout.cheaper), (1, 1, 0));
    assert_eq!((tryout.differences[0].account, tryout.differences[0].would), (1, Money(118)));
    // Another unit: what was reported of it counts.
    let hours = PLAN.replace(
        "name = \"data\", rating-groups = [1], step = \"1 kB\", price = \"1.5\"",
        "name = \"data\", rating-groups = [1], unit = \"seconds\", price = \"0.01\"",
    );
    let hours = hours.replace(
        "tranche = \"100 kB\", validity = \"10 min\",\n    holding",
        "tranche = 100, validity = \"10 min\",\n    holding",
    );
    let tryout = tried(&network, &hours, from);
    let data = tryout.groups.iter().find(|(group, _)| *group == Some(1)).expect("the group").1;
    assert_eq!(data.would, Money(150));
    // No rule, and a rule that denies it.
    for other in ["rating-groups = [99]", "rating-groups = [1], outcome = \"blocked\""] {
        let without =
            PLAN.replacen("rating-groups = [1], step = \"1 kB\", price = \"1.5\", tranche = \"100 kB\"", other, 1);
        let without = without.replacen("validity = \"10 min\",\n    holding = \"1 min\", threshold = 20", "", 1);
        let without = without.replacen(", }", " }", 1).replacen(",  }", " }", 1);
        let Ok(plan) = read("plan", &without) else { continue };
        let mut trial = Trial::new(plan, State::default());
        network.entries.iter().for_each(|entry| trial.take(entry));
        let tryout = trial.finish();
        assert_eq!((tryout.all.would_unrated, tryout.all.was_unrated), (2, 0), "{other}");
    }
}

#[test]
fn money_that_would_not_be_there_is_told() {
    let mut network = Network::new(Money(100), Money::ZERO);
    let from = network.entries.len();
    network.initial("a", vec![asked(1, None, Some(0))]);
    network.end("a", 1, vec![asked(1, Some(40_000), None)]);
    let request = network.request("event", Kind::DirectDebit, 0, vec![asked(10, None, Some(3))]);
    network.send(&request);
    // An event that names no number is one.
    assert_eq!(debited(&network, from), Money(70));
    let dearer = PLAN.replace("price = \"1.5\"", "price = \"3\"");
    let tryout = tried(&network, &dearer, from);
    assert_eq!((tryout.all.would, tryout.all.would_short, tryout.all.would_lack), (Money(100), Money(20), 2));
}

#[test]
fn an_order_with_a_key_is_done_once() {
    let mut network = Network::new(Money(100), Money::ZERO);
    let order = |network: &mut Network, key: &str, amount: i64| {
        let what = OrderKey::new(key, &format!("top-up 1 {amount}")).expect("a key");
        let now = network.now;
        network.core.once(what, now, |core| core.add_money(1, MoneyReason::TopUp, Money(amount), "", now))
    };
    let done = |network: &mut Network, once: Result<Once, Refused>| match once.expect("it is done") {
        Once::Done(entry) => {
            let sequence = entry.sequence;
            network.write(entry);
            (sequence, false)
        }
        Once::Before(sequence) => (sequence, true),
    };
    let first = order(&mut network, "voucher-1", 50);
    let (sequence, again) = done(&mut network, first);
    assert!(!again);
    // Again, after a restart, out of a snapshot.
    let second = order(&mut network, "voucher-1", 50);
    assert_eq!(done(&mut network, second), (sequence, true));
    network.restart();
    network.store();
    let third = order(&mut network, "voucher-1", 50);
    assert_eq!((done(&mut network, third), network.account().balance), ((sequence, true), Money(150)));
    // The key of another order; one that was refused leaves its key.
    assert_eq!(order(&mut network, "voucher-1", 60), Err(Refused::KeyTaken));
    assert!(order(&mut network, "voucher-2", -1_000_000).is_err());
    let after = order(&mut network, "voucher-2", 7);
    assert!(!done(&mut network, after).1);
    assert_eq!(OrderKey::new("", "x"), Err(Refused::BadKey));
    assert_eq!(OrderKey::new(&"k".repeat(65), "x"), Err(Refused::BadKey));
    // After its time it is a new one.
    network.now += 86_400;
    let later = order(&mut network, "voucher-1", 60);
    assert!(!done(&mut network, later).1);
    network.check_from_the_first();
}
