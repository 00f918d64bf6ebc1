//! Entries as octets: numbers by their size, texts and lists with their length before them.
//!
//! ```text
//! entry    version u8, sequence, time, effects
//! number   LEB128, the least first; with a sign: zigzag
//! text     number of octets, octets          list     number of items, items
//! option   0, or 1 and the value             effect   its number u8, its fields in order
//! ```

use super::Entry;
use crate::money::Money;
use crate::tariff::{Code, Plmn};

/// The first octet of an entry. One that differs is refused: what was written is never guessed.
pub const FORMAT_VERSION: u8 = 2;

/// Octets that are no entry of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl core::fmt::Display for Broken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("not an entry of this version of the ledger")
    }
}

impl std::error::Error for Broken {}

impl Entry {
    /// The octets of an entry.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT_VERSION];
        self.put(&mut out);
        out
    }

    /// Reads an entry: all octets are its own.
    ///
    /// # Errors
    /// They are not one.
    pub fn decode(octets: &[u8]) -> Result<Entry, Broken> {
        let (version, mut rest) = octets.split_first().ok_or(Broken)?;
        let entry = Some(&mut rest).filter(|_| *version == FORMAT_VERSION).and_then(Entry::take);
        entry.filter(|_| rest.is_empty()).ok_or(Broken)
    }
}

/// A value that can be written as octets and read again.
pub trait Octets: Sized {
    /// Appends its octets.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads it from the beginning, and moves on; none where it is not there.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

impl Octets for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (octet, rest) = from.split_first()?;
            *from = rest;
            // The tenth octet has one bit.
            if shift == 63 && *octet > 1 {
                return None;
            }
            value |= u64::from(octet & 0x7f) << shift;
            if octet & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

impl Octets for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        (((*self << 1) ^ (*self >> 63)) as u64).put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from).map(|zigzag| (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }
}

impl Octets for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        u64::from(*self).put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u32::try_from(u64::take(from)?).ok()
    }
}

impl Octets for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (octet, rest) = from.split_first()?;
        *from = rest;
        Some(*octet)
    }
}

impl Octets for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Octets for Box<[u8]> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::take(from)?).ok()?;
        let (octets, rest) = from.split_at_checked(length)?;
        *from = rest;
        Some(octets.into())
    }
}

impl Octets for Box<str> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        String::from_utf8(Box::<[u8]>::take(from)?.into_vec()).ok().map(String::into_boxed_str)
    }
}

impl<T: Octets> Octets for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        self.iter().for_each(|item| item.put(out));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let count = usize::try_from(u64::take(from)?).ok()?;
        // Each item has an octet at least: what a broken length asks for is never allocated.
        (count <= from.len()).then(|| (0..count).map(|_| T::take(from)).collect())?
    }
}

impl<T: Octets> Octets for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        T::put(self, out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        T::take(from).map(Box::new)
    }
}

impl<T: Octets> Octets for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        if bool::take(from)? { T::take(from).map(Some) } else { Some(None) }
    }
}

impl<A: Octets, B: Octets> Octets for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?))
    }
}

/// Fields in order.
macro_rules! fields {
    ($($name:ident { $($field:ident),+ })+) => {
        $(impl $crate::account::Octets for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)+
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some($name { $($field: $crate::account::Octets::take(from)?),+ })
            }
        })+
    };
}

/// Variants without fields, by their number.
macro_rules! words {
    ($($name:ident { $($number:literal => $variant:ident),+ })+) => {
        $(impl $crate::account::Octets for $name {
            fn put(&self, out: &mut Vec<u8>) {
                out.push(match self { $($name::$variant => $number),+ });
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(match u8::take(from)? { $($number => $name::$variant,)+ _ => return None })
            }
        })+
    };
}

/// Variants with fields, by their number.
macro_rules! variants {
    ($name:ident { $($number:literal => $variant:ident { $($field:ident),+ })+ }) => {
        impl $crate::account::Octets for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant { $($field),+ } => {
                        out.push($number);
                        $($field.put(out);)+
                    })+
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(match u8::take(from)? {
                    $($number => $name::$variant { $($field: $crate::account::Octets::take(from)?),+ },)+
                    _ => return None,
                })
            }
        }
    };
}

pub(crate) use {fields, variants, words};

macro_rules! numbers {
    ($($name:ident)+) => {
        $(impl Octets for $name {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Octets::take(from).map($name)
            }
        })+
    };
}

numbers!(Code Money Plmn);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_their_size() {
        for (number, octets) in [(0i64, 1), (-64, 1), (64, 2), (i64::MAX, 10), (i64::MIN, 10)] {
            let mut out = Vec::new();
            number.put(&mut out);
            assert_eq!((out.len(), i64::take(&mut &out[..])), (octets, Some(number)));
        }
        assert_eq!(u64::take(&mut &[0xff; 10][..]), None);
        assert_eq!(u64::take(&mut &[0x80][..]), None);
    }

    #[test]
    fn a_length_that_lies_takes_no_memory() {
        let lie = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(Vec::<u64>::take(&mut &lie[..]), None);
        assert_eq!(Box::<[u8]>::take(&mut &lie[..]), None);
        assert_eq!(Entry::decode(&[FORMAT_VERSION + 1, 0, 0, 0]), Err(Broken));
        assert_eq!(Entry::decode(&[]), Err(Broken));
    }
}
