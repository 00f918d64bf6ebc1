//! UDPTL (ITU-T T.38 section 9.1), which has no magic number: all lengths have to lead to the end of the datagram.

use super::Piece;

/// How a packet repairs those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// It repeats so many.
    Redundancy(u8),
    /// It has so many parities, each of so many packets: the k-th begins with the k-th packet before it, and goes back
    /// in steps of as many as there are parities.
    Parity { entries: u8, span: u8 },
}

/// A packet of UDPTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Udptl {
    pub sequence: u16,
    pub repair: Repair,
    /// Its primary packet is more than an indicator.
    has_data: bool,
}

impl Udptl {
    /// The packet that these octets are: all of a datagram.
    pub fn new(octets: &[u8]) -> Option<Udptl> {
        let (sequence, rest) = octets.split_first_chunk::<2>()?;
        let mut walk = Walk(rest);
        let primary = walk.open().filter(|primary| is_ifp(primary))?;
        let repair = match walk.octet()? {
            0 => {
                let earlier = walk.octet()?;
                for _ in 0..earlier {
                    walk.open().filter(|secondary| is_ifp(secondary))?;
                }
                Repair::Redundancy(earlier)
            }
            0x80 => {
                let (one, span) = (walk.octet()?, walk.octet()?);
                let entries = walk.octet()?;
                for _ in 0..entries {
                    walk.open()?;
                }
                if one != 1 || span == 0 || entries == 0 {
                    return None;
                }
                Repair::Parity { entries, span }
            }
            _ => return None,
        };
        let sequence = u16::from_be_bytes(*sequence);
        walk.0.is_empty().then_some(Udptl { sequence, repair, has_data: primary.len() > 2 })
    }
}

/// A sequence number, the primary packet, and earlier packets or their parity for repair. A lone indicator without any
/// repair is too little to be certain.
pub fn is_udptl(piece: &Piece<'_>) -> bool {
    of(piece).is_some_and(|udptl| udptl.has_data || udptl.repair != Repair::Redundancy(0))
}

/// Whether it may be such a packet: where fax was agreed, it is.
pub fn may_be_udptl(piece: &Piece<'_>) -> bool {
    of(piece).is_some()
}

fn of(piece: &Piece<'_>) -> Option<Udptl> {
    // Fax has ports that were negotiated.
    let fits = piece.ports.0 >= 1024 && piece.ports.1 >= 1024 && piece.octets.len() == piece.wire;
    fits.then(|| Udptl::new(piece.octets)).flatten()
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
