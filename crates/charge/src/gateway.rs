//! Records over GTP' (TS 32.295): the charging gateway function that takes them ([`Receiver`]), and what sends them to
//! one of several gateways ([`Sender`]).
//!
//! ```text
//!  Sender                                                                  Receiver
//!  queue ------> Entry: queued, durable, then  Data Record Transfer -----> Entry: stored, durable, then the answer
//!                as number n of gateway A       n to A, again and again      \--> billing: what State::fold passes
//!  A is silent   Entry: moved, durable, then n' to B, possibly dup. -----> Entry: held, apart from billing
//!  A is back     empty packet n: did you have it?  -----------------------> 253 it had, 128 it had not and never will
//!                Entry: settling, durable, then cancel or release n' -----> Entry: forgotten, or passed to billing
//! ```
//!
//! Both are pure: `handle(message, now)`, `handle_timeout(now)`, `poll`; the time is any monotonic clock. Both change
//! only by entries of their logs, which are durable before anything that follows from them leaves, and their states are
//! the folds of those: after a crash they go on where the logs end. What goes to billing is a function of the
//! receiver's log alone, so whoever writes it to files notes up to which entry, and writes each record once.
//!
//! # Rules where the standards are silent
//!
//! - **A copy** is a request with the number and the octets of one that the peer sent before, whether it said that it
//!   restarted meanwhile or not. A number that is used again with other octets is refused (255) and the peer is asked
//!   for its restart counter: if that has changed, its numbers begin anew and the next try is taken.
//! - **Node Alive** says that a peer is there, not that its numbers begin anew: its restart counter does.
//! - **The empty packet** whose number never came is remembered: it gets 128 each time, and records that come late with
//!   that number are dropped without an answer, as they are released elsewhere by then.
//! - **Where an answer comes in** tells what it answers: a sender sends empty packets from a port of their own, so that
//!   a late answer to records (128: stored) is not taken for that to an empty packet (128: never stored).
//! - **Release and cancel** are done wholly or not at all: one unknown number, or one that was settled the other way,
//!   makes it 254. Where all were settled so before, by another request, it is 252; a copy gets 253.
//! - **A restart counter** says that numbers begin anew: a sender whose log is whole keeps its own. After a change a
//!   gateway knows copies by their octets still; the records of a number that an empty packet asked for are refused
//!   (255) for as long as it is remembered, as nothing tells whether they are those that were released elsewhere.
//! - **A gateway that refuses** for what it lacks (199, 200, 204, 255) is as one that is silent. What is refused for
//!   what it is (177, 193, 198, 201 to 203, 254) is kept, counted and sent no more until it is discarded.
//! - **A redirection** is followed to a gateway that is set up, never to one that is not: then the next one by its
//!   place is taken. It ends when the gateway answers an Echo a minute later, or says Node Alive.
//! - **A doubtful packet** has one copy. While the gateway of the copy is silent and the first one is back, the first
//!   one is asked to store it again; it then is settled by a cancel, for which 254 (never came) is as good.
//!
//! # What is bounded
//!
//! Peers ([`receiver::PEERS_MAX`]), their remembered numbers ([`receiver::REMEMBERED_MAX`]) and packets held apart
//! ([`receiver::HELD_MAX`], [`receiver::HELD_OCTETS_MAX`]; then 199), answers that wait ([`receiver::WAITING_MAX`];
//! then a request is dropped, and comes again). Of a sender: packets ([`sender::PACKETS_MAX`]; then [`sender::Full`]),
//! gateways ([`sender::GATEWAYS_MAX`]), and how far apart the numbers are that a gateway may have to know
//! ([`sender::SPAN_MAX`]).

mod codec;
mod outbox;
mod packets;
pub mod receiver;
mod records;
pub mod sender;

pub use outbox::{CONTROL_MAX, Sent};
pub use packets::{PACKET_OCTETS, PACKET_RECORDS, packet};
pub use receiver::Receiver;
pub use records::Records;
pub use sender::Sender;

use core::time::Duration;

/// The least time between two Echo Requests to the same node (TS 29.060 clause 7.2.1).
pub const ECHO_LEAST: Duration = Duration::from_secs(60);

/// Why records are no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSnapshot;

impl core::fmt::Display for NoSnapshot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("not a snapshot of records over GTP' of this version")
    }
}

impl core::error::Error for NoSnapshot {}
