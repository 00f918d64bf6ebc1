//! Servers over TCP, UDP, unix sockets and TLS: a thread per core with sockets of its own, batches, limits; and a
//! socket that asks many by UDP ([`Asking`]).
//!
//! ```text
//!             thread 0                                              thread 1 ..
//!  TCP  --->  listener (SO_REUSEPORT) --+--> fewest connections --> listener
//!  unix --->  (shared) -----------------+          |                (shared)
//!                                                  v
//!             epoll --> turn of a connection: read -> Service::octets -> one write     epoll ..
//!                   --> connections to others that stand now, or did not come about
//!                   --> batch of datagrams: recvmmsg -> Service::ahead, Service::datagram -> sendmmsg
//!                   --> bell: mail of other threads, connections after their handshake
//!                                                  ^
//!  TLS  --->  listener --> thread for handshakes --+
//! ```
//!
//! A protocol is a [`Service`]: one value for each thread, which sees octets and datagrams, says what is to be sent,
//! and knows neither sockets nor the time but what it is handed. [`start`] opens all [`Listen`] and starts the threads.
//! A connection stays with its thread for life, so that a service needs no locks for what belongs to a connection.
//!
//! A service dials others, too ([`Service::errands`]): a connection to them is one of its thread as any that came, and
//! connections of a thread wake each other without mail. What all of them brought in a round for another one goes out
//! in one write at its end.
//!
//! # What one request costs
//!
//! Buffers belong to the thread: a connection that has nothing left over holds none. Streams are registered once with
//! epoll, edge-triggered for both directions; after a read that came back short no second one is made to find the
//! socket empty. All that is answered to one read goes out in one write. So a client that has one request on its way
//! costs a read, a write and its share of a wait for events; one that pipelines shares them among what it sends at
//! once. Datagrams are received and sent up to [`BATCH_DATAGRAMS_MAX`] in a call; a reply of several datagrams is
//! handed over in one piece that the kernel cuts up (UDP_SEGMENT). UDP_GRO is not asked for: it joins datagrams of
//! equal length from one socket, and requests are small, of different lengths and from many.
//!
//! # What is bounded
//!
//! All of [`Limits`]; what is refused or closed beyond one is counted with its cause ([`Counts`]): `accepted` and
//! `dialled` are the sum of what was refused, closed and is open. While output of a connection is stuck, its input is
//! not read, so that the kernel's window closes and the peer has to wait; what was read before is held once. A
//! connection has a turn of [`Limits::turn_octets`] or as long as the service wants ([`Next::Yield`]), then the others
//! have theirs. Mail between threads is bounded, and given back to who sends too much. Input of one that holds
//! ([`Next::Hold`]) is not read either.
//!
//! # Races, and why they do no harm
//!
//! - *An event for a connection that is closed, whose slot is used again.* Events and mail name slot and generation;
//!   what does not fit finds nothing. Mail then comes back through [`Service::undelivered`].
//! - *Octets that come between a short read and the wait for events.* They are an event of their own: the kernel tells
//!   of each arrival. Only an end that was told with the octets before it would not be told again, so that it is
//!   remembered, and reads go on to it.
//! - *Room that comes between a write that failed and the wait.* Writes are repeated until the kernel says that there
//!   is no room, which makes it tell when there is.
//! - *A thread that stops accepting while another one closes the last connection.* The first says that it waits before
//!   it looks for room again; the other one makes room before it looks whether someone waits (both sequentially
//!   consistent). Besides, each second everyone looks again.
//! - *Mail for a thread that is about to sleep.* Who puts the first mail into an empty box rings the bell after it let
//!   go of the box; the thread looks into the box after each ring, and a ring is an event also if it comes before the
//!   wait.
//! - *Stop.* A thread that has ended has closed its box: connections and mail come back to who brings them.
//! - *A service that panics* ends its thread: its connections are closed, its listeners too, so that the kernel gives
//!   new ones to the others. [`Server::join`] tells.
//! - *An address that is taken between the look whether it is free and the opening of the sockets that share it* is
//!   shared with another server of the same user: the kernel offers nothing that does both at once.
#![deny(unsafe_code)]

mod asking;
mod bell;
mod clock;
mod connection;
mod counts;
mod datagrams;
mod dialling;
mod doors;
mod errands;
mod error;
mod events;
mod gate;
mod handshake;
mod input;
mod mailbox;
#[cfg(loom)]
mod models;
mod options;
mod output;
mod pages;
mod pending;
mod replies;
mod server;
mod service;
mod shared;
mod sockets;
mod stream;
mod sync;
mod sys;
mod thread;
mod tls;
mod turn;

pub use asking::{Asking, AskingCounts, AskingOptions, Came, Going};
pub use clock::Clock;
pub use counts::{Counts, Gauges};
pub use errands::{Errands, Remote, Undialled};
pub use error::StartError;
pub use mailbox::{MailboxFull, Waker};
pub use options::{
    BATCH_DATAGRAMS_MAX, Full, LISTENERS_MAX, Limits, Listen, Networks, OUTPUT_OCTETS_MIN, Options, READ_OCTETS,
    THREADS_MAX,
};
pub use output::Output;
pub use pages::{Pages, Room, Words};
pub use replies::{Numbered, REPLY_OCTETS_MAX, Replies};
pub use rustls::pki_types::CertificateDer;
pub use server::{Doorway, Figures, Seat, Server, ThreadsFailed, open, start};
pub use service::{Arrival, Cause, ConnectionId, Next, Now, Peer, Service, Taken, UdpPeer};
pub use tls::{
    ClientCertificates, ClientTls, OldestTls, TLS_CONNECTION_OCTETS, Tls, TlsError, TlsFault, certifies, issuers,
};
