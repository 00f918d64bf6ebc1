//! A lane that has less room than its devices would take.
//!
//! Test group: alone: measures how long cycles take.

use super::*;

/// Nine in ten do not have their turn in time: that says nothing of them.
#[test]
fn devices_that_had_to_wait_for_others_are_not_down() {
    let mut network = Network::with_room(20, Faults::default(), 1);
    for id in 1..=200 {
        let mut device = target(id, 1, 5);
        device.settings.first_timeout_ms = 5000;
        network.add(device, Agent { delay_ns: 2 * S, ..Agent::default() });
    }
    let found = network.run(600 * S);
    check_truth(&found, &network);
    let counts = network.lane.counts();
    assert!(counts.cycles_unasked > 500, "{counts:?}");
    assert_eq!((counts.cycles_failed, counts.requests_lost), (0, 0), "{counts:?}");
    assert!(all(&found).all(|reading| reading.is_known() || *reading == Reading::Unknown(Unknown::NoTime)));
    let changes = network.events.iter().filter(|event| matches!(event, Event::Health { change: Change::Down, .. }));
    assert_eq!(changes.count(), 0);
    let cuts = network.events.iter().filter(|event| matches!(event, Event::Cut { .. })).count();
    assert_eq!(cuts as u64, counts.cycles_cut);
}

/// The same, but those that have their turn do not answer: that says something of them.
#[test]
fn devices_that_waited_and_then_did_not_answer_are_down() {
    let mut network = Network::with_room(21, Faults::default(), 1);
    for id in 1..=3 {
        network.add(target(id, 1, 5), Agent { is_dead: true, ..Agent::default() });
    }
    let found = network.run(600 * S);
    assert!(network.lane.counts().held > 0);
    assert!((1..=3).all(|id| network.lane.health(id).is_some_and(|health| health.is_down())));
    assert!(all(&found).all(|reading| matches!(reading, Reading::Unknown(Unknown::Timeout | Unknown::Down))));
}

/// A lane whose room is taken to four fifths: what a tenth of dead devices takes of it is bounded.
#[test]
fn a_tenth_of_dead_devices_does_not_make_cycles_longer() {
    const DEVICES: u32 = 400;
    let run = |dead: u32| {
        let mut network = Network::with_room(22, Faults::default(), 16);
        for id in 1..=DEVICES {
            let mut device = target(id, 2, 45);
            device.settings = Settings { varbinds_max: 5, first_timeout_ms: 5000, ..device.settings };
            network.add(device, Agent { is_dead: id <= dead, delay_ns: S / 10, ..Agent::default() });
        }
        network.run(300 * S);
        network.cycles_sum.clear();
        let found = network.run(600 * S);
        check_truth(&found, &network);
        let alive = |device: u32| device > DEVICES / 10;
        assert!(found.iter().filter(|(key, _)| alive(key.0)).all(|(_, all)| all.iter().all(Reading::is_known)));
        assert!((1..=dead).all(|id| network.lane.health(id).is_some_and(|health| health.is_down())));
        assert!(network.most_outstanding == 16 && network.lane.counts().held > 1000);
        let sums = network.cycles_sum.iter().filter(|(device, _)| alive(**device)).map(|(_, sum)| *sum);
        let (sum, count) = sums.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        sum as f64 / count as f64
    };
    let (without, with) = (run(0), run(DEVICES / 10));
    println!("a cycle takes {:.3} s, with a tenth dead {:.3} s", without / 1e9, with / 1e9);
    assert!(with < without * 1.05, "{with} {without}");
}
