//! SCTP's packet and its chunks (RFC 9260 section 3; I-DATA of RFC 8260).
//!
//! ```text
//! | src port | dst port | verification tag | checksum |   then chunks   | type | flags | length | value | padding to 4 |
//! DATA:   | TSN | stream | stream sequence number | payload protocol | octets
//! I-DATA: | TSN | stream | reserved | message identifier | payload protocol, or fragment number | octets
//! ```

use crate::walk::{Network, Walk, be16, be32, malformed};
use crate::{Decoded, Layer};

/// Octets of the common header.
pub const HEADER: usize = 12;

/// Chunk types that carry or govern user messages.
pub mod chunk {
    /// User data.
    pub const DATA: u8 = 0;
    /// Begins an association.
    pub const INIT: u8 = 1;
    /// Answers INIT.
    pub const INIT_ACK: u8 = 2;
    /// Ends an association at once.
    pub const ABORT: u8 = 6;
    /// The last of a shutdown.
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    /// User data with a message identifier (RFC 8260).
    pub const I_DATA: u8 = 64;
}

/// Flag of DATA and I-DATA: the last fragment.
pub const END: u8 = 0x01;
/// Flag: the first fragment.
pub const BEGIN: u8 = 0x02;
/// Flag: unordered.
pub const UNORDERED: u8 = 0x04;

pub(crate) fn packet(walk: Walk, at: usize, network: &Network) -> Decoded {
    match walk.array::<HEADER>(at) {
        Some(h) => Decoded::Sctp(walk.datagram(network, (be16(&h, 0), be16(&h, 2)), at + HEADER, walk.wire)),
        None => malformed(Layer::Transport),
    }
}

/// One chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Type; see [`chunk`].
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// What was captured of the value, padding left out.
    pub value: &'a [u8],
    /// Octets of the value on the wire.
    pub wire: usize,
}

/// The chunks of a packet, from the first on (where [`crate::Datagram::payload_start`] points).
///
/// It ends at the packet's end or at the first chunk whose header lies; a chunk cut by the snap length is the last.
#[derive(Clone, Debug)]
pub struct Chunks<'a>(&'a [u8]);

impl<'a> Chunks<'a> {
    /// Over the octets behind the common header.
    pub fn new(octets: &'a [u8]) -> Self {
        Chunks(octets)
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        let [kind, flags, high, low] = *self.0.first_chunk::<4>()?;
        // Section 3.2: the length counts the chunk's header and no padding.
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < 4 {
            self.0 = &[];
            return None;
        }
        let value = self.0.get(4..length).unwrap_or(&self.0[4..]);
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some(Chunk { kind, flags, value, wire: length - 4 })
    }
}

/// A DATA or I-DATA chunk: a user message or a fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataChunk<'a> {
    /// Transmission sequence number.
    pub tsn: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number (DATA) or message identifier (I-DATA).
    pub message: u32,
    /// Number of the fragment: the TSN in DATA, counted from 0 in I-DATA.
    pub fragment: u32,
    /// Payload protocol identifier; in I-DATA only the first fragment tells it.
    pub protocol: Option<u32>,
    /// Whether it is I-DATA.
    pub interleaved: bool,
    /// [`BEGIN`], [`END`], [`UNORDERED`].
    pub flags: u8,
    /// What was captured of the user's octets.
    pub octets: &'a [u8],
    /// The user's octets on the wire.
    pub wire: usize,
}

impl<'a> Chunk<'a> {
    /// The chunk as user data; none if it is another kind or too short.
    pub fn data(&self) -> Option<DataChunk<'a>> {
        match self.kind {
            chunk::DATA => self.plain_data(),
            chunk::I_DATA => self.interleaved_data(),
            _ => None,
        }
    }

    fn plain_data(&self) -> Option<DataChunk<'a>> {
        let (header, octets) = self.value.split_at_checked(12)?;
        let tsn = be32(header, 0);
        Some(DataChunk {
            tsn,
            stream: be16(header, 4),
            message: u32::from(be16(header, 6)),
            fragment: tsn,
            protocol: Some(be32(header, 8)),
            interleaved: false,
            flags: self.flags,
            octets,
            wire: self.wire - 12,
        })
    }

    fn interleaved_data(&self) -> Option<DataChunk<'a>> {
        let (header, octets) = self.value.split_at_checked(16)?;
        let begins = self.flags & BEGIN != 0;
        Some(DataChunk {
            tsn: be32(header, 0),
            stream: be16(header, 4),
            message: be32(header, 8),
            fragment: if begins { 0 } else { be32(header, 12) },
            protocol: begins.then(|| be32(header, 12)),
            interleaved: true,
            flags: self.flags,
            octets,
            wire: self.wire - 16,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    const CHUNKS: [u8; 48] = [
        3, 0, 0, 16, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, // SACK
        0, 3, 0, 18, 0, 0, 0, 9, 0, 2, 0, 5, 0, 0, 0, 46, b'h', b'i', 0, 0, // DATA, whole, PPID 46
        8, 0, 0, 4, 0, 0, 0, 3, 1, 2, 3, 4, // SHUTDOWN-ACK, then a chunk whose length lies
    ];

    #[test]
    fn chunks_and_data() {
        let chunks: Vec<_> = Chunks::new(&CHUNKS).collect();
        assert_eq!(chunks.iter().map(|c| c.kind).collect::<Vec<_>>(), [3, 0, 8]);
        let data = chunks[1].data().unwrap();
        assert_eq!((data.tsn, data.stream, data.message, data.protocol), (9, 2, 5, Some(46)));
        assert_eq!((data.octets, data.wire), (&b"hi"[..], 2));
        assert_eq!(chunks[0].data(), None);
    }

    #[test]
    fn interleaved() {
        let first = [64, 2, 0, 24, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 8, 0, 0, 0, 46, 1, 2, 3, 4];
        let second = [64, 1, 0, 24, 0, 0, 0, 2, 0, 3, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 5, 6, 7, 8];
        let data = |octets| Chunks::new(octets).next().unwrap().data().unwrap();
        assert_eq!((data(&first).protocol, data(&first).fragment, data(&first).message), (Some(46), 0, 8));
        assert_eq!((data(&second).protocol, data(&second).fragment), (None, 1));
    }

    #[test]
    fn cut_by_the_snap_length() {
        let chunk = Chunks::new(&CHUNKS[16..33]).next().unwrap();
        assert_eq!((chunk.value.len(), chunk.wire), (13, 14));
        assert_eq!(chunk.data().unwrap().octets, b"h");
        assert_eq!(Chunks::new(&CHUNKS[16..24]).next().unwrap().data(), None);
    }

    #[test]
    fn in_ip() {
        let header = [0x45, 0, 0, 80, 0, 1, 0, 0, 64, 132, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let common = [0x0b, 0x59, 0x0b, 0x5a, 0, 0, 0, 1, 0, 0, 0, 0];
        let octets = [&header[..], &common, &CHUNKS].concat();
        let Decoded::Sctp(d) = decode(101, &octets) else { panic!() };
        assert_eq!((d.src_port, d.dst_port, d.payload_start, d.payload_captured), (2905, 2906, 32, 48));
        assert_eq!(decode(101, &octets[..31]), malformed(Layer::Transport));
    }
}
