//! One log on several nodes, over a stream of NATS JetStream: its leader publishes each record, the others follow, and
//! one of them takes over when nothing more is said.
//!
//! ```text
//!   leader    append --+--> own disk, durable up to N          answers leave up to the lesser of both
//!                      +--> stream, each message behind the one before it or not at all --> acknowledged up to M
//!   followers          stream, read by place --> own disk, state
//!             silence, or the leader yields: "I lead from record F on" behind the last message that was read
//! ```
//!
//! # Why it holds
//!
//! - *A message is published with the place of the one before it* (`Nats-Expected-Last-Sequence`), and with its name
//!   where that one is on its way, too: the stream takes it there or nowhere. Who leads is decided by that alone. A
//!   candidacy that is taken ends the term before it: nothing of the older leader is taken any more, wherever it waits,
//!   and so nothing of it is acknowledged.
//! - *What was acknowledged stands before the candidacy*, so the new leader has read it. What was not may stand on the
//!   older leader's disk: it is cut off there, by the terms, before that node follows ([`Terms::cut`]).
//! - *No clock of two machines is compared.* A follower's silence only makes it try; who is wrong about it gets the
//!   refusal.
//! - *What is not known is read*: after a lost connection or a refusal the leader reads what stands behind the last
//!   message that it knows of ([`publisher`]). Answers of the stream that are late, lost or out of date change nothing.
//! - *A leader knows how old its last acknowledgement is* ([`Leader::is_current`]): one that was stopped for longer
//!   than others wait refuses until the stream has taken another message of its.
//!
//! What decides is pure: [`message`], [`publisher`], [`follower`], [`search`], [`terms`]. [`Member`] and [`Leader`] are
//! where they meet sockets and the clock.
//!
//! # What is bounded
//!
//! Messages on their way ([`publisher::FLIGHT_MAX`]), octets of a message and a record ([`message`]), the stream
//! ([`Options::stream_octets`]: the oldest messages go; a follower that wanted them needs a copy of the log). What
//! waits for the stream is bounded by who appends ([`Leader::waiting_octets`]).
#![forbid(unsafe_code)]

mod connection;
pub mod exercise;
pub mod follower;
mod jetstream;
pub mod kept;
mod lead;
mod member;
pub mod message;
mod options;
pub mod publisher;
pub mod search;
pub mod terms;

pub use lead::{Counts, Leader, Progress};
pub use member::{Member, Step, Survey, Trouble};
pub use options::{Options, Security, Server};
pub use terms::{Term, Terms};
