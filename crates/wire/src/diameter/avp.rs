//! Attribute-value pairs (RFC 6733 section 4): views of one and of a row of them.

use super::{Failure, HostAddress, Key, Time, result_code};

/// Flags of an AVP (section 4.1).
pub mod flag {
    /// There is a Vendor-Id.
    pub const VENDOR: u8 = 0x80;
    /// Who does not know the AVP must refuse the message.
    pub const MANDATORY: u8 = 0x40;
}

/// Groups within groups that are followed where nothing but the dictionary says what is one; deeper ones are octets.
// Limit: groups within groups of a Diameter message that no dictionary knows
// Beyond: deeper groups are shown as octets
// Seen in: the message as it is shown
pub const NESTING_MAX: usize = 8;

/// One AVP, its length checked against what it lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avp<'a> {
    /// Its code and vendor.
    pub key: Key,
    /// Its flags: V 0x80, M 0x40, P 0x20; reserved ones are ignored (section 4.1).
    pub flags: u8,
    octets: &'a [u8],
}

impl<'a> Avp<'a> {
    /// Octets of a header without Vendor-Id.
    pub const HEADER_OCTETS: usize = 8;
    /// Octets of a header with Vendor-Id.
    pub const VENDOR_HEADER_OCTETS: usize = 12;

    /// Header and data, without padding.
    #[inline]
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// The data, without padding.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        let head = if self.flags & flag::VENDOR == 0 { Self::HEADER_OCTETS } else { Self::VENDOR_HEADER_OCTETS };
        &self.octets[head..]
    }

    /// Whether who does not know it must refuse the message.
    #[inline]
    pub fn is_mandatory(&self) -> bool {
        self.flags & flag::MANDATORY != 0
    }

    /// What a group holds.
    #[inline]
    pub fn group(&self) -> Avps<'a> {
        Avps::new(self.data())
    }

    /// Data of a type that has one length.
    ///
    /// # Errors
    /// DIAMETER_INVALID_AVP_LENGTH with this AVP, as for all readers below.
    #[inline]
    pub fn array<const N: usize>(&self) -> Result<[u8; N], Failure<'a>> {
        self.data().try_into().map_err(|_| Failure::of_avp(result_code::INVALID_AVP_LENGTH, self))
    }

    /// Unsigned32, and the number of an Enumerated.
    #[inline]
    pub fn unsigned32(&self) -> Result<u32, Failure<'a>> {
        self.array().map(u32::from_be_bytes)
    }

    /// Unsigned64.
    #[inline]
    pub fn unsigned64(&self) -> Result<u64, Failure<'a>> {
        self.array().map(u64::from_be_bytes)
    }

    /// Integer32.
    pub fn integer32(&self) -> Result<i32, Failure<'a>> {
        self.array().map(i32::from_be_bytes)
    }

    /// Integer64.
    pub fn integer64(&self) -> Result<i64, Failure<'a>> {
        self.array().map(i64::from_be_bytes)
    }

    /// Time (section 4.3.1).
    pub fn time(&self) -> Result<Time, Failure<'a>> {
        self.unsigned32().map(Time::from_ntp)
    }

    /// UTF8String, DiameterIdentity, DiameterURI and IPFilterRule.
    ///
    /// # Errors
    /// DIAMETER_INVALID_AVP_VALUE where it is not UTF-8.
    #[inline]
    pub fn text(&self) -> Result<&'a str, Failure<'a>> {
        core::str::from_utf8(self.data()).map_err(|_| self.wrong_value())
    }

    /// Address (section 4.3.1).
    ///
    /// # Errors
    /// DIAMETER_INVALID_AVP_LENGTH where there is no family, or not as many octets as an address of it has.
    pub fn address(&self) -> Result<HostAddress<'a>, Failure<'a>> {
        HostAddress::parse(self.data()).ok_or_else(|| Failure::of_avp(result_code::INVALID_AVP_LENGTH, self))
    }

    /// What to say of an AVP whose value is out of range (RFC 6733 section 7.1.5).
    #[cold]
    pub fn wrong_value(&self) -> Failure<'a> {
        Failure::of_avp(result_code::INVALID_AVP_VALUE, self)
    }
}

/// AVPs one behind the other: of a message or of a group. Ends behind the first that cannot be located.
#[derive(Clone, Copy, Debug)]
pub struct Avps<'a> {
    rest: &'a [u8],
}

impl<'a> Avps<'a> {
    /// Of what lies behind a message's header, or of a group's data.
    #[inline]
    pub fn new(octets: &'a [u8]) -> Avps<'a> {
        Avps { rest: octets }
    }

    /// What was not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The first AVP of that code; those before it that cannot be located hide it.
    pub fn find(&self, key: Key) -> Option<Avp<'a>> {
        self.map_while(Result::ok).find(|avp| avp.key == key)
    }
}

impl<'a> Iterator for Avps<'a> {
    type Item = Result<Avp<'a>, Failure<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (avp, rest) = match split(self.rest) {
            Ok((avp, rest)) => (Ok(avp), rest),
            Err(failure) => (Err(failure), &[][..]),
        };
        self.rest = rest;
        Some(avp)
    }
}

/// The first AVP and what follows its padding.
#[inline]
fn split(octets: &[u8]) -> Result<(Avp<'_>, &[u8]), Failure<'_>> {
    let wrong_length = || Failure::of_header(result_code::INVALID_AVP_LENGTH, octets);
    let &[c1, c2, c3, c4, flags, l1, l2, l3] = octets.first_chunk().ok_or_else(wrong_length)?;
    let length = u32::from_be_bytes([0, l1, l2, l3]) as usize;
    let least = if flags & flag::VENDOR == 0 { Avp::HEADER_OCTETS } else { Avp::VENDOR_HEADER_OCTETS };
    let whole = octets.get(..length).filter(|whole| whole.len() >= least).ok_or_else(wrong_length)?;
    let vendor = match whole.get(8..12) {
        Some(&[a, b, c, d]) if flags & flag::VENDOR != 0 => u32::from_be_bytes([a, b, c, d]),
        _ => 0,
    };
    let avp = Avp { key: Key { vendor, code: u32::from_be_bytes([c1, c2, c3, c4]) }, flags, octets: whole };
    if vendor == 0 && flags & flag::VENDOR != 0 {
        // A Vendor-Id of zero must not be written (section 4.1.1): the V bit contradicts it.
        return Err(Failure::of_avp(result_code::INVALID_AVP_BITS, &avp));
    }
    // Field: some leave out the padding of the last AVP in a group. What padding holds is not looked at.
    let rest = octets.get(length.next_multiple_of(4)..).unwrap_or_default();
    Ok((avp, rest))
}
