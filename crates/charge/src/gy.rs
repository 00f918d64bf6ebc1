//! Gy and Ro: credit control in Diameter's octets (RFC 8506 section 3, 3GPP TS 32.299 clauses 6.4 and 7.2).
//!
//! [`ask`] makes a [`Request`](crate::session::Request) of a CCR, [`tell`] a CCA of the
//! [`Answer`](crate::session::Answer). An answer is made of the request and what was decided, of nothing else: what a
//! copy of a request is answered is the same to the octet, but for what belongs to its way (hop-by-hop identifier,
//! Proxy-Info).
//!
//! # Rules where the standards are silent
//!
//! - An MSCC with several Service-Identifiers is rated as its rating group; all of them come back in the answer.
//! - A request without an MSCC that asks for units or reports some is one service, without a rating group, and is
//!   answered at the level of the command.
//! - What is asked for in money is left to the server; usage that is reported in money alone is no usage.
//! - The number that is called is Called-Party-Address of IMS-Information, of short messages the first
//!   Recipient-Address: a `tel:` or `sip:` URI counts as its digits.

mod ask;
mod currency;
mod overload;
mod tell;

#[cfg(test)]
mod tests;

pub use ask::ask;
pub use currency::{decimals, number};
pub use overload::Overload;
pub use tell::{Said, Terms, tell};
