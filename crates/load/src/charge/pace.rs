//! When requests are sent: as they are due, or as others are answered.

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// When they are due, whatever the server does.
    Open {
        /// When sessions and events begin.
        begins: Begins,
        /// Nanoseconds from a request of a session to its next one.
        interval_ns: u64,
    },
    /// As soon as others are answered.
    Closed {
        /// Requests that wait for an answer at a time.
        in_flight: usize,
        /// Sessions that are held at a time.
        held: usize,
    },
}

/// When sessions and events begin. A run may begin warm: in its first interval so many begin, with fewer updates than
/// they would have, that requests are due from then on as often as they will be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Begins {
    per_second: f64,
    events: f64,
    updates: u32,
    firsts: u32,
    warm_seconds: f64,
}

impl Begins {
    /// So many a second, `events` of them events (0 to 1), sessions with `firsts` requests before the first interval
    /// and that many updates; warm for so many seconds.
    pub fn new(per_second: f64, events: f64, updates: u32, firsts: u32, warm_seconds: f64) -> Self {
        Begins { per_second, events, updates, firsts, warm_seconds }
    }

    /// Requests that are due in a second, for each that begins.
    pub fn requests_each(events: f64, updates: u32, firsts: u32) -> f64 {
        events + (1.0 - events) * (f64::from(firsts) + f64::from(updates) + 1.0)
    }

    /// Sessions that are held, for each that begins in an interval.
    pub fn held_each(events: f64, updates: u32) -> f64 {
        (1.0 - events) * (f64::from(updates) + 1.0)
    }

    /// Requests that are due in a second.
    pub fn requests_per_second(&self) -> f64 {
        self.per_second * Begins::requests_each(self.events, self.updates, self.firsts)
    }

    fn warm_per_second(&self) -> f64 {
        self.per_second * (self.events + Begins::held_each(self.events, self.updates))
    }

    /// How many begin while it warms up.
    fn warm(&self) -> f64 {
        self.warm_per_second() * self.warm_seconds
    }

    /// When the n-th begins, in nanoseconds from the start.
    pub fn nth_ns(&self, nth: u64) -> u64 {
        let nth = nth as f64;
        let seconds = if nth < self.warm() {
            nth / self.warm_per_second()
        } else {
            self.warm_seconds + (nth - self.warm()) / self.per_second
        };
        (seconds * 1e9) as u64
    }

    /// How many begin before that time.
    pub fn before(&self, ns: u64) -> u64 {
        let seconds = ns as f64 / 1e9;
        let begun = if seconds < self.warm_seconds {
            seconds * self.warm_per_second()
        } else {
            self.warm() + (seconds - self.warm_seconds) * self.per_second
        };
        begun.ceil() as u64
    }

    /// What share of those that begin around the n-th are events.
    pub fn events_at(&self, nth: u64) -> f64 {
        let warm = (nth as f64) < self.warm();
        if warm { self.events * self.per_second / self.warm_per_second() } else { self.events }
    }

    /// Updates of the n-th, if it is a session.
    pub fn updates_at(&self, nth: u64) -> u32 {
        let warm = (nth as f64) < self.warm();
        if warm { (nth % (u64::from(self.updates) + 1)) as u32 } else { self.updates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_begin() {
        let begins = Begins::new(100.0, 0.0, 8, 1, 0.0);
        assert_eq!((begins.nth_ns(0), begins.nth_ns(1), begins.nth_ns(250)), (0, 10_000_000, 2_500_000_000));
        assert_eq!((begins.before(0), begins.before(2_500_000_000), begins.before(2_500_000_001)), (0, 250, 251));
        assert_eq!((begins.updates_at(0), begins.requests_per_second()), (8, 1000.0));
    }

    #[test]
    fn a_warm_begin_has_all_requests_due_after_an_interval() {
        let (updates, interval) = (3, 2.0);
        let begins = Begins::new(10.0, 0.2, updates, 1, interval);
        let mut due = [0u32; 8];
        for nth in 0..begins.before(8_000_000_000) {
            let at = begins.nth_ns(nth);
            assert!(begins.before(at) <= nth && begins.before(at + 2) > nth, "{nth}");
            let mut count = |ns: u64, share: f64| {
                if let Some(second) = due.get_mut((ns / 1_000_000_000) as usize) {
                    *second += (share * 1000.0) as u32;
                }
            };
            let events = begins.events_at(nth);
            count(at, events);
            let requests = begins.updates_at(nth) + 2;
            (0..requests).for_each(|n| count(at + u64::from(n) * 2_000_000_000, 1.0 - events));
        }
        let want = begins.requests_per_second() * 1000.0;
        assert!(due[2..].iter().all(|got| (f64::from(*got) - want).abs() < want / 20.0), "{due:?}, not {want}");
        assert!(due[..2].iter().all(|got| f64::from(*got) > want * 0.7), "{due:?}, not {want}");
    }
}
