//! The node: what speaks Diameter with clients, and keeps the ledger.
//!
//! ```text
//!   net-0, net-1, ..  Worker: octets -> peer -> gy -> Book: core decides, entry to the outbox      one lock a read
//!                     end of a round: outbox -> commit                                             one append a round
//!   commit            a write and an fdatasync for all that came meanwhile -> durable up to N
//!   net-0, net-1, ..  answers up to N leave, those of a connection in one write
//!   charge-folds       a snapshot of the ledger, now and then, for a fast start
//!   replica            the same entries to the stream, where there is a standby -> acknowledged up to M: then the
//!                      lesser of N and M counts
//!   charge-house      10 times a second: sessions of which nothing came, questions to clients (RAR, ASR)
//! ```
//!
//! # What holds
//!
//! - An answer leaves when the entry that it follows from is durable, and that of a copy when its original is. Nobody
//!   waits for the disk: a thread goes on with other requests, and what has gathered is written at once.
//! - There is one book, behind a lock that is held for the requests of one read: entries have one order, that of the
//!   log, and an account is not split among threads. Octets are read and written outside of it.
//! - When the disk is behind or full, nothing is granted that could not be told: a request is answered 3004 before the
//!   core sees it, sessions that begin and events first ([`BUSY_PERCENT`]).
//! - When a write fails, what is in memory is more than what is on disk: nothing is decided any more, what is asked is
//!   answered 3004, and the node is to end ([`Node::failure`]).

mod book;
mod control;
mod counts;
mod folds;
mod house;
mod link;
mod parked;
mod pending;
mod profiles;
mod requests;
mod routes;
mod standby;
mod worker;

pub use book::BUSY_PERCENT;
pub use book::Stream;
pub use counts::Counts;
pub use profiles::Profiles;
pub use standby::{Fault, Seen, Standing, Won, stand_by};

use crate::calendar::Moment;
use crate::gy::Terms;
use crate::peer::Local;
use crate::session::Core;
use book::Book;
use core::time::Duration;
use folds::Folds;
use house::House;
use routes::Routes;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_commit::{Disk, Log};
use trunkline_net::{Doorway, Listen, Server, StartError, ThreadsFailed};
use trunkline_replica::Member;
use worker::{Mail, Worker};

/// How a node is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Who it is.
    pub local: Local,
    /// What stands in each answer.
    pub terms: Terms,
    /// Where it listens: TCP for Diameter, a unix socket for those who operate it.
    pub listens: Vec<Listen>,
    /// How the engine of connections runs.
    pub options: trunkline_net::Options,
}

/// What the threads of a node share.
struct Shared {
    local: Local,
    terms: Terms,
    /// Which of the listeners are unix sockets.
    control: Vec<bool>,
    book: Book,
    routes: Routes,
    /// Where subscribers are looked up when their sessions begin.
    profiles: Option<Profiles>,
    counts: Vec<Mutex<Counts>>,
    /// Connections that came, from any number on: identifiers of each begin elsewhere.
    connections: AtomicU32,
}

/// A node that serves. Dropped, it is stopped and waited for.
pub struct Node {
    shared: Arc<Shared>,
    server: Option<Server<Mail>>,
    house: Option<House>,
    folds: Option<Folds>,
    addresses: Vec<Option<SocketAddr>>,
}

/// A node that listens, and serves nobody yet.
#[derive(Debug)]
pub struct Opened {
    doorway: Doorway,
    setup: Setup,
}

/// What a node has beside its ledger.
struct Beside {
    profiles: Option<Profiles>,
    /// The stream that others follow, and entries of ours that it does not have yet.
    replicated: Option<(Member, Vec<Vec<u8>>)>,
}

/// The time of the core: whole seconds.
fn moment(unix: Duration) -> Moment {
    Moment::try_from(unix.as_secs()).unwrap_or(Moment::MAX)
}

impl Opened {
    /// Opens what it listens to. Between this and [`Opened::start`] a program gives up the rights that it needed, and
    /// reads the ledger; clients that connect meanwhile wait.
    ///
    /// # Errors
    /// An option makes no sense, or an address cannot be had.
    pub fn new(setup: Setup) -> Result<Opened, StartError> {
        let doorway = trunkline_net::open(&setup.listens, worker::fitted(setup.options.clone()))?;
        Ok(Opened { doorway, setup })
    }

    /// Begins to serve with what the ledger came to, and the log that goes on with it. With `profiles`, subscribers are
    /// looked up in a directory when their sessions begin.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start<D>(
        self,
        core: Core,
        log: Log<D>,
        options: trunkline_commit::Options,
        profiles: Option<Profiles>,
    ) -> Result<Node, StartError>
    where
        D: Disk + Send + Sync + 'static,
        D::File: Send + 'static,
    {
        self.serve(core, log, options, Beside { profiles, replicated: None })
    }

    /// The same with what a standby has come to, which leads now: its entries go to the stream.
    ///
    /// # Errors
    /// The system has no thread left, or the servers take nothing.
    pub fn lead(
        self,
        won: Won,
        options: trunkline_commit::Options,
        profiles: Option<Profiles>,
    ) -> Result<Node, StartError> {
        let Won { core, log, folds, member, tail, .. } = won;
        let mut node = self.serve(core, log, options, Beside { profiles, replicated: Some((member, tail)) })?;
        node.folds = Some(folds);
        Ok(node)
    }

    fn serve<D>(
        self,
        core: Core,
        log: Log<D>,
        options: trunkline_commit::Options,
        beside: Beside,
    ) -> Result<Node, StartError>
    where
        D: Disk + Send + Sync + 'static,
        D::File: Send + 'static,
    {
        let Opened { doorway, setup: Setup { local, terms, listens, options: net } } = self;
        let Beside { profiles, replicated } = beside;
        let threads = net.threads;
        let thread = |error| StartError::System { what: "a thread", error };
        let told = Arc::new(book::Told::new(threads));
        let folds = match &replicated {
            None => Some(Folds::start(Arc::clone(log.disk()), &log).map_err(thread)?),
            Some(_) => None,
        };
        let mut book = Book::start(core, log, options, &told).map_err(thread)?;
        if let Some((member, tail)) = replicated {
            book.replicate(member, &tail).map_err(thread)?;
        }
        let shared = Arc::new(Shared {
            local,
            terms,
            control: listens.iter().map(|listen| matches!(listen, Listen::Unix { .. })).collect(),
            book,
            routes: Routes::default(),
            profiles,
            counts: (0..threads).map(|_| Mutex::default()).collect(),
            connections: AtomicU32::new(0),
        });
        let seat = Arc::clone(&shared);
        let server = doorway.start(move |of| Worker::new(Arc::clone(&seat), &of))?;
        let waker = server.waker();
        told.set(waker.clone());
        if let Some(profiles) = &shared.profiles {
            profiles.set(waker.clone());
        }
        let house = House::start(Arc::clone(&shared), waker).map_err(thread)?;
        let addresses = server.addresses().to_vec();
        Ok(Node { shared, server: Some(server), house: Some(house), folds, addresses })
    }
}

impl Node {
    /// Where it listens, in the order of [`Setup::listens`]; none for unix sockets.
    pub fn addresses(&self) -> &[Option<SocketAddr>] {
        &self.addresses
    }

    /// What was counted until now.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for counts in &self.shared.counts {
            sum.add(&counts.lock().unwrap_or_else(PoisonError::into_inner));
        }
        sum
    }

    /// What the log has done.
    pub fn log_counts(&self) -> trunkline_commit::Counts {
        self.shared.book.log_counts()
    }

    /// How the directory was a second ago, if there is one.
    pub fn directory(&self) -> Option<trunkline_directory::counts::Shown> {
        self.shared.profiles.as_ref().map(Profiles::shown)
    }

    /// Looks at the state; requests wait meanwhile.
    pub fn look<T>(&self, sees: impl FnOnce(&Core) -> T) -> T {
        self.shared.book.look(sees)
    }

    /// What was published to the stream; none where there is no standby.
    pub fn replica_counts(&self) -> Option<trunkline_replica::Counts> {
        self.shared.book.replica_counts()
    }

    /// Has another node lead, behind all that was decided: nothing is decided any more. [`Node::parted`] tells when
    /// that is done.
    ///
    /// # Errors
    /// None stands by, or the disk does not take what was decided.
    pub fn hand_over(&self) -> Result<(), String> {
        self.shared.book.hand_over().map(drop)
    }

    /// What waits for the stream, and whether it has taken something lately; none where nobody stands by.
    pub fn stream(&self) -> Option<Stream> {
        self.shared.book.stream()
    }

    /// Why it leads no longer, if so: it has handed over, or another node leads. It answers nothing any more, and has
    /// to end.
    pub fn parted(&self) -> Option<String> {
        self.shared.book.parted()
    }

    /// Why the ledger cannot be written any more, if so: the node has to end.
    pub fn failure(&self) -> Option<String> {
        self.shared.book.failure()
    }

    /// Ends: nothing new is taken, what came is answered, clients are told.
    ///
    /// # Errors
    /// Threads of the server failed.
    pub fn stop(&mut self) -> Result<(), ThreadsFailed> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        server.stop();
        let stopped = server.join();
        drop(self.house.take());
        drop(self.folds.take());
        stopped
    }
}
