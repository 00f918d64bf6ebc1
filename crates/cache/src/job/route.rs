//! The proxy: a [`Router`] on each thread of the network engine, and what the threads know together.

mod desk;
mod worker;

pub use crate::route::{Counts, Tally};

use crate::route::config::Config;
use desk::Desk;
use std::net::SocketAddr;
use std::sync::Arc;
use trunkline_kit::metrics::{Sample, labelled};
use trunkline_net::{Doorway, Gauges, Listen, Options, Remote, StartError, ThreadsFailed};
use worker::Worker;

/// How a proxy is set up.
#[derive(Debug)]
pub struct Setup {
    /// Pools and how they are used.
    pub config: Config,
    /// Where the servers of the configuration are, in its order.
    pub remotes: Vec<Remote>,
    /// Where it listens.
    pub listens: Vec<Listen>,
    /// How the engine runs. Its limits of input and output are set to what values need.
    pub options: Options,
    /// What clients are told by `version`.
    pub version: String,
}

/// A proxy that listens, and that nobody serves yet.
#[derive(Debug)]
pub struct Opened {
    doorway: Doorway,
    config: Config,
    remotes: Vec<Remote>,
    threads: usize,
    version: String,
}

/// A proxy that serves. Dropped, it is stopped and waited for.
#[derive(Debug)]
pub struct Job {
    desk: Arc<Desk>,
    addresses: Vec<Option<SocketAddr>>,
}

/// What a proxy has counted.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Of all threads.
    pub counts: Counts,
    /// Of each server: its pool, its name, what was counted, and of how many threads it is out.
    pub servers: Vec<ServerFigures>,
    /// Of the engine.
    pub net: trunkline_net::Counts,
    /// What the engine holds now.
    pub held: Gauges,
}

/// What was counted of a server.
#[derive(Clone, Debug)]
pub struct ServerFigures {
    /// The pool's name.
    pub pool: String,
    /// As it is written in the configuration.
    pub name: String,
    /// The counts.
    pub tally: Tally,
    /// Threads that do not ask it now.
    pub out: usize,
}

impl Job {
    /// Opens what it listens to. Between this and [`Opened::start`] a program gives up the rights that it needed.
    ///
    /// # Errors
    /// An option makes no sense, or an address cannot be had: nothing stays open then.
    pub fn open(setup: Setup) -> Result<Opened, StartError> {
        let Setup { config, remotes, listens, options, version } = setup;
        let options = worker::fitted(options, &config);
        let threads = options.threads;
        let doorway = trunkline_net::open(&listens, options)?;
        Ok(Opened { doorway, config, remotes, threads, version })
    }

    /// Where it listens, in the order of [`Setup::listens`]; none for unix sockets.
    pub fn addresses(&self) -> &[Option<SocketAddr>] {
        &self.addresses
    }

    /// What was counted until now.
    pub fn figures(&self) -> Figures {
        self.desk.figures()
    }

    /// Ends: nothing new is taken, what came is answered.
    ///
    /// # Errors
    /// Threads of the server failed.
    pub fn stop(&self) -> Result<(), ThreadsFailed> {
        self.desk.close()
    }
}

impl Opened {
    /// Begins to serve.
    ///
    /// # Errors
    /// The system has no thread left: nothing stays open then.
    pub fn start(self) -> Result<Job, StartError> {
        let config = Arc::new(self.config);
        let desk = Arc::new(Desk::new(Arc::clone(&config), self.threads, self.version));
        let (remotes, shared) = (Arc::new(self.remotes), Arc::clone(&desk));
        let server = self.doorway.start(move |seat| Worker::new(seat.thread, &config, &remotes, &shared))?;
        let addresses = server.addresses().to_vec();
        desk.open(server);
        Ok(Job { desk, addresses })
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Who wants to know whether threads failed has called `stop`.
        let _ = self.desk.close();
    }
}

/// All samples of a proxy, those of its engine among them.
pub fn samples(figures: &Figures) -> Vec<Sample> {
    let mut samples: Vec<Sample> = figures.counts.list().into_iter().map(Sample::from).collect();
    for (number, server) in figures.servers.iter().enumerate() {
        // No addresses: the number is that of `stats servers`.
        let label = |sample: Sample| sample.label("pool", &server.pool);
        samples.extend(labelled(server.tally.list(), "server", number).into_iter().map(label));
        let help = "threads of the proxy that do not ask the server now, because it failed too often";
        let out = Sample::gauge("trunkline_cache_route_server_out_threads", help, server.out as f64);
        samples.push(out.label("server", number).label("pool", &server.pool));
    }
    samples.extend(figures.net.list().into_iter().map(Sample::from));
    samples.extend(figures.held.list());
    samples
}
