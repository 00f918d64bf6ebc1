//! Devices, timers, and what goes in and out.

mod health;
mod orders;

pub use orders::{Order, Outcome};

use super::cadence::Cadence;
use super::event::{Event, FAULT_CHARS_MAX};
use super::flight::{Flight, KINDS, Kind, Part};
use super::round::{Echoes, Round, nanoseconds, unknown};
use super::target::{Check, PageKind, Source};
use super::{Counts, Flapping, PROBE_DEVICES_MAX, Target, TargetError};
use crate::inventory::Availability;
use crate::poller::{Batch, Health, Now, Reading, Sample, Unknown};
use core::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::IpAddr;
use trunkline_kit::random::mixed;

/// Between two echo requests of a round, at most: what ping allows everybody.
const ECHO_INTERVAL_NS: u64 = 200_000_000;

/// How much is on its way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Echo requests, at most [`ECHOES_MAX`](super::ECHOES_MAX).
    pub echoes: usize,
    /// Ports, at most [`PORTS_MAX`](super::PORTS_MAX): a file of the system each.
    pub ports: usize,
    /// Programs, at most [`PROGRAMS_MAX`](super::PROGRAMS_MAX): a process and three files each.
    pub programs: usize,
    /// Pages, at most [`PAGES_MAX`](super::PAGES_MAX): a file each.
    pub pages: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { echoes: 2048, ports: 256, programs: 16, pages: 128 }
    }
}

/// How a device is found at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether it is up.
    pub health: Health,
    /// Whether it is that only now and then.
    pub flapping: Flapping,
}

/// Probes its devices.
#[derive(Debug)]
pub struct Prober {
    devices: HashMap<u32, Device>,
    tasks: HashMap<u64, Task>,
    task_last: u64,
    timers: BinaryHeap<Reverse<(u64, Timer)>>,
    flight: Flight,
    /// By [`Kind`]: what waits until less is on its way.
    waiting: [VecDeque<Part>; 4],
    orders: Vec<Order>,
    batch: Batch,
    events: Vec<Event>,
    counts: Counts,
}

#[derive(Debug)]
struct Device {
    address: IpAddr,
    availability: Availability,
    standing: Standing,
    /// Whether it answers SNMP, as the poller says.
    snmp: Option<bool>,
    tasks: Vec<u64>,
    /// Somebody waits to hear whether it answers.
    is_waited_for: bool,
    /// When the last round of health began; and by the clock on the wall, where somebody waits for that one.
    begun_ns: Option<u64>,
    waited_for_since_ms: Option<i64>,
}

/// What is done again and again.
#[derive(Debug)]
struct Task {
    device: u32,
    /// What is read; none is whether the device is up.
    source: Option<Source>,
    cadence: Cadence,
    round: Option<Round>,
    missed: u64,
    fault: Option<String>,
    /// When what counts there has begun, by its own word.
    started: Option<f64>,
    has_sample: bool,
    /// Whether its rounds and readings are among those that are counted.
    is_counted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// A round begins.
    Round(u64),
    /// The next echo request of a round is sent.
    Next(u64),
    /// The answer to an echo request has not come.
    Echo(u16, u64),
    /// Nor has that to something else.
    Ticket(u64),
}

impl Prober {
    /// Without devices. `seed` makes the numbers in echo requests unforeseeable: by chance.
    pub fn new(limits: &Limits, seed: u64) -> Prober {
        Prober {
            devices: HashMap::new(),
            tasks: HashMap::new(),
            task_last: 0,
            timers: BinaryHeap::new(),
            flight: Flight::new([limits.echoes, limits.ports, limits.programs, limits.pages], seed),
            waiting: Default::default(),
            orders: Vec::new(),
            batch: Batch::default(),
            events: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Takes in a device, whose first rounds begin within five seconds; or one anew that is described in another way:
    /// its rounds end without a word, and if it is where it was, what was learned of it stays.
    ///
    /// # Errors
    /// The description has a fault; everything is as it was.
    pub fn add(&mut self, target: Target, now: Now) -> Result<(), TargetError> {
        target.check()?;
        let Target { id, address, availability, step_s, sources, is_counted } = target;
        if self.devices.len() >= PROBE_DEVICES_MAX && !self.devices.contains_key(&id) {
            return Err(TargetError::Devices);
        }
        let (before, learned) = self.take_out(id).unzip();
        let mut device = Device {
            address,
            availability,
            standing: Standing::default(),
            snmp: None,
            tasks: Vec::new(),
            is_waited_for: false,
            begun_ns: None,
            waited_for_since_ms: None,
        };
        if let Some(before) = before.filter(|before: &Device| before.address == address) {
            device.snmp = before.snmp;
            (device.is_waited_for, device.begun_ns) = (before.is_waited_for, before.begun_ns);
            if before.availability == device.availability {
                device.standing = before.standing;
            }
        }
        let learned: Vec<Task> = learned.unwrap_or_default();
        let is_watched = !device.availability.probes.is_empty();
        let rounds = is_watched.then_some(None).into_iter().chain(sources.into_iter().map(Some));
        for source in rounds {
            let (number, step_s) =
                source.as_ref().map_or((u64::MAX, step_s), |source| (source.id.into(), source.step_s));
            let mut cadence = Cadence::new(mixed(number) ^ u64::from(id), step_s, now.steady_ns);
            let mut task = Task::new(id, source, cadence);
            if let Some(before) = learned.iter().find(|before| before.number() == task.number()) {
                cadence.inherit(&before.cadence);
                task.inherit(before);
            }
            (task.cadence, task.is_counted) = (cadence, is_counted);
            self.task_last += 1;
            self.timers.push(Reverse((cadence.due_ns, Timer::Round(self.task_last))));
            device.tasks.push(self.task_last);
            self.tasks.insert(self.task_last, task);
        }
        self.devices.insert(id, device);
        Ok(())
    }

    /// Forgets a device; says whether it was there. What is on its way for it is given up.
    pub fn remove(&mut self, id: u32) -> bool {
        self.take_out(id).is_some()
    }

    fn take_out(&mut self, id: u32) -> Option<(Device, Vec<Task>)> {
        let device = self.devices.remove(&id)?;
        let tasks = device.tasks.iter().filter_map(|task| self.tasks.remove(task)).collect();
        for task in &device.tasks {
            self.give_up(*task);
        }
        self.waiting.iter_mut().for_each(|waiting| waiting.retain(|part| !device.tasks.contains(&part.task)));
        Some((device, tasks))
    }

    fn give_up(&mut self, task: u64) {
        let tickets = self.flight.forget(task);
        self.orders.extend(tickets.into_iter().map(|ticket| Order::Cancel { ticket }));
    }

    /// Whether a device answers SNMP, as the poller says: one of the probes that tell whether it is up.
    pub fn set_snmp(&mut self, id: u32, answers: bool) {
        if let Some(device) = self.devices.get_mut(&id) {
            device.snmp = Some(answers);
        }
    }

    /// How a device is found at present; none if it is not there.
    pub fn standing(&self, id: u32) -> Option<Standing> {
        self.devices.get(&id).map(|device| device.standing)
    }

    /// Devices.
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Whether it has no device.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// How much is on its way: echo requests, ports, programs, pages.
    pub fn outstanding(&self) -> [usize; 4] {
        self.flight.open()
    }

    /// What it has counted.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What is to be done, in its order; it counts as begun.
    pub fn orders(&mut self) -> Vec<Order> {
        core::mem::take(&mut self.orders)
    }

    /// Samples of rounds that are over, in their order.
    pub fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        self.batch.samples()
    }

    /// What has happened, in its order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Forgets samples and events.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.events.clear();
    }

    /// When [`Prober::handle_timeout`] is due: at once if something waits that has room now. None without devices.
    pub fn next_timeout_ns(&self) -> Option<u64> {
        let can_go = |kind: &Kind| !self.waiting[*kind as usize].is_empty() && self.flight.has_room(*kind);
        if KINDS.iter().any(can_go) { Some(0) } else { self.next_timer_ns() }
    }

    fn next_timer_ns(&self) -> Option<u64> {
        self.timers.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Does what is due: begins rounds, goes on with them, gives up.
    pub fn handle_timeout(&mut self, now: Now) {
        while self.next_timer_ns().is_some_and(|at_ns| at_ns <= now.steady_ns) {
            let Some(Reverse((_, timer))) = self.timers.pop() else { return };
            match timer {
                Timer::Round(task) => self.round_due(task, now),
                Timer::Next(task) => self.want(Part { task, place: 0 }, now),
                Timer::Echo(sequence, token) => self.echo_lost(sequence, token, now),
                Timer::Ticket(ticket) => self.ticket_late(ticket, now),
            }
        }
        KINDS.into_iter().for_each(|kind| self.let_go(kind, now));
    }

    fn round_due(&mut self, id: u64, now: Now) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let missed = task.cadence.next(now.steady_ns) + u64::from(task.round.is_some());
        task.missed += missed;
        let (device, source, count) = (task.device, task.number(), task.missed);
        self.timers.push(Reverse((task.cadence.due_ns, Timer::Round(id))));
        let (is_running, counted) = (task.round.is_some(), u64::from(task.is_counted));
        if missed > 0 {
            self.counts.missed += missed * counted;
            self.events.push(Event::Missed { device, source, count });
        }
        if !is_running {
            self.counts.rounds += counted;
            self.begin(id, now);
        }
    }

    fn begin(&mut self, id: u64, now: Now) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let Some(source) = &task.source else { return self.begin_health(id, now) };
        let is_down = self.devices.get(&task.device).is_some_and(|device| device.standing.health.is_down());
        if is_down && source.check.is_left_out() {
            self.counts.down += 1;
            let readings = unknown(&source.reads, Unknown::Down);
            return self.end(id, &readings, None, now);
        }
        task.round = Some(match source.check {
            Check::Icmp { count, .. } => {
                let step_ns = u64::from(source.step_s) * 1_000_000_000;
                let interval_ns = (step_ns / 2 / u64::from(count)).min(ECHO_INTERVAL_NS);
                Round::Echoes(Echoes { wanted: count, interval_ns, ..Echoes::default() })
            }
            _ => Round::One,
        });
        self.want(Part { task: id, place: 0 }, now);
    }

    /// Goes on with a part of a round, now or when there is room.
    fn want(&mut self, part: Part, now: Now) {
        let Some(kind) = self.kind(part) else { return };
        if self.flight.has_room(kind) && self.waiting[kind as usize].is_empty() {
            return self.go(part, now);
        }
        self.counts.held += 1;
        self.waiting[kind as usize].push_back(part);
    }

    /// Lets those go on that wait, as far as there is room.
    fn let_go(&mut self, kind: Kind, now: Now) {
        while self.flight.has_room(kind) {
            let Some(part) = self.waiting[kind as usize].pop_front() else { return };
            self.go(part, now);
        }
    }

    /// Ends a round: its sample, and what was wrong.
    fn end(&mut self, id: u64, readings: &[Reading], fault: Option<String>, now: Now) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let Some(source) = &task.source else { return };
        // What this program counts begins with it.
        let is_first = !task.has_sample && source.check == Check::Program;
        self.tell(id, readings, is_first, fault, now);
    }

    fn tell(&mut self, id: u64, readings: &[Reading], is_restarted: bool, fault: Option<String>, now: Now) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let Some(source) = &task.source else { return };
        let known = readings.iter().filter(|reading| reading.is_known()).count() as u64;
        if task.is_counted {
            self.counts.readings += known;
            self.counts.unknown += readings.len() as u64 - known;
        }
        let sample = Sample { device: task.device, source: source.id, unix_ms: now.unix_ms, is_restarted, readings };
        self.batch.sample(&sample);
        (task.round, task.has_sample) = (None, true);
        self.set_fault(id, fault);
    }

    /// Tells what is wrong, once.
    fn set_fault(&mut self, id: u64, fault: Option<String>) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let fault = fault.map(|text| text.chars().take(FAULT_CHARS_MAX).collect::<String>());
        if task.fault == fault {
            return;
        }
        let (device, source) = (task.device, task.number());
        self.events.push(match &fault {
            Some(text) => Event::Fault { device, source, text: text.clone() },
            None => Event::Mended { device, source },
        });
        task.fault = fault;
    }
}

impl Task {
    fn new(device: u32, source: Option<Source>, cadence: Cadence) -> Task {
        Task {
            device,
            source,
            cadence,
            round: None,
            missed: 0,
            fault: None,
            started: None,
            has_sample: false,
            is_counted: true,
        }
    }

    /// The number of its data source.
    fn number(&self) -> Option<u32> {
        self.source.as_ref().map(|source| source.id)
    }

    fn inherit(&mut self, before: &Task) {
        self.missed = before.missed;
        self.fault.clone_from(&before.fault);
        (self.started, self.has_sample) = (before.started, before.has_sample);
    }
}

impl Check {
    /// What shares a bound with it.
    fn kind(&self) -> Kind {
        match self {
            Check::Icmp { .. } => Kind::Echo,
            Check::Tcp { .. } | Check::Udp { .. } => Kind::Port,
            Check::Script { .. } => Kind::Program,
            Check::Page { .. } | Check::Program => Kind::Page,
        }
    }

    /// Whether it is not even tried while its device is down: silence would tell nothing.
    fn is_left_out(&self) -> bool {
        matches!(self, Check::Script { .. } | Check::Page { kind: PageKind::Json | PageKind::Prometheus, .. })
    }

    fn timeout_ns(&self) -> u64 {
        self.timeout().map_or(u64::MAX, nanoseconds)
    }
}
