//! Information elements (TS 32.295 clause 6.2): type and value where the type says the length, else with a length.

use super::GtppError;
use crate::Address;

/// Types of elements.
pub mod element {
    #![allow(missing_docs, reason = "the names are those of the specification")]
    pub const CAUSE: u8 = 1;
    pub const RECOVERY: u8 = 14;
    pub const PACKET_TRANSFER_COMMAND: u8 = 126;
    pub const CHARGING_ID: u8 = 127;
    pub const RELEASED_PACKETS: u8 = 249;
    pub const CANCELLED_PACKETS: u8 = 250;
    pub const NODE_ADDRESS: u8 = 251;
    pub const DATA_RECORD_PACKET: u8 = 252;
    pub const REQUESTS_RESPONDED: u8 = 253;
    pub const RECOMMENDED_NODE_ADDRESS: u8 = 254;
    pub const PRIVATE_EXTENSION: u8 = 255;

    /// The name, if the type is one of these.
    pub const fn name(kind: u8) -> Option<&'static str> {
        Some(match kind {
            CAUSE => "Cause",
            RECOVERY => "Recovery",
            PACKET_TRANSFER_COMMAND => "Packet Transfer Command",
            CHARGING_ID => "Charging ID",
            RELEASED_PACKETS => "Sequence Numbers of Released Packets",
            CANCELLED_PACKETS => "Sequence Numbers of Cancelled Packets",
            NODE_ADDRESS => "Node Address",
            DATA_RECORD_PACKET => "Data Record Packet",
            REQUESTS_RESPONDED => "Requests Responded",
            RECOMMENDED_NODE_ADDRESS => "Recommended Node Address",
            PRIVATE_EXTENSION => "Private Extension",
            _ => return None,
        })
    }

    /// Octets of the value of a type that has no length field: types below 128.
    pub(crate) const fn octets(kind: u8) -> Option<usize> {
        match kind {
            CAUSE | RECOVERY | PACKET_TRANSFER_COMMAND => Some(1),
            CHARGING_ID => Some(4),
            _ => None,
        }
    }
}

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// See [`element`].
    pub kind: u8,
    /// Its value, without type and length.
    pub value: &'a [u8],
}

impl<'a> Element<'a> {
    /// A value of one octet.
    ///
    /// # Errors
    /// [`GtppError::Wrong`] with its type, as for all readers below.
    pub fn octet(&self) -> Result<u8, GtppError> {
        <[u8; 1]>::try_from(self.value).map(|[octet]| octet).map_err(|_| GtppError::Wrong(self.kind))
    }

    /// An address of IPv4 or IPv6.
    pub fn address(&self) -> Result<Address, GtppError> {
        match self.value.len() {
            4 => Ok(Address::v4([self.value[0], self.value[1], self.value[2], self.value[3]])),
            16 => self.value.try_into().map(Address::v6).map_err(|_| GtppError::Wrong(self.kind)),
            _ => Err(GtppError::Wrong(self.kind)),
        }
    }

    /// Sequence numbers.
    pub fn sequence_numbers(&self) -> Result<SequenceNumbers<'a>, GtppError> {
        match self.value.len() % 2 {
            0 => Ok(SequenceNumbers { octets: self.value }),
            _ => Err(GtppError::Wrong(self.kind)),
        }
    }

    /// Of a private extension: whose it is, and what it says.
    pub fn private_extension(&self) -> Result<(u16, &'a [u8]), GtppError> {
        let (vendor, rest) = self.value.split_first_chunk::<2>().ok_or(GtppError::Wrong(self.kind))?;
        Ok((u16::from_be_bytes(*vendor), rest))
    }
}

/// The elements of a message, in order. Ends behind the first that cannot be located.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    /// Of what lies behind a header.
    pub fn new(octets: &'a [u8]) -> Elements<'a> {
        Elements { rest: octets }
    }

    /// The first of a type, if there is one and nothing before it is broken.
    ///
    /// # Errors
    /// An element before it cannot be located.
    pub fn find(mut self, kind: u8) -> Result<Option<Element<'a>>, GtppError> {
        self.find_map(|element| element.map(|e| (e.kind == kind).then_some(e)).transpose()).transpose()
    }

    /// The first of a type that must be there.
    ///
    /// # Errors
    /// It is not there, or an element before it cannot be located.
    pub fn need(self, kind: u8) -> Result<Element<'a>, GtppError> {
        self.find(kind)?.ok_or(GtppError::Missing(kind))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, GtppError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&kind, rest) = self.rest.split_first()?;
        let Some((value, after)) = split(kind, rest) else {
            self.rest = &[];
            return Some(Err(GtppError::Element(kind)));
        };
        self.rest = after;
        Some(Ok(Element { kind, value }))
    }
}

/// The value of an element and what is behind it.
fn split(kind: u8, rest: &[u8]) -> Option<(&[u8], &[u8])> {
    if kind < 128 {
        return rest.split_at_checked(element::octets(kind)?);
    }
    let (length, rest) = rest.split_first_chunk::<2>()?;
    rest.split_at_checked(u16::from_be_bytes(*length).into())
}

/// Sequence numbers, two octets each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SequenceNumbers<'a> {
    octets: &'a [u8],
}

impl SequenceNumbers<'_> {
    /// The numbers.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.octets.chunks_exact(2).map(|o| u16::from_be_bytes([o[0], o[1]]))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.octets.len() / 2
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }
}

impl core::fmt::Debug for SequenceNumbers<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
