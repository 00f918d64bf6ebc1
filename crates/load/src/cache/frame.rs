//! memcached's frame of a datagram (doc/protocol.txt, "UDP protocol"): 8 octets, request number, sequence, count and
//! two reserved octets, each number of 16 bits, the high octet first. An answer of several is put together here.

use std::ops::Range;

/// Octets of the frame.
pub const OCTETS: usize = 8;

/// The frame of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Which request it belongs to.
    pub request: u16,
    /// Its place in the message, from 0.
    pub sequence: u16,
    /// Datagrams of the message.
    pub count: u16,
}

impl Frame {
    /// Of a request, which is one datagram.
    pub fn of_request(request: u16) -> Self {
        Frame { request, sequence: 0, count: 1 }
    }

    /// Its octets.
    pub fn octets(self) -> [u8; OCTETS] {
        let ([a, b], [c, d], [e, f]) =
            (self.request.to_be_bytes(), self.sequence.to_be_bytes(), self.count.to_be_bytes());
        [a, b, c, d, e, f, 0, 0]
    }

    /// Frame and rest of a datagram; none where it is too short or says that it is none of its message.
    pub fn read(datagram: &[u8]) -> Option<(Frame, &[u8])> {
        let word = |at: usize| Some(u16::from_be_bytes(datagram.get(at..at + 2)?.try_into().ok()?));
        let frame = Frame { request: word(0)?, sequence: word(2)?, count: word(4)? };
        let rest = datagram.get(OCTETS..)?;
        (frame.sequence < frame.count).then_some((frame, rest))
    }
}

/// The datagrams of a message that have come.
#[derive(Debug, Default)]
pub struct Message {
    /// Their octets, as they came.
    octets: Vec<u8>,
    /// Where those of each lie.
    parts: Vec<Option<Range<usize>>>,
    missing: usize,
    /// Whether each came behind the one before it.
    in_order: bool,
}

impl Message {
    /// Takes one; the octets of the message once all are there, and it begins anew.
    ///
    /// # Errors
    /// It says another count than those before it.
    pub fn push(&mut self, frame: Frame, octets: &[u8]) -> Result<Option<Vec<u8>>, ()> {
        if self.parts.is_empty() {
            self.parts.resize(frame.count.into(), None);
            (self.missing, self.in_order) = (frame.count.into(), true);
        }
        if self.parts.len() != usize::from(frame.count) {
            return Err(());
        }
        let came = self.parts.len() - self.missing;
        let Some(place) = self.parts.get_mut(usize::from(frame.sequence)) else { return Err(()) };
        // One that comes twice counts once.
        if place.is_none() {
            *place = Some(self.octets.len()..self.octets.len() + octets.len());
            self.octets.extend_from_slice(octets);
            self.in_order &= usize::from(frame.sequence) == came;
            self.missing -= 1;
        }
        Ok((self.missing == 0).then(|| std::mem::take(self).whole()))
    }

    fn whole(self) -> Vec<u8> {
        if self.in_order {
            return self.octets;
        }
        let parts: Vec<&[u8]> = self.parts.into_iter().flatten().map(|part| &self.octets[part]).collect();
        parts.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_as_they_are_on_the_wire() {
        let datagram = b"\x12\x34\0\x01\0\x03\0\0END\r\n";
        let (frame, rest) = Frame::read(datagram).unwrap();
        assert_eq!((frame, rest), (Frame { request: 0x1234, sequence: 1, count: 3 }, &b"END\r\n"[..]));
        assert_eq!(frame.octets(), datagram[..8]);
        assert_eq!(Frame::of_request(7).octets(), *b"\0\x07\0\0\0\x01\0\0");
        assert!(Frame::read(b"\0\0\0\0\0\x01\0").is_none());
        assert!(Frame::read(b"\0\0\0\x03\0\x03\0\0").is_none());
    }

    #[test]
    fn datagrams_in_any_order_and_twice() {
        let frame = |sequence| Frame { request: 1, sequence, count: 3 };
        let mut message = Message::default();
        assert_eq!(message.push(frame(2), b"c"), Ok(None));
        assert_eq!(message.push(frame(0), b"a"), Ok(None));
        assert_eq!(message.push(frame(0), b"a"), Ok(None));
        assert_eq!(message.push(Frame { count: 2, ..frame(1) }, b"b"), Err(()));
        assert_eq!(message.push(frame(1), b"b"), Ok(Some(b"abc".to_vec())));
        let alone = Frame { request: 1, sequence: 0, count: 1 };
        assert_eq!(message.push(alone, b"next"), Ok(Some(b"next".to_vec())));
    }
}
