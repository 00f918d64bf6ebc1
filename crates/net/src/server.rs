//! Starting and stopping a server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::bell::Bell;
use crate::clock::Clock;
use crate::counts::{Counts, Gauges};
use crate::error::StartError;
use crate::events::{Source, Sources};
use crate::handshake::Handshaker;
use crate::mailbox::Waker;
use crate::options::{Listen, Options};
use crate::service::Service;
use crate::shared::Shared;
use crate::sockets::{self, Opened, SocketFile, Sockets};
use crate::thread::Worker;

/// What a service is made for.
#[derive(Clone, Debug)]
pub struct Seat<M> {
    /// The number of the thread, from 0.
    pub thread: u16,
    /// How many there are.
    pub threads: usize,
    /// The clock of the [`crate::Now`] that the service is handed.
    pub clock: Clock,
    /// Sends mail to this thread and the others.
    pub waker: Waker<M>,
}

/// A server that runs; dropped, it is stopped and waited for.
pub struct Server<M> {
    shared: Arc<Shared<M>>,
    threads: Vec<JoinHandle<()>>,
    addresses: Vec<Option<SocketAddr>>,
    _files: Vec<SocketFile>,
}

/// A thread of a server failed: its service panicked. What it served was closed; the others went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} threads of the server failed")]
pub struct ThreadsFailed(pub usize);

/// Opens all listeners, then starts the threads; `factory` is called in each of them for its service.
///
/// # Errors
/// An option makes no sense, a listener cannot be opened, or the system has no thread or descriptor left: nothing
/// stays open then.
pub fn start<S, F>(listens: &[Listen], options: Options, factory: F) -> Result<Server<S::Mail>, StartError>
where
    S: Service,
    F: Fn(Seat<S::Mail>) -> S + Send + Sync + 'static,
{
    open(listens, options)?.start(factory)
}

/// Opens all listeners, and starts nothing yet: between the two a program gives up the rights that opening needed.
///
/// # Errors
/// An option makes no sense, or a listener cannot be opened: nothing stays open then.
pub fn open(listens: &[Listen], options: Options) -> Result<Doorway, StartError> {
    options.check(listens)?;
    let opened = sockets::open(listens, options.threads, &options.limits, options.segmentation)?;
    let encrypted = listens.iter().any(|l| matches!(l, Listen::Tcp { tls: Some(_), .. }));
    Ok(Doorway { opened, encrypted, options })
}

/// Listeners that are open, and that nobody serves yet.
#[derive(Debug)]
pub struct Doorway {
    opened: Opened,
    encrypted: bool,
    options: Options,
}

impl Doorway {
    /// Starts the threads; `factory` is called in each of them for its service.
    ///
    /// # Errors
    /// The system has no thread or descriptor left: nothing stays open then.
    pub fn start<S, F>(self, factory: F) -> Result<Server<S::Mail>, StartError>
    where
        S: Service,
        F: Fn(Seat<S::Mail>) -> S + Send + Sync + 'static,
    {
        let Doorway { opened: Opened { threads: sockets, addresses, files }, encrypted, options } = self;
        let handshakers = if encrypted { options.handshake_threads } else { 0 };
        let clock = Clock::new(Instant::now());
        let shared = Shared::new(options, handshakers, clock).map_err(|e| StartError::system("eventfd", e))?;
        let shared = Arc::new(shared);
        // From here on, dropping it stops what was started.
        let mut server = Server { shared, threads: Vec::new(), addresses, _files: files };
        let factory = Arc::new(factory);
        for (number, sockets) in sockets.into_iter().enumerate() {
            server.start_worker(number, sockets, Arc::clone(&factory))?;
        }
        for number in 0..handshakers {
            server.start_handshaker(number)?;
        }
        Ok(server)
    }
}

impl<M: Send + 'static> Server<M> {
    fn start_worker<S, F>(&mut self, number: usize, sockets: Sockets, factory: Arc<F>) -> Result<(), StartError>
    where
        S: Service<Mail = M>,
        F: Fn(Seat<M>) -> S + Send + Sync + 'static,
    {
        let sources = sources_of(&sockets, &self.shared.mailboxes[number].bell);
        let sources = sources.map_err(|e| StartError::system("epoll", e))?;
        let shared = Arc::clone(&self.shared);
        let thread = u16::try_from(number).unwrap_or(u16::MAX);
        let seat = Seat { thread, threads: shared.options.threads, clock: shared.clock, waker: self.waker() };
        let processors = &shared.options.processors;
        let processor = processors.get(number % processors.len().max(1)).copied();
        self.spawn(format!("net-{number}"), move || {
            let pinned = processor.is_none_or(pin);
            let counts = Counts { unpinned: u64::from(!pinned), ..Counts::default() };
            Worker::new(thread, factory(seat), sockets, sources, shared, counts).run();
        })
    }

    fn start_handshaker(&mut self, number: usize) -> Result<(), StartError> {
        let sources = sources_of(&Sockets::default(), self.shared.pool.bell(number));
        let sources = sources.map_err(|e| StartError::system("epoll", e))?;
        let shared = Arc::clone(&self.shared);
        self.spawn(format!("net-tls-{number}"), move || Handshaker::new(number, sources, shared).run())
    }

    fn spawn(&mut self, name: String, runs: impl FnOnce() + Send + 'static) -> Result<(), StartError> {
        let thread = std::thread::Builder::new().name(name).spawn(runs);
        self.threads.push(thread.map_err(|e| StartError::system("a thread", e))?);
        Ok(())
    }

    /// Sends mail to its threads and connections.
    pub fn waker(&self) -> Waker<M> {
        Waker::new(Arc::clone(&self.shared.mailboxes))
    }
}

impl<M> Server<M> {
    /// Where it listens: for each listener its address with the port that was taken; none for unix sockets.
    pub fn addresses(&self) -> &[Option<SocketAddr>] {
        &self.addresses
    }

    /// All that was counted since it was started; of a round that is going on, not yet.
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// What it holds now.
    pub fn gauges(&self) -> Gauges {
        self.shared.gauges()
    }

    /// Its figures, for others than its owner.
    pub fn figures(&self) -> Figures<M> {
        Figures(Arc::clone(&self.shared))
    }

    /// Whether a thread has ended though nobody stopped it: its service panicked, and nobody serves its connections.
    pub fn has_failed(&self) -> bool {
        !self.shared.is_stopping() && self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops it: nothing new is taken, what came is answered, what was said goes out within [`crate::Limits::stop`].
    /// Does not wait for that.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Waits until it has ended, after [`Server::stop`].
    ///
    /// # Errors
    /// How many threads failed.
    pub fn join(&mut self) -> Result<(), ThreadsFailed> {
        let failed = self.threads.drain(..).map(JoinHandle::join).filter(Result::is_err).count();
        if failed == 0 { Ok(()) } else { Err(ThreadsFailed(failed)) }
    }
}

/// The figures of a server, also when it has ended.
pub struct Figures<M>(Arc<Shared<M>>);

impl<M> Figures<M> {
    /// As [`Server::counts`].
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }

    /// As [`Server::gauges`].
    pub fn gauges(&self) -> Gauges {
        self.0.gauges()
    }
}

impl<M> Drop for Server<M> {
    fn drop(&mut self) {
        self.stop();
        // Who wants to know whether threads failed has asked before.
        let _ = self.join();
    }
}

/// What a thread waits for: its sockets and its bell.
fn sources_of(sockets: &Sockets, bell: &Bell) -> Result<Sources, Errno> {
    let all = Sources::new()?;
    all.add_bell(bell)?;
    for (at, door) in sockets.doors.iter().enumerate() {
        all.add_socket(&door.socket, Source::Door(at), door.unix)?;
    }
    for (at, udp) in sockets.udp.iter().enumerate() {
        all.add_socket(&udp.socket, Source::Udp(at), false)?;
    }
    Ok(all)
}

/// Keeps this thread on one processor; false where the system refuses: it runs anywhere then.
fn pin(processor: usize) -> bool {
    let mut set = CpuSet::new();
    if processor >= CpuSet::MAX_CPU {
        return false;
    }
    set.set(processor);
    sched_setaffinity(None, &set).is_ok()
}
