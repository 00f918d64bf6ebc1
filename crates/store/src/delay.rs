//! Delay of a stream's packets on their way, from the transits of its intervals.
//!
//! Transit is arrival less media time: the delay on the way, plus a constant that nobody at one tap can know, plus what
//! the sender's clock drifts against the capture's. So delay is told against the fastest packet of the stream: what a
//! packet took longer than that one. The constant part, which is distance above all, is not in it; round trips of RTCP
//! hold that.
//!
//! Two clocks drift apart in a straight line, by up to some hundred parts per million. Where the least transits of the
//! intervals lie on such a line, it is taken off; else nothing is: a way that became longer for good looks like a step,
//! not like a line. What remains and cannot be told apart: a way that becomes longer as evenly as a clock drifts, and
//! a sender that sets its timestamps anew by less than ten seconds.

use crate::row::{StreamInterval, Transit};

/// Drift of clocks that is believed, parts per million: quartz of telephones is within 100, what is worse has happened.
pub const DRIFT_MAX_PPM: f64 = 500.0;

/// Intervals that a drift needs.
const DRIFT_INTERVALS_MIN: usize = 3;

/// How far the least transits may lie from the line, as a share of what the line rises or falls over the stream.
const DRIFT_SCATTER_MAX: f64 = 0.25;

/// Delay of an interval's packets beyond the fastest packet of the stream, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// Of the interval's fastest packet.
    pub min_ms: f64,
    /// Mean.
    pub mean_ms: f64,
    /// Of the slowest.
    pub max_ms: f64,
}

/// The delays of a stream's intervals, in their order; none for those whose transit is not known.
pub fn of_intervals(intervals: &[StreamInterval]) -> Vec<Option<Delay>> {
    let least: Vec<(f64, f64)> =
        intervals.iter().filter_map(|i| Some((seconds(i), f64::from(i.transit?.min_ms)))).collect();
    let slope = drift_ms_per_s(&least);
    let base = least.iter().map(|(at, ms)| ms - slope * at).fold(f64::INFINITY, f64::min);
    let one = |i: &StreamInterval| i.transit.map(|transit| beyond(transit, base + slope * seconds(i)));
    intervals.iter().map(one).collect()
}

fn beyond(transit: Transit, base: f64) -> Delay {
    let beyond = |ms: f32| (f64::from(ms) - base).max(0.0);
    Delay { min_ms: beyond(transit.min_ms), mean_ms: beyond(transit.mean_ms), max_ms: beyond(transit.max_ms) }
}

/// When an interval began, seconds since the first one of its stream.
fn seconds(interval: &StreamInterval) -> f64 {
    f64::from(interval.index) * 10.0
}

/// The slope of the line through these points (seconds, milliseconds) if it can be that of a clock; else 0.
fn drift_ms_per_s(points: &[(f64, f64)]) -> f64 {
    let Some(slope) = slope(points).filter(|s| s.abs() * 1000.0 <= DRIFT_MAX_PPM) else { return 0.0 };
    let rest = points.iter().map(|(at, ms)| ms - slope * at);
    let (low, high) = rest.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), r| (low.min(r), high.max(r)));
    let (first, last) = points.iter().fold((f64::INFINITY, 0.0f64), |(a, b), (at, _)| (a.min(*at), b.max(*at)));
    if high - low <= DRIFT_SCATTER_MAX * (slope * (last - first)).abs() { slope } else { 0.0 }
}

/// Least squares.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < DRIFT_INTERVALS_MIN {
        return None;
    }
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (mut xx, mut xy) = (0.0, 0.0);
    for p in points {
        xx += (p.0 - x) * (p.0 - x);
        xy += (p.0 - x) * (p.1 - y);
    }
    (xx > 0.0).then(|| xy / xx)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(least: impl IntoIterator<Item = f32>) -> Vec<StreamInterval> {
        let transit = |ms| Transit { min_ms: ms, mean_ms: ms + 5.0, max_ms: ms + 40.0 };
        let one = |(n, ms)| StreamInterval { index: n as u32, transit: Some(transit(ms)), ..StreamInterval::default() };
        least.into_iter().enumerate().map(one).collect()
    }

    fn means(intervals: &[StreamInterval]) -> Vec<f64> {
        of_intervals(intervals).iter().flatten().map(|d| (d.mean_ms * 100.0).round() / 100.0).collect()
    }

    #[test]
    fn delay_is_against_the_fastest_packet_of_the_stream() {
        let list = intervals([2.0, -1.0, 3.0]);
        assert_eq!(means(&list), [8.0, 5.0, 9.0]);
        assert_eq!(of_intervals(&list)[0], Some(Delay { min_ms: 3.0, mean_ms: 8.0, max_ms: 43.0 }));
        assert!(of_intervals(&[]).is_empty());
    }

    #[test]
    fn what_has_no_clock_has_no_delay() {
        let mut list = intervals([0.0, 0.0, 0.0]);
        list[1].transit = None;
        assert_eq!(of_intervals(&list).iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    }

    #[test]
    fn drift_of_clocks_is_taken_off() {
        // 100 ppm over five minutes, with a fifth of a millisecond of noise.
        let list = intervals((0..30).map(|n| n as f32 - if n % 2 == 0 { 0.2 } else { 0.0 }));
        assert!(means(&list).iter().all(|ms| (5.0..5.3).contains(ms)), "{:?}", means(&list));
        let list = intervals((0..30).map(|n| -n as f32));
        assert_eq!(means(&list), [5.0; 30]);
    }

    #[test]
    fn a_way_that_became_longer_shows() {
        let list = intervals((0..30).map(|n| if n < 15 { 0.0 } else { 80.0 }));
        assert_eq!((means(&list)[0], means(&list)[14], means(&list)[15], means(&list)[29]), (5.0, 5.0, 85.0, 85.0));
        // An hour with a step that a straight line of 33 ppm comes near to.
        let list = intervals((0..360).map(|n| if n < 180 { 0.0 } else { 80.0 }));
        assert_eq!((means(&list)[0], means(&list)[179], means(&list)[180]), (5.0, 5.0, 85.0));
    }

    #[test]
    fn what_no_clock_does_is_delay() {
        // A queue that grows by 10 ms in ten seconds: 1000 ppm.
        let list = intervals((0..12).map(|n| 10.0 * n as f32));
        assert_eq!((means(&list)[0], means(&list)[11]), (5.0, 115.0));
    }
}
