//! What a spool counts and times: totals, memory, and each volume.

use std::path::PathBuf;
use std::time::Duration;

use crate::options::PRIORITIES;

/// Classes of [`Waits::buckets`].
pub const WAIT_BUCKETS: usize = 28;

/// A snapshot; what threads count at the same moment may be a block apart.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Sums over all writers and volumes since the spool was opened. When nothing is in memory,
    /// `appended_octets = written_octets + lost octets`.
    pub counts: Counts,
    /// What was dropped, by [`crate::Priority`]: refused appends and what was lost after it was accepted.
    pub drops: [Drops; PRIORITIES],
    /// The memory between lanes and disks.
    pub memory: Memory,
    /// Each volume, in the order of the options.
    pub volumes: Vec<VolumeStats>,
}

trunkline_kit::counters! {
    /// Sums over writers or volumes.
    pub struct Counts {
        /// records accepted
        appended_records: "trunkline_spool_appended_records_total",
        /// octets of records accepted
        appended_octets: "trunkline_spool_appended_octets_total",
        /// octets of whole records on disk
        written_octets: "trunkline_spool_written_octets_total",
        /// writes of blocks that succeeded
        written_blocks: "trunkline_spool_written_blocks_total",
        /// octets of those writes, pages written again and padding included
        device_octets: "trunkline_spool_device_octets_total",
        /// records refused because no memory was free for their priority
        buffer_dropped_records: "trunkline_spool_buffer_dropped_records_total",
        /// octets of them
        buffer_dropped_octets: "trunkline_spool_buffer_dropped_octets_total",
        /// records refused because no volume could be written
        disk_dropped_records: "trunkline_spool_disk_dropped_records_total",
        /// octets of them
        disk_dropped_octets: "trunkline_spool_disk_dropped_octets_total",
        /// records accepted and lost because their volume failed
        lost_records: "trunkline_spool_lost_records_total",
        /// octets of them
        lost_octets: "trunkline_spool_lost_octets_total",
        /// flushes left out because the one before was still on its way to the disk, each once however often tried
        skipped_flushes: "trunkline_spool_skipped_flushes_total",
        /// segments committed
        sealed_segments: "trunkline_spool_sealed_segments_total",
        /// segments that ended early because their volume failed
        cut_segments: "trunkline_spool_cut_segments_total",
        /// writes that failed
        write_errors: "trunkline_spool_write_errors_total",
        /// synchronisations that failed
        sync_errors: "trunkline_spool_sync_errors_total",
        /// files that could not be created, preallocated, truncated or renamed
        file_errors: "trunkline_spool_file_errors_total",
        /// blocks packed while they waited for a disk
        packed_blocks: "trunkline_spool_packed_blocks_total",
        /// octets of those blocks before
        packed_in_octets: "trunkline_spool_packed_in_octets_total",
        /// octets of those blocks after
        packed_out_octets: "trunkline_spool_packed_out_octets_total",
        /// events forgotten because nobody asked for them
        events_overflow: "trunkline_spool_events_overflow_total",
    }
}

/// What was dropped of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Refused: no memory.
    pub buffer: Amount,
    /// Refused: no volume.
    pub disk: Amount,
    /// Accepted, then lost with its volume.
    pub lost: Amount,
}

/// Records and their octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Records.
    pub records: u64,
    /// Octets.
    pub octets: u64,
}

/// The memory between lanes and disks, in octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The bound.
    pub limit: usize,
    /// Blocks being filled, queued or written, and packed ones.
    pub used: usize,
    /// Of these, packed.
    pub packed: usize,
    /// What the packed ones were before.
    pub packed_from: usize,
}

/// One volume.
#[derive(Clone, Debug, Default)]
pub struct VolumeStats {
    /// Its folder.
    pub path: PathBuf,
    /// How it is.
    pub state: State,
    /// What went wrong last, if anything did.
    pub last_error: Option<String>,
    /// What carries its writes: `io_uring` or `pwrite`.
    pub engine: &'static str,
    /// Whether the page cache is passed by.
    pub direct: bool,
    /// Blocks and their octets (unpacked) that wait for the disk.
    pub queued_blocks: usize,
    /// See [`VolumeStats::queued_blocks`].
    pub queued_octets: usize,
    /// Octets of the file system, and of these free for us.
    pub size_octets: u64,
    /// See [`VolumeStats::size_octets`].
    pub free_octets: u64,
    /// Its share of [`Stats::counts`] (nothing of what writers count).
    pub counts: Counts,
    /// Times that a block was ready and the disk was not.
    pub waits: Waits,
    /// How long records were in memory, the first of each block: from the moment they were appended until they were
    /// written, whatever held them up (the flush that they wait for, the queue, the disk, a thread that does not run).
    pub held: Waits,
    /// How long the oldest record that was handed over, and is neither written nor lost, has been in memory.
    pub unwritten: Option<Duration>,
    /// Single writes, from submission to completion.
    pub writes: Waits,
    /// Synchronisations at the end of segments.
    pub syncs: Waits,
}

/// How a volume is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Writes go through.
    #[default]
    Fine,
    /// More than [`crate::Options::pack_above_percent`] of the memory waits for it.
    Lagging,
    /// No space is left; tried again every second.
    Full,
    /// It is mounted read-only; tried again every second.
    ReadOnly,
    /// It fails with this error; tried again every second.
    Failed(String),
}

impl State {
    /// Whether new segments go there.
    pub fn is_usable(&self) -> bool {
        matches!(self, State::Fine | State::Lagging)
    }
}

impl core::fmt::Display for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            State::Fine => f.write_str("fine"),
            State::Lagging => f.write_str("too slow for the traffic: packets wait in memory"),
            State::Full => f.write_str("full: nothing is recorded there"),
            State::ReadOnly => f.write_str("read-only: nothing is recorded there"),
            State::Failed(why) => write!(f, "fails: {why}"),
        }
    }
}

/// A distribution of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// Their sum, microseconds.
    pub sum_us: u64,
    /// The longest, microseconds.
    pub max_us: u64,
    /// How many took less than 2^i microseconds and not less than half of that; the last class takes all above.
    pub buckets: [u64; WAIT_BUCKETS],
}

impl Waits {
    /// Takes one in.
    pub fn add(&mut self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let class = (u64::BITS - us.leading_zeros()) as usize;
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(us);
        self.max_us = self.max_us.max(us);
        self.buckets[class.min(WAIT_BUCKETS - 1)] += 1;
    }

    /// The duration in microseconds that `share` (0 to 1) of them did not exceed, to a factor of two.
    pub fn quantile_us(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut sum = 0;
        let class = self.buckets.iter().position(|n| {
            sum += n;
            sum >= wanted
        });
        class.map_or(self.max_us, |c| (1u64 << c).min(self.max_us))
    }
}
