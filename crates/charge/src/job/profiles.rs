//! Look-ups of subscribers in a directory: requests wait for them with their connection, nobody else does.
//!
//! ```text
//!   worker: request of a new session -> parked with its connection; token -> directory     (never waits)
//!   directory's thread: found, absent, failed -> mail to the connection
//!   worker: what the directory says -> book: an entry, if it is news; then the request as any other
//! ```

use super::worker::Mail;
use crate::account::Identity;
use crate::profile;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use trunkline_directory::counts::Shown;
use trunkline_directory::{Completion, Directory, Memory, Prepared, Running, StartError};
use trunkline_net::{ConnectionId, MailboxFull, Waker};

/// The way to a directory, and back. Dropped, it ends; what waits gets its end.
#[derive(Debug)]
pub struct Profiles {
    directory: Directory,
    returns: Arc<Returns>,
    /// How it was when it was looked at last.
    shown: Mutex<Shown>,
    _running: Running,
}

/// Who waits for an answer: a client of Diameter by its connection, gateways of GTP' by their thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whom {
    Connection(ConnectionId),
    Thread(u16),
}

/// Where answers of the directory go: whose they are, and those that found no room.
#[derive(Debug, Default)]
struct Returns {
    asked: Mutex<Asked>,
    late: Mutex<VecDeque<(Whom, Completion)>>,
    waker: OnceLock<Waker<Mail>>,
}

#[derive(Debug, Default)]
struct Asked {
    last: u64,
    by: HashMap<u64, Whom>,
}

impl Profiles {
    /// Begins to connect; profiles are remembered in `memory`.
    ///
    /// # Errors
    /// There is no thread. Servers that are not there are no error: they are tried again.
    pub fn start(prepared: Prepared, memory: Box<dyn Memory>) -> Result<Profiles, StartError> {
        let returns = Arc::new(Returns::default());
        let back = Arc::clone(&returns);
        let (directory, running) = prepared.start(memory, Box::new(move |ended| back.ended(ended)))?;
        Ok(Profiles { directory, returns, shown: Mutex::default(), _running: running })
    }

    /// How threads are reached from now on.
    pub(super) fn set(&self, waker: Waker<Mail>) {
        // Said once, at the start.
        let _first = self.returns.waker.set(waker);
    }

    /// Looks an identity up for somebody: the token that its [`Mail::Profile`] will have; none if too many wait
    /// already.
    pub(super) fn ask(&self, whom: Whom, identity: &Identity) -> Option<u64> {
        let mut asked = self.returns.asked();
        asked.last += 1;
        let token = asked.last;
        asked.by.insert(token, whom);
        drop(asked);
        let taken = self.directory.look_up(profile::name(identity), token);
        if taken.is_err() {
            self.returns.asked().by.remove(&token);
        }
        taken.is_ok().then_some(token)
    }

    /// What is remembered of an identity is not true any more.
    pub(super) fn forget(&self, identity: &Identity) -> Result<(), String> {
        self.directory.forget(profile::name(identity)).map_err(|refused| refused.to_string())
    }

    /// An answer that a connection cannot take now.
    pub(super) fn give_back(&self, id: ConnectionId, ended: Completion) {
        self.returns.late().push_back((Whom::Connection(id), ended));
    }

    /// Brings answers again that found no room before.
    pub(super) fn bring_late(&self) {
        let late = core::mem::take(&mut *self.returns.late());
        late.into_iter().for_each(|(whom, ended)| self.returns.send(whom, ended));
    }

    /// Looks how the directory is. It waits for the directory's thread.
    pub(super) fn look(&self) {
        if let Some(shown) = self.directory.shown() {
            *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = shown;
        }
    }

    /// How the directory was a second ago.
    pub fn shown(&self) -> Shown {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Returns {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn late(&self) -> MutexGuard<'_, VecDeque<(Whom, Completion)>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, ended: Completion) {
        let whom = self.asked().by.remove(&ended.token);
        if let Some(whom) = whom {
            self.send(whom, ended);
        }
    }

    fn send(&self, whom: Whom, ended: Completion) {
        let Some(waker) = self.waker.get() else { return };
        let sent = match whom {
            Whom::Connection(id) => waker.to_connection(id, Mail::Profile(ended)),
            Whom::Thread(thread) => waker.to_thread(thread, Mail::Profile(ended)),
        };
        if let Err(MailboxFull(Mail::Profile(ended))) = sent {
            // It keeps its place among those that may be outstanding.
            self.late().push_back((whom, ended));
        }
    }
}
