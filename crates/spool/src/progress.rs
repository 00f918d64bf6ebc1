//! How far a segment is whole on disk: blocks end in any order, records span them.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use crate::options::PAGE;
use crate::queue::Tally;
use crate::repair::Whole;
use crate::segment::Segment;
use trunkline_kit::sums::Summing;

/// Space reserved at once: little at first, for many segments stay small.
const AHEAD_MIN: u64 = 4 << 20;
/// And at most.
const AHEAD_MAX: u64 = 64 << 20;

/// A segment as its volume's thread knows it.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) segment: Arc<Segment>,
    pub(crate) file: Option<Arc<File>>,
    pub(crate) part: PathBuf,
    pub(crate) committed: PathBuf,
    /// End of the last record that is on disk with all before it, and how many these are.
    pub(crate) boundary: u64,
    records: u64,
    pub(crate) in_flight: usize,
    pub(crate) space: Space,
    /// Checksums of what was sent, if they are wanted.
    pub(crate) sums: Option<Summing>,
    /// End of the last block that was sent.
    end: u64,
    /// Sent, and not yet whole with all before: by offset.
    sent: VecDeque<(u64, Placed, bool)>,
    failed: bool,
}

/// A block of the segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) end: u64,
    pub(crate) boundary: u64,
    pub(crate) tally: Tally,
}

/// How far a segment that failed is whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rest {
    /// Octets of whole records, and how many these are.
    pub(crate) boundary: u64,
    records: u64,
    /// End of the last block that was sent.
    end: u64,
    /// The blocks behind the whole ones, by offset.
    behind: Vec<Placed>,
}

impl Rest {
    /// What is lost, given that nothing behind the boundary stays.
    pub(crate) fn lost(&self) -> (Tally, u64) {
        self.lost_behind(Whole { records: self.records, octets: self.boundary })
    }

    /// What is lost, given that so much stays: part of what lies behind the boundary may be whole, too.
    pub(crate) fn lost_behind(&self, whole: Whole) -> (Tally, u64) {
        let mut tally = Tally::default();
        let all: u64 = self.behind.iter().map(|block| block.tally.records).sum();
        self.behind.iter().filter(|block| block.boundary > whole.octets).for_each(|block| tally.add(block.tally));
        tally.records = (self.records + all).saturating_sub(whole.records.max(self.records));
        (tally, self.end.saturating_sub(whole.octets.max(self.boundary)))
    }
}

/// Space that is reserved for a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Space {
    reserved: u64,
    ahead: u64,
}

impl Progress {
    pub(crate) fn new(segment: Arc<Segment>, sums: bool) -> Progress {
        Progress {
            segment,
            file: None,
            part: PathBuf::new(),
            committed: PathBuf::new(),
            boundary: 0,
            records: 0,
            in_flight: 0,
            space: Space::default(),
            sums: sums.then(|| Summing::new(PAGE)),
            end: 0,
            sent: VecDeque::new(),
            failed: false,
        }
    }

    /// Whether a block at `base` writes a page again that is in flight.
    pub(crate) fn overlaps(&self, base: u64) -> bool {
        self.in_flight > 0 && base < self.end.next_multiple_of(PAGE as u64)
    }

    /// Write `id` is in flight.
    pub(crate) fn sent(&mut self, id: u64, block: Placed) {
        self.in_flight += 1;
        self.end = self.end.max(block.end);
        self.sent.push_back((id, block, false));
    }

    /// Write `id` is done. Gives how many octets of whole records that adds, also after the segment has failed: what is
    /// behind a block that is not written stays behind it.
    pub(crate) fn written(&mut self, id: u64) -> u64 {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(entry) = self.sent.iter_mut().find(|e| e.0 == id) {
            entry.2 = true;
        }
        let before = self.boundary;
        while self.sent.front().is_some_and(|e| e.2) {
            if let Some((_, block, _)) = self.sent.pop_front() {
                self.boundary = self.boundary.max(block.boundary);
                self.records += block.tally.records;
            }
        }
        self.segment.set_on_disk(self.boundary);
        self.boundary - before
    }

    /// A write was not done.
    pub(crate) fn not_written(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Nothing more will be sent.
    pub(crate) fn give_up(&mut self) {
        self.failed = true;
    }

    /// What is on disk and what is not, once nothing is in flight; given out once.
    pub(crate) fn rest(&mut self) -> Rest {
        let rest = Rest {
            boundary: self.boundary,
            records: self.records,
            end: self.end,
            behind: self.sent.drain(..).map(|(_, block, _)| block).collect(),
        };
        self.end = self.boundary;
        rest
    }

    /// Whether it failed and nothing is in flight.
    pub(crate) fn is_over(&self) -> bool {
        self.failed && self.in_flight == 0
    }
}

impl Space {
    /// What to reserve before octets up to `end` are written: offset and length.
    pub(crate) fn ahead_of(&mut self, end: u64) -> Option<(u64, u64)> {
        if end <= self.reserved {
            return None;
        }
        let from = self.reserved;
        self.ahead = (self.ahead * 2).clamp(AHEAD_MIN, AHEAD_MAX);
        self.reserved = (from + self.ahead).max(end.next_multiple_of(AHEAD_MIN));
        Some((from, self.reserved - from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Priority;

    fn progress() -> Progress {
        Progress::new(Arc::new(Segment::new(1, PathBuf::new(), 0, Priority::Highest, 0)), false)
    }

    fn block(end: u64, boundary: u64) -> Placed {
        Placed { end, boundary, tally: Tally { records: 2, span_ns: None } }
    }

    #[test]
    fn whole_is_what_has_all_before_it() {
        let mut progress = progress();
        progress.sent(1, block(100, 90));
        progress.sent(2, block(200, 200));
        progress.sent(3, block(300, 250));
        assert_eq!(progress.written(2), 0);
        assert_eq!(progress.written(1), 200);
        assert_eq!(progress.segment.on_disk(), 200);
        progress.give_up();
        assert!(!progress.is_over());
        // In flight when it failed, and done all the same.
        assert_eq!(progress.written(3), 50);
        assert!(progress.is_over());
        assert_eq!(progress.rest().lost(), (Tally::default(), 50));
        assert_eq!(progress.rest().lost().1, 0);
    }

    #[test]
    fn behind_a_hole_is_lost_what_is_not_found_there() {
        let mut progress = progress();
        (1..=4).for_each(|id| progress.sent(id, block(id * 100, id * 100 - 10)));
        assert_eq!(progress.written(1), 90);
        assert_eq!(progress.written(3), 0);
        progress.give_up();
        (0..2).for_each(|_| progress.not_written());
        let rest = progress.rest();
        let lost = |records, octets| {
            let (tally, behind) = rest.lost_behind(Whole { records, octets });
            (tally.records, behind)
        };
        assert_eq!((rest.lost().0.records, rest.lost().1), (6, 310));
        assert_eq!(lost(2, 90), (6, 310));
        assert_eq!(lost(3, 140), (5, 260));
        assert_eq!(lost(8, 400), (0, 0));
        assert_eq!(lost(0, 0), (6, 310), "what was whole is not lost because it cannot be read");
    }

    #[test]
    fn space_is_reserved_in_growing_steps() {
        let mut space = Space::default();
        assert_eq!(space.ahead_of(1 << 20), Some((0, 4 << 20)));
        assert_eq!(space.ahead_of(4 << 20), None);
        assert_eq!(space.ahead_of(5 << 20), Some((4 << 20, 8 << 20)));
        assert_eq!(space.ahead_of(200 << 20), Some((12 << 20, 188 << 20)));
    }
}
