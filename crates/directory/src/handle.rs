//! What the rest of the program holds: it asks without waiting, from any thread.

use crate::counts::Shown;
use crate::identity::Identity;
use crate::look_ups::LookedUp;
use crate::operation::{Answer, Failure, Operation};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::mpsc;

/// How long the engine may take to tell its counts.
const SHOWN_WITHIN: Duration = Duration::from_secs(1);

/// The way to the engine; clones lead to the same one.
#[derive(Clone)]
pub struct Directory {
    commands: mpsc::Sender<Command>,
    places: Places,
}

/// The end of a look-up or request.
#[derive(Debug)]
pub struct Completion {
    /// What the caller gave with it.
    pub token: u64,
    /// What came of it.
    pub ended: Ended,
    /// It has its place until it is dropped.
    _place: Place,
}

/// What came of a look-up or request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A look-up.
    LookedUp(LookedUp),
    /// A request.
    Answered(Result<Answer, Failure>),
}

/// Why nothing was taken: there will be no completion.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// As many as may be have no end yet.
    #[error("too many look-ups of the directory have no end yet")]
    Full,
    /// The engine has ended.
    #[error("the directory's engine was stopped")]
    Stopped,
}

impl Directory {
    pub(crate) fn new(commands: mpsc::Sender<Command>, outstanding: usize) -> Directory {
        Directory { commands, places: Places { taken: Arc::default(), most: outstanding } }
    }

    /// Looks a subscriber up. It does not wait; what came of it is told with the token.
    ///
    /// # Errors
    /// It was not taken.
    pub fn look_up(&self, identity: Identity, token: u64) -> Result<(), Refused> {
        let caller = self.places.caller(token)?;
        self.send(Command::LookUp(identity, caller))
    }

    /// Asks for anything else. It does not wait; what came of it is told with the token.
    ///
    /// # Errors
    /// It was not taken.
    pub fn submit(&self, operation: Operation, token: u64) -> Result<(), Refused> {
        let caller = self.places.caller(token)?;
        self.send(Command::Ask(operation, caller))
    }

    /// What is remembered of an identity is not true any more. What is being searched is told, but not remembered.
    ///
    /// # Errors
    /// It was not taken.
    pub fn forget(&self, identity: Identity) -> Result<(), Refused> {
        self.send(Command::Forget(identity))
    }

    /// What is counted, and how the servers are. It waits for the engine, at most a second; none if it has ended.
    pub fn shown(&self) -> Option<Shown> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.send(Command::Show(sender)).ok()?;
        receiver.recv_timeout(SHOWN_WITHIN).ok()
    }

    /// Look-ups and requests that have no end yet, or whose completion is still held.
    pub fn outstanding(&self) -> usize {
        self.places.taken.load(Ordering::Relaxed)
    }

    fn send(&self, command: Command) -> Result<(), Refused> {
        self.commands.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Refused::Full,
            mpsc::error::TrySendError::Closed(_) => Refused::Stopped,
        })
    }
}

/// Shows how many are outstanding.
impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Directory({} outstanding)", self.outstanding())
    }
}

/// What the engine is to do.
pub(crate) enum Command {
    LookUp(Identity, Caller),
    Ask(Operation, Caller),
    Forget(Identity),
    Show(SyncSender<Shown>),
    Stop,
}

/// Who has asked.
#[derive(Debug)]
pub(crate) struct Caller {
    token: u64,
    place: Place,
}

impl Caller {
    pub(crate) fn completion(self, ended: Ended) -> Completion {
        Completion { token: self.token, ended, _place: self.place }
    }
}

/// Places for what has no end yet: so many, whoever asks.
#[derive(Clone, Debug)]
struct Places {
    taken: Arc<AtomicUsize>,
    most: usize,
}

impl Places {
    fn caller(&self, token: u64) -> Result<Caller, Refused> {
        // The count orders nothing else.
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let place = Place { taken: self.taken.clone() };
        if before < self.most { Ok(Caller { token, place }) } else { Err(Refused::Full) }
    }
}

/// A place, given back when it is dropped.
#[derive(Debug)]
struct Place {
    taken: Arc<AtomicUsize>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
