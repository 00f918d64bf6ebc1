//! Whether the system's clock can be believed: a clock that jumps must not delete what is young.

use std::time::Duration;

/// A step of the clock against the monotonic one from which on it is in doubt.
pub const JUMP: Duration = Duration::from_secs(24 * 3600);
/// How long a clock must go on steadily after a jump before it is believed, if nobody says otherwise.
pub const CONFIRM: Duration = Duration::from_secs(600);
/// How far a clock in doubt may be from going on steadily.
const STEADY_NS: i64 = 60_000_000_000;

/// Compares the system's clock with the monotonic one.
#[derive(Clone, Debug)]
pub struct ClockWatch {
    /// The last time that was believed.
    believed: Option<Pair>,
    /// The first time after a jump.
    doubted: Option<Pair>,
    /// How long it must go on steadily to be believed, nanoseconds.
    confirm: i64,
    jumps: u64,
}

/// Both clocks at one moment, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Pair {
    wall: i64,
    monotonic: i64,
}

impl ClockWatch {
    /// Begins with the time of the newest record on disk, if there is one, at `monotonic`: a clock far from it is in
    /// doubt, too.
    pub fn new(newest_ns: Option<i64>, monotonic: Duration) -> ClockWatch {
        let believed = newest_ns.map(|wall| Pair { wall, monotonic: nanoseconds(monotonic) });
        ClockWatch { believed, doubted: None, confirm: nanoseconds(CONFIRM), jumps: 0 }
    }

    /// The same, but a clock that jumped must go on steadily for so long.
    #[must_use]
    pub fn confirmed_after(self, confirm: Duration) -> ClockWatch {
        ClockWatch { confirm: nanoseconds(confirm), ..self }
    }

    /// Takes both clocks: `wall_ns` since 1970, `monotonic` since anything. Gives the time if it can be believed.
    pub fn believe(&mut self, wall_ns: i64, monotonic: Duration) -> Option<i64> {
        let now = Pair { wall: wall_ns, monotonic: nanoseconds(monotonic) };
        let goes_on = self.believed.is_none_or(|p| p.is_followed_by(now, nanoseconds(JUMP)));
        let doubted = self.doubted.filter(|p| p.is_followed_by(now, STEADY_NS));
        let is_confirmed = doubted.is_some_and(|p| now.monotonic - p.monotonic >= self.confirm);
        if goes_on || is_confirmed {
            (self.believed, self.doubted) = (Some(now), None);
            return Some(wall_ns);
        }
        if doubted.is_none() {
            self.jumps += 1;
            self.doubted = Some(now);
        }
        None
    }

    /// Whether it jumped and has not gone on for long enough since.
    pub fn is_in_doubt(&self) -> bool {
        self.doubted.is_some()
    }

    /// How often the clock jumped.
    pub fn jumps(&self) -> u64 {
        self.jumps
    }
}

impl Pair {
    /// Whether both clocks went on by the same time, to within `slack` nanoseconds.
    fn is_followed_by(self, next: Pair, slack: i64) -> bool {
        let expected = self.wall.saturating_add(next.monotonic.saturating_sub(self.monotonic));
        next.wall.saturating_sub(expected).saturating_abs() <= slack
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const DAY: i64 = 86_400 * SECOND;
    const START: i64 = 1_700_000_000 * SECOND;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_steady_clock_is_believed() {
        let mut watch = ClockWatch::new(None, at(0));
        for s in 0..5 {
            assert!(watch.believe(START + s * SECOND, at(s as u64)).is_some());
        }
        // Summer time, a leap second, NTP: no jump.
        assert!(watch.believe(START + 3600 * SECOND, at(6)).is_some());
        assert_eq!(watch.jumps(), 0);
    }

    #[test]
    fn a_jump_is_believed_when_it_lasts() {
        for jump in [400 * DAY, -400 * DAY] {
            let mut watch = ClockWatch::new(Some(START), at(0));
            assert!(watch.believe(START, at(1)).is_some());
            for s in 0..600 {
                assert_eq!(watch.believe(START + jump + s * SECOND, at(10 + s as u64)), None, "{s}");
            }
            assert!(watch.believe(START + jump + 600 * SECOND, at(610)).is_some());
            assert_eq!(watch.jumps(), 1);
        }
    }

    #[test]
    fn a_jump_and_back_is_forgotten() {
        let mut watch = ClockWatch::new(Some(START), at(0));
        assert_eq!(watch.believe(START + 9 * DAY, at(1)), None);
        assert!(watch.believe(START + 2 * SECOND, at(2)).is_some());
        assert_eq!(watch.believe(START + 9 * DAY, at(3)), None);
        assert_eq!(watch.believe(START + 9 * DAY + 600 * SECOND, at(601)), None);
        assert!(watch.believe(START + 9 * DAY + 601 * SECOND, at(604)).is_some());
    }

    #[test]
    fn how_long_it_must_last_can_be_said() {
        let mut watch = ClockWatch::new(Some(START), at(0)).confirmed_after(at(7200));
        assert_eq!(watch.believe(START + 9 * DAY, at(0)), None);
        assert!(watch.is_in_doubt());
        assert_eq!(watch.believe(START + 9 * DAY + 7199 * SECOND, at(7199)), None);
        assert!(watch.believe(START + 9 * DAY + 7200 * SECOND, at(7200)).is_some());
        assert!(!watch.is_in_doubt());
    }

    #[test]
    fn a_clock_that_keeps_jumping_is_never_believed() {
        let mut watch = ClockWatch::new(Some(START), at(0));
        for i in 1..100i64 {
            assert_eq!(watch.believe(START + i * 40 * DAY, at(i as u64 * 300)), None);
        }
    }
}
