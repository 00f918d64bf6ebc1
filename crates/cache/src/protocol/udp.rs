//! The frame of a datagram (protocol.txt, "UDP protocol"): request number, number of the datagram, how many there are,
//! and two octets for later.
//!
//! A request is one datagram. An answer is ONE message, however many values it has: its datagrams are numbered from 0,
//! and each says how many they are, so that a client knows when it has them all. (memcached 1.6 numbers each value as a
//! message of its own, `0 of 1`; 1.5 did as the document says, and so do we.)

/// Octets of the frame's header.
pub const FRAME_OCTETS: usize = 8;
/// Octets of a datagram that we send, its frame's header included (`UDP_MAX_PAYLOAD_SIZE`).
pub const DATAGRAM_OCTETS_MAX: usize = 1400;
/// Octets of an answer in each of its datagrams but the last.
pub const PAYLOAD_OCTETS_MAX: usize = DATAGRAM_OCTETS_MAX - FRAME_OCTETS;
/// Octets of an answer that a message can number at all.
pub const ANSWER_OCTETS_MAX: usize = PAYLOAD_OCTETS_MAX * u16::MAX as usize;

/// The frame of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The client's own, told back.
    pub id: u16,
    /// The command.
    pub payload: &'a [u8],
}

/// Why a datagram is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// There is nothing behind the frame's header.
    Short,
    /// It is part of a request of several datagrams, which are not put together.
    Several,
}

/// Reads a datagram.
///
/// # Errors
/// It is no request of one datagram: memcached ignores those, too.
pub fn read(datagram: &[u8]) -> Result<Request<'_>, Ignored> {
    let Some((&[i0, i1, _, _, n0, n1, _, _], payload)) = datagram.split_first_chunk::<FRAME_OCTETS>() else {
        return Err(Ignored::Short);
    };
    match u16::from_be_bytes([n0, n1]) {
        _ if payload.is_empty() => Err(Ignored::Short),
        1 => Ok(Request { id: u16::from_be_bytes([i0, i1]), payload }),
        _ => Err(Ignored::Several),
    }
}

/// The datagrams of an answer to request `id`: header and payload of each, in order; none if there is no answer.
///
/// `answer` has at most [`ANSWER_OCTETS_MAX`] octets; what is beyond is not told.
pub fn datagrams(id: u16, answer: &[u8]) -> impl ExactSizeIterator<Item = ([u8; FRAME_OCTETS], &[u8])> {
    let answer = &answer[..answer.len().min(ANSWER_OCTETS_MAX)];
    let pieces = answer.chunks(PAYLOAD_OCTETS_MAX);
    let of = pieces.len();
    pieces.enumerate().map(move |(at, piece)| (header(id, at, of), piece))
}

/// The header of datagram `number`, from 0, of the `of` datagrams of an answer to request `id`.
pub fn header(id: u16, number: usize, of: usize) -> [u8; FRAME_OCTETS] {
    let [i0, i1] = id.to_be_bytes();
    let [s0, s1] = (number as u16).to_be_bytes();
    let [n0, n1] = (of as u16).to_be_bytes();
    [i0, i1, s0, s1, n0, n1, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_one_datagram() {
        let read_one = read(b"\x01\x02\0\0\0\x01\0\0get a\r\n");
        assert_eq!(read_one, Ok(Request { id: 0x102, payload: b"get a\r\n" }));
        assert_eq!(read(b"\x01\x02\0\0\0\x02\0\0get"), Err(Ignored::Several));
        assert_eq!(read(b"\x01\x02\0\0\0\x01\0\0"), Err(Ignored::Short));
        assert_eq!(read(b"\x01"), Err(Ignored::Short));
    }

    #[test]
    fn an_answer_is_one_numbered_message() {
        let answer: Vec<u8> = (0..3000u32).map(|n| n as u8).collect();
        let parts: Vec<_> = datagrams(0x1234, &answer).collect();
        assert_eq!(parts.len(), 3);
        for (at, (head, piece)) in parts.iter().enumerate() {
            assert_eq!(*head, [0x12, 0x34, 0, at as u8, 0, 3, 0, 0]);
            assert!(head.len() + piece.len() <= 1400);
        }
        assert_eq!(parts.iter().flat_map(|p| p.1).copied().collect::<Vec<u8>>(), answer);
        assert_eq!(datagrams(1, b"").len(), 0);
        assert_eq!(datagrams(1, &[0; 1392]).len(), 1);
    }
}
