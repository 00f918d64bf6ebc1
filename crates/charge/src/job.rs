//! The node: what speaks Diameter with clients, and keeps the ledger.
//!
//! ```text
//!   net-0, net-1, ..  Worker: octets -> peer -> gy -> Book: core decides, entry to the outbox      one lock a read
//!                     end of a round: outbox -> commit                                             one append a round
//!   commit            a write and an fdatasync for all that came meanwhile -> durable up to N
//!   net-0, net-1, ..  answers up to N leave, those of a connection in one write
//!   charge-records     records of what is durable, into files ([`records`])
//!   charge-send        those records to charging gateways, by GTP', where that is set up ([`ForwardSetup`])
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
//!   core sees it, sessions that begin and events first ([`BUSY_PERCENT`]). Sessions and events are refused, too, while
//!   records are too far behind the ledger ([`records`]).
//! - When a write fails, what is in memory is more than what is on disk: nothing is decided any more, what is asked is
//!   answered 3004, and the node is to end ([`Node::failure`]).

mod book;
mod calls;
mod clients;
mod control;
pub mod copy;
mod counts;
mod folds;
mod forward;
mod gateway;
mod gtpp;
mod house;
mod link;
mod mend;
mod parked;
mod pending;
mod ports;
mod post;
mod profiles;
mod received;
pub mod records;
mod refusals;
mod requests;
mod retain;
mod routes;
mod sending;
mod standby;
mod worker;

pub use book::BUSY_PERCENT;
pub use book::Stream;
pub use calls::Peering;
#[doc(hidden)]
pub use control::exercise::orders as exercise_control;
pub use control::{records_of, retain_here, retain_of};
pub use counts::Counts;
pub use forward::{ForwardSetup, Forwarded};
pub use gateway::Place as GatewayPlace;
pub use gtpp::read_mapping;
pub use mend::{Mended, look_through, mend, tell_found, witness};
pub use profiles::Profiles;
pub use received::{ReceivedSetup, received_strange, received_witness};
pub use retain::Retaining;
pub use sending::{SendSetup, Sending, Sent};
pub use standby::{Fault, Recorded, Seen, Standing, TERMS, Won, forget_asked, stand_by};

use crate::calendar::Moment;
use crate::gy::Terms;
use crate::peer::Local;
use crate::quota::Mapping;
use crate::session::Core;
use crate::traffic::{Series, Traffic};
use crate::trust::Trust;
use book::Book;
use calls::Callers;
use clients::Clients;
use core::time::Duration;
use folds::Folds;
use forward::Forward;
use gateway::Gateway;
use gtpp::Gtpp;
use house::House;
use post::Alone;
use received::Received;
use records::Records;
use routes::Routes;
use standby::Kept;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use trunkline_commit::{Disk, Folder, Log};
use trunkline_net::{Doorway, Figures, Gauges, Listen, Networks, Server, StartError, ThreadsFailed};
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
    /// Whom it dials, and what certificates have to say.
    pub peering: Peering,
    /// Which clients may speak for others, go on with their sessions, and give back.
    pub trust: Trust,
}

/// How a node serves GTP': charging gateways' records, and quota.
#[derive(Clone, Debug)]
pub struct GtppSetup {
    /// Where it listens: UDP and TCP.
    pub listens: Vec<Listen>,
    /// From where it is taken; the node's own networks hold for TCP besides.
    pub allow: Networks,
    /// How gateways that ask for quota are understood.
    pub mapping: Mapping,
    /// Where records that come are kept; none is the ledger where several nodes keep it and write files out of it
    /// ([`Standing::received`]), and else refuses them, and serves quota alone.
    pub place: Option<GatewayPlace>,
    /// Which gateway senders of records are told to go to when this one ends; none leaves it to them.
    pub redirect_to: Option<IpAddr>,
}

/// What the threads of a node share.
struct Shared {
    local: Local,
    terms: Terms,
    trust: Arc<Trust>,
    /// Which of the listeners are unix sockets.
    control: Vec<bool>,
    book: Book,
    routes: Routes,
    gtpp: Option<Gtpp>,
    /// Where subscribers are looked up when their sessions begin.
    profiles: Option<Profiles>,
    counts: Vec<Mutex<Counts>>,
    /// What each thread answered.
    traffic: Vec<Mutex<Traffic>>,
    /// The same over time.
    series: Mutex<Series>,
    clients: Clients,
    /// Peers that are dialled.
    callers: Callers,
    /// Since when it serves, seconds since 1970.
    begun: u64,
    /// Entries that are to be given up.
    retaining: Arc<retain::Retaining>,
    /// How records get on, where any are made.
    records: Option<Arc<records::Told>>,
    /// Connections that came, from any number on: identifiers of each begin elsewhere.
    connections: AtomicU32,
    /// What the engine of connections counts, once it has begun.
    net: OnceLock<Figures<Mail>>,
}

/// A node that serves. Dropped, it is stopped and waited for.
pub struct Node {
    shared: Arc<Shared>,
    server: Option<Server<Mail>>,
    house: Option<House>,
    folds: Option<Folds>,
    records: Option<Records>,
    forward: Option<Forward>,
    received: Option<Received>,
    addresses: Vec<Option<SocketAddr>>,
}

/// A node that listens, and serves nobody yet.
#[derive(Debug)]
pub struct Opened {
    doorway: Doorway,
    setup: Setup,
    gtpp: Option<GtppSetup>,
    forward: Option<ForwardSetup>,
}

/// What a node has beside its ledger.
struct Beside<R> {
    profiles: Option<Profiles>,
    records: Option<records::Setup<R>>,
    replicated: Option<Replicated>,
}

/// The stream that others follow, and what a standby has begun already.
struct Replicated {
    member: Member,
    /// Entries of ours that the stream does not have yet.
    tail: Vec<Vec<u8>>,
    kept: Kept,
}

/// The time of the core: whole seconds.
fn moment(unix: Duration) -> Moment {
    Moment::try_from(unix.as_secs()).unwrap_or(Moment::MAX)
}

/// The system's time since 1970, and the time since this process first asked, by a clock that nobody sets.
fn both_clocks() -> (Duration, Duration) {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    let first = *FIRST;
    (SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(), first.elapsed())
}

impl Opened {
    /// Opens what it listens to. Between this and [`Opened::start`] a program gives up the rights that it needed, and
    /// reads the ledger; clients that connect meanwhile wait.
    ///
    /// # Errors
    /// An option makes no sense, or an address cannot be had.
    pub fn new(setup: Setup) -> Result<Opened, StartError> {
        Opened::with_gtpp(setup, None)
    }

    /// The same, with GTP' beside Diameter.
    ///
    /// # Errors
    /// As [`Opened::new`].
    pub fn with_gtpp(setup: Setup, gtpp: Option<GtppSetup>) -> Result<Opened, StartError> {
        let mut options = worker::fitted(setup.options.clone());
        let mut listens = setup.listens.clone();
        if let Some(gtpp) = &gtpp {
            options.udp_networks = gtpp.allow.clone();
            listens.extend(gtpp.listens.iter().cloned());
        }
        Ok(Opened { doorway: trunkline_net::open(&listens, options)?, setup, gtpp, forward: None })
    }

    /// The same, with records that are made sent on to charging gateways.
    #[must_use]
    pub fn forwarding(self, forward: Option<ForwardSetup>) -> Opened {
        Opened { forward, ..self }
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
        self.start_with(core, log, options, profiles, None::<records::Setup<D>>)
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
        let Won { core, log, kept, member, tail, .. } = won;
        let replicated = Some(Replicated { member, tail, kept });
        let beside = Beside { profiles, records: None::<records::Setup<Folder>>, replicated };
        self.serve(core, log, options, beside)
    }

    /// The same as [`Opened::start`], with records of what is charged.
    ///
    /// # Errors
    /// As [`Opened::start`].
    pub fn start_with<D, R>(
        self,
        core: Core,
        log: Log<D>,
        options: trunkline_commit::Options,
        profiles: Option<Profiles>,
        records: Option<records::Setup<R>>,
    ) -> Result<Node, StartError>
    where
        D: Disk + Send + Sync + 'static,
        D::File: Send + 'static,
        R: Disk + Send + Sync + 'static,
        R::File: Send + 'static,
    {
        self.serve(core, log, options, Beside { profiles, records, replicated: None })
    }

    fn serve<D, R>(
        self,
        core: Core,
        log: Log<D>,
        options: trunkline_commit::Options,
        beside: Beside<R>,
    ) -> Result<Node, StartError>
    where
        D: Disk + Send + Sync + 'static,
        D::File: Send + 'static,
        R: Disk + Send + Sync + 'static,
        R::File: Send + 'static,
    {
        let Opened { doorway, setup, gtpp, forward } = self;
        let Setup { local, terms, listens, options: net, peering, trust } = setup;
        let Beside { profiles, records, replicated } = beside;
        let threads = net.threads;
        let thread = |error| StartError::System { what: "a thread", error };
        let reads = |error| StartError::System { what: "what came by GTP'", error };
        let told = Arc::new(book::Told::new(threads));
        let disk = Arc::clone(log.disk());
        let (replicated, kept) = match replicated {
            Some(Replicated { member, tail, kept }) => (Some((member, tail)), kept),
            None => {
                let told = records.as_ref().map(|_| Arc::<records::Told>::default());
                (None, Kept::start(&disk, &log, told, Arc::default()).map_err(thread)?)
            }
        };
        let Kept { folds, retaining, told: recorded, seat, received } = kept;
        let takes = received.is_some();
        let (of_several, post) =
            seat.map_or((None, None), |seat| (Some(seat.records), Some((seat.post, seat.recording))));
        let recent = gtpp.as_ref().map(|gtpp| gtpp::recent(&core, &*disk, &gtpp.mapping)).transpose();
        let recent = recent.map_err(reads)?.unwrap_or_default();
        let trust = Arc::new(trust);
        let core = core.trusting(Arc::clone(&trust));
        let mut book = Book::start(core, recent, log, options, &told, recorded.clone()).map_err(thread)?;
        if let Some((member, tail)) = replicated {
            book.replicate(member, &tail).map_err(thread)?;
        }
        let heard = Arc::new(book::Told::new(threads));
        let gtpp = gtpp.map(|gtpp| {
            // Nodes of one ledger say the same, as it is one quota server, and one gateway, to those who ask.
            let restart_counter = local.state_id as u8;
            let of_ledger = || book.look(|core| Gateway::of_ledger(core, &gtpp.allow, restart_counter));
            let gateway = match &gtpp.place {
                Some(place) => Some(Gateway::start(place, &gtpp.allow, options, &heard)?),
                None => takes.then(of_ledger),
            };
            Ok(Gtpp::new(gtpp.mapping, gtpp.allow, gateway, gtpp.redirect_to, restart_counter))
        });
        let gtpp = gtpp.transpose().map_err(reads)?;
        let shared = Arc::new(Shared {
            local,
            terms,
            trust,
            control: listens.iter().map(|listen| matches!(listen, Listen::Unix { .. })).collect(),
            book,
            routes: Routes::default(),
            gtpp,
            profiles,
            counts: (0..threads).map(|_| Mutex::default()).collect(),
            traffic: (0..threads).map(|_| Mutex::default()).collect(),
            series: Mutex::default(),
            clients: Clients::default(),
            callers: Callers::new(peering, house::present() as u32),
            begun: house::present().unsigned_abs(),
            retaining: Arc::clone(&retaining),
            records: recorded.clone(),
            connections: AtomicU32::new(0),
            net: OnceLock::new(),
        });
        if let Some((post, recording)) = post {
            recording.into_iter().for_each(|recording| shared.book.desk().set_recording(recording, house::present()));
            shared.book.flush();
            post.lead(Arc::clone(&shared));
        }
        let alone = Alone(Arc::clone(&shared));
        let forward = forward.zip(recorded.clone());
        if let Some((_, told)) = &forward {
            let known = shared.book.look(|core| core.state().forwarding().map(|forwarding| forwarding.at.file));
            known.into_iter().for_each(|file| told.spare(file));
        }
        let records = records.zip(recorded).map(|(setup, told)| Records::start(disk, setup, told, alone, None));
        let records = records.transpose().map_err(thread)?.or(of_several);
        let forward = forward.map(|(setup, told)| Forward::start(Arc::clone(&shared), told, setup));
        let forward = forward.transpose().map_err(thread)?;
        let seat = Arc::clone(&shared);
        let server = doorway.start(move |of| Worker::new(Arc::clone(&seat), &of))?;
        // Nobody else sets it.
        let _once = shared.net.set(server.figures());
        let waker = server.waker();
        told.set(waker.clone());
        heard.set(waker.clone());
        if let Some(profiles) = &shared.profiles {
            profiles.set(waker.clone());
        }
        let house = House::start(Arc::clone(&shared), waker).map_err(thread)?;
        let addresses = server.addresses().to_vec();
        let (server, house, folds) = (Some(server), Some(house), Some(folds));
        Ok(Node { shared, server, house, folds, records, forward, received, addresses })
    }
}

impl Shared {
    /// What all threads answered until now.
    fn traffic(&self) -> Traffic {
        let mut sum = Traffic::default();
        for traffic in &self.traffic {
            sum.add(&traffic.lock().unwrap_or_else(PoisonError::into_inner));
        }
        sum
    }
}

impl Node {
    /// Where it listens, in the order of [`Setup::listens`], then of [`GtppSetup::listens`]; none for unix sockets.
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

    /// What the engine of connections has counted, and what it holds.
    pub fn net(&self) -> (trunkline_net::Counts, Gauges) {
        self.shared.net.get().map(|net| (net.counts(), net.gauges())).unwrap_or_default()
    }

    /// How the peers are that it dials.
    pub fn calls(&self) -> Vec<crate::peer::Shown> {
        self.shared.callers.shown()
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

    /// How records get on; none where none are made.
    pub fn records(&self) -> Option<&Arc<records::Told>> {
        self.shared.records.as_ref()
    }

    /// What is wrong and does not end it, a sentence each.
    pub fn troubles(&self) -> Vec<String> {
        let failed = self.folds.as_ref().is_some_and(Folds::has_failed);
        let what = "charging makes no snapshots of the ledger any more, as their thread has failed: restart it soon, \
            each start takes longer";
        let clock = self.shared.book.desk().clock().trouble();
        failed.then(|| what.to_owned()).into_iter().chain(clock).collect()
    }

    /// Why the ledger cannot be written any more, if so: the node has to end.
    pub fn failure(&self) -> Option<String> {
        let failed = self.server.as_ref().is_some_and(Server::has_failed)
            || self.house.as_ref().is_some_and(House::has_failed)
            || self.records.as_ref().is_some_and(Records::has_failed)
            || self.received.as_ref().is_some_and(Received::has_failed)
            || self.forward.as_ref().is_some_and(Forward::has_failed);
        let gateway = || self.shared.gtpp.as_ref()?.gateway.as_ref()?.failure();
        let written = self.shared.book.failure().or_else(gateway);
        written.or_else(|| failed.then(|| "a thread of the node has failed".to_owned()))
    }

    /// What the charging gateway function has counted, and the packets that it holds apart with their octets; none
    /// where GTP' is not served.
    pub fn gateway(&self) -> Option<(crate::gateway::receiver::Counts, (usize, usize))> {
        let gateway = self.shared.gtpp.as_ref()?.gateway.as_ref()?;
        Some((gateway.counts(), gateway.held()))
    }

    /// Ends: nothing new is taken, what came is answered, clients are told.
    ///
    /// # Errors
    /// Threads of the server failed.
    pub fn stop(&mut self) -> Result<(), ThreadsFailed> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        drop(self.forward.take());
        if let Some(gtpp) = &self.shared.gtpp {
            gtpp.redirect(&server.waker());
        }
        server.stop();
        let stopped = server.join();
        drop(self.house.take());
        drop(self.folds.take());
        drop(self.records.take());
        drop(self.received.take());
        stopped
    }
}
