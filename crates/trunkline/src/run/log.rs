//! The program's own log: lines at standard error, for people or as JSON.
//!
//! Telephone numbers and subscriber ids are written at DEBUG and TRACE alone: whoever writes a line at INFO or above
//! says how many, never who.

use super::config::{Log, LogFormat, LogLevel};
use std::io::IsTerminal;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry, reload};

/// What changes the level while the program runs.
#[derive(Clone, Debug)]
pub struct Level(reload::Handle<LevelFilter, Registry>);

impl Level {
    /// Sets it.
    pub fn set(&self, level: LogLevel) {
        // It fails only when there is no log any more.
        let _ = self.0.reload(filter(level));
    }
}

/// Begins to write the log at standard error.
///
/// # Errors
/// There is a log already.
pub fn start(log: &Log) -> Result<Level, String> {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let (subscriber, level) = subscriber(log, colour, std::io::stderr);
    tracing::subscriber::set_global_default(subscriber).map_err(|e| e.to_string())?;
    Ok(level)
}

fn subscriber<W>(log: &Log, colour: bool, writer: W) -> (impl Subscriber + Send + Sync + use<W>, Level)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (level, handle) = reload::Layer::new(filter(log.level));
    let lines = fmt::layer().with_writer(writer).with_target(false);
    let lines = match log.format {
        LogFormat::Text => lines.with_ansi(colour).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
    };
    (Registry::default().with(level).with(lines), Level(handle))
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(octets)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn log(format: LogFormat, then: impl FnOnce(&Level)) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = Log { format, ..Log::default() };
        let (subscriber, level) = subscriber(&log, false, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || then(&level));
        lines.text()
    }

    #[test]
    fn the_level_changes_while_it_runs() {
        let text = log(LogFormat::Text, |level| {
            tracing::debug!(caller = "+4420", "unseen");
            level.set(LogLevel::Debug);
            tracing::debug!("seen");
            level.set(LogLevel::Error);
            tracing::warn!("unseen");
        });
        assert!(text.contains("DEBUG seen") && !text.contains("unseen") && text.lines().count() == 1, "{text}");
    }

    #[test]
    fn json_is_one_object_a_line() {
        let text = log(LogFormat::Json, |_| tracing::warn!(lost = 3, "the ring\nwas full"));
        assert_eq!(text.lines().count(), 1);
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&line["level"], &line["message"], &line["lost"]),
            (&"WARN".into(), &"the ring\nwas full".into(), &3.into())
        );
    }

    #[test]
    fn text_cannot_drive_a_terminal() {
        let text = log(LogFormat::Text, |_| tracing::warn!("from \x1b[2J{}", "x\x1b]0;evil\x07"));
        assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text:?}");
    }
}
