//! Times to live: what a client writes, and what the store keeps.

/// Longest time to live that counts from now: 30 days (protocol.txt, "Expiration times").
pub const RELATIVE_SECONDS_MAX: i64 = 60 * 60 * 24 * 30;

/// The moment of a call, handed in by who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Seconds of the store's own clock; the first one is 1.
    pub second: u32,
    /// Microseconds since 1970, for lines of `watch`.
    pub unix_us: u64,
    /// Microseconds of a clock that only goes on, for durations.
    pub monotonic_us: u64,
}

impl Now {
    /// The moment `unix_us` of a server that started at `started`, in seconds since 1970.
    pub fn new(started: u64, unix_us: u64) -> Self {
        let second = (unix_us / 1_000_000).saturating_sub(started).saturating_add(1);
        Now { second: u32::try_from(second).unwrap_or(u32::MAX), unix_us, monotonic_us: unix_us }
    }

    /// The second since 1970 in which the store's second 0 lies.
    pub fn origin(&self) -> i64 {
        (self.unix_us / 1_000_000) as i64 - i64::from(self.second)
    }

    /// The second of the store at which what was written as `expiry` expires; 0 is never, 1 is long ago.
    ///
    /// Negative is at once; up to 30 days counts from now; more is a time since 1970 (`realtime` in `memcached.c`).
    pub fn expires(&self, expiry: i32) -> u32 {
        self.expires_wide(if expiry < 0 { RELATIVE_SECONDS_MAX + 1 } else { i64::from(expiry) })
    }

    /// The same of the binary protocol, whose field is an unsigned 32.
    pub fn expires_unsigned(&self, expiry: u32) -> u32 {
        self.expires_wide(i64::from(expiry))
    }

    fn expires_wide(&self, expiry: i64) -> u32 {
        match expiry {
            0 => 0,
            1..=RELATIVE_SECONDS_MAX => self.second.saturating_add(expiry as u32),
            absolute => u32::try_from((absolute - self.origin()).max(1)).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_protocol_txt() {
        let now = Now::new(1_700_000_000, 1_700_000_099_500_000);
        assert_eq!((now.second, now.origin()), (100, 1_699_999_999));
        assert_eq!(now.expires(0), 0);
        assert_eq!(now.expires(-1), 1);
        assert_eq!(now.expires(10), 110);
        assert_eq!(now.expires(2_592_000), 2_592_100);
        assert_eq!(now.expires(2_592_001), 1);
        assert_eq!(now.expires(1_700_000_105), 106);
        assert_eq!(now.expires_unsigned(u32::MAX), u32::MAX - 1_699_999_999);
    }
}
