//! Messages as one line for people.

use super::{Body, Message, SequenceNumbers, TransferCommand, cause, message_type};
use crate::Address;
use core::fmt;

/// Sequence numbers that are shown of an element.
const NUMBERS_SHOWN_MAX: usize = 16;

/// `v2 17 Data Record Transfer Request: send 2 records`, `v0 3 Redirection Response: 128 Request accepted`.
impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = self.header;
        write!(f, "v{} {} ", header.version.number(), header.sequence)?;
        match message_type::name(header.kind) {
            Some(name) => write!(f, "{name}")?,
            None => write!(f, "message type {}", header.kind)?,
        }
        match self.body() {
            Ok(body) => write!(f, "{body}"),
            Err(error) => write!(f, ": {error}"),
        }
    }
}

/// What follows the name of the message.
impl fmt::Display for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::EchoResponse { restart_counter } => write!(f, ": restart counter {restart_counter}"),
            Body::NodeAliveRequest { address, alternate } => write!(f, ": {address}{}", Or(alternate)),
            Body::RedirectionRequest { cause, recommended, alternate } => {
                write!(f, ": {}", Cause(*cause))?;
                recommended.map_or(Ok(()), |address| write!(f, ", to {address}"))?;
                write!(f, "{}", Or(alternate))
            }
            Body::RedirectionResponse { cause } => write!(f, ": {}", Cause(*cause)),
            Body::DataRecordTransferRequest(command) => write!(f, ": {command}"),
            Body::DataRecordTransferResponse { cause, requests } => {
                write!(f, ": {}, to {}", Cause(*cause), Numbers(requests))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for TransferCommand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransferCommand::Send { possibly_duplicated, packet } => {
                match packet {
                    Some(packet) => write!(f, "send {} records", packet.count)?,
                    None => write!(f, "send the empty packet")?,
                }
                if *possibly_duplicated { write!(f, ", possibly duplicated") } else { Ok(()) }
            }
            TransferCommand::Cancel(numbers) => write!(f, "cancel {}", Numbers(numbers)),
            TransferCommand::Release(numbers) => write!(f, "release {}", Numbers(numbers)),
        }
    }
}

struct Cause(u8);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, cause::name(self.0).unwrap_or("unknown cause"))
    }
}

struct Or<'a>(&'a Option<Address>);

impl fmt::Display for Or<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |address| write!(f, " or {address}"))
    }
}

struct Numbers<'a>(&'a SequenceNumbers<'a>);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, number) in self.0.iter().take(NUMBERS_SHOWN_MAX).enumerate() {
            write!(f, "{}{number}", if n == 0 { "" } else { " " })?;
        }
        match self.0.len().checked_sub(NUMBERS_SHOWN_MAX).filter(|more| *more > 0) {
            Some(more) => write!(f, " and {more} more"),
            None => Ok(()),
        }
    }
}
