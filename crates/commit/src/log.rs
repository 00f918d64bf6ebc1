//! The log: groups of records become durable, one after the other.

use core::ops::ControlFlow;
use std::sync::Arc;

use crate::block::{self, BLOCK_OCTETS_MAX, HEAD_OCTETS, RECORD_OCTETS_MAX};
use crate::counts::Counts;
use crate::disk::Disk;
use crate::durable::Durable;
use crate::fault::{Fault, Refused, Witness};
use crate::identity::{self, LogId};
use crate::mark::Mark;
use crate::name::{self, Kind};
use crate::read::{End, SEGMENT_HEAD_OCTETS, Segment, segments};
use crate::snapshot::Snapshot;
use crate::walk::walk;

/// How the log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Octets of a segment: what is made at once, and removed at once.
    pub segment_octets: u64,
    /// Octets that may wait in memory for the disk.
    pub waiting_octets: usize,
}

/// Octets of a segment at least.
const SEGMENT_OCTETS_MIN: u64 = 4096;
/// And at most: a segment is read as a whole.
const SEGMENT_OCTETS_MAX: u64 = 1 << 30;

impl Default for Options {
    fn default() -> Options {
        Options { segment_octets: 64 << 20, waiting_octets: 64 << 20 }
    }
}

impl Options {
    fn check(&self) -> Result<(), Fault> {
        if !(SEGMENT_OCTETS_MIN..=SEGMENT_OCTETS_MAX).contains(&self.segment_octets) {
            let text = format!("a segment of {} octets: it has 4 KiB to 1 GiB", self.segment_octets);
            return Err(Fault::Option(text));
        }
        Ok(())
    }

    /// Octets of a block at most.
    fn block_octets(&self) -> usize {
        let room = usize::try_from(self.segment_octets).unwrap_or(usize::MAX) - SEGMENT_HEAD_OCTETS;
        (room / block::ALIGNED * block::ALIGNED).min(BLOCK_OCTETS_MAX)
    }

    /// Octets of a record at most: those that a block has room for, and [`RECORD_OCTETS_MAX`].
    pub fn record_octets(&self) -> usize {
        (self.block_octets() - HEAD_OCTETS - block::record_octets(0)).min(RECORD_OCTETS_MAX)
    }
}

/// Records that become durable together.
#[derive(Debug)]
pub struct Group {
    block: Vec<u8>,
    count: u32,
    most: usize,
    longest: usize,
}

impl Group {
    /// None yet, for a log with these options.
    pub fn new(options: &Options) -> Group {
        let mut block = Vec::new();
        block::begin(&mut block);
        Group { block, count: 0, most: options.block_octets(), longest: options.record_octets() }
    }

    /// Appends a record, if there is room for it in this group.
    ///
    /// # Errors
    /// [`Refused::Long`] if no group has room for it, [`Refused::Waiting`] if the next one will.
    pub fn put(&mut self, record: &[u8]) -> Result<(), Refused> {
        if record.len() > self.longest {
            return Err(Refused::Long);
        }
        if self.block.len() + block::record_octets(record.len()) > self.most {
            return Err(Refused::Waiting);
        }
        block::put(&mut self.block, record);
        self.count += 1;
        Ok(())
    }

    /// How many records.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Octets of its records in the block.
    pub fn record_octets(&self) -> usize {
        self.block.len() - HEAD_OCTETS
    }

    /// Its block, complete.
    pub(crate) fn seal(&mut self, first: u64, salt: u64) -> &[u8] {
        block::end(&mut self.block, first, self.count, salt);
        &self.block
    }

    /// None again; the memory is kept.
    pub fn clear(&mut self) {
        self.block.clear();
        block::begin(&mut self.block);
        self.count = 0;
    }
}

/// An append-only log on a disk.
#[derive(Debug)]
pub struct Log<D: Disk> {
    disk: Arc<D>,
    options: Options,
    file: D::File,
    name: String,
    /// Which log it is, as its segments say.
    id: Option<LogId>,
    salt: u64,
    /// Where the next block goes, and where the segment ends.
    at: u64,
    end: u64,
    /// The number of the first record of the segment, and of the next one.
    first: u64,
    next: u64,
    spare: Option<D::File>,
    mark: Mark<D::File>,
    closed: bool,
    counts: Counts,
    found: Found,
}

/// What was there when the log was opened.
#[derive(Debug, Default)]
pub struct Found {
    /// The number of the last record that the snapshot stands for; 0 without one.
    pub snapshot: u64,
    /// Newer snapshots that are damaged: one before them was read, and more of the log, or all of it. The mark, if it
    /// is damaged or gone.
    pub damaged: Vec<Fault>,
    /// The number of the last record.
    pub last: u64,
    /// Whether the end had been cut off by a crash, in the midst of records that nobody was told of.
    pub cut_off: bool,
}

impl<D: Disk> Log<D> {
    /// Opens the log in a folder, or begins one. `begin` is given the records of the newest whole snapshot, `fold`
    /// those since, with their numbers. Who gets an error may have seen some of them, and starts anew.
    ///
    /// # Errors [`Fault::Gone`] or [`Fault::Damaged`] if records are gone that were told to be durable,
    /// [`Fault::Refused`] if a closure refuses one, [`Fault::Io`] and [`Fault::Option`].
    pub fn open(
        disk: Arc<D>,
        options: Options,
        begin: impl FnMut(&[u8]) -> Result<(), String>,
        fold: impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<Log<D>, Fault> {
        Log::open_known(disk, options, &[], begin, fold)
    }

    /// The same beside others who know that records were durable: a log that ends before those is refused.
    ///
    /// # Errors
    /// As [`Log::open`].
    pub fn open_known(
        disk: Arc<D>,
        options: Options,
        witnesses: &[Witness],
        begin: impl FnMut(&[u8]) -> Result<(), String>,
        mut fold: impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<Log<D>, Fault> {
        options.check()?;
        remove_unfinished(&*disk)?;
        let mut durable = Durable::of(&*disk, witnesses)?;
        let mut found = read_snapshot(&*disk, begin)?;
        if segments(&*disk)?.is_empty() && durable.last() == 0 {
            found.damaged.extend(durable.no_mark(false));
            return Log::begin(disk, options, found);
        }
        let known = found.snapshot;
        let walked = walk(&*disk, known + 1, &mut durable, |number, record| {
            fold(number, record).map_err(|why| Fault::Refused { number, why })?;
            Ok(ControlFlow::Continue(()))
        })?;
        let Some((segment, end)) = walked.last else {
            return Err(Fault::damaged(&name::segment(known + 1), 0, "there is no segment"));
        };
        found.last = end.next - 1;
        found.damaged.extend(durable.no_mark(segment.is_marked()));
        Log::go_on(disk, options, &segment, end, found)
    }

    /// The first segment of all.
    fn begin(disk: Arc<D>, options: Options, found: Found) -> Result<Log<D>, Fault> {
        let mark = Mark::set(&*disk, 0)?;
        let file = make(&*disk, options)?;
        let mut log = Log {
            disk,
            options,
            file,
            name: name::segment(1),
            id: None,
            salt: 0,
            at: SEGMENT_HEAD_OCTETS as u64,
            end: options.segment_octets,
            first: 1,
            next: 1,
            spare: None,
            mark,
            closed: false,
            counts: Counts::default(),
            found,
        };
        log.name_it()?;
        Ok(log)
    }

    /// The last segment is written on, after what a crash cut off is wiped out.
    fn go_on(disk: Arc<D>, options: Options, segment: &Segment, end: End, found: Found) -> Result<Log<D>, Fault> {
        let name = segment.name.clone();
        let file = disk.open(&name).map_err(Fault::io(&name))?;
        let cut_off = !segment.is_clean_after(end);
        if cut_off {
            wipe(&*disk, &file, end.at, segment.len()).map_err(Fault::io(&name))?;
        }
        // What was found may be in the kernel's memory only, if it was the process that was ended and not the machine.
        disk.sync(&file).map_err(Fault::io(&name))?;
        let mark = Mark::set(&*disk, found.last)?;
        let id = LogId::of(&*disk)?;
        Ok(Log {
            disk,
            options,
            file,
            name,
            id,
            salt: segment.salt,
            at: end.at,
            end: segment.len(),
            first: segment.first,
            next: end.next,
            spare: None,
            mark,
            closed: false,
            counts: Counts::default(),
            found: Found { cut_off, ..found },
        })
    }

    /// Which log it is; none where none of its segments says so yet.
    pub fn id(&self) -> Option<LogId> {
        self.id
    }

    /// What was there when it was opened.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The number that the next record gets.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The last record of the segments that are closed; 0 if none is.
    pub fn sealed(&self) -> u64 {
        self.first - 1
    }

    /// Whether a write failed: nothing can be appended until the log is opened again.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Closes it: nothing is appended any more, as its files are another's from now on.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// What was done since it was opened.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The disk.
    pub fn disk(&self) -> &Arc<D> {
        &self.disk
    }

    /// Whether the next segment is to be made: [`make`], then [`Log::give`].
    pub fn wants_spare(&self) -> bool {
        self.spare.is_none()
    }

    /// Takes the file of the next segment.
    pub fn give(&mut self, spare: D::File) {
        self.spare = Some(spare);
    }

    /// Whether a group fits into the segment as it is: else [`Log::commit`] begins the next one.
    pub fn fits(&self, group: &Group) -> bool {
        self.at + group.block.len().next_multiple_of(block::ALIGNED) as u64 <= self.end
    }

    /// What comes next begins a new segment, so that this one can leave as soon as snapshots stand for its records.
    pub fn end_segment(&mut self) {
        if self.next > self.first {
            self.end = self.at;
        }
    }

    /// Makes the records of a group durable and leaves it empty; the number of the last record that is.
    ///
    /// # Errors [`Fault::Io`]: none of the group is durable. If the log is closed then ([`Log::is_closed`]), some of it
    /// may be found by the next start. Else the next segment could not be made, the group is as it was, and it may be
    /// tried again.
    pub fn commit(&mut self, group: &mut Group) -> Result<u64, Fault> {
        if self.closed {
            let error = std::io::Error::other("an earlier write failed");
            return Err(Fault::Io { name: self.name.clone(), error });
        }
        if group.count == 0 {
            return Ok(self.next - 1);
        }
        if !self.fits(group) {
            self.begin_segment()?;
        }
        let last = self.next + u64::from(group.count) - 1;
        let block = group.seal(self.next, self.salt);
        self.put(block, last)?;
        self.next += u64::from(group.count);
        self.counts.records += u64::from(group.count);
        self.counts.groups += 1;
        self.counts.octets += group.block.len() as u64;
        group.clear();
        Ok(self.next - 1)
    }

    fn put(&mut self, block: &[u8], last: u64) -> Result<(), Fault> {
        let written = self.disk.write(&self.file, self.at, block).and_then(|()| self.disk.sync(&self.file));
        let written = written.map_err(Fault::io(&self.name)).and_then(|()| self.mark.say(&*self.disk, last));
        self.closed = written.is_err();
        written?;
        self.at += block.len() as u64;
        Ok(())
    }

    /// Puts on stable storage what the log's mark says.
    ///
    /// # Errors
    /// The system's.
    pub fn sync_mark(&self) -> Result<(), Fault> {
        self.mark.sync(&*self.disk)
    }

    fn begin_segment(&mut self) -> Result<(), Fault> {
        self.sync_mark().inspect_err(|_| self.closed = true)?;
        let file = match self.spare.take() {
            Some(file) => file,
            None => make(&*self.disk, self.options)?,
        };
        self.file = file;
        self.name = name::segment(self.next);
        self.first = self.next;
        self.end = self.options.segment_octets;
        self.at = SEGMENT_HEAD_OCTETS as u64;
        self.name_it()
    }

    /// The segment that was made gets its head, and then its name.
    fn name_it(&mut self) -> Result<(), Fault> {
        let log = *self.id.get_or_insert_with(|| LogId::made(self.disk.salt()));
        self.mark.name(log);
        let (salt, head) = identity::segment(Some(log), self.first, || 0);
        self.salt = salt;
        let written = self.disk.write(&self.file, 0, &head).and_then(|()| self.disk.sync(&self.file));
        let named = written.and_then(|()| self.disk.rename(name::NEXT, &self.name));
        self.closed = named.is_err();
        self.counts.segments += 1;
        named.map_err(Fault::io(&self.name))
    }
}

/// Makes the file of a next segment; it may take as long as writing it.
///
/// # Errors
/// The system's: no room, above all.
pub fn make<D: Disk>(disk: &D, options: Options) -> Result<D::File, Fault> {
    disk.make(name::NEXT, options.segment_octets).map_err(Fault::io(name::NEXT))
}

fn remove_unfinished<D: Disk>(disk: &D) -> Result<(), Fault> {
    let names = disk.list().map_err(Fault::io("the folder"))?;
    for name in names.iter().filter(|name| name::kind(name) == Kind::Unfinished) {
        disk.remove(name).map_err(Fault::io(name))?;
    }
    Ok(())
}

/// Shows the newest snapshot that is whole. Where all are damaged, none is needed if the log has its first record.
fn read_snapshot<D: Disk>(disk: &D, begin: impl FnMut(&[u8]) -> Result<(), String>) -> Result<Found, Fault> {
    let mut damaged = Vec::new();
    for snapshot in Snapshot::all(disk)? {
        match snapshot.check(disk) {
            Ok(()) => {
                snapshot.each(disk, begin)?;
                return Ok(Found { snapshot: snapshot.last, damaged, ..Found::default() });
            }
            Err(fault) => damaged.push(fault),
        }
    }
    if segments(disk)?.first().is_some_and(|(first, _)| *first == 1) {
        return Ok(Found { damaged, ..Found::default() });
    }
    damaged.pop().map_or(Ok(Found::default()), Err)
}

/// Zeros from one place to another.
fn wipe<D: Disk>(disk: &D, file: &D::File, from: u64, to: u64) -> std::io::Result<()> {
    const ZEROS: &[u8] = &[0; 1 << 16];
    let mut at = from;
    while at < to {
        let octets = usize::try_from(to - at).unwrap_or(ZEROS.len()).min(ZEROS.len());
        disk.write(file, at, &ZEROS[..octets])?;
        at += octets as u64;
    }
    Ok(())
}
