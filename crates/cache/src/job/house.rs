//! The thread that keeps house: sweeps the store, charges the engine's buffers to it, wakes those who watch, and counts
//! items by size and age.

use super::Clock;
use super::desk::{Desk, Told};
use crate::service::{Shared, Survey};
use crate::store::{Store, Writer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_net::Waker;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(100);
/// Items that one step of sweeping looks at, and steps before it rests.
const SWEEP_ITEMS: usize = 10_000;
const SWEEP_STEPS: usize = 20;

/// The thread; dropped, it ends.
#[derive(Debug)]
pub struct House {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl House {
    /// Starts it.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(
        clock: Clock,
        store: &Arc<Store>,
        shared: Arc<Shared>,
        desk: Arc<Desk>,
        waker: Waker<Told>,
    ) -> std::io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let mut keeper = Keeper {
            clock,
            writer: store.writer(),
            shared,
            desk,
            waker,
            charged: 0,
            survey: Survey::default(),
            ended: Arc::clone(&ended),
        };
        let thread = std::thread::Builder::new().name("cache-house".to_owned()).spawn(move || keeper.keep())?;
        Ok(House { ended, thread: Some(thread) })
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic; if it did, there is nothing to be done about it here.
            let _ = thread.join();
        }
    }
}

struct Keeper {
    clock: Clock,
    writer: Writer,
    shared: Arc<Shared>,
    desk: Arc<Desk>,
    waker: Waker<Told>,
    /// Octets of the engine's buffers that the store was told of.
    charged: u64,
    survey: Survey,
    ended: Arc<AtomicBool>,
}

impl Keeper {
    fn keep(&mut self) {
        while !self.ended.load(Relaxed) {
            let now = self.clock.now();
            self.desk.tick(now.second);
            self.sweep(now.second);
            self.charge();
            self.tell(now);
            self.survey.step(&mut self.writer, &self.shared, now);
            self.writer.rest();
            std::thread::park_timeout(EVERY);
        }
        self.writer.store().uncharge(self.charged);
    }

    fn sweep(&mut self, second: u32) {
        for _ in 0..SWEEP_STEPS {
            if self.writer.sweep(second, SWEEP_ITEMS).done {
                return;
            }
        }
    }

    /// The engine's buffers are part of the limit. What there is no room for is charged when there is.
    fn charge(&mut self) {
        let held = self.desk.net().1;
        let octets = (held.held_octets + held.tls_octets) as u64;
        if octets < self.charged {
            self.writer.store().uncharge(self.charged - octets);
            self.charged = octets;
        } else if octets > self.charged && self.writer.charge(octets - self.charged).is_ok() {
            self.charged = octets;
        }
    }

    fn tell(&mut self, now: crate::protocol::Now) {
        let watching = self.desk.connections.watching();
        if self.writer.has_evicted() {
            self.shared.evicted(&mut self.writer, now);
        }
        for id in watching {
            // A mailbox that is full is emptied now, and the next round is soon.
            let _ = self.waker.to_connection(id, Told::Lines);
        }
    }
}
