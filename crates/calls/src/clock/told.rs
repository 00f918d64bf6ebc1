//! Leaps in words, for a call's notes.

use super::Timeline;
use trunkline_lane::clock::Leap;
use trunkline_store::checked::CLOCK;

impl Timeline {
    /// What the clock did within a time, in words for a note of a call that began at `start_ns`.
    pub fn notes(&self, start_ns: i64, until_ns: i64) -> Vec<String> {
        let note = |leap: &Leap| {
            let after = (leap.at_ns - start_ns) as f64 / 1e9;
            format!("{CLOCK} {} {after:.1} s after the start of the call ({})", leap.what(), leap.why())
        };
        self.within(start_ns, until_ns).map(note).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_lane::clock::Kind;
    use trunkline_store::checked::CLOCK_SET;

    /// Notes are read again by what they begin with.
    #[test]
    fn a_note_of_a_clock_that_was_set_says_so_in_the_words_that_are_looked_for() {
        let leap = Leap {
            number: 1,
            files: None,
            before_ns: 0,
            at_ns: 2_000_000_000,
            by_ns: -3_000_000_000,
            offset_ns: -3_000_000_000,
            kind: Kind::Set,
            senders: 2,
            is_sure: true,
        };
        let mut timeline = Timeline::default();
        timeline.learn(&[leap, Leap { kind: Kind::Unclear, ..leap }]);
        let notes = timeline.notes(0, 5_000_000_000);
        assert!(notes[0].starts_with(&format!("{CLOCK}{CLOCK_SET}back by 3.00 s")), "{notes:?}");
        assert!(!notes[1].starts_with(&format!("{CLOCK}{CLOCK_SET}")), "{notes:?}");
    }
}
