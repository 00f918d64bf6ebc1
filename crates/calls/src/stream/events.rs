//! Telephone events of a stream (RFC 4733): one digit for each event, however many packets tell of it.

use std::fmt::Write;
use trunkline_wire::rtp::Event;

/// Events of a stream that are kept; later ones are counted alone.
pub const EVENTS_MAX: usize = 46;

#[derive(Clone, Debug)]
pub(super) struct Events {
    codes: [u8; EVENTS_MAX],
    kept: u8,
    last_code: u8,
    last_ended: bool,
    any: bool,
    last_timestamp: u32,
    last_duration: u16,
    /// Events beyond [`EVENTS_MAX`].
    pub(super) dropped: u16,
}

impl Default for Events {
    fn default() -> Self {
        Events {
            codes: [0; EVENTS_MAX],
            kept: 0,
            last_code: 0,
            last_ended: false,
            any: false,
            last_timestamp: 0,
            last_duration: 0,
            dropped: 0,
        }
    }
}

impl Events {
    /// Takes a packet. All packets of an event carry its first timestamp (section 2.5.1.1), so a younger timestamp is a
    /// new event, with or without an end packet before; an older one is a packet that was overtaken. An event longer
    /// than the duration field holds goes on in a segment with a timestamp that much later (section 2.5.1.3).
    pub(super) fn packet(&mut self, timestamp: u32, event: Event) {
        let later = timestamp.wrapping_sub(self.last_timestamp) as i32;
        if self.any && later <= 0 {
            if later == 0 {
                self.last_ended |= event.end;
                self.last_duration = self.last_duration.max(event.duration);
            }
            return;
        }
        let continues = self.any
            && !self.last_ended
            && event.code == self.last_code
            && self.last_duration >= 0xff00
            && later <= i32::from(u16::MAX);
        if !continues {
            self.add(event.code);
        }
        self.any = true;
        (self.last_code, self.last_ended) = (event.code, event.end);
        (self.last_timestamp, self.last_duration) = (timestamp, event.duration);
    }

    fn add(&mut self, code: u8) {
        match self.codes.get_mut(usize::from(self.kept)) {
            Some(place) => {
                *place = code;
                self.kept += 1;
            }
            None => self.dropped = self.dropped.saturating_add(1),
        }
    }

    /// The digits in order; other events by name, between spaces.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut after_name = false;
        for &code in &self.codes[..usize::from(self.kept)] {
            let digit = b"0123456789*#ABCD".get(usize::from(code)).map(|&d| char::from(d));
            if !text.is_empty() && (after_name || digit.is_none()) {
                text.push(' ');
            }
            after_name = digit.is_none();
            match digit {
                Some(digit) => text.push(digit),
                None if code == 16 => text.push_str("flash"),
                // Writing to a String does not fail.
                None => _ = write!(text, "event-{code}"),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(packets: &[(u32, u8, bool, u16)]) -> String {
        let mut events = Events::default();
        for &(timestamp, code, end, duration) in packets {
            events.packet(timestamp, Event { code, end, volume: 10, duration });
        }
        events.text()
    }

    #[test]
    fn one_digit_an_event() {
        let packets = [(100, 1, false, 160), (100, 1, false, 320), (100, 1, true, 480), (100, 1, true, 480)];
        assert_eq!(text(&packets), "1");
        // The end is lost, the same key again, then an overtaken packet of the first.
        assert_eq!(
            text(&[(100, 5, false, 160), (900, 5, false, 160), (100, 5, true, 480), (1900, 11, true, 9)]),
            "55#"
        );
    }

    #[test]
    fn long_events_go_on_in_segments() {
        assert_eq!(text(&[(0, 3, false, 0xffff), (0xffff, 3, true, 800)]), "3");
        assert_eq!(text(&[(0, 3, true, 0xffff), (0xffff, 3, true, 800)]), "33");
    }

    #[test]
    fn names_stand_apart() {
        assert_eq!(text(&[(1, 1, true, 1), (2, 16, true, 1), (3, 2, true, 1), (4, 36, true, 1)]), "1 flash 2 event-36");
    }
}
