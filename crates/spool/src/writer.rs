//! A lane's way into the spool: records are copied into blocks, and nothing here waits for a disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::block::Block;
use crate::error::{Dropped, Place};
use crate::event::Loss;
use crate::options::{PAGE, Priority};
use crate::queue::{Command, Content, Seal, Tally, Write};
use crate::segment::Segment;
use crate::shared::Shared;
use crate::stats::Amount;

/// Octets of one append at most; more is refused.
pub const APPEND_OCTETS_MAX: usize = 16 << 20;

/// A file that goes beside a segment and is committed with it: the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its extension, which takes the place of the segment's: `idx`.
    pub extension: String,
    /// What is in it.
    pub octets: Vec<u8>,
}

/// Writes one segment after the other; a lane has one for each of its classes.
///
/// ```text
/// begin(name) -> append, append, ... flush (every second) ... seal(index) -> begin(next name) ...
/// ```
/// When the segment's volume fails, the segment ends: [`Writer::is_open`] is false and appends are dropped until
/// [`Writer::begin`] finds a volume again. Dropping a writer leaves its open segment as `.part`, with all that was
/// appended, for [`crate::repair`].
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    priority: Priority,
    tag: u32,
    cells: Arc<Cells>,
    counts: Counted,
    open: Option<Open>,
}

/// What a writer counts, where others can read it.
#[derive(Debug)]
pub(crate) struct Cells {
    pub(crate) priority: Priority,
    records: AtomicU64,
    octets: AtomicU64,
    buffer: [AtomicU64; 2],
    disk: [AtomicU64; 2],
    skipped: AtomicU64,
}

/// The same, where the writer counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) appended: Amount,
    pub(crate) buffer: Amount,
    pub(crate) disk: Amount,
    pub(crate) skipped: u64,
}

/// The segment that is being written.
#[derive(Debug)]
struct Open {
    segment: Arc<Segment>,
    block: Option<Block>,
    /// Octets of a block.
    size: usize,
    /// Octets that the block may hold: blocks end at multiples of their size in the segment, whatever a flush did.
    capacity: usize,
    /// Offset in the segment at which the block begins, a multiple of the page.
    base: u64,
    /// Octets in the block; without a block, in `tail`.
    len: usize,
    /// How many of these were handed over before: the page that will be written again.
    carried: usize,
    tail: Box<[u8; PAGE]>,
    /// End of the last record.
    boundary: u64,
    /// Records that ended in the block.
    tally: Tally,
    /// When the first of what is fresh in the block was appended.
    begun: Instant,
    /// A flush of what is in the block was left out.
    skipped: bool,
    span_ns: Option<(i64, i64)>,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, priority: Priority, tag: u32) -> Writer {
        let cells = Arc::new(Cells::new(priority));
        shared.enlist(cells.clone());
        Writer { shared, priority, tag, cells, counts: Counted::default(), open: None }
    }

    /// Begins a segment on the next usable volume. `relative` is its name below the volume's folder, with its
    /// extension; when that name is taken on any volume, `.1`, `.2` and so on go before the extension (the name is told
    /// by [`crate::What::Sealed`]). A segment still open is left as `.part`. Costs no I/O: may be tried at each record.
    ///
    /// # Errors
    /// No volume is usable; nothing is counted.
    pub fn begin(&mut self, relative: &Path) -> Result<(), Dropped> {
        self.leave();
        let volume = self.shared.next_volume().ok_or(Dropped { place: Place::Disk })?;
        let id = self.shared.next_segment();
        let segment = Segment::new(id, relative.to_path_buf(), volume, self.priority, self.tag);
        self.open = Some(Open {
            segment: Arc::new(segment),
            block: None,
            size: self.shared.pool.block_octets(),
            capacity: self.shared.pool.block_octets(),
            base: 0,
            len: 0,
            carried: 0,
            tail: Box::new([0; PAGE]),
            boundary: 0,
            tally: Tally::default(),
            begun: Instant::now(),
            skipped: false,
            span_ns: None,
        });
        Ok(())
    }

    /// Appends one record of time `at_ns` (nanoseconds since 1970): all parts, or none. Gives the offset in the segment
    /// at which it begins.
    ///
    /// # Errors
    /// There is no memory for this priority, or no segment is open (its volume failed): the record is counted as
    /// dropped there.
    #[inline]
    pub fn append(&mut self, at_ns: i64, parts: &[&[u8]]) -> Result<u64, Dropped> {
        self.append_as(1, at_ns, |_: &mut [u8; 0]| (), parts)
    }

    /// As [`Writer::append`], for a record whose first octets are made for it: `head` writes them where they belong.
    /// Written in pieces elsewhere and read back as a whole, they would have to wait until all that was written before
    /// them, the last record above all, has reached the cache.
    ///
    /// # Errors
    /// As [`Writer::append`].
    #[inline]
    pub fn append_headed<const N: usize>(
        &mut self,
        at_ns: i64,
        head: impl Fn(&mut [u8; N]),
        parts: &[&[u8]],
    ) -> Result<u64, Dropped> {
        self.append_as(1, at_ns, head, parts)
    }

    /// Appends what belongs to the segment and is no record: a header, a description, statistics. Its octets are
    /// counted as those of records are, and it is whole or not there like them.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn append_beside(&mut self, at_ns: i64, parts: &[&[u8]]) -> Result<u64, Dropped> {
        self.append_as(0, at_ns, |_: &mut [u8; 0]| (), parts)
    }

    #[inline]
    fn append_as<const N: usize>(
        &mut self,
        records: u64,
        at_ns: i64,
        head: impl Fn(&mut [u8; N]),
        parts: &[&[u8]],
    ) -> Result<u64, Dropped> {
        let octets = N + parts.iter().map(|p| p.len()).sum::<usize>();
        let offset = match &mut self.open {
            Some(open) if !open.segment.has_failed() => {
                let offset = open.position();
                if open.room() >= octets {
                    open.make(head);
                    open.copy(parts);
                } else if !self.append_over_blocks(octets, head, parts) {
                    return Err(self.refuse(Place::Buffer, records, octets));
                }
                offset
            }
            _ => return Err(self.refuse(Place::Disk, records, octets)),
        };
        if let Some(open) = &mut self.open {
            open.boundary = open.position();
            open.tally.add(Tally { records, span_ns: Some((at_ns, at_ns)) });
        }
        self.counts.appended.records += records;
        self.counts.appended.octets += octets as u64;
        Ok(offset)
    }

    /// Whether a segment is open: it was begun, not sealed, and its volume has not failed.
    pub fn is_open(&self) -> bool {
        self.open.as_ref().is_some_and(|o| !o.segment.has_failed())
    }

    /// Octets appended to the open segment: where the next record will begin.
    pub fn position(&self) -> u64 {
        self.open.as_ref().map_or(0, Open::position)
    }

    /// Octets of the open segment that were handed over to its volume: those behind wait for a full block, or for
    /// [`Writer::flush`].
    pub fn handed_over(&self) -> u64 {
        self.open.as_ref().map_or(0, |o| o.base + o.carried as u64)
    }

    /// Octets of the open segment, up to the end of a record, that are on disk: what `kill -9` would leave.
    pub fn on_disk(&self) -> u64 {
        self.open.as_ref().map_or(0, |o| o.segment.on_disk())
    }

    /// Sends what was appended on its way to the disk, the last page padded with zeros and written again later; to be
    /// called every second. It also sees to it that writers do not hold all memory, each a little. Left out (false)
    /// while an earlier flush of this writer is still on its way: the disk lags, and another would only fill the
    /// memory. What was to be flushed is then as old as before: it is to be tried again soon, not after the next
    /// second.
    pub fn flush(&mut self) -> bool {
        self.leave_if_failed();
        let mut flushed = true;
        if let Some(open) = &mut self.open
            && open.has_fresh()
        {
            flushed = open.segment.begin_flush();
            if flushed {
                open.hand_over(&self.shared, true);
            } else {
                self.counts.skipped += u64::from(!std::mem::replace(&mut open.skipped, true));
            }
        }
        self.cells.publish(&self.counts);
        flushed
    }

    /// Ends the segment: it is written, cut to its length, synchronised; the extra files are committed beside it, then
    /// the segment itself. All that happens later, on the volume's threads; [`crate::What::Sealed`] tells. Without an
    /// open segment nothing happens.
    pub fn seal(&mut self, extra: Vec<Extra>) {
        self.leave_if_failed();
        if let Some(mut open) = self.open.take() {
            open.hand_over(&self.shared, false);
            let octets = open.position();
            if octets > 0 {
                let span_ns = open.span_ns.unwrap_or_default();
                self.shared.hand_over(Command::Seal(Seal { segment: open.segment, octets, extra, span_ns }));
            }
        }
        self.cells.publish(&self.counts);
    }

    /// Its priority.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// The number that was given to [`crate::Spool::writer`]; losses bear it.
    pub fn tag(&self) -> u32 {
        self.tag
    }

    /// Appends what the block has no room for: takes all the blocks that it needs before it copies anything.
    #[cold]
    #[inline(never)]
    fn append_over_blocks<const N: usize>(
        &mut self,
        octets: usize,
        head: impl Fn(&mut [u8; N]),
        parts: &[&[u8]],
    ) -> bool {
        let Some(open) = &mut self.open else { return false };
        let size = open.size;
        let mut blocks = Vec::new();
        let mut room = open.room();
        // The first block may begin behind the block boundary of the segment, after a flush.
        let mut next_room = if open.block.is_some() { size } else { open.capacity - open.len };
        while room < octets {
            match self.shared.pool.take(self.priority) {
                Some(block) if octets <= APPEND_OCTETS_MAX => blocks.push(block),
                taken => {
                    blocks.extend(taken);
                    blocks.into_iter().for_each(|b| self.shared.pool.give(b));
                    return false;
                }
            }
            room += next_room;
            next_room = size;
        }
        let mut blocks = blocks.into_iter();
        let mut made = [0; N];
        head(&mut made);
        for part in [&made[..]].iter().chain(parts) {
            let mut rest = *part;
            while !rest.is_empty() {
                if open.room() == 0 {
                    let Some(block) = blocks.next() else { return false };
                    open.change(&self.shared, block);
                }
                let (now, later) = rest.split_at(rest.len().min(open.room()));
                open.copy(&[now]);
                rest = later;
            }
        }
        self.cells.publish(&self.counts);
        true
    }

    #[cold]
    fn refuse(&mut self, place: Place, records: u64, octets: usize) -> Dropped {
        self.leave_if_failed();
        let amount = match place {
            Place::Buffer => &mut self.counts.buffer,
            Place::Disk => &mut self.counts.disk,
        };
        amount.records += records;
        amount.octets += octets as u64;
        self.cells.publish(&self.counts);
        Dropped { place }
    }

    /// What was appended to a segment that failed, and not handed over yet, is lost.
    fn leave_if_failed(&mut self) {
        if self.open.as_ref().is_some_and(|o| o.segment.has_failed()) {
            self.leave();
        }
    }

    /// Lets go of the open segment without an end.
    fn leave(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        open.hand_over(&self.shared, false);
        if open.boundary > 0 {
            self.shared.hand_over(Command::Leave(open.segment));
        }
        self.cells.publish(&self.counts);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Open {
    fn position(&self) -> u64 {
        self.base + self.len as u64
    }

    /// Octets that still fit.
    fn room(&self) -> usize {
        if self.block.is_some() { self.capacity - self.len } else { 0 }
    }

    fn has_fresh(&self) -> bool {
        self.len > self.carried
    }

    /// Has octets made in their place, if they fit.
    #[inline(always)]
    fn make<const N: usize>(&mut self, head: impl Fn(&mut [u8; N])) {
        let Some(block) = &mut self.block else { return };
        if let Some(target) = block.get_mut(self.len..).and_then(|o| o.first_chunk_mut::<N>()) {
            head(target);
            self.len += N;
        }
    }

    /// Copies what fits.
    #[inline]
    fn copy(&mut self, parts: &[&[u8]]) {
        let Some(block) = &mut self.block else { return };
        for part in parts {
            if let Some(target) = block.get_mut(self.len..self.len + part.len()) {
                target.copy_from_slice(part);
                self.len += part.len();
            }
        }
    }

    /// Goes on in another block.
    fn change(&mut self, shared: &Shared, mut block: Block) {
        self.hand_over(shared, false);
        let len = self.len;
        if let (Some(target), Some(tail)) = (block.get_mut(..len), self.tail.get(..len)) {
            target.copy_from_slice(tail);
        }
        self.block = Some(block);
        self.begun = Instant::now();
    }

    /// Gives the block to the volume. What is left is the last page, if it is not full, to be written again.
    fn hand_over(&mut self, shared: &Shared, flush: bool) {
        let Some(mut block) = self.block.take() else { return };
        let tail = self.len % PAGE;
        let page = self.len - tail;
        if let (Some(from), Some(to)) = (block.get(page..self.len), self.tail.get_mut(..tail)) {
            to.copy_from_slice(from);
        }
        let (base, len, fresh) = (self.base, self.len, self.len - self.carried);
        self.base += page as u64;
        self.capacity = self.size - (self.base % self.size as u64) as usize;
        (self.len, self.carried, self.skipped) = (tail, tail, false);
        if fresh == 0 {
            shared.pool.give(block);
            return;
        }
        if let Some(padding) = block.get_mut(len..len.next_multiple_of(PAGE)) {
            padding.fill(0);
        }
        let tally = std::mem::take(&mut self.tally);
        let mut span = Tally { records: 0, span_ns: self.span_ns };
        span.add(tally);
        self.span_ns = span.span_ns;
        shared.hand_over(Command::Write(Write {
            segment: self.segment.clone(),
            content: Content::Raw(block),
            base,
            len,
            fresh,
            boundary: self.boundary,
            tally,
            flush,
            begun: self.begun,
            since: Instant::now(),
            waited: false,
        }));
    }
}

impl Cells {
    fn new(priority: Priority) -> Cells {
        let zero = || AtomicU64::new(0);
        Cells {
            priority,
            records: zero(),
            octets: zero(),
            buffer: [zero(), zero()],
            disk: [zero(), zero()],
            skipped: zero(),
        }
    }

    /// Shows the counts to others: plain stores, as only the writer writes them.
    fn publish(&self, counts: &Counted) {
        let amount = |cells: &[AtomicU64; 2], amount: &Amount| {
            cells[0].store(amount.records, Ordering::Relaxed);
            cells[1].store(amount.octets, Ordering::Relaxed);
        };
        self.records.store(counts.appended.records, Ordering::Relaxed);
        self.octets.store(counts.appended.octets, Ordering::Relaxed);
        amount(&self.buffer, &counts.buffer);
        amount(&self.disk, &counts.disk);
        self.skipped.store(counts.skipped, Ordering::Relaxed);
    }

    pub(crate) fn counted(&self) -> Counted {
        let amount = |cells: &[AtomicU64; 2]| Amount {
            records: cells[0].load(Ordering::Relaxed),
            octets: cells[1].load(Ordering::Relaxed),
        };
        Counted {
            appended: Amount {
                records: self.records.load(Ordering::Relaxed),
                octets: self.octets.load(Ordering::Relaxed),
            },
            buffer: amount(&self.buffer),
            disk: amount(&self.disk),
            skipped: self.skipped.load(Ordering::Relaxed),
        }
    }
}

/// A loss of this writer's segment.
pub(crate) fn loss(segment: &Segment, tally: Tally, octets: u64) -> Loss {
    Loss {
        place: Place::Disk,
        priority: segment.priority,
        tag: segment.tag,
        span_ns: tally.span_ns.unwrap_or_default(),
        records: tally.records,
        octets,
    }
}
