//! Times of pcapng: a 64-bit count of ticks whose length the interface says (`if_tsresol`), and an offset.

/// `if_tsresol` where there is none: 10^-6 s.
pub const MICROSECONDS: u8 = 6;

/// How an interface's ticks become nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    tick: Tick,
    offset_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    /// So many nanoseconds.
    Nanoseconds(i64),
    /// So many ticks are a nanosecond.
    PerNanosecond(u64),
    /// 2^-k seconds.
    Binary(u8),
}

impl Clock {
    /// Of an `if_tsresol` octet (draft section 4.2: a power of ten, or of two with the top bit set) and `if_tsoffset`,
    /// seconds.
    pub fn new(resolution: u8, offset_s: i64) -> Clock {
        let exponent = resolution & 0x7f;
        let tick = if resolution & 0x80 != 0 {
            Tick::Binary(exponent)
        } else if exponent <= 9 {
            Tick::Nanoseconds(10i64.pow(9 - u32::from(exponent)))
        } else {
            // Beyond 10^-28 s, 64 bits of ticks do not reach a nanosecond.
            Tick::PerNanosecond(10u64.checked_pow(u32::from(exponent) - 9).unwrap_or(u64::MAX))
        };
        Clock { tick, offset_ns: offset_s.saturating_mul(1_000_000_000) }
    }

    /// Nanoseconds since 1970, UTC, of the two halves of a time. What does not fit is the nearest time that does.
    #[inline]
    pub fn nanoseconds(&self, high: u32, low: u32) -> i64 {
        let ticks = u64::from(high) << 32 | u64::from(low);
        let ns = match self.tick {
            Tick::Nanoseconds(n) => i64::try_from(ticks).unwrap_or(i64::MAX).saturating_mul(n),
            Tick::PerNanosecond(n) => i64::try_from(ticks / n).unwrap_or(i64::MAX),
            Tick::Binary(k) => {
                let ns = (u128::from(ticks) * 1_000_000_000).checked_shr(k.into()).unwrap_or(0);
                i64::try_from(ns).unwrap_or(i64::MAX)
            }
        };
        ns.saturating_add(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_resolution() {
        for (resolution, ticks, ns) in [
            (6, 1_700_000_000_123_456_u64, 1_700_000_000_123_456_000),
            (9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
            (0, 1_700_000_000, 1_700_000_000_000_000_000),
            (3, 1_700_000_000_123, 1_700_000_000_123_000_000),
            (12, 1_700_000_123_456_789_012, 1_700_000_123_456_789),
            (0x80 | 10, 1_700_000_000 * 1024 + 512, 1_700_000_000_500_000_000),
            (0x80 | 32, 7 << 32 | 1 << 31, 7_500_000_000),
            (0x7f, u64::MAX, 1),
            (0xff, u64::MAX, 0),
            (6, u64::MAX, i64::MAX),
        ] {
            let found = Clock::new(resolution, 0).nanoseconds((ticks >> 32) as u32, ticks as u32);
            // 10^-127 s: the divisor is as large as 64 bits allow, which is off by at most one nanosecond.
            assert!((found - ns).abs() <= i64::from(resolution == 0x7f), "{resolution:#x}: {found}");
        }
    }

    #[test]
    fn offset_is_added() {
        assert_eq!(Clock::new(6, -3600).nanoseconds(0, 5), -3_599_999_995_000);
        assert_eq!(Clock::new(6, i64::MAX).nanoseconds(0, 5), i64::MAX);
    }
}
