//! Rows of the live capture on their way to the store: what is only the second half of a call that recovery reads as a
//! whole is left out.
//!
//! As long as it is not known which calls those are, rows of calls wait here. Streams without a call wait until all
//! calls are recovered: they may be the second halves of streams. What waits is in the packet log, and the checkpoint
//! lies before it, so that a program that ends meanwhile loses none of it.

use super::state::{Phase, Recovery};
use crate::run::rows::RowsOut;
use std::collections::HashMap;
use std::sync::Arc;
use trunkline_calls::job::Sink;
use trunkline_kit::Id;
use trunkline_store::row::{CallState, Rows, Stream, StreamInterval};

/// Rows that wait here; beyond them the oldest go on as they are, and are counted.
// Limit: rows that wait until it is known whether they belong to a continued call
// Beyond: the oldest are written as they are
// Seen in: `trunkline_recovery_overflow_total`
const HELD_MAX: usize = 100_000;
/// A stream of a call that goes on begins so soon after the start, milliseconds: packets come each 20 ms.
const EARLY_MS: i64 = 10_000;

/// The way of the live capture's rows.
pub struct LiveRows {
    out: RowsOut,
    recovery: Arc<Recovery>,
    /// When the capture began, milliseconds since 1970.
    since_ms: i64,
    /// Rows that came before it was known which calls are followed.
    held: Vec<Rows>,
    streams: Vec<Stream>,
    /// Of streams that began early.
    intervals: HashMap<Id, Vec<StreamInterval>>,
    /// Rows in all of these.
    count: usize,
}

impl LiveRows {
    /// Of a capture that began then, nanoseconds since 1970.
    pub fn new(out: RowsOut, recovery: Arc<Recovery>, since_ns: i64) -> LiveRows {
        let (held, streams, intervals) = (Vec::new(), Vec::new(), HashMap::new());
        LiveRows { out, recovery, since_ms: since_ns / 1_000_000, held, streams, intervals, count: 0 }
    }

    /// Leaves out second halves, and keeps back what may be one.
    fn sort(&mut self, mut rows: Rows) -> Rows {
        let recovery = Arc::clone(&self.recovery);
        let LiveRows { since_ms, intervals, count, streams, .. } = self;
        let since_ms = *since_ms;
        let early = |stream: Id| (since_ms - 1000..since_ms + EARLY_MS).contains(&stream.unix_ms());
        let mut goes = Vec::with_capacity(rows.intervals.len());
        for interval in rows.intervals.drain(..) {
            if early(interval.stream) && *count < HELD_MAX {
                intervals.entry(interval.stream).or_default().push(interval);
                *count += 1;
            } else {
                goes.push(interval);
            }
        }
        recovery.change(|state| {
            rows.calls.retain_mut(|call| {
                let is_half = state.takes(call);
                for stream in &call.streams {
                    let held = intervals.remove(&stream.id).unwrap_or_default();
                    *count -= held.len();
                    if !is_half {
                        goes.extend(held);
                    }
                }
                !is_half
            });
            let over = *count + rows.streams.len() > HELD_MAX;
            state.report.counted.beyond += if over { rows.streams.len() as u64 } else { 0 };
            if !over {
                *count += rows.streams.len();
                streams.append(&mut rows.streams);
            }
        });
        rows.intervals = goes;
        rows
    }

    /// All is recovered: what waited goes on, unless a recovered call has it.
    fn release(&mut self) -> Rows {
        let mut rows = Rows::default();
        let recovery = Arc::clone(&self.recovery);
        let state = recovery.lock();
        for stream in self.streams.drain(..) {
            let intervals = self.intervals.remove(&stream.id).unwrap_or_default();
            if !state.has_whole(&stream) {
                rows.intervals.extend(intervals);
                rows.streams.push(stream);
            }
        }
        rows.intervals.extend(self.intervals.drain().flat_map(|(_, intervals)| intervals));
        rows.intervals.sort_unstable_by_key(|i| (i.start_ns, i.stream, i.index));
        self.count = 0;
        rows
    }

    /// Rows wait until it is known which calls are followed.
    fn hold(&mut self, rows: Rows) -> Result<(), String> {
        let count = rows.count();
        if count > 0 {
            self.count += count;
            self.held.push(rows);
        }
        while self.count > HELD_MAX {
            let first = self.held.remove(0);
            self.count -= first.count();
            self.recovery.lock().report.counted.beyond += first.count() as u64;
            self.out.rows(first)?;
        }
        Ok(())
    }

    fn take_up(&mut self) -> Result<(), String> {
        for rows in core::mem::take(&mut self.held) {
            self.count -= rows.count();
            let rows = self.sort(rows);
            self.out.rows(rows)?;
        }
        Ok(())
    }
}

impl Sink for LiveRows {
    fn rows(&mut self, rows: Rows) -> Result<(), String> {
        let phase = self.recovery.lock().report.phase;
        if phase == Phase::Finding {
            return self.hold(rows);
        }
        self.take_up()?;
        if matches!(phase, Phase::Reading | Phase::Following) {
            let rows = self.sort(rows);
            return self.out.rows(rows);
        }
        if self.count > 0 {
            let released = self.release();
            self.out.rows(released)?;
        }
        let mut rows = rows;
        if phase == Phase::Done {
            self.recovery.change(|state| {
                rows.calls.retain_mut(|call| !state.takes(call));
                rows.streams.retain(|stream| !state.has_whole(stream));
            });
        }
        self.out.rows(rows)
    }
}

impl Drop for LiveRows {
    /// The capture has ended. What may be a half is in the log, and the next start makes it whole.
    fn drop(&mut self) {
        let was_found = self.recovery.lock().report.phase != Phase::Finding;
        for mut rows in core::mem::take(&mut self.held) {
            if was_found {
                self.count -= rows.count();
                rows = self.sort(rows);
            } else {
                rows.calls.retain(|call| call.state != CallState::JoinedMidCall);
                rows.streams.clear();
            }
            // What waits in memory is never refused.
            let _ = self.out.rows(rows);
        }
    }
}
