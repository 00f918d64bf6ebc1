//! Taking answers.

use super::cycle::UptimeState;
use super::lane::{Lane, Now};
use super::outstanding::{Asked, Request};
use super::requests::UPTIME;
use super::uptime::Uptime;
use super::{Access, Event, Reading, Unknown, WalkEnd};
use std::net::SocketAddr;
use trunkline_wire::snmp::{Cause, Contents, ErrorStatus, Exchange, Kind, Message, Pdu, ScopedPdu, Value, Version};

/// Cycles in which an agent of version 1, which answers to nothing else then, is not asked for what it does not have.
const ABSENT_CYCLES: u8 = 10;
/// Cycles in which a device that does not know sysUpTime is not asked for it.
const UPTIME_ABSENT_CYCLES: u8 = 10;
/// How often one request is changed because of what the device reports.
const REPORTS_MAX: u8 = 3;

impl Lane {
    /// Takes a datagram that has come from `from`.
    pub fn handle(&mut self, from: SocketAddr, octets: &[u8], now: Now) {
        match Message::new(octets) {
            Ok(Message::Community { version, pdu: Pdu::Exchange(answer), .. }) if answer.kind == Kind::Response => {
                let Some((place, request)) = self.asked(answer.request_id, from) else { return };
                let is_expected = match self.device(request.device).map(|device| &device.access) {
                    Some(Access::V1(_)) => version == Version::V1,
                    Some(Access::V2c(_)) => version == Version::V2c,
                    _ => false,
                };
                if is_expected {
                    self.answered(place, request, &answer, now);
                } else {
                    self.counts.stray += 1;
                }
            }
            Ok(Message::V3(message)) => {
                let Some((place, request)) = self.asked(message.message_id, from) else { return };
                self.handle_secured(place, request, octets, now);
            }
            Ok(_) => self.counts.stray += 1,
            Err(_) => self.counts.malformed += 1,
        }
        self.let_go(now);
    }

    /// The request that has this number and was sent to this address.
    fn asked(&mut self, id: i32, from: SocketAddr) -> Option<(u16, Request)> {
        let Some((place, request)) = self.outstanding.find(id) else {
            self.counts.stray += 1;
            return None;
        };
        let address = self.device(request.device)?.address;
        if address.ip() != from.ip() || address.port() != from.port() {
            self.counts.wrong_source += 1;
            return None;
        }
        Some((place, request))
    }

    fn handle_secured(&mut self, place: u16, request: Request, octets: &[u8], now: Now) {
        let mut opened = core::mem::take(&mut self.opened);
        opened.clear();
        opened.extend_from_slice(octets);
        self.open(place, request, &mut opened, now);
        self.opened = opened;
    }

    fn open(&mut self, place: u16, request: Request, octets: &mut [u8], now: Now) {
        let Some(device) = self.devices.get_mut(request.device as usize).and_then(Option::as_mut) else { return };
        let Access::V3(user) = &device.access else {
            self.counts.stray += 1;
            return;
        };
        let Ok(told) = device.secured.open(user, octets, now.steady_ns / 1_000_000_000) else {
            self.counts.unauthentic += 1;
            return;
        };
        if told.is_changed {
            self.batch.event(Event::EngineChanged { device: device.id });
        }
        if told.is_restarted || told.is_changed {
            self.restarted(request.device, None);
        }
        if let Some(cause) = told.report {
            return self.reported(place, request, cause, now);
        }
        let scoped = match (told.place, Message::new(octets)) {
            (Some(range), _) => ScopedPdu::new(&octets[range.clone()], range.start).ok(),
            (None, Ok(Message::V3(message))) => match message.data {
                Contents::Plain(scoped) => Some(scoped),
                Contents::Encrypted(_) => None,
            },
            _ => None,
        };
        match scoped.map(|scoped| scoped.pdu) {
            Some(Pdu::Exchange(answer)) if answer.kind == Kind::Response && answer.request_id == request.id => {
                self.answered(place, request, &answer, now);
            }
            Some(_) => self.counts.stray += 1,
            None => self.counts.malformed += 1,
        }
    }

    /// The device says what is wrong with a request.
    fn reported(&mut self, place: u16, request: Request, cause: Cause, now: Now) {
        self.counts.reports += 1;
        let is_mended = matches!(cause, Cause::UnknownEngineId | Cause::NotInTimeWindow);
        if !is_mended || request.reports >= REPORTS_MAX {
            self.forget(request.device, place);
            self.refuse(request.device, cause, now);
            return self.advance(request.device, now);
        }
        if request.asked == Asked::Engine {
            self.took(request, now);
            self.forget(request.device, place);
            return self.advance(request.device, now);
        }
        if let Some(request) = self.outstanding.get(place) {
            request.reports += 1;
            request.tries = request.tries.saturating_sub(1);
        }
        self.send(place, now);
    }

    /// Learns how long an answer takes, of a request that was sent once.
    fn took(&mut self, request: Request, now: Now) {
        let Some(device) = self.device(request.device) else { return };
        if request.tries == 1 && request.reports == 0 {
            device.pace.answered(now.steady_ns.saturating_sub(request.sent_ns));
        }
    }

    fn answered(&mut self, place: u16, request: Request, answer: &Exchange<'_>, now: Now) {
        let slot = request.device;
        self.counts.responses += 1;
        self.took(request, now);
        self.forget(slot, place);
        if let Some(cycle) = self.device(slot).and_then(|device| device.cycle.as_mut()) {
            cycle.is_answered = true;
            cycle.silent = 0;
        }
        match request.asked {
            Asked::Walk => self.walked(slot, answer),
            Asked::Probe => self.probed(slot, answer, now),
            Asked::Piece { from, to, with_uptime } => match answer.status() {
                ErrorStatus::NoError => self.read(slot, (from, to), with_uptime, answer, now),
                status => self.failed(slot, (from, to), with_uptime, status, answer.error_index, now),
            },
            // What answers to a question that every engine answers by a report is none.
            Asked::Engine => {}
        }
        self.end_if_done(slot, now);
        self.advance(slot, now);
    }

    fn probed(&mut self, slot: u32, answer: &Exchange<'_>, now: Now) {
        let varbind = answer.varbinds.clone().next().and_then(Result::ok);
        match (answer.status(), varbind.map(|varbind| varbind.value)) {
            (ErrorStatus::NoError, value) => self.uptime_read(slot, value, now),
            (ErrorStatus::NoSuchName, _) => self.no_uptime(slot),
            // It could not read it this time.
            _ => {}
        }
        self.uptime_done(slot, now);
    }

    /// What stands at the place of sysUpTime.
    fn uptime_read(&mut self, slot: u32, value: Option<Value<'_>>, now: Now) {
        match value {
            Some(Value::TimeTicks(ticks)) => self.up(slot, ticks, now),
            Some(value) if value.is_exception() => self.no_uptime(slot),
            _ => {}
        }
    }

    /// The device does not know sysUpTime: it answers all the same.
    fn no_uptime(&mut self, slot: u32) {
        if let Some(device) = self.device(slot) {
            device.uptime_absent = UPTIME_ABSENT_CYCLES;
        }
    }

    /// What sysUpTime says.
    fn up(&mut self, slot: u32, ticks: u32, now: Now) {
        let Some(device) = self.device(slot) else { return };
        device.uptime_absent = 0;
        let is_restarted = match &mut device.uptime {
            Some(uptime) => uptime.next(ticks, now.steady_ns),
            none => {
                *none = Some(Uptime::new(ticks, now.steady_ns));
                false
            }
        };
        if let Some(cycle) = &mut device.cycle {
            cycle.uptime = UptimeState::Done;
        }
        if is_restarted {
            self.restarted(slot, Some(ticks));
        }
    }

    /// The device has started anew: told once a cycle.
    fn restarted(&mut self, slot: u32, uptime: Option<u32>) {
        let Some(device) = self.devices.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let cycle = device.cycle.as_mut().filter(|cycle| !cycle.is_restarted);
        let Some(cycle) = cycle else { return };
        cycle.is_restarted = true;
        self.counts.restarts += 1;
        self.batch.event(Event::Restarted { device: device.id, uptime });
    }

    fn walked(&mut self, slot: u32, answer: &Exchange<'_>) {
        let Some(device) = self.devices.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        device.is_walking = false;
        let Some(walk) = device.walks.front_mut() else { return };
        let number = walk.number;
        let end = walk.take(device.id, answer, &mut device.pace, &mut self.batch, &mut self.counts);
        if let Some(end) = end {
            device.walks.pop_front();
            self.batch.event(Event::Walked { device: device.id, walk: number, end });
        }
        if matches!(end, Some(WalkEnd::AgentError)) {
            self.counts.errors += 1;
        }
    }

    /// Readings of a piece.
    fn read(&mut self, slot: u32, (from, to): (u32, u32), with_uptime: bool, answer: &Exchange<'_>, now: Now) {
        let mut varbinds = answer.varbinds;
        if with_uptime {
            let first = varbinds.next().and_then(Result::ok).filter(|first| first.name.octets() == &UPTIME[4..12]);
            self.uptime_read(slot, first.map(|first| first.value), now);
            self.uptime_done_unended(slot);
        }
        let Some(device) = self.device(slot) else { return };
        let Some(cycle) = device.cycle.as_mut() else { return };
        for place in from..to {
            let name = device.variables.name(cycle.variable(place));
            let reading = match varbinds.next() {
                Some(Ok(varbind)) if varbind.name.octets() == name => Reading::of(&varbind.value),
                Some(Err(_)) => Reading::Unknown(Unknown::Malformed),
                // Another one than was asked for at this place: it may be elsewhere.
                _ => elsewhere(answer, name),
            };
            cycle.resolve(&device.variables, place, reading, now.unix_ms);
        }
    }

    /// sysUpTime was asked for, and needs no other request.
    fn uptime_done_unended(&mut self, slot: u32) {
        if let Some(cycle) = self.device(slot).and_then(|device| device.cycle.as_mut()) {
            cycle.uptime = UptimeState::Done;
        }
    }

    /// An error instead of readings: what caused it is left out, the rest is asked for again.
    fn failed(
        &mut self,
        slot: u32,
        (from, to): (u32, u32),
        with_uptime: bool,
        status: ErrorStatus,
        index: u32,
        now: Now,
    ) {
        let is_v1 = matches!(self.device(slot).map(|device| &device.access), Some(Access::V1(_)));
        let is_too_big = status == ErrorStatus::TooBig;
        if is_too_big {
            self.counts.too_big += 1
        } else {
            self.counts.errors += 1
        };
        let Some(device) = self.device(slot) else { return };
        let Some(cycle) = device.cycle.as_mut() else { return };
        if with_uptime {
            cycle.uptime = UptimeState::Wanted;
        }
        // The index counts from 1, sysUpTime included.
        let culprit = (!is_too_big).then(|| index.checked_sub(1 + u32::from(with_uptime))).flatten();
        let culprit = culprit.map(|at| from.saturating_add(at)).filter(|place| *place < to);
        if is_too_big {
            device.pace.too_many((to - from) as u16);
        }
        if !is_too_big && with_uptime && index == 1 {
            if status == ErrorStatus::NoSuchName {
                self.no_uptime(slot);
            }
            self.uptime_done_unended(slot);
            return self.ask_again(slot, from, to);
        }
        if status == ErrorStatus::AuthorizationError {
            // Not for us: that is so for all of them.
            self.unknown(slot, from, to, Unknown::AgentError, now);
            return self.uptime_done(slot, now);
        }
        match culprit {
            Some(place) => {
                let place = cycle.put_aside(&device.variables, from, place);
                cycle.give_back(place + 1, to);
                cycle.give_back(from, place);
                self.absent(slot, place, status, is_v1, now);
            }
            None if to - from > 1 => cycle.divide(&device.variables, from, to),
            None if with_uptime => {
                // Without sysUpTime in this cycle, then, so that it may fit.
                cycle.uptime = UptimeState::Done;
                cycle.give_back(from, to);
            }
            None if is_too_big => self.unknown(slot, from, to, Unknown::TooBig, now),
            None => self.absent(slot, from, status, is_v1, now),
        }
    }

    fn ask_again(&mut self, slot: u32, from: u32, to: u32) {
        if let Some(cycle) = self.device(slot).and_then(|device| device.cycle.as_mut()) {
            cycle.give_back(from, to);
        }
    }

    /// The variable at this place caused an error.
    fn absent(&mut self, slot: u32, place: u32, status: ErrorStatus, is_v1: bool, now: Now) {
        let is_missing = status == ErrorStatus::NoSuchName;
        let reason = if is_missing { Unknown::NoSuchInstance } else { Unknown::AgentError };
        self.unknown(slot, place, place + 1, reason, now);
        let Some(device) = self.device(slot).filter(|_| is_v1 && is_missing) else { return };
        if device.absent.is_empty() {
            device.absent = vec![0; device.variables.len()];
        }
        if let Some(cycle) = &device.cycle {
            device.absent[cycle.variable(place) as usize] = ABSENT_CYCLES;
        }
    }
}

/// The reading of this name, wherever it stands in an answer.
fn elsewhere(answer: &Exchange<'_>, name: &[u8]) -> Reading {
    let mut varbinds = answer.varbinds.flatten();
    let found = varbinds.find(|varbind| varbind.name.octets() == name);
    found.map_or(Reading::Unknown(Unknown::Omitted), |varbind| Reading::of(&varbind.value))
}
