//! An engine with injected faults in front of it, for tests.

use std::sync::Arc;
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use super::{Done, Ended, Engine, Request};
use crate::faults::Faults;

/// How often it is looked whether a delay is still wished for.
const LOOK: Duration = Duration::from_millis(10);

/// Fails or delays writes as the faults say.
pub(crate) struct Faulty {
    inner: Box<dyn Engine>,
    faults: Arc<Faults>,
    failed: Ended,
}

impl Faulty {
    pub(crate) fn new(inner: Box<dyn Engine>, faults: Arc<Faults>) -> Faulty {
        Faulty { inner, faults, failed: Ended::new() }
    }

    fn delay(&self, mut done: Done) -> Done {
        loop {
            let until = done.request.since + self.faults.now().write_delay;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                done.took = done.request.since.elapsed();
                return done;
            }
            park_timeout(left.min(LOOK));
        }
    }
}

impl Engine for Faulty {
    fn submit(&mut self, request: Request) {
        match self.faults.write(request.octets as u64) {
            Ok(()) => self.inner.submit(request),
            Err(error) => self.failed.push_back(Done::new(request, Err(error))),
        }
    }

    fn reap(&mut self, wait: bool) -> Option<Done> {
        let done = self.failed.pop_front().or_else(|| self.inner.reap(wait))?;
        Some(self.delay(done))
    }

    fn in_flight(&self) -> usize {
        self.failed.len() + self.inner.in_flight()
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }
}
