//! A jitter buffer of fixed depth, as VoIPmonitor models it.
//!
//! Field: a packet that comes after its time counts twice, once for the tick that missed it and once when it comes; the
//! 10 ms of overlap are a tolerance that its authors added for senders of uneven frames.

use super::losses::Losses;
use super::queue::Queue;
use super::{Frame, Play};

/// How much a frame may overlap the one before, milliseconds.
const OVERLAP_MS: i32 = 10;

/// `DEPTH`: milliseconds between arrival and play; `THRESHOLD`: jump of timestamps, milliseconds, that starts the
/// buffer's time anew.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Fixed<const DEPTH: i32, const THRESHOLD: i32> {
    /// What makes a timestamp an arrival: the transit of the frame that the buffer started with.
    core: i32,
    /// When the next frame is due.
    next: i32,
    pub(super) losses: Losses,
    /// Frames by the time at which they are due.
    queue: Queue,
    /// The next frame is put behind the last one, whatever its timestamp: a talkspurt begins.
    resync: bool,
}

impl<const DEPTH: i32, const THRESHOLD: i32> Fixed<DEPTH, THRESHOLD> {
    /// Empties the buffer; the next frame starts it.
    pub(super) fn restart(&mut self) {
        self.queue.clear();
        self.losses.forgive();
        self.resync = true;
        self.next = i32::MIN / 2;
    }

    /// Puts a frame whose `start` is its timestamp in milliseconds.
    #[inline]
    pub(super) fn put(&mut self, frame: Frame, now: i32) {
        self.resync |= frame.flags & Frame::MARKER != 0;
        let due = self.due(&frame);
        if due < self.next {
            self.losses.missing(1);
        }
        if !self.try_put(frame, due) {
            self.put_again(frame, due, now);
        }
    }

    /// Plays all ticks that are due.
    #[inline]
    pub(super) fn play(&mut self, play: Play) {
        let mut tick = play.tick;
        for left in (1..=play.ticks).rev() {
            if play.forgive {
                self.losses.forgive();
            }
            if self.queue.is_empty() {
                return self.starve(tick.saturating_add((left - 1) * play.packet_ms), play);
            }
            self.play_tick(tick, play);
            tick += play.packet_ms;
        }
    }

    #[inline]
    fn play_tick(&mut self, tick: i32, play: Play) {
        while tick >= self.next {
            let Some(head) = self.queue.head() else {
                return self.starve(tick, play);
            };
            if tick < head.start {
                self.next += play.packet_ms;
                self.losses.missing(1);
                continue;
            }
            self.next = head.start.saturating_add(i32::from(head.ms));
            if tick > self.next {
                self.losses.missing(1);
            } else {
                self.losses.played(&head, head.start.wrapping_sub(self.core), play.packet_ms);
            }
            self.queue.pop();
        }
    }

    /// All ticks up to `last` find nothing.
    fn starve(&mut self, last: i32, play: Play) {
        if last >= self.next {
            let ticks = (last - self.next) / play.packet_ms + 1;
            self.next += ticks * play.packet_ms;
            self.losses.missing(if play.forgive { 1 } else { ticks });
        }
    }

    #[inline]
    fn due(&self, frame: &Frame) -> i32 {
        self.core.saturating_add(DEPTH).saturating_add(frame.start)
    }

    /// Puts a frame if it is neither late nor far ahead nor covered by a neighbour.
    #[inline]
    fn try_put(&mut self, frame: Frame, due: i32) -> bool {
        if due < self.next || due > self.next.saturating_add(DEPTH + THRESHOLD) || self.resync {
            return false;
        }
        let (before, after) = self.queue.around(due);
        let covered = before.is_some_and(|b| {
            b.start == due
                || due.saturating_add(OVERLAP_MS) < b.start.saturating_add(i32::from(b.ms))
                || after.is_some_and(|a| due.saturating_add(i32::from(frame.ms)) > a)
        });
        if !covered {
            self.queue.put(Frame { start: due, ..frame });
        }
        !covered
    }

    /// A frame that does not fit. If its timestamp follows the last frame's but for less than the threshold, it is
    /// dropped when it is early or far ahead, else the buffer starts anew with it; if its timestamp jumps, the buffer's
    /// time is moved so that it follows the last frame.
    #[cold]
    fn put_again(&mut self, frame: Frame, due: i32, now: i32) {
        let forced = core::mem::take(&mut self.resync);
        let Some(tail) = self.queue.tail() else {
            return self.start(frame, now);
        };
        let offset = due.saturating_sub(tail.start.saturating_add(i32::from(tail.ms)));
        if offset.saturating_abs() < THRESHOLD {
            let ahead = due.saturating_sub(DEPTH) > self.next.saturating_add(DEPTH + THRESHOLD);
            if offset >= 0 && (forced || !ahead) {
                self.start(frame, now);
            }
            return;
        }
        self.core = self.core.saturating_sub(offset);
        let due = self.due(&frame);
        if !self.try_put(frame, due) {
            // Now it follows the last frame: the second try drops it or starts anew.
            self.put_again(frame, due, now);
        }
    }

    fn start(&mut self, frame: Frame, now: i32) {
        self.core = now.saturating_sub(frame.start);
        self.next = now.saturating_add(DEPTH);
        self.queue.clear();
        self.queue.put(Frame { start: self.next, ..frame });
    }
}
