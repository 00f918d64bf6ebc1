//! How far a segment is whole on disk: blocks end in any order, records span them.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use crate::options::PAGE;
use crate::queue::Tally;
use crate::segment::Segment;

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
    /// End of the last record that is on disk with all before it.
    pub(crate) boundary: u64,
    pub(crate) in_flight: usize,
    pub(crate) space: Space,
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

/// Space that is reserved for a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Space {
    reserved: u64,
    ahead: u64,
}

impl Progress {
    pub(crate) fn new(segment: Arc<Segment>) -> Progress {
        Progress {
            segment,
            file: None,
            part: PathBuf::new(),
            committed: PathBuf::new(),
            boundary: 0,
            in_flight: 0,
            space: Space::default(),
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

    /// Write `id` is done. Gives how many octets of whole records that adds.
    pub(crate) fn written(&mut self, id: u64) -> u64 {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.failed {
            return 0;
        }
        if let Some(entry) = self.sent.iter_mut().find(|e| e.0 == id) {
            entry.2 = true;
        }
        let before = self.boundary;
        while self.sent.front().is_some_and(|e| e.2) {
            if let Some((_, block, _)) = self.sent.pop_front() {
                self.boundary = self.boundary.max(block.boundary);
            }
        }
        self.segment.set_on_disk(self.boundary);
        self.boundary - before
    }

    /// Nothing more will be whole. Gives what was sent behind the last whole record, once.
    pub(crate) fn give_up(&mut self) -> (Tally, u64) {
        let mut tally = Tally::default();
        if self.failed {
            return (tally, 0);
        }
        self.failed = true;
        self.sent.drain(..).for_each(|(_, block, _)| tally.add(block.tally));
        (tally, self.end - self.boundary)
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
        Progress::new(Arc::new(Segment::new(1, PathBuf::new(), 0, Priority::Highest, 0)))
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
        let (tally, octets) = progress.give_up();
        assert_eq!((tally.records, octets), (2, 100));
        assert!(!progress.is_over());
        assert_eq!(progress.written(3), 0);
        assert!(progress.is_over());
        assert_eq!(progress.give_up().1, 0);
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
