//! When which device has to be looked at.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// Times of devices' slots. A device has one that counts, which it keeps itself; others are left where they are until
/// their time comes, and then do nothing.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(u64, u32)>>);

impl Timers {
    pub(super) fn set(&mut self, at_ns: u64, slot: u32) {
        self.0.push(Reverse((at_ns, slot)));
    }

    /// The earliest.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Takes the earliest that is due.
    pub(super) fn due(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.0.pop().map(|Reverse(due)| due)
    }
}
