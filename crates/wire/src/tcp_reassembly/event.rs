//! What happens to connections, as the table tells it.

use crate::Endpoint;

/// Names a connection in its table, never another one again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    /// Place in the table: small, so that what belongs to a connection can lie in a `Vec`; used again after its end.
    pub index: u32,
    /// Which connection at that place.
    pub generation: u32,
}

/// Which way octets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the side that sent SYN, or, where that was not seen, from the side that was seen first.
    Forward,
    /// The other way.
    Backward,
}

/// Octets of a stream that were not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// How many.
    pub octets: u32,
    /// Why they are given up.
    pub cause: GapCause,
}

/// Why octets were given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapCause {
    /// The other side acknowledged them: they were on the wire and lost at the tap.
    Acked,
    /// Too much waited behind them.
    Overflow,
    /// The connection or the input ended.
    Unfilled,
    /// The snap length cut them off.
    Cut,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// Both sides finished and all was delivered.
    Close,
    /// A side reset it.
    Reset,
    /// Its ports were used for another connection.
    Reused,
    /// Nothing came for long.
    Idle,
    /// The table was full.
    Evicted,
    /// There is no more input.
    InputOver,
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a, T> {
    /// The next octets in order.
    Octets {
        /// As they lay in their packet.
        octets: &'a [u8],
        /// The packet that carried them; another than [`Event::tag`] if they had to wait.
        carrier: T,
    },
    /// The next octets are missing.
    Gap(Gap),
    /// No more events with this identifier.
    End(EndCause),
}

/// Something that happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a, T> {
    /// Which connection.
    pub connection: ConnectionId,
    /// Which way.
    pub direction: Direction,
    /// Who sent the octets; of an end, who began the connection.
    pub from: Endpoint,
    /// Whom they were sent to.
    pub to: Endpoint,
    /// Time of the packet that brought it about. When a connection ends without a packet of its own, of its last
    /// packet.
    pub at_ns: i64,
    /// Tag of that packet.
    pub tag: T,
    /// What it is.
    pub what: What<'a, T>,
}
