//! When a question is given up: after some time, or because who asked has gone.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What ends a question early. The default never does.
///
/// It is looked at every few thousand rows at most, that is every few milliseconds where the rows are in memory; some
/// work is done in any case, so that whoever asks again goes forward.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    until: Option<Instant>,
    cancelled: Option<Arc<AtomicBool>>,
}

impl Stop {
    /// Nothing ends it early.
    pub fn never() -> Self {
        Stop::default()
    }

    /// It ends when this much time has passed from now on.
    pub fn after(time_max: Duration) -> Self {
        Stop { until: Instant::now().checked_add(time_max), cancelled: None }
    }

    /// It also ends when this becomes true.
    pub fn or_when(self, cancelled: Arc<AtomicBool>) -> Self {
        Stop { cancelled: Some(cancelled), ..self }
    }

    /// Whether it should end now.
    pub fn is_due(&self) -> bool {
        let is_cancelled = self.cancelled.as_ref().is_some_and(|c| c.load(Ordering::Relaxed));
        is_cancelled || self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// The same moment and the same switch.
impl PartialEq for Stop {
    fn eq(&self, other: &Self) -> bool {
        let same_switch = match (&self.cancelled, &other.cancelled) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        self.until == other.until && same_switch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_switch_end_it() {
        let switch = Arc::new(AtomicBool::new(false));
        assert!(!Stop::never().is_due());
        assert!(!Stop::after(Duration::from_secs(3600)).is_due());
        assert!(Stop::after(Duration::ZERO).is_due());
        let stop = Stop::never().or_when(switch.clone());
        assert!(!stop.is_due() && stop == stop.clone() && stop != Stop::never());
        switch.store(true, Ordering::Relaxed);
        assert!(stop.is_due());
    }
}
