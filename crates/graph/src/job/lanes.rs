//! A lane: a thread that polls its devices and gives what it reads to the journal.

mod aside;

use super::intake::Intake;
use super::news::News;
use super::owner::ToOwner;
use super::realtime::ASIDE;
use super::shown::DeviceShown;
use super::{Options, Polling, PollingOptions, Shared};
use crate::discovery::{Exploration, Findings, Step};
use crate::journal::Records;
use crate::poller::{Batch, Change, Counts, Event, Now, Target, WalkEnd};
use crate::reads::Reads;
use crate::realtime::OfDevice;
use crate::targets::Plan;
use aside::Aside;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use trunkline_kit::random::mixed;
use trunkline_net::AskingCounts;
use trunkline_rrd::Value;

/// How long a lane may take to hear what it is told.
const HEARS_WITHIN: Duration = Duration::from_millis(50);
/// Seconds over which samples a second are counted.
const RATE_S: f64 = 10.0;

/// What a lane is told.
#[derive(Debug)]
pub(super) enum ToLane {
    /// A device is polled so from now on. Where its rows are what it had after so many new starts, and there were no
    /// more since, samples of them count again.
    Set { plan: Box<Plan>, address: SocketAddr, fresh: Option<u32> },
    /// It is not polled any more.
    Remove(u32),
    /// It is looked at.
    Explore(u32, Box<Exploration>),
    /// Somebody waits to hear whether a device answers.
    Check(u32),
    /// The lane ends.
    Stop,
}

/// What a lane shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub devices: Mutex<BTreeMap<u32, DeviceShown>>,
    pub level: Mutex<Level>,
}

/// How a lane stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    pub counts: Counts,
    pub sockets: AskingCounts,
    pub outstanding: usize,
    pub sources: usize,
    pub stale_samples: u64,
    pub silent_samples: u64,
    pub samples_per_s: f64,
}

/// The lane of a device.
pub(super) fn lane_of(device: u32, lanes: usize) -> usize {
    (mixed(device.into()) % lanes.max(1) as u64) as usize
}

/// A device as the lane has it.
struct Polled {
    /// Without what is read, which follows from `reads`.
    target: Target,
    reads: Reads,
    exploration: Option<Exploration>,
    /// How often walks were begun: those that were dropped are known by it.
    walks: u32,
    /// How often it has started anew, now and when it was begun to be looked at.
    starts: u32,
    explored_starts: u32,
}

/// See the module.
pub(super) struct Lane {
    shared: Arc<Shared>,
    place: usize,
    polling: Polling,
    intake: Intake,
    news: News,
    polled: HashMap<u32, Polled>,
    /// What is to be read in real time, of all devices; and those of this lane of which something is.
    wanted: BTreeMap<u32, OfDevice>,
    watched_version: u64,
    aside: BTreeMap<u32, Aside>,
    records: Records,
    stale_samples: u64,
    silent_samples: u64,
    rate: (Instant, u64, f64),
    samples: u64,
    shown_at: Option<Instant>,
}

impl Lane {
    pub fn open(
        shared: Arc<Shared>,
        place: usize,
        options: &Options,
        intake: Intake,
        to_owner: SyncSender<ToOwner>,
    ) -> io::Result<Lane> {
        let polling = Polling::open(&PollingOptions {
            sockets: options.sockets,
            buffer_octets: options.buffer_octets,
            seed: RandomState::new().hash_one(place),
        })?;
        let news = News::new(to_owner, Arc::clone(&shared.news_left_out));
        Ok(Lane {
            shared,
            place,
            polling,
            intake,
            news,
            polled: HashMap::new(),
            wanted: BTreeMap::new(),
            watched_version: 0,
            aside: BTreeMap::new(),
            records: Records::default(),
            stale_samples: 0,
            silent_samples: 0,
            rate: (Instant::now(), 0, 0.0),
            samples: 0,
            shown_at: None,
        })
    }

    pub fn run(mut self, hears: &Receiver<ToLane>) {
        while self.listen(hears) {
            self.polling.turn(HEARS_WITHIN);
            let batch = core::mem::take(self.polling.lane().batch());
            self.take(&batch);
            self.news.tell();
            // That takes a look at each device: not after each of the thousands of turns in a second.
            if self.shown_at.is_none_or(|at| at.elapsed() >= HEARS_WITHIN) {
                self.shown_at = Some(Instant::now());
                self.follow_watchers();
                self.show();
            }
        }
    }

    /// Hears what it is told; whether it goes on.
    fn listen(&mut self, hears: &Receiver<ToLane>) -> bool {
        loop {
            match hears.try_recv() {
                Ok(ToLane::Set { plan, address, fresh }) => self.set(*plan, address, fresh),
                Ok(ToLane::Remove(device)) => self.remove(device),
                Ok(ToLane::Explore(device, exploration)) => self.explore(device, *exploration),
                Ok(ToLane::Check(device)) => {
                    let now = self.polling.now();
                    self.polling.lane().check_soon(device, now);
                }
                Ok(ToLane::Stop) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn shown(&self, device: u32, change: impl FnOnce(&mut DeviceShown)) {
        let mut devices = self.shared.lanes[self.place].devices.lock().unwrap_or_else(PoisonError::into_inner);
        change(devices.entry(device).or_default());
    }

    fn set(&mut self, plan: Plan, address: SocketAddr, fresh: Option<u32>) {
        let id = plan.device;
        let unreadable = plan.unreadable;
        let target = Target { id, address, access: plan.access, settings: plan.settings, sources: Vec::new() };
        let empty =
            Polled { target, reads: Reads::default(), exploration: None, walks: 0, starts: 0, explored_starts: 0 };
        let before = self.polled.remove(&id);
        let mut polled = Polled { target: empty.target.clone(), ..before.unwrap_or(empty) };
        polled.reads = Reads::new(plan.recipes, polled.reads);
        let (sources, is_fresh) = (polled.reads.len(), fresh == Some(polled.starts));
        self.polled.insert(id, polled);
        self.shown(id, |shown| {
            shown.sources = sources;
            shown.unreadable = unreadable;
            shown.is_stale &= !is_fresh;
        });
        self.ask(id);
        self.begin_aside(id, fresh.is_some());
    }

    /// Has the device asked for what is to be read of it now. That drops its walks: they are begun again.
    fn ask(&mut self, id: u32) {
        let Some(polled) = self.polled.get_mut(&id) else { return };
        let target = Target { sources: polled.reads.sources(), ..polled.target.clone() };
        let now = self.polling.now();
        if let Err(why) = self.polling.lane().add(target, now) {
            self.news.put(ToOwner::Unpolled(id, why.to_string()));
            return;
        }
        if let Some(exploration) = &mut polled.exploration {
            let roots = exploration.again();
            polled.walks = polled.walks.wrapping_add(1);
            begin(&mut self.polling, id, polled.walks, roots, now);
        }
    }

    fn remove(&mut self, id: u32) {
        self.end_aside(id);
        self.polled.remove(&id);
        self.polling.lane().remove(id);
        self.shared.lanes[self.place].devices.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn explore(&mut self, id: u32, mut exploration: Exploration) {
        let Some(polled) = self.polled.get_mut(&id) else { return };
        let roots = exploration.roots();
        polled.walks = polled.walks.wrapping_add(1);
        polled.explored_starts = polled.starts;
        let is_first = polled.exploration.replace(exploration).is_none();
        let (walks, now) = (polled.walks, self.polling.now());
        self.shown(id, |shown| shown.is_explored = true);
        if is_first {
            begin(&mut self.polling, id, walks, roots, now);
        } else {
            // The walks of the one before are dropped.
            self.ask(id);
        }
    }

    fn take(&mut self, batch: &Batch) {
        self.samples(batch);
        if !self.aside.is_empty() {
            self.samples_aside(batch);
        }
        for walked in batch.walked() {
            let Some((polled, place)) = self.walk_of(walked.device, walked.walk) else { continue };
            if let Some(exploration) = &mut polled.exploration {
                exploration.take(place, &walked.varbind);
            }
        }
        // Of devices that are read in real time it is told as they are always read.
        for event in batch.events().iter().filter(|event| event.device() & ASIDE == 0) {
            self.happen(*event);
        }
    }

    /// The device of a walk that was not dropped, and the walk's place.
    fn walk_of(&mut self, device: u32, walk: u64) -> Option<(&mut Polled, usize)> {
        let polled = self.polled.get_mut(&device).filter(|polled| u64::from(polled.walks) == walk >> 32)?;
        Some((polled, (walk & 0xffff_ffff) as usize))
    }

    fn samples(&mut self, batch: &Batch) {
        let (mut anew, mut stale, mut fresh) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        let mut devices = self.shared.lanes[self.place].devices.lock().unwrap_or_else(PoisonError::into_inner);
        let said = self.shared.said.read();
        for sample in batch.samples() {
            let Some(polled) = self.polled.get_mut(&sample.device) else { continue };
            let of_row = polled.reads.is_of_row(sample.source);
            let Some(taken) = polled.reads.take(&sample) else { continue };
            if taken.asks_anew {
                anew.insert(sample.device);
            }
            let shown = devices.entry(sample.device).or_default();
            let is_known = sample.readings.iter().any(crate::poller::Reading::is_known);
            if is_known {
                shown.answered_ms = shown.answered_ms.max(Some(sample.unix_ms));
            }
            if sample.is_restarted && stale.insert(sample.device) {
                polled.starts = polled.starts.wrapping_add(1);
                shown.is_stale = true;
            }
            // Whose numbers may have changed is left out until they are known again. What was counted before must not
            // be taken together with what comes then.
            if shown.is_stale && of_row {
                self.stale_samples += 1;
                if taken.before.is_some() && said.contains(&sample.source) {
                    self.records.put(sample.source, sample.unix_ms - 1, &vec![Value::Unknown; taken.values.len()]);
                }
                continue;
            }
            // What has never said anything gets no file.
            match (said.contains(&sample.source), is_known) {
                (true, _) => {}
                (false, true) => drop(fresh.insert(sample.source, sample.device)),
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
        self.shared.said.add(fresh.keys().copied());
        let said: BTreeSet<u32> = fresh.into_values().collect();
        said.into_iter().for_each(|device| self.news.put(ToOwner::Said(device)));
        anew.into_iter().for_each(|device| self.ask(device));
        stale.into_iter().for_each(|device| self.news.put(ToOwner::Stale(device)));
    }

    fn happen(&mut self, event: Event) {
        let now_ms = super::clock::unix_ms();
        match event {
            Event::Health { device, change } => {
                self.shown(device, |shown| {
                    shown.health = Some(change);
                    shown.since_ms = now_ms;
                    shown.refused = shown.refused.filter(|_| change == Change::Down);
                });
                self.news.put(ToOwner::Health(device, change));
            }
            Event::Answered { device, began_ms } => {
                self.shown(device, |shown| shown.reached_ms = shown.reached_ms.max(Some(began_ms)));
            }
            Event::Restarted { device, .. } => self.shown(device, |shown| shown.restarts += 1),
            Event::Missed { device, count } => self.shown(device, |shown| shown.missed = count),
            Event::Refused { device, cause } => self.shown(device, |shown| shown.refused = Some(cause)),
            Event::Gone { device, .. } => self.news.put(ToOwner::Moved(device)),
            Event::Walked { device, walk, end } => self.walked(device, walk, end),
            Event::Cut { .. } | Event::EngineChanged { .. } | Event::Returned { .. } => {}
        }
    }

    fn walked(&mut self, device: u32, walk: u64, end: WalkEnd) {
        let library = self.shared.library();
        let Some((polled, place)) = self.walk_of(device, walk) else { return };
        let Some(exploration) = &mut polled.exploration else { return };
        match exploration.ended(place, end, &library) {
            Step::Wait => {}
            Step::Walk => {
                let roots = exploration.roots();
                polled.walks = polled.walks.wrapping_add(1);
                let (walks, now) = (polled.walks, self.polling.now());
                begin(&mut self.polling, device, walks, roots, now);
            }
            Step::Done(findings) => self.explored(device, Ok(findings)),
            Step::Failed(why) => self.explored(device, Err(why)),
        }
    }

    fn explored(&mut self, device: u32, found: Result<Box<Findings>, &'static str>) {
        let mut starts = 0;
        if let Some(polled) = self.polled.get_mut(&device) {
            polled.exploration = None;
            // Walks of it that are still on their way are nobody's.
            polled.walks = polled.walks.wrapping_add(1);
            starts = polled.explored_starts;
        }
        self.shown(device, |shown| {
            shown.is_explored = false;
            shown.unexplored = found.as_ref().err().copied();
            // Who has told all of that is up, though its first cycle is still to come.
            if shown.health.is_none() && found.is_ok() {
                shown.health = Some(Change::Up);
                shown.since_ms = super::clock::unix_ms();
            }
        });
        self.news.put(ToOwner::Explored { device, starts, found });
    }

    /// Tells how it stands.
    fn show(&mut self) {
        let (since, before, rate) = self.rate;
        let passed = since.elapsed().as_secs_f64();
        if passed >= RATE_S {
            self.rate = (Instant::now(), self.samples, (self.samples - before) as f64 / passed);
        }
        let level = Level {
            counts: *self.polling.lane().counts(),
            sockets: self.polling.counts(),
            outstanding: self.polling.lane().outstanding(),
            sources: self.polled.values().map(|polled| polled.reads.len()).sum(),
            stale_samples: self.stale_samples,
            silent_samples: self.silent_samples,
            samples_per_s: rate,
        };
        *self.shared.lanes[self.place].level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }
}

/// Begins walks; each bears the number of their beginning and its place.
fn begin(polling: &mut Polling, device: u32, walks: u32, roots: Vec<trunkline_wire::snmp::ObjectId>, now: Now) {
    for (place, root) in roots.into_iter().enumerate() {
        // They are fewer than a device can have, and the device is there.
        let _ = polling.lane().walk(device, u64::from(walks) << 32 | place as u64, root, now);
    }
}
