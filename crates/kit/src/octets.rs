//! Values as octets, for records on disk: numbers by their size, texts and lists with their length before them.
//!
//! ```text
//! number   LEB128, the least first; with a sign: zigzag      fraction  eight octets, the least first (IEEE 754)
//! text     number of octets, octets                          list      number of items, items
//! option   0, or 1 and the value                             variant   its number u8, its fields in order
//! ```
//!
//! [`octet_fields!`](crate::octet_fields), [`octet_words!`](crate::octet_words) and
//! [`octet_variants!`](crate::octet_variants) write it for structs and enums. What is read is never trusted: a length
//! that lies takes no memory, and each value has one form only.

/// A value that can be written as octets and read again.
pub trait Octets: Sized {
    /// Appends its octets.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads it from the beginning, and moves on; none where it is not there.
    fn take(from: &mut &[u8]) -> Option<Self>;

    /// Its octets alone.
    fn octets(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out);
        out
    }

    /// Reads it, if all octets are its own.
    fn of_octets(mut octets: &[u8]) -> Option<Self> {
        Self::take(&mut octets).filter(|_| octets.is_empty())
    }
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
                // A last octet of zero was never written.
                return (*octet != 0 || shift == 0).then_some(value);
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

macro_rules! smaller {
    ($($type:ty),+) => {
        $(impl Octets for $type {
            fn put(&self, out: &mut Vec<u8>) {
                u64::from(*self).put(out);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                <$type>::try_from(u64::take(from)?).ok()
            }
        })+
    };
}

smaller!(u16, u32);

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

impl Octets for f64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (octets, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(f64::from_le_bytes(*octets))
    }
}

impl Octets for Box<str> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::take(from)?).ok()?;
        let (octets, rest) = from.split_at_checked(length)?;
        *from = rest;
        core::str::from_utf8(octets).ok().map(Into::into)
    }
}

/// As a list.
impl<T: Octets> Octets for Box<[T]> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        self.iter().for_each(|item| item.put(out));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Vec::take(from).map(Vec::into_boxed_slice)
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

/// Writes [`Octets`](crate::octets::Octets) for structs: their fields in the order in which they are told.
#[macro_export]
macro_rules! octet_fields {
    ($($name:ident { $($field:ident),+ $(,)? })+) => {
        $(impl $crate::octets::Octets for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::octets::Octets::put(&self.$field, out);)+
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some($name { $($field: $crate::octets::Octets::take(from)?),+ })
            }
        })+
    };
}

/// Writes [`Octets`](crate::octets::Octets) for enums without fields: the number of the variant.
#[macro_export]
macro_rules! octet_words {
    ($($name:ident { $($number:literal => $variant:ident),+ $(,)? })+) => {
        $(impl $crate::octets::Octets for $name {
            fn put(&self, out: &mut Vec<u8>) {
                out.push(match self { $($name::$variant => $number),+ });
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(match <u8 as $crate::octets::Octets>::take(from)? {
                    $($number => $name::$variant,)+
                    _ => return None,
                })
            }
        })+
    };
}

/// Writes [`Octets`](crate::octets::Octets) for enums with fields: the number of the variant and its fields, in order.
#[macro_export]
macro_rules! octet_variants {
    ($name:ident { $($number:literal => $variant:ident { $($field:ident),* })+ }) => {
        impl $crate::octets::Octets for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant { $($field),* } => {
                        out.push($number);
                        $($crate::octets::Octets::put($field, out);)*
                    })+
                }
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(match <u8 as $crate::octets::Octets>::take(from)? {
                    $($number => $name::$variant { $($field: $crate::octets::Octets::take(from)?),* },)+
                    _ => return None,
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_their_size() {
        for (number, octets) in [(0i64, 1), (-64, 1), (64, 2), (i64::MAX, 10), (i64::MIN, 10)] {
            let out = number.octets();
            assert_eq!((out.len(), i64::of_octets(&out)), (octets, Some(number)));
        }
        assert_eq!(u64::of_octets(&[0xff; 10]), None);
        assert_eq!(u64::of_octets(&[0x80]), None);
        // One number has one form.
        assert_eq!(u64::of_octets(&[0x80, 0]), None);
        assert_eq!([u16::of_octets(&[0xff, 0xff, 0x03]), u16::of_octets(&[0x80, 0x80, 0x04])], [Some(65_535), None]);
    }

    #[test]
    fn a_length_that_lies_takes_no_memory() {
        let lie = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(Vec::<u64>::of_octets(&lie), None);
        assert_eq!(Box::<[u8]>::of_octets(&lie), None);
        assert_eq!(Box::<str>::of_octets(&[1, 0xff]), None);
        assert_eq!(Option::<u8>::of_octets(&[2, 0]), None);
        assert_eq!(u8::of_octets(&[1, 2]), None);
    }
}
