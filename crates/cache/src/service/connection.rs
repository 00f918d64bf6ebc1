//! What a connection remembers between two calls. What is rare lies in boxes: one at rest takes a few dozen octets.

use super::client::Client;
use super::get::Keys;
use super::outgoing::Outgoing;
use super::set::Incoming;
use super::slow::Course;
use super::walk::Walking;
use std::sync::Arc;

/// What the service keeps of a connection; made by [`super::Service::accepted`].
#[derive(Debug)]
pub struct Connection {
    /// The name that lines of `watch` and `stats conns` give it (`cfd`).
    pub(super) name: u32,
    pub(super) protocol: Protocol,
    pub(super) state: State,
    /// How long it has been at that.
    pub(super) course: Course,
    /// The clients of its address.
    pub(super) client: Option<Arc<Client>>,
}

/// Which protocol it speaks; its first octet decides, as memcached's `auto-negotiate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Nothing came yet.
    Unknown,
    /// Text, after it has signed in (`-Y`).
    Unsigned,
    Text,
    Binary,
}

/// What it is in the midst of.
#[derive(Debug)]
pub(super) enum State {
    /// The next request.
    Ready,
    /// The keys of a get.
    Keys(Keys),
    /// A value comes.
    Incoming(Box<Incoming>),
    /// So many octets are passed over.
    Swallow(u64),
    /// What comes before the next end of a line is passed over.
    SkipLine,
    /// A large value is told.
    Outgoing(Box<Outgoing>),
    /// All items are told.
    Walking(Box<Walking>),
    /// It watches; what it says is not listened to.
    Watching(u64),
}

impl Connection {
    /// What it holds counts for the clients of an address from now on.
    pub fn belong_to(&mut self, client: &Arc<Client>) {
        self.client = Some(Arc::clone(client));
    }

    /// Whether it is between two requests.
    pub fn is_at_rest(&self) -> bool {
        matches!(self.state, State::Ready)
    }

    /// Whether it watches: [`super::Service::resume`] tells what there is.
    pub fn is_watching(&self) -> bool {
        matches!(self.state, State::Watching(_))
    }
}

const _: () = assert!(size_of::<Connection>() <= 56);
