//! Messages: one datagram each.

use super::ber::{self, Reader, tag};
use super::{Layer, Pdu, Problem, SnmpError, V3};
use core::fmt;

/// Octets of a message: more do not fit into a datagram.
// Limit: length of one SNMP message
// Beyond: the message is not understood
// Seen in: `trunkline_graph_malformed_datagrams_total`
pub const MESSAGE_OCTETS_MAX: usize = 65_535;

/// Versions whose messages carry a community.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// RFC 1157.
    V1 = 0,
    /// RFC 1901.
    V2c = 1,
}

/// A message.
#[derive(Clone, Copy, PartialEq)]
pub enum Message<'a> {
    /// Of versions 1 and 2c.
    Community {
        /// Which of them.
        version: Version,
        /// What lets the sender in: a secret, so that it is not shown.
        community: &'a [u8],
        /// What it is about.
        pdu: Pdu<'a>,
    },
    /// Of version 3.
    V3(V3<'a>),
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Community { version, pdu, .. } => {
                let mut shown = f.debug_struct("Community");
                shown.field("version", version).field("pdu", pdu).finish_non_exhaustive()
            }
            Message::V3(message) => f.debug_tuple("V3").field(message).finish(),
        }
    }
}

impl<'a> Message<'a> {
    /// Looks at everything but the variables, which are looked at one by one when they are taken, and at what is
    /// encrypted.
    ///
    /// Field: octets behind the message are left alone.
    ///
    /// # Errors
    /// The place that could not be read.
    pub fn new(octets: &'a [u8]) -> Result<Message<'a>, SnmpError> {
        if octets.len() > MESSAGE_OCTETS_MAX {
            return Err(SnmpError { layer: Layer::Message, at: MESSAGE_OCTETS_MAX, problem: Problem::TooLong });
        }
        let mut reader = Reader::new(octets, 0).expect(Layer::Message, tag::SEQUENCE)?.reader();
        let at = reader.at();
        let version = match reader.number::<i64>(Layer::Message)? {
            0 => Version::V1,
            1 => Version::V2c,
            3 => return V3::read(reader).map(Message::V3),
            other => return Err(SnmpError { layer: Layer::Message, at, problem: Problem::Version(other) }),
        };
        let community = reader.octet_string(Layer::Message)?;
        let pdu = Pdu::read(&reader.element(Layer::Pdu)?)?;
        Ok(Message::Community { version, community, pdu })
    }

    /// Appends a message of version 1 or 2c.
    pub fn write_community(version: Version, community: &[u8], pdu: &Pdu<'_>, out: &mut Vec<u8>) {
        let message = ber::open(out, tag::SEQUENCE);
        ber::write_integer(out, tag::INTEGER, version as i64);
        ber::write(out, tag::OCTET_STRING, community);
        pdu.write(out);
        ber::close(out, message);
    }
}
