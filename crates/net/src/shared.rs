//! What the threads of a server have in common. Nothing of it is written to on the way of a request.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

use crate::bell::Bell;
use crate::clock::Clock;
use crate::connection::Newcomer;
use crate::counts::{Cell, Counts, Gauges, Shown};
use crate::gate::Gate;
use crate::mailbox::Mailbox;
use crate::options::Options;
use crate::tls::TLS_CONNECTION_OCTETS;

pub(crate) struct Shared<M> {
    pub(crate) options: Options,
    pub(crate) gate: Arc<Gate>,
    pub(crate) mailboxes: Arc<[Mailbox<M>]>,
    /// Those of the serving threads, then those of the threads for handshakes.
    pub(crate) cells: Vec<Cell>,
    pub(crate) pool: Pool,
    pub(crate) clock: Clock,
    stopping: AtomicBool,
}

impl<M> Shared<M> {
    /// With so many threads for handshakes.
    pub(crate) fn new(options: Options, handshakers: usize, clock: Clock) -> Result<Shared<M>, Errno> {
        let bells = (0..options.threads).map(|_| Bell::new().map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let mailboxes = bells.iter().map(|bell| Mailbox::new(Arc::clone(bell), options.limits.mails)).collect();
        let gate = Arc::new(Gate::new(&options.limits, bells));
        let cells = (0..options.threads + handshakers).map(|_| Cell::default()).collect();
        let pool = Pool::new(handshakers)?;
        Ok(Shared { options, gate, mailboxes, cells, pool, clock, stopping: AtomicBool::new(false) })
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.mailboxes.iter().for_each(|m| m.bell.ring());
        self.pool.inboxes.iter().for_each(|i| i.bell.ring());
    }

    /// All that was counted; of a round that is going on, not yet.
    pub(crate) fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        self.cells.iter().for_each(|cell| sum.add(&cell.read().counts));
        sum.mails_overflow += self.mailboxes.iter().map(|mailbox| mailbox.refused()).sum::<u64>();
        sum
    }

    /// What is held now.
    pub(crate) fn gauges(&self) -> Gauges {
        let add = |(held, tls, dialled): (usize, usize, usize), shown: Shown| {
            (held + shown.held_octets, tls + shown.tls_connections, dialled + shown.dialled_connections)
        };
        let (held, tls, dialled) = self.cells.iter().map(|cell| cell.read()).fold((0, 0, 0), add);
        Gauges {
            connections: self.gate.open() as f64,
            dialled_connections: dialled as f64,
            handshakes: self.gate.handshakes() as f64,
            tls_connections: tls as f64,
            tls_octets: (tls * TLS_CONNECTION_OCTETS) as f64,
            held_octets: held as f64,
        }
    }

    /// Gives a connection to a thread, which it counts for from now on. It comes back if that has ended.
    pub(crate) fn bring(&self, mut newcomer: Newcomer, thread: u16) -> Result<(), Newcomer> {
        newcomer.permit.move_to(thread);
        match self.mailboxes.get(usize::from(thread)) {
            Some(mailbox) => mailbox.bring(newcomer),
            None => Err(newcomer),
        }
    }
}

/// The threads for handshakes, as the others see them.
#[derive(Debug)]
pub(crate) struct Pool {
    inboxes: Vec<Inbox>,
    turn: AtomicUsize,
}

/// Connections for a thread for handshakes; bounded by the limit of handshakes.
#[derive(Debug)]
struct Inbox {
    bell: Bell,
    /// None when the thread has ended.
    waiting: Mutex<Option<Vec<Newcomer>>>,
}

impl Pool {
    fn new(threads: usize) -> Result<Pool, Errno> {
        let inbox = || Ok(Inbox { bell: Bell::new()?, waiting: Mutex::new(Some(Vec::new())) });
        Ok(Pool { inboxes: (0..threads).map(|_| inbox()).collect::<Result<_, Errno>>()?, turn: AtomicUsize::new(0) })
    }

    pub(crate) fn bell(&self, thread: usize) -> &Bell {
        &self.inboxes[thread].bell
    }

    /// To the next thread in turn; it comes back if that has ended.
    pub(crate) fn bring(&self, newcomer: Newcomer) -> Result<(), Newcomer> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.inboxes.len().max(1);
        let Some(inbox) = self.inboxes.get(turn) else { return Err(newcomer) };
        match &mut *inbox.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(waiting) => waiting.push(newcomer),
            None => return Err(newcomer),
        }
        inbox.bell.ring();
        Ok(())
    }

    pub(crate) fn take(&self, thread: usize) -> Vec<Newcomer> {
        let mut waiting = self.inboxes[thread].waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// The thread ends; what was brought to it.
    pub(crate) fn close(&self, thread: usize) -> Vec<Newcomer> {
        self.inboxes[thread].waiting.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }
}
