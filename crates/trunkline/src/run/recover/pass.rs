//! One reading of the packet log: segments in, the rows out that `trunkline read` would give of them.

use super::NOTE;
use super::state::{Followed, Media, media_of};
use crate::run::rows::RowsOut;
use core::ops::ControlFlow;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use trunkline_calls::job::{self, Progress, ReadOptions, Sink, Summary};
use trunkline_kit::Id;
use trunkline_lane::{LaneJob, SeenPacket};
use trunkline_record::Class;
use trunkline_record::index::Span;
use trunkline_record::job::{SegmentFile, Wish, list};
use trunkline_record::names::segment_name;
use trunkline_store::row::{Call, CallState, Rows, StreamInterval};

/// Intervals that wait for their stream; further ones are left out.
const INTERVALS_MAX: usize = 1_000_000;
/// With so many rows on their way to the store reading waits.
const WAITING_MAX: usize = 20_000;
/// Packets between two looks whether the live capture needs the processor.
const LOOK_PACKETS: u64 = 4096;

/// Which rows are kept.
pub struct Keep {
    /// What began before is stored.
    pub from_ns: i64,
    /// Calls that seem to be joined in mid-call up to then are those that are read from their middle...
    pub cut_until_ns: i64,
    /// ...but these.
    pub joined: HashSet<Id>,
    /// Only calls of these Call-IDs that begin no earlier than this, and nothing else: they are read from their
    /// beginning, whatever it is.
    pub only: Option<HashMap<String, i64>>,
    /// Media is not read: rows say nothing about it, and give way to those that do.
    pub is_brief: bool,
}

impl Keep {
    fn keeps(&self, call: &Call) -> bool {
        if let Some(only) = &self.only {
            return only.get(&call.sip_call_id).is_some_and(|start_ns| call.start_ns >= *start_ns);
        }
        let is_cut = call.state == CallState::JoinedMidCall
            && call.start_ns <= self.cut_until_ns
            && !self.joined.contains(&call.id);
        call.start_ns >= self.from_ns && !is_cut
    }
}

/// What a reading found beside rows.
#[derive(Default)]
pub struct Seen {
    /// Calls by their Call-ID; where there are several, one that is up, or the last.
    pub calls: HashMap<String, Followed>,
    /// Media of these, and when it begins.
    pub media: HashMap<Media, i64>,
    /// Rows of calls.
    pub rows: u64,
    /// Rows beyond the limits.
    pub beyond: u64,
}

/// The segments of these classes that may hold packets from then on, in a data folder.
///
/// # Errors
/// A folder cannot be listed.
pub fn segments(data: &std::path::Path, from_ns: i64, classes: &[Class]) -> std::io::Result<Vec<SegmentFile>> {
    let span = Span { first_ns: from_ns, last_ns: i64::MAX };
    list(data, 0, &Wish { span, classes: classes.to_vec() })
}

/// What rows call a segment: as the run does that wrote it.
fn name_of(file: &SegmentFile) -> String {
    let class = file.class.unwrap_or(Class::Other);
    segment_name(class, file.begins_ns, file.lane, file.again)
}

/// Reads segments to their end. `pause` is asked every few thousand packets, and may wait.
///
/// # Errors
/// The sink refused, which none here does.
pub fn read(
    files: &[SegmentFile],
    keep: &Keep,
    out: &mut RowsOut,
    progress: &Progress,
    pause: &(dyn Fn() + Sync),
) -> Result<(Summary, Seen), String> {
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let names: Vec<String> = files.iter().map(name_of).collect();
    let options = ReadOptions { files: paths, threads: 1, expansion: None };
    let mut sink = Recovered { out, keep, seen: Seen::default(), intervals: HashMap::new(), waiting: 0 };
    let summary = job::read_behind(Pauses { pause }, &options, &mut sink, progress, Arc::new(names))?;
    Ok((summary, sink.seen))
}

/// Gives way to the live capture now and then.
struct Pauses<'a> {
    pause: &'a (dyn Fn() + Sync),
}

impl LaneJob for Pauses<'_> {
    #[inline]
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        if seen.packet.number.is_multiple_of(LOOK_PACKETS) {
            (self.pause)();
        }
        ControlFlow::Continue(())
    }
}

/// Takes what the reading gives.
struct Recovered<'a> {
    out: &'a mut RowsOut,
    keep: &'a Keep,
    seen: Seen,
    intervals: HashMap<Id, Vec<StreamInterval>>,
    waiting: usize,
}

impl Sink for Recovered<'_> {
    fn rows(&mut self, mut rows: Rows) -> Result<(), String> {
        self.take_intervals(core::mem::take(&mut rows.intervals));
        let mut kept = Rows::default();
        for mut call in rows.calls {
            let intervals = call.streams.iter().flat_map(|stream| self.give_intervals(stream.id)).collect::<Vec<_>>();
            if !self.keep.keeps(&call) {
                continue;
            }
            self.see(&call);
            note(&mut call, self.keep.is_brief);
            kept.intervals.extend(intervals);
            kept.calls.push(call);
        }
        let is_rest_kept = self.keep.only.is_none() && !self.keep.is_brief;
        for stream in rows.streams {
            let intervals = self.give_intervals(stream.id);
            if is_rest_kept && stream.first_ns >= self.keep.from_ns {
                kept.intervals.extend(intervals);
                kept.streams.push(stream);
            }
        }
        if is_rest_kept {
            let from_ns = self.keep.from_ns;
            kept.registrations.extend(rows.registrations.into_iter().filter(|r| r.start_ns >= from_ns));
            kept.events.extend(rows.events.into_iter().filter(|e| e.start_ns >= from_ns));
        }
        // The live capture's rows come first.
        let writing = self.out.writing();
        while kept.count() > 0 && writing.report().waiting > WAITING_MAX {
            std::thread::park_timeout(Duration::from_millis(20));
        }
        self.out.rows(kept)
    }
}

impl Recovered<'_> {
    fn take_intervals(&mut self, intervals: Vec<StreamInterval>) {
        for interval in intervals {
            if self.waiting >= INTERVALS_MAX {
                self.seen.beyond += 1;
                continue;
            }
            self.waiting += 1;
            self.intervals.entry(interval.stream).or_default().push(interval);
        }
    }

    fn give_intervals(&mut self, stream: Id) -> Vec<StreamInterval> {
        let intervals = self.intervals.remove(&stream).unwrap_or_default();
        self.waiting -= intervals.len();
        intervals
    }

    fn see(&mut self, call: &Call) {
        self.seen.rows += 1;
        for stream in &call.streams {
            let first_ns = self.seen.media.entry(media_of(stream)).or_insert(stream.first_ns);
            *first_ns = stream.first_ns.min(*first_ns);
        }
        let followed = Followed::of(call);
        let order = |call: &Followed| (call.is_up, call.last_ns);
        let seen = self.seen.calls.entry(call.sip_call_id.clone()).or_insert(followed);
        if order(&followed) > order(seen) {
            *seen = followed;
        }
    }
}

/// Says in a call how its row came to be. Without its media it says nothing about how the call was, and is older than
/// any row that does, so that the store takes that one in its place. A nanosecond would not do: a reading of signalling
/// alone may find a message behind a hole of a TCP connection that the other one does not.
fn note(call: &mut Call, is_brief: bool) {
    let between = if call.capture.note.is_empty() { "" } else { "; " };
    call.capture.note = format!("{NOTE}{between}{}", call.capture.note);
    if is_brief {
        (call.verdict, call.last_ns) = (None, call.start_ns.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_media_gives_way_to_any_that_has_it() {
        let whole = Call { start_ns: 10, last_ns: 50, ..Call::default() };
        let mut brief = Call { last_ns: 70, ..whole.clone() };
        note(&mut brief, true);
        assert!(brief.last_ns < whole.last_ns && brief.last_ns < whole.start_ns);
        assert_eq!(brief.capture.note, NOTE);
        let mut told = whole.clone();
        told.capture.note = "cut".to_owned();
        note(&mut told, false);
        assert_eq!((told.last_ns, told.capture.note), (50, format!("{NOTE}; cut")));
    }
}
