//! Messages in a stream (RFC 6733 section 2.1): the length field of each header says where the next one begins.

use super::Header;
use crate::frames::{self, Framed};
use core::fmt;

/// Why a stream cannot be followed any further: the connection is of no use then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// Not version 1: this is no Diameter, or the place in the stream is lost.
    Version(u8),
    /// A length less than a header's.
    TooShort(u32),
    /// A length over the limit.
    TooLong(u32),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Version(version) => write!(f, "version {version} is not Diameter's"),
            FrameError::TooShort(octets) => write!(f, "a message of {octets} octets has no room for its header"),
            FrameError::TooLong(octets) => write!(f, "a message of {octets} octets is over the limit"),
        }
    }
}

impl core::error::Error for FrameError {}

/// Diameter, as far as a stream of it goes.
#[derive(Clone, Copy, Debug)]
pub struct Stream;

/// The whole messages at the front of what a stream of Diameter has given so far.
pub type Frames<'a> = frames::Frames<'a, Stream>;

impl Framed for Stream {
    type Error = FrameError;

    #[inline]
    fn whole(rest: &[u8], octets_max: usize) -> Result<Option<usize>, FrameError> {
        let Some(&[version, a, b, c]) = rest.first_chunk() else {
            return rest.first().filter(|v| **v != 1).map_or(Ok(None), |v| Err(FrameError::Version(*v)));
        };
        let length = u32::from_be_bytes([0, a, b, c]);
        if version != 1 {
            Err(FrameError::Version(version))
        } else if (length as usize) < Header::OCTETS {
            Err(FrameError::TooShort(length))
        } else if length as usize > octets_max {
            Err(FrameError::TooLong(length))
        } else {
            Ok(Some(length as usize))
        }
    }
}
