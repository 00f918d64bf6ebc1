//! The job: the service of connections on threads of the network engine, and beside them one that keeps house.
//!
//! ```text
//!   net-0, net-1, ..  Service of the thread: connections, datagrams -> store
//!   cache-house       10 times a second: what has expired goes, lines go to those who watch, buffers are charged,
//!                     items are counted by size and age
//! ```
//!
//! Nothing is shared among the threads on the way of a request but the store, which is read without locks. What
//! `stats` tells of connections is counted by the engine; `stats conns` has a list of its own, touched when one comes
//! or goes ([`connections`]).

mod connections;
mod desk;
mod house;
mod metrics;
mod worker;

pub use desk::Told;
pub use metrics::samples;

use crate::protocol::Now;
use crate::service::{Host, HotKey, Settings, Shape, Shared, SlowCommand, Sums};
use crate::store::{Counts, Rules, Store};
use desk::Desk;
use house::House;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_net::{Doorway, Gauges, Listen, Options, StartError, ThreadsFailed};
use worker::Worker;

/// How a cache is set up.
#[derive(Debug)]
pub struct Setup {
    /// What the store may hold.
    pub rules: Rules,
    /// What clients may do.
    pub settings: Settings,
    /// Where it listens.
    pub listens: Vec<Listen>,
    /// How the engine runs. Its limits of input and output are set to what the protocols need.
    pub options: Options,
    /// Reads the certificates again, for `refresh_certs`; none where there is no TLS.
    pub certificates: Option<Certificates>,
}

/// Reads certificates again; the error is for a client to read.
pub struct Certificates(pub Box<dyn Fn() -> Result<(), String> + Send + Sync>);

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificates")
    }
}

/// A cache that serves. Dropped, it is stopped and waited for.
#[derive(Debug)]
pub struct Job {
    desk: Arc<Desk>,
    shared: Arc<Shared>,
    store: Arc<Store>,
    clock: Clock,
    _house: House,
    addresses: Vec<Option<SocketAddr>>,
}

/// What a cache has counted.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Of the commands.
    pub commands: Sums,
    /// Of the store.
    pub store: Counts,
    /// Of the engine.
    pub net: trunkline_net::Counts,
    /// What the engine holds now.
    pub held: Gauges,
    /// Octets that everything together may take.
    pub limit_octets: u64,
}

/// A cache that listens, and that nobody serves yet.
#[derive(Debug)]
pub struct Opened {
    doorway: Doorway,
    rules: Rules,
    settings: Settings,
    listens: Vec<Listen>,
    certificates: Option<Certificates>,
}

/// The time since a moment: what the store's seconds are counted from.
#[derive(Clone, Copy, Debug)]
struct Clock {
    started: Instant,
}

impl Clock {
    /// memcached's clock begins at 2, so that 0 and 1 are before everything.
    const FIRST_SECOND: u64 = 2;

    fn now(&self) -> Now {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock::moment(self.started.elapsed(), unix)
    }

    fn moment(monotonic: Duration, unix: Duration) -> Now {
        let second = u32::try_from(monotonic.as_secs() + Clock::FIRST_SECOND).unwrap_or(u32::MAX);
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Now { second, unix_us: us(unix), monotonic_us: us(monotonic) }
    }
}

impl Opened {
    /// Begins to serve.
    ///
    /// # Errors
    /// The system has no thread left: nothing stays open then.
    pub fn start(self) -> Result<Job, StartError> {
        let clock = Clock { started: Instant::now() };
        let store = Store::new(self.rules);
        let desk = Arc::new(Desk::new(self.certificates, &self.listens));
        let shared = Shared::new(Arc::clone(&store), self.settings, Arc::clone(&desk) as Arc<_>, clock.now());
        let (make, seat) = (Arc::clone(&shared), Arc::clone(&desk));
        let server = self.doorway.start(move |of| Worker::new(&make, &seat, of.clock))?;
        let addresses = server.addresses().to_vec();
        let waker = server.waker();
        desk.open(server, &addresses);
        let house = House::start(clock, &store, Arc::clone(&shared), Arc::clone(&desk), waker);
        let house = house.map_err(|error| {
            // The reason to give up is told; threads that failed meanwhile tell nothing more.
            let _ = desk.close();
            StartError::System { what: "a thread", error }
        })?;
        Ok(Job { desk, shared, store, clock, _house: house, addresses })
    }
}

impl Job {
    /// Opens what it listens to. Between this and [`Opened::start`] a program gives up the rights that it needed.
    ///
    /// # Errors
    /// An option makes no sense, or an address cannot be had: nothing stays open then.
    pub fn open(setup: Setup) -> Result<Opened, StartError> {
        let Setup { rules, settings, listens, options, certificates } = setup;
        let doorway = trunkline_net::open(&listens, worker::fitted(options))?;
        Ok(Opened { doorway, rules, settings, listens, certificates })
    }

    /// Where it listens, in the order of [`Setup::listens`]; none for unix sockets.
    pub fn addresses(&self) -> &[Option<SocketAddr>] {
        &self.addresses
    }

    /// What was counted until now.
    pub fn figures(&self) -> Figures {
        let (net, held) = self.desk.net();
        let commands = self.shared.sums_in_all();
        Figures { commands, store: self.store.counts(), net, held, limit_octets: self.store.limit() }
    }

    /// The keys that are asked for and written most, the hottest first: at most [`crate::service::HOT_KEYS_MAX`].
    pub fn hot_keys(&self) -> Vec<HotKey> {
        self.shared.hot_keys(self.clock.now())
    }

    /// The last commands that took long ([`Settings::slow_ms`]), the latest first: at most
    /// [`crate::service::SLOW_COMMANDS_MAX`].
    pub fn slow_commands(&self) -> Vec<SlowCommand> {
        self.shared.slow_commands()
    }

    /// How many items of which size and age there were when they were all met last; none before that.
    pub fn shape(&self) -> Option<Arc<Shape>> {
        self.shared.shape()
    }

    /// Waits until a client has asked for the end (`shutdown`), or for `most`. Whether one has.
    pub fn wait(&self, most: Duration) -> bool {
        self.desk.wait(most)
    }

    /// Reads the certificates again.
    ///
    /// # Errors
    /// Why those before are still shown.
    pub fn refresh_certificates(&self) -> Result<(), String> {
        self.desk.refresh_certificates()
    }

    /// Ends: nothing new is taken, what came is answered.
    ///
    /// # Errors
    /// Threads of the server failed.
    pub fn stop(&self) -> Result<(), ThreadsFailed> {
        self.desk.close()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Who wants to know whether threads failed has called `stop`.
        let _ = self.desk.close();
    }
}
