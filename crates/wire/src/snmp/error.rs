//! What is wrong with a message, and where.

use core::fmt;

/// The part of a message that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The outermost sequence, the version and the community.
    Message,
    /// `msgGlobalData` of version 3 (RFC 3412 section 6).
    Header,
    /// `msgSecurityParameters` of version 3 (RFC 3414 section 2.4).
    Security,
    /// `ScopedPDU` of version 3 (RFC 3412 section 6.8).
    Scoped,
    /// The PDU without its variables.
    Pdu,
    /// A pair of name and value.
    Varbind,
    /// The value of one variable.
    Value,
}

/// What is wrong there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// It ends past what it lies in, or what has to follow is not there.
    Cut,
    /// A length that is not definite, or of more than four octets.
    Length,
    /// Another type than what has to be there, by its identifier octet.
    Type(u8),
    /// The contents have not the form of their type, or the number is out of its range.
    Form,
    /// A version that is none of 0, 1 and 3.
    Version(i64),
    /// A message of more than [`MESSAGE_OCTETS_MAX`](super::MESSAGE_OCTETS_MAX) octets.
    TooLong,
}

/// The octet of the message, counted from 0, from which on it could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SnmpError {
    /// The part of the message.
    pub layer: Layer,
    /// Where the element lies that is wrong.
    pub at: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::Message => "message",
            Layer::Header => "msgGlobalData",
            Layer::Security => "msgSecurityParameters",
            Layer::Scoped => "scopedPDU",
            Layer::Pdu => "PDU",
            Layer::Varbind => "variable binding",
            Layer::Value => "value",
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Cut => f.write_str("ends too early"),
            Problem::Length => f.write_str("has a length that is not definite or too long"),
            Problem::Type(tag) => write!(f, "is of type 0x{tag:02x}, which does not belong there"),
            Problem::Form => f.write_str("has not the form of its type"),
            Problem::Version(version) => write!(f, "is of version {version}"),
            Problem::TooLong => f.write_str("is too long"),
        }
    }
}

impl fmt::Display for SnmpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at octet {} {}", self.layer, self.at, self.problem)
    }
}

impl core::error::Error for SnmpError {}
