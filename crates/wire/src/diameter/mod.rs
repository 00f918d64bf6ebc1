//! Diameter: the base protocol (RFC 6733) and credit control (RFC 8506, 3GPP TS 32.299), as charging speaks them.
//!
//! In layers, each usable without the one above: [`Frames`] cuts a stream into messages; [`Message`] is the view of
//! one, [`Avps`] and [`Avp`] of what it holds; [`Writer`] appends messages to a buffer; [`dictionary`] knows names,
//! types and flags; [`base`] and [`credit`] are whole commands as values, read from a view and written back. Nothing
//! here allocates: text, octets and lists borrow from the message.
//!
//! What is wrong with a message is a [`Failure`]: the result code and the Failed-AVP of the answer that it deserves.
//!
//! Left out on purpose: SCTP's framing (a message is a message there), accounting (application 3), the commands of
//! authentication.

mod avp;
pub mod base;
pub mod credit;
pub mod dictionary;
mod display;
pub mod enumerated;
pub(crate) mod exercise;
mod failure;
mod frames;
mod grammar;
mod message;
pub mod result_code;
mod value;
mod writer;

#[cfg(test)]
mod tests;

pub use avp::{Avp, Avps, NESTING_MAX};
pub use dictionary::Key;
pub use failure::{Failure, Offence};
pub use frames::{FrameError, Frames};
pub use grammar::{List, ListValues, Value};
pub use message::{Header, Message, application, command, flag};
pub use value::{HostAddress, Time};
pub use writer::{Group, TooLong, Writer};

/// The port of Diameter over TCP and SCTP (RFC 6733 section 2.1).
pub const PORT: u16 = 3868;

/// The port of Diameter over TLS and DTLS (RFC 6733 section 2.1).
pub const TLS_PORT: u16 = 5868;
