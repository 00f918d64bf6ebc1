//! Epochs that every lane has answered, joined in their order.

use crate::join::{Joined, Joiner};
use crate::lane::LaneOutput;
use crate::signalling::Output;
use std::collections::VecDeque;
use trunkline_capture::CaptureLoss;
use trunkline_lane::DecodeCounters;

/// What the gatherer has joined so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls that are over.
    pub calls: u64,
    /// Registrations.
    pub registrations: u64,
    /// Other transactions.
    pub sip_events: u64,
    /// RTP streams that are over.
    pub streams: u64,
    /// Packets that the source said it lost.
    pub capture_lost: u64,
}

/// An epoch that waits for its lanes.
struct Waiting {
    output: Output,
    losses: Vec<CaptureLoss>,
    counters: DecodeCounters,
    until_ns: i64,
    last: bool,
    lanes: Vec<LaneOutput>,
}

/// Joins calls and streams, epoch after epoch.
pub struct Gatherer<'a> {
    joiner: Joiner<'a>,
    lanes: usize,
    first: u64,
    waiting: VecDeque<Waiting>,
    /// Lanes' answers that came before the owner's part.
    early: Vec<(u64, LaneOutput)>,
    ended: bool,
}

impl<'a> Gatherer<'a> {
    /// A gatherer for so many lanes.
    pub fn new(lanes: usize, joiner: Joiner<'a>) -> Self {
        Gatherer { joiner, lanes, first: 0, waiting: VecDeque::new(), early: Vec::new(), ended: false }
    }

    /// Takes the owner's part of the next epoch.
    ///
    /// # Errors
    /// What the sink said when it refused rows.
    pub fn epoch(
        &mut self,
        until_ns: i64,
        last: bool,
        output: Output,
        losses: Vec<CaptureLoss>,
        counters: DecodeCounters,
    ) -> Result<(), String> {
        let number = self.first + self.waiting.len() as u64;
        let mut waiting = Waiting { output, losses, counters, until_ns, last, lanes: Vec::with_capacity(self.lanes) };
        let (now, later): (Vec<_>, Vec<_>) = core::mem::take(&mut self.early).into_iter().partition(|e| e.0 == number);
        self.early = later;
        waiting.lanes.extend(now.into_iter().map(|e| e.1));
        self.waiting.push_back(waiting);
        self.join()
    }

    /// Takes a lane's answer to an epoch.
    ///
    /// # Errors
    /// What the sink said when it refused rows.
    pub fn lane(&mut self, epoch: u64, output: LaneOutput) -> Result<(), String> {
        match self.waiting.get_mut(epoch.saturating_sub(self.first) as usize) {
            Some(waiting) => waiting.lanes.push(output),
            None => self.early.push((epoch, output)),
        }
        self.join()
    }

    fn join(&mut self) -> Result<(), String> {
        while self.waiting.front().is_some_and(|w| w.lanes.len() == self.lanes) {
            let Some(done) = self.waiting.pop_front() else { break };
            self.first += 1;
            self.ended |= done.last;
            self.joiner.counters.add(&done.counters);
            self.joiner.join(Joined {
                output: done.output,
                lanes: done.lanes,
                losses: &done.losses,
                now_ns: done.until_ns,
                last: done.last,
            })?;
        }
        Ok(())
    }

    /// Whether the last epoch is joined.
    pub fn is_done(&self) -> bool {
        self.ended
    }

    /// Epochs that are joined.
    pub fn joined(&self) -> u64 {
        self.first
    }

    /// Epochs that wait for a lane.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Rows gathered so far are handed over now, though they are few.
    ///
    /// # Errors
    /// What the sink said when it refused rows.
    pub fn flush(&mut self) -> Result<(), String> {
        self.joiner.flush()
    }

    /// What was joined so far.
    pub fn totals(&self) -> Totals {
        let j = &self.joiner;
        Totals {
            calls: j.calls,
            registrations: j.registrations,
            sip_events: j.events,
            streams: j.streams,
            capture_lost: j.capture_lost,
        }
    }

    /// What the watch over the tap counted so far.
    pub fn tap(&self) -> crate::tap::TapCounters {
        self.joiner.tap()
    }

    /// What decoding counted so far.
    pub fn decoded(&self) -> DecodeCounters {
        self.joiner.counters
    }
}
