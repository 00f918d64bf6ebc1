//! What the tests stand on.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trunkline_graph::inventory::{Availability, Probe};
use trunkline_graph::job::{Probing, ProbingOptions};
use trunkline_graph::poller::Reading;
use trunkline_graph::probe::{Check, Event, Source, Target};

pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn probing() -> Probing {
    Probing::new(ProbingOptions { seed: 5, ..ProbingOptions::default() }).unwrap()
}

pub fn source(id: u32, step_s: u32, check: Check, reads: &[&str]) -> Source {
    let reads = check.reads(reads.iter().map(|name| vec![(*name).to_owned()]).collect()).unwrap();
    Source { id, step_s, check, reads: Arc::new(reads) }
}

pub fn target(id: u32, address: &str, probes: &[Probe], sources: Vec<Source>) -> Target {
    let probes = probes.to_vec();
    let availability = Availability { probes, failures: 1, timeout_ms: 2000, ..Availability::default() };
    Target { id, address: address.parse::<IpAddr>().unwrap(), availability, step_s: 1, sources, is_counted: true }
}

/// What a prober has found so far.
#[derive(Default)]
pub struct Seen {
    pub samples: Vec<(u32, Vec<Reading>)>,
    pub events: Vec<Event>,
}

impl Seen {
    /// The readings of each sample of a data source.
    pub fn of(&self, source: u32) -> Vec<&[Reading]> {
        self.samples.iter().filter(|(id, _)| *id == source).map(|(_, readings)| &readings[..]).collect()
    }

    /// What was wrong with it last.
    pub fn fault(&self, of: u32) -> Option<&str> {
        let text = |event: &'_ Event| match event {
            Event::Fault { source: Some(id), text, .. } if *id == of => Some(text.clone()),
            _ => None,
        };
        let at = self.events.iter().rposition(|event| text(event).is_some())?;
        match &self.events[at] {
            Event::Fault { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// Turns until enough is seen.
pub fn see(probing: &mut Probing, enough: impl Fn(&Seen) -> bool) -> Seen {
    let (mut seen, begun) = (Seen::default(), Instant::now());
    while !enough(&seen) {
        assert!(begun.elapsed() < PATIENCE, "{:?} {:?}", seen.samples, seen.events);
        probing.turn(Duration::from_millis(200)).unwrap();
        seen.samples.extend(probing.samples().map(|sample| (sample.source, sample.readings.to_vec())));
        seen.events.extend_from_slice(probing.events());
        probing.clear();
    }
    seen
}

/// The samples of data sources that are each read once, in the order of `sources`.
pub fn once(sources: Vec<Source>) -> Seen {
    let mut probing = probing();
    let ids: Vec<u32> = sources.iter().map(|source| source.id).collect();
    probing.add(target(1, "127.0.0.1", &[], sources)).unwrap();
    see(&mut probing, |seen| ids.iter().all(|id| !seen.of(*id).is_empty()))
}

pub fn real(reading: Reading) -> f64 {
    match reading {
        Reading::Real(number) => number,
        Reading::Integer(number) => number as f64,
        other => panic!("{other:?}"),
    }
}
