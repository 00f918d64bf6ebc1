//! The basic encoding rules (ITU-T X.690), as far as records need them: identifiers of up to two octets, definite
//! lengths.

use core::fmt;

/// Class bits of a context-specific identifier.
pub const CONTEXT: u8 = 0x80;
/// Class bits of a universal one.
pub const UNIVERSAL: u8 = 0;
/// The bit of what holds elements.
const CONSTRUCTED: u8 = 0x20;

/// Universal tags (X.680 section 8.4).
pub mod universal {
    #![allow(missing_docs, reason = "the names are those of the standard")]
    pub const INTEGER: u8 = 2;
    pub const OCTET_STRING: u8 = 4;
    pub const ENUMERATED: u8 = 10;
    pub const SEQUENCE: u8 = 16;
}

/// What is wrong with an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BerError {
    /// It ends past what it lies in.
    Cut,
    /// A length that is not definite, or of more than four octets.
    Length,
    /// A tag over 127.
    Tag,
    /// The value of this tag has not the form of its type.
    Value(u8),
    /// The element of this tag has to be there and is not.
    Missing(u8),
    /// It is no record of this kind.
    Kind,
}

impl fmt::Display for BerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BerError::Cut => write!(f, "an element ends past what it lies in"),
            BerError::Length => write!(f, "a length that is not definite or too long"),
            BerError::Tag => write!(f, "a tag over 127"),
            BerError::Value(tag) => write!(f, "element {tag} has not the form of its type"),
            BerError::Missing(tag) => write!(f, "element {tag} is missing"),
            BerError::Kind => write!(f, "not a record of this kind"),
        }
    }
}

impl core::error::Error for BerError {}

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// [`CONTEXT`], [`UNIVERSAL`] or another class, in the upper two bits.
    pub class: u8,
    /// Whether it holds elements.
    pub constructed: bool,
    /// Its tag, 0 to 127.
    pub tag: u8,
    /// Its contents.
    pub value: &'a [u8],
}

impl<'a> Element<'a> {
    /// Its tag, if it is context-specific.
    pub fn context(&self) -> Option<u8> {
        (self.class == CONTEXT).then_some(self.tag)
    }

    /// The elements in it.
    pub fn elements(&self) -> Elements<'a> {
        Elements { rest: self.value }
    }

    /// INTEGER and ENUMERATED that are not negative and fit.
    ///
    /// # Errors
    /// [`BerError::Value`], as for all readers below.
    pub fn unsigned(&self) -> Result<u64, BerError> {
        let wrong = BerError::Value(self.tag);
        let (first, rest) = self.value.split_first().ok_or(wrong)?;
        let octets = if *first == 0 { rest } else { self.value };
        if first & 0x80 != 0 || octets.len() > 8 {
            return Err(wrong);
        }
        Ok(octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet)))
    }

    /// The same where the number has to fit into fewer bits.
    pub fn number<T: TryFrom<u64>>(&self) -> Result<T, BerError> {
        T::try_from(self.unsigned()?).map_err(|_| BerError::Value(self.tag))
    }

    /// BOOLEAN.
    pub fn boolean(&self) -> Result<bool, BerError> {
        self.array::<1>().map(|[octet]| octet != 0)
    }

    /// OCTET STRING of one length.
    pub fn array<const N: usize>(&self) -> Result<[u8; N], BerError> {
        self.value.try_into().map_err(|_| BerError::Value(self.tag))
    }

    /// IA5String and UTF8String.
    pub fn text(&self) -> Result<&'a str, BerError> {
        core::str::from_utf8(self.value).map_err(|_| BerError::Value(self.tag))
    }

    /// BIT STRING: bit `n` of the standard is bit `n` of the number; those from 64 on are left out.
    pub fn bits(&self) -> Result<u64, BerError> {
        let (unused, octets) = self.value.split_first().ok_or(BerError::Value(self.tag))?;
        if *unused > 7 || (octets.is_empty() && *unused != 0) {
            return Err(BerError::Value(self.tag));
        }
        Ok(octets.iter().take(8).enumerate().fold(0, |bits, (n, o)| bits | u64::from(o.reverse_bits()) << (8 * n)))
    }
}

/// Elements one behind the other. Ends behind the first that cannot be located.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    /// Of what `octets` hold.
    pub fn new(octets: &'a [u8]) -> Elements<'a> {
        Elements { rest: octets }
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, BerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let split = split(self.rest);
        self.rest = split.map_or(&[], |(_, rest)| rest);
        Some(split.map(|(element, _)| element))
    }
}

/// The first element and what follows it.
fn split(octets: &[u8]) -> Result<(Element<'_>, &[u8]), BerError> {
    let (identifier, rest) = octets.split_first().ok_or(BerError::Cut)?;
    let (tag, rest) = match identifier & 0x1f {
        0x1f => rest.split_first().map(|(tag, rest)| (*tag, rest)).ok_or(BerError::Cut)?,
        tag => (tag, rest),
    };
    if tag > 127 {
        return Err(BerError::Tag);
    }
    let (length, rest) = length(rest)?;
    let (value, rest) = rest.split_at_checked(length).ok_or(BerError::Cut)?;
    let constructed = identifier & CONSTRUCTED != 0;
    Ok((Element { class: identifier & 0xc0, constructed, tag, value }, rest))
}

/// A definite length (X.690 section 8.1.3) and what follows it.
fn length(octets: &[u8]) -> Result<(usize, &[u8]), BerError> {
    let (first, rest) = octets.split_first().ok_or(BerError::Cut)?;
    match first {
        0..=0x7f => Ok((usize::from(*first), rest)),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f)).ok_or(BerError::Cut)?;
            Ok((length.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)), rest))
        }
        _ => Err(BerError::Length),
    }
}

/// Where an element that is being written ends.
#[derive(Clone, Copy, Debug)]
#[must_use = "an element is completed with Backward::wrap"]
pub struct End(usize);

/// Appends elements to a buffer, the last one first: when an element's identifier and length are written, its contents
/// are there already. The octets stand in reverse until [`Backward::finish`].
#[derive(Debug)]
pub struct Backward<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Backward<'o> {
    /// Begins at the end of what `out` holds.
    pub fn new(out: &'o mut Vec<u8>) -> Backward<'o> {
        let start = out.len();
        Backward { out, start }
    }

    /// Puts the octets into their order.
    pub fn finish(self) {
        self.out[self.start..].reverse();
    }

    /// Here ends what [`Backward::wrap`] makes one element of.
    pub fn end(&self) -> End {
        End(self.out.len())
    }

    /// What was written since `end` is the contents of this element.
    pub fn wrap(&mut self, class: u8, tag: u8, end: End) {
        self.head(class | CONSTRUCTED, tag, end.0);
    }

    /// Elements that were encoded before.
    pub fn raw(&mut self, elements: &[u8]) {
        self.out.extend(elements.iter().rev());
    }

    /// OCTET STRING and IA5String.
    pub fn octets(&mut self, class: u8, tag: u8, value: &[u8]) {
        let end = self.out.len();
        self.out.extend(value.iter().rev());
        self.head(class, tag, end);
    }

    /// INTEGER and ENUMERATED, in as few octets as there can be.
    pub fn unsigned(&mut self, class: u8, tag: u8, value: u64) {
        let mut octets = [0; 9];
        octets[1..].copy_from_slice(&value.to_be_bytes());
        // A first octet of zero stays where the sign would be wrong without it (X.690 section 8.3.2).
        let zeros = octets.iter().take(8).take_while(|octet| **octet == 0).count();
        let from = if octets[zeros] & 0x80 == 0 { zeros } else { zeros - 1 };
        self.octets(class, tag, &octets[from..]);
    }

    /// BOOLEAN.
    pub fn boolean(&mut self, class: u8, tag: u8, value: bool) {
        self.octets(class, tag, &[if value { 0xff } else { 0 }]);
    }

    /// BIT STRING: up to the last bit that is set.
    pub fn bits(&mut self, class: u8, tag: u8, bits: u64) {
        let used = (64 - bits.leading_zeros()) as usize;
        let count = used.div_ceil(8);
        let mut octets = [0; 9];
        octets[0] = (8 * count - used) as u8;
        for (octet, bits) in octets[1..].iter_mut().zip(bits.to_le_bytes()) {
            *octet = bits.reverse_bits();
        }
        self.octets(class, tag, &octets[..=count]);
    }

    /// Identifier and length of what was written since `end`.
    fn head(&mut self, class: u8, tag: u8, end: usize) {
        let length = self.out.len() - end;
        let octets = (length as u64).to_le_bytes();
        match length {
            0..=0x7f => self.out.push(length as u8),
            _ => {
                let count = octets.len() - octets.iter().rev().take_while(|octet| **octet == 0).count();
                self.out.extend_from_slice(&octets[..count]);
                self.out.push(0x80 | count as u8);
            }
        }
        match tag {
            0..=30 => self.out.push(class | tag),
            _ => self.out.extend_from_slice(&[tag & 0x7f, class | 0x1f]),
        }
    }
}
