//! What the log and the stream tell the threads that wait for them.

use crate::job::worker::Mail;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use trunkline_commit::Progress;
use trunkline_net::Waker;
use trunkline_replica::Progress as Published;

/// What the log tells, for the threads that wait for it.
#[derive(Debug)]
pub struct Told {
    /// Whether a thread has answers that wait for the disk.
    waits: Vec<AtomicBool>,
    waker: OnceLock<Waker<Mail>>,
    pub(super) failure: OnceLock<String>,
    /// Why this node leads no longer, and whether it is another's will.
    pub(super) parted: OnceLock<String>,
    pub(super) fenced: AtomicBool,
}

impl Told {
    /// For so many threads.
    pub fn new(threads: usize) -> Told {
        let waits = (0..threads).map(|_| AtomicBool::new(false)).collect();
        Told {
            waits,
            waker: OnceLock::new(),
            failure: OnceLock::new(),
            parted: OnceLock::new(),
            fenced: AtomicBool::new(false),
        }
    }

    /// How threads are woken from now on.
    pub fn set(&self, waker: Waker<Mail>) {
        // Said once, at the start.
        let _first = self.waker.set(waker);
    }

    pub fn tell(&self, progress: &Progress<'_>) {
        match progress {
            Progress::Durable(_) => self.wake(),
            Progress::Room(fault) => tracing::error!("charging: no room for the ledger, nothing is granted: {fault}"),
            Progress::Closed(fault) => {
                tracing::error!("charging: the ledger cannot be written, nothing is answered any more: {fault}");
                // The first reason is the reason.
                let _first = self.failure.set(fault.to_string());
            }
        }
    }

    pub fn tell_published(&self, progress: &Published<'_>) {
        let parts = |why: &str| {
            // The first reason is the reason.
            let _first = self.parted.set(why.to_owned());
        };
        match progress {
            Published::Acknowledged(_) => self.wake(),
            Published::Away(why) => {
                tracing::warn!("charging: the stream is disconnected, nothing is granted without it: {why}")
            }
            Published::Yielded => parts("it has handed over"),
            Published::Fenced(why) => {
                tracing::error!("charging: this node leads no longer, nothing is answered any more: {why}");
                self.fenced.store(true, Ordering::Relaxed);
                parts(why);
            }
        }
    }

    /// Nothing can be written any more.
    pub fn fail(&self, why: String) {
        // The first reason is the reason.
        let _first = self.failure.set(why);
    }

    /// A thread has answers that wait: it is woken when more is durable than is now.
    pub fn wait(&self, thread: u16) {
        self.waits[usize::from(thread)].store(true, Ordering::SeqCst);
        // With that in [`Told::wake`]: either this thread sees what is durable, or that one sees that it waits.
        fence(Ordering::SeqCst);
    }

    /// Why nothing can be written any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    /// Wakes threads that wait.
    pub fn wake(&self) {
        let Some(waker) = self.waker.get() else { return };
        fence(Ordering::SeqCst);
        for (thread, waits) in self.waits.iter().enumerate() {
            if waits.swap(false, Ordering::SeqCst) {
                // A box that is full is looked into anyway; a thread that has ended waits for nothing.
                let _taken = waker.to_thread(thread as u16, Mail::Durable);
            }
        }
    }
}
