//! Quota servers: credit control over GTP' version 0, asked of the same core as Diameter ([`crate::gy`]).
//!
//! ```text
//!  gateway                                      node
//!  User Profile Request -------------------->   whose it is: the name of the plan
//!  Service Authorization Request ----------->   a session begins, or another service of it: quota
//!  Service Reauthorization Request (used) -->   charged, more quota
//!  Service Stop Request (used) ------------->   charged; the session ends with its last service
//!  <--------------------- Quota Push Request    after a top-up, what may be used besides
//!  <------------------- Quota Return Request    a new plan, or the end: it gives back what is left, and asks again
//! ```
//!
//! Messages and elements have the numbers of a [`Mapping`]. [`ask`] reads a request, [`request`] puts it before the
//! core, [`tell`] writes what it is answered. A response is made of the request and what was decided, of nothing else:
//! a copy is answered the same to the octet.
//!
//! # Rules where nothing is public
//!
//! - **A session** is named by its gateway's address and the octets that the gateway chose: `gtpp;192.0.2.1;a1`. It is
//!   a session of the ledger as any other. The name is free again when the session is forgotten.
//! - **Requests have no number of their own** in a session; they get the next one. The sequence number of the header is
//!   used again after 65,536 requests, so that it alone tells no copy: **a copy** has the octets of a request of the
//!   same session, sequence number included, from whatever port. The newest four of a session are answered as they were
//!   before; others that came within [`Mapping::copies`] are dropped ([`Late`]), as their gateway has gone on.
//! - **What is granted** is for one service. Free usage is accepted without a grant. There is no element for what
//!   Final-Unit-Indication says but the address of a redirection: after the last units the gateway asks and is
//!   refused.
//! - **A push** is the server's own request for a service whose last units were granted: what is granted then less what
//!   it replaces is pushed, so that the gateway never holds more than is reserved.
//! - **Content authorization** is answered [`SERVICE_NOT_SUPPORTED`](trunkline_wire::gtpp::cause).

mod ask;
mod decide;
mod mapping;
mod recent;
mod tell;

#[cfg(test)]
mod tests;

pub use ask::{Ask, Charge, Unread, What, ask, origin};
pub use decide::{Late, Pushes, pushes, replaced, request, server_request};
pub use mapping::{MAPPING_OCTETS_MAX, Mapping, read};
pub use recent::{RECENT_MAX, Recent};
pub use tell::{push, refuse, return_request, tell, tell_profile};
