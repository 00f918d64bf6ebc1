//! Polling over a network that the test makes: agents whose values are known, and all that goes wrong on the way.
//!
//! Test group: waits: for simulated devices that answer late.

mod network;
mod room;
mod times;

use super::*;
use network::{Agent, Faults, Network, target, value_of};
use proptest::prelude::*;
use std::collections::BTreeMap;

const S: u64 = 1_000_000_000;

/// What became of all samples of a run: by device, data source and variable, how often each reading came.
type Found = BTreeMap<(u32, u32, usize), Vec<Reading>>;

/// Every reading that is known is the truth.
fn check_truth(found: &Found, network: &Network) {
    for ((device, source, at), readings) in found {
        let truth = network.agent(*device).reading(*device, *source, *at);
        for reading in readings.iter().filter(|reading| reading.is_known()) {
            assert_eq!(*reading, truth, "device {device}, source {source}, variable {at}");
        }
    }
}

fn all(found: &Found) -> impl Iterator<Item = &Reading> {
    found.values().flatten()
}

#[test]
fn every_variable_is_read_in_every_cycle() {
    let mut network = Network::new(1, Faults::default());
    for id in 1..=50 {
        network.add(target(id, 2, 40), Agent::default());
    }
    let found = network.run(300 * S);
    check_truth(&found, &network);
    assert_eq!(found.len(), 50 * 40 * 2);
    // The first cycle, and one for each step from the second on, but for what is near the first.
    assert!(found.values().all(|readings| (5..=6).contains(&readings.len())));
    assert!(all(&found).all(Reading::is_known));
    let counts = network.lane.counts();
    assert_eq!((counts.cycles_missed, counts.requests_again, counts.stray, counts.unknown), (0, 0, 0, 0));
    // The first cycle asks carefully; all others are two requests of 60 at most.
    assert!(counts.requests <= counts.cycles * 2 + 50, "{counts:?}");
}

#[test]
fn a_dead_device_costs_one_small_request_a_cycle_and_delays_nobody() {
    let run = |dead: u32| {
        let mut network = Network::new(2, Faults::default());
        for id in 1..=200 {
            let agent = Agent { is_dead: id <= dead, ..Agent::default() };
            network.add(target(id, 2, 100), agent);
        }
        let found = network.run(600 * S);
        check_truth(&found, &network);
        let alive: Vec<Reading> = found.iter().filter(|(key, _)| key.0 > 20).flat_map(|(_, r)| r.clone()).collect();
        assert!(alive.iter().all(Reading::is_known));
        (network, found, alive.len())
    };
    let (without, _, expected) = run(0);
    let (with, found, alive) = run(20);
    assert_eq!(alive, expected);
    assert!(with.longest_cycle_ns(|id| id > 20) <= without.longest_cycle_ns(|id| id > 20));
    for id in 1..=20 {
        // Two cycles with all tries, then one request each; nothing but sysUpTime.
        assert!(with.asked(id) <= 2 * 3 + 9, "{}", with.asked(id));
        assert!(with.longest_request(id) < 60);
        assert_eq!(with.lane.health(id).and_then(|health| health.state()), Some(Change::Down));
    }
    let dead: Vec<&Reading> = found.iter().filter(|(key, _)| key.0 <= 20).flat_map(|(_, r)| r).collect();
    assert!(dead.iter().all(|r| matches!(r, Reading::Unknown(Unknown::Timeout | Unknown::Down))));
}

#[test]
fn down_and_up_are_told_after_so_many_cycles() {
    let mut network = Network::new(3, Faults::default());
    let mut device = target(7, 2, 10);
    device.settings.failures_to_down = 3;
    device.settings.successes_to_up = 2;
    network.add(device, Agent::default());
    network.run(200 * S);
    network.agent_mut(7).is_dead = true;
    network.run(130 * S);
    assert!(!network.lane.health(7).expect("it is there").is_down());
    network.run(120 * S);
    assert!(network.lane.health(7).expect("it is there").is_down());
    network.agent_mut(7).is_dead = false;
    let found = network.run(59 * S);
    // It answers, but that may be an exception: the readings count all the same.
    assert!(network.lane.health(7).expect("it is there").is_down() && all(&found).all(Reading::is_known));
    network.run(61 * S);
    let changes = [Change::Up, Change::Down, Change::Up];
    let told: Vec<Event> = changes.iter().map(|change| Event::Health { device: 7, change: *change }).collect();
    assert_eq!(network.events, told);
}

#[test]
fn too_big_answers_are_asked_for_in_parts() {
    let mut network = Network::new(4, Faults::default());
    for (id, most) in [(1, 7), (2, 1), (3, 0)] {
        network.add(target(id, if id == 2 { 1 } else { 2 }, 60), Agent { varbinds_max: most, ..Agent::default() });
    }
    let found = network.run(200 * S);
    check_truth(&found, &network);
    for ((device, ..), readings) in &found {
        let expected = |reading: &Reading| match device {
            3 => *reading == Reading::Unknown(Unknown::TooBig),
            _ => reading.is_known(),
        };
        assert!(readings.iter().all(expected), "device {device}: {readings:?}");
    }
    // What was learned is kept: but for those that never fit, few requests are too big later.
    let counts = network.lane.counts();
    assert!(counts.too_big - counts.unknown < 60, "{counts:?}");
}

/// An agent that leaves out what it does not want to say, or does not answer to requests of more than a few names.
#[test]
fn agents_that_are_silent_about_much_are_asked_for_less() {
    let mut network = Network::new(5, Faults::default());
    network.add(target(1, 2, 60), Agent { silent_above: 10, ..Agent::default() });
    let found = network.run(400 * S);
    check_truth(&found, &network);
    let later = found.values().filter_map(|readings| readings.last());
    assert!(later.clone().count() == 120 && later.clone().all(Reading::is_known));
}

#[test]
fn version_1_finds_who_is_missing() {
    let mut network = Network::new(6, Faults::default());
    let mut device = target(1, 2, 30);
    device.access = Access::V1(b"public".to_vec());
    let agent = Agent { missing: vec![(4, 1), (5, 0), (29, 1)], ..Agent::default() };
    network.add(device, agent);
    let found = network.run(900 * S);
    check_truth(&found, &network);
    for ((_, source, at), readings) in &found {
        let is_missing = network.agent(1).missing.contains(&(*source, *at));
        let expected = |r: &Reading| if is_missing { r.is_gone() } else { r.is_known() };
        assert!(readings.iter().all(expected), "source {source}, variable {at}: {readings:?}");
    }
    let gone: Vec<u32> = network
        .events
        .iter()
        .filter_map(|e| if let Event::Gone { source, .. } = e { Some(*source) } else { None })
        .collect();
    assert_eq!(gone, [4, 5, 29]);
    // Those that are missing are not asked for in each cycle.
    let counts = network.lane.counts();
    assert!(counts.errors <= 3 * (counts.cycles / 10 + 1), "{counts:?}");
    network.agent_mut(1).missing.clear();
    network.run(900 * S);
    let returned = network.events.iter().filter(|event| matches!(event, Event::Returned { .. })).count();
    assert_eq!(returned, 3);
}

#[test]
fn a_restart_marks_the_samples_of_its_cycle() {
    let mut network = Network::new(7, Faults::default());
    network.add(target(1, 2, 10), Agent::default());
    network.run(200 * S);
    network.agent_mut(1).started_ns = 190 * S;
    network.run(200 * S);
    let marked: Vec<i64> = network.restarted.iter().map(|(_, unix_ms)| *unix_ms).collect();
    assert_eq!(marked.len(), 10);
    assert!(marked.iter().all(|at| (200_000..270_000).contains(at)), "{marked:?}");
    let told = network.events.iter().filter(|event| matches!(event, Event::Restarted { device: 1, .. })).count();
    assert_eq!(told, 1);
}

#[test]
fn a_cycle_that_takes_longer_than_its_step_is_not_doubled() {
    let mut network = Network::new(8, Faults::default());
    for id in 1..=20 {
        let mut device = target(id, 1, 100);
        let settings = Settings { step_s: 8, varbinds_max: 1, requests_max: 1, ..device.settings };
        device.settings = Settings { budget_percent: 100, ..settings };
        network.add(device, Agent { delay_ns: S / 10, ..Agent::default() });
    }
    let found = network.run(240 * S);
    check_truth(&found, &network);
    let counts = *network.lane.counts();
    // First cycles are off their phase, so that some are in the way of the second; later ones are cut in time.
    assert!((1..20).contains(&counts.cycles_missed), "{counts:?}");
    assert!(counts.cycles_cut > 200 && network.most_outstanding == 20, "{counts:?}");
    let no_time = all(&found).filter(|r| **r == Reading::Unknown(Unknown::NoTime)).count();
    assert_eq!(no_time as u64, counts.unknown);
    // A machine that stands still: what was due in that time is counted.
    network.sleep(80 * S);
    network.run(S);
    let missed = network.lane.counts().cycles_missed - counts.cycles_missed;
    assert!((9 * 20..=10 * 20).contains(&missed), "{missed}");
}

/// Agents that answer in another order, or leave something out.
#[test]
fn a_value_belongs_to_the_name_that_stands_with_it() {
    let mut network = Network::new(12, Faults::default());
    network.add(target(1, 2, 20), Agent { is_backward: true, ..Agent::default() });
    network.add(target(2, 2, 20), Agent { omitted: Some((7, 1)), ..Agent::default() });
    let found = network.run(200 * S);
    check_truth(&found, &network);
    for ((device, source, at), readings) in found {
        let is_omitted = device == 2 && (source, at) == (7, 1);
        let expected = |r: &Reading| if is_omitted { *r == Reading::Unknown(Unknown::Omitted) } else { r.is_known() };
        assert!(readings.iter().all(expected), "{device} {source} {at}: {readings:?}");
    }
}

#[test]
fn a_full_lane_lets_everybody_have_a_turn() {
    let mut network = Network::with_room(9, Faults::default(), 3);
    for id in 1..=100 {
        network.add(target(id, 2, 60), Agent::default());
    }
    let found = network.run(120 * S);
    check_truth(&found, &network);
    assert!(network.most_outstanding <= 3 && network.lane.counts().held > 0);
    assert_eq!(found.len(), 100 * 120);
    assert!(all(&found).all(Reading::is_known));
}

#[test]
fn a_lane_does_not_show_what_lets_it_in() {
    let mut lane = Lane::new(&LaneOptions { outstanding_max: 10, seed: 1 });
    let mut device = target(1, 2, 2);
    device.access = Access::V2c(b"abcdefgh".to_vec());
    lane.add(device, Now::default()).expect("a good description");
    lane.handle_timeout(Now { steady_ns: 10 * S, unix_ms: 0 });
    let sent: Vec<u8> = lane.transmits().flat_map(|(_, octets)| octets.to_vec()).collect();
    assert!(sent.windows(8).any(|octets| octets == b"abcdefgh"));
    let shown = format!("{lane:?}");
    assert!(shown.contains("127.0.0.2") && !shown.contains("abcdefgh") && !shown.contains("97, 98, 99"), "{shown}");
    let message = trunkline_wire::snmp::Message::new(&sent).expect("a message");
    let shown = format!("{message:?}");
    assert!(shown.contains("V2c") && !shown.contains("abcdefgh") && !shown.contains("97, 98, 99"), "{shown}");
}

#[test]
fn walks_find_all_and_end() {
    let mut network = Network::new(10, Faults::default());
    for (id, agent) in [
        (1, Agent::default()),
        (2, Agent { is_looping: true, ..Agent::default() }),
        (3, Agent { varbinds_max: 3, ..Agent::default() }),
        (4, Agent { is_dead: true, ..Agent::default() }),
        (5, Agent::default()),
    ] {
        let mut device = target(id, 2, 100);
        if id == 5 {
            device.access = Access::V1(b"public".to_vec());
        }
        network.add(device, agent);
    }
    network.run(30 * S);
    for id in 1..=5 {
        let root = "1.3.6.1.4.1.99999".parse().expect("a name");
        network.walk(id, u64::from(id) + 70, root);
    }
    network.run(30 * S);
    let ends: BTreeMap<u64, WalkEnd> = network
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Walked { walk, end, .. } => Some((*walk, *end)),
            _ => None,
        })
        .collect();
    let done = WalkEnd::Done(200);
    let expected = [(71, done), (72, WalkEnd::Looped), (73, done), (75, done)];
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), expected);
    for walk in [71, 73, 75] {
        let device = walk as u32 - 70;
        let names = network.walked.iter().filter(|(number, ..)| *number == walk);
        let values: Vec<u64> = names.map(|(_, value)| *value).collect();
        let truth = (0..100).flat_map(|source| (0..2).map(move |at| value_of(device, source, at)));
        assert_eq!(values, truth.collect::<Vec<_>>());
    }
    assert_eq!(network.lane.walk(9, 1, "1.3".parse().expect("a name"), network.now()), Err(WalkError::NoDevice));
}

#[test]
fn a_device_that_is_described_anew_keeps_what_was_learned() {
    let mut network = Network::new(11, Faults::default());
    network.add(target(1, 2, 10), Agent::default());
    network.run(100 * S);
    let (health, took) = (network.lane.health(1), network.lane.round_trip_ns(1));
    network.add(target(1, 2, 20), Agent::default());
    assert_eq!((network.lane.health(1), network.lane.round_trip_ns(1)), (health, took));
    let found = network.run(60 * S);
    assert!(found.len() == 40 && all(&found).all(Reading::is_known));
    assert!(network.lane.remove(1) && !network.lane.remove(1));
    assert!(network.run(100 * S).is_empty() && network.lane.outstanding() == 0);
    assert_eq!(network.events.len(), 1);
    let mut wrong = target(1, 2, 10);
    wrong.settings.step_s = 0;
    assert_eq!(network.lane.add(wrong, network.now()), Err(TargetError::Step));
}

#[test]
fn whoever_waits_for_a_device_hears_at_once_that_it_answers() {
    let mut network = Network::new(12, Faults::default());
    for id in 1..=2 {
        network.add(target(id, 2, 10), Agent { is_dead: id == 2, ..Agent::default() });
    }
    network.run(600 * S);
    let answered = |network: &Network| {
        let told = network.events.iter().filter_map(|event| match event {
            Event::Answered { device, began_ms } => Some((*device, *began_ms)),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(answered(&network), [], "nobody waits");
    // Asked for ten times a second, all over a round of a minute: never on the heels of another cycle.
    let (before, mut asked_ms) = (network.lane.counts().cycles, Vec::new());
    for _ in 0..600 {
        (1..=3).for_each(|id| network.lane.check_soon(id, network.now()));
        asked_ms.push(network.now().unix_ms);
        network.run(S / 10);
    }
    network.run(S);
    let told = answered(&network);
    assert!(told.iter().all(|(device, _)| *device == 1), "who is dead does not answer: {told:?}");
    assert!((9..=13).contains(&told.len()), "{told:?}");
    assert!(told.windows(2).all(|pair| pair[1].1 - pair[0].1 >= 5_000), "{told:?}");
    assert!(network.lane.counts().cycles - before <= 2 * told.len() as u64);
    assert!(told[0].1 - asked_ms[0] < 10_000, "it does not wait for its place");
    // What comes on its own time comes as before.
    let cycles = network.lane.counts().cycles;
    network.run(600 * S);
    assert_eq!((network.lane.counts().cycles - cycles, network.lane.counts().cycles_missed), (20, 0));
    // Who asked last hears it of the next one, and then nobody waits any more.
    assert!(answered(&network).len() <= told.len() + 1);
}

#[test]
fn numbers_in_texts_are_numbers() {
    use trunkline_wire::snmp::Value;
    let of = |text: &'static [u8]| Reading::of(&Value::OctetString(text));
    assert_eq!((of(b" 23.5\n"), of(b"-4\0")), (Reading::Real(23.5), Reading::Real(-4.0)));
    let unknown = Reading::Unknown(Unknown::NoNumber);
    assert!([&b"23 C"[..], b"", b"NaN", b"inf", b"\xff"].iter().all(|text| of(text) == unknown));
    assert_eq!(Reading::of(&Value::Float(f32::NAN)), unknown);
    assert!(Reading::of(&Value::Counter32(1)).is_counter() && !Reading::of(&Value::Gauge32(1)).is_counter());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Loss, delay, copies, another order, answers of strangers and garbage: what is known is the truth, each source
    /// has one sample a cycle, and nothing is left on its way.
    #[test]
    fn whatever_the_network_does_what_is_known_is_true(
        seed in any::<u64>(),
        loss_percent in 0..40u32,
        copies_percent in 0..30u32,
        delay_ms_max in 1..3000u64,
        strangers in any::<bool>(),
        varbinds_max in 1..100u16,
        is_v1 in any::<bool>(),
        missing in prop::collection::vec((0..30u32, 0..2usize), 0..4),
    ) {
        let faults = Faults { loss_percent, copies_percent, delay_ns_max: delay_ms_max * 1_000_000, strangers };
        let mut network = Network::new(seed, faults);
        for id in 1..=8 {
            let mut device = target(id, 2, 30);
            if is_v1 {
                device.access = Access::V1(b"public".to_vec());
            }
            network.add(device, Agent { varbinds_max, missing: missing.clone(), ..Agent::default() });
        }
        let found = network.run(400 * S);
        check_truth(&found, &network);
        prop_assert_eq!(found.len(), 8 * 60);
        prop_assert!(found.values().all(|readings| (5..=8).contains(&readings.len())));
        for ((_, source, at), readings) in &found {
            let is_missing = missing.contains(&(*source, *at));
            for reading in readings {
                let is_right = match reading {
                    Reading::Unknown(Unknown::NoSuchInstance) => is_missing,
                    Reading::Unknown(reason) => {
                        matches!(reason, Unknown::Timeout | Unknown::Down | Unknown::NoTime)
                            && (loss_percent > 0 || delay_ms_max > 500)
                    }
                    _ => !is_missing,
                };
                prop_assert!(is_right, "source {} variable {}: {:?}", source, at, reading);
            }
        }
        if strangers {
            prop_assert!(network.lane.counts().wrong_source > 0);
        }
        network.settle();
        prop_assert_eq!(network.lane.outstanding(), 0);
    }
}
