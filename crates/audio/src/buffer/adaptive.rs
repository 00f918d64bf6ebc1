//! The adaptive jitter buffer of Asterisk, as VoIPmonitor models it with 500 ms at most.
//!
//! Its depth follows the spread of the last delays (all but three in a hundred at both ends) plus 40 ms; it grows by
//! playing a packet time of silence and shrinks by dropping a frame, and both count as loss in the score.

use super::history::History;
use super::losses::Losses;
use super::queue::Queue;
use super::{Frame, Play};

/// Depth beyond the spread of delays, milliseconds.
const EXTRA_MS: i32 = 40;

/// Least time between two steps of growth, milliseconds.
const GROW_MS: i32 = 40;

/// Least time between two steps of shrinking with a frame at hand, without one, and in silence, milliseconds.
const SHRINK_MS: i32 = 500;
const SHRINK_EMPTY_MS: i32 = 80;
const SHRINK_SILENT_MS: i32 = 10;

/// Highest depth and longest queue, milliseconds.
const DEPTH_MAX: i32 = 500;

/// Change of delay, beside twice the jitter, that makes a frame suspect; the fourth in a row moves the buffer's time.
const RESYNC_MS: i32 = 500;
const SUSPECTS_MAX: u8 = 3;

/// Empty ticks in a row after which the sender is taken for silent.
const EMPTY_MAX: u8 = 10;

/// Ticks that are played at most for one packet, beyond which the queue is given up: none of it can be due.
const TICKS_MAX: i32 = 1024;

#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Adaptive {
    /// What makes a timestamp an arrival on the buffer's axis.
    offset: i32,
    /// Delay between arrival and play, milliseconds.
    current: i32,
    target: i32,
    /// When the next frame is due.
    next: i32,
    last_delay: i32,
    last_ms: i32,
    silent: bool,
    started: bool,
    suspects: u8,
    empty: u8,
    pub(super) losses: Losses,
    /// Frames by timestamp on the buffer's axis.
    queue: Queue,
    history: History,
    adjusted: i32,
    silence_start: i32,
}

impl Adaptive {
    pub(super) fn restart(&mut self) {
        let losses = core::mem::take(&mut self.losses);
        *self = Adaptive { current: EXTRA_MS, target: EXTRA_MS, silent: true, losses, ..Adaptive::default() };
        self.silence_start = i32::MIN;
        self.losses.forgive();
    }

    /// Puts a frame whose `start` is its timestamp in milliseconds.
    #[inline]
    pub(super) fn put(&mut self, frame: Frame, now: i32) {
        if let (Some(head), Some(tail)) = (self.queue.head(), self.queue.tail())
            && tail.start.saturating_sub(head.start) >= DEPTH_MAX
        {
            return;
        }
        if !self.started {
            self.started = true;
            self.synchronise(frame, now);
        }
        let delay = now.saturating_sub(frame.start.saturating_sub(self.offset));
        if !self.remember(delay, frame, now) {
            return;
        }
        self.queue.put(Frame { start: frame.start.saturating_sub(self.offset), ..frame });
    }

    #[inline]
    pub(super) fn play(&mut self, play: Play) {
        let mut tick = play.tick;
        for n in 0..play.ticks {
            if play.forgive {
                self.losses.forgive();
            }
            if self.silent && self.queue.is_empty() {
                return self.losses.missing(if play.forgive { 1 } else { play.ticks - n });
            }
            if n > TICKS_MAX {
                return self.queue.clear();
            }
            self.play_tick(tick, play.packet_ms);
            tick += play.packet_ms;
        }
    }

    #[inline]
    fn play_tick(&mut self, tick: i32, packet_ms: i32) {
        while tick >= self.due() {
            let (low, high) = self.history.bounds();
            self.target = low + (high - low + EXTRA_MS).min(DEPTH_MAX);
            let more = if self.silent { self.play_silent(tick, packet_ms) } else { self.play_voice(tick, packet_ms) };
            if !more {
                return;
            }
        }
    }

    /// When the next tick has something to do.
    #[inline]
    fn due(&self) -> i32 {
        if !self.silent {
            return self.next;
        }
        match self.queue.head() {
            None => i32::MAX,
            Some(_) if self.target - self.current < -EXTRA_MS => self.adjusted.saturating_add(SHRINK_SILENT_MS),
            Some(head) => head.start.saturating_add(self.target),
        }
    }

    /// One frame or gap while the sender talks; whether the tick may go on.
    #[inline]
    fn play_voice(&mut self, tick: i32, packet_ms: i32) -> bool {
        let want = self.target - self.current;
        if want > 0 && (self.adjusted.saturating_add(GROW_MS) < tick || want > self.queued_ms()) {
            self.current += packet_ms;
            self.adjusted = tick;
            self.gap(packet_ms);
            return true;
        }
        let head = self.queue.head().filter(|h| h.start <= self.next.saturating_sub(self.current));
        let due = head.map(|h| h.start.saturating_add(self.current));
        if let (Some(head), Some(due)) = (head, due) {
            if due < self.next {
                let in_time = due > self.next.saturating_sub(self.last_ms);
                self.queue.pop();
                if in_time {
                    self.play_frame(&head, due, packet_ms);
                } else {
                    self.losses.missing(1);
                }
                return true;
            }
            self.last_ms = i32::from(head.ms);
        }
        let since = tick.saturating_sub(self.adjusted);
        if want < -EXTRA_MS && (head.is_none() && since > SHRINK_EMPTY_MS || since > SHRINK_MS) {
            self.adjusted = tick;
            self.empty = 0;
            self.losses.missing(1);
            self.current -= head.map_or(self.last_ms, |h| i32::from(h.ms));
            if head.is_some() {
                self.queue.pop();
            }
            return head.is_some();
        }
        match head {
            None => self.gap(packet_ms),
            Some(head) => {
                self.queue.pop();
                self.play_frame(&head, self.next, packet_ms);
            }
        }
        true
    }

    /// One frame or nothing while the sender is silent; whether the tick may go on.
    fn play_silent(&mut self, tick: i32, packet_ms: i32) -> bool {
        if self.target - self.current < -EXTRA_MS && self.adjusted.saturating_add(SHRINK_SILENT_MS) <= tick {
            self.current -= packet_ms;
            self.adjusted = tick;
        }
        let Some(head) = self.queue.head().filter(|h| h.start <= tick.saturating_sub(self.current)) else {
            self.losses.missing(1);
            return false;
        };
        self.queue.pop();
        if head.start < self.silence_start {
            self.losses.missing(1);
            return true;
        }
        self.current = self.target;
        self.silent = false;
        self.last_ms = i32::from(head.ms);
        self.play_frame(&head, head.start.saturating_add(self.current), packet_ms);
        true
    }

    /// Plays a frame that is due at `due`.
    #[inline]
    fn play_frame(&mut self, head: &Frame, due: i32, packet_ms: i32) {
        self.next = due.saturating_add(i32::from(head.ms));
        self.empty = 0;
        self.losses.played(head, head.start.saturating_add(self.offset), packet_ms);
    }

    /// Nothing to play: silence is played for a packet time.
    fn gap(&mut self, packet_ms: i32) {
        self.next = self.next.saturating_add(packet_ms);
        self.last_ms = packet_ms;
        self.losses.missing(1);
        self.empty += 1;
        if self.empty >= EMPTY_MAX {
            self.silent = true;
            self.silence_start = self.next.saturating_sub(self.current);
            self.empty = 0;
        }
    }

    fn queued_ms(&self) -> i32 {
        match (self.queue.head(), self.queue.tail()) {
            (Some(head), Some(tail)) => tail.start.saturating_sub(head.start),
            _ => 0,
        }
    }

    /// Notes a delay; false if the frame is to be dropped because its delay is far from the others'.
    #[inline]
    fn remember(&mut self, delay: i32, frame: Frame, now: i32) -> bool {
        let (low, high) = self.history.bounds();
        if delay.saturating_sub(self.last_delay).saturating_abs() > 2 * (high - low) + RESYNC_MS {
            self.suspects += 1;
            if self.suspects <= SUSPECTS_MAX {
                return false;
            }
            self.synchronise(frame, now);
            return true;
        }
        self.suspects = 0;
        self.last_delay = delay;
        self.history.put(delay);
        true
    }

    /// Takes the frame for one that is right on time.
    #[cold]
    fn synchronise(&mut self, frame: Frame, now: i32) {
        self.offset = frame.start.saturating_sub(now);
        self.suspects = 0;
        self.last_delay = 0;
        self.history.clear();
        self.history.put(0);
    }
}
