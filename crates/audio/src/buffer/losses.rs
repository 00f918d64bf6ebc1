//! What a modelled buffer counts as lost.

use super::Frame;

/// Runs of missing frames of this length or longer are a pause, not a loss.
const BURST_MAX: u16 = 1024;

/// Field: longer runs are counted in parts of 128 with 127 losses each.
const BURST_PART: u16 = 128;

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Losses {
    /// Ticks without a frame, or with one too late, since the last frame that was played.
    burst: u16,
    last_sequence: u16,
    /// Where the last played frame lies on the axis of timestamps.
    last_start: i32,
    /// Frames lost in runs that ended.
    pub(super) lost: u32,
    /// Runs that ended.
    pub(super) bursts: u32,
}

impl Losses {
    #[inline]
    pub(super) fn missing(&mut self, ticks: i32) {
        self.burst = self.burst.saturating_add(u16::try_from(ticks).unwrap_or(BURST_MAX));
    }

    #[inline]
    pub(super) fn forgive(&mut self) {
        self.burst = 0;
    }

    pub(super) fn clear(&mut self) {
        (self.lost, self.bursts) = (0, 0);
    }

    /// A frame is played, `start` being its timestamp in milliseconds. The run before it counts, unless a talkspurt
    /// begins or the sender paused (time passed without sequence numbers).
    #[inline]
    pub(super) fn played(&mut self, frame: &Frame, start: i32, packet_ms: i32) {
        if self.burst > 0 {
            let paused = frame.sequence == self.last_sequence.wrapping_add(1)
                && (i64::from(start) - i64::from(self.last_start)).abs() > i64::from(packet_ms);
            if !paused && frame.flags & Frame::MARKER == 0 && self.burst < BURST_MAX {
                self.count();
            }
            self.burst = 0;
        }
        self.last_sequence = frame.sequence;
        self.last_start = start;
    }

    #[cold]
    fn count(&mut self) {
        let parts = (self.burst - 1) / BURST_PART;
        let lost = u32::from(parts) * u32::from(BURST_PART - 1) + u32::from(self.burst - parts * BURST_PART);
        self.lost = self.lost.saturating_add(lost);
        self.bursts = self.bursts.saturating_add(1 + u32::from(parts));
    }
}
