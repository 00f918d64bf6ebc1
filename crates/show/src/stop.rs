//! SIGINT and SIGTERM as a flag that long work looks at.

use signal_hook::SigId;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the first SIGINT or SIGTERM. The second one ends the program at once, with exit code 128 and the signal's
/// number: nobody should have to wait for a hang. When dropped, the handlers go.
pub struct Stop {
    flag: Arc<AtomicBool>,
    handlers: Vec<SigId>,
}

impl Stop {
    /// From now on.
    pub fn on_signals() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let mut handlers = Vec::new();
        for signal in [SIGINT, SIGTERM] {
            let second = Arc::clone(&flag);
            handlers.extend(signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, second));
            handlers.extend(signal_hook::flag::register(signal, Arc::clone(&flag)));
        }
        Stop { flag, handlers }
    }

    /// Whether a signal has come.
    pub fn is_asked(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// The flag itself, for another thread.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.handlers.drain(..).for_each(|handler| _ = signal_hook::low_level::unregister(handler));
    }
}
