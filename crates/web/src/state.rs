//! What the endpoints share.

use crate::live::Feed;
use crate::pages::Pages;
use crate::server::connection::Places;
use crate::server::{Options, Sources};
use crate::stores::Stores;
use axum::http::StatusCode;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use trunkline_kit::metrics::Sample;

trunkline_kit::counters! {
    /// What the web counts.
    pub struct WebCounters {
        /// connections taken
        connections: "trunkline_web_connections_total",
        /// connections closed at once because there were too many, of one address or in all
        connections_overflow: "trunkline_web_connections_overflow_total",
        /// requests refused because their network may not use the web
        networks_refused: "trunkline_web_networks_refused_total",
        /// microseconds that answers took to begin, summed
        answers_us: "trunkline_web_answers_us_total",
        /// clients of the live feed that were refused because there were too many
        live_overflow: "trunkline_web_live_clients_overflow_total",
        /// rows written to files of comma-separated values
        csv_rows: "trunkline_web_csv_rows_total",
    }
}

/// What the endpoints share.
pub struct Web {
    /// How the web is served.
    pub options: Options,
    /// What is served.
    pub sources: Sources,
    /// Questions to the store.
    pub stores: Stores,
    /// The folder of extractions and uploads, `DATA/spool/web`.
    pub spool: PathBuf,
    /// What is live.
    pub feed: Feed,
    /// The files of the UI.
    pub pages: Pages,
    /// Connections that are open.
    pub places: Places,
    /// Exports that may be under way.
    pub exports: Arc<Semaphore>,
    /// Becomes true when the server is to end: what streams without an end looks at it.
    pub stopping: watch::Receiver<bool>,
    counters: Mutex<WebCounters>,
    answers: Mutex<[u64; 4]>,
}

impl Web {
    /// Makes the folders that are needed.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn new(options: Options, sources: Sources, stopping: watch::Receiver<bool>) -> io::Result<Arc<Self>> {
        let spool = options.data.join("spool/web");
        std::fs::create_dir_all(&spool)?;
        Ok(Arc::new(Web {
            stores: Stores::new(sources.store_folder.clone()),
            feed: Feed::default(),
            pages: Pages::embedded(),
            places: Places::default(),
            exports: Arc::new(Semaphore::new(crate::api::CSV_EXPORTS_MAX)),
            stopping,
            counters: Mutex::default(),
            answers: Mutex::default(),
            options,
            sources,
            spool,
        }))
    }

    /// Counts something.
    pub fn count(&self, what: impl FnOnce(&mut WebCounters)) {
        what(&mut self.counters.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts an answer by the class of its status.
    pub fn count_answer(&self, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(2);
        if let Some(count) = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get_mut(class) {
            *count += 1;
        }
        self.count(|c| c.answers_us += u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// What the web counts.
    pub fn metrics(&self) -> Vec<Sample> {
        let counters = *self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = *self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut samples: Vec<Sample> = counters.list().into_iter().map(Sample::from).collect();
        for (class, count) in ["2xx", "3xx", "4xx", "5xx"].into_iter().zip(answers) {
            let sample = Sample::counter("trunkline_web_answers_total", "answers by class of status", count);
            samples.push(sample.label("status", class));
        }
        let open = self.places.open() as f64;
        samples.push(Sample::gauge("trunkline_web_connections_open", "connections that are open", open));
        let watching = self.feed.clients() as f64;
        samples.push(Sample::gauge("trunkline_web_live_clients", "clients of the live feed", watching));
        samples
    }
}
