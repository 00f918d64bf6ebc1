//! TCP's header (RFC 9293 section 3.1). What the octets of a connection are is [`crate::tcp_reassembly`]'s.

use crate::walk::{Network, Walk, be16, be32, malformed};
use crate::{Decoded, Layer, TcpHeader};

/// Octets of a header without options.
pub const HEADER: usize = 20;

/// No more data from the sender.
pub const FIN: u8 = 0x01;
/// Synchronise sequence numbers.
pub const SYN: u8 = 0x02;
/// Reset the connection.
pub const RST: u8 = 0x04;
/// Push function.
pub const PSH: u8 = 0x08;
/// The acknowledgement field counts.
pub const ACK: u8 = 0x10;

#[inline(always)]
pub(crate) fn segment(walk: Walk, at: usize, network: &Network) -> Decoded {
    let Some(header) = walk.array::<HEADER>(at) else { return malformed(Layer::Transport) };
    let length = usize::from(header[12] >> 4) * 4;
    if length < HEADER || at + length > walk.wire.max(walk.octets.len()) {
        return malformed(Layer::Transport);
    }
    // Options that the snap length cut leave no payload, but the sequence numbers are good.
    let start = (at + length).min(walk.octets.len());
    let wire = walk.left(at + length);
    let mut datagram = walk.datagram(network, (be16(&header, 0), be16(&header, 2)), start, walk.wire);
    datagram.payload_wire = wire as u32;
    let fields = TcpHeader { seq: be32(&header, 4), ack: be32(&header, 8), flags: header[13] };
    Decoded::Tcp(datagram, fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::decode;

    fn segment_of(offset: u8, after: &[u8]) -> Vec<u8> {
        let total = 40 + after.len() as u8;
        let mut octets = vec![0x45, 0, 0, total, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        octets.extend_from_slice(&[
            0x13,
            0xc4,
            0x13,
            0xce,
            0,
            0,
            1,
            0,
            0,
            0,
            2,
            0,
            offset << 4,
            0x18,
            0,
            0,
            0,
            0,
            0,
            0,
        ]);
        octets.extend_from_slice(after);
        octets
    }

    #[test]
    fn options_are_passed() {
        let Decoded::Tcp(d, h) = decode(101, &segment_of(6, b"\x01\x01\x01\x00abc")) else { panic!() };
        assert_eq!((d.src_port, d.dst_port, d.payload_start, d.payload_captured), (5060, 5070, 44, 3));
        assert_eq!(h, TcpHeader { seq: 256, ack: 512, flags: PSH | ACK });
    }

    #[test]
    fn cut_options_leave_the_sequence_numbers() {
        let octets = segment_of(6, b"\x01\x01\x01\x00abc");
        let Decoded::Tcp(d, h) = decode(101, &octets[..42]) else { panic!() };
        assert_eq!((d.payload_captured, d.payload_wire, h.seq), (0, 3, 256));
    }

    #[test]
    fn offsets_that_lie() {
        assert_eq!(decode(101, &segment_of(4, b"abcd")), Decoded::Malformed(Layer::Transport));
        assert_eq!(decode(101, &segment_of(15, b"abcd")), Decoded::Malformed(Layer::Transport));
        assert_eq!(decode(101, &segment_of(5, b"")[..39]), Decoded::Malformed(Layer::Transport));
    }
}
