//! Capture files as the source of lanes: batches in order, with what the capture's clock did, decoded in any order.
//!
//! A [`FileReader`] fills one [`FileBatch`] after the other; only this has to be in order. [`FileBatch::walk`] decodes
//! a batch and needs no other one: any thread may do it, unless a job wants to see the packets of all batches in order.

use crate::clock::{Leap, Watch};
use crate::counters::DecodeCounters;
use crate::job::LaneJob;
use crate::walk::{Origin, walk};
use core::iter::Peekable;
use core::slice;
use trunkline_capture::{Batch, FileSource, Packet};
use trunkline_kit::counters::Counted;

/// Reads files and watches over their clock.
pub struct FileReader {
    source: FileSource,
    clock: Watch,
}

/// A batch of files' packets.
#[derive(Default)]
pub struct FileBatch {
    /// The packets; with steady time when they have been walked.
    pub batch: Batch,
    /// Where the clock leapt among them.
    pub leaps: Vec<Leap>,
    /// The latest steady time of the input up to here.
    pub now_ns: i64,
    /// Nothing follows: it is empty.
    pub is_last: bool,
    /// What is to be taken off the times of the packets before the first leap.
    offset_ns: i64,
}

impl FileReader {
    /// Reads these files.
    pub fn new(source: FileSource) -> Self {
        FileReader { source, clock: Watch::default() }
    }

    /// The files.
    pub fn source(&self) -> &FileSource {
        &self.source
    }

    /// Fills a batch with what comes next, or with nothing if the files are read or reading is to stop.
    pub fn fill(&mut self, into: &mut FileBatch, is_stopping: bool) {
        into.is_last = is_stopping || !self.source.fill(&mut into.batch);
        if into.is_last {
            into.batch.clear();
        }
        self.look_at_clock(into);
    }

    /// Looks for leaps of the packets' time; to judge one, more of the input may come into the batch.
    fn look_at_clock(&mut self, into: &mut FileBatch) {
        let mut next = Batch::default();
        into.offset_ns = self.clock.offset_ns();
        let source = &mut self.source;
        into.leaps = self.clock.look(&mut into.batch, &mut |batch| {
            let is_more = source.fill(&mut next);
            next.packets.iter().for_each(|packet| batch.push(*packet, next.octets_of(packet)));
            batch.losses.append(&mut next.losses);
            is_more
        });
        into.now_ns = self.clock.now_ns();
    }

    /// What was counted of the files and of their clock.
    pub fn counters(&self) -> Vec<Counted> {
        let mut all = self.source.counters().list();
        all.extend(self.clock.counters.list());
        all
    }
}

impl FileBatch {
    /// Decodes and classifies its packets and passes them to the jobs; what decoding counted.
    pub fn walk(&mut self, jobs: &mut impl LaneJob) -> DecodeCounters {
        let mut times = Times { offset_ns: self.offset_ns, leaps: self.leaps.iter().peekable() };
        walk(&mut self.batch, &mut times, jobs)
    }
}

/// The times of a batch: steady time leaves out what the clock leapt.
struct Times<'a> {
    offset_ns: i64,
    leaps: Peekable<slice::Iter<'a, Leap>>,
}

impl Origin for Times<'_> {
    #[inline]
    fn admit(&mut self, packet: &mut Packet) -> i64 {
        while let Some(leap) = self.leaps.next_if(|leap| leap.number <= packet.number) {
            self.offset_ns = leap.offset_ns;
        }
        packet.at_ns.saturating_sub(self.offset_ns)
    }
}

#[cfg(test)]
mod tests;
