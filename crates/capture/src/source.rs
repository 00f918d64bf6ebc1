//! Many capture files as one timeline of batches.
//!
//! Each file is looked at once for the time of its first packet; then they are read in that order, a file being opened
//! when its time comes. While one file alone is open its octets are read straight into the caller's batch; only while
//! files overlap in time are packets copied. Inside a file the order is the file's.

use std::collections::{BinaryHeap, VecDeque};
use std::path::PathBuf;

use crate::ahead::Ahead;
use crate::batch::Batch;
use crate::error::{FileError, FileFault};
use crate::expansion::Expansion;
use crate::input::{InputFile, ReadCounters};
use crate::reader::Reader;
use crate::stream::Stream;

/// Files that one source takes, so that a packet names its file in 16 bits. More are left unread, each with an error.
// Limit: capture files of one command
// Beyond: further files are not read
// Seen in: an error for each file; exit code 3
pub const FILES_MAX: usize = 65_536;
/// Files that are open and merged at once. Where more overlap in time, the others begin late, with packets out of
/// order, and are counted (`trunkline_capture_late_files_total`).
// Limit: capture files open and merged at once
// Beyond: further files begin late, and their packets are out of order
// Seen in: `trunkline_capture_late_files_total`
pub const OVERLAP_MAX: usize = 128;
/// Octets of file that a batch holds unless told otherwise: small enough that it stays in a core's second-level cache
/// beside what the jobs keep there. Reading alone is as fast from 128 KiB to 1 MiB, and slower above.
pub const BATCH_OCTETS: usize = 256 << 10;
/// Octets of each file that are held while files are merged.
const MERGE_OCTETS: usize = 64 << 10;
/// Octets of each file that are read to find its first packet.
const PROBE_OCTETS: usize = 16 << 10;

/// A source of packets.
pub trait Source {
    /// Replaces what is in the batch by the next packets. False when there are none left.
    fn fill(&mut self, batch: &mut Batch) -> bool;
}

/// Reads capture files as one timeline: sorted by their first packet's time, merged by time, ties in the order in
/// which the files were named.
pub struct FileSource {
    files: Vec<InputFile>,
    /// Files whose time has not come, the earliest first.
    waiting: VecDeque<Waiting>,
    /// Files that are being read, the one with the earliest next packet on top.
    open: BinaryHeap<Open>,
    batch_octets: usize,
    number: u64,
    /// The latest packet handed out while merging.
    latest: Key,
    ahead: Ahead,
    counters: ReadCounters,
    octets_read: u64,
    octets_total: Option<u64>,
    /// Octets to read again in place of files, by their path (tests and fuzzing).
    memory: Vec<Vec<u8>>,
    expansion: Option<Expansion>,
}

/// What the timeline is ordered by: time, then file.
type Key = (i64, u16);

/// A file whose time has not come.
struct Waiting {
    key: Key,
    /// A pipe stays open from the beginning, with what was read of it.
    held: Option<Box<(Reader, Batch)>>,
}

/// A file that is being read.
struct Open {
    key: Key,
    file: Box<Reading>,
}

struct Reading {
    reader: Reader,
    /// Packets that were read and not yet handed out, from `next` on.
    queue: Batch,
    next: usize,
}

impl FileSource {
    /// Looks at all files. It never fails as a whole: what is wrong with a file is told in [`FileSource::files`].
    /// The path `-` is standard input.
    pub fn open(paths: &[PathBuf]) -> FileSource {
        FileSource::of(paths, Vec::new(), None)
    }

    /// The same, where no more may come out of a compressed file than `expansion` says; one of which more does ends
    /// with [`FileFault::Expands`].
    pub fn open_bounded(paths: &[PathBuf], expansion: Expansion) -> FileSource {
        FileSource::of(paths, Vec::new(), Some(expansion))
    }

    /// Of files in memory, for tests and fuzzing.
    #[doc(hidden)]
    pub fn of_octets(files: Vec<Vec<u8>>) -> FileSource {
        let paths: Vec<PathBuf> = (0..files.len()).map(|i| PathBuf::from(i.to_string())).collect();
        FileSource::of(&paths, files, None)
    }

    fn of(paths: &[PathBuf], memory: Vec<Vec<u8>>, expansion: Option<Expansion>) -> FileSource {
        let mut source = FileSource {
            files: paths.iter().map(|path| InputFile { path: path.clone(), ..Default::default() }).collect(),
            waiting: VecDeque::new(),
            open: BinaryHeap::new(),
            batch_octets: BATCH_OCTETS,
            number: 1,
            latest: (i64::MIN, 0),
            ahead: Ahead::default(),
            counters: ReadCounters::default(),
            octets_read: 0,
            octets_total: Some(0),
            memory,
            expansion,
        };
        for file in 0..source.files.len() {
            source.look_at(file);
        }
        source.waiting.make_contiguous().sort_by_key(|w| w.key);
        source.ahead.order();
        source
    }

    /// The same with batches of about so many octets of file. A single packet may be larger.
    pub fn with_batch_octets(mut self, octets: usize) -> FileSource {
        self.batch_octets = octets.max(1);
        self
    }

    /// Replaces what is in the batch by the next packets. False when there are none left. The batch's octets beyond its
    /// packets are of no meaning. Losses come before the packets of their time where a file can be read twice, else
    /// when it reports them.
    pub fn fill(&mut self, batch: &mut Batch) -> bool {
        self.next(batch);
        self.ahead.tell(batch);
        !batch.packets.is_empty() || !batch.losses.is_empty()
    }

    fn next(&mut self, batch: &mut Batch) {
        batch.packets.clear();
        batch.losses.clear();
        let mut used = 0;
        loop {
            self.begin_files();
            let Some(mut top) = self.open.pop() else { break };
            if top.file.is_drained() {
                // It is alone: what was merged goes out first, then the batch is its own.
                if !batch.packets.is_empty() || !batch.losses.is_empty() {
                    self.open.push(top);
                    break;
                }
                if self.fill_alone(&mut top, batch) {
                    self.open.push(top);
                }
                if !batch.packets.is_empty() || !batch.losses.is_empty() {
                    break;
                }
            } else if self.merge(top, batch, &mut used) {
                break;
            }
        }
    }

    /// The input files, in the order in which they were named: [`crate::Packet::file`] is the index.
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// Octets read so far, before decompression.
    pub fn octets_read(&self) -> u64 {
        self.octets_read
    }

    /// Octets of all files; 0 where one of them is a pipe.
    pub fn octets_total(&self) -> u64 {
        self.octets_total.unwrap_or(0)
    }

    /// What was counted.
    pub fn counters(&self) -> ReadCounters {
        self.counters
    }

    /// Reads a file's beginning: what it is, and when its first packet was.
    fn look_at(&mut self, file: usize) {
        let path = self.files[file].path.clone();
        let is_stdin = |f: &InputFile| f.path.as_os_str() == "-";
        let fault = if file >= FILES_MAX {
            Some(FileFault::TooManyFiles(FILES_MAX))
        } else if self.memory.is_empty() && is_stdin(&self.files[file]) && self.files[..file].iter().any(is_stdin) {
            Some(FileFault::StandardInputTwice)
        } else {
            None
        };
        if let Some(fault) = fault {
            self.refuse(file, FileError { path, offset: 0, decompressed: false, fault });
            return;
        }
        let mut reader = match self.reader(file) {
            Ok(reader) => reader,
            Err(e) => return self.refuse(file, e),
        };
        let total = reader.octets_total();
        self.files[file].octets_total = total.unwrap_or(0);
        self.octets_total = self.octets_total.zip(total).map(|(a, b)| a.saturating_add(b));
        let mut batch = Batch::default();
        if !reader.fill(&mut batch, PROBE_OCTETS, &mut 0) {
            return self.finish(reader, file);
        }
        self.files[file].format.clone_from(&reader.format);
        // Losses without packets come when they come: at once.
        let at_ns = batch.packets.first().map_or(i64::MIN, |p| p.at_ns);
        let held = if reader.is_repeatable() {
            let told = reader.drops_at_end() == Some(0);
            if let Some(again) = (!told).then(|| self.reader(file).ok()).flatten() {
                self.ahead.look(file as u16, again);
            }
            None
        } else {
            Some(Box::new((reader, batch)))
        };
        self.waiting.push_back(Waiting { key: (at_ns, file as u16), held });
    }

    fn reader(&self, file: usize) -> Result<Reader, FileError> {
        let path = &self.files[file].path;
        let reader = match self.memory.get(file) {
            Some(octets) => Reader::of(path, file as u16, Stream::of_octets(octets.clone())),
            None => Reader::open(path, file as u16),
        };
        reader.map(|reader| reader.bounded(self.expansion))
    }

    /// Opens the files whose time has come: those that begin before the next packet of the files that are open.
    fn begin_files(&mut self) {
        while let Some(next) = self.waiting.front() {
            let is_due = match self.open.peek() {
                None => true,
                Some(top) => !top.file.is_drained() && next.key < top.key && self.open.len() < OVERLAP_MAX,
            };
            if !is_due {
                return;
            }
            let Some(next) = self.waiting.pop_front() else { return };
            self.counters.files_late += u64::from(next.key < self.latest);
            self.begin(next);
        }
    }

    fn begin(&mut self, waiting: Waiting) {
        let file = usize::from(waiting.key.1);
        let (mut reader, queue) = match waiting.held {
            Some(held) => *held,
            None => match self.reader(file) {
                Ok(reader) => (reader, Batch::default()),
                Err(e) => return self.refuse(file, e),
            },
        };
        if self.ahead.knows(waiting.key.1) {
            reader.know_losses();
        }
        let mut open = Open { key: waiting.key, file: Box::new(Reading { reader, queue, next: 0 }) };
        // A file that is alone is read straight into the caller's batch.
        if open.file.is_drained() && !self.open.is_empty() && !self.refill(&mut open) {
            return;
        }
        self.open.push(open);
    }

    /// Reads more of a file that is merged with others. False at its end.
    fn refill(&mut self, open: &mut Open) -> bool {
        let Reading { reader, queue, next } = &mut *open.file;
        *next = 0;
        if !reader.fill(queue, MERGE_OCTETS, &mut 0) {
            self.finish_open(open);
            return false;
        }
        self.follow(open);
        if let Some(packet) = open.file.queue.packets.first() {
            open.key.0 = packet.at_ns;
        }
        true
    }

    /// Fills a batch from the only file that is open, up to where the next one begins. False at the file's end.
    fn fill_alone(&mut self, open: &mut Open, batch: &mut Batch) -> bool {
        if !open.file.reader.fill(batch, self.batch_octets, &mut self.number) {
            self.finish_open(open);
            return false;
        }
        self.follow(open);
        let file = open.key.1;
        let Some(next) = self.waiting.front() else { return true };
        if let Some(split) = batch.packets.iter().position(|p| (p.at_ns, file) > next.key) {
            self.number -= (batch.packets.len() - split) as u64;
            open.file.take_back(batch, split);
            open.key.0 = open.file.queue.packets.first().map_or(open.key.0, |p| p.at_ns);
        }
        if let Some(last) = batch.packets.last() {
            self.latest = self.latest.max((last.at_ns, file));
        }
        true
    }

    /// Copies packets of the earliest file until another one is earlier. True when the batch is full.
    fn merge(&mut self, mut top: Open, batch: &mut Batch, used: &mut usize) -> bool {
        let mut bound = self.open.peek().map(|other| other.key);
        if self.open.len() + 1 < OVERLAP_MAX {
            bound = bound.into_iter().chain(self.waiting.front().map(|w| w.key)).min();
        }
        let file = &mut *top.file;
        while let Some(packet) = file.queue.packets.get(file.next) {
            top.key.0 = packet.at_ns;
            if bound.is_some_and(|bound| top.key > bound) {
                self.open.push(top);
                return false;
            }
            let octets = file.queue.octets_of(packet);
            let end = *used + octets.len();
            if end > self.batch_octets && *used > 0 {
                self.open.push(top);
                return true;
            }
            let own = batch.octets.own();
            if own.len() < end {
                own.resize(end.max(self.batch_octets), 0);
            }
            own[*used..end].copy_from_slice(octets);
            batch.packets.push(crate::Packet { number: self.number, start: *used as u32, ..*packet });
            self.latest = self.latest.max(top.key);
            self.number += 1;
            self.counters.merged += 1;
            *used = end;
            file.next += 1;
        }
        batch.losses.append(&mut file.queue.losses);
        // Alone, it need not know its next packet: the batch after this one is filled from it straight.
        if self.open.is_empty() || self.refill(&mut top) {
            self.open.push(top);
        }
        false
    }

    /// Adds what a file's figures grew by.
    fn follow(&mut self, open: &mut Open) {
        let input = &mut self.files[usize::from(open.key.1)];
        let old = input.read;
        open.file.reader.tell(input);
        self.counters.grow(&old, &input.read);
        self.octets_read += input.read.octets_read.saturating_sub(old.octets_read);
    }

    fn finish_open(&mut self, open: &mut Open) {
        self.follow(open);
        self.end_file(usize::from(open.key.1));
    }

    fn finish(&mut self, mut reader: Reader, file: usize) {
        let input = &mut self.files[file];
        reader.tell(input);
        self.counters.grow(&Default::default(), &input.read);
        self.octets_read += input.read.octets_read;
        self.end_file(file);
    }

    fn refuse(&mut self, file: usize, error: FileError) {
        self.files[file].error = Some(error);
        self.end_file(file);
    }

    fn end_file(&mut self, file: usize) {
        self.counters.files += 1;
        self.counters.files_broken += u64::from(self.files[file].error.is_some());
    }
}

impl Source for FileSource {
    fn fill(&mut self, batch: &mut Batch) -> bool {
        FileSource::fill(self, batch)
    }
}

impl Reading {
    /// Whether all that was read is handed out, so that its next packet is not known.
    fn is_drained(&self) -> bool {
        self.next >= self.queue.packets.len() && self.queue.losses.is_empty()
    }

    /// Takes the packets from `split` on back from a batch that was read from this file.
    fn take_back(&mut self, batch: &mut Batch, split: usize) {
        let back = &batch.packets[split..];
        let (Some(first), Some(last)) = (back.first(), back.last()) else { return };
        let (start, end) = (first.start, last.start + last.captured);
        self.queue.clear();
        let octets = batch.octets.slice(start as usize, (end - start) as usize);
        self.queue.octets.own().extend_from_slice(octets);
        self.queue.packets.extend(back.iter().map(|p| crate::Packet { start: p.start - start, ..*p }));
        self.next = 0;
        batch.packets.truncate(split);
    }
}

/// The earliest is the greatest: [`BinaryHeap`] has the greatest on top.
impl Ord for Open {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Open {}
