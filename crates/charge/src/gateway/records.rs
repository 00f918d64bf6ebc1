//! A packet of records as it is kept: the value of its element (TS 32.295 clause 6.2.4.5.3), checked once.

use trunkline_wire::gtpp::records::{DataRecordPacket, FormatVersion};
use trunkline_wire::gtpp::{Header, TooLong, Writer};

/// One packet, never the empty one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Records(Box<[u8]>);

/// Octets before the value: the header, the command, type and length of the element.
const BEFORE: usize = Header::OCTETS + 2 + 3;

impl Records {
    /// The packet in an element's value; none if that is empty or no packet.
    pub fn new(value: &[u8]) -> Option<Records> {
        DataRecordPacket::parse(value).ok().flatten().map(|_| Records(value.into()))
    }

    /// A packet of these records.
    ///
    /// # Errors
    /// They do not fit into a message.
    pub fn of<'r>(
        format: u8,
        version: FormatVersion,
        records: impl IntoIterator<Item = &'r [u8]>,
    ) -> Result<Records, TooLong> {
        let mut message = Vec::new();
        Writer::new(&mut message, &Header::default()).records(false, format, version, records).finish()?;
        Ok(Records(message[BEFORE..].into()))
    }

    /// The element's value.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// What it holds.
    pub fn packet(&self) -> Option<DataRecordPacket<'_>> {
        DataRecordPacket::parse(&self.0).ok().flatten()
    }
}

impl core::fmt::Debug for Records {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.packet().iter().flat_map(DataRecordPacket::records)).finish()
    }
}
