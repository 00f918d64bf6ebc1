//! Counts what arrived of a stream: the sim's own arithmetic, sharing nothing with the analysis it judges.
//!
//! DESIGN section 4, "Counting": `packets` is all that arrived, copies included; `expected` is highest - lowest + 1 of
//! the extended sequence numbers that arrived; jitter is RFC 3550 A.8 in double precision, in arrival order, copies
//! left out, its mean over all packets but the first.

/// How far behind the highest sequence number copies are told from late packets.
pub const WINDOW_MAX: u64 = 1024;

/// What arrived of one stream.
#[derive(Clone, Debug)]
pub struct Tally {
    /// All packets, copies included.
    pub packets: u64,
    /// Copies.
    pub duplicates: u64,
    /// Packets after a higher sequence number, copies left out.
    pub reordered: u64,
    /// Lowest extended sequence number.
    pub lowest: u64,
    /// Highest extended sequence number.
    pub highest: u64,
    /// First arrival, nanoseconds since 1970.
    pub first_ns: i64,
    /// Last arrival, nanoseconds since 1970.
    pub last_ns: i64,
    /// The jitter now, milliseconds.
    pub jitter_ms: f64,
    /// Its highest value, milliseconds.
    pub jitter_max_ms: f64,
    jitter_sum_ms: f64,
    /// Packets that entered the jitter.
    timed: u64,
    previous: (i64, u32),
    ms_per_unit: f64,
    seen: [u64; (WINDOW_MAX / 64) as usize],
}

impl Tally {
    /// Nothing has arrived yet of a stream with this clock, Hz.
    pub fn new(clock_rate: u32) -> Self {
        Tally {
            packets: 0,
            duplicates: 0,
            reordered: 0,
            lowest: 0,
            highest: 0,
            first_ns: 0,
            last_ns: 0,
            jitter_ms: 0.0,
            jitter_max_ms: 0.0,
            jitter_sum_ms: 0.0,
            timed: 0,
            previous: (0, 0),
            ms_per_unit: 1000.0 / f64::from(clock_rate),
            seen: [0; (WINDOW_MAX / 64) as usize],
        }
    }

    /// A packet arrived: its extended sequence number as the sender counted it (no wrap to guess) and its timestamp.
    /// Says whether it is the first of its number.
    #[inline]
    pub fn arrived(&mut self, at_ns: i64, sequence: u64, timestamp: u32) -> bool {
        self.packets += 1;
        self.last_ns = at_ns;
        if self.packets == 1 {
            (self.first_ns, self.lowest, self.highest) = (at_ns, sequence, sequence);
            self.mark(sequence);
            self.transit(at_ns, timestamp);
            return true;
        }
        if sequence > self.highest {
            // One turn of the window clears it all.
            (self.highest + 1..=sequence).take(WINDOW_MAX as usize).for_each(|s| self.clear(s));
            self.highest = sequence;
        } else if self.is_marked(sequence) {
            self.duplicates += 1;
            return false;
        } else {
            self.reordered += 1;
            self.lowest = self.lowest.min(sequence);
        }
        self.mark(sequence);
        self.transit(at_ns, timestamp);
        true
    }

    /// Distinct packets that arrived.
    pub fn distinct(&self) -> u64 {
        self.packets - self.duplicates
    }

    /// Highest - lowest + 1; 0 if nothing arrived.
    pub fn expected(&self) -> u64 {
        if self.packets == 0 { 0 } else { self.highest - self.lowest + 1 }
    }

    /// Mean jitter, milliseconds.
    pub fn jitter_mean_ms(&self) -> f64 {
        match self.timed {
            0 | 1 => 0.0,
            n => self.jitter_sum_ms / (n - 1) as f64,
        }
    }

    /// RFC 3550 A.8: J += (|D| - J) / 16.
    #[inline]
    fn transit(&mut self, at_ns: i64, timestamp: u32) {
        let (at_before, timestamp_before) = self.previous;
        self.previous = (at_ns, timestamp);
        self.timed += 1;
        if self.timed == 1 {
            return;
        }
        let media = f64::from(timestamp.wrapping_sub(timestamp_before) as i32) * self.ms_per_unit;
        let difference = ((at_ns - at_before) as f64 / 1e6 - media).abs();
        self.jitter_ms += (difference - self.jitter_ms) / 16.0;
        self.jitter_sum_ms += self.jitter_ms;
        self.jitter_max_ms = self.jitter_max_ms.max(self.jitter_ms);
    }

    #[inline]
    fn mark(&mut self, sequence: u64) {
        let bit = sequence % WINDOW_MAX;
        self.seen[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    #[inline]
    fn clear(&mut self, sequence: u64) {
        let bit = sequence % WINDOW_MAX;
        self.seen[(bit / 64) as usize] &= !(1 << (bit % 64));
    }

    #[inline]
    fn is_marked(&self, sequence: u64) -> bool {
        let bit = sequence % WINDOW_MAX;
        self.highest - sequence < WINDOW_MAX && self.seen[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_the_definitions() {
        let mut tally = Tally::new(8000);
        // 11 first, then 10 late, 12 lost, 13 twice, 14.
        for (ms, sequence) in [(0, 11u64), (1, 10), (40, 13), (41, 13), (60, 14)] {
            tally.arrived(ms * 1_000_000, sequence, (sequence * 160) as u32);
        }
        assert_eq!((tally.packets, tally.distinct(), tally.expected()), (5, 4, 5));
        assert_eq!((tally.duplicates, tally.reordered, tally.lowest, tally.highest), (1, 1, 10, 14));
        // D: 1 - -20 = 21; 39 - 60 = -21; 20 - 20 = 0.
        let j1 = 21.0 / 16.0;
        let j2 = j1 + (21.0 - j1) / 16.0;
        let j3 = j2 - j2 / 16.0;
        assert!((tally.jitter_mean_ms() - (j1 + j2 + j3) / 3.0).abs() < 1e-12);
        assert!((tally.jitter_max_ms - j2).abs() < 1e-12);
    }

    #[test]
    fn a_long_gap_forgets_what_was_marked() {
        let mut tally = Tally::new(8000);
        tally.arrived(0, 5, 0);
        tally.arrived(1, 5 + 3 * WINDOW_MAX, 0);
        tally.arrived(2, 5 + 2 * WINDOW_MAX + 1, 0);
        assert_eq!((tally.duplicates, tally.reordered), (0, 1));
    }
}
