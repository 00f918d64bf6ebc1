//! `trunkline graph serve`: devices are polled, without a capture beside.

use crate::cli::DATA_DEFAULT;
use crate::failure::Failure;
use crate::graph::here::Running;
use crate::run::config::{Given, Listen, load};
use crate::run::metrics::{self, Page};
use crate::run::status::process;
use crate::stop::Stop;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use trunkline_capture::live::privileges;
use trunkline_kit::exit::Exit;

/// How often it looks whether it was told to end.
const LOOK: Duration = Duration::from_millis(100);

/// Poll the devices of the inventory, and keep what they say
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline graph serve --data /var/lib/trunkline\n  \
    trunkline graph serve --metrics 127.0.0.1:9091    with metrics for Prometheus\n\n\
    Devices are added while it serves: `trunkline help graph`. [graph] of the configuration says the rest.\n\
    SIGTERM ends it after what was polled is in its files. docs/manual/graphs.md has the whole of it.")]
pub struct Serve {
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
    data: PathBuf,
    /// A configuration whose [graph] says how it is run
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Threads that poll, in place of the configuration's
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u16).range(1..=64))]
    lanes: Option<u16>,
    /// Metrics for Prometheus: ADDRESS:PORT or unix:PATH
    #[arg(long, value_name = "WHERE", value_parser = crate::command::cache::where_metrics)]
    metrics: Option<Listen>,
    /// User to become, once what it listens to is open
    #[arg(long, value_name = "USER")]
    user: Option<String>,
}

impl Serve {
    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// What could not be opened, with what to do about it; what ended it.
    pub fn run(&self) -> Result<Exit, Failure> {
        // A limit on the size of files (ulimit -f) is an error of writing, and not the end of the program.
        let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
        let stop = Stop::on_signals();
        let lanes = self.lanes.map(|lanes| ("graph", "lanes", lanes.to_string(), "--lanes"));
        let loaded = load(&Given { file: self.config.clone(), options: lanes.into_iter().collect() })?;
        let page = self.metrics.as_ref().map(metrics::bind).transpose();
        let page = page.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
        privileges::give_up(self.user.as_deref()).map_err(|e| Failure::Failed(e.to_string()))?;
        let running = Arc::new(Running::start(&loaded.settings.graph, &self.data)?);
        let shown = Arc::clone(&running);
        let told =
            move || Page { samples: [shown.samples(), process::samples()].concat(), unhealthy: shown.troubles() };
        let page = page.map(|bound| bound.serve(told)).transpose();
        let page = page.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
        let mut failure = None;
        while !stop.is_asked() && failure.is_none() {
            std::thread::park_timeout(LOOK);
            failure = running.failure();
        }
        drop(page);
        running.stop();
        match failure {
            Some(why) => Err(Failure::Failed(format!("graphs: {why}"))),
            None if running.totals().dropped > 0 => Ok(Exit::Degraded),
            None => Ok(Exit::Done),
        }
    }
}
