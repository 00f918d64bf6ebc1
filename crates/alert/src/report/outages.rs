//! When devices were up and down: what was seen of them, as entries of the log.
//!
//! What is known ends with the last thing that was seen: while nothing looks, nothing is known. So that this can be
//! told after a crash, that all is as it was is an entry, too, every few minutes.

use super::figures::{DeviceFigures, DeviceShown};
use crate::rule::Pattern;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Devices that are followed; further ones are not.
// Limit: devices whose outages reports know
// Beyond: further devices are not followed
// Seen in: the report
pub const DEVICES_MAX: usize = 20_000;
/// Changes of a device that are remembered; the oldest leaves, and what was before it is not known any more.
const CHANGES_MAX: usize = 1_000;
/// Changes of all devices; then a device's oldest leaves for each new one of it.
const CHANGES_ALL_MAX: usize = 400_000;
/// Seconds for which changes are remembered.
const REMEMBERED_S: i64 = 400 * 86_400;
/// Seconds after which it is said that all is as it was.
const ALIVE_S: i64 = 300;
/// Devices of an entry: a record has its bounds.
const ENTRY_DEVICES: usize = 2_000;

/// What was seen of devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicesSeen {
    /// When, seconds since 1970.
    pub at_s: i64,
    /// Those that are up from then on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub up: Vec<String>,
    /// Those that are down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<String>,
    /// Those of which nothing is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Those that there are not any more: nothing of them is remembered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Nothing is known of any device from then on.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_end: bool,
}

/// All that was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outages {
    devices: BTreeMap<String, VecDeque<(i64, Option<bool>)>>,
    /// Changes of all of them.
    count: usize,
    /// Until when it is known, as far as it is written.
    seen_s: i64,
    /// When it was looked last: what is not written is as it was.
    looked_s: i64,
}

impl Outages {
    /// Takes over what an entry says.
    pub fn apply(&mut self, seen: &DevicesSeen) {
        if seen.is_end {
            self.devices.values_mut().for_each(|changes| put(changes, &mut self.count, seen.at_s, None));
        }
        let kinds = [(&seen.up, Some(true)), (&seen.down, Some(false)), (&seen.unknown, None)];
        for (device, state) in kinds.into_iter().flat_map(|(names, state)| names.iter().map(move |name| (name, state)))
        {
            if self.devices.contains_key(device) || self.devices.len() < DEVICES_MAX {
                put(self.devices.entry(device.clone()).or_default(), &mut self.count, seen.at_s, state);
            }
        }
        for device in &seen.gone {
            self.count -= self.devices.remove(device).map_or(0, |changes| changes.len());
        }
        self.seen_s = self.seen_s.max(seen.at_s);
        let old_s = self.seen_s - REMEMBERED_S;
        self.devices.retain(|_, changes| {
            let is_kept = changes.back().is_some_and(|(at_s, state)| state.is_some() || *at_s > old_s);
            self.count -= if is_kept { 0 } else { changes.len() };
            is_kept
        });
    }

    /// Somebody looks now, whatever there is to be written of it.
    pub fn look(&mut self, at_s: i64) {
        self.looked_s = at_s;
    }

    /// What is to be written of the devices that there are now, and which are up where that is known. Nothing if all is
    /// as it was, and that was said lately.
    pub fn see(&self, now: &BTreeMap<String, Option<bool>>, at_s: i64) -> Vec<DevicesSeen> {
        let state =
            |name: &String| self.devices.get(name).and_then(|changes| changes.back()).and_then(|(_, state)| *state);
        let mut changed: Vec<(&String, Option<bool>)> =
            now.iter().map(|(name, up)| (name, *up)).filter(|(name, up)| state(name) != *up).collect();
        // What is not followed is not told each time.
        let room = DEVICES_MAX.saturating_sub(self.devices.len());
        let (known, new): (Vec<_>, Vec<_>) =
            changed.into_iter().partition(|(name, _)| self.devices.contains_key(*name));
        changed = known.into_iter().chain(new.into_iter().take(room)).collect();
        let gone: Vec<String> = self.devices.keys().filter(|name| !now.contains_key(*name)).cloned().collect();
        if changed.is_empty() && gone.is_empty() {
            let is_late = at_s - self.seen_s >= ALIVE_S && now.values().any(Option::is_some);
            return is_late.then(|| DevicesSeen { at_s, ..DevicesSeen::default() }).into_iter().collect();
        }
        let entry = |some: &[(&String, Option<bool>)]| {
            let of = |wanted: Option<bool>| {
                some.iter().filter(|(_, state)| *state == wanted).map(|(name, _)| (*name).clone()).collect()
            };
            let (up, down, unknown) = (of(Some(true)), of(Some(false)), of(None));
            DevicesSeen { at_s, up, down, unknown, ..DevicesSeen::default() }
        };
        let gone = gone.chunks(ENTRY_DEVICES);
        let gone = gone.map(|gone| DevicesSeen { at_s, gone: gone.to_vec(), ..DevicesSeen::default() });
        changed.chunks(ENTRY_DEVICES).map(entry).chain(gone).collect()
    }

    /// What is to be written after a restart: from the last thing that was seen on nothing is known.
    pub fn resume(&self) -> Option<DevicesSeen> {
        let is_known = self.devices.values().any(|changes| changes.back().is_some_and(|(_, state)| state.is_some()));
        is_known.then(|| DevicesSeen { at_s: self.seen_s, is_end: true, ..DevicesSeen::default() })
    }

    /// All that must be known after a restart, as entries in order of time.
    pub fn snapshot(&self, mut put: impl FnMut(DevicesSeen)) {
        for (device, changes) in &self.devices {
            for (at_s, state) in changes {
                let names = |wanted: Option<bool>| if *state == wanted { vec![device.clone()] } else { Vec::new() };
                let (up, down, unknown) = (names(Some(true)), names(Some(false)), names(None));
                put(DevicesSeen { at_s: *at_s, up, down, unknown, ..DevicesSeen::default() });
            }
        }
        if self.seen_s > 0 {
            put(DevicesSeen { at_s: self.seen_s, ..DevicesSeen::default() });
        }
    }

    /// How devices were in a span; at most `limit` that were not up all the time are listed.
    pub fn figures(&self, devices: &[Pattern], (from_s, to_s): (i64, i64), limit: usize) -> DeviceFigures {
        let is_meant = |name: &str| devices.is_empty() || devices.iter().any(|pattern| pattern.takes(name));
        let all = self.devices.iter().filter(|(name, _)| is_meant(name));
        let known: Vec<DeviceShown> =
            all.filter_map(|(name, changes)| self.shown(name, changes, from_s, to_s)).collect();
        let count = known.len() as u64;
        let mut bad: Vec<DeviceShown> = known.into_iter().filter(|device| device.down_s > 0).collect();
        bad.sort_by(|one, other| {
            one.up_percent.total_cmp(&other.up_percent).then_with(|| one.device.cmp(&other.device))
        });
        let (always_up, more) = (count - bad.len() as u64, bad.len().saturating_sub(limit) as u64);
        bad.truncate(limit);
        DeviceFigures { count, always_up, devices: bad, more }
    }

    /// None if nothing is known of it in the span.
    fn shown(
        &self,
        device: &str,
        changes: &VecDeque<(i64, Option<bool>)>,
        from_s: i64,
        to_s: i64,
    ) -> Option<DeviceShown> {
        let mut shown = DeviceShown { device: device.to_owned(), ..DeviceShown::default() };
        let mut up_s = 0;
        for (number, (at_s, state)) in changes.iter().enumerate() {
            let end_s = changes.get(number + 1).map_or(self.seen_s.max(self.looked_s), |(next_s, _)| *next_s);
            let within_s = (end_s.min(to_s) - (*at_s).max(from_s)).max(0);
            match state {
                Some(true) => up_s += within_s,
                Some(false) if within_s > 0 => {
                    shown.down_s += within_s;
                    shown.times_down += 1;
                    shown.longest_s = shown.longest_s.max(within_s);
                }
                _ => {}
            }
        }
        let known_s = up_s + shown.down_s;
        shown.unknown_s = (to_s - from_s - known_s).max(0);
        shown.up_percent = up_s as f64 * 100.0 / known_s.max(1) as f64;
        (known_s > 0).then_some(shown)
    }
}

fn put(changes: &mut VecDeque<(i64, Option<bool>)>, count: &mut usize, at_s: i64, state: Option<bool>) {
    let last = changes.back().copied();
    if last.is_some_and(|(_, last)| last == state) || last.is_none() && state.is_none() {
        return;
    }
    // The clock may have been put back.
    let at_s = last.map_or(at_s, |(last_s, _)| at_s.max(last_s));
    changes.push_back((at_s, state));
    *count += 1;
    let is_old = |changes: &VecDeque<(i64, Option<bool>)>| {
        changes.get(1).is_some_and(|(next_s, _)| *next_s < at_s - REMEMBERED_S)
    };
    while changes.len() > 1 && (changes.len() > CHANGES_MAX || *count > CHANGES_ALL_MAX || is_old(changes)) {
        changes.pop_front();
        *count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(all: &[(&str, bool)]) -> BTreeMap<String, Option<bool>> {
        all.iter().map(|(name, up)| ((*name).to_owned(), Some(*up))).collect()
    }

    fn see(outages: &mut Outages, now: &BTreeMap<String, Option<bool>>, at_s: i64) -> usize {
        let entries = outages.see(now, at_s);
        entries.iter().for_each(|entry| outages.apply(entry));
        entries.len()
    }

    #[test]
    fn what_was_not_seen_is_not_known() {
        let mut outages = Outages::default();
        see(&mut outages, &seen(&[("a", true), ("b", true)]), 1000);
        assert_eq!(see(&mut outages, &seen(&[("a", true), ("b", true)]), 1010), 0, "all is as it was");
        see(&mut outages, &seen(&[("a", false), ("b", true)]), 1100);
        see(&mut outages, &seen(&[("a", true), ("b", true)]), 1200);
        assert_eq!(see(&mut outages, &seen(&[("a", true), ("b", true)]), 1500), 1, "it is said that it looks");
        // It ends, and begins at 2000.
        let end = outages.resume().unwrap();
        assert_eq!(end.at_s, 1500);
        outages.apply(&end);
        see(&mut outages, &seen(&[("a", true), ("b", true)]), 2000);
        let unknown =
            seen(&[("b", true)]).into_iter().chain([("a".to_owned(), None), ("c".to_owned(), None)]).collect();
        assert_eq!(see(&mut outages, &unknown, 2100), 1);
        let told = outages.figures(&[], (900, 2100), 10);
        assert_eq!((told.count, told.always_up, told.devices.len()), (2, 1, 1));
        let a = &told.devices[0];
        assert_eq!((a.down_s, a.times_down, a.longest_s, a.unknown_s), (100, 1, 100, 100 + 500));
        assert!((a.up_percent - 500.0 * 100.0 / 600.0).abs() < 1e-9);
        assert_eq!(outages.figures(&[Pattern::new("b")], (900, 2100), 10).count, 1);
        assert_eq!(outages.figures(&[], (0, 900), 10).count, 0);
        let mut again = Outages::default();
        outages.snapshot(|entry| again.apply(&entry));
        assert_eq!(again, outages);
        // What there is not any more is in no report.
        assert_eq!(see(&mut outages, &seen(&[("b", true)]), 2200), 1);
        assert_eq!(outages.figures(&[], (900, 2200), 10).count, 1);
        let mut again = Outages::default();
        outages.snapshot(|entry| again.apply(&entry));
        assert_eq!(again, outages);
    }

    #[test]
    fn a_device_that_was_never_up_counts_from_its_first_check_on() {
        let mut outages = Outages::default();
        let now = seen(&[("dead", false), ("well", true)]);
        see(&mut outages, &now, 1000);
        outages.look(1000);
        assert_eq!(see(&mut outages, &now, 1020), 0, "all is as it was");
        outages.look(1020);
        let told = outages.figures(&[], (0, 1060), 10);
        assert_eq!((told.count, told.always_up, told.devices.len()), (2, 1, 1));
        assert_eq!((told.devices[0].device.as_str(), told.devices[0].down_s), ("dead", 20));
    }

    proptest! {
        /// Looked at each ten seconds, with times at which nobody looks: seconds are counted as they were seen.
        #[test]
        fn seconds_add_up(
            steps in proptest::collection::vec(0_u8..6, 1..200),
            from in 0_i64..100,
            length in 1_i64..2000,
        ) {
            let mut outages = Outages::default();
            let (mut up_s, mut down_s) = (0, 0);
            let (from_s, to_s) = (10_000 + from, 10_000 + from + length);
            let mut last: Option<(i64, bool)> = None;
            for (number, step) in steps.iter().enumerate() {
                let at_s = 10_000 + number as i64 * 10;
                if *step == 0 {
                    // A crash: what was seen last and written is what is known.
                    outages.resume().iter().for_each(|end| outages.apply(end));
                    last = None;
                    continue;
                }
                let up = *step > 2;
                if let Some((before_s, was)) = last {
                    let within = (at_s.min(to_s) - before_s.max(from_s)).max(0);
                    if was { up_s += within } else { down_s += within }
                }
                // Each look is written, so that a crash hides nothing.
                see(&mut outages, &seen(&[("a", up)]), at_s);
                outages.apply(&DevicesSeen { at_s, ..DevicesSeen::default() });
                last = Some((at_s, up));
            }
            let told = outages.figures(&[], (from_s, to_s), 10);
            prop_assert_eq!(told.devices.first().map_or(0, |a| a.down_s), down_s);
            prop_assert_eq!(told.count, u64::from(up_s + down_s > 0));
            if let Some(a) = told.devices.first() {
                prop_assert_eq!(a.unknown_s, length - up_s - down_s);
            }
        }
    }
}
