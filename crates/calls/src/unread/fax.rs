//! UDPTL (ITU-T T.38 section 9.1), which has no magic number: all lengths have to lead to the end of the datagram.

use super::Piece;

/// A sequence number, the primary packet, and earlier packets or their parity for repair.
pub fn is_udptl(piece: &Piece<'_>) -> bool {
    // Fax has ports that were negotiated.
    if piece.ports.0 < 1024 || piece.ports.1 < 1024 || piece.octets.len() != piece.wire {
        return false;
    }
    let mut walk = Walk(piece.octets.get(2..).unwrap_or_default());
    is_udptl_rest(&mut walk).unwrap_or(false)
}

fn is_udptl_rest(walk: &mut Walk<'_>) -> Option<bool> {
    let primary = walk.open()?;
    if !is_ifp(primary) {
        return Some(false);
    }
    match walk.octet()? {
        0 => {
            let earlier = walk.octet()?;
            for _ in 0..earlier {
                if !is_ifp(walk.open()?) {
                    return Some(false);
                }
            }
            // A lone indicator without any repair is too little to be certain.
            Some(walk.0.is_empty() && (earlier > 0 || primary.len() > 2))
        }
        0x80 => {
            let (one, packets) = (walk.octet()?, walk.octet()?);
            let parities = walk.octet()?;
            for _ in 0..parities {
                walk.open()?;
            }
            Some(walk.0.is_empty() && one == 1 && packets > 0 && parities > 0)
        }
        _ => Some(false),
    }
}

/// A packet of T.38: an indicator, or data with its fields (T.38 annex A, packed encoding rules).
fn is_ifp(octets: &[u8]) -> bool {
    match octets {
        [indicator] => indicator & 0b1100_0001 == 0,
        [first, fields, ..] if octets.len() > 2 => first & 0b1100_0000 == 0b1100_0000 && (1..=8).contains(fields),
        _ => false,
    }
}

struct Walk<'a>(&'a [u8]);

impl<'a> Walk<'a> {
    fn octet(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// An open type: its length, then its octets.
    fn open(&mut self) -> Option<&'a [u8]> {
        let length = match self.octet()? {
            0 => return None,
            short @ 1..=0x7f => usize::from(short),
            long => usize::from(long & 0x3f) << 8 | usize::from(self.octet()?),
        };
        let (octets, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(octets)
    }
}
