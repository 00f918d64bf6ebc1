//! When a stream carried something: pauses of half a second and more, and packets without payload.

use trunkline_audio::Codec;

/// A pause that is kept, nanoseconds.
pub const PAUSE_NS: i64 = 500_000_000;
/// Pauses kept of one stream; of a stream with more only their number is known.
pub const PAUSES_MAX: usize = 32;

/// Whether a payload of so many octets ends with a descriptor of silence: 2 octets behind frames of 10 (G.729 annex B,
/// RFC 3551 section 4.5.6), 4 alone (G.723.1 annex A, section 4.5.3).
pub(super) fn is_silence(codec: Option<&Codec>, octets: u32) -> bool {
    match codec.map(|codec| codec.name) {
        Some("G729") => octets % 10 == 2,
        Some("G723") => octets == 4,
        _ => false,
    }
}

/// When a stream carried something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sound {
    /// The first and the last packet with a payload, nanoseconds since 1970.
    pub first_ns: i64,
    /// See `first_ns`.
    pub last_ns: i64,
    /// Packets without payload: keep-alives of address translation (RFC 6263 section 4.2).
    pub empty: u64,
    /// Between which times no packet with a payload came, each [`PAUSE_NS`] long or longer.
    pub pauses: Vec<(i64, i64)>,
    /// Further pauses beyond [`PAUSES_MAX`].
    pub pauses_not_kept: u32,
    /// The last packet says that silence follows: comfort noise, or a descriptor of silence.
    pub ends_quiet: bool,
}

/// What few streams have of that.
#[derive(Clone, Debug, Default)]
pub(super) struct Quiet {
    pub(super) empty: u64,
    pub(super) pauses: Vec<(i64, i64)>,
    pub(super) not_kept: u32,
}

impl Quiet {
    /// Nothing was carried from one time to the other.
    pub(super) fn pause(&mut self, from_ns: i64, to_ns: i64) {
        if self.pauses.len() < PAUSES_MAX {
            self.pauses.push((from_ns, to_ns));
        } else {
            self.not_kept = self.not_kept.saturating_add(1);
        }
    }
}

impl Sound {
    /// How long something was carried between these times, nanoseconds; short pauses included.
    pub fn within(&self, from_ns: i64, to_ns: i64) -> i64 {
        let common = |from: i64, to: i64| (to.min(to_ns).saturating_sub(from.max(from_ns))).max(0);
        let silent: i64 = self.pauses.iter().map(|(from, to)| common(*from, *to)).sum();
        (common(self.first_ns, self.last_ns) - silent).max(0)
    }

    /// The first time from `from_ns` to `to_ns` at which something was carried.
    pub fn first_within(&self, from_ns: i64, to_ns: i64) -> Option<i64> {
        let mut first = self.first_ns.max(from_ns);
        for (from, to) in &self.pauses {
            if (*from..*to).contains(&first) && *from < first {
                first = *to;
            }
        }
        (first <= to_ns && first <= self.last_ns).then_some(first)
    }

    /// The last time from `from_ns` to `to_ns` at which something was carried.
    pub fn last_within(&self, from_ns: i64, to_ns: i64) -> Option<i64> {
        let mut last = self.last_ns.min(to_ns);
        for (from, to) in self.pauses.iter().rev() {
            if *from < last && last < *to {
                last = *from;
            }
        }
        (last >= from_ns && last >= self.first_ns).then_some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_carried_is_told_by_what_was_not() {
        let sound = Sound { first_ns: 100, last_ns: 1000, pauses: vec![(200, 400), (600, 900)], ..Sound::default() };
        assert_eq!((sound.within(0, 2000), sound.within(150, 650), sound.within(600, 900)), (400, 250, 0));
        assert_eq!((sound.first_within(0, 2000), sound.last_within(0, 2000)), (Some(100), Some(1000)));
        assert_eq!((sound.first_within(250, 2000), sound.last_within(0, 800)), (Some(400), Some(600)));
        // A pause begins with the last packet before it and ends with the first one after it.
        assert_eq!((sound.first_within(200, 300), sound.first_within(900, 950)), (Some(200), Some(900)));
        assert_eq!((sound.first_within(250, 390), sound.last_within(250, 390)), (None, None));
        assert_eq!((sound.first_within(1001, 2000), sound.last_within(0, 99)), (None, None));
    }

    #[test]
    fn pauses_are_bounded() {
        let mut quiet = Quiet::default();
        (0..40).for_each(|n| quiet.pause(n * 10, n * 10 + 5));
        assert_eq!((quiet.pauses.len(), quiet.not_kept), (PAUSES_MAX, 8));
    }
}
