//! How it goes, in numbers.

use super::Shared;
use super::keeper::Kept;
use super::shown;
use crate::inventory::DeviceState;
use crate::poller::{Change, Counts};
use std::collections::{BTreeMap, VecDeque};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use trunkline_net::AskingCounts;

/// How it goes at a moment.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// The number of the last entry of the inventory.
    pub sequence: u64,
    /// Devices in all.
    pub devices: usize,
    /// Devices that are polled.
    pub polled: usize,
    /// Of these, those that are up.
    pub up: usize,
    /// Those that are down.
    pub down: usize,
    /// Those that do not let us in.
    pub refused: usize,
    /// Devices that are disabled.
    pub disabled: usize,
    /// Devices that are being looked at.
    pub explored: usize,
    /// Devices without an address: their names are not known.
    pub nameless: usize,
    /// Devices that are to be polled and cannot be, as their credential is not for them.
    pub unasked: usize,
    /// Data sources.
    pub sources: usize,
    /// Graphs.
    pub graphs: usize,
    /// Data sources that are polled.
    pub sources_polled: usize,
    /// Samples a second, over the last ten seconds.
    pub samples_per_s: f64,
    /// Devices that are up and down by turns.
    pub flapping: usize,
    /// Samples that were left out, as their data sources have never said anything: they get no file until they do.
    pub silent_samples: u64,
    /// What is read otherwise than by SNMP.
    pub probes: ProbesShown,
    /// Times since the start that the whole inventory was copied, as others looked at it while it changed.
    pub inventory_copies: u64,
    /// Samples that were left out, as rows may have other numbers since their device started anew.
    pub stale_samples: u64,
    /// Requests that are on their way.
    pub outstanding: usize,
    /// What polling has counted.
    pub polls: Counts,
    /// What the sockets have counted.
    pub sockets: AskingCounts,
    /// Samples on their way to files.
    pub journal: JournalShown,
    /// Reports of polling threads that did not reach the inventory.
    pub news_left_out: u64,
    /// Data sources that are read in real time.
    pub realtime_sources: usize,
    /// What was counted of those.
    pub realtime: super::RealtimeCounters,
    /// What files have.
    pub files: Kept,
    /// What is wrong, a sentence each.
    pub troubles: Vec<String>,
}

/// What is read otherwise than by SNMP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbesShown {
    /// Devices that are probed.
    pub devices: usize,
    /// Their data sources.
    pub sources: usize,
    /// Devices and data sources of which something is wrong.
    pub faults: usize,
    /// Echo requests, ports, programs and pages on their way.
    pub outstanding: [usize; 4],
    /// What probing has counted.
    pub counts: crate::probe::Counts,
}

/// Samples on their way to files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalShown {
    /// The last record that is on disk: its samples are never lost.
    pub durable: u64,
    /// The last record of which all samples are in files.
    pub filed: u64,
    /// Octets that are not read for files yet.
    pub behind_octets: u64,
    /// Samples taken since the start.
    pub samples: u64,
    /// Samples dropped since the start, as the disk was behind or full.
    pub dropped: u64,
}

/// What the owner of the inventory shows.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnerShown {
    pub nameless: usize,
    pub unasked: usize,
    /// Of the whole inventory, since the start.
    pub copies: u64,
    pub troubles: Troubles,
    /// Why the names of devices that are nowhere were not found.
    pub unfound: BTreeMap<u32, String>,
}

/// Troubles that are told; the oldest goes.
const TROUBLES_MAX: usize = 20;
/// For how long one is told that does not come again.
const TOLD_MS: i64 = 15 * 60 * 1000;

/// What went wrong lately, the newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct Troubles(VecDeque<(i64, Option<u32>, String)>);

impl Troubles {
    /// Remembers one; it goes to the log, too, unless it is there already.
    pub fn remember(&mut self, what: String) {
        self.remember_of(None, what);
    }

    /// Remembers one of a device: it is told as long as that is there.
    pub fn remember_of(&mut self, device: Option<u32>, what: String) {
        let before = self.0.len();
        let now_ms = super::clock::unix_ms();
        self.0.retain(|(at_ms, _, known)| *known != what && now_ms - at_ms < TOLD_MS);
        if self.0.len() == before {
            tracing::warn!("graphs: {what}");
        }
        self.0.push_back((now_ms, device, what));
        if self.0.len() > TROUBLES_MAX {
            self.0.pop_front();
        }
    }

    /// Those of late, but of devices that are gone.
    pub fn told<'t>(&'t self, has: impl Fn(u32) -> bool + 't) -> impl Iterator<Item = &'t String> {
        let now_ms = super::clock::unix_ms();
        let is_told =
            move |(at_ms, device, _): &&(i64, Option<u32>, String)| now_ms - at_ms < TOLD_MS && device.is_none_or(&has);
        self.0.iter().filter(is_told).map(|(.., what)| what)
    }
}

pub(super) fn of(shared: &Shared) -> Status {
    let inventory = shared.inventory();
    let is_disabled = |device: &crate::inventory::Device| device.state == DeviceState::Disabled;
    let files = shared.keeper.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let owner = shared.owner.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let mut status = Status {
        sequence: inventory.sequence(),
        devices: inventory.devices().len(),
        disabled: inventory.devices().iter().filter(|(_, device)| is_disabled(device)).count(),
        nameless: owner.nameless,
        unasked: owner.unasked,
        inventory_copies: owner.copies,
        sources: inventory.sources().len(),
        graphs: inventory.graphs().len(),
        journal: JournalShown {
            durable: shared.flow.durable.load(Ordering::Acquire),
            filed: shared.flow.filed.load(Ordering::Acquire),
            behind_octets: read(&shared.flow.behind_octets),
            samples: read(&shared.flow.samples),
            dropped: read(&shared.flow.dropped),
        },
        news_left_out: read(&shared.news_left_out),
        realtime_sources: shared.realtime.len(),
        realtime: shared.realtime.counters(),
        ..Status::default()
    };
    for lane in &shared.lanes {
        let level = lane.level.lock().unwrap_or_else(PoisonError::into_inner);
        status.polls.add(&level.counts);
        status.sockets.add(&level.sockets);
        status.outstanding += level.outstanding;
        status.sources_polled += level.sources;
        status.stale_samples += level.stale_samples;
        status.samples_per_s += level.samples_per_s;
        status.silent_samples += level.silent_samples;
    }
    let probes = shared.probes.level.lock().unwrap_or_else(PoisonError::into_inner).clone();
    status.silent_samples += probes.silent_samples;
    status.samples_per_s += probes.samples_per_s;
    status.probes = ProbesShown {
        devices: shared.probes.devices.lock().unwrap_or_else(PoisonError::into_inner).len(),
        sources: probes.sources,
        faults: 0,
        outstanding: probes.outstanding,
        counts: probes.counts,
    };
    for seen in shown::all(shared) {
        status.polled += 1;
        status.up += usize::from(seen.health == Some(Change::Up));
        status.down += usize::from(seen.health == Some(Change::Down));
        status.refused += usize::from(seen.is_refused);
        status.explored += usize::from(seen.is_explored);
        status.flapping += usize::from(seen.is_flapping);
        status.probes.faults += seen.faults;
    }
    let troubles = shared.failure().into_iter().chain(shared.flow.trouble());
    let troubles = troubles.chain(probes.no_right.into_iter().flatten());
    status.troubles = troubles
        .chain(owner.troubles.told(|device| inventory.devices().has(device)).chain(&files.troubles).cloned())
        .collect();
    status.files = files;
    status
}
