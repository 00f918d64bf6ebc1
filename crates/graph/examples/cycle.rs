//! How evenly live devices are polled beside dead ones: `cycle PORT DEVICES INTERFACES STEP SECONDS DEAD_PERMILLE`.
//!
//! The devices are those of `trunkline graph farm --sound`, with these numbers, at this port; two counters of 64 bits
//! of each interface are read each step, without storing. A sample is late by what it comes after its device was due; a
//! cycle lasts from when its first device was due until the last live one has answered. Printed is a line of JSON.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use trunkline_graph::job::{Polling, PollingOptions};
use trunkline_graph::poller::*;
use trunkline_kit::random::mixed;
use trunkline_sim::farm::{COMMUNITY, Farm, Fault, Settings as FarmSettings};

/// Steps before those that are measured: dead devices are found to be so meanwhile.
const WARM_STEPS: u32 = 5;
const NS_PER_S: u64 = 1_000_000_000;

fn target(farm: &Farm, device: usize, port: u16, step_s: u32) -> Target {
    let name = |column: u32, index: u32| format!("1.3.6.1.2.1.31.1.1.1.{column}.{index}").parse().expect("a name");
    let source = |interface: u32| Source { id: interface, names: [6, 10].map(|c| name(c, interface + 1)).to_vec() };
    Target {
        id: device as u32,
        address: SocketAddr::from((farm.address(device), port)),
        access: Access::V2c(COMMUNITY.to_vec()),
        settings: Settings { step_s, ..Settings::default() },
        sources: (0..farm.settings().interfaces).map(source).collect(),
    }
}

/// What came of a cycle.
#[derive(Default)]
struct Cycle {
    devices: usize,
    last_ns: u64,
}

fn main() -> Result<(), String> {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [port, devices, interfaces, step_s, seconds, dead_permille] = numbers[..] else {
        return Err("usage: cycle PORT DEVICES INTERFACES STEP SECONDS DEAD_PERMILLE".to_owned());
    };
    let (port, step_s) = (port as u16, step_s as u32);
    let farm = Farm::new(FarmSettings {
        devices,
        interfaces: interfaces as u32,
        faults: false,
        dead_permille: dead_permille as u32,
        ..FarmSettings::default()
    });
    let dead = (0..devices).filter(|device| farm.fault(*device) == Some(Fault::Dead)).count();
    let mut polling = Polling::open(&PollingOptions { sockets: 4, buffer_octets: 16 << 20, seed: 1 }).expect("sockets");
    for device in 0..devices {
        let now = polling.now();
        polling.lane().add(target(&farm, device, port, step_s), now).expect("a good description");
    }
    let (step_ns, begun) = (u64::from(step_s) * NS_PER_S, Instant::now());
    let (warm, longest) = (Duration::from_secs((WARM_STEPS * step_s).into()), Duration::from_secs(seconds as u64));
    let (mut late_us, mut cycles): (Vec<u32>, HashMap<u64, Cycle>) = Default::default();
    let mut before = *polling.lane().counts();
    let mut from_ns = None;
    while begun.elapsed() < warm + longest {
        polling.turn(Duration::from_millis(10));
        let now_ns = polling.now().steady_ns;
        if from_ns.is_none() && begun.elapsed() >= warm {
            from_ns = Some((now_ns / step_ns + 1) * step_ns);
            before = *polling.lane().counts();
        }
        let batch = core::mem::take(polling.lane().batch());
        let Some(from_ns) = from_ns else { continue };
        let mut last = None;
        for sample in batch.samples() {
            // All samples of a device come together.
            let is_known = sample.readings.iter().all(Reading::is_known);
            if !is_known || last.replace(sample.device) == Some(sample.device) {
                continue;
            }
            let phase = mixed(u64::from(sample.device)) % step_ns;
            let Some(since) = now_ns.checked_sub(phase).filter(|since| *since >= from_ns) else { continue };
            late_us.push((since % step_ns / 1000) as u32);
            let cycle = cycles.entry(since / step_ns).or_default();
            cycle.devices += 1;
            cycle.last_ns = cycle.last_ns.max(now_ns - since / step_ns * step_ns);
        }
    }
    // The last one is not over.
    let last = cycles.keys().max().copied();
    let whole = cycles.iter().filter(|(number, _)| Some(**number) != last).map(|(_, cycle)| cycle);
    let mut lasts_s: Vec<f64> = whole.clone().map(|cycle| cycle.last_ns as f64 / 1e9).collect();
    let missing: usize = whole.map(|cycle| (devices - dead).abs_diff(cycle.devices)).sum();
    late_us.sort_unstable();
    lasts_s.sort_by(f64::total_cmp);
    let late_ms = |share: f64| {
        let at = ((late_us.len() as f64 * share) as usize).min(late_us.len().saturating_sub(1));
        late_us.get(at).map_or(0.0, |us| f64::from(*us) / 1e3)
    };
    let counts = *polling.lane().counts();
    let told = serde_json::json!({
        "devices": devices, "dead": dead, "step_s": step_s, "cycles": lasts_s.len(), "missing": missing,
        "cycle_s": lasts_s.get(lasts_s.len() / 2), "cycle_longest_s": lasts_s.last(),
        "late_p50_ms": late_ms(0.5), "late_p99_ms": late_ms(0.99), "late_longest_ms": late_ms(1.0),
        "readings": counts.readings - before.readings, "missed": counts.cycles_missed - before.cycles_missed,
    });
    println!("{told}");
    Ok(())
}
