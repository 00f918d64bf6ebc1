//! Packets of several folders and files, found by their indexes and handed out in the order of time.
//!
//! The order is that of time; of packets of the same time, that of the folders and files as they were named, then class
//! (sip, rtp, other), lane and place in the file. So the same question to the same packets gives each the same number,
//! whether an index was there or not.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use trunkline_capture::FileError;

use super::folder::SegmentFile;
pub use super::source::{Found, Selection, Wanted};
use super::source::{Planned, Source, plan};
use crate::extract::Plan;
use crate::query::Compile;
use trunkline_spool::Ahead;

/// Files that are open at once; where more of them overlap in time, the others are not read and an error says so.
// Limit: segments read at once by one extraction
// Beyond: further ones are not read
// Seen in: an error for each segment
pub const OPEN_FILES_MAX: usize = 512;
/// Threads that open indexes; they wait for the disk, not for the processor.
const PLANNERS: usize = 8;

/// What extracting did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Files that were looked at.
    pub files: u64,
    /// Files that were read because something in them may match.
    pub files_read: u64,
    /// Pages in them that the index named.
    pub pages: u64,
    /// Octets of indexes that were opened.
    pub index_octets: u64,
    /// Octets read of captures.
    pub octets_read: u64,
    /// Octets of all files that were looked at.
    pub octets_total: u64,
    /// Packets that were tested.
    pub packets_tested: u64,
    /// Packets that were found.
    pub packets: u64,
    /// Indexes that were missing or could not be used, with the reason: made anew, or read without.
    pub remade: Vec<(std::path::PathBuf, String)>,
    /// What was broken or could not be read; the rest was.
    pub faults: Vec<FileError>,
    /// What was asked for by name and is not in the log, a sentence each.
    pub absent: Vec<String>,
    /// Link types whose packets were left out because the expression does not apply to them, with what libpcap says.
    pub refused: BTreeMap<u16, String>,
}

/// Packets being found.
pub struct Extraction<'a> {
    selection: &'a Selection,
    compiler: &'a dyn Compile,
    /// Files whose time has not come, the earliest last.
    waiting: Vec<(usize, Planned)>,
    open: BinaryHeap<Reverse<Head>>,
    ahead: Ahead,
    summary: Summary,
    octets_planned: u64,
    octets_done: u64,
    stop: &'a AtomicBool,
}

/// Who wants all packets.
static NEVER: AtomicBool = AtomicBool::new(false);

/// An open file by its next packet.
struct Head {
    at_ns: i64,
    source: Box<Source>,
}

impl Head {
    fn key(&self) -> (i64, usize) {
        (self.at_ns, self.source.number)
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<'a> Extraction<'a> {
    /// Plans reading these files; their order is that of packets of the same time. `seen` is told after each how many
    /// were planned.
    pub fn new(
        files: &[SegmentFile],
        selection: &'a Selection,
        compiler: &'a dyn Compile,
        seen: &(dyn Fn(usize) + Sync),
    ) -> Extraction<'a> {
        Extraction::until(files, selection, compiler, seen, &NEVER)
    }

    /// The same, until `stop` is true, whatever was found until then: it is looked at between two files that are
    /// planned and between two pages that are read.
    pub fn until(
        files: &[SegmentFile],
        selection: &'a Selection,
        compiler: &'a dyn Compile,
        seen: &(dyn Fn(usize) + Sync),
        stop: &'a AtomicBool,
    ) -> Extraction<'a> {
        let mut extraction = Extraction {
            selection,
            compiler,
            waiting: Vec::new(),
            open: BinaryHeap::new(),
            ahead: Ahead::new(),
            summary: Summary { files: files.len() as u64, ..Summary::default() },
            octets_planned: 0,
            octets_done: 0,
            stop,
        };
        for (number, planned) in plan_all(files, selection, seen, stop).into_iter().enumerate() {
            extraction.take(number, planned);
        }
        extraction.waiting.sort_by_key(|(number, planned)| Reverse((planned.lower_ns, *number)));
        extraction
    }

    /// The next packet, in order.
    #[expect(clippy::should_implement_trait, reason = "an iterator would have to give up its faults and progress")]
    pub fn next(&mut self) -> Option<Found> {
        if self.is_stopped() {
            return None;
        }
        self.begin_files();
        let Reverse(mut head) = self.open.pop()?;
        let found = head.source.queue.pop_front();
        self.summary.packets += u64::from(found.is_some());
        self.go_on(head);
        found
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Octets read, and octets that will have been read at the end.
    pub fn progress(&self) -> (u64, u64) {
        let open: u64 = self.open.iter().map(|h| h.0.source.octets_read).sum();
        (self.octets_done + open, self.octets_planned)
    }

    /// What was done; complete when [`Extraction::next`] gave its last packet, or when enough was seen.
    pub fn finish(mut self) -> Summary {
        for Reverse(head) in std::mem::take(&mut self.open) {
            self.end(*head.source);
        }
        self.summary
    }

    fn take(&mut self, number: usize, planned: Planned) {
        let summary = &mut self.summary;
        summary.index_octets += planned.index_octets;
        summary.octets_total += planned.file_octets;
        summary.faults.extend(planned.fault.clone());
        if let Some(why) = &planned.remade {
            summary.remade.push((planned.file.path.clone(), why.to_string()));
        }
        if planned.plan == Plan::Nothing {
            return;
        }
        if let Plan::Regions(regions) = &planned.plan {
            summary.pages += regions.iter().map(|r| r.until.div_ceil(4096) - r.from / 4096).sum::<u64>();
        }
        summary.files_read += 1;
        self.octets_planned += planned.plan.octets(planned.file_octets);
        self.waiting.push((number, planned));
    }

    /// Opens the files that may hold the next packet.
    fn begin_files(&mut self) {
        while let Some((_, planned)) = self.waiting.last().filter(|_| !self.is_stopped()) {
            let is_due = self.open.peek().is_none_or(|Reverse(head)| planned.lower_ns <= head.at_ns);
            if !is_due {
                return;
            }
            let Some((number, planned)) = self.waiting.pop() else { return };
            if self.open.len() >= OPEN_FILES_MAX {
                let fault = trunkline_capture::FileFault::TooManyFiles(OPEN_FILES_MAX);
                self.summary.faults.push(planned.error(0, fault));
                continue;
            }
            let source = Box::new(Source::open(planned, number));
            self.go_on(Head { at_ns: i64::MIN, source });
        }
    }

    /// Puts a file back by its next packet, or ends it.
    fn go_on(&mut self, mut head: Head) {
        if !head.source.queue.is_empty() || self.fill(&mut head) {
            head.at_ns = head.source.queue.front().map_or(i64::MAX, |found| found.at_ns);
            self.open.push(Reverse(head));
        } else {
            self.end(*head.source);
        }
    }

    fn fill(&mut self, head: &mut Head) -> bool {
        head.source.fill(self.selection, self.compiler, &mut self.ahead, self.stop)
    }

    fn end(&mut self, source: Source) {
        let summary = &mut self.summary;
        summary.octets_read += source.octets_read;
        summary.packets_tested += source.packets_read;
        self.octets_done += source.octets_read;
        for (link, why) in source.refusals() {
            summary.refused.entry(link).or_insert_with(|| why.to_owned());
        }
        summary.faults.extend(source.planned.fault);
    }
}

/// Plans all files, several at once.
fn plan_all(
    files: &[SegmentFile],
    selection: &Selection,
    seen: &(dyn Fn(usize) + Sync),
    stop: &AtomicBool,
) -> Vec<Planned> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        trunkline_spool::idle();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at).filter(|_| !stop.load(Ordering::Relaxed)) else { return };
            let planned = plan(file, selection);
            let mut done = done.lock().unwrap_or_else(|e| e.into_inner());
            done.push((at, planned));
            seen(done.len());
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..PLANNERS.min(files.len()) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, planned)| planned).collect()
}
