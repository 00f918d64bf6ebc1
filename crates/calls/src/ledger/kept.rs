//! Losses that are kept to lay them against calls.

use crate::tap::Watch;
use std::collections::VecDeque;
use trunkline_capture::{CaptureLoss, LossPlace};

/// Reports of the capturing side, and as many of the recorder, that are kept to lay against calls; older ones are
/// forgotten.
pub const LOSSES_KEPT_MAX: usize = 4096;

/// Lanes of a live capture as sources of losses ([`CaptureLoss::file`]) are numbered down from here.
pub const LANES_FROM: u32 = u32::MAX - 1;

/// What [`CaptureLoss::file`] is of a lane.
pub fn file_of_lane(lane: u16) -> u32 {
    LANES_FROM - u32::from(lane)
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
