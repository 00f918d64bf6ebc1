//! What the capturing side lost, known before the packets among which it was lost.
//!
//! A pcapng file reports losses behind the packets of the time that they are of, most often once, in its last blocks.
//! Who judges a call by them when it is over must know them by then. So the reports of a plain file are read first: its
//! end tells whether there are any, and only if it does not say "none" the file is framed twice.

use crate::batch::{Batch, CaptureLoss};
use crate::reader::Reader;

/// Reports of losses that are known ahead, of all files. The reports of a file that would exceed it come as they are
/// read, like those of compressed files and pipes.
// Limit: reports of losses read before their packets, all files
// Beyond: the reports of further files are read with their packets
// Seen in: not counted
pub const LOSSES_AHEAD_MAX: usize = 65_536;
/// Octets of a file's end that are looked at for its last statistics.
const TAIL_OCTETS: usize = 64 << 10;
/// Octets that are framed at once.
const FRAMED_OCTETS: usize = 256 << 10;

/// Losses that were not handed out yet.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Those that began last come first.
    losses: Vec<CaptureLoss>,
    files: Vec<u16>,
    latest_ns: i64,
}

impl Ahead {
    /// Takes the reports of a file, which the reader reads for nothing else.
    pub(crate) fn look(&mut self, file: u16, reader: Reader) {
        let room = LOSSES_AHEAD_MAX - self.losses.len();
        if let Some(losses) = all(reader, room) {
            self.losses.extend(losses);
            self.files.push(file);
        }
    }

    /// No more files come.
    pub(crate) fn order(&mut self) {
        self.losses.sort_by_key(|l| core::cmp::Reverse((l.since_ns, l.at_ns, l.file)));
        self.latest_ns = i64::MIN;
    }

    /// Whether all that a file reports is known ahead.
    pub(crate) fn knows(&self, file: u16) -> bool {
        self.files.binary_search(&file).is_ok()
    }

    /// Adds the losses that began by the batch's last packet; all that are left if there is no packet any more.
    pub(crate) fn tell(&mut self, batch: &mut Batch) {
        if self.losses.is_empty() {
            return;
        }
        let ended = batch.packets.is_empty() && batch.losses.is_empty();
        self.latest_ns = batch.packets.iter().map(|p| p.at_ns).fold(self.latest_ns, i64::max);
        let told = self.losses.iter().rev().take_while(|l| ended || l.since_ns <= self.latest_ns).count();
        batch.losses.extend(self.losses.drain(self.losses.len() - told..).rev());
    }
}

/// All losses of a file; none if they are more than `room`.
fn all(mut reader: Reader, room: usize) -> Option<Vec<CaptureLoss>> {
    let (mut batch, mut losses) = (Batch::default(), Vec::new());
    while reader.fill(&mut batch, FRAMED_OCTETS, &mut 0) {
        losses.append(&mut batch.losses);
        if losses.len() > room {
            return None;
        }
    }
    Some(losses)
}

impl Reader {
    /// Losses that the last blocks of a file report; none where these hold no report, so that there may be one before
    /// them. Files that cannot report losses, and those that are better read once, report none.
    pub(crate) fn drops_at_end(&mut self) -> Option<u64> {
        let Some(order) = self.pcapng_order().filter(|_| self.is_plain()) else { return Some(0) };
        let tail = self.tail(TAIL_OCTETS).ok()?;
        trunkline_wire::pcapng::drops_at_end(order, &tail)
    }
}
