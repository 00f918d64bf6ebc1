//! What lies in a message of version 3 (RFC 3412 section 6.8).

use super::ber::{self, Element, Reader, tag};
use super::{Layer, Pdu, SnmpError};

/// A PDU and whom it is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScopedPdu<'a> {
    /// The engine whose variables these are.
    pub context_engine: &'a [u8],
    /// One of that engine's contexts; mostly empty.
    pub context_name: &'a [u8],
    /// What it is about.
    pub pdu: Pdu<'a>,
}

impl<'a> ScopedPdu<'a> {
    /// Of octets that were decrypted and begin at octet `at` of their message; what pads them is left alone.
    ///
    /// # Errors
    /// The place that could not be read: after decryption with another key, that is most likely the first.
    pub fn new(octets: &'a [u8], at: usize) -> Result<ScopedPdu<'a>, SnmpError> {
        ScopedPdu::read(&Reader::new(octets, at).expect(Layer::Scoped, tag::SEQUENCE)?)
    }

    pub(super) fn read(element: &Element<'a>) -> Result<ScopedPdu<'a>, SnmpError> {
        let mut reader = element.reader();
        let context_engine = reader.octet_string(Layer::Scoped)?;
        let context_name = reader.octet_string(Layer::Scoped)?;
        let pdu = Pdu::read(&reader.element(Layer::Pdu)?)?;
        Ok(ScopedPdu { context_engine, context_name, pdu })
    }

    /// Appends its encoding.
    pub fn write(&self, out: &mut Vec<u8>) {
        let scoped = ber::open(out, tag::SEQUENCE);
        ber::write(out, tag::OCTET_STRING, self.context_engine);
        ber::write(out, tag::OCTET_STRING, self.context_name);
        self.pdu.write(out);
        ber::close(out, scoped);
    }
}
