//! Octets of a file, which go as they are and not as a list of numbers.

use core::fmt;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The octets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Octets(pub Vec<u8>);

impl Serialize for Octets {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Octets, D::Error> {
        from.deserialize_byte_buf(Reads)
    }
}

struct Reads;

impl<'de> Visitor<'de> for Reads {
    type Value = Octets;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("octets")
    }

    fn visit_bytes<E: Error>(self, octets: &[u8]) -> Result<Octets, E> {
        Ok(Octets(octets.to_vec()))
    }

    fn visit_byte_buf<E: Error>(self, octets: Vec<u8>) -> Result<Octets, E> {
        Ok(Octets(octets))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Octets, A::Error> {
        let mut octets = Vec::new();
        while let Some(octet) = list.next_element()? {
            octets.push(octet);
        }
        Ok(Octets(octets))
    }
}
