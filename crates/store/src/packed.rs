//! Packed octets: what is rarely searched lies in one blob of a row, as LEB128 varints and texts with their length.

use trunkline_wire::{Address, Endpoint};

/// A packed blob ended early or held what it must not: the file is damaged or of another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("damaged packed octets: {0}")]
pub struct Damaged(pub &'static str);

/// A number that may be negative as one that may not: its sign in the lowest bit.
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The number of which [`zigzag`] made this one.
#[inline]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Writes packed octets.
pub trait Pack {
    /// One octet.
    fn octet(&mut self, octet: u8);
    /// A number, 7 bits an octet, lowest first.
    #[inline]
    fn uint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.octet(value as u8 | 0x80);
            value >>= 7;
        }
        self.octet(value as u8);
    }
    /// A number that may be negative, its sign in the lowest bit.
    fn int(&mut self, value: i64) {
        self.uint(zigzag(value));
    }
    /// Octets as they are.
    fn raw(&mut self, octets: &[u8]);
    /// Length and text.
    fn text(&mut self, text: &str) {
        self.uint(text.len() as u64);
        self.raw(text.as_bytes());
    }
    /// A mark and, if there is one, the value.
    fn some_f32(&mut self, value: Option<f32>) {
        self.uint(u64::from(value.is_some()));
        if let Some(value) = value {
            self.raw(&value.to_le_bytes());
        }
    }
    /// 6 octets for IPv4, 18 for IPv6, behind a mark.
    fn endpoint(&mut self, e: Endpoint) {
        let octets = endpoint_octets(e);
        self.uint(octets.as_slice().len() as u64);
        self.raw(octets.as_slice());
    }
}

impl Pack for Vec<u8> {
    #[inline]
    fn octet(&mut self, octet: u8) {
        self.push(octet);
    }

    #[inline]
    fn raw(&mut self, octets: &[u8]) {
        self.extend_from_slice(octets);
    }
}

/// Packed octets written into room that was made before.
pub struct Short<'a> {
    octets: &'a mut [u8; Short::OCTETS],
    len: usize,
}

impl<'a> Short<'a> {
    /// Into this room, from its beginning.
    #[inline]
    pub fn new(octets: &'a mut [u8; Short::OCTETS]) -> Self {
        Short { octets, len: 0 }
    }
}

impl Short<'_> {
    /// Octets of room; a caller must know that all fits, and 8 more where a number is written.
    pub const OCTETS: usize = 64;

    /// How many were written.
    #[inline]
    pub fn written(&self) -> usize {
        self.len
    }

    /// Writes a number in as few octets as hold it, lowest first; gives how many, 0 to 8.
    #[inline]
    pub fn least(&mut self, value: u64) -> u8 {
        let octets = (71 - value.leading_zeros()) / 8;
        if let Some(slot) = self.octets.get_mut(self.len..self.len + 8) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        self.len += octets as usize;
        octets as u8
    }

    /// Sets two octets that were written before.
    #[inline]
    pub fn set(&mut self, at: usize, octets: [u8; 2]) {
        if let Some(slot) = self.octets.get_mut(at..at + 2) {
            slot.copy_from_slice(&octets);
        }
    }
}

impl Pack for Short<'_> {
    #[inline]
    fn octet(&mut self, octet: u8) {
        self.octets[self.len % Self::OCTETS] = octet;
        self.len += 1;
    }

    #[inline]
    fn raw(&mut self, octets: &[u8]) {
        if let Some(slot) = self.octets.get_mut(self.len..self.len + octets.len()) {
            slot.copy_from_slice(octets);
        }
        self.len += octets.len();
    }
}

/// Reads packed octets; every read checks what is left.
pub struct Unpack<'a> {
    rest: &'a [u8],
}

impl<'a> Unpack<'a> {
    /// From the first octet on.
    pub fn new(octets: &'a [u8]) -> Self {
        Unpack { rest: octets }
    }

    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many octets are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// A number as [`Pack::uint`] wrote it.
    #[inline]
    pub fn uint(&mut self) -> Result<u64, Damaged> {
        let mut value = 0u64;
        for (i, &o) in self.rest.iter().enumerate().take(10) {
            if i == 9 && o > 1 {
                break;
            }
            value |= u64::from(o & 0x7f) << (7 * i);
            if o < 0x80 {
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        Err(Damaged("a number has no end"))
    }

    /// A number that fits its type.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Damaged> {
        T::try_from(self.uint()?).map_err(|_| Damaged("a number is too large"))
    }

    /// A number as [`Pack::int`] wrote it.
    #[inline]
    pub fn int(&mut self) -> Result<i64, Damaged> {
        Ok(unzigzag(self.uint()?))
    }

    /// A number of so many octets, as [`Short::least`] wrote it.
    pub fn least(&mut self, octets: u8) -> Result<u64, Damaged> {
        let mut value = [0; 8];
        let slot = value.get_mut(..usize::from(octets)).ok_or(Damaged("a number is too large"))?;
        slot.copy_from_slice(self.raw(usize::from(octets))?);
        Ok(u64::from_le_bytes(value))
    }

    /// This many octets.
    pub fn raw(&mut self, octets: usize) -> Result<&'a [u8], Damaged> {
        let (head, rest) = self.rest.split_at_checked(octets).ok_or(Damaged("it ends early"))?;
        self.rest = rest;
        Ok(head)
    }

    /// A text as [`Pack::text`] wrote it.
    pub fn text(&mut self) -> Result<&'a str, Damaged> {
        let octets = self.small()?;
        core::str::from_utf8(self.raw(octets)?).map_err(|_| Damaged("a text is not UTF-8"))
    }

    /// As [`Pack::some_f32`] wrote it.
    pub fn some_f32(&mut self) -> Result<Option<f32>, Damaged> {
        if self.uint()? == 0 {
            return Ok(None);
        }
        let octets = self.raw(4)?.try_into().map_err(|_| Damaged("it ends early"))?;
        Ok(Some(f32::from_le_bytes(octets)))
    }

    /// As [`Pack::endpoint`] wrote it.
    pub fn endpoint(&mut self) -> Result<Endpoint, Damaged> {
        let octets = self.small()?;
        endpoint_of(self.raw(octets)?).ok_or(Damaged("an endpoint has an odd length"))
    }

    /// How many elements follow: never more than octets are left, so that a damaged count cannot ask for memory.
    pub fn count(&mut self) -> Result<usize, Damaged> {
        let count: usize = self.small()?;
        if count <= self.rest.len() { Ok(count) } else { Err(Damaged("a count is larger than what follows")) }
    }
}

/// An endpoint as the column keeps it: 4 or 16 octets of address, two of port, network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointOctets {
    octets: [u8; 18],
    len: u8,
}

impl EndpointOctets {
    /// The 6 or 18 octets.
    pub fn as_slice(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Packs an endpoint for a column; their order is that of the addresses of one family.
pub fn endpoint_octets(e: Endpoint) -> EndpointOctets {
    let mut octets = [0; 18];
    let (address, port) = (e.address.octets(), e.port.to_be_bytes());
    if e.address.is_v4() {
        octets[..4].copy_from_slice(&address[12..]);
        octets[4..6].copy_from_slice(&port);
        return EndpointOctets { octets, len: 6 };
    }
    octets[..16].copy_from_slice(address);
    octets[16..].copy_from_slice(&port);
    EndpointOctets { octets, len: 18 }
}

/// The endpoint of 6 or 18 octets.
pub fn endpoint_of(octets: &[u8]) -> Option<Endpoint> {
    let (address, port) = octets.split_last_chunk::<2>()?;
    let address = match address.len() {
        4 => Address::v4(address.try_into().ok()?),
        16 => Address::v6(address.try_into().ok()?),
        _ => return None,
    };
    Some(Endpoint::new(address, u16::from_be_bytes(*port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut octets = vec![];
            octets.uint(value);
            octets.int(value as i64);
            let mut r = Unpack::new(&octets);
            assert_eq!((r.uint(), r.int()), (Ok(value), Ok(value as i64)));
            assert!(r.is_empty());
        }
        // LEB128, DWARF 5 section 7.6, figure 22.
        let mut octets = vec![];
        octets.uint(12857);
        assert_eq!(octets, [57 + 0x80, 100]);
        assert!(Unpack::new(&[0xff; 10]).uint().is_err());
        assert!(Unpack::new(&[0x80]).uint().is_err());
    }

    #[test]
    fn endpoints_come_back() {
        for text in ["192.0.2.1:5060", "[2001:db8::1]:5060", "[::]:0"] {
            let e: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint_of(endpoint_octets(e).as_slice()), Some(e));
        }
        assert_eq!(endpoint_of(&[1, 2, 3]), None);
    }
}
