//! Capture files as the source of a lane: what is read is recorded and analysed as if it came from an interface.

use std::time::Duration;
use trunkline_capture::live::{Live, LiveError, Next, RingStatistics};
use trunkline_capture::{Batch, FileSource, Source};

/// Files as one lane's source.
pub struct Files {
    source: FileSource,
    statistics: RingStatistics,
}

impl Files {
    /// Of these files.
    pub fn new(source: FileSource) -> Self {
        Files { source, statistics: RingStatistics::default() }
    }
}

impl Live for Files {
    fn next(&mut self, batch: &mut Batch, _: Duration) -> Result<Next, LiveError> {
        let more = Source::fill(&mut self.source, batch);
        self.statistics.packets += batch.packets.len() as u64;
        Ok(if more { Next::Packets } else { Next::End })
    }

    fn statistics(&mut self) -> RingStatistics {
        self.statistics
    }
}
