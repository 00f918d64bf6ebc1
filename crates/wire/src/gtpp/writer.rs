//! Writing messages, element by element, into a buffer that the caller keeps.

use super::records::FormatVersion;
use super::{Header, TransferCommand, Version, element};
use crate::Address;
use core::fmt;

/// More than the length of a message or of an element can say: 65,535 octets, 255 records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more than 65,535 octets or 255 records in a message")
    }
}

impl core::error::Error for TooLong {}

/// Appends one message to a buffer. What does not fit is told by [`Writer::finish`].
#[derive(Debug)]
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    header_octets: usize,
    fits: bool,
}

impl<'o> Writer<'o> {
    /// Begins a message behind what `out` holds.
    pub fn new(out: &'o mut Vec<u8>, header: &Header) -> Writer<'o> {
        let start = out.len();
        let [s1, s2] = header.sequence.to_be_bytes();
        out.extend_from_slice(&[header.version.first_octet(), header.kind, 0, 0, s1, s2]);
        if header.version == Version::V0Long {
            // Flow label, N-PDU number, spare octets and tunnel identifier of GTP version 0: nobody reads them here.
            out.extend_from_slice(&[0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        Writer { out, start, header_octets: header.version.header_octets(), fits: true }
    }

    /// Ends the message: its length goes into its header.
    ///
    /// # Errors
    /// Something did not fit; the buffer is as it was before the message.
    pub fn finish(self) -> Result<(), TooLong> {
        let length = u16::try_from(self.out.len() - self.start - self.header_octets);
        match length {
            Ok(length) if self.fits => {
                self.out[self.start + 2..self.start + 4].copy_from_slice(&length.to_be_bytes());
                Ok(())
            }
            _ => {
                self.out.truncate(self.start);
                Err(TooLong)
            }
        }
    }

    /// An element of a type below 128, which has no length.
    fn octet(mut self, kind: u8, value: u8) -> Self {
        self.out.extend_from_slice(&[kind, value]);
        self.fits &= element::octets(kind) == Some(1);
        self
    }

    /// Cause.
    pub fn cause(self, cause: u8) -> Self {
        self.octet(element::CAUSE, cause)
    }

    /// Recovery: the restart counter.
    pub fn recovery(self, restart_counter: u8) -> Self {
        self.octet(element::RECOVERY, restart_counter)
    }

    /// Packet Transfer Command: those of [`TransferCommand`].
    pub fn command(self, command: u8) -> Self {
        self.octet(element::PACKET_TRANSFER_COMMAND, command)
    }

    /// An element with a length: of a type from 128 on.
    pub fn element(mut self, kind: u8, value: &[u8]) -> Self {
        self.out.push(kind);
        self.fits &= kind >= 128 && value.len() <= usize::from(u16::MAX);
        self.out.extend_from_slice(&(value.len() as u16).to_be_bytes());
        self.out.extend_from_slice(value);
        self
    }

    /// An address of a node.
    pub fn address(self, kind: u8, address: Address) -> Self {
        let octets = address.octets();
        self.element(kind, if address.is_v4() { &octets[12..] } else { &octets[..] })
    }

    /// Sequence numbers.
    pub fn sequence_numbers(mut self, kind: u8, numbers: &[u16]) -> Self {
        let octets = u16::try_from(2 * numbers.len());
        self.fits &= octets.is_ok();
        self.out.push(kind);
        self.out.extend_from_slice(&octets.unwrap_or(0).to_be_bytes());
        numbers.iter().for_each(|number| self.out.extend_from_slice(&number.to_be_bytes()));
        self
    }

    /// A private extension.
    pub fn private_extension(mut self, vendor: u16, value: &[u8]) -> Self {
        let octets = u16::try_from(2 + value.len());
        self.fits &= octets.is_ok();
        self.out.push(element::PRIVATE_EXTENSION);
        self.out.extend_from_slice(&octets.unwrap_or(0).to_be_bytes());
        self.out.extend_from_slice(&vendor.to_be_bytes());
        self.out.extend_from_slice(value);
        self
    }

    /// The command to store records, and the records.
    pub fn records<'r>(
        self,
        possibly_duplicated: bool,
        format: u8,
        version: FormatVersion,
        records: impl IntoIterator<Item = &'r [u8]>,
    ) -> Self {
        let mut writer = self.send(possibly_duplicated);
        writer.out.push(element::DATA_RECORD_PACKET);
        let at = writer.out.len();
        let (octets, count) = version.octets();
        writer.out.extend_from_slice(&[0, 0, 0, format]);
        writer.out.extend_from_slice(&octets[..count]);
        let mut count = 0u8;
        for record in records {
            writer.fits &= count < u8::MAX && record.len() <= usize::from(u16::MAX);
            count = count.wrapping_add(1);
            writer.out.extend_from_slice(&(record.len() as u16).to_be_bytes());
            writer.out.extend_from_slice(record);
        }
        let length = writer.out.len() - at - 2;
        writer.fits &= length <= usize::from(u16::MAX);
        writer.out[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
        writer.out[at + 2] = count;
        writer
    }

    /// The empty packet, which asks whether its sequence number came before.
    pub fn empty_packet(self, possibly_duplicated: bool) -> Self {
        self.send(possibly_duplicated).element(element::DATA_RECORD_PACKET, &[])
    }

    fn send(self, possibly_duplicated: bool) -> Self {
        self.command(if possibly_duplicated {
            TransferCommand::SEND_POSSIBLY_DUPLICATED
        } else {
            TransferCommand::SEND
        })
    }
}
