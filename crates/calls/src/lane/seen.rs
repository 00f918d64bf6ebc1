//! What a lane tells of media that passes the tap, whoever's it is.

use trunkline_wire::Endpoint;

/// A stream began: media between these passes the tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its first packet, nanoseconds since 1970.
    pub first_ns: i64,
    /// Who sends it.
    pub from: Endpoint,
    /// Whom it is sent to.
    pub to: Endpoint,
}

/// In what media comes that is no RTP over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Carrier {
    /// Inside TURN (RFC 8656).
    Turn,
    /// Over TCP (RFC 4571).
    Tcp,
}

/// Media that was seen and is not known to be any call's: who sends what carries it to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// In what it comes.
    pub carrier: Carrier,
    /// When, and between whom.
    pub begun: Begun,
}
