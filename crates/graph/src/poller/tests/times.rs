//! When variables were read, and what one error of an agent does.

use super::*;

/// The readings of a data source in one cycle, as milliseconds at which the agent read them.
fn samples(found: &Found, source: u32) -> Vec<Vec<u64>> {
    let variables: Vec<&Vec<Reading>> = found.iter().filter(|(key, _)| key.1 == source).map(|(_, all)| all).collect();
    let cycles = variables.first().map_or(0, |all| all.len());
    let time = |reading: &Reading| if let Reading::Counter64(ms) = reading { Some(*ms) } else { None };
    (0..cycles).map(|cycle| variables.iter().filter_map(|all| time(&all[cycle])).collect()).collect()
}

fn apart(times: &[u64]) -> u64 {
    times.iter().max().zip(times.iter().min()).map_or(0, |(last, first)| last - first)
}

/// Of version 1, whose answer is an error where one variable is missing: what is left of its data source is read by
/// one answer.
#[test]
fn what_is_left_of_a_data_source_is_read_at_one_time() {
    let faults = Faults { delay_ns_max: 800_000_000, ..Faults::default() };
    let mut network = Network::new(30, faults);
    let mut device = target(1, 8, 6);
    device.access = Access::V1(b"public".to_vec());
    let missing = vec![(0, 7), (2, 3), (3, 1), (3, 6), (5, 0)];
    network.add(device, Agent { missing, tells_time: true, ..Agent::default() });
    let found = network.run(1800 * S);
    for source in 0..6 {
        let samples = samples(&found, source);
        assert!(samples.len() >= 29);
        for times in samples {
            assert_eq!(times.len(), [7, 8, 7, 6, 8, 7][source as usize]);
            assert_eq!(apart(&times), 0, "source {source}: {times:?}");
        }
    }
}

#[test]
fn an_agent_that_once_could_not_read_its_uptime_is_asked_again() {
    for version_1 in [true, false] {
        let mut network = Network::new(32, Faults::default());
        let mut device = target(1, 2, 10);
        if version_1 {
            device.access = Access::V1(b"public".to_vec());
        }
        network.add(device, Agent::default());
        network.run(130 * S);
        network.agent_mut(1).fails_uptime = true;
        let found = network.run(60 * S);
        assert!(all(&found).all(Reading::is_known) && network.lane.counts().errors > 0);
        network.agent_mut(1).fails_uptime = false;
        network.agent_mut(1).started_ns = 185 * S;
        network.run(130 * S);
        let told = network.events.iter().filter(|event| matches!(event, Event::Restarted { device: 1, .. })).count();
        assert_eq!(told, 1);
    }
}
