//! What time says of a packet's number.

use super::Kind;
use super::pace::Pace;
use super::sequences::Clocked;
use super::timing::Timing;

/// The time of a packet, laid against its number when that is not the next.
pub(super) struct Now<'a> {
    pub(super) timing: &'a Timing,
    pub(super) pace: &'a Pace,
    pub(super) kind: Kind,
    /// When it came, nanoseconds since 1970.
    pub(super) at_ns: i64,
    pub(super) timestamp: u32,
}

impl Now<'_> {
    /// Milliseconds of a packet, 0 where packets need not be of equal length.
    fn packet_ms(&self) -> f64 {
        if matches!(self.kind, Kind::Speech | Kind::Noise) { self.pace.packet_ms().into() } else { 0.0 }
    }
}

impl Clocked for Now<'_> {
    fn doubts(&self, by: i32) -> bool {
        self.timing.doubts(self.at_ns, self.timestamp, self.packet_ms(), by)
    }

    fn counts(&self, ahead: u16) -> Option<u32> {
        self.timing.counts(self.at_ns, self.timestamp, self.packet_ms(), ahead)
    }
}
