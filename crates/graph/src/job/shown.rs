//! How devices are: what the lanes say of them, and what the probes say.

use super::Shared;
use super::lanes::lane_of;
use super::probes::ProbedShown;
use crate::poller::Change;
use std::sync::PoisonError;
use trunkline_wire::snmp::Cause;

/// Faults of a device that are told.
pub const FAULTS_TOLD_MAX: usize = 100;

/// How a device is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceShown {
    /// Up or down; none before it was asked.
    pub health: Option<Change>,
    /// Since when, milliseconds since 1970.
    pub since_ms: i64,
    /// When its last answer came; none before that.
    pub answered_ms: Option<i64>,
    /// When the last round began in which it was reached and somebody waited to hear that
    /// ([`Handle::check_soon`](super::Handle::check_soon)), milliseconds since 1970.
    pub reached_ms: Option<i64>,
    /// Why its name was not found, so that nothing is asked.
    pub unfound: Option<String>,
    /// Why it does not let us in.
    pub refused: Option<Cause>,
    /// Cycles that were left out, as the one before took too long.
    pub missed: u64,
    /// Whether it is being looked at.
    pub is_explored: bool,
    /// Why it could not be looked at the last time.
    pub unexplored: Option<&'static str>,
    /// Whether samples of its rows are left out until it was looked at: it has started anew.
    pub is_stale: bool,
    /// How often it has started anew.
    pub restarts: u64,
    /// Data sources that are read.
    pub sources: usize,
    /// Data sources that cannot be read at present.
    pub unreadable: u32,
    /// How long an answer takes, nanoseconds.
    pub round_trip_ns: Option<u64>,
    /// Whether probes tell whether it is up, and not polling by SNMP.
    pub is_by_probes: bool,
    /// Whether it is up and down by turns.
    pub is_flapping: bool,
    /// Data sources that are read otherwise than by SNMP.
    pub probed: usize,
    /// What is wrong with those, at most [`FAULTS_TOLD_MAX`]: the data source, or none for whether it is up.
    pub faults: Vec<(Option<u32>, String)>,
    /// How many there are of these.
    pub faults_total: usize,
}

/// A device among many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub device: u32,
    pub health: Option<Change>,
    pub since_ms: i64,
    pub reached_ms: Option<i64>,
    pub is_refused: bool,
    pub is_explored: bool,
    pub is_flapping: bool,
    /// What probes find wrong.
    pub faults: usize,
}

/// How a device is; none if it is neither polled nor probed, and is not to be.
pub(super) fn of(shared: &Shared, device: u32) -> Option<DeviceShown> {
    let lane = shared.lanes.get(lane_of(device, shared.lanes.len()))?;
    let polled = lane.devices.lock().unwrap_or_else(PoisonError::into_inner).get(&device).cloned();
    let probed = shared.probes.devices.lock().unwrap_or_else(PoisonError::into_inner).get(&device).cloned();
    match probed {
        Some(probed) => Some(together(polled.unwrap_or_default(), probed)),
        None => polled.or_else(|| {
            let owner = shared.owner.lock().unwrap_or_else(PoisonError::into_inner);
            let unfound = owner.unfound.get(&device)?.clone();
            Some(DeviceShown { unfound: Some(unfound), ..DeviceShown::default() })
        }),
    }
}

/// Whether a device answers SNMP; none while that is not known.
pub(super) fn answers_snmp(shared: &Shared, device: u32) -> Option<bool> {
    let lane = shared.lanes.get(lane_of(device, shared.lanes.len()))?;
    let devices = lane.devices.lock().unwrap_or_else(PoisonError::into_inner);
    devices.get(&device)?.health.map(|health| health == Change::Up)
}

fn together(polled: DeviceShown, probed: ProbedShown) -> DeviceShown {
    let (health, since_ms) = match probed.decides {
        true => (probed.health, probed.since_ms),
        false => (polled.health, polled.since_ms),
    };
    DeviceShown {
        health,
        since_ms,
        answered_ms: polled.answered_ms.max(probed.answered_ms),
        reached_ms: polled.reached_ms.max(probed.reached_ms),
        missed: polled.missed + probed.missed(),
        is_by_probes: probed.decides,
        is_flapping: probed.is_flapping,
        probed: probed.sources,
        faults_total: probed.faults.len(),
        faults: probed.faults.into_iter().take(FAULTS_TOLD_MAX).collect(),
        ..polled
    }
}

/// All devices that are polled or probed.
pub(super) fn all(shared: &Shared) -> Vec<Seen> {
    let probed = shared.probes.devices.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = Vec::new();
    for lane in &shared.lanes {
        let devices = lane.devices.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(devices.iter().map(|(device, shown)| {
            let seen = Seen {
                device: *device,
                health: shown.health,
                since_ms: shown.since_ms,
                reached_ms: shown.reached_ms,
                is_refused: shown.refused.is_some(),
                is_explored: shown.is_explored,
                ..Seen::default()
            };
            probed.get(device).map_or(seen, |probed| seen_by(probed, seen))
        }));
    }
    let polled: std::collections::HashSet<u32> = all.iter().map(|seen| seen.device).collect();
    let others = probed.iter().filter(|(device, _)| !polled.contains(device));
    all.extend(others.map(|(device, probed)| seen_by(probed, Seen { device: *device, ..Seen::default() })));
    all
}

fn seen_by(probed: &ProbedShown, seen: Seen) -> Seen {
    let of_polling = (seen.health, seen.since_ms);
    let (health, since_ms) = if probed.decides { (probed.health, probed.since_ms) } else { of_polling };
    Seen {
        health,
        since_ms,
        reached_ms: seen.reached_ms.max(probed.reached_ms),
        is_flapping: probed.is_flapping,
        faults: probed.faults.len(),
        ..seen
    }
}
