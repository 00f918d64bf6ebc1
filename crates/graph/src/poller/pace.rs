//! How fast a device is asked: timeouts by what its answers take (RFC 6298), requests on their way, and how much is
//! asked at once.

use super::Settings;

/// The shortest time that an answer is waited for: agents hold back what is not urgent to them.
const TIMEOUT_NS_MIN: u64 = 200_000_000;
/// Names that a walk asks for with its first request.
const REPETITIONS_FIRST: u32 = 10;
/// And with one of its later ones, at most.
const REPETITIONS_MAX: u32 = 50;

/// What was learned of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    smoothed_ns: Option<u64>,
    variation_ns: u64,
    requests: u8,
    varbinds: u16,
    repetitions: u32,
}

impl Pace {
    pub(super) fn new(settings: &Settings) -> Pace {
        Pace {
            smoothed_ns: None,
            variation_ns: 0,
            requests: settings.requests_max.min(2),
            varbinds: settings.varbinds_max,
            repetitions: REPETITIONS_FIRST,
        }
    }

    /// An answer came so long after its only request.
    pub(super) fn answered(&mut self, took_ns: u64) {
        match self.smoothed_ns {
            None => (self.smoothed_ns, self.variation_ns) = (Some(took_ns), took_ns / 2),
            Some(smoothed) => {
                self.variation_ns = (3 * self.variation_ns + smoothed.abs_diff(took_ns)) / 4;
                self.smoothed_ns = Some((7 * smoothed + took_ns) / 8);
            }
        }
    }

    /// How long the answer to a try is waited for; twice as long for each one before.
    pub(super) fn timeout_ns(&self, tries_before: u8, settings: &Settings) -> u64 {
        let longest = u64::from(settings.timeout_ms_max) * 1_000_000;
        let first = u64::from(settings.first_timeout_ms) * 1_000_000;
        let once = self.smoothed_ns.map_or(first, |smoothed| (smoothed + 4 * self.variation_ns).max(TIMEOUT_NS_MIN));
        once.saturating_mul(1 << tries_before.min(16)).min(longest)
    }

    /// What one answer takes, as far as is known.
    pub(super) fn round_trip_ns(&self) -> Option<u64> {
        self.smoothed_ns
    }

    /// Requests that may be on their way at once.
    pub(super) fn requests(&self) -> u8 {
        self.requests
    }

    /// Variables of a request.
    pub(super) fn varbinds(&self) -> u16 {
        self.varbinds
    }

    /// Names that a walk asks for at once.
    pub(super) fn repetitions(&self) -> u32 {
        self.repetitions
    }

    /// A request was not answered in time.
    pub(super) fn lost(&mut self) {
        self.requests = (self.requests / 2).max(1);
    }

    /// An answer to so many variables would not fit, or never comes while others do.
    pub(super) fn too_many(&mut self, asked: u16) {
        self.varbinds = (asked / 2).clamp(1, self.varbinds);
    }

    /// A walk's answer would not fit.
    pub(super) fn too_far(&mut self) {
        self.repetitions = (self.repetitions / 2).max(1);
    }

    /// A walk's answer was as long as was asked for.
    pub(super) fn far_enough(&mut self) {
        self.repetitions = (self.repetitions * 3 / 2 + 1).min(REPETITIONS_MAX);
    }

    /// A cycle went well: a little more at once in the next.
    pub(super) fn went_well(&mut self, settings: &Settings) {
        self.requests = (self.requests + 1).min(settings.requests_max);
        self.varbinds = (self.varbinds + 1).min(settings.varbinds_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn timeouts_follow_what_answers_take() {
        let settings = Settings::default();
        let mut pace = Pace::new(&settings);
        assert_eq!(pace.timeout_ns(0, &settings), 1000 * MS);
        assert_eq!((pace.timeout_ns(1, &settings), pace.timeout_ns(9, &settings)), (2000 * MS, 5000 * MS));
        // RFC 6298 section 2.2: smoothed plus four times half of it.
        pace.answered(400 * MS);
        assert_eq!(pace.timeout_ns(0, &settings), 1200 * MS);
        (0..100).for_each(|_| pace.answered(400 * MS));
        assert!((400 * MS..410 * MS).contains(&pace.timeout_ns(0, &settings)));
        (0..100).for_each(|_| pace.answered(MS));
        assert_eq!(pace.timeout_ns(0, &settings), TIMEOUT_NS_MIN);
    }

    #[test]
    fn what_is_too_much_halves_and_grows_slowly() {
        let settings = Settings::default();
        let mut pace = Pace::new(&settings);
        pace.too_many(60);
        pace.too_many(30);
        assert_eq!(pace.varbinds(), 15);
        // A smaller one that was not answered does not make it larger.
        pace.too_many(60);
        assert_eq!(pace.varbinds(), 15);
        pace.went_well(&settings);
        assert_eq!(pace.varbinds(), 16);
        (0..100).for_each(|_| pace.too_many(1));
        assert_eq!(pace.varbinds(), 1);
        (0..100).for_each(|_| pace.went_well(&settings));
        assert_eq!((pace.varbinds(), pace.requests()), (60, 4));
        (0..9).for_each(|_| pace.lost());
        assert_eq!(pace.requests(), 1);
    }
}
