//! LDAP version 3 as a client speaks it (RFC 4511): requests are written, responses are read.
//!
//! A directory is asked for strangers' identities, so values never go through the text of a filter: [`Filter`] is a
//! tree, its text (RFC 4515) is read once from the configuration, and what is put into it later is a value and nothing
//! else. What a server says is looked at before it counts: lengths, tags and texts, with a limit on each message
//! ([`Frames`]).
//!
//! Left out on purpose: the server's side, controls (those of a response are passed over), SASL, adding, deleting,
//! renaming and comparing entries, matching rules in filters.

pub(crate) mod exercise;
mod filter;
mod request;
mod response;
mod result_code;

#[cfg(test)]
mod tests;

pub use filter::{FILTER_DEPTH_MAX, Filter, FilterError};
pub use request::{Change, Modification, PASSWORD_MODIFY, Request, START_TLS, Scope, Search};
pub use response::{
    Attribute, Entry, Frames, Message, NOTICE_OF_DISCONNECTION, Outcome, Response, ResponseError, Stream,
};
pub use result_code::{code, name_of};

/// The class bits of protocol operations: `[APPLICATION n]`.
const APPLICATION: u8 = 0x40;
