//! One file that packets are extracted from: planned by its index, read a little at a time.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::Advice;
use trunkline_capture::{Batch, FileError, FileSource};
use trunkline_spool::{AHEAD_PIECES_MAX, Ahead};

use super::folder::SegmentFile;
use super::index_file::{self, FileAt};
use crate::extract::{self, Plan};
use crate::index::{IndexError, PAGE_OCTETS, ReadAt, Span, View};
use crate::query::{Compile, Matcher, Query};
use crate::segment::{BEHIND_OCTETS, Read, Region, Segment, SegmentFault};

/// Octets of one file that are read before another's turn, so that reading stays small beside what is written.
pub(super) const STEP_OCTETS: usize = 128 << 10;
/// Regions that are read ahead, as far as there is room; more are begun when half of them are done.
const AHEAD_REGIONS: usize = AHEAD_PIECES_MAX / 2;

/// A packet that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// When it was captured, nanoseconds since 1970, UTC.
    pub at_ns: i64,
    /// Which of the files that were searched.
    pub file: usize,
    /// Where its record begins in the file (in the decompressed stream).
    pub offset: u64,
    /// Link type.
    pub link: u16,
    /// Octets that it had on the wire.
    pub wire: u32,
    /// What was captured.
    pub octets: Vec<u8>,
}

/// Which packets are taken, beyond what the index tells.
pub enum Wanted {
    /// Those that the query matches.
    Matching,
    /// Those that this says: link type and octets. The query says only what is read.
    Chosen(Box<Chosen>),
}

/// Says of a packet, by its link type and octets, whether it is taken.
pub type Chosen = dyn Fn(u16, &[u8]) -> bool + Send + Sync;

/// What is looked for.
pub struct Selection {
    /// The query: plans what is read and, unless something else is wanted, tests each packet.
    pub query: Query,
    /// From when to when.
    pub span: Span,
    /// What is taken.
    pub wanted: Wanted,
}

/// What planning found out about a file.
pub(super) struct Planned {
    pub(super) file: SegmentFile,
    pub(super) plan: Plan,
    /// No packet that is looked for is earlier.
    pub(super) lower_ns: i64,
    pub(super) file_octets: u64,
    pub(super) index_octets: u64,
    head_octets: u64,
    descriptions: Vec<(u64, u32)>,
    /// Why an index was made anew.
    pub(super) remade: Option<IndexError>,
    pub(super) fault: Option<FileError>,
}

/// Plans reading a file. A segment whose index is missing or cannot be used gets another.
pub(super) fn plan(file: &SegmentFile, selection: &Selection) -> Planned {
    let mut planned = Planned {
        file: file.clone(),
        plan: Plan::Whole,
        lower_ns: i64::MIN,
        file_octets: 0,
        index_octets: 0,
        head_octets: 0,
        descriptions: Vec::new(),
        remade: None,
        fault: None,
    };
    let capture = match file.open() {
        Ok(capture) => capture,
        Err(e) => {
            planned.fault = Some(planned.error(0, trunkline_capture::FileFault::Unreadable(e.to_string())));
            planned.plan = Plan::Nothing;
            return planned;
        }
    };
    planned.file_octets = capture.octets();
    if !file.growing {
        planned.by_index(capture, selection);
    }
    if planned.plan == Plan::Whole {
        planned.lower_ns = planned.lower_ns.max(first_packet_ns(&file.path));
    }
    planned
}

/// The time of a file's first packet, as merging whole files goes by.
fn first_packet_ns(path: &std::path::Path) -> i64 {
    let mut batch = Batch::default();
    let mut source = FileSource::open(&[path.to_path_buf()]).with_batch_octets(16 << 10);
    if source.fill(&mut batch) { batch.packets.first().map_or(i64::MIN, |p| p.at_ns) } else { i64::MIN }
}

impl Planned {
    pub(super) fn error(&self, offset: u64, fault: trunkline_capture::FileFault) -> FileError {
        FileError { path: self.file.path.clone(), offset, decompressed: self.file.is_packed(), fault }
    }

    fn by_index(&mut self, capture: FileAt, selection: &Selection) {
        let mut why = None;
        for index in self.file.indexes.clone().iter().filter(|path| path.exists()) {
            match index_file::open(index, &capture).and_then(|view| self.take(&view, selection)) {
                Ok(()) => return,
                Err(error) => why = Some(error),
            }
        }
        // A file that was named has an index if its owner made one; a segment always has.
        if self.file.class.is_none() {
            self.remade = why;
            return;
        }
        self.remade = Some(why.unwrap_or(IndexError::Unreadable("there is none".to_owned())));
        let owner = capture.owner();
        let Some(path) = self.file.indexes.first() else { return };
        let Ok((octets, fault)) = index_file::make_for_reading(capture, path) else { return };
        if let (Ok(owner), None) = (owner, &fault) {
            // Where it cannot be written it is made again next time.
            let _ = index_file::write(path, &octets, owner);
        }
        if fault.is_none() {
            let _ = View::open(octets).and_then(|view| self.take(&view, selection));
        }
    }

    fn take<R: ReadAt>(&mut self, view: &View<R>, selection: &Selection) -> Result<(), IndexError> {
        let facts = view.facts();
        let plan = extract::plan(view, &selection.query, &selection.span)?;
        if let Plan::Regions(_) = plan {
            self.descriptions = view.descriptions()?;
        }
        self.plan = plan;
        self.lower_ns = facts.span.first_ns.max(selection.span.first_ns);
        (self.head_octets, self.index_octets) = (facts.head_octets, facts.index_octets);
        Ok(())
    }
}

/// A planned file that is open, with packets that were found and not handed out.
pub(super) struct Source {
    pub(super) planned: Planned,
    pub(super) number: usize,
    reading: Reading,
    pub(super) queue: VecDeque<Found>,
    matchers: Matchers,
    pub(super) octets_read: u64,
    pub(super) packets_read: u64,
}

enum Reading {
    Regions {
        segment: Box<Segment<FileAt>>,
        next: usize,
        region: Option<Region>,
        fetched: usize,
    },
    Whole {
        segment: Box<Segment<FileAt>>,
        region: Region,
    },
    /// Compressed: read as a stream.
    Stream(Box<FileSource>, Box<Batch>),
    Ended,
}

impl Source {
    pub(super) fn open(mut planned: Planned, number: usize) -> Source {
        let reading = match Source::begin(&planned) {
            Ok(reading) => reading,
            Err(SegmentFault { offset, fault }) => {
                planned.fault = Some(planned.error(offset, fault));
                Reading::Ended
            }
        };
        let (queue, matchers) = Default::default();
        Source { planned, number, reading, queue, matchers, octets_read: 0, packets_read: 0 }
    }

    fn begin(planned: &Planned) -> Result<Reading, SegmentFault> {
        let unreadable = |e: std::io::Error| SegmentFault {
            offset: 0,
            fault: trunkline_capture::FileFault::Unreadable(e.to_string()),
        };
        let file = planned.file.open().map_err(unreadable)?;
        let whole = planned.plan == Plan::Whole;
        let advice = if whole { Advice::Sequential } else { Advice::Random };
        file.advise(None, advice);
        match Segment::open(file, planned.file.growing) {
            Ok(segment) if whole => {
                let region = Region { from: segment.first(), until: u64::MAX };
                Ok(Reading::Whole { segment: Box::new(segment), region })
            }
            Ok(segment) => Ok(Reading::Regions { segment: Box::new(segment), next: 0, region: None, fetched: 0 }),
            // Compressed, and its seek table damaged or none.
            Err(_) if whole && (planned.file.class.is_none() || planned.file.is_packed()) => {
                let source = FileSource::open(std::slice::from_ref(&planned.file.path));
                Ok(Reading::Stream(Box::new(source), Box::default()))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Reads on until something is found, or `stop` is true. False when there is nothing left.
    pub(super) fn fill(
        &mut self,
        selection: &Selection,
        compiler: &dyn Compile,
        ahead: &mut Ahead,
        stop: &AtomicBool,
    ) -> bool {
        while self.queue.is_empty() && !stop.load(Ordering::Relaxed) {
            let mut take = Take {
                selection,
                compiler,
                matchers: &mut self.matchers,
                queue: &mut self.queue,
                file: self.number,
                packets: 0,
            };
            let before = self.octets_read;
            let step = step(&mut self.reading, &self.planned, &mut take, &mut self.octets_read, ahead);
            self.packets_read += take.packets;
            debug_assert!(self.octets_read >= before);
            match step {
                Ok(true) => {}
                Ok(false) => {
                    self.end();
                    break;
                }
                Err(fault) => {
                    self.planned.fault.get_or_insert(fault);
                    self.end();
                    break;
                }
            }
        }
        !self.queue.is_empty()
    }

    fn end(&mut self) {
        self.reading = Reading::Ended;
    }

    /// What the compiler said of link types to which the expression does not apply.
    pub(super) fn refusals(&self) -> impl Iterator<Item = (u16, &str)> {
        self.matchers.iter().filter_map(|(link, m)| Some((*link, m.as_ref().err()?.as_str())))
    }
}

fn step(
    reading: &mut Reading,
    planned: &Planned,
    take: &mut Take<'_>,
    octets_read: &mut u64,
    ahead: &mut Ahead,
) -> Result<bool, FileError> {
    let error = |SegmentFault { offset, fault }| planned.error(offset, fault);
    match reading {
        Reading::Ended => Ok(false),
        Reading::Whole { segment, region } => {
            let more = segment.step(region, STEP_OCTETS, &mut |read: &Read<'_>| take.see(read)).map_err(error);
            *octets_read = segment.octets_read();
            more
        }
        Reading::Regions { segment, next, region, fetched } => {
            let Plan::Regions(regions) = &planned.plan else { return Ok(false) };
            if region.is_none() {
                let Some(begun) = regions.get(*next) else { return Ok(false) };
                *next += 1;
                fetch(segment, regions, *next, fetched, ahead);
                segment.prepare(planned.head_octets, &planned.descriptions, begun.from).map_err(error)?;
                *region = Some(*begun);
            }
            if let Some(here) = region {
                let more = segment.step(here, STEP_OCTETS, &mut |read: &Read<'_>| take.see(read)).map_err(error)?;
                if !more {
                    *region = None;
                }
            }
            *octets_read = segment.octets_read();
            Ok(true)
        }
        Reading::Stream(source, batch) => {
            let more = source.fill(batch);
            for packet in batch.packets.iter().filter(|_| more) {
                let read = Read {
                    at_ns: packet.at_ns,
                    offset: packet.offset,
                    record_octets: 0,
                    link: packet.link,
                    wire: packet.wire,
                    octets: batch.octets_of(packet),
                    timeless: false,
                };
                take.see(&read);
            }
            *octets_read = source.octets_read();
            match source.files().first().and_then(|f| f.error.clone()).filter(|_| !more) {
                Some(error) => Err(error),
                None => Ok(more),
            }
        }
    }
}

/// Begins to read the regions that come next, many at once.
fn fetch(segment: &Segment<FileAt>, regions: &[Region], next: usize, fetched: &mut usize, ahead: &mut Ahead) {
    *fetched = next.max(*fetched);
    if *fetched - next < AHEAD_REGIONS {
        let pieces = regions.get(*fetched..).unwrap_or_default().iter();
        let octets = |r: &Region| r.until.saturating_sub(r.from).min(PAGE_OCTETS * 64) + BEHIND_OCTETS as u64;
        let pieces = pieces.map(|r| (r.from, octets(r)));
        *fetched += segment.file().fetch(ahead, pieces);
    }
}

/// What an expression is to packets of each link type.
pub(super) type Matchers = HashMap<u16, Result<Matcher, String>>;

/// Takes the packets that are wanted.
pub(super) struct Take<'a> {
    pub(super) selection: &'a Selection,
    pub(super) compiler: &'a dyn Compile,
    pub(super) matchers: &'a mut Matchers,
    pub(super) queue: &'a mut VecDeque<Found>,
    pub(super) file: usize,
    pub(super) packets: u64,
}

impl Take<'_> {
    pub(super) fn see(&mut self, read: &Read<'_>) {
        self.packets += 1;
        if self.selection.span.holds(read.at_ns) && self.wants(read) {
            let Read { at_ns, offset, link, wire, octets, .. } = *read;
            self.queue.push_back(Found { at_ns, file: self.file, offset, link, wire, octets: octets.to_vec() });
        }
    }

    fn wants(&mut self, read: &Read<'_>) -> bool {
        if let Wanted::Chosen(chosen) = &self.selection.wanted {
            return chosen(read.link, read.octets);
        }
        let (query, compiler) = (&self.selection.query, self.compiler);
        let matcher = self.matchers.entry(read.link).or_insert_with(|| Matcher::new(query, read.link, compiler));
        matcher.as_ref().is_ok_and(|m| m.matches(read.link, read.octets, read.wire))
    }
}
