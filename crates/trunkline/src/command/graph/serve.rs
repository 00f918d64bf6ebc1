//! `trunkline graph serve`: devices are polled, without a capture beside.

use crate::alert;
use crate::cli::DATA_DEFAULT;
use crate::failure::Failure;
use crate::graph::here::Running;
use crate::rights;
use crate::run::config::{Given, Listen, Settings, load};
use crate::run::log;
use crate::run::metrics::{self, Page};
use crate::run::status::process;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trunkline_graph::job::EchoSockets;
use trunkline_job::Jobs;
use trunkline_kit::exit::Exit;

/// How often it looks whether it was told to end.
const LOOK: Duration = Duration::from_millis(100);

/// Run the poller
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline graph serve --data /var/lib/trunkline\n  \
    trunkline graph serve --metrics 127.0.0.1:9091    with metrics for Prometheus\n\n\
    Devices are added while it serves: `trunkline help graph`. [graph] of the configuration says the rest.\n\
    SIGHUP reads templates and rules anew. SIGTERM ends it after what was polled is in its files.\n\
    See docs/manual/graphs.md.")]
pub struct Serve {
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
    data: PathBuf,
    /// Configuration file with [graph]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Polling threads, instead of the configuration's
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u16).range(1..=64))]
    lanes: Option<u16>,
    /// Metrics for Prometheus: ADDRESS:PORT or unix:PATH
    #[arg(long, value_name = "WHERE", value_parser = crate::command::cache::where_metrics)]
    metrics: Option<Listen>,
    /// User to switch to after opening the sockets
    #[arg(long, value_name = "USER")]
    user: Option<String>,
}

impl Serve {
    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// What could not be opened, with what to do about it; what ended it.
    pub fn run(&self) -> Result<Exit, Failure> {
        let stop = Stop::on_signals();
        let again = Arc::<AtomicBool>::default();
        let _ = signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&again));
        let lanes = self.lanes.map(|lanes| ("graph", "lanes", lanes.to_string(), "--lanes"));
        let loaded = load(&Given { file: self.config.clone(), options: lanes.into_iter().collect() })?;
        log::start(&loaded.settings.log).map_err(Failure::Failed)?;
        let page = self.metrics.as_ref().map(metrics::bind).transpose();
        let page = page.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
        let echo = EchoSockets::open();
        let socket = self.metrics.as_ref().and_then(Listen::path).map(Path::to_path_buf);
        rights::give_up(self.user.as_deref(), socket.as_slice())?;
        rights::close_beside(&self.data);
        let running = Arc::new(Running::start(&loaded.settings.graph, &self.data, echo)?);
        let mut jobs = Jobs::default();
        jobs.add(Arc::clone(&running) as _);
        if let Some(alerts) = alerts(&loaded.settings, &self.data)? {
            jobs.add(Arc::new(alerts));
        }
        let jobs = Arc::new(jobs);
        // Jobs hold what they watch: it must not hold them.
        let seen = Arc::downgrade(&jobs);
        let all = |jobs: &Jobs| [jobs.samples(), process::samples()].concat();
        jobs.connect(Arc::new(move || seen.upgrade().map(|jobs| all(&jobs)))).map_err(Failure::Failed)?;
        let shown = Arc::clone(&jobs);
        let told = move || Page { samples: all(&shown), unhealthy: shown.unhealthy() };
        let page = page.map(|bound| bound.serve(told)).transpose();
        let page = page.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
        let mut failure = None;
        while !stop.is_asked() && failure.is_none() {
            std::thread::park_timeout(LOOK);
            failure = running.handle().failure();
            if again.swap(false, Ordering::Relaxed) {
                jobs.reload();
            }
        }
        drop(page);
        jobs.ending();
        let wrong = jobs.stop();
        wrong.iter().for_each(|what| tracing::error!("{what}"));
        match failure {
            Some(why) => Err(Failure::Failed(format!("graphs: {why}"))),
            None if !wrong.is_empty() || running.handle().status().journal.dropped > 0 => Ok(Exit::Degraded),
            None => Ok(Exit::Done),
        }
    }
}

/// Alerts beside graphs, where the configuration asks for them.
fn alerts(settings: &Settings, data: &Path) -> Result<Option<alert::here::Running>, Failure> {
    let history = settings.alert_history.clone();
    settings.alert.enabled.then(|| alert::here::Running::start(&settings.alert, history, data)).transpose()
}
