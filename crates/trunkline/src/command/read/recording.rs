//! The job that writes a capture into the packet log, unless the log has it already.

use super::known::{Came, Known};
use core::ops::ControlFlow;
use std::time::Duration;
use trunkline_lane::{LaneJob, NOT_RECORDED, SeenPacket};
use trunkline_record::{LaneLog, Recorder};

/// Packets between two looks whether the disk keeps up.
const BRAKE_PACKETS: u64 = 1024;

/// Records each packet once.
pub struct Recording<'a> {
    pub recorder: &'a Recorder,
    /// What the log has.
    pub known: Known,
    /// What is written.
    pub log: LaneLog,
}

impl LaneJob for Recording<'_> {
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        if seen.packet.number.is_multiple_of(BRAKE_PACKETS) {
            self.log.tick(seen.packet.at_ns);
            wait_for_disk(self.recorder);
        }
        match self.known.take(seen.packet, seen.octets) {
            Came::Known(place) => seen.recorded_at(place),
            // Calls are those of the log, in which it is once.
            Came::Copy(place) => {
                seen.recorded_at(place);
                return ControlFlow::Break(());
            }
            Came::New => {
                self.log.take(seen)?;
                if seen.packet.file != NOT_RECORDED {
                    self.known.wrote((seen.packet.file, seen.packet.offset));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// A file can wait: nothing is dropped because the disk is slower than reading.
fn wait_for_disk(recorder: &Recorder) {
    loop {
        let stats = recorder.stats();
        let is_writable = stats.volumes.iter().any(|v| v.state.is_usable());
        if stats.memory.used * 2 < stats.memory.limit || !is_writable {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
}
