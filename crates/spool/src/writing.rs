//! A volume's thread: takes blocks from the queue, keeps several writes in flight, knows how far each segment is whole.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::block::Block;
use crate::engine::{Done, Engine, Request};
use crate::event::What;
use crate::options::PAGE;
use crate::progress::{Placed, Progress};
use crate::queue::{Command, Content, Next, Seal, Write};
use crate::sealing::{Ended, Uncut, Written};
use crate::segment::Segment;
use crate::shared::Shared;
use crate::stats::State;
use crate::volume::Volume;

/// How often the file system is asked for its space, and a volume that failed is tried again.
const TICK: Duration = Duration::from_secs(1);
/// Blocks of free space above [`crate::Options::keep_free`] before a full volume is written again.
const BLOCKS_FREE_MIN: u64 = 16;

/// The state of a volume's thread.
pub(crate) struct Writing {
    shared: Arc<Shared>,
    index: usize,
    engine: Box<dyn Engine>,
    seals: Sender<Ended>,
    segments: HashMap<u64, Progress>,
    /// Writes in flight, by number.
    sent: HashMap<u64, Sent>,
    requests: u64,
    /// Blocks for what was packed: outside of the pool, at most as many as writes in flight and what shares their page.
    spare: Vec<Block>,
    next_tick: Instant,
}

/// What is known of a write in flight.
struct Sent {
    segment: Arc<Segment>,
    flush: bool,
    spare: bool,
    begun: Instant,
}

impl Writing {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, engine: Box<dyn Engine>, seals: Sender<Ended>) -> Writing {
        Writing {
            shared,
            index,
            engine,
            seals,
            segments: HashMap::new(),
            sent: HashMap::new(),
            requests: 0,
            spare: Vec::new(),
            next_tick: Instant::now(),
        }
    }

    /// Writes until the queue is closed and empty.
    pub(crate) fn run(&mut self) {
        let shared = self.shared.clone();
        let Some(volume) = shared.volumes.get(self.index) else { return };
        loop {
            if Instant::now() >= self.next_tick {
                self.tick(volume);
            }
            let full = self.engine.in_flight() >= shared.options.depth.max(1);
            if full {
                volume.queue.set_busy(true);
                self.reap(volume, true);
                volume.queue.set_busy(false);
                continue;
            }
            let idle = self.engine.in_flight() == 0;
            match volume.queue.pop(if idle { TICK } else { Duration::ZERO }) {
                Next::Command(command) => self.carry_out(volume, command),
                Next::Nothing if idle => {}
                Next::Closed if idle => break,
                Next::Nothing | Next::Closed => self.reap(volume, true),
            }
        }
        for progress in std::mem::take(&mut self.segments).into_values() {
            self.leave(volume, &progress);
        }
    }

    fn carry_out(&mut self, volume: &Volume, command: Command) {
        match command {
            Command::Write(write) => {
                if write.waited {
                    volume.figures().waits.add(write.since.elapsed());
                }
                self.write(volume, write);
                if volume.is_lagging() && volume.queue.fill().octets < self.shared.pack_above() / 2 {
                    volume.set_lagging(false, &self.shared.log);
                }
            }
            Command::Seal(seal) => self.seal(volume, seal),
            Command::Leave(segment) => {
                self.reap_all_of(volume, segment.id);
                if let Some(progress) = self.segments.remove(&segment.id) {
                    self.leave(volume, &progress);
                }
                self.shared.end();
            }
        }
    }

    fn write(&mut self, volume: &Volume, write: Write) {
        let id = write.segment.id;
        let overlaps = self.segments.get(&id).is_some_and(|p| p.overlaps(write.base));
        if overlaps {
            // The page that ends the block before is written again: one after the other.
            self.reap_all_of(volume, id);
        }
        let is_new = !self.segments.contains_key(&id);
        if self.shared.hurry.load(Ordering::Relaxed) || (is_new && !volume.is_usable()) {
            self.end_early(volume, &write.segment);
        }
        if !write.segment.has_failed()
            && let Err(error) = self.prepare(volume, &write)
        {
            volume.figures().counts.file_errors += 1;
            self.fail(volume, &write.segment, &error);
        }
        if write.segment.has_failed() {
            volume.queue.is_over(write.begun);
            self.shared.lose_write(write);
            self.shared.end();
            return;
        }
        self.submit(volume, write);
    }

    /// Makes the segment's file before its first block, and reserves space ahead of each.
    fn prepare(&mut self, volume: &Volume, write: &Write) -> io::Result<()> {
        let sums = self.shared.options.sums.is_some();
        let new = || Progress::new(write.segment.clone(), sums);
        let progress = self.segments.entry(write.segment.id).or_insert_with(new);
        if progress.file.is_none() {
            let new = volume.disk.create(&write.segment.relative, &self.shared.roots)?;
            progress.place(new);
        }
        if let (Some(file), Some((offset, octets))) =
            (&progress.file, progress.space.ahead_of(write.base + write.len as u64))
        {
            // Without space in reserve the write itself will say what is wrong.
            if volume.disk.preallocate(file, offset, octets).is_err() {
                volume.figures().counts.file_errors += 1;
            }
        }
        Ok(())
    }

    fn submit(&mut self, volume: &Volume, write: Write) {
        let Some(progress) = self.segments.get_mut(&write.segment.id) else { return };
        let Some(file) = progress.file.clone() else { return };
        self.requests += 1;
        let id = self.requests;
        progress.sent(id, Placed { end: write.base + write.len as u64, boundary: write.boundary, tally: write.tally });
        let (block, spare) = match write.content {
            Content::Raw(block) | Content::Hard(block) => (Some(block), false),
            Content::Packed(packed) => {
                let block = self.spare_block();
                let unpacked = block.and_then(|mut b| packed.unpack(&mut b).then_some(b));
                let (octets, from) = packed.octets();
                self.shared.pool.forget_packed(octets, from);
                (unpacked, true)
            }
            Content::Packing => (None, false),
        };
        let sent = Sent { segment: write.segment, flush: write.flush, spare, begun: write.begun };
        let Some(mut block) = block else {
            return self.written(volume, id, &sent, Err(io::ErrorKind::OutOfMemory.into()));
        };
        let octets = write.len.next_multiple_of(PAGE);
        if let Some(padding) = block.get_mut(write.len..octets) {
            padding.fill(0);
        }
        self.add_sums(&sent.segment, write.base, block.get(..write.len).unwrap_or_default());
        self.sent.insert(id, sent);
        self.engine.submit(Request { id, file, block, octets, offset: write.base, since: Instant::now() });
        self.reap(volume, false);
    }

    /// Takes what is written into the checksums of its segment, while it is in memory: what the disk makes of it shows.
    fn add_sums(&mut self, segment: &Segment, base: u64, octets: &[u8]) {
        if let Some(sums) = self.segments.get_mut(&segment.id).and_then(|progress| progress.sums.as_mut()) {
            sums.add(base, octets);
        }
    }

    /// A block to unpack into.
    fn spare_block(&mut self) -> Option<Block> {
        if self.spare.is_empty() {
            self.spare = Block::several(self.shared.options.block, self.shared.options.depth).ok()?;
        }
        self.spare.pop()
    }

    /// Takes what ended; with `wait`, at least one if any is in flight.
    fn reap(&mut self, volume: &Volume, wait: bool) {
        let mut wait = wait;
        while let Some(done) = self.engine.reap(wait) {
            self.done(volume, done);
            wait = false;
        }
    }

    /// Waits until nothing of a segment is in flight.
    fn reap_all_of(&mut self, volume: &Volume, segment: u64) {
        while self.segments.get(&segment).is_some_and(|p| p.in_flight > 0) {
            self.reap(volume, true);
        }
    }

    fn done(&mut self, volume: &Volume, done: Done) {
        let Some(sent) = self.sent.remove(&done.request.id) else { return };
        let request = done.request;
        let result = match done.result {
            Err(error) if is_refused_direct(&error) && volume.disk.is_direct() => {
                let octets = request.block.get(..request.octets).unwrap_or_default();
                let again = volume.disk.give_up_direct(&request.file);
                again.and_then(|()| request.file.write_all_at(octets, request.offset))
            }
            result => result,
        };
        {
            let mut figures = volume.figures();
            figures.writes.add(done.took);
            match result {
                Ok(()) => {
                    figures.counts.written_blocks += 1;
                    figures.counts.device_octets += request.octets as u64;
                    volume.disk.leave_cache(&request.file, request.offset, request.octets);
                }
                Err(_) => figures.counts.write_errors += 1,
            }
        }
        match sent.spare {
            true => self.spare.push(request.block),
            false => self.shared.pool.give(request.block),
        }
        self.written(volume, request.id, &sent, result);
    }

    /// A block of a segment is on disk, or will not be.
    fn written(&mut self, volume: &Volume, id: u64, sent: &Sent, result: io::Result<()>) {
        match result {
            Ok(()) => {
                if let Some(progress) = self.segments.get_mut(&sent.segment.id) {
                    volume.figures().counts.written_octets += progress.written(id);
                }
                volume.figures().held.add(sent.begun.elapsed());
            }
            Err(error) => {
                if let Some(progress) = self.segments.get_mut(&sent.segment.id) {
                    progress.not_written();
                }
                self.fail(volume, &sent.segment, &error);
            }
        }
        if sent.flush {
            sent.segment.end_flush();
        }
        volume.queue.is_over(sent.begun);
        self.cut_if_over(volume, sent.segment.id);
        self.shared.end();
    }

    /// A segment cannot go on.
    fn fail(&mut self, volume: &Volume, segment: &Arc<Segment>, error: &io::Error) {
        volume.fail(error, &segment.relative.display().to_string(), &self.shared.log);
        self.end_early(volume, segment);
    }

    fn end_early(&mut self, volume: &Volume, segment: &Arc<Segment>) {
        segment.fail();
        if let Some(progress) = self.segments.get_mut(&segment.id) {
            progress.give_up();
        }
        self.cut_if_over(volume, segment.id);
    }

    /// Once nothing of a failed segment is in flight, it is cut after its last whole record: what is behind that is
    /// lost, and is told only now that this is certain.
    fn cut_if_over(&mut self, volume: &Volume, id: u64) {
        let Some(progress) = self.segments.get_mut(&id).filter(|p| p.is_over()) else { return };
        let Some(file) = progress.file.take() else { return };
        let (segment, part, rest) = (progress.segment.clone(), std::mem::take(&mut progress.part), progress.rest());
        let octets = rest.boundary;
        let cut = match octets {
            0 => volume.disk.remove(&part),
            octets => volume.disk.truncate(&file, octets),
        };
        {
            let counts = &mut volume.figures().counts;
            counts.file_errors += u64::from(cut.is_err());
            counts.cut_segments += 1;
        }
        if cut.is_err() {
            // To read what is there may take its time.
            self.shared.begin();
            let uncut = Uncut { segment, file, part, rest };
            if let Err(unsent) = self.seals.send(Ended::Uncut(uncut)) {
                unsent.0.tell(&self.shared, volume);
            }
            return;
        }
        let (tally, behind) = rest.lost();
        self.shared.lose(&segment, tally, behind);
        if octets > 0 {
            self.shared.log.tell(self.index, What::Cut { path: part, octets });
        }
    }

    fn seal(&mut self, volume: &Volume, seal: Seal) {
        self.reap_all_of(volume, seal.segment.id);
        let progress = self.segments.remove(&seal.segment.id);
        let whole = progress.filter(|p| !seal.segment.has_failed() && p.boundary == seal.octets);
        let Some((file, progress)) = whole.and_then(|mut p| Some((p.file.take()?, p))) else {
            self.shared.discard(Command::Seal(seal));
            return self.shared.end();
        };
        let sums = progress.sums.map(|sums| sums.finish(seal.octets));
        let written = Written { seal, file, part: progress.part, committed: progress.committed, sums };
        if let Err(unsent) = self.seals.send(Ended::Written(written)) {
            unsent.0.tell(&self.shared, volume);
        }
    }

    /// A segment without an end: its file is cut to what was written, and stays as it is.
    fn leave(&self, volume: &Volume, progress: &Progress) {
        if let Some(file) = &progress.file {
            volume.figures().counts.file_errors += u64::from(volume.disk.truncate(file, progress.boundary).is_err());
        }
    }

    /// Every second: space, and whether a volume that failed works again.
    fn tick(&mut self, volume: &Volume) {
        self.next_tick = Instant::now() + TICK;
        let space = volume.disk.space().unwrap_or_default();
        let state = {
            let mut figures = volume.figures();
            (figures.size_octets, figures.free_octets) = (space.size, space.free);
            figures.state.clone()
        };
        let keep = self.shared.options.keep_free;
        if state.is_usable() {
            if space.free < keep {
                volume.figures().last_error = Some(format!("{} octets free, {keep} are to stay free", space.free));
                volume.set_state(State::Full, &self.shared.log);
                self.end_all_early(volume);
            }
            return;
        }
        let wanted = keep + BLOCKS_FREE_MIN * self.shared.options.block as u64;
        if state == State::Full && space.free < wanted {
            return;
        }
        match volume.disk.probe() {
            Ok(()) => volume.set_state(State::Fine, &self.shared.log),
            Err(error) => volume.fail(&error, "probe", &self.shared.log),
        }
    }

    fn end_all_early(&mut self, volume: &Volume) {
        let segments: Vec<Arc<Segment>> = self.segments.values().map(|p| p.segment.clone()).collect();
        for segment in segments {
            self.end_early(volume, &segment);
        }
    }
}

/// Some file systems take the flag and refuse the write.
fn is_refused_direct(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}

impl Command {
    pub(crate) fn segment(&self) -> &Arc<Segment> {
        match self {
            Command::Write(write) => &write.segment,
            Command::Seal(seal) => &seal.segment,
            Command::Leave(segment) => segment,
        }
    }
}

impl Seal {
    /// Octets of memory that its extra files take.
    pub(crate) fn extra_octets(&self) -> usize {
        self.extra.iter().map(|e| e.octets.len()).sum()
    }
}

impl Progress {
    fn place(&mut self, new: crate::disk::NewFile) {
        self.file = Some(Arc::new(new.file));
        (self.part, self.committed) = (new.part, new.committed);
    }
}
