//! Losses that are kept to lay them against calls.

use crate::tap::Watch;
use core::ops::RangeInclusive;
use std::collections::VecDeque;
use trunkline_capture::{CaptureLoss, LossPlace};

/// Reports of the capturing side, and as many of the recorder, that are kept to lay against calls; older ones are
/// forgotten.
// Limit: reports of lost packets compared with calls
// Beyond: the oldest are forgotten
// Seen in: not counted
pub const LOSSES_KEPT_MAX: usize = 4096;

/// Lanes of a live capture as sources of losses ([`CaptureLoss::file`]) are numbered down from here.
pub const LANES_FROM: u32 = u32::MAX - 1;

/// What [`CaptureLoss::file`] is of a lane.
pub fn file_of_lane(lane: u16) -> u32 {
    LANES_FROM - u32::from(lane)
}

/// Interfaces of a live capture as sources of losses are numbered down from here, each by its lanes.
const INTERFACES_FROM: u32 = LANES_FROM - (1 << 16);

/// What [`CaptureLoss::file`] is of what an interface lost before its lanes saw it: its lanes are so many, at least one
/// and at most 256, from the first on.
pub fn file_of_lanes(first: u16, lanes: u16) -> u32 {
    INTERFACES_FROM - (u32::from(first) << 8) - (u32::from(lanes).clamp(1, 256) - 1)
}

/// Whether a source of losses is an interface, as [`file_of_lanes`] numbers them.
pub fn is_interface(file: u32) -> bool {
    INTERFACES_FROM.checked_sub(file).is_some_and(|i| i < 1 << 24)
}

/// The lanes that a source of losses stands for; none of a file.
pub fn lanes_of(file: u32) -> Option<RangeInclusive<u32>> {
    if let Some(lane) = LANES_FROM.checked_sub(file).filter(|lane| *lane <= u32::from(u16::MAX)) {
        return Some(lane..=lane);
    }
    let interface = is_interface(file).then(|| INTERFACES_FROM - file)?;
    let first = interface >> 8;
    Some(first..=first + (interface & 0xff))
}

/// What was lost so far, by the capturing side's own word and by what was seen.
#[derive(Debug, Default)]
pub struct Losses {
    capture: VecDeque<CaptureLoss>,
    recorder: VecDeque<CaptureLoss>,
    /// The watch over the tap.
    pub watch: Watch,
}

impl Losses {
    /// Keeps a report.
    pub fn keep(&mut self, loss: CaptureLoss) {
        let kept = if loss.place.is_of_recorder() { &mut self.recorder } else { &mut self.capture };
        if kept.len() >= LOSSES_KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back(loss);
    }

    /// Whether nothing was lost, and no media seen that could be missing.
    pub fn is_quiet(&self) -> bool {
        self.capture.is_empty() && self.recorder.is_empty() && self.watch.is_quiet()
    }

    /// What was dropped before it could be looked at.
    pub fn of_capture(&self) -> impl Iterator<Item = &CaptureLoss> {
        self.capture.iter()
    }

    /// How many packets the recorder lost that it should have kept.
    pub fn not_recorded(&self, wanted: impl Fn(&CaptureLoss) -> bool) -> u64 {
        let lost = self.recorder.iter().filter(|l| l.place != LossPlace::Rule && wanted(l));
        lost.map(|l| l.packets).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_losses_are_told_apart() {
        for lane in [0, 3, u16::MAX] {
            assert_eq!(lanes_of(file_of_lane(lane)), Some(u32::from(lane)..=u32::from(lane)));
            assert!(!is_interface(file_of_lane(lane)) && is_interface(file_of_lanes(lane, 1)));
        }
        for (first, lanes, all) in [(0, 1, 0..=0), (4, 3, 4..=6), (u16::MAX, 256, 65_535..=65_790), (2, 0, 2..=2)] {
            assert_eq!(lanes_of(file_of_lanes(first, lanes)), Some(all));
        }
        // Not recorded, and files by their number.
        for file in [u32::MAX, 0, 7, file_of_lanes(u16::MAX, 256) - 1] {
            assert_eq!(lanes_of(file), None);
        }
    }
}
