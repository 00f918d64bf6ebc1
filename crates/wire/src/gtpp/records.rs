//! The Data Record Packet (TS 32.295 clause 6.2.4.5.3): records with their encoding.

use super::{GtppError, element};

/// How the records are encoded.
pub mod format {
    #![allow(missing_docs, reason = "the names are those of the specification")]
    pub const BER: u8 = 1;
    pub const UNALIGNED_PER: u8 = 2;
    pub const ALIGNED_PER: u8 = 3;
}

/// Version of the record format: which specification, and its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatVersion {
    /// Application of the records, four bits: 1 is packet switched charging.
    pub application: u8,
    /// 3GPP release of TS 32.298; from 16 on it stands in an octet of its own.
    pub release: u8,
    /// The specification's second number and one: 7.4.0 is 5; letters are their ASCII octets.
    pub version: u8,
}

impl FormatVersion {
    /// The octets: application and release in the first, the version, then the release if it needs more than four bits.
    pub(super) fn octets(self) -> ([u8; 3], usize) {
        let application = self.application << 4;
        match self.release {
            1..=15 => ([application | self.release, self.version, 0], 2),
            release => ([application, self.version, release], 3),
        }
    }

    fn parse(octets: &[u8]) -> Option<(FormatVersion, &[u8])> {
        let (&[first, version], rest) = octets.split_first_chunk()?;
        let (release, rest) = match first & 0x0f {
            0 => rest.split_first().map(|(release, rest)| (*release, rest))?,
            release => (release, rest),
        };
        Some((FormatVersion { application: first >> 4, release, version }, rest))
    }
}

/// Records and how they are encoded. Their count and lengths have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRecordPacket<'a> {
    /// How many records there are.
    pub count: u8,
    /// See [`mod@format`]; 11 to 50 are the operator's own.
    pub format: u8,
    /// Of which specification.
    pub version: FormatVersion,
    records: &'a [u8],
}

impl<'a> DataRecordPacket<'a> {
    /// The value of the element; none of an empty one, the packet that asks whether its sequence number came before.
    ///
    /// # Errors
    /// Records that are not as many or as long as it says.
    pub fn parse(value: &'a [u8]) -> Result<Option<DataRecordPacket<'a>>, GtppError> {
        if value.is_empty() {
            return Ok(None);
        }
        Self::whole(value).map(Some).ok_or(GtppError::Wrong(element::DATA_RECORD_PACKET))
    }

    fn whole(value: &'a [u8]) -> Option<DataRecordPacket<'a>> {
        let (&[count, format], rest) = value.split_first_chunk()?;
        let (version, records) = FormatVersion::parse(rest)?;
        let packet = DataRecordPacket { count, format, version, records };
        let mut left = records;
        for _ in 0..count {
            left = split(left)?.1;
        }
        left.is_empty().then_some(packet)
    }

    /// The records, in order.
    pub fn records(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.records;
        core::iter::from_fn(move || {
            let (record, after) = split(rest)?;
            rest = after;
            Some(record)
        })
    }
}

/// A record behind its length, and what follows.
fn split(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = octets.split_first_chunk::<2>()?;
    rest.split_at_checked(u16::from_be_bytes(*length).into())
}
