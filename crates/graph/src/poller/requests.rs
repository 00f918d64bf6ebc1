//! Asking: what is sent, sent again and given up.

use super::cycle::UptimeState;
use super::device::Device;
use super::lane::{Lane, Now};
use super::outstanding::{Asked, Request};
use super::{Access, Event, Unknown, WalkEnd};
use trunkline_wire::snmp::{Exchange, Kind, Message, Pdu, Value, Version, write_varbind};

/// sysUpTime.0 without a value.
pub(super) const UPTIME: [u8; 14] = [0x30, 12, 6, 8, 0x2b, 6, 1, 2, 1, 1, 3, 0, 5, 0];
/// The try after which a request that stays without an answer, while others have one, is asked in two parts.
const TRIES_WHOLE: u8 = 2;

impl Lane {
    /// Sends a request that was not sent yet.
    pub(super) fn ask(&mut self, slot: u32, asked: Asked, now: Now) {
        let Some(device) = self.devices.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let standing = device.standing();
        let request =
            Request { device: slot, standing, asked, id: 0, sent_ns: 0, deadline_ns: 0, tries: 0, reports: 0 };
        let Some(place) = self.outstanding.insert(request) else { return };
        device.requests.push(place);
        if let Some(cycle) = device.cycle.as_mut().filter(|_| asked.is_of_cycle()) {
            cycle.is_asked = true;
        }
        self.send(place, now);
    }

    /// Sends a request, for the first time or again.
    pub(super) fn send(&mut self, place: u16, now: Now) {
        let Some(request) = self.outstanding.get(place) else { return };
        let Some(device) = self.devices.get_mut(request.device as usize).and_then(Option::as_mut) else { return };
        let wait_ns = device.pace.timeout_ns(request.tries, &device.settings);
        self.counts.requests += 1;
        self.counts.requests_again += u64::from(request.tries > 0);
        request.sent_ns = now.steady_ns;
        request.deadline_ns = now.steady_ns + wait_ns;
        request.tries = request.tries.saturating_add(1);
        self.salt = self.salt.wrapping_add(1);
        self.scratch.clear();
        let exchange = write(device, request, &mut self.scratch);
        match &device.access {
            Access::V1(community) => {
                Message::write_community(Version::V1, community, &Pdu::Exchange(exchange), &mut self.octets);
            }
            Access::V2c(community) => {
                Message::write_community(Version::V2c, community, &Pdu::Exchange(exchange), &mut self.octets);
            }
            Access::V3(user) => {
                let now_s = now.steady_ns / 1_000_000_000;
                device.secured.seal(user, exchange, self.salt, now_s, &mut self.octets);
            }
        }
        self.transmits.push((device.address, self.octets.len()));
    }

    /// Asks again, or gives up, what was not answered in time.
    pub(super) fn give_up_late(&mut self, slot: u32, now: Now) {
        let Some(device) = self.device(slot) else { return };
        let places = device.requests.clone();
        for place in places {
            // What was given up before may have taken this one with it.
            let Some(request) = self.outstanding.get(place).copied() else { continue };
            if request.device == slot && request.deadline_ns <= now.steady_ns {
                self.late(slot, place, request, now);
            }
        }
    }

    fn late(&mut self, slot: u32, place: u16, request: Request, now: Now) {
        let Some(device) = self.device(slot) else { return };
        device.pace.lost();
        let tries = device.tries();
        let mut is_silent = false;
        if let Some(cycle) = device.cycle.as_mut().filter(|_| request.asked.is_of_cycle()) {
            cycle.is_lossy = true;
            cycle.silent = cycle.silent.saturating_add(1);
            is_silent = cycle.silent >= tries.saturating_mul(2);
        }
        if request.asked == Asked::Walk {
            device.pace.too_far();
        }
        if !is_silent && self.is_divided(slot, place, request) {
            return;
        }
        if request.tries < tries && !is_silent {
            return self.send(place, now);
        }
        self.counts.requests_lost += 1;
        self.lost(slot, place, request.asked, is_silent, now);
    }

    /// Whether a request was parted in two: the device answers others, but not to so much at once.
    fn is_divided(&mut self, slot: u32, place: u16, request: Request) -> bool {
        let Asked::Piece { from, to, with_uptime } = request.asked else { return false };
        let Some(device) = self.device(slot) else { return false };
        let Some(cycle) = device.cycle.as_mut().filter(|cycle| cycle.is_answered) else { return false };
        if request.tries < TRIES_WHOLE || to - from < 2 {
            return false;
        }
        device.pace.too_many((to - from) as u16);
        cycle.divide(&device.variables, from, to);
        if with_uptime {
            cycle.uptime = UptimeState::Wanted;
        }
        self.forget(slot, place);
        true
    }

    fn lost(&mut self, slot: u32, place: u16, asked: Asked, is_silent: bool, now: Now) {
        self.forget(slot, place);
        let Some(device) = self.devices.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let is_answered = device.cycle.as_ref().is_some_and(|cycle| cycle.is_answered);
        match asked {
            Asked::Walk => {
                device.is_walking = false;
                if let Some(walk) = device.walks.pop_front() {
                    let end = WalkEnd::Timeout;
                    self.batch.event(Event::Walked { device: device.id, walk: walk.number, end });
                }
            }
            Asked::Engine => {
                self.end_walks(slot, WalkEnd::Timeout);
                self.end_cycle(slot, Unknown::Timeout, now);
            }
            _ if !is_answered || is_silent => self.end_cycle(slot, Unknown::Timeout, now),
            Asked::Probe => self.uptime_done(slot, now),
            Asked::Piece { from, to, with_uptime } => {
                self.unknown(slot, from, to, Unknown::Timeout, now);
                if with_uptime {
                    self.uptime_done(slot, now);
                }
                self.end_if_done(slot, now);
            }
        }
    }

    /// sysUpTime is not known in this cycle.
    pub(super) fn uptime_done(&mut self, slot: u32, now: Now) {
        if let Some(cycle) = self.device(slot).and_then(|device| device.cycle.as_mut()) {
            cycle.uptime = UptimeState::Done;
        }
        self.end_if_done(slot, now);
    }

    /// These places of a cycle are unknown.
    pub(super) fn unknown(&mut self, slot: u32, from: u32, to: u32, reason: Unknown, now: Now) {
        let Some(device) = self.device(slot) else { return };
        let Some(cycle) = device.cycle.as_mut() else { return };
        for place in from..to {
            cycle.resolve(&device.variables, place, super::Reading::Unknown(reason), now.unix_ms);
        }
    }

    pub(super) fn end_if_done(&mut self, slot: u32, now: Now) {
        if self.device(slot).and_then(|device| device.cycle.as_ref()).is_some_and(|cycle| cycle.is_done()) {
            self.end_cycle(slot, Unknown::NoTime, now);
        }
    }

    /// A request is not on its way any more.
    pub(super) fn forget(&mut self, slot: u32, place: u16) {
        self.outstanding.remove(place);
        if let Some(device) = self.device(slot) {
            device.requests.retain(|other| *other != place);
        }
    }

    /// The same for all of a device that are of some kind.
    pub(super) fn drop_requests(&mut self, slot: u32, is_dropped: impl Fn(Asked) -> bool) {
        let Some(device) = self.devices.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        device.requests.retain(|place| {
            let is_kept = self.outstanding.get(*place).is_some_and(|request| !is_dropped(request.asked));
            if !is_kept {
                self.outstanding.remove(*place);
            }
            is_kept
        });
    }
}

/// Writes the variables of a request.
fn write<'o>(device: &Device, request: &Request, out: &'o mut Vec<u8>) -> Exchange<'o> {
    let mut kind = Kind::Get;
    let mut repetitions = 0;
    match request.asked {
        Asked::Engine => {}
        Asked::Probe => out.extend_from_slice(&UPTIME),
        Asked::Piece { from, to, with_uptime } => {
            if with_uptime {
                out.extend_from_slice(&UPTIME);
            }
            let cycle = device.cycle.as_ref();
            let variables = cycle.into_iter().flat_map(|cycle| (from..to).map(|place| cycle.variable(place)));
            variables.for_each(|variable| out.extend_from_slice(device.variables.varbind(variable)));
        }
        Asked::Walk => {
            let is_v1 = matches!(device.access, Access::V1(_));
            kind = if is_v1 { Kind::GetNext } else { Kind::GetBulk };
            repetitions = if is_v1 { 0 } else { device.pace.repetitions() };
            if let Some(walk) = device.walks.front() {
                write_varbind(walk.last.as_oid(), &Value::Null, out);
            }
        }
    }
    Exchange { error_index: repetitions, ..Exchange::request(kind, request.id, out) }
}
