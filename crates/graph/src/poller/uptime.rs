//! Whether a device has started anew, by its sysUpTime (RFC 3418).

/// Milliseconds that a device's clock may be behind ours since the last look, besides a twentieth of the time between.
const SLACK_MS: u64 = 30_000;
/// Ticks after which sysUpTime begins again: 497 days.
const WRAP_TICKS: u64 = 1 << 32;

/// The last sysUpTime, hundredths of a second, and when it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uptime {
    ticks: u32,
    at_ns: u64,
}

impl Uptime {
    pub(super) fn new(ticks: u32, at_ns: u64) -> Uptime {
        Uptime { ticks, at_ns }
    }

    /// Takes in the next; whether the device has started anew in between.
    pub(super) fn next(&mut self, ticks: u32, at_ns: u64) -> bool {
        let passed_ms = at_ns.saturating_sub(self.at_ns) / 1_000_000;
        let slack_ticks = (SLACK_MS + passed_ms / 20) / 10;
        let expected = u64::from(self.ticks) + passed_ms / 10;
        // Where it may have begun again by itself, what is lower than before is that much higher.
        let begins_again = ticks < self.ticks && expected + slack_ticks >= WRAP_TICKS;
        let told = u64::from(ticks) + if begins_again { WRAP_TICKS } else { 0 };
        let is_restarted = told < u64::from(self.ticks) || expected.saturating_sub(told) > slack_ticks;
        *self = Uptime { ticks, at_ns };
        is_restarted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn restarted(before: u32, after: u32, seconds: u64) -> bool {
        Uptime::new(before, 0).next(after, seconds * S)
    }

    #[test]
    fn time_that_goes_on_is_no_restart() {
        assert!(!restarted(100_000, 106_000, 60));
        // Agents update it late, and their clocks go wrong.
        assert!(!restarted(100_000, 104_000, 60) && !restarted(100_000, 130_000, 60));
        assert!(!restarted(100_000, 100_000, 10));
    }

    #[test]
    fn time_that_goes_back_is_one() {
        assert!(restarted(100_000, 500, 60) && restarted(100_000, 99_999, 60));
        // It was up for longer than before the restart, but not for as long as has passed.
        assert!(restarted(1_000, 60_000, 3_600));
    }

    #[test]
    fn after_497_days_it_begins_again() {
        assert!(!restarted(u32::MAX - 1_000, 5_000, 60));
        assert!(!restarted(u32::MAX - 1_000, u32::MAX, 20));
        assert!(restarted(u32::MAX - 1_000_000, 500, 60));
    }
}
