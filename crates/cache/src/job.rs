//! The job: the service of connections on threads of the network engine, and beside them one that keeps house.
//!
//! ```text
//!   net-0, net-1, ..  Service of the thread: connections, datagrams -> store
//!   cache-house       10 times a second: what has expired goes, lines go to those who watch, buffers are charged,
//!                     items are counted by size and age
//! ```
//!
//! With `-e` the items of the last run are read in before anybody is served, and written when nobody is any more
//! ([`ImageFile`]).
//!
//! Nothing is shared among the threads on the way of a request but the store, which is read without locks. What
//! `stats` tells of connections is counted by the engine; `stats conns` has a list of its own, touched when one comes
//! or goes ([`connections`]).

mod connections;
mod desk;
mod house;
mod image;
mod metrics;
mod own;
pub mod route;
mod warm;
mod worker;

pub use desk::Told;
pub use image::{Checked, ImageFailed, ImageFile, Progress, Recalled, Saved, Spoilt, check};
pub use metrics::samples;
pub use own::{Handle, OwnCache};
pub use warm::{Connect, Ending, PeerStream, WarmUp, Warmed};

use crate::protocol::Now;
use crate::service::{Host, HotKey, Settings, Shape, Shared, SlowCommand, Sums};
use crate::store::{Counts, Rules, Store};
use desk::Desk;
use house::House;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_net::{Doorway, Gauges, Listen, Options, StartError, ThreadsFailed};
use warm::Warming;
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
    /// A peer to warm up from, once it serves.
    pub warm_up: Option<WarmUp>,
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
    threads: usize,
    house: Mutex<Option<House>>,
    warming: Mutex<Option<Warming>>,
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
    /// How it warms up from a peer, if it was told to.
    pub warmed: Option<Warmed>,
    /// Uses of keys that `stats detail` has no room for.
    pub detail_left_out: u64,
}

/// A cache that listens, and that nobody serves yet.
#[derive(Debug)]
pub struct Opened {
    doorway: Doorway,
    store: Arc<Store>,
    /// The second at which the store's clock begins.
    second: u32,
    threads: usize,
    settings: Settings,
    listens: Vec<Listen>,
    certificates: Option<Certificates>,
    warm_up: Option<WarmUp>,
}

/// The time since a moment: what the store's seconds are counted from.
#[derive(Clone, Copy, Debug)]
struct Clock {
    started: Instant,
    /// The second of the store then: a cache that begins with the items of the last run goes on with its clock.
    second: u32,
}

impl Clock {
    /// memcached's clock begins at 2, so that 0 and 1 are before everything.
    const FIRST_SECOND: u32 = 2;

    fn now(&self) -> Now {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.moment(self.started.elapsed(), unix)
    }

    fn moment(&self, monotonic: Duration, unix: Duration) -> Now {
        let second = u32::try_from(monotonic.as_secs().saturating_add(u64::from(self.second))).unwrap_or(u32::MAX);
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Now { second, unix_us: us(unix), monotonic_us: us(monotonic) }
    }
}

impl Opened {
    /// Reads the image of the last run, if there is one, and takes it away. Clients that connect meanwhile wait.
    ///
    /// # Errors
    /// It is none, or cannot be taken away: then nothing may be served.
    pub fn recall(&mut self, image: &ImageFile, progress: Progress<'_>) -> Result<Option<Recalled>, ImageFailed> {
        let recalled = image.load(&self.store, self.threads, progress)?;
        image.take_away()?;
        self.second = recalled.as_ref().map_or(self.second, |recalled| recalled.second.max(self.second));
        Ok(recalled)
    }

    /// Begins to serve.
    ///
    /// # Errors
    /// The system has no thread left: nothing stays open then.
    pub fn start(self) -> Result<Job, StartError> {
        let (clock, store) = (Clock { started: Instant::now(), second: self.second }, self.store);
        let desk = Arc::new(Desk::new(self.certificates, &self.listens));
        let shared = Shared::new(Arc::clone(&store), self.settings, Arc::clone(&desk) as Arc<_>, clock.now());
        if self.warm_up.is_some() {
            // Before the first request: what a client changes must be known from the beginning. Without the memory for
            // it the warm-up ends at once, and tells so.
            store.note_changes();
        }
        let (make, seat) = (Arc::clone(&shared), Arc::clone(&desk));
        let server = self.doorway.start(move |of| Worker::new(&make, &seat, clock, of.clock))?;
        let addresses = server.addresses().to_vec();
        let waker = server.waker();
        desk.open(server, &addresses);
        let house = House::start(clock, &store, Arc::clone(&shared), Arc::clone(&desk), waker);
        let warming = self.warm_up.map(|warm_up| Warming::start(warm_up, &store, clock)).transpose();
        let both = house.and_then(|house| Ok((house, warming?))).map_err(|error| {
            // The reason to give up is told; threads that failed meanwhile tell nothing more.
            let _ = desk.close();
            StartError::System { what: "a thread", error }
        });
        let (house, warming) = both?;
        desk.warms(warming.as_ref().map(Warming::progress));
        let (house, warming, threads) = (Mutex::new(Some(house)), Mutex::new(warming), self.threads);
        Ok(Job { desk, shared, store, clock, threads, house, warming, addresses })
    }
}

impl Job {
    /// Opens what it listens to. Between this and [`Opened::start`] a program gives up the rights that it needed.
    ///
    /// # Errors
    /// An option makes no sense, or an address cannot be had: nothing stays open then.
    pub fn open(setup: Setup) -> Result<Opened, StartError> {
        let Setup { rules, settings, listens, options, certificates, warm_up } = setup;
        let threads = options.threads;
        let doorway = trunkline_net::open(&listens, worker::fitted(options))?;
        let (store, second) = (Store::new(rules), Clock::FIRST_SECOND);
        Ok(Opened { doorway, store, second, threads, settings, listens, certificates, warm_up })
    }

    /// Where it listens, in the order of [`Setup::listens`]; none for unix sockets.
    pub fn addresses(&self) -> &[Option<SocketAddr>] {
        &self.addresses
    }

    /// What was counted until now.
    pub fn figures(&self) -> Figures {
        let (net, held) = self.desk.net();
        let commands = self.shared.sums_in_all();
        let (limit_octets, warmed) = (self.store.limit(), self.desk.warmed());
        let detail_left_out = self.shared.detail_left_out();
        Figures { commands, store: self.store.counts(), net, held, limit_octets, warmed, detail_left_out }
    }

    /// How it warms up from a peer, if it was told to.
    pub fn warmed(&self) -> Option<Warmed> {
        self.desk.warmed()
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

    /// Stops, and writes all items to the image, for the next start.
    ///
    /// # Errors
    /// It cannot be written: then there is none, and the next start is a cold one.
    pub fn save(&self, image: ImageFile, progress: Progress<'_>) -> Result<Saved, ImageFailed> {
        // Who wants to know whether threads failed has called `stop`.
        let _ = self.desk.close();
        drop(self.warming.lock().unwrap_or_else(PoisonError::into_inner).take());
        drop(self.house.lock().unwrap_or_else(PoisonError::into_inner).take());
        image.save(&self.store, self.clock.now().second, self.threads, progress)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Who wants to know whether threads failed has called `stop`.
        let _ = self.desk.close();
    }
}
