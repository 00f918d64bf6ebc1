//! SIP (RFC 3261): a scanner that locates first and types on demand.
//!
//! [`scan`] walks a message once and notes where the start line, the known header fields and the body lie, without
//! copying or allocating. [`Message`] reads values when they are asked for. No message is refused for its content: what
//! is odd about it is named ([`Oddities`]), cheaply by the scan and fully by [`Message::validate`].
//!
//! SIP is recognised by its start line, on any port ([`looks_like_sip`]). Over TCP and WebSocket,
//! [`stream::Splitter`] finds the messages.

mod content_type;
mod cseq;
#[doc(hidden)]
pub mod exercise;
pub mod grammar;
mod header;
mod message;
mod method;
mod name_addr;
pub mod number;
mod oddity;
mod scan;
mod start_line;
pub mod stream;
pub mod uri;
mod validate;
mod via;

pub use content_type::ContentType;
pub use cseq::{CSeq, RAck};
pub use grammar::{Param, Params, Values, unescape, unfold};
pub use header::{HEADERS, Header, HeaderName};
pub use message::{Message, Reason};
pub use method::Method;
pub use name_addr::{Contact, NameAddr};
pub use oddity::{Class, Oddities, Oddity};
pub use scan::{Headers, REACH_OCTETS_MAX, scan};
pub use start_line::{METHOD_OCTETS_MAX, StartLine, looks_like_sip};
pub use uri::{HostPort, Scheme, Uri};
pub use via::{MAGIC_COOKIE, Via};
