//! What waits for a volume: blocks to write and segments to seal, in the order in which they were handed over.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::block::Block;
use crate::packed::Packed;
use crate::segment::Segment;
use crate::writer::Extra;

/// What a volume's thread is asked to do.
#[derive(Debug)]
pub(crate) enum Command {
    Write(Write),
    Seal(Seal),
    /// The writer is gone: what is written stays as `.part`.
    Leave(Arc<Segment>),
}

/// A block of a segment.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) segment: Arc<Segment>,
    pub(crate) content: Content,
    /// Offset in the segment, a multiple of the page.
    pub(crate) base: u64,
    /// Octets from there; zeros follow up to the end of the page.
    pub(crate) len: usize,
    /// How many of them were not handed over before (the beginning may be a page that is written again).
    pub(crate) fresh: usize,
    /// Offset in the segment of the end of the last record that ends in or before this block.
    pub(crate) boundary: u64,
    pub(crate) tally: Tally,
    /// It was handed over by a flush.
    pub(crate) flush: bool,
    /// When the first of what is fresh in it was appended.
    pub(crate) begun: Instant,
    /// When it was handed over, and whether it had to wait for the disk then.
    pub(crate) since: Instant,
    pub(crate) waited: bool,
}

/// Records that end in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) records: u64,
    /// Time of the first and the last of them.
    pub(crate) span_ns: Option<(i64, i64)>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        self.records += other.records;
        self.span_ns = match (self.span_ns, other.span_ns) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }
}

/// The octets of a block.
#[derive(Debug)]
pub(crate) enum Content {
    Raw(Block),
    /// Raw, and packing it saved nothing.
    Hard(Block),
    Packed(Packed),
    /// The packer has it.
    Packing,
}

/// The end of a segment.
#[derive(Debug)]
pub(crate) struct Seal {
    pub(crate) segment: Arc<Segment>,
    pub(crate) octets: u64,
    pub(crate) extra: Vec<Extra>,
    pub(crate) span_ns: (i64, i64),
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<Waiting>,
    /// Something was put in, packed, or closed.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    commands: VecDeque<Command>,
    /// Number of the first of them since the beginning.
    first: u64,
    blocks: usize,
    octets: usize,
    raw: usize,
    /// When the first of what is fresh was appended, of blocks that were taken out and are neither written nor lost.
    taken: Vec<Instant>,
    busy: bool,
    closed: bool,
}

/// How full a queue is: blocks, their octets unpacked, and how many of them are packed neither yet nor in vain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fill {
    pub(crate) blocks: usize,
    pub(crate) octets: usize,
    pub(crate) raw: usize,
}

/// What became of a command.
#[derive(Debug)]
pub(crate) enum Pushed {
    /// It is in the queue, which is so full now.
    In(Fill),
    /// The volume's thread is gone.
    Closed(Command),
}

/// What a volume's thread got when it asked.
#[derive(Debug)]
pub(crate) enum Next {
    Command(Command),
    Nothing,
    Closed,
}

impl Queue {
    /// Puts a command in; given back when the queue is closed.
    pub(crate) fn push(&self, mut command: Command) -> Pushed {
        let mut waiting = self.lock();
        if waiting.closed {
            return Pushed::Closed(command);
        }
        let behind = waiting.busy || waiting.blocks > 0;
        if let Command::Write(write) = &mut command {
            write.waited = behind;
            waiting.blocks += 1;
            waiting.octets += write.len;
            waiting.raw += usize::from(matches!(write.content, Content::Raw(_)));
        }
        waiting.commands.push_back(command);
        let fill = waiting.fill();
        drop(waiting);
        self.changed.notify_all();
        Pushed::In(fill)
    }

    /// Takes the next command, waiting for one at most `patience`.
    pub(crate) fn pop(&self, patience: Duration) -> Next {
        let deadline = Instant::now() + patience;
        let mut waiting = self.lock();
        loop {
            let is_packing =
                matches!(waiting.commands.front(), Some(Command::Write(w)) if matches!(w.content, Content::Packing));
            if !is_packing {
                if let Some(command) = waiting.take_first() {
                    return Next::Command(command);
                }
                if waiting.closed {
                    return Next::Closed;
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Nothing;
            }
            waiting = self.changed.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the volume's thread can start another write at once; blocks that come while it cannot have waited.
    pub(crate) fn set_busy(&self, busy: bool) {
        self.lock().busy = busy;
    }

    pub(crate) fn fill(&self) -> Fill {
        self.lock().fill()
    }

    /// A block that was taken out, its first fresh record appended then, is written or lost.
    pub(crate) fn is_over(&self, begun: Instant) {
        let mut waiting = self.lock();
        if let Some(at) = waiting.taken.iter().position(|taken| *taken == begun) {
            waiting.taken.swap_remove(at);
        }
    }

    /// How long the oldest record of a block that was put in, and is neither written nor lost, has been in memory.
    pub(crate) fn unwritten(&self) -> Option<Duration> {
        let waiting = self.lock();
        let queued = waiting.commands.iter().filter_map(|command| match command {
            Command::Write(write) => Some(write.begun),
            Command::Seal(_) | Command::Leave(_) => None,
        });
        queued.chain(waiting.taken.iter().copied()).min().map(|begun| begun.elapsed())
    }

    /// No more commands; those inside are still given out.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Takes the raw block that will be written last, if more than `spared` blocks go before it: its number, what it
    /// holds and how many octets of that.
    pub(crate) fn take_raw(&self, spared: usize) -> Option<(u64, Block, usize)> {
        let mut waiting = self.lock();
        let first = waiting.first;
        let found = waiting.commands.iter_mut().enumerate().skip(spared).rev().find_map(|(i, command)| {
            let Command::Write(write) = command else { return None };
            match std::mem::replace(&mut write.content, Content::Packing) {
                Content::Raw(block) => Some((first + i as u64, block, write.len)),
                other => {
                    write.content = other;
                    None
                }
            }
        });
        waiting.raw = waiting.raw.saturating_sub(usize::from(found.is_some()));
        found
    }

    /// Puts the content back that [`Queue::take_raw`] took.
    pub(crate) fn put_back(&self, number: u64, content: Content) {
        let mut waiting = self.lock();
        let index = number.checked_sub(waiting.first).and_then(|i| usize::try_from(i).ok());
        // A command whose content is out is never given out before it is back: it is still there.
        if let Some(Command::Write(write)) = index.and_then(|i| waiting.commands.get_mut(i)) {
            write.content = content;
        }
        drop(waiting);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn take_first(&mut self) -> Option<Command> {
        let command = self.commands.pop_front()?;
        self.first += 1;
        if let Command::Write(write) = &command {
            self.blocks -= 1;
            self.octets -= write.len;
            self.raw -= usize::from(matches!(write.content, Content::Raw(_)));
            self.taken.push(write.begun);
        }
        Some(command)
    }

    fn fill(&self) -> Fill {
        Fill { blocks: self.blocks, octets: self.octets, raw: self.raw }
    }
}
