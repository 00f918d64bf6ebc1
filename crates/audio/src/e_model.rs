//! The E-model: ITU-T G.107 (06/2015) for narrowband and G.107.1 (06/2019 with Cor. 1) for wideband, at the default
//! values of both for all that a capture cannot see.
//!
//! With the defaults, Ro - Is is 93.2 (narrowband) and 129 (wideband), and A is 0; left are the delay Id and the
//! effective impairment Ie,eff of codec and lost packets. The two scales are never mixed: [`Impairment`] says which one
//! its figures belong to.

use crate::codec::{Impairment, Scale};

/// R of a narrowband connection at the default values without delay, codec and loss (G.107 clause 7.7, rounded there).
pub const R_NARROWBAND: f64 = 93.2;

/// R of a wideband connection at the default values (G.107.1 clause 7.1).
pub const R_WIDEBAND: f64 = 129.0;

/// What was lost, as the E-model takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Packet-loss probability in percent, 0..=100: packets that never came and packets that came too late to be
    /// played.
    pub percent: f64,
    /// Burst ratio: mean length of the bursts of lost packets over the mean length under independent loss.
    pub burst_ratio: f64,
}

impl Loss {
    /// No loss.
    pub const NONE: Loss = Loss { percent: 0.0, burst_ratio: 1.0 };

    /// From counts: `lost` of `expected` packets in `bursts` runs.
    ///
    /// The burst ratio is 1 / (p + q) of a two-state Markov chain (G.107 clause 7.3), which is mean burst length times
    /// the share of packets that were not lost.
    pub fn counted(lost: u64, bursts: u64, expected: u64) -> Loss {
        if lost == 0 || expected == 0 {
            return Loss::NONE;
        }
        let share = (lost as f64 / expected as f64).min(1.0);
        let burst_ratio = lost as f64 / bursts.max(1) as f64 * (1.0 - share);
        Loss { percent: 100.0 * share, burst_ratio }
    }
}

/// Effective equipment impairment (G.107 equation 7-29, G.107.1 equation 7-15); none where the codec has no published
/// Bpl and something was lost. A burst ratio below 1 (loss more even than chance) counts as 1.
pub fn effective_impairment(impairment: &Impairment, loss: Loss) -> Option<f64> {
    let ie = f64::from(impairment.ie);
    let percent = loss.percent.clamp(0.0, 100.0);
    if percent == 0.0 {
        return Some(ie);
    }
    let bpl = f64::from(impairment.bpl?);
    // The constant stays 95 on the wideband scale as well.
    Some(ie + (95.0 - ie) * percent / (percent / loss.burst_ratio.max(1.0) + bpl))
}

/// How the impairment by delay is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayModel {
    /// G.107 equation 7-27 and 7-28, no echo: Id is Idd alone.
    Exact,
    /// The approximation of Cole and Rosenbluth (2001), which many monitors use: it charges delay from the first
    /// millisecond.
    ColeRosenbluth,
}

/// Impairment by the one-way delay `ms` from mouth to ear.
pub fn delay_impairment(ms: f64, model: DelayModel) -> f64 {
    match model {
        DelayModel::Exact if ms <= 100.0 => 0.0,
        DelayModel::Exact => {
            let x = (ms / 100.0).log2();
            let root = |v: f64| (1.0 + v.powi(6)).powf(1.0 / 6.0);
            25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
        }
        DelayModel::ColeRosenbluth => {
            let over = (ms - 177.3).max(0.0);
            0.024 * ms.max(0.0) + 0.11 * over
        }
    }
}

/// Transmission rating of a connection; none where no value is published for what was seen.
pub fn rating(impairment: &Impairment, loss: Loss, delay: f64) -> Option<f64> {
    let best = match impairment.scale {
        Scale::Narrowband => R_NARROWBAND,
        Scale::Wideband => R_WIDEBAND,
    };
    Some(best - delay - effective_impairment(impairment, loss)?)
}

/// Mean opinion score of a rating: G.107 Annex B, or G.107.1 Annex A for the wideband scale (R / 1.29).
///
/// The polynomial dips to 0.99 below R = 6.5; the score is held at 1.
pub fn opinion(r: f64, scale: Scale) -> f64 {
    let r = match scale {
        Scale::Narrowband => r,
        Scale::Wideband => r / 1.29,
    };
    if r <= 0.0 {
        1.0
    } else if r >= 100.0 {
        4.5
    } else {
        (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
    }
}

/// Listening quality of a stream: codec and loss, no delay term. None where no value is published.
pub fn listening_quality(impairment: &Impairment, loss: Loss) -> Option<f64> {
    Some(opinion(rating(impairment, loss, 0.0)?, impairment.scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 0.001, "{got} is not {want}");
    }

    #[test]
    fn opinion_vectors() {
        for (r, mos) in [(50.0, 2.575), (60.0, 3.1), (70.0, 3.597), (80.0, 4.024), (90.0, 4.339), (93.2, 4.4093)] {
            near(opinion(r, Scale::Narrowband), mos);
        }
        for (r, mos) in [(-1.0, 1.0), (0.0, 1.0), (3.0, 1.0), (100.0, 4.5), (120.0, 4.5)] {
            near(opinion(r, Scale::Narrowband), mos);
        }
        // Ie,wb of 1, 8, 13, 41 and 56 without loss.
        for (r, mos) in [(129.0, 4.5), (128.0, 4.494), (121.0, 4.4206), (116.0, 4.3371), (88.0, 3.5123), (73.0, 2.922)]
        {
            near(opinion(r, Scale::Wideband), mos);
        }
    }

    #[test]
    fn delay_vectors() {
        for (ms, id) in [(100.0, 0.0), (150.0, 0.164), (200.0, 3.044), (250.0, 8.917), (300.0, 14.761), (400.0, 24.070)]
        {
            near(delay_impairment(ms, DelayModel::Exact), id);
        }
        for (ms, id) in [(100.0, 2.4), (200.0, 7.297), (300.0, 20.697)] {
            near(delay_impairment(ms, DelayModel::ColeRosenbluth), id);
        }
    }

    /// Scores by codec and loss in percent, burst ratio 1, no delay.
    #[test]
    fn codec_vectors() {
        let percents = [0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0];
        let bare = Impairment { ie: 0.0, bpl: Some(4.3), scale: Scale::Narrowband, source: "G.711, no concealment" };
        let of = |name| Codec::by_name(name, None).unwrap();
        let rows = [
            (bare, [4.409, 4.143, 3.834, 3.256, 2.794, 2.169, 1.481]),
            (of("PCMU").impairment(160).unwrap(), [4.409, 4.371, 4.328, 4.235, 4.134, 3.923, 3.411]),
            (of("G729").impairment(20).unwrap(), [4.104, 4.026, 3.946, 3.787, 3.632, 3.340, 2.745]),
            (of("G723").impairment(24).unwrap(), [3.954, 3.855, 3.758, 3.567, 3.386, 3.061, 2.447]),
            (of("GSM-EFR").impairment(31).unwrap(), [4.292, 4.163, 4.025, 3.743, 3.474, 3.006, 2.223]),
        ];
        for (impairment, scores) in rows {
            for (percent, mos) in percents.into_iter().zip(scores) {
                near(listening_quality(&impairment, Loss { percent, burst_ratio: 1.0 }).unwrap(), mos);
            }
        }
        let bursty = Loss { percent: 10.0, burst_ratio: 2.0 };
        near(listening_quality(&of("PCMA").impairment(160).unwrap(), bursty).unwrap(), 3.184);
    }

    #[test]
    fn wideband_keeps_the_constant_95() {
        // G.107.1 equation 7-15 for Ie,wb 20, Bpl,wb 4.3, 2 %: 43.8095, which is a score of 3.4062.
        let i = Codec::by_name("AMR-WB", None).unwrap().impairment(33).unwrap();
        let loss = Loss { percent: 2.0, burst_ratio: 1.0 };
        near(effective_impairment(&i, loss).unwrap(), 43.8095);
        near(listening_quality(&i, loss).unwrap(), 3.4062);
    }

    #[test]
    fn without_a_published_bpl_loss_has_no_score() {
        let gsm = Codec::by_name("GSM", None).unwrap().impairment(33).unwrap();
        assert!(listening_quality(&gsm, Loss::NONE).is_some());
        assert_eq!(listening_quality(&gsm, Loss { percent: 1.0, burst_ratio: 1.0 }), None);
    }

    #[test]
    fn burst_ratio_from_counts() {
        // Ten losses of 100 in five runs of two: 2 * 0.9.
        assert_eq!(Loss::counted(10, 5, 100), Loss { percent: 10.0, burst_ratio: 1.8 });
        assert_eq!(Loss::counted(0, 0, 100), Loss::NONE);
    }
}
