//! One write after the other.

use std::os::unix::fs::FileExt;

use super::{Done, Ended, Engine, Request};

/// Writes at once, when asked.
#[derive(Debug, Default)]
pub(super) struct Pwrite {
    ended: Ended,
}

impl Engine for Pwrite {
    fn submit(&mut self, request: Request) {
        let octets = request.block.get(..request.octets).unwrap_or_default();
        let result = request.file.write_all_at(octets, request.offset);
        self.ended.push_back(Done::new(request, result));
    }

    fn reap(&mut self, _wait: bool) -> Option<Done> {
        self.ended.pop_front()
    }

    fn in_flight(&self) -> usize {
        self.ended.len()
    }

    fn name(&self) -> &'static str {
        "pwrite"
    }
}
