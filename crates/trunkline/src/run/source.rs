//! Where a lane's packets come from: a ring of an interface, or capture files that are recorded and analysed as if they
//! came from one.

use std::time::Duration;
use trunkline_capture::live::{Live, LiveError, Next, RingStatistics};
use trunkline_capture::{Batch, FileSource, Source};

/// What came from a source.
#[derive(Debug)]
pub enum Came {
    /// Packets or losses.
    Packets,
    /// Nothing in the time given.
    Nothing,
    /// Something passed: the interface went down. It is waited for.
    Passing(LiveError),
    /// Nothing will come any more; why, if it was not expected.
    End(Option<String>),
}

/// A lane's source.
pub enum LaneSource {
    /// A ring.
    Ring(Box<dyn Live>),
    /// Files.
    Files(Files),
}

/// Files as one lane's source.
pub struct Files {
    source: FileSource,
    statistics: RingStatistics,
}

impl Files {
    /// Of these files.
    pub fn new(source: FileSource) -> Self {
        Files { source, statistics: RingStatistics { is_up: true, ..RingStatistics::default() } }
    }

    /// The files behind it, with what was wrong with them.
    pub fn source(&self) -> &FileSource {
        &self.source
    }
}

impl LaneSource {
    /// Replaces what is in the batch by the next packets or losses.
    pub fn next(&mut self, batch: &mut Batch, wait: Duration) -> Came {
        match self {
            LaneSource::Ring(ring) => match ring.next(batch, wait) {
                Ok(Next::Packets) => Came::Packets,
                Ok(Next::Nothing) => Came::Nothing,
                Err(error) if error.passes() => Came::Passing(error),
                Err(error) => Came::End(Some(error.to_string())),
            },
            LaneSource::Files(files) => {
                if !Source::fill(&mut files.source, batch) {
                    return Came::End(None);
                }
                files.statistics.packets += batch.packets.len() as u64;
                files.statistics.octets += batch.packets.iter().map(|p| u64::from(p.captured)).sum::<u64>();
                Came::Packets
            }
        }
    }

    /// What has happened so far.
    pub fn statistics(&mut self) -> RingStatistics {
        match self {
            LaneSource::Ring(ring) => ring.statistics(),
            LaneSource::Files(files) => files.statistics,
        }
    }

    /// Whether it can be made to wait without losing anything.
    pub fn is_file(&self) -> bool {
        matches!(self, LaneSource::Files(_))
    }
}
