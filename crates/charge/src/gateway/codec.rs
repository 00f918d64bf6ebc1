//! What entries hold beside the ledger's numbers and texts, as octets.

use super::records::Records;
use crate::account::Octets;
use trunkline_wire::Address;

impl Octets for u16 {
    fn put(&self, out: &mut Vec<u8>) {
        u64::from(*self).put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u16::try_from(u64::take(from)?).ok()
    }
}

impl Octets for Address {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.octets());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (octets, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(Address::from_octets(*octets))
    }
}

impl Octets for Records {
    fn put(&self, out: &mut Vec<u8>) {
        Box::<[u8]>::from(self.octets()).put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Records::new(&Box::<[u8]>::take(from)?)
    }
}

/// The first octet of each entry of both logs. One that differs is refused: what was written is never guessed.
const FORMAT_VERSION: u8 = 1;

/// The octets of an entry.
pub(super) fn encode(entry: &impl Octets) -> Vec<u8> {
    let mut out = vec![FORMAT_VERSION];
    entry.put(&mut out);
    out
}

/// Reads an entry: all octets are its own.
pub(super) fn decode<T: Octets>(octets: &[u8]) -> Option<T> {
    let (version, mut rest) = octets.split_first()?;
    let entry = Some(&mut rest).filter(|_| *version == FORMAT_VERSION).and_then(T::take);
    entry.filter(|_| rest.is_empty())
}
