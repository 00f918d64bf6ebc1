//! From steady time back to what the capture's clock said.
//!
//! All analysis sees *steady* time: the time that the packets tell less the offset of all steps of the clock so far,
//! which the lane engine finds ([`trunkline_lane::clock`]). [`Timeline`] leads back from it, for rows: a call has the
//! clock's time at its start, and all its other times follow from that by steady time. See docs/decisions/0072.

mod told;

use trunkline_lane::clock::{LEAPS_MAX, Leap};
use trunkline_store::row::{Call, Loss, Registration, SipEvent, Stream, StreamInterval};

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
