//! Packets of a capture that the packet log has already: they are not written again, and rows name the place that they
//! have. So a capture that is recorded twice, or once more after it was interrupted, is in the log once, and so is what
//! captures of one command have in common: copies, parts that overlap.
//!
//! A packet is known by its time in microseconds, which many programs keep no finer, its length on the wire and its
//! octets. Capture and log both go on in time, so that a few seconds of the log in memory are enough. A capture that
//! holds a packet twice has two: the n-th of a file is the n-th of the log, whatever other files hold.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use trunkline_capture::{Batch, FileSource, Packet};
use trunkline_kit::hash::fnv1a;
use trunkline_record::index::Span;
use trunkline_record::job::{SegmentFile, Wish, list};
use trunkline_record::names::segment_name;
use trunkline_record::{Class, Segments};

/// How long a packet of the log is remembered: captures are in order but for so much.
const BEHIND_NS: i64 = 5_000_000_000;
/// How far the log is read ahead of the capture.
const AHEAD_NS: i64 = 200_000_000;
/// No segment is longer (`record.segment-time`).
const SEGMENT_NS: i64 = 3_600_000_000_000;
/// Segments are opened by days.
const CHUNK_NS: i64 = 24 * SEGMENT_NS;
/// Packets that are remembered. Beyond it the earliest are forgotten; then some may be written a second time.
const REMEMBERED_MAX: usize = 4_000_000;
/// Times that the log is read anew because the capture went back in time; from then on, what it goes back for is
/// written.
const RETURNS_MAX: u32 = 1000;

/// Time in microseconds, length on the wire, and hash of the octets.
type Print = (i64, u32, u64);
/// Number of the segment, and offset of the record.
type Place = (u32, u64);

/// The packets of a log.
pub struct Known {
    /// Those of before, by when they begin.
    segments: Vec<SegmentFile>,
    names: Arc<Segments>,
    readings: Vec<Reading>,
    /// Segments that begin before are opened.
    opened_ns: i64,
    /// Time is read from here on.
    since_ns: i64,
    remembered: HashMap<Print, Held>,
    order: VecDeque<Print>,
    returns: u32,
    /// More than one file is read: what is written may come once more.
    is_many: bool,
    /// The packet that came last, where it is to be written and may come once more.
    written: Option<Print>,
    /// Packets that were in the log before.
    pub found: u64,
    /// Packets of which another file had the same.
    pub copies: u64,
}

/// Equal packets.
#[derive(Debug, Default)]
struct Held {
    /// Where they lie in the log.
    places: Vec<Place>,
    /// How many of them each file had.
    came: Vec<(u32, usize)>,
}

/// What a packet turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// The log does not have it.
    New,
    /// The log had it before, there.
    Known(Place),
    /// Another file of the command had it, and the log has it there.
    Copy(Place),
}

impl Held {
    /// What one more of a file is.
    fn take(&mut self, file: u32) -> Came {
        let at = self.came.iter().position(|(other, _)| *other == file).unwrap_or_else(|| {
            self.came.push((file, 0));
            self.came.len() - 1
        });
        self.came[at].1 += 1;
        let number = self.came[at].1;
        let is_copy = self.came.iter().any(|(other, count)| *other != file && *count >= number);
        match self.places.get(number - 1) {
            None => Came::New,
            Some(place) if is_copy => Came::Copy(*place),
            Some(place) => Came::Known(*place),
        }
    }
}

/// Some segments, merged by time.
struct Reading {
    source: FileSource,
    /// What each is called in rows.
    numbers: Vec<u32>,
    batch: Batch,
    next: usize,
}

impl Known {
    /// Of the log of a data folder as it is now, for so many files that are read; `names` are those of the recorder
    /// that goes on writing there.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn of(data: &Path, files: usize, names: Arc<Segments>) -> std::io::Result<Known> {
        let mut segments = list(data, 0, &Wish { span: Span::ALL, classes: Class::ALL.to_vec() })?;
        segments.retain(|segment| !segment.growing);
        segments.sort_by_key(|segment| segment.begins_ns);
        Ok(Known {
            segments,
            names,
            readings: Vec::new(),
            opened_ns: i64::MIN,
            since_ns: i64::MAX,
            remembered: HashMap::new(),
            order: VecDeque::new(),
            returns: 0,
            is_many: files > 1,
            written: None,
            found: 0,
            copies: 0,
        })
    }

    /// Takes the next packet of the files.
    pub fn take(&mut self, packet: &Packet, octets: &[u8]) -> Came {
        self.written = None;
        if self.segments.is_empty() && !self.is_many {
            return Came::New;
        }
        let at_ns = packet.at_ns;
        let is_back = at_ns < self.since_ns && self.since_ns < i64::MAX && self.returns < RETURNS_MAX;
        if is_back || at_ns.saturating_sub(self.opened_ns) > CHUNK_NS {
            self.returns += u32::from(is_back);
            self.begin_at(at_ns);
        }
        self.read_until(at_ns.saturating_add(AHEAD_NS));
        self.forget(at_ns.saturating_sub(BEHIND_NS));
        if self.remembered.is_empty() && !self.is_many {
            return Came::New;
        }
        let print = (at_ns.div_euclid(1000), packet.wire, fnv1a(octets));
        let came = match self.is_many {
            true => self.held(print).take(packet.file),
            false => self.remembered.get_mut(&print).map_or(Came::New, |held| held.take(packet.file)),
        };
        match came {
            Came::New => self.written = self.is_many.then_some(print),
            Came::Known(_) => self.found += 1,
            Came::Copy(_) => self.copies += 1,
        }
        came
    }

    /// The packet that came last was written there.
    pub fn wrote(&mut self, place: Place) {
        if let Some(print) = self.written.take() {
            self.remember(print, place);
        }
    }

    fn remember(&mut self, print: Print, place: Place) {
        self.held(print).places.push(place);
    }

    fn held(&mut self, print: Print) -> &mut Held {
        self.remembered.entry(print).or_insert_with(|| {
            self.order.push_back(print);
            Held::default()
        })
    }

    /// Reads from a time on, anew.
    fn begin_at(&mut self, at_ns: i64) {
        self.readings.clear();
        self.remembered.clear();
        self.order.clear();
        self.since_ns = at_ns.saturating_sub(BEHIND_NS);
        self.opened_ns = self.since_ns.saturating_sub(SEGMENT_NS);
    }

    fn read_until(&mut self, until_ns: i64) {
        // Behind the last time there is nothing to open.
        while self.opened_ns <= until_ns && self.opened_ns < i64::MAX {
            let next_ns = self.opened_ns.saturating_add(CHUNK_NS);
            self.open(self.opened_ns, next_ns);
            self.opened_ns = next_ns;
        }
        let mut readings = core::mem::take(&mut self.readings);
        readings.retain_mut(|reading| self.read(reading, until_ns));
        self.readings = readings;
    }

    /// Opens the segments that begin within a span.
    fn open(&mut self, from_ns: i64, to_ns: i64) {
        let of = |ns| self.segments.partition_point(|segment| segment.begins_ns < ns);
        let segments = &self.segments[of(from_ns)..of(to_ns)];
        if segments.is_empty() {
            return;
        }
        let paths: Vec<_> = segments.iter().map(|segment| segment.path.clone()).collect();
        let name = |segment: &SegmentFile| {
            let class = segment.class.unwrap_or(Class::Other);
            self.names.add(segment_name(class, segment.begins_ns, segment.lane, segment.again))
        };
        let numbers = segments.iter().map(name).collect();
        self.readings.push(Reading { source: FileSource::open(&paths), numbers, batch: Batch::default(), next: 0 });
    }

    /// Remembers the packets of a reading up to a time; whether there are more.
    fn read(&mut self, reading: &mut Reading, until_ns: i64) -> bool {
        loop {
            let Some(packet) = reading.batch.packets.get(reading.next) else {
                reading.next = 0;
                if !reading.source.fill(&mut reading.batch) {
                    return false;
                }
                continue;
            };
            if packet.at_ns > until_ns {
                return true;
            }
            reading.next += 1;
            if packet.at_ns < self.since_ns {
                continue;
            }
            let print = (packet.at_ns.div_euclid(1000), packet.wire, fnv1a(reading.batch.octets_of(packet)));
            let number = reading.numbers.get(packet.file as usize).copied().unwrap_or_default();
            self.remember(print, (number, packet.offset));
        }
    }

    /// Forgets what is older.
    fn forget(&mut self, before_ns: i64) {
        let before_us = before_ns.div_euclid(1000);
        while let Some(print) = self.order.front().copied() {
            if print.0 >= before_us && self.order.len() <= REMEMBERED_MAX {
                return;
            }
            self.order.pop_front();
            self.remembered.remove(&print);
            if print.0 < before_us {
                self.since_ns = self.since_ns.max(before_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file can say any time, the first and the last among them.
    #[test]
    fn the_last_time_of_all_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut known = Known::of(folder.path(), 2, Arc::default()).unwrap();
        for at_ns in [i64::MIN, -1, 0, i64::MAX - 1, i64::MAX, i64::MIN, i64::MAX] {
            let packet = Packet { at_ns, number: 1, offset: 0, start: 0, captured: 1, wire: 1, link: 1, file: 0 };
            assert_eq!(known.take(&packet, &[7]), Came::New, "{at_ns}");
        }
    }

    /// Of files that hold a packet once or twice, and a log that has it once already.
    #[test]
    fn the_nth_of_a_file_is_the_nth_of_the_log() {
        let mut held = Held { places: vec![(7, 100)], came: Vec::new() };
        assert_eq!(held.take(0), Came::Known((7, 100)));
        assert_eq!(held.take(1), Came::Copy((7, 100)));
        assert_eq!(held.take(0), Came::New);
        held.places.push((9, 200));
        assert_eq!((held.take(1), held.take(1)), (Came::Copy((9, 200)), Came::New));
    }
}
