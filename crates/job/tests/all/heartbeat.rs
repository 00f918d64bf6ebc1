//! A job that counts how often it is looked after.

use std::sync::atomic::{AtomicU64, Ordering};
use trunkline_job::{Figure, Job};
use trunkline_kit::metrics::Sample;

#[derive(Default)]
pub struct Heartbeat {
    beats: AtomicU64,
}

impl Job for Heartbeat {
    fn name(&self) -> &'static str {
        "heartbeat"
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure::PerSecond("beats/s", self.beats.load(Ordering::Relaxed))]
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample::counter("trunkline_heartbeat_beats_total", "beats", self.beats.load(Ordering::Relaxed))]
    }

    fn look_after(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    fn stop(&self) -> Vec<String> {
        Vec::new()
    }
}
