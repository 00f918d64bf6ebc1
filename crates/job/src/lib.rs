//! What every job that runs beside the capture can do. `trunkline run` holds its jobs as a list of [`Job`]s, asks each
//! for its part of the status line, `/metrics` and `/healthz`, tells it to reload, and stops it at the end.
//! `docs/adding/job.md` shows how to add one.

#![forbid(unsafe_code)]

mod figure;

pub use figure::Figure;

use std::any::Any;
use std::sync::Arc;
use trunkline_kit::metrics::Sample;

/// A job that runs. Every method may be called from any thread; only `stop` may wait.
pub trait Job: Any + Send + Sync {
    /// Its name on the status line and at the beginning of messages, such as `cache`.
    fn name(&self) -> &'static str;

    /// Called once when all jobs of the run have started, for a job that watches others or the metrics of the whole
    /// program.
    ///
    /// # Errors
    /// A sentence for the operator; the run does not start.
    fn connect(&self, _around: &Around<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Its part of the status line, totals since the start and levels. None leaves it out of the line.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Its metrics.
    fn samples(&self) -> Vec<Sample>;

    /// What is wrong now, one line each; `/healthz` answers 503 while there is a line.
    fn unhealthy(&self) -> Vec<String> {
        Vec::new()
    }

    /// Called several times a second.
    fn look_after(&self) {}

    /// SIGHUP: reads files that it depends on again. A file with mistakes changes nothing and is reported in the log.
    fn reload(&self) {}

    /// The run is about to end: what the other jobs do from now on is not an event any more.
    fn ending(&self) {}

    /// Ends it, with everything that it accepted stored. What went wrong since the start, a sentence each: the run then
    /// exits with 3.
    fn stop(&self) -> Vec<String>;
}

/// What is around a job.
pub struct Around<'a> {
    /// All jobs of the run.
    pub jobs: &'a Jobs,
    /// All metrics of the program; none once it has ended.
    pub samples: Samples,
}

/// All metrics of the program; none once it has ended.
pub type Samples = Arc<dyn Fn() -> Option<Vec<Sample>> + Send + Sync>;

/// The jobs of one run, in the order in which they were started.
#[derive(Clone, Default)]
pub struct Jobs {
    running: Vec<Arc<dyn Job>>,
}

impl Jobs {
    /// Adds a job that was started.
    pub fn add(&mut self, job: Arc<dyn Job>) {
        self.running.push(job);
    }

    /// The job of a type, if it runs.
    pub fn get<T: Job>(&self) -> Option<&T> {
        self.iter().find_map(|job| (job as &dyn Any).downcast_ref())
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &dyn Job> {
        self.running.iter().map(Arc::as_ref)
    }

    /// Connects them with each other and with the metrics of the whole program.
    ///
    /// # Errors
    /// As [`Job::connect`].
    pub fn connect(&self, samples: Samples) -> Result<(), String> {
        let around = Around { jobs: self, samples };
        self.iter().try_for_each(|job| job.connect(&around))
    }

    /// Their parts of the status line.
    pub fn figures(&self) -> Vec<(&'static str, Vec<Figure>)> {
        self.iter().map(|job| (job.name(), job.figures())).collect()
    }

    /// Their metrics.
    pub fn samples(&self) -> Vec<Sample> {
        self.iter().flat_map(Job::samples).collect()
    }

    /// What is wrong with them, one line each.
    pub fn unhealthy(&self) -> Vec<String> {
        self.iter().flat_map(Job::unhealthy).collect()
    }

    /// To be called several times a second.
    pub fn look_after(&self) {
        self.iter().for_each(Job::look_after);
    }

    /// Has each read its files again.
    pub fn reload(&self) {
        self.iter().for_each(Job::reload);
    }

    /// The run is about to end.
    pub fn ending(&self) {
        self.iter().for_each(Job::ending);
    }

    /// Ends them, the last one that was started first. What went wrong, a sentence each.
    pub fn stop(&self) -> Vec<String> {
        self.iter().rev().flat_map(Job::stop).collect()
    }
}
