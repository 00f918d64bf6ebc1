//! STUN (RFC 8489) and TURN (RFC 8656), and whether media is inside.

use super::{Piece, Protocol};
use trunkline_wire::{Address, Datagram, Endpoint, rtp};

const HEADER: usize = 20;
const MAGIC_COOKIE: u32 = 0x2112_a442;
const PORT: u16 = 3478;

/// Methods (RFC 8489 section 18.1, RFC 8656 section 17).
pub(crate) mod method {
    pub const BINDING: u16 = 1;
    pub const ALLOCATE: u16 = 3;
    pub const REFRESH: u16 = 4;
    pub const SEND: u16 = 6;
    pub const DATA: u16 = 7;
    pub const CREATE_PERMISSION: u16 = 8;
    pub const CHANNEL_BIND: u16 = 9;
    /// RFC 6062.
    pub const CONNECT: u16 = 10;
    pub const CONNECTION_ATTEMPT: u16 = 12;
}

/// Attributes (RFC 8489 section 18.3, RFC 8656 section 18).
pub(crate) mod attribute {
    pub const USERNAME: usize = 0x0006;
    pub const CHANNEL_NUMBER: usize = 0x000c;
    pub const XOR_PEER_ADDRESS: usize = 0x0012;
    pub const DATA: usize = 0x0013;
    pub const XOR_RELAYED_ADDRESS: usize = 0x0016;
}

/// What a message is for (RFC 8489 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Request,
    Indication,
    Success,
    Error,
}

/// A message of STUN with the magic cookie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub method: u16,
    pub class: Class,
    piece: Piece<'a>,
}

impl<'a> Message<'a> {
    /// The message that a datagram is; none if it is no such message.
    pub fn new(datagram: &Datagram, octets: &'a [u8]) -> Option<Message<'a>> {
        let piece = Piece::new(datagram, octets);
        let (kind, length) = (piece.be16(0)? as u16, piece.be16(2)?);
        if kind & 0xc000 != 0 || length + HEADER != piece.wire || piece.be32(4)? != MAGIC_COOKIE {
            return None;
        }
        let class = match kind & 0x0110 {
            0 => Class::Request,
            0x0010 => Class::Indication,
            0x0100 => Class::Success,
            _ => Class::Error,
        };
        Some(Message { method: method_of(kind), class, piece })
    }

    /// What was captured of an attribute's value, and its length on the wire.
    pub fn attribute(&self, wanted: usize) -> Option<(&'a [u8], usize)> {
        whole_attributes(&self.piece).find(|(kind, ..)| *kind == wanted).map(|(_, value, length)| (value, length))
    }

    /// An address that is written XORed with cookie and transaction identifier (RFC 8489 section 14.2).
    pub fn address(&self, wanted: usize) -> Option<Endpoint> {
        let (value, _) = self.attribute(wanted)?;
        let mask: [u8; 16] = self.piece.array(4)?;
        let (&[_, family, high, low], address) = value.split_first_chunk::<4>()?;
        let port = u16::from_be_bytes([high ^ mask[0], low ^ mask[1]]);
        let address = match family {
            1 => {
                let octets: [u8; 4] = *address.first_chunk()?;
                Address::v4(core::array::from_fn(|i| octets[i] ^ mask[i]))
            }
            2 => {
                let octets: [u8; 16] = *address.first_chunk()?;
                Address::v6(core::array::from_fn(|i| octets[i] ^ mask[i]))
            }
            _ => return None,
        };
        Some(Endpoint::new(address, port))
    }
}

/// The method among the bits of a message type.
fn method_of(kind: u16) -> u16 {
    kind & 0x000f | (kind & 0x00e0) >> 1 | (kind & 0x3e00) >> 2
}

/// A check of ICE: the names of who is asked and of who asks (RFC 8445 section 7.2.2).
pub(crate) fn checks<'a>(message: &Message<'a>) -> Option<[&'a [u8]; 2]> {
    if (message.method, message.class) != (method::BINDING, Class::Request) {
        return None;
    }
    let (user, length) = message.attribute(attribute::USERNAME)?;
    let colon = memchr::memchr(b':', user).filter(|_| user.len() == length)?;
    Some([&user[..colon], &user[colon + 1..]])
}

/// Whether a message answers a check, whatever it says (RFC 8445 section 7.2.5).
pub(crate) fn answers(message: &Message<'_>) -> bool {
    message.method == method::BINDING && matches!(message.class, Class::Success | Class::Error)
}

/// Whether a message of STUN is a check of ICE, or may be an answer to one.
pub fn is_check(piece: &Piece<'_>) -> bool {
    const SUCCESS: usize = 0x0101;
    const ERROR: usize = 0x0111;
    let kind = piece.be16(0);
    matches!(kind, Some(SUCCESS | ERROR))
        || kind == Some(usize::from(method::BINDING)) && attributes(piece).any(|(k, _)| k == attribute::USERNAME)
}

/// ChannelData in a datagram: the channel's number, what was captured of what is inside, and its length on the wire
/// (RFC 8656 section 12.4). None if it is no such message.
pub(crate) fn channel_data<'a>(datagram: &Datagram, octets: &'a [u8]) -> Option<(u16, &'a [u8], usize)> {
    let piece = Piece::new(datagram, octets);
    let (channel, length) = (piece.be16(0)?, piece.be16(2)?);
    // Over UDP the padding to four octets may be left out.
    if !(0x4000..=0x4fff).contains(&channel) || piece.wire != 4 + length && piece.wire != 4 + padded(length) {
        return None;
    }
    let inside = octets.get(4..)?;
    Some((channel as u16, inside.get(..length).unwrap_or(inside), length))
}

/// A message of STUN or TURN: two bits that are zero, a length that agrees, the magic cookie (RFC 8489 section 5).
/// Without the cookie (RFC 3489) a binding whose attributes fill the message.
pub fn of_message(piece: &Piece<'_>) -> Option<Protocol> {
    let (kind, length) = (piece.be16(0)?, piece.be16(2)?);
    if kind & 0xc000 != 0 || length + HEADER != piece.wire {
        return None;
    }
    if piece.be32(4)? != MAGIC_COOKIE {
        return (length % 4 == 0 && is_classic(piece, kind)).then_some(Protocol::Stun);
    }
    // Field: WhatsApp's lengths are no multiples of four.
    Some(match method_of(kind as u16) {
        method::SEND | method::DATA if holds_media(piece) => Protocol::TurnMedia,
        method::ALLOCATE
        | method::REFRESH
        | method::SEND
        | method::DATA
        | method::CREATE_PERMISSION
        | method::CHANNEL_BIND
        | method::CONNECT..=method::CONNECTION_ATTEMPT => Protocol::Turn,
        _ => Protocol::Stun,
    })
}

/// RFC 3489 section 11.
fn is_classic(piece: &Piece<'_>, kind: usize) -> bool {
    if !matches!(kind, 0x0001 | 0x0002 | 0x0101 | 0x0102 | 0x0111 | 0x0112) {
        return false;
    }
    if piece.wire == HEADER {
        return kind == 0x0001 && piece.is_on(PORT);
    }
    let mut known = 0;
    let all = attributes(piece).all(|(kind, _)| {
        known += u32::from((0x0001..=0x000b).contains(&kind));
        (0x0001..=0x0024).contains(&kind) || kind >= 0x8000
    });
    all && known > 0
        && piece.octets.len() == piece.wire
        && attributes(piece).map(|(_, v)| 4 + padded(v.len())).sum::<usize>() + HEADER == piece.wire
}

/// The data of a Send or Data indication is RTP.
fn holds_media(piece: &Piece<'_>) -> bool {
    attributes(piece).any(|(kind, value)| kind == attribute::DATA && rtp::looks_like_rtp(value))
}

/// Attributes with what was captured of their values.
fn attributes<'a>(piece: &Piece<'a>) -> impl Iterator<Item = (usize, &'a [u8])> {
    whole_attributes(piece).map(|(kind, value, _)| (kind, value))
}

/// The same with their lengths on the wire; it ends where a length lies.
fn whole_attributes<'a>(piece: &Piece<'a>) -> impl Iterator<Item = (usize, &'a [u8], usize)> {
    let mut rest = piece.octets.get(HEADER..).unwrap_or_default();
    core::iter::from_fn(move || {
        let [k1, k2, l1, l2] = *rest.first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes([l1, l2]));
        let value = rest.get(4..)?;
        let value = value.get(..length).unwrap_or(value);
        rest = rest.get(4 + padded(length)..).unwrap_or_default();
        Some((usize::from(u16::from_be_bytes([k1, k2])), value, length))
    })
}

fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// ChannelData (RFC 8656 section 12.4): a channel number, a length that agrees, and RTP or a message of its own kind
/// inside. What else may be inside is not told from other protocols.
pub fn of_channel(piece: &Piece<'_>) -> Option<Protocol> {
    let (channel, length) = (piece.be16(0)?, piece.be16(2)?);
    // Over UDP the padding to four octets may be left out.
    if !(0x4000..=0x4fff).contains(&channel) || piece.wire != 4 + length && piece.wire != 4 + padded(length) {
        return None;
    }
    let inside = piece.from(4)?;
    if rtp::looks_like_rtp(inside.octets) {
        return Some(Protocol::TurnMedia);
    }
    let is_rtcp = trunkline_wire::rtcp::looks_like_rtcp(inside.octets);
    let inside = Piece { wire: length, ..inside };
    (is_rtcp || of_message(&inside).is_some() || super::datagram::is_dtls(&inside)).then_some(Protocol::Turn)
}

/// ChannelData at the beginning of a TCP segment: there the port must be TURN's, because only so little is certain.
pub fn of_tcp_channel(piece: &Piece<'_>) -> Option<Protocol> {
    let length = piece.be16(2)?;
    if !piece.is_on(PORT) || piece.wire < 4 + length {
        return None;
    }
    of_channel(&Piece { wire: 4 + length, octets: piece.octets.get(..4 + length).unwrap_or(piece.octets), ..*piece })
}
