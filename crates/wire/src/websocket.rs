//! WebSocket (RFC 6455), as far as SIP over it needs (RFC 7118): the handshake that announces it and the frames.

use crate::sip::grammar::{Values, trim};
use crate::sip::looks_like_sip;

/// The longest frame header: two octets, eight of length, four of mask.
pub const HEADER_OCTETS_MAX: usize = 14;

/// What a frame carries (RFC 6455 section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// More of the message that an earlier frame began.
    Continuation,
    /// A message of text.
    Text,
    /// A message of octets.
    Binary,
    /// The end of the connection.
    Close,
    /// Asks for a pong.
    Ping,
    /// Answers a ping, or says that one is alive.
    Pong,
}

impl Opcode {
    fn from_bits(bits: u8) -> Option<Opcode> {
        Some(match bits {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    /// Whether it carries no message: close, ping, pong.
    pub fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whether it is the last frame of its message.
    pub fin: bool,
    /// Whether an extension changed the payload: bit RSV1, which permessage-deflate (RFC 7692) sets.
    pub compressed: bool,
    /// What it carries.
    pub opcode: Opcode,
    /// The mask of the payload; clients mask, servers do not.
    pub mask: Option<[u8; 4]>,
    /// Octets of the header.
    pub header_octets: usize,
    /// Octets of the payload.
    pub payload_octets: u64,
}

/// Why a frame header could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFrame {
    /// The octets end before the header does.
    More,
    /// Reserved bits, a reserved opcode, a long or fragmented control frame: not WebSocket.
    Invalid,
}

impl Frame {
    /// Reads a frame header.
    ///
    /// # Errors
    /// See [`NoFrame`].
    pub fn parse(octets: &[u8]) -> Result<Frame, NoFrame> {
        let [first, second, rest @ ..] = octets else { return Err(NoFrame::More) };
        let opcode = Opcode::from_bits(first & 0x0f).ok_or(NoFrame::Invalid)?;
        let fin = first & 0x80 != 0;
        let short = second & 0x7f;
        if first & 0x30 != 0 || opcode.is_control() && (!fin || short > 125) {
            return Err(NoFrame::Invalid);
        }
        let (payload_octets, length_octets) = match short {
            126 => (u64::from(u16::from_be_bytes(array(rest, 0)?)), 2),
            127 => (u64::from_be_bytes(array(rest, 0)?), 8),
            n => (u64::from(n), 0),
        };
        // The most significant bit must be 0 (RFC 6455 section 5.2).
        if payload_octets >> 63 != 0 {
            return Err(NoFrame::Invalid);
        }
        let masked = second & 0x80 != 0;
        let mask = if masked { Some(array(rest, length_octets)?) } else { None };
        let header_octets = 2 + length_octets + usize::from(masked) * 4;
        Ok(Frame { fin, compressed: first & 0x40 != 0, opcode, mask, header_octets, payload_octets })
    }
}

fn array<const N: usize>(octets: &[u8], at: usize) -> Result<[u8; N], NoFrame> {
    octets.get(at..at + N).and_then(|o| o.try_into().ok()).ok_or(NoFrame::More)
}

/// Removes (or applies) the mask of octets that lie `offset` octets behind the beginning of the payload.
pub fn unmask(octets: &mut [u8], mask: [u8; 4], offset: u64) {
    let turn = (offset % 4) as usize;
    let mask = [mask[turn], mask[(turn + 1) % 4], mask[(turn + 2) % 4], mask[(turn + 3) % 4]];
    for chunk in octets.chunks_mut(4) {
        for (octet, m) in chunk.iter_mut().zip(mask) {
            *octet ^= m;
        }
    }
}

/// Octets of a first payload that are unmasked to see whether it is SIP.
const PROBE_OCTETS: usize = 512;

/// Whether octets begin with a frame whose payload begins like SIP: how a connection whose handshake was not seen is
/// recognised.
pub fn begins_with_sip(octets: &[u8]) -> bool {
    let Ok(frame) = Frame::parse(octets) else { return false };
    if frame.compressed || !matches!(frame.opcode, Opcode::Text | Opcode::Binary) {
        return false;
    }
    let payload = octets.get(frame.header_octets..).unwrap_or_default();
    let len = payload.len().min(PROBE_OCTETS).min(usize::try_from(frame.payload_octets).unwrap_or(usize::MAX));
    let mut probe = [0u8; PROBE_OCTETS];
    probe[..len].copy_from_slice(&payload[..len]);
    if let Some(mask) = frame.mask {
        unmask(&mut probe[..len], mask, 0);
    }
    looks_like_sip(&probe[..len])
}

/// A handshake that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Whether the sub-protocol `sip` is asked for or granted (RFC 7118 section 4).
    pub sip: bool,
}

/// Reads an HTTP request or response that upgrades to WebSocket, from its first line to the empty line. None if it is
/// something else.
pub fn handshake(head: &[u8]) -> Option<Handshake> {
    let mut lines = head.split(|&o| o == b'\n').map(trim);
    let first = lines.next()?;
    let request = first.starts_with(b"GET ") && first.ends_with(b" HTTP/1.1");
    if !request && !first.starts_with(b"HTTP/1.1 101") {
        return None;
    }
    let (mut upgrade, mut sip) = (false, false);
    for line in lines {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let (name, value) = (trim(&line[..colon]), &line[colon + 1..]);
        let has = |token: &[u8]| Values::new(value).any(|v| v.eq_ignore_ascii_case(token));
        upgrade |= name.eq_ignore_ascii_case(b"Upgrade") && has(b"websocket");
        sip |= name.eq_ignore_ascii_case(b"Sec-WebSocket-Protocol") && has(b"sip");
    }
    upgrade.then_some(Handshake { sip })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_examples_of_the_standard() {
        // RFC 6455 section 5.7: "Hello", unmasked and masked; a ping; 256 octets; 64 KiB.
        let frame = Frame::parse(&[0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]).unwrap();
        assert_eq!((frame.fin, frame.opcode, frame.payload_octets, frame.header_octets), (true, Opcode::Text, 5, 2));
        let masked = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        let frame = Frame::parse(&masked).unwrap();
        let mut payload = masked[frame.header_octets..].to_vec();
        unmask(&mut payload[..2], frame.mask.unwrap(), 0);
        unmask(&mut payload[2..], frame.mask.unwrap(), 2);
        assert_eq!(payload, b"Hello");
        assert_eq!(Frame::parse(&[0x89, 0x05]).unwrap().opcode, Opcode::Ping);
        assert_eq!(Frame::parse(&[0x82, 0x7e, 0x01, 0x00]).unwrap().payload_octets, 256);
        assert_eq!(Frame::parse(&[0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]).unwrap().payload_octets, 65536);
        assert_eq!(Frame::parse(&[0x82, 0x7f, 0, 0]), Err(NoFrame::More));
        assert_eq!(Frame::parse(&[0x16, 0x03, 0x01]), Err(NoFrame::Invalid));
    }

    #[test]
    fn reads_the_handshake_of_rfc_7118() {
        let request = b"GET / HTTP/1.1\r\nHost: sip-ws.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: sip\r\nSec-WebSocket-Version: 13\r\n\r\n";
        assert_eq!(handshake(request), Some(Handshake { sip: true }));
        assert_eq!(
            handshake(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
            Some(Handshake { sip: false })
        );
        assert_eq!(handshake(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), None);
        assert_eq!(handshake(b"HTTP/1.1 403 No\r\nUpgrade: websocket\r\n\r\n"), None);
    }

    #[test]
    fn sees_sip_in_the_first_frame() {
        let text = b"SIP/2.0 200 OK\r\nl: 0\r\n\r\n";
        let mut octets = vec![0x81, 0x80 | text.len() as u8, 1, 2, 3, 4];
        let mut payload = text.to_vec();
        unmask(&mut payload, [1, 2, 3, 4], 0);
        octets.extend(payload);
        assert!(begins_with_sip(&octets));
        assert!(!begins_with_sip(b"\x81\x05Hello"));
    }
}
