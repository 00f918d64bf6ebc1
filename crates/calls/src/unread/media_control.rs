//! Other ways to set up calls: MGCP, Megaco, H.323, IAX2, Skinny.

use super::Piece;

/// The port of IAX2 (RFC 5456 section 3).
pub const IAX2: u16 = 4569;

/// MGCP (RFC 3435 section 3.2): a verb, a transaction, an endpoint and the version in the first line. A response has
/// none of that but a code: there the port must be MGCP's.
pub fn is_mgcp(piece: &Piece<'_>) -> bool {
    const VERBS: [&[u8; 5]; 10] =
        [b"EPCF ", b"CRCX ", b"MDCX ", b"DLCX ", b"RQNT ", b"NTFY ", b"AUEP ", b"AUCX ", b"RSIP ", b"MESG "];
    let Some(begin) = piece.octets.first_chunk::<5>() else { return false };
    if VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(begin)) {
        let line = piece.line(255);
        let mut words = line.split(|o| *o == b' ').filter(|word| !word.is_empty()).skip(1);
        let is_transaction = words.next().is_some_and(is_number);
        return is_transaction && words.any(|word| word.eq_ignore_ascii_case(b"MGCP"));
    }
    (piece.is_on(2427) || piece.is_on(2727)) && is_mgcp_response(piece.line(255))
}

/// `200 1203 OK`.
fn is_mgcp_response(line: &[u8]) -> bool {
    let mut words = line.split(|o| *o == b' ');
    let is_code = words.next().is_some_and(|code| code.len() == 3 && is_number(code));
    is_code && words.next().is_some_and(is_number)
}

fn is_number(word: &[u8]) -> bool {
    (1..=9).contains(&word.len()) && word.iter().all(u8::is_ascii_digit)
}

/// Megaco as text (RFC 3525 annex B.2), or in BER (annex A) on its port.
pub fn is_megaco(piece: &Piece<'_>) -> bool {
    let version = |begin: &[u8]| {
        let rest = piece.octets.get(..begin.len()).filter(|o| o.eq_ignore_ascii_case(begin));
        rest.is_some()
            && matches!(piece.octets.get(begin.len()..), Some([b'1'..=b'9', b' ' | b'\r' | b'\n' | b'[' | b'<', ..]))
    };
    version(b"MEGACO/") || version(b"!/") || (piece.is_on(2944) || piece.is_on(2945)) && is_ber_megaco(piece)
}

/// A sequence that fills the datagram, and in it the message (tag 1).
fn is_ber_megaco(piece: &Piece<'_>) -> bool {
    let Some([0x30, length]) = piece.array(0) else { return false };
    let (header, length) = match length {
        short @ 0..=0x7f => (2, Some(usize::from(short))),
        0x81 => (3, piece.octets.get(2).map(|o| usize::from(*o))),
        0x82 => (4, piece.be16(2)),
        _ => return false,
    };
    length.is_some_and(|length| header + length == piece.wire) && piece.octets.get(header) == Some(&0xa1)
}

/// RAS (H.225.0): messages that name H.225.0's object identifier near their beginning; the others are not certain.
pub fn is_ras(piece: &Piece<'_>) -> bool {
    const H225: [u8; 6] = [0x06, 0x00, 0x08, 0x91, 0x4a, 0x00];
    let begin = &piece.octets[..piece.octets.len().min(16)];
    begin.windows(H225.len()).any(|o| o == H225)
}

/// H.225.0's call signalling: TPKT (RFC 1006 section 6), then Q.931 with a call reference of two octets.
pub fn is_h225(piece: &Piece<'_>) -> bool {
    let Some([3, 0, high, low, 8, 2, _, _, kind]) = piece.array::<9>(0) else { return false };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let is_message = matches!(kind, 0x01..=0x03 | 0x05 | 0x07 | 0x0d | 0x0f | 0x5a | 0x62 | 0x6e | 0x75 | 0x7b | 0x7d);
    is_message && (9..=piece.wire).contains(&length)
}

/// Megaco in TPKT (RFC 3525 annex D.2).
pub fn is_megaco_in_tpkt(piece: &Piece<'_>) -> bool {
    piece.octets.starts_with(&[3, 0]) && piece.from(4).is_some_and(|inner| is_megaco(&inner))
}

/// Skinny on its ports: a length in the other order of octets, a version, an identifier of a message.
pub fn is_skinny(piece: &Piece<'_>) -> bool {
    let (Some(length), Some(version), Some(message)) =
        (piece.array(0).map(u32::from_le_bytes), piece.array(4).map(u32::from_le_bytes), piece.array(8))
    else {
        return false;
    };
    let message = u32::from_le_bytes(message);
    (piece.is_on(2000) || piece.is_on(2443))
        && (4..=8192).contains(&length)
        && length as usize + 8 <= piece.wire
        && version <= 0x20
        && (message <= 0x0160 || (0x8000..=0x8200).contains(&message))
}

/// A full frame of IAX2 on its port (RFC 5456 section 8.1.1). Mini frames hold nothing to tell them by.
pub fn is_iax2(piece: &Piece<'_>) -> bool {
    let Some(header) = piece.array::<12>(0) else { return false };
    let is_full = header[0] & 0x80 != 0 && u16::from_be_bytes([header[0] & 0x7f, header[1]]) != 0;
    if !is_full || !piece.is_on(IAX2) {
        return false;
    }
    match header[10] {
        // IAX itself: information elements up to the end.
        6 => {
            (1..=40).contains(&header[11]) && elements_fill(piece.octets.get(12..).unwrap_or_default(), piece.wire - 12)
        }
        1..=5 | 7..=12 => true,
        _ => false,
    }
}

fn elements_fill(mut octets: &[u8], wire: usize) -> bool {
    let is_cut = octets.len() < wire;
    while let Some([_, length]) = octets.first_chunk::<2>().copied() {
        match octets.get(2 + usize::from(length)..) {
            Some(rest) => octets = rest,
            None => return is_cut,
        }
    }
    octets.is_empty() || is_cut
}
