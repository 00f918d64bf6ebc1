//! The capture's clock: whether it was set while packets went on, and the time that goes on in its place.
//!
//! All logic behind the reader sees *steady* time: the time that the packets tell less the offset of all steps of the
//! clock so far. [`Watch`] finds the steps, by what RTP says ([`votes`](witness)); [`Timeline`] leads back from steady
//! time to what the clock said, for rows: a call has the clock's time at its start, and all its other times follow from
//! that by steady time. Where no step is found both times are the same, and nothing is done per packet but a
//! comparison. See docs/decisions/0072.

mod told;
mod watch;
mod witness;

pub use watch::{ClockCounters, LEAP_NS, Watch};

use trunkline_store::row::{Call, Loss, Registration, SipEvent, Stream, StreamInterval};

/// Steps of the clock that are kept. Later ones are followed where they are found, and counted, and not told.
pub const LEAPS_MAX: usize = 256;

/// What a leap of the packets' time turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The clock was set: RTP went on.
    Set,
    /// Parts of the capture are in the wrong order: RTP went back as far as the time did.
    Disorder,
    /// Time went back, and no RTP goes on across it: either of the two.
    Unclear,
}

impl Kind {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Set => "clock-set",
            Kind::Disorder => "wrong-order",
            Kind::Unclear => "not-known",
        }
    }
}

/// A leap of the packets' time that is no passage of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leap {
    /// The first packet after it.
    pub number: u64,
    /// The input files of the packet before it and of that one; none in a running capture.
    pub files: Option<(u32, u32)>,
    /// What the clock said before it, nanoseconds since 1970.
    pub before_ns: i64,
    /// The steady time of the first packet after it.
    pub at_ns: i64,
    /// How much the clock said too much; below zero, too little.
    pub by_ns: i64,
    /// What is to be taken off from here on: the sum of all steps so far.
    pub offset_ns: i64,
    /// What it is.
    pub kind: Kind,
    /// Senders whose RTP tells; 0 where nothing does.
    pub senders: u32,
    /// Several senders tell, or one of a leap that nothing else explains.
    pub is_sure: bool,
}

/// From steady time back to what the clock said.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    leaps: Vec<Leap>,
}

impl Timeline {
    /// Takes leaps, in their order. Beyond [`LEAPS_MAX`] they replace the last, so that the newest offset is known.
    pub fn learn(&mut self, leaps: &[Leap]) {
        for leap in leaps {
            if self.leaps.len() >= LEAPS_MAX {
                self.leaps.pop();
            }
            self.leaps.push(*leap);
        }
    }

    /// All leaps so far.
    pub fn leaps(&self) -> &[Leap] {
        &self.leaps
    }

    /// How much the clock was ahead of steady time then.
    #[inline]
    pub fn offset_ns(&self, steady_ns: i64) -> i64 {
        if self.leaps.is_empty() {
            return 0;
        }
        let behind = self.leaps.partition_point(|leap| leap.at_ns <= steady_ns);
        behind.checked_sub(1).map_or(0, |at| self.leaps[at].offset_ns)
    }

    /// What the clock said then.
    #[inline]
    pub fn clock_ns(&self, steady_ns: i64) -> i64 {
        steady_ns.saturating_add(self.offset_ns(steady_ns))
    }

    /// What the clock says now of a steady time: of what goes on.
    pub fn now_ns(&self, steady_ns: i64) -> i64 {
        steady_ns.saturating_add(self.leaps.last().map_or(0, |leap| leap.offset_ns))
    }

    /// The steady time of what the clock says now.
    pub fn steady_ns(&self, clock_ns: i64) -> i64 {
        clock_ns.saturating_sub(self.leaps.last().map_or(0, |leap| leap.offset_ns))
    }

    /// Leaps within these steady times.
    pub fn within(&self, since_ns: i64, until_ns: i64) -> impl Iterator<Item = &Leap> {
        self.leaps.iter().filter(move |leap| since_ns < leap.at_ns && leap.at_ns <= until_ns)
    }
}

/// Rows of steady time get the clock's.
impl Timeline {
    /// A call with its streams: the clock's time at its start, and steady time from there.
    pub fn call(&self, call: &mut Call) {
        let by = self.offset_ns(call.start_ns);
        if by == 0 {
            return;
        }
        let moments = [&mut call.ringing_ns, &mut call.answer_ns, &mut call.end_ns];
        moments.into_iter().flatten().for_each(|at| *at = at.saturating_add(by));
        let messages = call.ladder.messages.iter_mut().map(|m| &mut m.at_ns);
        let streams = call.streams.iter_mut().flat_map(|s| [&mut s.first_ns, &mut s.last_ns]);
        let all = [&mut call.start_ns, &mut call.last_ns].into_iter().chain(messages).chain(streams);
        all.for_each(|at| *at = at.saturating_add(by));
    }

    /// A stream without a call.
    pub fn stream(&self, stream: &mut Stream) {
        let by = self.offset_ns(stream.first_ns);
        stream.first_ns = stream.first_ns.saturating_add(by);
        stream.last_ns = stream.last_ns.saturating_add(by);
    }

    /// An interval of a stream, as its beginning.
    pub fn interval(&self, interval: &mut StreamInterval) {
        let since_first = i64::from(interval.index).saturating_mul(crate::stream::INTERVAL_NS);
        let by = self.offset_ns(interval.start_ns.saturating_sub(since_first));
        interval.start_ns = interval.start_ns.saturating_add(by);
    }

    /// A registration.
    pub fn registration(&self, row: &mut Registration) {
        let by = self.offset_ns(row.start_ns);
        row.start_ns = row.start_ns.saturating_add(by);
        row.end_ns = row.end_ns.map(|at| at.saturating_add(by));
    }

    /// Another transaction.
    pub fn event(&self, row: &mut SipEvent) {
        let by = self.offset_ns(row.start_ns);
        row.start_ns = row.start_ns.saturating_add(by);
        row.end_ns = row.end_ns.map(|at| at.saturating_add(by));
    }

    /// What the tap lost.
    pub fn loss(&self, row: &mut Loss) {
        let by = self.offset_ns(row.since_ns);
        row.since_ns = row.since_ns.saturating_add(by);
        row.at_ns = row.at_ns.saturating_add(by);
    }
}
