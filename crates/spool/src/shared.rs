//! What writers, volumes' threads and the spool have in common.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::event::Log;
use crate::options::{Options, PRIORITIES, Priority};
use crate::pool::Pool;
use crate::queue::{Command, Content, Pushed, Tally, Write};
use crate::segment::Segment;
use crate::stats::{Amount, Counts, Stats};
use crate::volume::Volume;
use crate::writer::{Cells, Counted, loss};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) pool: Pool,
    pub(crate) volumes: Vec<Volume>,
    /// Where a name may be taken: all volumes and the slow one.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) log: Log,
    /// What is queued is lost instead of written: the spool is closing and nobody waits any longer.
    pub(crate) hurry: AtomicBool,
    turn: AtomicUsize,
    segments: AtomicU64,
    writers: Mutex<Vec<Arc<Cells>>>,
    /// What writers counted that are gone.
    retired: Mutex<[Counted; PRIORITIES]>,
    lost: Mutex<[Amount; PRIORITIES]>,
    /// Commands handed over and not carried out to their end.
    open_ends: Mutex<u64>,
    settled: Condvar,
    pub(crate) packer: Bell,
}

/// Wakes a thread that has nothing to do.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Shared {
    pub(crate) fn new(options: Options, volumes: Vec<Volume>) -> Shared {
        Shared {
            pool: Pool::new(&options),
            roots: options.volumes.iter().map(|v| v.path.clone()).chain(options.slow.clone()).collect(),
            options,
            volumes,
            log: Log::default(),
            hurry: AtomicBool::new(false),
            turn: AtomicUsize::new(0),
            segments: AtomicU64::new(0),
            writers: Mutex::default(),
            retired: Mutex::default(),
            lost: Mutex::default(),
            open_ends: Mutex::new(0),
            settled: Condvar::new(),
            packer: Bell::default(),
        }
    }

    /// The volume whose turn it is among those that can be written.
    pub(crate) fn next_volume(&self) -> Option<usize> {
        let count = self.volumes.len();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut in_turn = (0..count).filter_map(|i| self.volumes.get(turn.wrapping_add(i) % count));
        in_turn.find(|v| v.is_usable()).map(|v| v.index)
    }

    pub(crate) fn next_segment(&self) -> u64 {
        self.segments.fetch_add(1, Ordering::Relaxed)
    }

    /// Gives a command to the volume of its segment.
    pub(crate) fn hand_over(&self, command: Command) {
        let Some(volume) = self.volumes.get(command.segment().volume) else { return self.discard(command) };
        if let Command::Seal(seal) = &command {
            self.pool.charge(seal.extra_octets());
        }
        self.begin();
        match volume.queue.push(command) {
            Pushed::In(fill) if fill.octets > self.pack_above() => {
                if !volume.is_lagging() {
                    volume.set_lagging(true, &self.log);
                }
                self.packer.ring();
            }
            Pushed::In(_) => {}
            Pushed::Closed(command) => {
                self.discard(command);
                self.end();
            }
        }
    }

    /// Octets queued from which on a volume lags and blocks are packed.
    pub(crate) fn pack_above(&self) -> usize {
        self.options.memory / 100 * usize::from(self.options.pack_above_percent.min(100))
    }

    /// Something begins that [`Shared::settle`] waits for.
    pub(crate) fn begin(&self) {
        *lock(&self.open_ends) += 1;
    }

    /// A command came to its end.
    pub(crate) fn end(&self) {
        let mut ends = lock(&self.open_ends);
        *ends = ends.saturating_sub(1);
        if *ends == 0 {
            self.settled.notify_all();
        }
    }

    pub(crate) fn settle(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut ends = lock(&self.open_ends);
        while *ends > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            ends = self.settled.wait_timeout(ends, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// A command that nobody will carry out: what it holds is lost.
    pub(crate) fn discard(&self, command: Command) {
        match command {
            Command::Write(write) => self.lose_write(write),
            Command::Seal(seal) => self.pool.discharge(seal.extra_octets()),
            Command::Leave(_) => {}
        }
    }

    /// A block that will not be written.
    pub(crate) fn lose_write(&self, write: Write) {
        if write.flush {
            write.segment.end_flush();
        }
        self.lose(&write.segment, write.tally, write.fresh as u64);
        self.give_back(write.content);
    }

    pub(crate) fn give_back(&self, content: Content) {
        match content {
            Content::Raw(block) | Content::Hard(block) => self.pool.give(block),
            Content::Packed(packed) => {
                let (octets, from) = packed.octets();
                self.pool.forget_packed(octets, from);
            }
            Content::Packing => {}
        }
    }

    /// Records that were accepted are lost.
    pub(crate) fn lose(&self, segment: &Segment, tally: Tally, octets: u64) {
        if tally.records == 0 && octets == 0 {
            return;
        }
        if let Some(amount) = lock(&self.lost).get_mut(segment.priority.index()) {
            amount.records += tally.records;
            amount.octets += octets;
        }
        self.log.lose(loss(segment, tally, octets));
    }

    /// Counts a new writer's cells from now on.
    pub(crate) fn enlist(&self, cells: Arc<Cells>) {
        let mut writers = lock(&self.writers);
        let mut retired = lock(&self.retired);
        writers.retain(|cells| {
            let is_alive = Arc::strong_count(cells) > 1;
            if let Some(sum) = retired.get_mut(cells.priority.index()).filter(|_| !is_alive) {
                sum.add(&cells.counted());
            }
            is_alive
        });
        writers.push(cells);
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = Stats { memory: self.pool.memory(), ..Stats::default() };
        stats.counts.events_overflow = self.log.overflow();
        let (writers, mut by_priority) = (lock(&self.writers), *lock(&self.retired));
        for cells in writers.iter() {
            if let Some(sum) = by_priority.get_mut(cells.priority.index()) {
                sum.add(&cells.counted());
            }
        }
        let lost = *lock(&self.lost);
        for priority in Priority::ALL.map(Priority::index) {
            stats.drops[priority].lost = lost[priority];
            by_priority[priority].add_to(&mut stats, priority);
            stats.counts.lost_records += lost[priority].records;
            stats.counts.lost_octets += lost[priority].octets;
        }
        stats.volumes = self.volumes.iter().map(Volume::stats).collect();
        for volume in &stats.volumes {
            stats.counts.add(&volume.counts);
        }
        stats
    }
}

impl Counted {
    fn add(&mut self, other: &Counted) {
        let add = |a: &mut Amount, b: &Amount| {
            a.records += b.records;
            a.octets += b.octets;
        };
        add(&mut self.appended, &other.appended);
        add(&mut self.buffer, &other.buffer);
        add(&mut self.disk, &other.disk);
        self.skipped += other.skipped;
    }

    fn add_to(&self, stats: &mut Stats, priority: usize) {
        stats.drops[priority].buffer = self.buffer;
        stats.drops[priority].disk = self.disk;
        stats.counts.add(&Counts {
            appended_records: self.appended.records,
            appended_octets: self.appended.octets,
            buffer_dropped_records: self.buffer.records,
            buffer_dropped_octets: self.buffer.octets,
            disk_dropped_records: self.disk.records,
            disk_dropped_octets: self.disk.octets,
            skipped_flushes: self.skipped,
            ..Counts::default()
        });
    }
}

impl Bell {
    pub(crate) fn ring(&self) {
        *lock(&self.rung) = true;
        self.changed.notify_one();
    }

    /// Waits until it rings.
    pub(crate) fn wait(&self) {
        let mut rung = lock(&self.rung);
        while !*rung {
            rung = self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner);
        }
        *rung = false;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
