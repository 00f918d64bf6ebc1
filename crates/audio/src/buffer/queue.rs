//! Frames in order of time, kept as runs: frames that follow each other without gap in time and sequence number.

use super::Frame;

/// Runs that a queue holds. A queue of half a second has one run more than it has gaps; beyond the limit a frame is
/// put right behind its neighbour, as if the gap were none.
pub const RUNS_MAX: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Of the first frame.
    start: i32,
    /// Of the first frame.
    sequence: u16,
    count: u16,
    ms: u16,
    /// Of the first frame; the others have none.
    flags: u8,
}

impl Run {
    fn one(frame: Frame) -> Run {
        Run { start: frame.start, sequence: frame.sequence, count: 1, ms: frame.ms, flags: frame.flags }
    }

    #[inline]
    fn end(&self) -> i32 {
        self.start.saturating_add(i32::from(self.count) * i32::from(self.ms))
    }

    #[inline]
    fn last(&self) -> Frame {
        let back = self.count - 1;
        let flags = if back == 0 { self.flags } else { 0 };
        let start = self.start.saturating_add(i32::from(back) * i32::from(self.ms));
        Frame { start, sequence: self.sequence.wrapping_add(back), ms: self.ms, flags }
    }

    /// Whether `other` begins where this run ends.
    #[inline]
    fn continues(&self, start: i32, sequence: u16, ms: u16, flags: u8) -> bool {
        self.end() == start
            && self.sequence.wrapping_add(self.count) == sequence
            && self.ms == ms
            && flags == 0
            && self.count < u16::MAX
    }
}

#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Queue {
    len: u8,
    runs: [Run; RUNS_MAX],
}

impl Queue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// The frame that is played next.
    #[inline]
    pub(super) fn head(&self) -> Option<Frame> {
        let run = &self.runs[0];
        (self.len > 0).then_some(Frame { start: run.start, sequence: run.sequence, ms: run.ms, flags: run.flags })
    }

    /// The frame that is played last.
    #[inline]
    pub(super) fn tail(&self) -> Option<Frame> {
        self.runs[..usize::from(self.len)].last().map(Run::last)
    }

    /// Takes the head out.
    #[inline]
    pub(super) fn pop(&mut self) {
        let run = &mut self.runs[0];
        if run.count > 1 {
            run.start = run.start.saturating_add(i32::from(run.ms));
            run.sequence = run.sequence.wrapping_add(1);
            run.count -= 1;
            run.flags = 0;
        } else if self.len > 0 {
            self.remove(0);
        }
    }

    /// The last frame that starts no later than `start`, and the start of the one after it.
    #[inline]
    pub(super) fn around(&self, start: i32) -> (Option<Frame>, Option<i32>) {
        let len = usize::from(self.len);
        let Some(at) = self.runs[..len].iter().rposition(|r| r.start <= start) else {
            return (None, (len > 0).then_some(self.runs[0].start));
        };
        let run = &self.runs[at];
        let next = self.runs[..len].get(at + 1).map(|r| r.start);
        if start >= run.end().saturating_sub(i32::from(run.ms)) {
            return (Some(run.last()), next);
        }
        let index = run.index_of(start);
        let before = Run { count: index + 1, ..*run }.last();
        (Some(before), Some(before.start.saturating_add(i32::from(run.ms))))
    }

    /// Puts a frame behind the last one that starts no later.
    #[inline]
    pub(super) fn put(&mut self, frame: Frame) {
        let len = usize::from(self.len);
        match self.runs[..len].last_mut() {
            Some(run) if run.continues(frame.start, frame.sequence, frame.ms, frame.flags) => run.count += 1,
            Some(run) if run.last().start <= frame.start => self.insert(len, Run::one(frame)),
            None => self.insert(0, Run::one(frame)),
            Some(_) => self.put_between(frame),
        }
    }

    #[cold]
    fn put_between(&mut self, frame: Frame) {
        let len = usize::from(self.len);
        let Some(at) = self.runs[..len].iter().rposition(|r| r.start <= frame.start) else {
            return self.insert_and_join(0, Run::one(frame));
        };
        let run = self.runs[at];
        if frame.start < run.last().start && len + 1 < RUNS_MAX {
            // Within a run: split it behind the frame that starts no later.
            let index = run.index_of(frame.start) + 1;
            let rest = Run {
                start: run.start.saturating_add(i32::from(index) * i32::from(run.ms)),
                sequence: run.sequence.wrapping_add(index),
                count: run.count - index,
                flags: 0,
                ..run
            };
            self.runs[at].count = index;
            self.insert(at + 1, rest);
        }
        self.insert_and_join(at + 1, Run::one(frame));
    }

    /// Inserts a run and joins it with its neighbours where they fit: a late frame closes the gap it left.
    fn insert_and_join(&mut self, at: usize, run: Run) {
        if usize::from(self.len) == RUNS_MAX {
            return self.insert(at, run);
        }
        self.insert(at, run);
        for left in [at, at.wrapping_sub(1)] {
            let right = left.wrapping_add(1);
            if left < right && right < usize::from(self.len) {
                let next = self.runs[right];
                let run = &mut self.runs[left];
                if run.continues(next.start, next.sequence, next.ms, next.flags) {
                    run.count = run.count.saturating_add(next.count);
                    self.remove(right);
                }
            }
        }
    }

    #[cold]
    fn insert(&mut self, at: usize, run: Run) {
        let len = usize::from(self.len);
        if len == RUNS_MAX {
            let neighbour = &mut self.runs[at.saturating_sub(1).min(RUNS_MAX - 1)];
            neighbour.count = neighbour.count.saturating_add(1);
            return;
        }
        self.runs.copy_within(at..len, at + 1);
        self.runs[at] = run;
        self.len += 1;
    }

    #[cold]
    fn remove(&mut self, at: usize) {
        self.runs.copy_within(at + 1..usize::from(self.len), at);
        self.len -= 1;
    }
}

impl Run {
    /// Which frame of the run is the last that starts no later than `start`, which lies in it.
    fn index_of(&self, start: i32) -> u16 {
        let index = start.saturating_sub(self.start).max(0) / i32::from(self.ms.max(1));
        u16::try_from(index).unwrap_or(u16::MAX).min(self.count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(n: i32) -> Frame {
        Frame { start: n * 20, sequence: n as u16, ms: 20, flags: 0 }
    }

    fn drain(mut q: Queue) -> Vec<i32> {
        let mut out = Vec::new();
        while let Some(f) = q.head() {
            assert_eq!(f.start, i32::from(f.sequence) * 20);
            out.push(i32::from(f.sequence));
            q.pop();
        }
        out
    }

    #[test]
    fn frames_in_order_are_one_run_and_late_ones_close_gaps() {
        let mut q = Queue::default();
        for n in [1, 2, 3, 6, 7, 5] {
            q.put(frame(n));
        }
        assert_eq!(q.len, 2);
        q.put(frame(4));
        assert_eq!(q.len, 1);
        q.put(frame(0));
        assert_eq!((q.len, drain(q)), (1, vec![0, 1, 2, 3, 4, 5, 6, 7]));
    }

    #[test]
    fn around_finds_neighbours() {
        let mut q = Queue::default();
        for n in [1, 2, 3, 6] {
            q.put(frame(n));
        }
        assert_eq!(q.around(10), (None, Some(20)));
        assert_eq!(q.around(45), (Some(frame(2)), Some(60)));
        assert_eq!(q.around(60), (Some(frame(3)), Some(120)));
        assert_eq!(q.around(500), (Some(frame(6)), None));
        assert_eq!(q.tail(), Some(frame(6)));
    }

    #[test]
    fn a_full_queue_keeps_its_length() {
        let mut q = Queue::default();
        for n in 0..40 {
            q.put(frame(2 * n));
        }
        assert_eq!(q.runs.iter().map(|r| r.count).sum::<u16>(), 40);
    }
}
