//! Devices that are read in real time, beside the same devices as they are always read: of what somebody looks at, at
//! a step of its own, and nothing of it is kept.

use super::super::realtime::ASIDE;
use super::{Lane, ToOwner};
use crate::poller::{Batch, Settings, Target};
use crate::reads::Reads;
use crate::realtime::OfDevice;
use std::collections::BTreeSet;
use std::sync::PoisonError;
use trunkline_rrd::Value;

/// A device that is read in real time.
pub(super) struct Aside {
    wanted: OfDevice,
    reads: Reads,
    /// It has started anew: whose numbers its rows have is known again when it was looked at.
    is_stale: bool,
}

impl Lane {
    /// Reads in real time what somebody looks at, and no more.
    pub(super) fn follow_watchers(&mut self) {
        let Some(wanted) = self.shared.realtime.changed(&mut self.watched_version) else { return };
        let gone: Vec<u32> = self.aside.keys().filter(|device| !wanted.contains_key(device)).copied().collect();
        gone.into_iter().for_each(|device| self.end_aside(device));
        // What is read as before goes on: begun anew, it would lose a round.
        let is_new =
            |(device, of): &(&u32, &OfDevice)| self.aside.get(*device).is_none_or(|aside| aside.wanted != **of);
        let devices: Vec<u32> = wanted.iter().filter(is_new).map(|(device, _)| *device).collect();
        self.wanted = wanted;
        devices.into_iter().for_each(|device| self.begin_aside(device, false));
    }

    /// Begins to read a device in real time, or goes on with other data sources of it, or with the same ones otherwise.
    /// After it was looked at, its rows are what they are said to be.
    pub(super) fn begin_aside(&mut self, device: u32, is_fresh: bool) {
        let Some(wanted) = self.wanted.get(&device) else { return };
        let Some(polled) = self.polled.get(&device) else { return self.end_aside(device) };
        let reads = polled.reads.only(&wanted.sources);
        if reads.is_empty() {
            return self.end_aside(device);
        }
        let is_looked_at = || {
            let devices = self.shared.lanes[self.place].devices.lock().unwrap_or_else(PoisonError::into_inner);
            devices.get(&device).is_some_and(|shown| shown.is_stale)
        };
        let was_stale = || self.aside.get(&device).is_some_and(|before| before.is_stale);
        let is_stale = !is_fresh && (was_stale() || is_looked_at());
        self.aside.insert(device, Aside { wanted: wanted.clone(), reads, is_stale });
        self.ask_aside(device);
    }

    /// Has a device asked for what is to be read of it now.
    pub(super) fn ask_aside(&mut self, device: u32) {
        let (Some(aside), Some(polled)) = (self.aside.get(&device), self.polled.get(&device)) else { return };
        let settings = Settings { step_s: aside.wanted.step_s, is_counted: false, ..polled.target.settings };
        let sources = aside.reads.sources();
        let target = Target { id: device | ASIDE, settings, sources, ..polled.target.clone() };
        let now = self.polling.now();
        // What is wrong with it is told of the same device as it is always read.
        let _ = self.polling.lane().add(target, now);
    }

    pub(super) fn end_aside(&mut self, device: u32) {
        if self.aside.remove(&device).is_some() {
            self.polling.lane().remove(device | ASIDE);
        }
    }

    /// Takes what came of devices that are read in real time.
    pub(super) fn samples_aside(&mut self, batch: &Batch) {
        let (mut anew, mut stale) = (BTreeSet::new(), BTreeSet::new());
        for sample in batch.samples().filter(|sample| sample.device & ASIDE != 0) {
            let device = sample.device & !ASIDE;
            let Some(aside) = self.aside.get_mut(&device) else { continue };
            let of_row = aside.reads.is_of_row(sample.source);
            let Some(taken) = aside.reads.take(&sample) else { continue };
            if taken.asks_anew {
                anew.insert(device);
            }
            if sample.is_restarted && !aside.is_stale {
                aside.is_stale = true;
                stale.insert(device);
            }
            let before = taken.before.as_deref();
            match aside.is_stale && of_row {
                false => self.shared.realtime.take(sample.source, sample.unix_ms, before, &taken.values),
                // What was counted before is not taken together with what comes when its rows are known again.
                true if before.is_some() => {
                    let unknown = vec![Value::Unknown; taken.values.len()];
                    self.shared.realtime.take(sample.source, sample.unix_ms, None, &unknown);
                }
                true => {}
            }
        }
        anew.into_iter().for_each(|device| self.ask_aside(device));
        stale.into_iter().for_each(|device| self.news.put(ToOwner::Stale(device)));
    }
}
