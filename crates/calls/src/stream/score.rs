//! Scores of a stream and of its intervals.

use trunkline_audio::Codec;
use trunkline_audio::codec::Scale;
use trunkline_audio::e_model::{self, Loss};
use trunkline_audio::voipmonitor::Interval;

/// Packets that a score needs.
pub const SCORED_PACKETS_MIN: u64 = 20;

/// What a stream's G.107 score is made of, so that it can be computed for fewer losses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scoring {
    pub(super) codec: Option<&'static Codec>,
    pub(super) octets: u32,
    pub(super) packets: u64,
    pub(super) lost: u64,
    pub(super) bursts: u64,
    pub(super) expected: u64,
}

impl Scoring {
    /// The score if `packets` of those that never came, in `runs` runs of their own, had come in time.
    pub fn without(&self, packets: u64, runs: u64) -> Option<f32> {
        let lost = self.lost.saturating_sub(packets);
        let bursts = self.bursts.saturating_sub(runs).clamp(u64::from(lost > 0), lost);
        let loss = Loss::counted(lost, bursts, self.expected);
        listening(self.codec, self.octets, loss, self.packets).map(|(mos, _)| mos)
    }
}

impl Scoring {
    /// The score and the burst ratio if `packets` of those that never came, in `runs` runs of their own, had never been
    /// sent.
    pub fn left_out(&self, packets: u64, runs: u64) -> (Option<f32>, Option<f32>) {
        let lost = self.lost.saturating_sub(packets);
        let bursts = self.bursts.saturating_sub(runs).clamp(u64::from(lost > 0), lost);
        let loss = Loss::counted(lost, bursts, self.expected.saturating_sub(packets));
        let score = listening(self.codec, self.octets, loss, self.packets).map(|(mos, _)| mos);
        (score, (lost > 0).then_some(loss.burst_ratio as f32))
    }
}

/// Mean of the intervals' VoIPmonitor-compatible scores, each with the weight of its duration.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IntervalMean {
    sums: [f64; 3],
    seconds: f64,
}

impl IntervalMean {
    pub(super) fn add(&mut self, scores: [Option<f32>; 3], seconds: f64) {
        if let [Some(a), Some(b), Some(c)] = scores {
            for (sum, score) in self.sums.iter_mut().zip([a, b, c]) {
                *sum += f64::from(score) * seconds;
            }
            self.seconds += seconds;
        }
    }

    pub(super) fn scores(&self) -> [Option<f32>; 3] {
        self.sums.map(|sum| (self.seconds > 0.0).then(|| (sum / self.seconds) as f32))
    }
}

/// The three scores of an interval; none if too little was seen.
pub(super) fn voipmonitor(intervals: [Interval; 3], modelled: u64) -> [Option<f32>; 3] {
    intervals.map(|i| (modelled >= SCORED_PACKETS_MIN).then(|| i.score() as f32))
}

/// G.107 or G.107.1 score by the codec's published values, and whether it is the wideband one. None where nothing is
/// published for the codec (or for it under loss) or too little was seen.
pub(super) fn listening(codec: Option<&Codec>, octets: u32, loss: Loss, packets: u64) -> Option<(f32, bool)> {
    if packets < SCORED_PACKETS_MIN {
        return None;
    }
    let impairment = codec?.impairment(octets)?;
    let score = e_model::listening_quality(&impairment, loss)?;
    Some((score as f32, impairment.scale == Scale::Wideband))
}
