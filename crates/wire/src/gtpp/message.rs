//! The message: its header (TS 32.295 clause 6.1.1) and where it ends in a stream.

use super::{Elements, cause};
use crate::frames::{self, Framed};
use core::fmt;

/// Message types (TS 32.295 clause 6.2).
pub mod message_type {
    #![allow(missing_docs, reason = "the names are those of the specification")]
    pub const ECHO_REQUEST: u8 = 1;
    pub const ECHO_RESPONSE: u8 = 2;
    pub const VERSION_NOT_SUPPORTED: u8 = 3;
    pub const NODE_ALIVE_REQUEST: u8 = 4;
    pub const NODE_ALIVE_RESPONSE: u8 = 5;
    pub const REDIRECTION_REQUEST: u8 = 6;
    pub const REDIRECTION_RESPONSE: u8 = 7;
    pub const DATA_RECORD_TRANSFER_REQUEST: u8 = 240;
    pub const DATA_RECORD_TRANSFER_RESPONSE: u8 = 241;

    /// The name, if the type is one of these.
    pub const fn name(kind: u8) -> Option<&'static str> {
        Some(match kind {
            ECHO_REQUEST => "Echo Request",
            ECHO_RESPONSE => "Echo Response",
            VERSION_NOT_SUPPORTED => "Version Not Supported",
            NODE_ALIVE_REQUEST => "Node Alive Request",
            NODE_ALIVE_RESPONSE => "Node Alive Response",
            REDIRECTION_REQUEST => "Redirection Request",
            REDIRECTION_RESPONSE => "Redirection Response",
            DATA_RECORD_TRANSFER_REQUEST => "Data Record Transfer Request",
            DATA_RECORD_TRANSFER_RESPONSE => "Data Record Transfer Response",
            _ => return None,
        })
    }
}

/// Version and form of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Version 0 with a header of twenty octets, as GTP version 0 has it.
    V0Long,
    /// Version 0 with a header of six octets.
    V0,
    /// Version 1.
    V1,
    /// Version 2.
    #[default]
    V2,
}

impl Version {
    /// The highest version: what Version Not Supported is sent with.
    pub const HIGHEST: Version = Version::V2;

    /// Octets of the header.
    pub const fn header_octets(self) -> usize {
        match self {
            Version::V0Long => 20,
            _ => Header::OCTETS,
        }
    }

    /// The version's number.
    pub const fn number(self) -> u8 {
        match self {
            Version::V0Long | Version::V0 => 0,
            Version::V1 => 1,
            Version::V2 => 2,
        }
    }

    /// Of the first octet: three bits of version, one that is clear for GTP', three spare ones that are set, and one
    /// that version 0 sets for the short header.
    const fn of(octet: u8) -> Result<Version, GtppError> {
        match (octet >> 5, octet & 0x10, octet & 1) {
            (_, 0x10, _) => Err(GtppError::NotPrime),
            (0, _, 0) => Ok(Version::V0Long),
            (0, _, _) => Ok(Version::V0),
            (1, ..) => Ok(Version::V1),
            (2, ..) => Ok(Version::V2),
            (version, ..) => Err(GtppError::Version(version)),
        }
    }

    pub(super) const fn first_octet(self) -> u8 {
        self.number() << 5 | 0x0e | matches!(self, Version::V0) as u8
    }
}

/// The header of a message without its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version and form.
    pub version: Version,
    /// See [`message_type`].
    pub kind: u8,
    /// Matches a response to its request; it wraps at 65,535.
    pub sequence: u16,
}

impl Header {
    /// Octets of the header that all versions share.
    pub const OCTETS: usize = 6;
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GtppError {
    /// Fewer octets than a header has.
    TooShort,
    /// It is GTP.
    NotPrime,
    /// A version that is not known: the answer is Version Not Supported.
    Version(u8),
    /// The length of the header is not that of the octets behind it.
    Length {
        /// What the header says.
        said: usize,
        /// What there is.
        there: usize,
    },
    /// In a stream: longer than the limit.
    TooLong(usize),
    /// An element that cannot be located: it ends past the message, or is of a type whose length nobody knows.
    Element(u8),
    /// An element has not the form of its type.
    Wrong(u8),
    /// An element that the message must have is not there.
    Missing(u8),
}

impl GtppError {
    /// The cause of the response that refuses the message (TS 32.295 clause 6.2.4.6).
    pub const fn cause(self) -> u8 {
        match self {
            GtppError::Version(_) => cause::VERSION_NOT_SUPPORTED,
            GtppError::Wrong(_) => cause::MANDATORY_INCORRECT,
            GtppError::Missing(_) => cause::MANDATORY_MISSING,
            _ => cause::INVALID_MESSAGE_FORMAT,
        }
    }
}

impl fmt::Display for GtppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GtppError::TooShort => write!(f, "fewer octets than a header has"),
            GtppError::NotPrime => write!(f, "GTP, not GTP'"),
            GtppError::Version(version) => write!(f, "version {version} is not known"),
            GtppError::Length { said, there } => write!(f, "{said} octets said, {there} there"),
            GtppError::TooLong(octets) => write!(f, "a message of {octets} octets is over the limit"),
            GtppError::Element(kind) => write!(f, "element {kind} cannot be located"),
            GtppError::Wrong(kind) => write!(f, "element {kind} has not the form of its type"),
            GtppError::Missing(kind) => write!(f, "element {kind} is missing"),
        }
    }
}

impl core::error::Error for GtppError {}

/// A message whose header is sound; its elements are checked as they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    octets: &'a [u8],
}

impl<'a> Message<'a> {
    /// The message in `octets`, which is all of it and nothing more: a datagram, or what [`Frames`] gives.
    ///
    /// # Errors
    /// Its header is not one, or the length in it is not that of the octets.
    pub fn new(octets: &'a [u8]) -> Result<Message<'a>, GtppError> {
        let head = Head::new(octets)?.ok_or(GtppError::TooShort)?;
        let there = octets.len().checked_sub(head.header_octets).ok_or(GtppError::TooShort)?;
        if head.length != there {
            return Err(GtppError::Length { said: head.length, there });
        }
        Ok(Message { header: head.header, octets })
    }

    /// What it holds.
    pub fn elements(&self) -> Elements<'a> {
        Elements::new(&self.octets[self.header.version.header_octets()..])
    }

    /// The whole message.
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }
}

/// What the first six octets say.
struct Head {
    header: Header,
    header_octets: usize,
    length: usize,
}

impl Head {
    /// None where there are fewer than six octets and nothing wrong with those.
    fn new(octets: &[u8]) -> Result<Option<Head>, GtppError> {
        let Some(first) = octets.first() else { return Ok(None) };
        let version = Version::of(*first)?;
        let Some(&[_, kind, l1, l2, s1, s2]) = octets.first_chunk() else { return Ok(None) };
        let header = Header { version, kind, sequence: u16::from_be_bytes([s1, s2]) };
        let length = usize::from(u16::from_be_bytes([l1, l2]));
        Ok(Some(Head { header, header_octets: version.header_octets(), length }))
    }
}

/// GTP', as far as a stream of it goes.
#[derive(Clone, Copy, Debug)]
pub struct Stream;

/// The whole messages at the front of what a stream of GTP' has given so far.
pub type Frames<'a> = frames::Frames<'a, Stream>;

impl Framed for Stream {
    type Error = GtppError;

    fn whole(rest: &[u8], octets_max: usize) -> Result<Option<usize>, GtppError> {
        let Some(head) = Head::new(rest)? else { return Ok(None) };
        let whole = head.header_octets + head.length;
        if whole > octets_max { Err(GtppError::TooLong(whole)) } else { Ok(Some(whole)) }
    }
}
