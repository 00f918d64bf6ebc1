//! What other threads have for a thread: mail of the service, and connections.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use crate::bell::Bell;
use crate::connection::Newcomer;
use crate::service::ConnectionId;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// Sends mail to the threads of a server, from any thread; cheap to clone.
///
/// A thread that waits is woken by the first mail; those behind it cost no system call. Mail of one sender to one
/// connection or one thread comes in its order.
#[derive(Debug)]
pub struct Waker<M>(Arc<[Mailbox<M>]>);

impl<M> Clone for Waker<M> {
    fn clone(&self) -> Waker<M> {
        Waker(Arc::clone(&self.0))
    }
}

/// The mail that was not taken: too much of it waits ([`crate::Limits::mails`]), or the thread has ended. Counted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the thread takes no more mail")]
pub struct MailboxFull<M>(pub M);

impl<M> Waker<M> {
    pub(crate) fn new(mailboxes: Arc<[Mailbox<M>]>) -> Waker<M> {
        Waker(mailboxes)
    }

    /// To [`crate::Service::mail`] of this connection, or to [`crate::Service::undelivered`] if it is gone then.
    ///
    /// # Errors
    /// The mail, if it is not taken.
    pub fn to_connection(&self, id: ConnectionId, mail: M) -> Result<(), MailboxFull<M>> {
        self.send(id.thread, Some(id), mail)
    }

    /// To [`crate::Service::post`] of a thread.
    ///
    /// # Errors
    /// The mail, if it is not taken, or there is no such thread.
    pub fn to_thread(&self, thread: u16, mail: M) -> Result<(), MailboxFull<M>> {
        self.send(thread, None, mail)
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.0.len()
    }

    #[cfg(all(test, loom))]
    pub(crate) fn mailbox(&self, thread: usize) -> &Mailbox<M> {
        &self.0[thread]
    }

    fn send(&self, thread: u16, to: Option<ConnectionId>, mail: M) -> Result<(), MailboxFull<M>> {
        match self.0.get(usize::from(thread)) {
            Some(mailbox) => mailbox.put(to, mail),
            None => Err(MailboxFull(mail)),
        }
    }
}

/// Of one thread.
#[derive(Debug)]
pub(crate) struct Mailbox<M> {
    waiting: Mutex<Waiting<M>>,
    pub(crate) bell: Arc<Bell>,
    most: usize,
    refused: AtomicU64,
}

#[derive(Debug)]
struct Waiting<M> {
    mails: VecDeque<(Option<ConnectionId>, M)>,
    /// Bounded by the limit of connections, which they count towards.
    newcomers: Vec<Newcomer>,
    open: bool,
}

impl<M> Mailbox<M> {
    pub(crate) fn new(bell: Arc<Bell>, most: usize) -> Mailbox<M> {
        let waiting = Waiting { mails: VecDeque::new(), newcomers: Vec::new(), open: true };
        Mailbox { waiting: Mutex::new(waiting), bell, most, refused: AtomicU64::new(0) }
    }

    fn put(&self, to: Option<ConnectionId>, mail: M) -> Result<(), MailboxFull<M>> {
        let mut waiting = self.lock();
        if !waiting.open || waiting.mails.len() >= self.most {
            drop(waiting);
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(MailboxFull(mail));
        }
        let first = waiting.mails.is_empty();
        waiting.mails.push_back((to, mail));
        drop(waiting);
        if first {
            self.bell.ring();
        }
        Ok(())
    }

    /// Hands over a connection; it comes back when the thread has ended.
    pub(crate) fn bring(&self, newcomer: Newcomer) -> Result<(), Newcomer> {
        let mut waiting = self.lock();
        if !waiting.open {
            return Err(newcomer);
        }
        waiting.newcomers.push(newcomer);
        drop(waiting);
        self.bell.ring();
        Ok(())
    }

    /// The next mails, at most so many, to the end of `into`; whether there are more.
    pub(crate) fn take_mails(&self, most: usize, into: &mut Vec<(Option<ConnectionId>, M)>) -> bool {
        let mut waiting = self.lock();
        let count = most.min(waiting.mails.len());
        into.extend(waiting.mails.drain(..count));
        !waiting.mails.is_empty()
    }

    pub(crate) fn take_newcomers(&self) -> Vec<Newcomer> {
        core::mem::take(&mut self.lock().newcomers)
    }

    /// Nothing is taken any more; what waits is given up. The connections among it.
    pub(crate) fn close(&self) -> Vec<Newcomer> {
        let mut waiting = self.lock();
        waiting.open = false;
        waiting.mails.clear();
        core::mem::take(&mut waiting.newcomers)
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<M>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_mailbox_gives_the_mail_back() {
        let mailbox = Mailbox::new(Arc::new(Bell::new().expect("eventfd")), 2);
        let waker = Waker::new(Arc::from([mailbox]));
        assert!(waker.to_thread(0, 'a').is_ok() && waker.to_thread(0, 'b').is_ok());
        assert_eq!(waker.to_thread(0, 'c'), Err(MailboxFull('c')));
        assert_eq!(waker.to_thread(1, 'd'), Err(MailboxFull('d')));
        let mut mails = Vec::new();
        assert!(waker.0[0].take_mails(1, &mut mails));
        assert!(waker.to_thread(0, 'c').is_ok());
        assert!(!waker.0[0].take_mails(9, &mut mails));
        assert_eq!(mails, [(None, 'a'), (None, 'b'), (None, 'c')]);
        waker.0[0].close();
        assert!(waker.to_thread(0, 'e').is_err());
        assert_eq!(waker.0[0].refused(), 2);
    }
}
