//! The basic encoding rules (ITU-T X.690) as far as SNMP uses them (RFC 3417 section 8): identifiers of one octet,
//! definite lengths. Elements know where in the message they lie.

use super::{Layer, Problem, SnmpError};

/// Identifier octets.
pub mod tag {
    #![allow(missing_docs, reason = "the names are those of the standard")]
    pub const INTEGER: u8 = 0x02;
    pub const OCTET_STRING: u8 = 0x04;
    pub const NULL: u8 = 0x05;
    pub const OBJECT_IDENTIFIER: u8 = 0x06;
    pub const SEQUENCE: u8 = 0x30;
    pub const IP_ADDRESS: u8 = 0x40;
    pub const COUNTER32: u8 = 0x41;
    pub const GAUGE32: u8 = 0x42;
    pub const TIME_TICKS: u8 = 0x43;
    pub const OPAQUE: u8 = 0x44;
    pub const COUNTER64: u8 = 0x46;
    pub const UINTEGER32: u8 = 0x47;
    pub const NO_SUCH_OBJECT: u8 = 0x80;
    pub const NO_SUCH_INSTANCE: u8 = 0x81;
    pub const END_OF_MIB_VIEW: u8 = 0x82;
}

/// Reads elements one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    at: usize,
}

/// One element.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// Its identifier octet.
    pub tag: u8,
    /// Where it begins in the message.
    pub at: usize,
    /// Its contents.
    pub value: &'a [u8],
    /// Where those begin.
    pub value_at: usize,
}

impl<'a> Reader<'a> {
    /// Of `octets` that begin at octet `at` of the message.
    pub fn new(octets: &'a [u8], at: usize) -> Reader<'a> {
        Reader { rest: octets, at }
    }

    /// Whether nothing follows.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Where that begins.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next element.
    #[inline]
    pub fn element(&mut self, layer: Layer) -> Result<Element<'a>, SnmpError> {
        let wrong = |problem| SnmpError { layer, at: self.at, problem };
        let [tag, first, rest @ ..] = self.rest else { return Err(wrong(Problem::Cut)) };
        // High tags (X.690 section 8.1.2.4) are not used by SNMP but in the contents of Opaque.
        if tag & 0x1f == 0x1f {
            return Err(wrong(Problem::Type(*tag)));
        }
        let (length, octets) = match first {
            0..=0x7f => (usize::from(*first), 0),
            // Field: agents send long forms where the short one would do.
            0x81..=0x84 => {
                let count = usize::from(first & 0x7f);
                let length = rest.get(..count).ok_or(wrong(Problem::Cut))?;
                (length.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)), count)
            }
            _ => return Err(wrong(Problem::Length)),
        };
        let (value, rest) = rest[octets..].split_at_checked(length).ok_or(wrong(Problem::Cut))?;
        let (at, value_at) = (self.at, self.at + 2 + octets);
        *self = Reader { rest, at: value_at + length };
        Ok(Element { tag: *tag, at, value, value_at })
    }

    /// The next element, which has to be of this type.
    #[inline]
    pub fn expect(&mut self, layer: Layer, tag: u8) -> Result<Element<'a>, SnmpError> {
        match self.rest.first() {
            Some(other) if *other != tag => Err(SnmpError { layer, at: self.at, problem: Problem::Type(*other) }),
            _ => self.element(layer),
        }
    }

    /// An INTEGER that fits.
    pub fn number<T: TryFrom<i64>>(&mut self, layer: Layer) -> Result<T, SnmpError> {
        let element = self.expect(layer, tag::INTEGER)?;
        let number = integer(element.value).and_then(|number| T::try_from(number).ok());
        number.ok_or(element.wrong(layer, Problem::Form))
    }

    /// An OCTET STRING.
    pub fn octet_string(&mut self, layer: Layer) -> Result<&'a [u8], SnmpError> {
        self.expect(layer, tag::OCTET_STRING).map(|element| element.value)
    }
}

impl<'a> Element<'a> {
    /// The elements in it.
    pub fn reader(&self) -> Reader<'a> {
        Reader::new(self.value, self.value_at)
    }

    /// What is wrong with it.
    pub fn wrong(&self, layer: Layer, problem: Problem) -> SnmpError {
        SnmpError { layer, at: self.at, problem }
    }
}

/// The number that the contents of an INTEGER stand for, if it fits.
///
/// Field: agents send more octets than needed; they are taken as long as all but the last eight only carry the sign.
#[inline]
pub fn integer(octets: &[u8]) -> Option<i64> {
    let sign: i64 = if octets.first()? & 0x80 == 0 { 0 } else { -1 };
    let (padding, used) = octets.split_at(octets.len().saturating_sub(8));
    let number = used.iter().fold(sign, |number, octet| number << 8 | i64::from(*octet));
    let is_padding = padding.iter().all(|octet| *octet == sign as u8) && (number < 0) == (sign < 0);
    (padding.is_empty() || is_padding).then_some(number)
}

/// The same without a sign, of up to 64 bits.
#[inline]
pub fn unsigned(octets: &[u8]) -> Option<u64> {
    match octets {
        // Nine octets are the right form of what needs all 64 bits.
        [zeros @ .., _, _, _, _, _, _, _, _] if zeros.iter().all(|octet| *octet == 0) => {
            let (_, last) = octets.split_last_chunk::<8>()?;
            Some(u64::from_be_bytes(*last))
        }
        // Field: what is shorter and looks negative is taken as the number whose lower bits it is, as net-snmp does.
        _ => integer(octets).map(|number| number as u64),
    }
}

/// An element that is being written: its contents are what is appended until it is closed.
#[derive(Clone, Copy, Debug)]
#[must_use = "an element is completed with close()"]
pub struct Open(usize);

/// Begins an element.
pub fn open(out: &mut Vec<u8>, tag: u8) -> Open {
    out.extend_from_slice(&[tag, 0]);
    Open(out.len() - 1)
}

/// Ends the element that was begun last and not ended yet.
pub fn close(out: &mut Vec<u8>, Open(at): Open) {
    let length = out.len() - at - 1;
    if length < 0x80 {
        out[at] = length as u8;
        return;
    }
    let octets = (length as u32).to_be_bytes();
    let zeros = octets.iter().take_while(|octet| **octet == 0).count();
    out[at] = 0x80 | (4 - zeros) as u8;
    out.splice(at + 1..at + 1, octets[zeros..].iter().copied());
}

/// An element with these contents.
pub fn write(out: &mut Vec<u8>, tag: u8, contents: &[u8]) {
    let element = open(out, tag);
    out.extend_from_slice(contents);
    close(out, element);
}

/// An INTEGER, or another type that is encoded as one, in as few octets as there can be (X.690 section 8.3).
pub fn write_integer(out: &mut Vec<u8>, tag: u8, number: i64) {
    let octets = number.to_be_bytes();
    let used = octets.windows(2).take_while(|pair| matches!((pair[0], pair[1] & 0x80), (0, 0) | (0xff, 0x80))).count();
    write(out, tag, &octets[used..]);
}

/// The same without a sign.
pub fn write_unsigned(out: &mut Vec<u8>, tag: u8, number: u64) {
    match i64::try_from(number) {
        Ok(number) => write_integer(out, tag, number),
        Err(_) => {
            let mut octets = [0; 9];
            octets[1..].copy_from_slice(&number.to_be_bytes());
            write(out, tag, &octets);
        }
    }
}
