//! Whether devices are up.

use super::super::event::Event;
use super::super::flight::{Kind, Part};
use super::super::round::{Round, Trial, verdict};
use super::orders::DATAGRAM;
use super::{Order, Prober};
use crate::inventory::Probe;
use crate::poller::{Now, is_check_near};
use std::net::SocketAddr;

impl Prober {
    /// Has it told by [`Event::Answered`] if a device answers in the next round of what tells whether it is up, which
    /// begins at once where none began in the last five seconds or would in the next. Others come when they would have.
    pub fn check_soon(&mut self, id: u32, now: Now) {
        let Some(device) = self.devices.get_mut(&id) else { return };
        device.is_waited_for = true;
        let begun_ns = device.begun_ns;
        let is_health = |task: &&u64| self.tasks.get(task).is_some_and(|task| task.source.is_none());
        let Some(number) = device.tasks.iter().find(is_health).copied() else { return };
        let Some(task) = self.tasks.get_mut(&number).filter(|task| task.round.is_none()) else { return };
        if !is_check_near(begun_ns, task.cadence.due_ns, now.steady_ns) {
            self.counts.rounds += u64::from(task.is_counted);
            self.begin(number, now);
        }
    }

    pub(super) fn begin_health(&mut self, id: u64, now: Now) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let Some(device) = self.devices.get_mut(&task.device) else { return };
        device.begun_ns = Some(now.steady_ns);
        device.waited_for_since_ms = core::mem::take(&mut device.is_waited_for).then_some(now.unix_ms);
        let trial = |probe: &Probe| match (probe, device.snmp) {
            (Probe::Snmp {}, Some(answers)) => Trial::Told(answers),
            // Nothing is known of it yet.
            (Probe::Snmp {}, None) => Trial::Impossible,
            _ => Trial::Wanted(device.availability.retries),
        };
        let trials: Vec<Trial> = device.availability.probes.iter().map(trial).collect();
        let count = trials.len();
        task.round = Some(Round::Health(trials));
        if !self.decide(id, now) {
            (0..count).for_each(|place| self.want_trial(Part { task: id, place }, now));
        }
    }

    fn want_trial(&mut self, part: Part, now: Now) {
        if matches!(self.trial(part), Some(Trial::Wanted(_))) {
            self.want(part, now);
        }
    }

    fn trial(&mut self, part: Part) -> Option<&mut Trial> {
        match &mut self.tasks.get_mut(&part.task)?.round {
            Some(Round::Health(trials)) => trials.get_mut(part.place),
            _ => None,
        }
    }

    /// Tries a probe.
    pub(super) fn go_health(&mut self, part: Part, now: Now) {
        let Some(trial @ Trial::Wanted(_)) = self.trial(part) else { return };
        let Trial::Wanted(again) = *trial else { return };
        *trial = Trial::Open(again);
        let Some(device) = self.tasks.get(&part.task).and_then(|task| self.devices.get(&task.device)) else { return };
        let (address, timeout_ns) = (device.address, u64::from(device.availability.timeout_ms) * 1_000_000);
        match device.availability.probes.get(part.place) {
            Some(Probe::Icmp {}) => self.echo(part, address, timeout_ns, now),
            Some(Probe::Tcp { port }) => {
                let to = SocketAddr::new(address, *port);
                self.order(part, Kind::Port, timeout_ns, now, |ticket| Order::Connect { ticket, to });
            }
            Some(Probe::Udp { port }) => {
                let (to, request) = (SocketAddr::new(address, *port), DATAGRAM.to_vec());
                self.order(part, Kind::Port, timeout_ns, now, |ticket| Order::Ask { ticket, to, request });
            }
            Some(Probe::Snmp {}) | None => {}
        }
    }

    /// A probe was answered, or not, or could not be tried.
    pub(super) fn tried(&mut self, part: Part, came: Result<bool, &str>, now: Now) {
        let Some(trial) = self.trial(part) else { return };
        *trial = match (came, *trial) {
            (Ok(true), _) => Trial::Told(true),
            (Ok(false), Trial::Open(again @ 1..)) => Trial::Wanted(again - 1),
            (Ok(false), _) => Trial::Told(false),
            (Err(_), _) => Trial::Impossible,
        };
        if let Err(why) = came {
            self.set_fault(part.task, Some(why.to_owned()));
        }
        if !self.decide(part.task, now) {
            self.want_trial(part, now);
        }
    }

    /// Ends a round that is decided; says whether it is.
    fn decide(&mut self, id: u64, now: Now) -> bool {
        let Some(task) = self.tasks.get_mut(&id) else { return true };
        let Some(device) = self.devices.get_mut(&task.device) else { return true };
        let Some(Round::Health(trials)) = &task.round else { return true };
        let Some(answered) = verdict(&device.availability, trials) else { return false };
        // What SNMP says is of some time before.
        let is_of_network = |(probe, trial): (&Probe, &Trial)| *probe != Probe::Snmp {} && *trial == Trial::Told(true);
        let is_reached = device.availability.probes.iter().zip(trials).any(is_of_network);
        let could_all = !trials.contains(&Trial::Impossible) || task.fault.is_none();
        let id_of_device = task.device;
        task.round = None;
        if let Some(answered) = answered {
            let [down, up] = [device.availability.failures, device.availability.recoveries]
                .map(|rounds| u8::try_from(rounds).unwrap_or(u8::MAX));
            if let Some(began_ms) = device.waited_for_since_ms.take().filter(|_| answered && is_reached) {
                self.events.push(Event::Answered { device: id_of_device, began_ms });
            }
            let (device, unix_ms) = (&mut device.standing, now.unix_ms);
            if let Some(change) = device.health.check(answered, down, up) {
                self.events.push(Event::Health { device: id_of_device, change, unix_ms });
            }
            if let Some(begins) = device.flapping.check(answered) {
                self.events.push(Event::Flapping { device: id_of_device, begins, unix_ms });
            }
        }
        if could_all {
            self.set_fault(id, None);
        }
        self.give_up(id);
        true
    }
}
