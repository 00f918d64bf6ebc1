//! What becomes of packets that gateways refused, when somebody says so: the thread that sends does it, one order at a
//! time.

use super::Work;
use crate::gateway::sender::{Entry, NotAgain};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is wanted of refused packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settle {
    /// Which; none stands for all.
    pub packets: BTreeSet<u64>,
    /// They are sent anew; else they are given up.
    pub again: bool,
}

/// What is wanted, and what came of it.
#[derive(Debug, Default)]
pub struct Settling(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    wanted: Option<Settle>,
    busy: bool,
    settled: Settled,
}

/// What came of the last order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// How many orders were carried out: what they came to is durable.
    pub done: u64,
    /// Packets that are sent anew.
    pub anew: u64,
    /// Packets that were given up.
    pub dropped: u64,
    /// Packets that are kept, as another gateway may have their records.
    pub doubtful: u64,
    /// Packets that are kept for want of a gateway, or of a number for them.
    pub full: u64,
}

impl Settling {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wants it done; false while another order is.
    pub fn want(&self, settle: Settle) -> bool {
        let mut state = self.lock();
        let free = !state.busy && state.wanted.is_none();
        if free {
            state.wanted = Some(settle);
        }
        free
    }

    /// What came of the last order.
    pub fn settled(&self) -> Settled {
        self.lock().settled
    }

    fn begin(&self) -> Option<Settle> {
        let mut state = self.lock();
        let wanted = state.wanted.take();
        state.busy |= wanted.is_some();
        wanted
    }

    /// Whether one is being done whose entries may not be durable yet.
    fn end(&self, came_to: Settled) {
        let mut state = self.lock();
        state.settled = Settled { done: state.settled.done + 1, ..came_to };
        state.busy = false;
    }

    /// An order that could not be ended is not being done any more: the thread begins anew.
    pub fn forget(&self) {
        self.lock().busy = false;
    }
}

impl Work {
    /// Does what is wanted of refused packets, and says so once it is durable.
    pub(super) fn settle(&mut self, settling: &Settling) {
        if let Some(came_to) = self.settling.filter(|_| self.pending.is_empty() && self.waits.is_empty()) {
            self.settling = None;
            settling.end(came_to);
        }
        let Some(settle) = settling.begin() else { return };
        let refused: Vec<u64> = self.sender.state().refused().map(|(packet, _)| packet).collect();
        let named = |packet: &u64| settle.packets.is_empty() || settle.packets.contains(packet);
        let mut came_to = Settled::default();
        for packet in refused.into_iter().filter(named) {
            let entry = self.settle_one(packet, settle.again, &mut came_to);
            self.pending.extend(entry.map(|entry| (entry, None)));
        }
        if came_to.dropped > 0 {
            tracing::warn!("charging: {} refused packets of records were given up by order", came_to.dropped);
        }
        self.settling = Some(came_to);
    }

    fn settle_one(&mut self, packet: u64, again: bool, came_to: &mut Settled) -> Option<Entry> {
        if !again {
            came_to.dropped += 1;
            return self.sender.discard(packet);
        }
        match self.sender.again(packet) {
            Ok(entry) => {
                came_to.anew += 1;
                return Some(entry);
            }
            Err(NotAgain::Doubtful) => came_to.doubtful += 1,
            Err(NotAgain::Full) => came_to.full += 1,
            Err(NotAgain::Unknown) => {}
        }
        None
    }
}
