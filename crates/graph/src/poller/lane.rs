//! A lane: devices, timers, and what goes in and out.

use super::cycle::{Cycle, UptimeState};
use super::device::Device;
use super::outstanding::{Outstanding, Standing};
use super::timers::Timers;
use super::walk::Walk;
use super::{
    Batch, Counts, DEVICES_MAX, Event, Health, Sample, Target, TargetError, Unknown, WALKS_MAX, WalkEnd, WalkError,
};
use core::fmt;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use trunkline_kit::random::mixed;
use trunkline_wire::snmp::{Cause, ObjectId};

/// What time it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Nanoseconds of a clock that goes on evenly and never back.
    pub steady_ns: u64,
    /// Milliseconds since 1970, of a clock that people set.
    pub unix_ms: i64,
}

/// How a lane is made.
#[derive(Clone, Copy, Debug)]
pub struct LaneOptions {
    /// Requests that are on their way at once, at most [`OUTSTANDING_MAX`](super::OUTSTANDING_MAX): as many as there
    /// is room for their answers in the socket.
    pub outstanding_max: usize,
    /// What makes request numbers and salts unforeseeable: by chance, and never the same for the same keys.
    pub seed: u64,
}

/// Polls its devices. What it sends is not shown: communities are among it.
pub struct Lane {
    pub(super) devices: Vec<Option<Device>>,
    by_id: HashMap<u32, u32>,
    free: Vec<u32>,
    timers: Timers,
    pub(super) outstanding: Outstanding,
    /// Devices that wait for room, by standing.
    held: [VecDeque<u32>; 3],
    pub(super) transmits: Vec<(SocketAddr, usize)>,
    pub(super) octets: Vec<u8>,
    pub(super) batch: Batch,
    pub(super) counts: Counts,
    pub(super) salt: u64,
    pub(super) scratch: Vec<u8>,
    pub(super) opened: Vec<u8>,
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Lane");
        shown.field("devices", &self.devices).field("outstanding", &self.outstanding).field("counts", &self.counts);
        shown.finish_non_exhaustive()
    }
}

impl Lane {
    /// Without devices.
    pub fn new(options: &LaneOptions) -> Lane {
        Lane {
            devices: Vec::new(),
            by_id: HashMap::new(),
            free: Vec::new(),
            timers: Timers::default(),
            outstanding: Outstanding::new(options.outstanding_max, options.seed),
            held: [const { VecDeque::new() }; 3],
            transmits: Vec::new(),
            octets: Vec::new(),
            batch: Batch::default(),
            counts: Counts::default(),
            salt: mixed(!options.seed),
            scratch: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// Takes in a device, whose first cycle begins within five seconds; or one anew that is described in another way.
    /// Then its cycle and its walks end without a word, and if it is found and let in as before, all that was learned
    /// of it stays.
    ///
    /// # Errors
    /// The description has a fault; the lane is as it was.
    pub fn add(&mut self, target: Target, now: Now) -> Result<(), TargetError> {
        target.check()?;
        let id = target.id;
        if self.by_id.len() >= DEVICES_MAX && !self.by_id.contains_key(&id) {
            return Err(TargetError::Devices);
        }
        let before = self.take_out(id);
        let mut device = Device::new(target, now.steady_ns);
        if let Some(before) = before {
            device.inherit(before);
        }
        let slot = self.free.pop().unwrap_or(self.devices.len() as u32);
        match self.devices.get_mut(slot as usize) {
            Some(place) => *place = Some(device),
            None => self.devices.push(Some(device)),
        }
        self.by_id.insert(id, slot);
        self.set_timer(slot);
        Ok(())
    }

    /// Forgets a device; says whether it was there.
    pub fn remove(&mut self, id: u32) -> bool {
        self.take_out(id).is_some()
    }

    fn take_out(&mut self, id: u32) -> Option<Device> {
        let slot = self.by_id.remove(&id)?;
        self.drop_requests(slot, |_| true);
        self.held.iter_mut().for_each(|held| held.retain(|held| *held != slot));
        self.free.push(slot);
        self.devices[slot as usize].take()
    }

    /// Walks all variables below `root`; `walk` is the number that its variables and its end will bear.
    ///
    /// # Errors
    /// It cannot be begun.
    pub fn walk(&mut self, id: u32, walk: u64, root: ObjectId, now: Now) -> Result<(), WalkError> {
        let slot = *self.by_id.get(&id).ok_or(WalkError::NoDevice)?;
        let device = self.devices[slot as usize].as_mut().ok_or(WalkError::NoDevice)?;
        if device.walks.len() >= WALKS_MAX {
            return Err(WalkError::TooMany);
        }
        device.walks.push_back(Walk::new(walk, root));
        self.advance(slot, now);
        Ok(())
    }

    /// Has it told by [`Event::Answered`] if a device answers in its next cycle, which begins at once where none began
    /// in the last five seconds or would in the next. The cycle after it is where it would have been.
    pub fn check_soon(&mut self, id: u32, now: Now) {
        let Some(slot) = self.by_id.get(&id).copied() else { return };
        if self.device(slot).is_some_and(|device| device.check_soon(now.steady_ns)) {
            self.set_timer(slot);
        }
    }

    /// Whether a device is up; none if the lane does not have it.
    pub fn health(&self, id: u32) -> Option<Health> {
        let slot = *self.by_id.get(&id)?;
        self.devices[slot as usize].as_ref().map(|device| device.health)
    }

    /// What an answer of a device takes, nanoseconds; none while it is not known.
    pub fn round_trip_ns(&self, id: u32) -> Option<u64> {
        let slot = *self.by_id.get(&id)?;
        self.devices[slot as usize].as_ref()?.pace.round_trip_ns()
    }

    /// Devices.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether it has no device.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Requests that are on their way.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// What it has counted.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What was found since the batch was cleared.
    pub fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// What is to be sent: to whom, and the octets.
    pub fn transmits(&self) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        let starts = core::iter::once(0).chain(self.transmits.iter().map(|(_, end)| *end));
        self.transmits.iter().zip(starts).map(|((to, end), start)| (*to, &self.octets[start..*end]))
    }

    /// It was sent.
    pub fn clear_transmits(&mut self) {
        self.transmits.clear();
        self.octets.clear();
    }

    /// When [`Lane::handle_timeout`] is due; none without devices.
    pub fn next_timeout_ns(&self) -> Option<u64> {
        self.timers.next_ns()
    }

    /// Does what is due: begins cycles, asks again, gives up.
    pub fn handle_timeout(&mut self, now: Now) {
        while let Some((at_ns, slot)) = self.timers.due(now.steady_ns) {
            let Some(device) = self.device(slot) else { continue };
            if device.wake_ns != at_ns {
                continue;
            }
            device.wake_ns = u64::MAX;
            self.look(slot, now);
        }
        self.let_go(now);
    }

    pub(super) fn device(&mut self, slot: u32) -> Option<&mut Device> {
        self.devices.get_mut(slot as usize)?.as_mut()
    }

    fn look(&mut self, slot: u32, now: Now) {
        self.give_up_late(slot, now);
        let Some(device) = self.device(slot) else { return };
        if let Some(cycle) = device.cycle.as_mut().filter(|cycle| cycle.deadline_ns <= now.steady_ns) {
            let (id, readings) = (device.id, cycle.unresolved());
            if cycle.is_answered || !cycle.was_tried() {
                let is_counted = device.settings.is_counted;
                self.batch.event(Event::Cut { device: id, readings });
                self.counts.cycles_cut += u64::from(is_counted);
                self.end_cycle(slot, Unknown::NoTime, now);
            } else {
                self.end_cycle(slot, Unknown::Timeout, now);
            }
        }
        self.begin_cycle(slot, now);
        self.advance(slot, now);
    }

    fn begin_cycle(&mut self, slot: u32, now: Now) {
        let Some(device) = self.device(slot).filter(|device| device.due_ns <= now.steady_ns) else { return };
        let step_ns = device.step_ns();
        let gone_by = device.next_due(now.steady_ns);
        let missed = gone_by + u64::from(device.cycle.is_some());
        device.missed += missed;
        let (id, count, is_counted) = (device.id, device.missed, device.settings.is_counted);
        if device.cycle.is_none() {
            let budget_ns = step_ns / 100 * u64::from(device.settings.budget_percent);
            let deadline_ns = now.steady_ns + budget_ns;
            let mut cycle = Cycle::new(&device.variables, &mut device.absent, deadline_ns);
            cycle.is_careful = !device.health.is_well();
            cycle.is_waited_for_since_ms = core::mem::take(&mut device.is_waited_for).then_some(now.unix_ms);
            device.begun_ns = Some(now.steady_ns);
            if device.uptime_absent > 0 && !cycle.is_careful {
                device.uptime_absent -= 1;
                cycle.uptime = UptimeState::Done;
            }
            device.cycle = Some(cycle);
            self.counts.cycles += u64::from(is_counted);
        }
        if missed > 0 {
            self.counts.cycles_missed += missed * u64::from(is_counted);
            self.batch.event(Event::Missed { device: id, count });
        }
    }

    /// Ends a cycle: what was not answered is unknown for this reason.
    pub(super) fn end_cycle(&mut self, slot: u32, reason: Unknown, now: Now) {
        self.drop_requests(slot, |asked| asked.is_of_cycle());
        let Some(device) = self.devices.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let Some(mut cycle) = device.cycle.take() else { return };
        let is_answered = cycle.is_answered && !matches!(reason, Unknown::Refused(_) | Unknown::Unauthentic);
        // Where our own room was the reason, nothing is known of the device.
        let is_checked = cycle.is_answered || reason != Unknown::NoTime;
        let is_whole = cycle.is_done() && !cycle.is_lossy;
        let was_down = device.health.is_down();
        let is_away = was_down && (reason == Unknown::Timeout || !is_checked);
        cycle.give_up(if is_away { Unknown::Down } else { reason });
        if is_answered && is_whole {
            device.pace.went_well(&device.settings);
        }
        let settings = device.settings;
        if is_answered {
            device.refused = None;
        } else if is_checked {
            self.counts.cycles_failed += u64::from(settings.is_counted);
        } else {
            self.counts.cycles_unasked += u64::from(settings.is_counted);
        }
        let check = || device.health.check(is_answered, settings.failures_to_down, settings.successes_to_up);
        if let Some(change) = is_checked.then(check).flatten() {
            self.batch.event(Event::Health { device: device.id, change });
        }
        if let Some(began_ms) = cycle.is_waited_for_since_ms.filter(|_| is_answered) {
            self.batch.event(Event::Answered { device: device.id, began_ms });
        }
        tell(device, &cycle, now, &mut self.batch, &mut self.counts);
    }

    /// The device does not let us in.
    pub(super) fn refuse(&mut self, slot: u32, cause: Cause, now: Now) {
        let Some(device) = self.devices.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        if device.refused != Some(cause) {
            device.refused = Some(cause);
            self.batch.event(Event::Refused { device: device.id, cause });
        }
        self.end_walks(slot, WalkEnd::Refused(cause));
        self.end_cycle(slot, Unknown::Refused(cause), now);
    }

    /// Ends all walks of a device.
    pub(super) fn end_walks(&mut self, slot: u32, end: WalkEnd) {
        self.drop_requests(slot, |asked| !asked.is_of_cycle());
        let Some(device) = self.devices.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        device.is_walking = false;
        for walk in device.walks.drain(..) {
            self.batch.event(Event::Walked { device: device.id, walk: walk.number, end });
        }
    }

    /// Sends what the device may be asked now, and sets its timer.
    pub(super) fn advance(&mut self, slot: u32, now: Now) {
        while let Some(standing) = self.device(slot).map(|device| device.standing()) {
            if !self.outstanding.has_room(standing) {
                self.hold(slot, standing);
                break;
            }
            let Some(asked) = self.device(slot).and_then(Device::next_asked) else { break };
            self.ask(slot, asked, now);
        }
        self.set_timer(slot);
    }

    fn hold(&mut self, slot: u32, standing: Standing) {
        let Some(device) = self.device(slot) else { return };
        if let Some(cycle) = device.cycle.as_mut().filter(|cycle| !cycle.is_asked) {
            cycle.was_held = true;
        }
        if !device.is_held && (device.cycle.is_some() || !device.walks.is_empty()) {
            device.is_held = true;
            self.held[standing as usize].push_back(slot);
            self.counts.held += 1;
        }
    }

    /// Lets devices go on that were held, as far as there is room.
    pub(super) fn let_go(&mut self, now: Now) {
        for standing in Standing::ALL {
            while self.outstanding.has_room(standing) {
                let Some(slot) = self.held[standing as usize].pop_front() else { break };
                if let Some(device) = self.device(slot) {
                    device.is_held = false;
                    self.advance(slot, now);
                }
            }
        }
    }

    /// Sets the timer of a device if it has to be looked at earlier than was known.
    fn set_timer(&mut self, slot: u32) {
        let Some(device) = self.devices.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let requests = device.requests.iter().filter_map(|place| self.outstanding.get(*place).map(|r| r.deadline_ns));
        let cycle = device.cycle.as_ref().map(|cycle| cycle.deadline_ns);
        let wake_ns = requests.chain(cycle).fold(device.due_ns, u64::min);
        if wake_ns < device.wake_ns {
            device.wake_ns = wake_ns;
            self.timers.set(wake_ns, slot);
        }
    }
}

/// Tells all samples of a cycle, and what has come and gone.
fn tell(device: &mut Device, cycle: &Cycle, now: Now, batch: &mut Batch, counts: &mut Counts) {
    for place in 0..device.variables.source_count() {
        let (source, range) = device.variables.source(place);
        let readings = &cycle.readings()[range];
        let unix_ms = cycle.time_ms(place).unwrap_or(now.unix_ms);
        batch.sample(&Sample { device: device.id, source, unix_ms, is_restarted: cycle.is_restarted, readings });
        let known = readings.iter().filter(|reading| reading.is_known()).count() as u64;
        if device.settings.is_counted {
            counts.readings += known;
            counts.unknown += readings.len() as u64 - known;
        }
        let is_gone = readings.iter().any(|reading| reading.is_gone());
        let has_come = !is_gone && known == readings.len() as u64;
        if is_gone && !device.gone[place] {
            device.gone[place] = true;
            batch.event(Event::Gone { device: device.id, source });
        } else if has_come && device.gone[place] {
            device.gone[place] = false;
            batch.event(Event::Returned { device: device.id, source });
        }
    }
}
