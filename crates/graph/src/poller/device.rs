//! A device of a lane: what is known of it from cycle to cycle.

use super::cycle::{Cycle, SECURED_HEAD_OCTETS, UptimeState};
use super::health::is_check_near;
use super::outstanding::{Asked, Standing};
use super::pace::Pace;
use super::secured::Secured;
use super::uptime::Uptime;
use super::variables::Variables;
use super::walk::Walk;
use super::{Access, Health, Settings, Target};
use std::collections::VecDeque;
use std::net::SocketAddr;
use trunkline_kit::random::mixed;
use trunkline_wire::snmp::Cause;

/// The first cycle of a device comes this soon, at most: whoever adds one wants to see it.
const FIRST_NS_MAX: u64 = 5_000_000_000;
const NS_PER_S: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Device {
    pub(super) id: u32,
    pub(super) address: SocketAddr,
    pub(super) access: Access,
    pub(super) settings: Settings,
    pub(super) variables: Variables,
    /// When the next cycle begins, and when the last one began.
    pub(super) due_ns: u64,
    pub(super) begun_ns: Option<u64>,
    /// The next cycle was brought forward: the one after it comes in its place.
    is_brought_forward: bool,
    /// Somebody waits to hear whether it answers.
    pub(super) is_waited_for: bool,
    /// The timer that counts.
    pub(super) wake_ns: u64,
    pub(super) cycle: Option<Cycle>,
    pub(super) walks: VecDeque<Walk>,
    /// A request of the first walk is on its way.
    pub(super) is_walking: bool,
    /// Places of its requests that are on their way.
    pub(super) requests: Vec<u16>,
    pub(super) pace: Pace,
    pub(super) health: Health,
    pub(super) uptime: Option<Uptime>,
    /// Cycles in which it is not asked for sysUpTime, as it does not know it.
    pub(super) uptime_absent: u8,
    pub(super) secured: Secured,
    /// For each variable the cycles in which it is not asked for; empty while all are.
    pub(super) absent: Vec<u8>,
    /// For each data source whether it was gone in the last cycle that told.
    pub(super) gone: Vec<bool>,
    /// It waits until fewer requests of the lane are on their way.
    pub(super) is_held: bool,
    pub(super) missed: u64,
    pub(super) refused: Option<Cause>,
}

impl Device {
    pub(super) fn new(target: Target, now_ns: u64) -> Device {
        let variables = Variables::new(&target.sources);
        let gone = vec![false; variables.source_count()];
        let mut device = Device {
            id: target.id,
            address: target.address,
            access: target.access,
            settings: target.settings,
            variables,
            due_ns: 0,
            begun_ns: None,
            is_brought_forward: false,
            is_waited_for: false,
            wake_ns: u64::MAX,
            cycle: None,
            walks: VecDeque::new(),
            is_walking: false,
            requests: Vec::new(),
            pace: Pace::new(&target.settings),
            health: Health::default(),
            uptime: None,
            uptime_absent: 0,
            secured: Secured::default(),
            absent: Vec::new(),
            gone,
            is_held: false,
            missed: 0,
            refused: None,
        };
        device.due_ns = now_ns + mixed(u64::from(device.id)) % device.step_ns().min(FIRST_NS_MAX);
        device
    }

    pub(super) fn step_ns(&self) -> u64 {
        u64::from(self.settings.step_s) * NS_PER_S
    }

    /// The place of its cycles in the step: the same on every run.
    fn phase_ns(&self) -> u64 {
        mixed(u64::from(self.id)) % self.step_ns()
    }

    /// Sets the time of the next cycle, of its phase; how many such times have gone by since the one that is due now.
    pub(super) fn next_due(&mut self, now_ns: u64) -> u64 {
        let (step, phase) = (self.step_ns(), self.phase_ns());
        if self.due_ns % step == phase {
            let gone_by = (now_ns - self.due_ns) / step;
            self.due_ns += (gone_by + 1) * step;
            return gone_by;
        }
        let next = (now_ns.saturating_sub(phase) / step + 1) * step + phase;
        let is_extra = core::mem::take(&mut self.is_brought_forward);
        // The first cycle was off its phase; the second one does not follow on its heels.
        self.due_ns = if next - now_ns < step / 2 && !is_extra { next + step } else { next };
        0
    }

    /// Somebody waits to hear whether it answers: a cycle comes at once, if none is near. True if it does.
    pub(super) fn check_soon(&mut self, now_ns: u64) -> bool {
        self.is_waited_for = true;
        if self.cycle.is_some() || is_check_near(self.begun_ns, self.due_ns, now_ns) {
            return false;
        }
        (self.due_ns, self.is_brought_forward) = (now_ns, true);
        true
    }

    /// Takes over what was learned of a device that was described in another way, if it is the same to us.
    pub(super) fn inherit(&mut self, before: Device) {
        if before.address != self.address || before.access != self.access {
            return;
        }
        if before.settings == self.settings {
            self.due_ns = before.due_ns;
            self.is_brought_forward = before.is_brought_forward;
            self.pace = before.pace;
        }
        self.begun_ns = before.begun_ns;
        self.is_waited_for = before.is_waited_for;
        self.health = before.health;
        self.uptime = before.uptime;
        self.uptime_absent = before.uptime_absent;
        self.secured = before.secured;
        self.missed = before.missed;
        self.refused = before.refused;
    }

    pub(super) fn is_secured(&self) -> bool {
        matches!(self.access, Access::V3(_))
    }

    /// What counts for how much of the lane it may take now.
    pub(super) fn standing(&self) -> Standing {
        match self.health.state() {
            _ if self.cycle.as_ref().is_some_and(|cycle| cycle.is_answered) || self.health.is_well() => Standing::Well,
            None => Standing::New,
            Some(_) => Standing::Unwell,
        }
    }

    /// How often a request is sent.
    pub(super) fn tries(&self) -> u8 {
        if self.health.is_down() { 1 } else { self.settings.tries }
    }

    /// What is to be asked next, if there is something and it may be asked now. It counts as asked.
    pub(super) fn next_asked(&mut self) -> Option<Asked> {
        if self.requests.len() >= usize::from(self.pace.requests()) {
            return None;
        }
        if self.is_secured() && !self.secured.is_known() {
            let is_wanted = self.cycle.is_some() || !self.walks.is_empty();
            return (is_wanted && self.requests.is_empty()).then_some(Asked::Engine);
        }
        if let Some(asked) = self.next_of_cycle() {
            return Some(asked);
        }
        // Walks wait until the device has answered in this cycle, and while it is down.
        let is_quiet = self.cycle.as_ref().is_none_or(|cycle| cycle.is_answered) && !self.health.is_down();
        (is_quiet && !self.walks.is_empty() && !self.is_walking).then(|| {
            self.is_walking = true;
            Asked::Walk
        })
    }

    fn next_of_cycle(&mut self) -> Option<Asked> {
        let cycle = self.cycle.as_mut()?;
        if cycle.is_careful && !cycle.is_answered {
            if cycle.uptime != UptimeState::Wanted {
                return None;
            }
            cycle.uptime = UptimeState::Asked;
            return Some(Asked::Probe);
        }
        let head = if matches!(self.access, Access::V3(_)) { SECURED_HEAD_OCTETS } else { 0 };
        let octets = usize::from(self.settings.octets_max).saturating_sub(head);
        let piece = cycle.next_piece(&self.variables, self.pace.varbinds(), octets);
        let with_uptime = cycle.uptime == UptimeState::Wanted;
        if with_uptime {
            cycle.uptime = UptimeState::Asked;
        }
        match piece {
            Some((from, to)) => Some(Asked::Piece { from, to, with_uptime }),
            None => with_uptime.then_some(Asked::Probe),
        }
    }
}
