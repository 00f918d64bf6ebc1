//! The jobs that run beside the capture, as a table: how each is opened while privileges last, and then started.

use super::charging;
use super::config::Settings;
use super::stopped::or_stopped;
use crate::alert;
use crate::cache;
use crate::failure::Failure;
use crate::graph;
use std::sync::Arc;
use trunkline_graph::job::EchoSockets;
use trunkline_job::{Job, Jobs};

/// A job that can run.
pub struct Entry {
    /// How the sentence begins that says that it stays stopped.
    stays: &'static str,
    /// Opens what needs privileges: sockets, keys. None where the settings do not ask for the job. What fails ends the
    /// run before it began.
    open: fn(&Settings) -> Result<Option<Opened>, Failure>,
}

/// A job whose sockets are open.
pub struct Opened {
    /// Whether it can be started with the rights that are left. What fails ends the run before it began.
    pub check: fn(&Settings) -> Result<(), Failure>,
    /// Starts it. What fails leaves this job stopped, and the others run.
    pub start: Box<Start>,
}

/// Starts a job whose sockets are open.
pub type Start = dyn FnOnce(&Settings) -> Result<Arc<dyn Job>, Failure>;

impl Opened {
    /// A job for which nothing has to be checked.
    pub fn new(start: impl FnOnce(&Settings) -> Result<Arc<dyn Job>, Failure> + 'static) -> Self {
        Opened { check: |_| Ok(()), start: Box::new(start) }
    }
}

/// In the order in which they start; they stop in the opposite order.
const JOBS: [Entry; 4] = [
    Entry { stays: "the cache stays", open: open_cache },
    Entry { stays: "charging stays", open: charging::open },
    Entry { stays: "graphs stay", open: open_graphs },
    Entry { stays: "alerts stay", open: open_alerts },
];

/// Jobs whose sockets are open.
pub struct OpenedJobs(Vec<(&'static str, Opened)>);

impl OpenedJobs {
    /// Opens all that the settings ask for.
    ///
    /// # Errors
    /// What could not be opened, with what to do about it.
    pub fn open(settings: &Settings) -> Result<Self, Failure> {
        let opened = JOBS.iter().map(|entry| Ok((entry.open)(settings)?.map(|opened| (entry.stays, opened))));
        Ok(OpenedJobs(opened.filter_map(Result::transpose).collect::<Result<_, Failure>>()?))
    }

    /// Starts them. Of those that cannot be started, a sentence is added to `stopped`.
    ///
    /// # Errors
    /// One of them cannot be started with the rights that are left.
    pub fn start(self, settings: &Settings, stopped: &mut Vec<String>) -> Result<Jobs, Failure> {
        self.0.iter().try_for_each(|(_, opened)| (opened.check)(settings))?;
        let mut jobs = Jobs::default();
        for (stays, opened) in self.0 {
            or_stopped(stays, Some((opened.start)(settings)), stopped).into_iter().for_each(|job| jobs.add(job));
        }
        Ok(jobs)
    }
}

fn open_cache(settings: &Settings) -> Result<Option<Opened>, Failure> {
    let Some(opened) = cache::configured::open(&settings.cache)? else { return Ok(None) };
    Ok(Some(Opened::new(|settings| {
        let job = cache::configured::start(opened, &settings.cache).map_err(|e| Failure::Failed(e.to_string()))?;
        Ok(Arc::new(cache::here::Running::new(job, &settings.cache)))
    })))
}

fn open_graphs(settings: &Settings) -> Result<Option<Opened>, Failure> {
    if !settings.graph.enabled {
        return Ok(None);
    }
    // The right to echo requests goes with the privileges.
    let echo = EchoSockets::open();
    Ok(Some(Opened::new(|settings| {
        Ok(Arc::new(graph::here::Running::start(&settings.graph, &settings.data.folder, echo)?))
    })))
}

fn open_alerts(settings: &Settings) -> Result<Option<Opened>, Failure> {
    Ok(settings.alert.enabled.then(|| {
        Opened::new(|settings| {
            let history = settings.alert_history.clone();
            Ok(Arc::new(alert::here::Running::start(&settings.alert, history, &settings.data.folder)?))
        })
    }))
}
