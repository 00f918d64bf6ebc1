//! Media of a call that is kept with another one.

use super::Direction;
use trunkline_kit::Id;

/// A stream that belongs to two calls, as the SDP of both names its endpoints (the legs of a back-to-back user agent
/// that leaves media alone): it is kept once, with the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SharedStream {
    /// The call that has it.
    pub call: Id,
    /// The stream.
    pub stream: Id,
    /// Which party of this call sent it.
    pub sender: Direction,
}
