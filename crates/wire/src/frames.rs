//! Messages in a stream: a length in the header of each says where the next one begins.

use core::fmt;
use core::marker::PhantomData;

/// A protocol whose messages tell their length.
pub trait Framed {
    /// Why a stream cannot be followed any further: the connection is of no use then.
    type Error;

    /// Octets of the message at the front of a stream, header and all; none where more of its header is needed.
    ///
    /// # Errors
    /// The place in the stream is lost, or the message is longer than `octets_max`.
    fn whole(rest: &[u8], octets_max: usize) -> Result<Option<usize>, Self::Error>;
}

/// The whole messages at the front of what a stream has given so far.
///
/// It keeps nothing: what [`Frames::taken`] leaves is shown again when more octets have come behind it. A message that
/// is over the limit is refused as soon as its length is there, so that nobody gathers it.
#[derive(Clone, Copy)]
pub struct Frames<'a, P> {
    octets: &'a [u8],
    at: usize,
    octets_max: usize,
    protocol: PhantomData<P>,
}

impl<'a, P: Framed> Frames<'a, P> {
    /// Of `octets`, with messages of at most `octets_max` octets, header and all.
    pub fn new(octets: &'a [u8], octets_max: usize) -> Frames<'a, P> {
        Frames { octets, at: 0, octets_max, protocol: PhantomData }
    }

    /// Octets of the messages given so far.
    pub fn taken(&self) -> usize {
        self.at
    }

    /// The next whole message; none where more octets are needed.
    ///
    /// # Errors
    /// The stream cannot be followed, or a message is over the limit; asked again, it says the same.
    #[inline]
    pub fn next_message(&mut self) -> Result<Option<&'a [u8]>, P::Error> {
        let rest = &self.octets[self.at..];
        let message = P::whole(rest, self.octets_max)?.and_then(|whole| rest.get(..whole));
        self.at += message.map_or(0, <[u8]>::len);
        Ok(message)
    }
}

impl<P> fmt::Debug for Frames<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frames({} of {} octets)", self.at, self.octets.len())
    }
}
