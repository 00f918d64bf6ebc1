//! SNMP as a manager speaks it and a monitor sees it: versions 1 (RFC 1157), 2c (RFC 1901, 3416) and 3 (RFC 3412) with
//! the user-based security model (RFC 3414, 3826, 7860).
//!
//! In layers, each usable without the one above: [`Oid`] and [`Value`] of a variable; [`Varbinds`] walks the variables
//! of a PDU where they lie; [`Pdu`] and [`Message`] are views of one datagram and are written as they are read; [`usm`]
//! makes keys, seals and opens messages of version 3 in place. Nothing here allocates but owned names ([`ObjectId`]).
//!
//! What is wrong with a message is a [`SnmpError`]: the octet and the layer. A value that is not as its type has to be
//! costs that variable and no other.
//!
//! Left out on purpose: SMI modules, SNMP over TCP and TLS, the view-based access control of agents.

mod ber;
mod display;
mod error;
pub(crate) mod exercise;
mod message;
mod oid;
mod pdu;
mod scoped;
mod status;
pub mod usm;
mod value;
mod varbind;

#[cfg(test)]
mod tests;

pub use error::{Layer, Problem, SnmpError};
pub use message::{MESSAGE_OCTETS_MAX, Message, Version};
pub use oid::{Arcs, OID_ARCS_MAX, ObjectId, Oid, OidError};
pub use pdu::{Exchange, Kind, Pdu, TrapV1};
pub use scoped::ScopedPdu;
pub use status::{Cause, ErrorStatus, GenericTrap};
pub use usm::message::{Contents, Flags, V3};
pub use value::Value;
pub use varbind::{Varbind, Varbinds, write_varbind};

/// The port of agents (RFC 3417 section 3.1).
pub const PORT: u16 = 161;

/// The port of those who take notifications.
pub const TRAP_PORT: u16 = 162;

/// From this request-id or msgID on, up to `i32::MAX`, the number takes four octets: requests of one shape have one
/// length.
pub const REQUEST_ID_MIN: i32 = 0x0100_0000;
