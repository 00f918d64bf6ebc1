//! The progress bar of long work, at standard error.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often it is drawn.
pub const TICK: Duration = Duration::from_millis(100);

/// A progress bar, if standard error is a terminal.
pub struct Bar {
    bar: Option<ProgressBar>,
    drawn: Option<Instant>,
}

impl Bar {
    /// With nothing done.
    pub fn start() -> Self {
        let bar = || {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        };
        Bar { bar: std::io::stderr().is_terminal().then(bar), drawn: None }
    }

    /// Draws it, at most once a [`TICK`]; `message` is made only when it is. Of an unknown total, 0, it shows the
    /// message alone.
    pub fn draw(&mut self, done: u64, total: u64, message: impl FnOnce() -> String) {
        let Some(bar) = &self.bar else { return };
        if self.drawn.is_none_or(|at| at.elapsed() >= TICK) {
            self.drawn = Some(Instant::now());
            bar.set_length(total.max(done));
            bar.set_position(if total == 0 { 0 } else { done });
            bar.set_message(message());
        }
    }

    /// Takes it away.
    pub fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
