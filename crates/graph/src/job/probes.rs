//! The thread that probes: what is read of devices otherwise than by SNMP goes to the journal, and whether they are up
//! to whoever wants to know.

use super::intake::Intake;
use super::news::News;
use super::owner::ToOwner;
use super::realtime::ASIDE;
use super::{EchoSockets, OpenError, Probing, ProbingOptions, Shared};
use crate::inventory::Availability;
use crate::journal::Records;
use crate::poller::{Change, Reading};
use crate::probe::{self, Counts, Event};
use crate::realtime::OfDevice;
use crate::targets::probes::{Plan, Written, taken};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long it may take to hear what it is told.
const HEARS_WITHIN: Duration = Duration::from_millis(50);
/// Seconds over which samples a second are counted.
const RATE_S: f64 = 10.0;

/// What it is told.
#[derive(Debug)]
pub(super) enum ToProbes {
    /// A device is probed so from now on; whether it answers SNMP, if that is known.
    Set { plan: Box<Plan>, address: IpAddr, snmp: Option<bool> },
    /// It is not probed any more.
    Remove(u32),
    /// Whether a device answers SNMP.
    Snmp(u32, bool),
    /// Somebody waits to hear whether a device answers.
    Check(u32),
    /// It ends.
    Stop,
}

/// How a device is, as probes see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProbedShown {
    /// Whether probes tell people whether it is up.
    pub decides: bool,
    pub health: Option<Change>,
    pub since_ms: i64,
    pub answered_ms: Option<i64>,
    /// As [`super::DeviceShown::reached_ms`].
    pub reached_ms: Option<i64>,
    pub is_flapping: bool,
    pub sources: usize,
    /// What is wrong, by data source; none is whether it is up.
    pub faults: BTreeMap<Option<u32>, String>,
    /// Data sources whose faults are that they cannot be read as they are described.
    unreadable: BTreeSet<u32>,
    /// Rounds that were left out, by data source.
    missed: BTreeMap<Option<u32>, u64>,
}

impl ProbedShown {
    /// Rounds that were left out.
    pub fn missed(&self) -> u64 {
        self.missed.values().sum()
    }
}

/// What the thread shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub devices: Mutex<BTreeMap<u32, ProbedShown>>,
    pub level: Mutex<Level>,
}

/// How it stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    pub counts: Counts,
    /// Echo requests, ports, programs and pages on their way.
    pub outstanding: [usize; 4],
    pub sources: usize,
    pub silent_samples: u64,
    pub samples_per_s: f64,
    /// Why echo requests cannot be sent that are wanted, over IPv4 and over IPv6.
    pub no_right: [Option<String>; 2],
}

/// A device as the thread has it.
struct Probed {
    address: IpAddr,
    wants_echo: bool,
    sources: Vec<probe::Source>,
    written: HashMap<u32, Vec<Written>>,
}

/// Of all devices together.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    sources: usize,
    /// Devices with IPv4 and with IPv6 that are to be sent echo requests.
    echo: [usize; 2],
}

/// See the module.
pub(super) struct Probes {
    shared: Arc<Shared>,
    probing: Probing,
    intake: Intake,
    news: News,
    probed: HashMap<u32, Probed>,
    sums: Sums,
    /// What is to be read in real time, of all devices; and those of these of which something is.
    wanted: BTreeMap<u32, OfDevice>,
    watched_version: u64,
    aside: BTreeMap<u32, OfDevice>,
    records: Records,
    silent_samples: u64,
    samples: u64,
    rate: (Instant, u64, f64),
}

impl Probes {
    pub fn open(
        shared: Arc<Shared>,
        echo: EchoSockets,
        intake: Intake,
        to_owner: SyncSender<ToOwner>,
    ) -> Result<Probes, OpenError> {
        let metrics = Arc::clone(&shared);
        let options = ProbingOptions {
            own: Some(Arc::new(move || metrics.own())),
            seed: RandomState::new().hash_one("probes"),
            ..ProbingOptions::default()
        };
        let probing = Probing::with(options, echo).map_err(|error| OpenError::Io("what probes".to_owned(), error))?;
        let news = News::new(to_owner, Arc::clone(&shared.news_left_out));
        Ok(Probes {
            shared,
            probing,
            intake,
            news,
            probed: HashMap::new(),
            sums: Sums::default(),
            wanted: BTreeMap::new(),
            watched_version: 0,
            aside: BTreeMap::new(),
            records: Records::default(),
            silent_samples: 0,
            samples: 0,
            rate: (Instant::now(), 0, 0.0),
        })
    }

    pub fn run(mut self, hears: &Receiver<ToProbes>) {
        while self.listen(hears) {
            if let Err(error) = self.probing.turn(HEARS_WITHIN) {
                return self.shared.fail(format!("nothing can be probed any more: {error}"));
            }
            self.samples();
            // Of devices that are read in real time it is told as they are always read.
            let events = self.probing.events().iter().filter(|event| event.device() & ASIDE == 0);
            let events: Vec<Event> = events.cloned().collect();
            self.probing.clear();
            events.into_iter().for_each(|event| self.happen(event));
            self.news.tell();
            self.follow_watchers();
            self.show();
        }
    }

    /// Hears what it is told; whether it goes on.
    fn listen(&mut self, hears: &Receiver<ToProbes>) -> bool {
        loop {
            match hears.try_recv() {
                Ok(ToProbes::Set { plan, address, snmp }) => self.set(*plan, address, snmp),
                Ok(ToProbes::Remove(device)) => self.remove(device),
                Ok(ToProbes::Snmp(device, answers)) => self.probing.set_snmp(device, answers),
                Ok(ToProbes::Check(device)) => self.probing.check_soon(device),
                Ok(ToProbes::Stop) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn shown(&self, device: u32, change: impl FnOnce(&mut ProbedShown)) {
        let mut devices = self.shared.probes.devices.lock().unwrap_or_else(PoisonError::into_inner);
        change(devices.entry(device).or_default());
    }

    fn set(&mut self, plan: Plan, address: IpAddr, snmp: Option<bool>) {
        let id = plan.device;
        if let Err(why) = self.probing.add(plan.target(address)) {
            self.remove(id);
            return self.news.put(ToOwner::Unpolled(id, why.to_string()));
        }
        if let Some(answers) = snmp {
            self.probing.set_snmp(id, answers);
        }
        let known: BTreeSet<u32> = plan.written.keys().copied().collect();
        let is_always_up = plan.availability.probes.is_empty();
        let health = self.probing.standing(id).unwrap_or_default().health.state();
        self.shown(id, |shown| {
            shown.decides = plan.decides;
            shown.sources = plan.sources.len();
            // What is not read any more is not wrong; what cannot be read is told here.
            let unreadable: BTreeSet<u32> = plan.unreadable.iter().map(|(source, _)| *source).collect();
            let before = core::mem::replace(&mut shown.unreadable, unreadable);
            let stays = |source: u32| known.contains(&source) && !before.contains(&source);
            shown.faults.retain(|source, _| source.is_none_or(stays));
            shown.missed.retain(|source, _| source.is_none_or(|source| known.contains(&source)));
            if is_always_up {
                shown.faults.remove(&None);
            }
            shown.faults.extend(plan.unreadable.iter().map(|(source, why)| (Some(*source), why.clone())));
            let health = health.or(is_always_up.then_some(Change::Up));
            if shown.health != health {
                (shown.health, shown.since_ms) = (health, super::clock::unix_ms());
            }
        });
        let wants_echo = plan.wants_echo();
        self.forget(id);
        self.sums.sources += plan.written.len();
        self.sums.echo[usize::from(!address.is_ipv4())] += usize::from(wants_echo);
        self.probed.insert(id, Probed { address, wants_echo, sources: plan.sources, written: plan.written });
        self.begin_aside(id);
    }

    /// Reads in real time what somebody looks at, and no more.
    fn follow_watchers(&mut self) {
        let Some(wanted) = self.shared.realtime.changed(&mut self.watched_version) else { return };
        let gone: Vec<u32> = self.aside.keys().filter(|device| !wanted.contains_key(device)).copied().collect();
        gone.into_iter().for_each(|device| self.end_aside(device));
        // What is read as before goes on: begun anew, it would lose a round.
        let is_new = |(device, of): &(&u32, &OfDevice)| self.aside.get(*device) != Some(*of);
        let devices: Vec<u32> = wanted.iter().filter(is_new).map(|(device, _)| *device).collect();
        self.wanted = wanted;
        devices.into_iter().for_each(|device| self.begin_aside(device));
    }

    /// Begins to read a device in real time, or goes on with other data sources of it, or with the same ones otherwise.
    fn begin_aside(&mut self, device: u32) {
        let Some(wanted) = self.wanted.get(&device) else { return };
        let Some(probed) = self.probed.get(&device) else { return self.end_aside(device) };
        let these = probed.sources.iter().filter(|source| wanted.sources.contains(&source.id));
        let sources: Vec<probe::Source> =
            these.map(|source| probe::Source { step_s: wanted.step_s, ..source.clone() }).collect();
        if sources.is_empty() {
            return self.end_aside(device);
        }
        // Whether it is up is found out as it always is.
        let availability = Availability { probes: Vec::new(), ..Availability::default() };
        let (id, address, step_s) = (device | ASIDE, probed.address, wanted.step_s);
        let target = probe::Target { id, address, availability, step_s, sources, is_counted: false };
        // What is wrong with it is told of the same device as it is always read.
        if self.probing.add(target).is_ok() {
            self.aside.insert(device, wanted.clone());
        }
    }

    fn end_aside(&mut self, device: u32) {
        if self.aside.remove(&device).is_some() {
            self.probing.remove(device | ASIDE);
        }
    }

    fn forget(&mut self, id: u32) {
        if let Some(before) = self.probed.remove(&id) {
            self.sums.sources -= before.written.len();
            self.sums.echo[usize::from(!before.address.is_ipv4())] -= usize::from(before.wants_echo);
        }
    }

    fn remove(&mut self, id: u32) {
        self.end_aside(id);
        self.forget(id);
        self.probing.remove(id);
        self.shared.probes.devices.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn samples(&mut self) {
        let mut fresh: Vec<(u32, u32)> = Vec::new();
        let mut devices = self.shared.probes.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let said = self.shared.said.read();
        for sample in self.probing.samples() {
            let written = self.probed.get(&(sample.device & !ASIDE));
            let written = written.and_then(|probed| probed.written.get(&sample.source));
            let Some(taken) = written.and_then(|written| taken(written, &sample)) else { continue };
            if sample.device & ASIDE != 0 {
                let before = taken.before.as_deref();
                self.shared.realtime.take(sample.source, sample.unix_ms, before, &taken.values);
                continue;
            }
            let is_known = sample.readings.iter().any(Reading::is_known);
            if is_known {
                let shown = devices.entry(sample.device).or_default();
                shown.answered_ms = shown.answered_ms.max(Some(sample.unix_ms));
            }
            match (said.contains(&sample.source), is_known) {
                (true, _) => {}
                (false, true) => fresh.push((sample.device, sample.source)),
                (false, false) => {
                    self.silent_samples += 1;
                    continue;
                }
            }
            if let Some(before) = &taken.before {
                self.records.put(sample.source, sample.unix_ms - 1, before);
            }
            self.records.put(sample.source, sample.unix_ms, &taken.values);
            self.samples += 1;
        }
        drop((devices, said));
        if self.records.samples() > 0 {
            // What is dropped is counted there.
            let _ = self.intake.put(&self.records);
            self.records.clear();
        }
        self.shared.said.add(fresh.iter().map(|(_, source)| *source));
        let devices: BTreeSet<u32> = fresh.into_iter().map(|(device, _)| device).collect();
        devices.into_iter().for_each(|device| self.news.put(ToOwner::Said(device)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Health { device, change, unix_ms } => {
                self.shown(device, |shown| (shown.health, shown.since_ms) = (Some(change), unix_ms));
                self.news.put(ToOwner::Probed(device, change));
            }
            Event::Answered { device, began_ms } => {
                self.shown(device, |shown| shown.reached_ms = shown.reached_ms.max(Some(began_ms)));
            }
            Event::Flapping { device, begins, .. } => {
                self.shown(device, |shown| shown.is_flapping = begins);
                self.news.put(ToOwner::Flapping(device, begins));
            }
            Event::Missed { device, source, count } => {
                self.shown(device, |shown| _ = shown.missed.insert(source, count));
            }
            Event::Fault { device, source, text } => {
                self.shown(device, |shown| _ = shown.faults.insert(source, text));
            }
            Event::Mended { device, source } => self.shown(device, |shown| _ = shown.faults.remove(&source)),
        }
    }

    fn show(&mut self) {
        let (since, before, rate) = self.rate;
        let passed = since.elapsed().as_secs_f64();
        if passed >= RATE_S {
            self.rate = (Instant::now(), self.samples, (self.samples - before) as f64 / passed);
        }
        let [v4, v6] = self.probing.rights().map(|right| right.err().map(str::to_owned));
        let level = Level {
            counts: *self.probing.prober().counts(),
            outstanding: self.probing.prober().outstanding(),
            sources: self.sums.sources,
            silent_samples: self.silent_samples,
            samples_per_s: rate,
            no_right: [v4.filter(|_| self.sums.echo[0] > 0), v6.filter(|_| self.sums.echo[1] > 0)],
        };
        *self.shared.probes.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }
}
