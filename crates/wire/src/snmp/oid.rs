//! Object identifiers: the names of variables.

use core::cmp::Ordering;
use core::fmt;

/// Sub-identifiers of a name (RFC 3416 section 4.1).
pub const OID_ARCS_MAX: usize = 128;

/// A name where it lies in a message: the contents octets of its encoding, which were looked at.
///
/// Two names are equal if their octets are, and ordered as the standard orders them, arc by arc.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Oid<'a>(&'a [u8]);

/// A name of one's own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ObjectId(Box<[u8]>);

/// The arcs of a name, or of what follows in it behind another.
#[derive(Clone, Debug)]
pub struct Arcs<'a> {
    rest: &'a [u8],
    /// The second arc, which lies in the same sub-identifier as the first.
    second: Option<u32>,
    is_front: bool,
}

/// Why a text is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OidError {
    /// Something else than numbers below 2^32 with points between.
    Text,
    /// Fewer than two arcs, a first one over 2, or a second one that the first does not leave room for.
    Root,
    /// More than [`OID_ARCS_MAX`] arcs.
    TooLong,
}

impl<'a> Oid<'a> {
    /// Of contents octets; none if they are not the encoding of a name.
    ///
    /// Field: no octets at all are `0.0`, which agents send for a name that is none.
    #[inline]
    pub fn new(octets: &'a [u8]) -> Option<Oid<'a>> {
        let (mut arcs, mut first_of_arc) = (1, 0);
        for (at, octet) in octets.iter().enumerate() {
            // An arc does not begin with zeros (X.690 section 8.19.2): names are equal if their octets are.
            if at == first_of_arc && *octet == 0x80 {
                return None;
            }
            if octet & 0x80 == 0 {
                let length = at + 1 - first_of_arc;
                if length > 5 || (length == 5 && octets[first_of_arc] > 0x8f) {
                    return None;
                }
                (arcs, first_of_arc) = (arcs + 1, at + 1);
            }
        }
        (first_of_arc == octets.len() && arcs <= OID_ARCS_MAX).then_some(Oid(octets))
    }

    /// Contents octets.
    pub fn octets(&self) -> &'a [u8] {
        self.0
    }

    /// Its arcs, the first two apart.
    pub fn arcs(&self) -> Arcs<'a> {
        Arcs { rest: self.0, second: None, is_front: true }
    }

    /// Whether it is this name or one below it.
    pub fn is_within(&self, front: Oid<'_>) -> bool {
        self.0.starts_with(front.0)
    }

    /// The arcs behind `front`: of a column's instance, its index. None if it is not below that name.
    pub fn after(&self, front: Oid<'_>) -> Option<Arcs<'a>> {
        let rest = self.0.strip_prefix(front.0)?;
        (!front.0.is_empty()).then_some(Arcs { rest, second: None, is_front: false })
    }

    /// A copy.
    pub fn to_owned(&self) -> ObjectId {
        ObjectId(self.0.into())
    }
}

impl Ord for Oid<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let Some(at) = self.0.iter().zip(other.0).position(|(a, b)| a != b) else {
            return self.0.len().cmp(&other.0.len());
        };
        // The arc in which they differ begins behind the last octet before that ends one.
        let from = self.0[..at].iter().rposition(|octet| octet & 0x80 == 0).map_or(0, |end| end + 1);
        sub_identifier(&self.0[from..]).0.cmp(&sub_identifier(&other.0[from..]).0)
    }
}

impl PartialOrd for Oid<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The first sub-identifier and what follows it.
fn sub_identifier(octets: &[u8]) -> (u32, &[u8]) {
    let length = octets.iter().position(|octet| octet & 0x80 == 0).map_or(octets.len(), |end| end + 1);
    let (arc, rest) = octets.split_at(length);
    (arc.iter().fold(0, |arc, octet| arc << 7 | u32::from(octet & 0x7f)), rest)
}

impl Iterator for Arcs<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if let Some(second) = self.second.take() {
            return Some(second);
        }
        if self.rest.is_empty() {
            return None;
        }
        let (arc, rest) = sub_identifier(self.rest);
        self.rest = rest;
        if !core::mem::take(&mut self.is_front) {
            return Some(arc);
        }
        let first = (arc / 40).min(2);
        self.second = Some(arc - 40 * first);
        Some(first)
    }
}

/// `1.3.6.1.2.1.1.3.0`.
impl fmt::Display for Oid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0.0");
        }
        let mut arcs = self.arcs();
        arcs.next().map_or(Ok(()), |first| write!(f, "{first}"))?;
        arcs.try_for_each(|arc| write!(f, ".{arc}"))
    }
}

impl fmt::Debug for Oid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ObjectId {
    /// Of its arcs.
    ///
    /// # Errors
    /// They are no name.
    pub fn from_arcs(arcs: &[u32]) -> Result<ObjectId, OidError> {
        let [first, second, rest @ ..] = arcs else { return Err(OidError::Root) };
        let is_root = *first < 2 && *second < 40 || *first == 2 && *second <= u32::MAX - 80;
        if !is_root {
            return Err(OidError::Root);
        }
        if arcs.len() > OID_ARCS_MAX {
            return Err(OidError::TooLong);
        }
        let mut octets = Vec::new();
        write_sub_identifier(&mut octets, 40 * first + second);
        rest.iter().for_each(|arc| write_sub_identifier(&mut octets, *arc));
        Ok(ObjectId(octets.into()))
    }

    /// The name below this one with these arcs behind it.
    ///
    /// # Errors
    /// [`OidError::TooLong`].
    pub fn child(&self, arcs: &[u32]) -> Result<ObjectId, OidError> {
        if self.as_oid().arcs().count() + arcs.len() > OID_ARCS_MAX {
            return Err(OidError::TooLong);
        }
        let mut octets = self.0.to_vec();
        arcs.iter().for_each(|arc| write_sub_identifier(&mut octets, *arc));
        Ok(ObjectId(octets.into()))
    }

    /// The view of it.
    pub fn as_oid(&self) -> Oid<'_> {
        Oid(&self.0)
    }
}

fn write_sub_identifier(out: &mut Vec<u8>, arc: u32) {
    let used = (32 - arc.leading_zeros()).div_ceil(7).max(1);
    out.extend((1..used).rev().map(|group| (arc >> (7 * group)) as u8 | 0x80));
    out.push(arc as u8 & 0x7f);
}

impl Ord for ObjectId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_oid().cmp(&other.as_oid())
    }
}

impl PartialOrd for ObjectId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `1.3.6.1.2.1` or `.1.3.6.1.2.1`.
impl core::str::FromStr for ObjectId {
    type Err = OidError;

    fn from_str(text: &str) -> Result<ObjectId, OidError> {
        let arcs = text.strip_prefix('.').unwrap_or(text).split('.');
        // No more than one beyond the limit: enough to see that there are too many.
        let arcs = arcs.take(OID_ARCS_MAX + 1).map(|arc| {
            let is_number = arc.bytes().all(|octet| octet.is_ascii_digit());
            arc.parse().ok().filter(|_| is_number).ok_or(OidError::Text)
        });
        ObjectId::from_arcs(&arcs.collect::<Result<Vec<u32>, _>>()?)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_oid().fmt(f)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_oid().fmt(f)
    }
}

impl fmt::Display for OidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OidError::Text => f.write_str("an object identifier is numbers with points between, like 1.3.6.1.2.1"),
            OidError::Root => f.write_str("an object identifier begins with 0.0 to 0.39, 1.0 to 1.39 or 2.0 and more"),
            OidError::TooLong => write!(f, "an object identifier has at most {OID_ARCS_MAX} numbers"),
        }
    }
}

impl core::error::Error for OidError {}
