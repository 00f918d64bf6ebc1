//! The score that VoIPmonitor computes: its own curve over losses after a modelled jitter buffer, the same for every
//! codec, without delay. Offered beside G.107 so that figures can be compared with those of an installation in the
//! field; not a standard's score.
//!
//! Field: no loss scores 4.5 where G.107 gives 4.41, fewer than five lost packets in an interval count as none, and the
//! curve itself begins at 4.30, so that the fifth packet lost makes a jump.

/// Score without loss, and the highest there is.
pub const BEST: f64 = 4.5;

/// Lost packets of an interval below which it scores [`BEST`].
pub const LOST_MIN: u32 = 5;

/// What a modelled jitter buffer lost in an interval of ten seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Interval {
    /// Packets that were to be played and were not there.
    pub lost: u32,
    /// Runs in which they were lost.
    pub bursts: u32,
    /// Packets that arrived in the interval.
    pub received: u32,
}

impl Interval {
    /// Score of the interval, 1..=4.5.
    pub fn score(&self) -> f64 {
        if self.lost < LOST_MIN {
            return BEST;
        }
        let (lost, received) = (f64::from(self.lost), f64::from(self.received.max(1)));
        let share = lost / received;
        let burst_ratio = (lost / f64::from(self.bursts.max(1)) * (1.0 - share)).max(1.0);
        score(share, burst_ratio)
    }
}

/// Score of a share of lost packets (0..=1) with a burst ratio of at least 1.
pub fn score(share: f64, burst_ratio: f64) -> f64 {
    if share > 0.5 {
        return 1.0;
    }
    if share <= 0.0 {
        return BEST;
    }
    let percent = 100.0 * share;
    let r = 93.206_207_723_3 - 95.0 * (percent / (percent / burst_ratio.max(1.0) + 17.2647));
    let mos = 2.06405 + 0.031738 * r - 0.000_356_641 * r * r + 2.93143e-6 * r * r * r;
    mos.clamp(1.0, BEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve() {
        let rows = [(0.0, 4.5), (0.5, 4.189), (1.0, 4.093), (2.0, 3.929), (3.0, 3.795), (5.0, 3.591), (10.0, 3.284)];
        for (percent, mos) in rows {
            let got = score(percent / 100.0, 1.0);
            assert!((got - mos).abs() < 0.001, "{percent} %: {got} is not {mos}");
        }
        assert_eq!(score(0.51, 1.0), 1.0);
    }

    #[test]
    fn four_lost_packets_are_none() {
        assert_eq!(Interval { lost: 4, bursts: 1, received: 500 }.score(), BEST);
        let five = Interval { lost: 5, bursts: 5, received: 500 }.score();
        assert!((five - 4.093).abs() < 0.001, "{five}");
        let burst = Interval { lost: 50, bursts: 10, received: 500 }.score();
        assert!((burst - score(0.1, 4.5)).abs() < 1e-12);
    }
}
