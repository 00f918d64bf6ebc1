//! The alerts of this process: the job, who may ask it, and the threads that feed it.

use super::metrics::MetricsFeed;
use super::report::Sources;
use super::rows::{self, Tap};
use super::rules;
use super::series::SeriesFeed;
use crate::command::repair;
use crate::failure::Failure;
use crate::graph;
use crate::retention::{self, clock::Ages};
use crate::run::config;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_alert::delivery::History;
use trunkline_alert::job::{Alerts, Control, Seen};
use trunkline_graph::job::Handle;
use trunkline_job::{Around, Job, Samples};
use trunkline_kit::metrics::Sample;
use trunkline_web::sources::Ages as _;

/// Observations that are handed over together: they are taken or refused as one.
const TOGETHER_MAX: usize = 1_000;
/// How often it is looked which alerts that are over are too old.
const HISTORY_EVERY: Duration = Duration::from_secs(3600);

/// Where alerts are kept.
pub fn folder(data: &Path) -> PathBuf {
    data.join("alert")
}

/// Where those who run are asked.
pub fn socket(data: &Path) -> PathBuf {
    folder(data).join("control.sock")
}

/// Alerts that run here.
pub struct Running {
    alerts: Arc<Alerts>,
    fed: Arc<Fed>,
    every: Duration,
    again: Arc<dyn Fn() -> Result<trunkline_alert::rule::Rules, String> + Send + Sync>,
    control: Mutex<Option<Control>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    tap: Tap,
    data: PathBuf,
}

/// What feeds have in common.
#[derive(Debug, Default)]
pub struct Fed {
    /// They end.
    ends: AtomicBool,
    /// Samples of graphs that were left out, as too many waited.
    pub samples_left_out: AtomicU64,
    /// Rows that were left out, as too many waited.
    pub rows_left_out: AtomicU64,
    /// Rows of groups beyond those of a measurement.
    pub groups_left_out: AtomicU64,
}

impl Fed {
    /// Whether feeds end.
    pub fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}

/// Hands over what was seen; what is refused is counted there.
pub fn show(alerts: &Alerts, mut seen: Vec<Seen>) {
    while !seen.is_empty() {
        let rest = seen.split_off(seen.len().min(TOGETHER_MAX));
        let _counted = alerts.observe(seen);
        seen = rest;
    }
}

/// Lets alerts that are over leave by their number and age, until the feeds end.
fn keep_history(alerts: &Alerts, fed: &Fed, ages: &Ages, kept: &config::AlertHistory) {
    let mut wait = Duration::ZERO;
    while !retention::waited(wait, &fed.ends) {
        let since = |age: Duration| {
            let age_s = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
            ages.believed_ns().map(|now_ns| now_ns.div_euclid(1_000_000_000).saturating_sub(age_s))
        };
        let since_s = kept.keep_age.and_then(since);
        alerts.keep_history(History { entries: kept.keep_entries as usize, since_s });
        wait = HISTORY_EVERY;
    }
}

impl Running {
    /// Reads the rules, opens the folder, and goes on where it ended.
    ///
    /// # Errors
    /// What is wrong with the rules or could not be opened.
    pub fn start(settings: &config::Alert, kept: config::AlertHistory, data: &Path) -> Result<Running, Failure> {
        let (places, data) = (rules::places(settings, data), data.to_owned());
        let (here, ages) = (data.clone(), Ages::of(&data));
        let folder = folder(&data);
        let failed = |e: &dyn std::fmt::Display| Failure::Failed(format!("alerts: {e}"));
        std::fs::create_dir_all(rules::folder(&data)).map_err(|e| failed(&format!("{}: {e}", folder.display())))?;
        let read = rules::load(&places, &data).map_err(|wrong| failed(&wrong))?;
        tracing::info!(rules = read.rules.len(), channels = read.channels.len(), "alerts: evaluating rules");
        let opened = Alerts::start(&folder, read);
        let alerts = opened.map_err(|fault| {
            let hint = if fault.is_damage() { repair::hint(&data) } else { String::new() };
            failed(&format!("{}: {fault}{hint}", folder.display()))
        })?;
        let (alerts, fed) = (Arc::new(alerts), Arc::<Fed>::default());
        let path = socket(&data);
        let again = move || rules::load(&places, &data).map_err(|wrong| wrong.to_string());
        let again: Arc<dyn Fn() -> Result<trunkline_alert::rule::Rules, String> + Send + Sync> = Arc::new(again);
        let asked = Arc::clone(&again);
        let control = Control::serve(Arc::clone(&alerts), move || asked(), &path);
        let control = control.map_err(|e| failed(&format!("{}: {e}", path.display())))?;
        let (tap, rows) = rows::feed(Arc::clone(&alerts), Arc::clone(&fed)).map_err(|e| failed(&e))?;
        let running = Running {
            alerts,
            fed,
            every: settings.every,
            again,
            control: Mutex::new(Some(control)),
            threads: Mutex::new(vec![rows]),
            tap,
            data: here,
        };
        let (alerts, fed) = (Arc::clone(&running.alerts), Arc::clone(&running.fed));
        let thread = running.thread("alert-history", move || keep_history(&alerts, &fed, &ages, &kept));
        thread.map_err(|e| failed(&e))?;
        Ok(running)
    }

    /// Has rules watch graphs of this process.
    ///
    /// # Errors
    /// A thread cannot be started.
    fn watch_graphs(&self, graphs: Handle) -> Result<(), String> {
        let feed = SeriesFeed::new(Arc::clone(&self.alerts), graphs, Arc::clone(&self.fed), self.every);
        self.thread("alert-series", move || feed.run())
    }

    /// Has rules watch metrics; none of them is the end of it.
    ///
    /// # Errors
    /// A thread cannot be started.
    fn watch_metrics(&self, samples: Samples) -> Result<(), String> {
        let feed = MetricsFeed::new(Arc::clone(&self.alerts), Arc::clone(&self.fed), self.every);
        self.thread("alert-metrics", move || feed.run(move || samples()))
    }

    /// Has reports made, of these graphs and the store of the data folder.
    fn report(&self, graphs: Option<Handle>) {
        self.alerts.report_with(Arc::new(Sources::new(self.data.clone(), graphs)));
    }

    /// Where rows are shown.
    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    fn thread(&self, name: &str, runs: impl FnOnce() + Send + 'static) -> Result<(), String> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(runs);
        let thread = thread.map_err(|e| format!("a thread cannot be started: {e}"))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }
}

impl Job for Running {
    fn name(&self) -> &'static str {
        "alerts"
    }

    /// Has rules watch the graphs and the metrics of this process.
    fn connect(&self, around: &Around<'_>) -> Result<(), String> {
        let graphs = around.jobs.get::<graph::here::Running>().map(|graphs| graphs.handle().clone());
        if let Some(graphs) = graphs.clone() {
            self.watch_graphs(graphs)?;
        }
        self.report(graphs);
        self.watch_metrics(Arc::clone(&around.samples))
    }

    fn samples(&self) -> Vec<Sample> {
        let mut samples = self.alerts.samples();
        let counter = |name, help, count: &AtomicU64| Sample::counter(name, help, count.load(Ordering::Relaxed));
        samples.extend([
            counter(
                "trunkline_alert_left_out_samples_overflow_total",
                "samples of graphs that rules were not shown, as too many waited",
                &self.fed.samples_left_out,
            ),
            counter(
                "trunkline_alert_left_out_rows_overflow_total",
                "rows that rules were not shown, as too many waited",
                &self.fed.rows_left_out,
            ),
            counter(
                "trunkline_alert_left_out_groups_overflow_total",
                "rows of groups beyond those of a measurement",
                &self.fed.groups_left_out,
            ),
        ]);
        samples
    }

    fn unhealthy(&self) -> Vec<String> {
        let told = |why| format!("alerts: no notifications are sent, because the alert log cannot be written: {why}");
        self.alerts.view().fault.map(told).into_iter().collect()
    }

    /// Reads the rules again; where they have mistakes, those that were read before hold.
    fn reload(&self) {
        let taken = (self.again)().and_then(|rules| self.alerts.reload(rules).map_err(|fault| fault.to_string()));
        match taken {
            Ok(()) => tracing::info!(rules = self.alerts.rules().rules.len(), "alerts: rules reloaded"),
            Err(why) => tracing::error!("alerts: rules not reloaded, the previous rules stay active: {why}"),
        }
    }

    /// Ends the feeds and who asks: what ends is not held against anybody.
    fn ending(&self) {
        self.fed.ends.store(true, Ordering::Relaxed);
        self.alerts.end_reports();
        drop(self.control.lock().unwrap_or_else(PoisonError::into_inner).take());
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("a thread of alerts failed; this is a defect of Trunkline");
            }
        }
    }

    /// The job itself ends when nobody has it any more.
    fn stop(&self) -> Vec<String> {
        self.ending();
        Vec::new()
    }
}
