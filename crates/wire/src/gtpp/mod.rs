//! GTP': what carries charging records to a gateway (3GPP TS 32.295, its header after TS 29.060).
//!
//! [`Message`] is the view of a message, [`Elements`] of what it holds, [`Body`] of what that says; [`Writer`] appends
//! messages to a buffer; [`Frames`] cuts a stream of TCP into messages; [`records`] is the packet of records that they
//! are for. [`profile`] reads and writes messages of the same shape whose numbers only an operator knows: the flow of
//! quota servers.
//!
//! Versions 0 (with the short header and the long one), 1 and 2 are read and written.

mod body;
pub mod cause;
mod display;
pub(crate) mod exercise;
mod information;
mod message;
pub mod profile;
pub mod records;
mod writer;

#[cfg(test)]
mod tests;

pub use body::{Body, TransferCommand};
pub use information::{Element, Elements, SequenceNumbers, element};
pub use message::{Frames, GtppError, Header, Message, Version, message_type};
pub use writer::{TooLong, Writer};

/// The port of GTP', UDP and TCP (TS 32.295 clause 6.1.1).
pub const PORT: u16 = 3386;
