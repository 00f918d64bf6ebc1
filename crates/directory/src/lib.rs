//! Subscribers out of LDAP: a pool of connections to several servers, and look-ups of profiles with a memory of them.
//!
//! ```text
//!  any thread                     the engine's thread
//!  Directory --look_up, submit--> LookUps: remembered? asked already? --> Pool: which server, which connection
//!     (never waits)                                                         |            ^
//!  completions <---------------- found, absent, failed <--- answers --------+   tasks: connect, TLS, bind, read, write
//! ```
//!
//! The crate knows identities, attributes and the names of fields, not what they mean. Requests and their answers are
//! matched by a token that is the caller's; each request that was taken has exactly one [`Completion`].
//!
//! - A request goes to the server that is up with the fewest requests in flight; what is in flight on a connection is
//!   at most a window, what waits for room a queue, and all that has no end yet has a place of a limited number.
//! - A search whose answer does not come is sent once more, to another server. What changes something is sent once: if
//!   its answer is lost, that is told ([`Failure::Unknown`]).
//! - A server that does not answer, closes or refuses is left alone for a while, twice as long after each failure.
//! - Profiles are remembered ([`Memory`]), the absence of one for a time of its own; a profile past its time stands in
//!   while no server answers, and that is told ([`Freshness::Stale`]).
//! - Identities go into filters as values, never as text ([`Template`]). Referrals are told, not followed.
//!
//! What decides, [`Pool`](pool) and [`LookUps`](look_ups), does no I/O and reads no clock; only [`mod@engine`] and what
//! it runs touch sockets and time.
#![forbid(unsafe_code)]

pub mod address;
mod connect;
pub mod counts;
pub mod engine;
mod handle;
pub mod identity;
mod link;
mod look_ups;
mod memory;
mod operation;
mod pool;
mod profile;
mod settings;
mod template;

pub use engine::{Options, Prepared, Running, StartError, prepare, start, start_with};
pub use handle::{Completion, Directory, Ended, Refused};
pub use identity::{Identity, Kind};
pub use look_ups::{Freshness, LookedUp, Why};
pub use memory::{Bounded, Memory};
pub use operation::{Answer, Entry, Failure, Operation};
pub use profile::{Field, Profile};
pub use settings::{DirectorySection, SERVERS_MAX, Scope};
pub use template::Template;
