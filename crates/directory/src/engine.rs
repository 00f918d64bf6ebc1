//! The engine: a thread that lets what decides meet sockets and the clock.

use crate::address::{Security, ServerAddress};
use crate::connect::{self, Dial};
use crate::counts::Shown;
use crate::handle::{Caller, Command, Completion, Directory, Ended};
use crate::identity::Identity;
use crate::link::{self, Event};
use crate::look_ups::{LookUpOptions, LookUps, Step};
use crate::memory::{Bounded, Memory};
use crate::operation::{Answer, Failure, Operation};
use crate::pool::{Action, Link, Pool, PoolOptions};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_rustls::TlsConnector;
use trunkline_wire::ldap::Request;

/// Commands beside look-ups and requests that may wait for the engine.
const COMMANDS_BESIDE: usize = 1024;
/// Commands and events that are taken at once.
const BATCH: usize = 1024;
/// Blocks of responses that wait for the engine; then their connections are not read.
const EVENTS_MAX: usize = 64;
/// How long connections may take to say good-bye when the engine ends.
const GOOD_BYE: Duration = Duration::from_millis(500);

/// How the engine is cut; made by [`DirectorySection::options`](crate::DirectorySection::options).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) servers: Vec<ServerAddress>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) bind_name: String,
    pub(crate) bind_password_file: Option<PathBuf>,
    pub(crate) connect_timeout: Duration,
    pub(crate) outstanding: usize,
    pub(crate) memory_octets: usize,
    pub(crate) pool: PoolOptions,
    pub(crate) look_ups: LookUpOptions,
}

/// Why the engine does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A file cannot be read or holds something else.
    #[error("{}: {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// No thread, or nothing for it to wait on.
    #[error("the directory's engine cannot be started: {0}")]
    System(#[from] std::io::Error),
}

/// The engine while it runs. When this is dropped it ends: all that has no end yet gets it, connections are closed.
#[derive(Debug)]
pub struct Running {
    commands: mpsc::Sender<Command>,
    thread: Option<JoinHandle<()>>,
}

/// What is called with each completion, on the engine's thread: it must not wait, and must not drop [`Running`]. A
/// channel without a limit of its own will do: as long as a completion is held, its place is taken.
pub type Completions = Box<dyn FnMut(Completion) + Send>;

/// Starts the engine with a memory of its own.
///
/// # Errors
/// A file cannot be read, or there is no thread. Servers that are not there are no error: they are tried again.
pub fn start(options: Options, completions: Completions) -> Result<(Directory, Running), StartError> {
    let memory = Bounded::new(usize::MAX, options.memory_octets);
    start_with(options, Box::new(memory), completions)
}

/// Starts the engine with another memory.
///
/// # Errors
/// As [`start`].
pub fn start_with(
    options: Options,
    memory: Box<dyn Memory>,
    completions: Completions,
) -> Result<(Directory, Running), StartError> {
    prepare(options)?.start(memory, completions)
}

/// An engine whose files have been read: a program may give up its rights before it starts.
#[derive(Clone)]
pub struct Prepared {
    options: Options,
    dials: Vec<Arc<Dial>>,
}

/// Shows the options: what stood in the files does not.
impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Prepared").field(&self.options).finish()
    }
}

/// Reads the files that the options name: certificates, the password.
///
/// # Errors
/// A file cannot be read, or holds something else.
pub fn prepare(options: Options) -> Result<Prepared, StartError> {
    Ok(Prepared { dials: dials(&options)?, options })
}

impl Prepared {
    /// Octets that profiles may take that are remembered.
    pub fn memory_octets(&self) -> usize {
        self.options.memory_octets
    }

    /// Starts the engine.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(self, memory: Box<dyn Memory>, completions: Completions) -> Result<(Directory, Running), StartError> {
        let Prepared { options, dials } = self;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(2).build()?;
        let (commands, receiver) = mpsc::channel(options.outstanding.saturating_add(COMMANDS_BESIDE));
        let directory = Directory::new(commands.clone(), options.outstanding);
        let engine = move || {
            let (events, heard) = mpsc::channel(EVENTS_MAX);
            let engine = Engine::new(options, dials, memory, completions, events);
            runtime.block_on(engine.run(receiver, heard));
            // A name that is being resolved is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("directory".to_owned()).spawn(engine)?;
        Ok((directory, Running { commands, thread: Some(thread) }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Where there is no room for it the engine is busy, and looks again soon.
        while let Err(mpsc::error::TrySendError::Full(_)) = self.commands.try_send(Command::Stop) {
            std::thread::yield_now();
        }
        if let Some(thread) = self.thread.take() {
            // It has told its panic itself.
            let _ = thread.join();
        }
    }
}

fn dials(options: &Options) -> Result<Vec<Arc<Dial>>, StartError> {
    let needs_tls = options.servers.iter().any(|server| server.security != Security::Plain);
    let tls: Option<TlsConnector> = needs_tls.then(|| connect::connector(options.ca_file.as_deref())).transpose()?;
    let password = options.bind_password_file.as_deref().map(connect::password).transpose()?.unwrap_or_default();
    let dial = |address: &ServerAddress| {
        let (tls, name, password) = (tls.clone(), options.bind_name.clone(), password.clone());
        Arc::new(Dial { address: address.clone(), tls, name, password })
    };
    Ok(options.servers.iter().map(dial).collect())
}

/// Whose a request of the pool is.
#[derive(Debug)]
enum Owner {
    LookUp(Identity),
    Caller(Caller),
}

/// A connection as the engine sees it.
struct Wire {
    task: AbortHandle,
    /// There when it is ready.
    sender: Option<mpsc::UnboundedSender<Vec<u8>>>,
    /// What was not handed over yet.
    output: Vec<u8>,
}

struct Engine {
    began: Instant,
    connect_timeout: Duration,
    message_octets_max: usize,
    dials: Vec<Arc<Dial>>,
    pool: Pool<Owner>,
    look_ups: LookUps<Caller>,
    wires: HashMap<Link, Wire>,
    written: Vec<Link>,
    events: mpsc::Sender<Event>,
    completions: Completions,
}

impl Engine {
    fn new(
        options: Options,
        dials: Vec<Arc<Dial>>,
        memory: Box<dyn Memory>,
        completions: Completions,
        events: mpsc::Sender<Event>,
    ) -> Engine {
        Engine {
            began: Instant::now(),
            connect_timeout: options.connect_timeout,
            message_octets_max: options.pool.answer_octets_max,
            dials,
            pool: Pool::new(options.pool),
            look_ups: LookUps::new(options.look_ups, memory),
            wires: HashMap::new(),
            written: Vec::new(),
            events,
            completions,
        }
    }

    async fn run(mut self, mut commands: mpsc::Receiver<Command>, mut heard: mpsc::Receiver<Event>) {
        let (mut asked, mut told) = (Vec::with_capacity(BATCH), Vec::with_capacity(EVENTS_MAX));
        let mut goes_on = true;
        while goes_on {
            self.pool.handle_timeout(self.began.elapsed());
            self.act();
            tokio::select! {
                count = commands.recv_many(&mut asked, BATCH) => goes_on = count > 0,
                _ = heard.recv_many(&mut told, EVENTS_MAX) => {}
                () = until(self.began, self.pool.deadline()) => {}
            }
            let now = self.began.elapsed();
            told.drain(..).for_each(|event| self.hear(now, event));
            for command in asked.drain(..) {
                goes_on &= self.obey(now, command);
            }
        }
        self.end(heard).await;
    }

    /// No, if it is the end.
    fn obey(&mut self, now: Duration, command: Command) -> bool {
        match command {
            Command::LookUp(identity, caller) => match self.look_ups.look_up(wall_ms(), &identity, caller) {
                Step::Known(caller, looked_up) => (self.completions)(caller.completion(Ended::LookedUp(looked_up))),
                Step::Waits => {}
                Step::Ask(operation) => self.pool.submit(now, Arc::new(operation), Owner::LookUp(identity)),
            },
            Command::Ask(operation, caller) => self.ask(now, operation, caller),
            Command::Forget(identity) => self.look_ups.forget(&identity),
            // Whoever has asked may have gone.
            Command::Show(sender) => drop(sender.try_send(self.shown())),
            Command::Stop => return false,
        }
        true
    }

    fn ask(&mut self, now: Duration, operation: Operation, caller: Caller) {
        self.pool.submit(now, Arc::new(operation), Owner::Caller(caller));
    }

    fn hear(&mut self, now: Duration, event: Event) {
        match event {
            Event::Opened(link, sender) => {
                if let Some(wire) = self.wires.get_mut(&link) {
                    wire.sender = Some(sender);
                    self.pool.opened(now, link);
                }
            }
            Event::Received(link, replies) => {
                replies.into_iter().for_each(|(id, reply)| self.pool.received(now, link, id, reply));
            }
            Event::Closed(link, why) => {
                self.wires.remove(&link);
                let why = format!("{}: {why}", self.dials[link.server].address);
                self.pool.closed(now, link, &why);
            }
        }
    }

    /// Does all that is to be done, then hands over what is to be written, once for each connection.
    fn act(&mut self) {
        while let Some(action) = self.pool.poll() {
            match action {
                Action::Open(link) => self.open(link),
                Action::Send(link, id, operation) => self.write(link, id, operation.request()),
                Action::Abandon(link, id, given_up) => self.write(link, id, Request::Abandon(given_up)),
                Action::Close(link) => {
                    if let Some(wire) = self.wires.remove(&link) {
                        wire.task.abort();
                    }
                }
                Action::Complete(owner, result) => self.complete(owner, result),
            }
        }
        for link in self.written.drain(..) {
            let Some(wire) = self.wires.get_mut(&link) else { continue };
            let output = std::mem::take(&mut wire.output);
            if let (Some(sender), false) = (&wire.sender, output.is_empty()) {
                // A connection that has ended is about to tell so.
                let _ = sender.send(output);
            }
        }
    }

    fn open(&mut self, link: Link) {
        let (dial, events) = (self.dials[link.server].clone(), self.events.clone());
        let task = link::serve(dial, link, self.connect_timeout, self.message_octets_max, events);
        let task = tokio::spawn(task).abort_handle();
        self.wires.insert(link, Wire { task, sender: None, output: Vec::new() });
    }

    fn write(&mut self, link: Link, id: u32, request: Request<'_>) {
        let Some(wire) = self.wires.get_mut(&link) else { return };
        if wire.output.is_empty() {
            self.written.push(link);
        }
        request.write(id, &mut wire.output);
    }

    fn complete(&mut self, owner: Owner, result: Result<Answer, Failure>) {
        match owner {
            Owner::Caller(caller) => (self.completions)(caller.completion(Ended::Answered(result))),
            Owner::LookUp(identity) => {
                let (callers, looked_up) = self.look_ups.answered(wall_ms(), &identity, result);
                for caller in callers {
                    (self.completions)(caller.completion(Ended::LookedUp(looked_up.clone())));
                }
            }
        }
    }

    fn shown(&self) -> Shown {
        let (pool, waiting, servers) = self.pool.shown();
        let names = self.dials.iter().map(|dial| dial.address.to_string().into());
        Shown {
            pool,
            waiting,
            look_ups: self.look_ups.counts,
            remembered: self.look_ups.held(),
            servers: names.zip(servers).collect(),
        }
    }

    /// Gives everything its end, and lets connections say good-bye.
    async fn end(mut self, mut heard: mpsc::Receiver<Event>) {
        self.pool.stop();
        self.act();
        self.wires.values_mut().for_each(|wire| drop(wire.sender.take()));
        let all_closed = async {
            while !self.wires.is_empty() {
                match heard.recv().await {
                    Some(Event::Closed(link, _)) => drop(self.wires.remove(&link)),
                    Some(_) => {}
                    None => return,
                }
            }
        };
        // Those that take longer are closed without it.
        let _ = tokio::time::timeout(GOOD_BYE, all_closed).await;
    }
}

/// Waits until a time since the beginning; without one, for ever.
async fn until(began: Instant, deadline: Option<Duration>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until((began + deadline).into()).await,
        None => std::future::pending().await,
    }
}

/// Milliseconds since 1970, UTC: the age of what is remembered has to hold over a restart.
fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
