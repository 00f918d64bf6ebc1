//! Messages in a stream (RFC 6733 section 2.1): the length field of each header says where the next one begins.

use super::Header;
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

/// The whole messages at the front of what a stream has given so far.
///
/// It keeps nothing: what [`Frames::taken`] leaves is shown again when more octets have come behind it. A message that
/// is over the limit is refused as soon as its length is there, so that nobody gathers it.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a> {
    octets: &'a [u8],
    at: usize,
    octets_max: usize,
}

impl<'a> Frames<'a> {
    /// Of `octets`, with messages of at most `octets_max` octets, header and all.
    pub fn new(octets: &'a [u8], octets_max: usize) -> Frames<'a> {
        Frames { octets, at: 0, octets_max }
    }

    /// Octets of the messages given so far.
    pub fn taken(&self) -> usize {
        self.at
    }

    /// The next whole message; none where more octets are needed.
    ///
    /// # Errors
    /// The stream cannot be followed; asked again, it says the same.
    #[inline]
    pub fn next_message(&mut self) -> Result<Option<&'a [u8]>, FrameError> {
        let rest = &self.octets[self.at..];
        let Some(&[version, a, b, c]) = rest.first_chunk() else {
            return rest.first().filter(|v| **v != 1).map_or(Ok(None), |v| Err(FrameError::Version(*v)));
        };
        let length = u32::from_be_bytes([0, a, b, c]);
        if version != 1 {
            return Err(FrameError::Version(version));
        } else if (length as usize) < Header::OCTETS {
            return Err(FrameError::TooShort(length));
        } else if length as usize > self.octets_max {
            return Err(FrameError::TooLong(length));
        }
        let message = rest.get(..length as usize);
        self.at += message.map_or(0, <[u8]>::len);
        Ok(message)
    }
}
