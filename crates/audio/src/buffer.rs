//! The three jitter buffers that VoIPmonitor models for each stream, for scores that can be compared with its own:
//! fixed of 50 ms ("F1"), fixed of 200 ms ("F2") and the adaptive one of Asterisk with 500 ms at most.
//!
//! The buffers are played at the packets' own time, one tick each packet time, as the original does: when a packet
//! comes, first all ticks are played that lie at least two packet times back, then the packet is put in. A tick that
//! finds no frame is a loss; what counts is decided when the next frame is played ([`losses`]).
//! Queued frames are kept as runs ([`queue`]), so that a stream without gaps costs a few additions a packet and long
//! silences are counted, not stepped through.

mod adaptive;
mod fixed;
mod history;
mod losses;
mod queue;

use crate::voipmonitor::Interval;
use adaptive::Adaptive;
use fixed::Fixed;

pub use queue::RUNS_MAX;

/// Packet times that the models take, milliseconds.
pub const PACKET_MS: core::ops::RangeInclusive<u16> = 2..=500;

/// Packet times without a packet after which the ticks start again at the next packet.
const GAP_TICKS_MAX: i64 = 10_000;

/// Milliseconds from the base of times at which a new base is taken.
const SPAN_MS_MAX: i64 = 1 << 28;

/// A voice packet as the models see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voice {
    /// When it arrived, milliseconds from any fixed origin.
    pub at_ms: i64,
    /// Its timestamp in milliseconds, from any fixed origin, extended over wraps.
    pub media_ms: i64,
    /// Its sequence number.
    pub sequence: u16,
    /// Packet time, within [`PACKET_MS`].
    pub packet_ms: u16,
    /// Whether it starts a talkspurt: the marker, or the first packet after comfort noise.
    pub marker: bool,
}

/// The three buffers of one stream.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    base_at_ms: i64,
    base_media_ms: i64,
    tick_ms: i32,
    started: bool,
    fixed_50: Fixed<50, 100>,
    fixed_200: Fixed<200, 200>,
    adaptive: Adaptive,
}

impl Buffers {
    /// Takes a voice packet, in order of arrival. Copies of the packet before are not to be given.
    #[inline]
    pub fn voice(&mut self, voice: &Voice) {
        let at = voice.at_ms.wrapping_sub(self.base_at_ms);
        let media = voice.media_ms.wrapping_sub(self.base_media_ms);
        if !self.started || at.unsigned_abs() > SPAN_MS_MAX as u64 || media.unsigned_abs() > SPAN_MS_MAX as u64 {
            return self.start(voice);
        }
        let packet_ms = i32::from(voice.packet_ms);
        let (at, media) = (at as i32, media as i32);
        let behind = i64::from(at) - i64::from(self.tick_ms) - i64::from(packet_ms);
        let frame = Frame {
            start: media,
            sequence: voice.sequence,
            ms: voice.packet_ms,
            flags: if voice.marker { Frame::MARKER } else { 0 },
        };
        if behind > GAP_TICKS_MAX * i64::from(packet_ms) {
            self.tick_ms = at;
        } else if behind >= i64::from(packet_ms) {
            let ticks = (behind / i64::from(packet_ms)) as i32;
            let play = Play { tick: self.tick_ms, ticks, packet_ms, forgive: voice.marker };
            self.fixed_50.play(play);
            self.fixed_200.play(play);
            self.adaptive.play(play);
            self.tick_ms += ticks * packet_ms;
        }
        self.fixed_50.put(frame, at);
        self.fixed_200.put(frame, at);
        self.adaptive.put(frame, at);
    }

    /// Empties the buffers: after telephone events, or where the sequence numbers jump and the timestamps do not.
    /// What was counted stays.
    pub fn reset(&mut self) {
        self.started = false;
    }

    /// What was lost since the last call, to be scored: fixed 50 ms, fixed 200 ms, adaptive. `received` are the packets
    /// that arrived meanwhile.
    pub fn take(&mut self, received: u32) -> [Interval; 3] {
        let taken = self.interval(received);
        self.fixed_50.losses.clear();
        self.fixed_200.losses.clear();
        self.adaptive.losses.clear();
        taken
    }

    /// What [`Buffers::take`] would give.
    pub fn interval(&self, received: u32) -> [Interval; 3] {
        [&self.fixed_50.losses, &self.fixed_200.losses, &self.adaptive.losses].map(|l| Interval {
            lost: l.lost,
            bursts: l.bursts,
            received,
        })
    }

    #[cold]
    fn start(&mut self, voice: &Voice) {
        self.base_at_ms = voice.at_ms;
        self.base_media_ms = voice.media_ms;
        self.tick_ms = 0;
        self.started = true;
        let frame = Frame { start: 0, sequence: voice.sequence, ms: voice.packet_ms, flags: Frame::MARKER };
        self.fixed_50.restart();
        self.fixed_200.restart();
        self.adaptive.restart();
        self.fixed_50.put(frame, 0);
        self.fixed_200.put(frame, 0);
        self.adaptive.put(frame, 0);
    }
}

/// A frame in a queue; `start` is on the queue's own axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    start: i32,
    sequence: u16,
    ms: u16,
    flags: u8,
}

impl Frame {
    const MARKER: u8 = 1;
}

/// Ticks to play: the first one's time and how many, one packet time apart.
#[derive(Clone, Copy)]
struct Play {
    tick: i32,
    ticks: i32,
    packet_ms: i32,
    /// A talkspurt begins: what was missing before it was silence.
    forgive: bool,
}

#[cfg(test)]
mod tests;
