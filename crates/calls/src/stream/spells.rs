//! How much of a stream was of which payload type, and until when: counted where the type changes.

use super::PAYLOAD_TYPES_MAX;
use trunkline_audio::codec::Media;

/// A payload type of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Its number.
    pub payload_type: u8,
    /// What it carries; none if neither SDP nor RFC 3551 says.
    pub media: Option<Media>,
    /// Packets that carried it, copies included.
    pub packets: u64,
    /// When it was last seen, nanoseconds since 1970; milliseconds count.
    pub last_ns: i64,
}

/// Packets of each type and when it was last seen, by the type's place in the list of those that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spells {
    packets: [u32; PAYLOAD_TYPES_MAX],
    /// Milliseconds since the first packet.
    last_ms: [u32; PAYLOAD_TYPES_MAX],
    /// The place of the type in hand, none of one that is not listed, and how many packets came before its spell.
    at: Option<u8>,
    before: u64,
}

impl Default for Spells {
    /// Of a stream that has had one type so far.
    fn default() -> Self {
        Spells { packets: [0; PAYLOAD_TYPES_MAX], last_ms: [0; PAYLOAD_TYPES_MAX], at: Some(0), before: 0 }
    }
}

impl Spells {
    /// The counts when so many packets were there, the last of them at this time.
    pub(super) fn until(mut self, packets: u64, last_ms: u32) -> Self {
        if let Some(at) = self.at.map(usize::from) {
            let more = super::narrow(packets.saturating_sub(self.before));
            self.packets[at] = self.packets[at].saturating_add(more);
            self.last_ms[at] = last_ms;
        }
        self
    }

    /// Another type begins after so many packets.
    pub(super) fn turn(&mut self, packets: u64, last_ms: u32, place: Option<usize>) {
        *self = Spells { at: place.map(|at| at as u8), before: packets, ..self.until(packets, last_ms) };
    }

    /// What that says of these types.
    pub(super) fn typed(&self, types: &[u8], first_ns: i64, media: impl Fn(u8) -> Option<Media>) -> Vec<Typed> {
        let typed = |(place, payload_type): (usize, &u8)| Typed {
            payload_type: *payload_type,
            media: media(*payload_type),
            packets: self.packets[place].into(),
            last_ns: first_ns.saturating_add(i64::from(self.last_ms[place]) * 1_000_000),
        };
        types.iter().enumerate().map(typed).collect()
    }
}

/// Milliseconds from one time to a later one.
pub(super) fn since(first_ns: i64, last_ns: i64) -> u32 {
    u32::try_from(last_ns.saturating_sub(first_ns) / 1_000_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_packets_and_its_last_time() {
        let mut spells = Spells::default();
        spells.turn(10, 200, Some(1));
        spells.turn(12, 240, Some(0));
        // One that is not listed is of none of them.
        spells.turn(20, 400, None);
        spells.turn(23, 460, Some(1));
        let typed = spells.until(30, 600).typed(&[8, 101], 1_000_000_000, |t| (t == 8).then_some(Media::Audio));
        let counts: Vec<_> = typed.iter().map(|t| (t.payload_type, t.packets, t.last_ns)).collect();
        assert_eq!(counts, [(8, 18, 1_400_000_000), (101, 9, 1_600_000_000)]);
        assert_eq!((typed[0].media, typed[1].media), (Some(Media::Audio), None));
        // A stream of one type never turns.
        let one = Spells::default().until(5, 80).typed(&[0], 0, |_| None);
        assert_eq!((one[0].packets, one[0].last_ns), (5, 80_000_000));
    }
}
