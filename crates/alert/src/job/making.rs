//! Reports are made by threads of their own: a slow one delays no alert.

use super::shelf::Shelf;
use super::{Order, Shared, now_s};
use crate::report::{Asked, DeviceFigures, Document, Figures, Gather, Gathered, Told, alerts, document, mime};
use crate::rule::{Part, PartOf, Pattern, Report};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it looks whether anybody waits.
const LOOK: Duration = Duration::from_millis(250);

/// What makes reports; copies are the same.
#[derive(Clone)]
pub struct Maker {
    pub shelf: Shelf,
    pub orders: mpsc::Sender<Order>,
    pub shared: Arc<Shared>,
    /// What stands outside of alerts; reports wait until it is there.
    pub gather: Arc<OnceLock<Arc<dyn Gather>>>,
    /// Nobody waits any more.
    pub ends: Arc<AtomicBool>,
    /// One is gathered at a time.
    pub one: Arc<Mutex<()>>,
}

impl core::fmt::Debug for Maker {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Maker").field("shelf", &self.shelf).finish_non_exhaustive()
    }
}

/// A report that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// What its files begin with.
    pub file: String,
    /// The line that stands for it.
    pub subject: String,
}

impl Maker {
    /// Whether reports can be made.
    pub fn is_ready(&self) -> bool {
        self.gather.get().is_some() && !self.is_over()
    }

    /// Whether nobody waits any more.
    pub fn is_over(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Gathers all sections of a report as of a time.
    ///
    /// # Errors
    /// The job ends, or nothing can be gathered yet.
    pub fn gather(&self, name: &str, report: &Report, at_s: i64) -> Result<Gathered, String> {
        let outside = self.gather.get().ok_or("reports cannot be made yet")?;
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = Asked { from_s: report.begin(at_s), to_s: at_s, zone: &report.zone, ends: &self.ends };
        let mut sections = Vec::new();
        for part in &report.parts {
            if asked.is_over() {
                break;
            }
            let title = if part.title.is_empty() { part.of.heading().to_owned() } else { part.title.clone() };
            let figures = match &part.of {
                PartOf::Alerts => Ok(Figures::Alerts(self.alerts(part, &asked))),
                PartOf::Devices { devices } => self.devices(devices, part, &asked).map(Figures::Devices),
                _ => outside.gather(part, &asked),
            };
            sections.push(Told { title, figures });
        }
        // What was begun when it ended is not whole.
        if asked.is_over() {
            return Err("the alert job has stopped".to_owned());
        }
        Ok(Gathered {
            report: name.to_owned(),
            title: report.title.clone(),
            text: report.text.clone(),
            from_s: asked.from_s,
            to_s: at_s,
            made_s: now_s(),
            zone: report.zone.clone(),
            sections,
        })
    }

    /// Makes a report, and writes it to files of this name.
    ///
    /// # Errors
    /// As [`gather`](Self::gather); it cannot be written.
    pub fn make(&self, name: &str, report: &Report, at_s: i64, file: &str) -> Result<Made, String> {
        let gathered = self.gather(name, report, at_s)?;
        let shown: Document = document(&gathered);
        let mail = mime(&shown, &format!("{file}@trunkline"));
        let written = self.shelf.put(file, &mail, &gathered.json().to_string());
        written.map_err(|error| format!("the report '{name}' cannot be written: {error}"))?;
        Ok(Made { file: file.to_owned(), subject: gathered.subject() })
    }

    /// Makes a report for a time of its schedule in a thread; what comes of it is an order.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn begin(&self, name: &str, report: &Report, at_s: i64) -> std::io::Result<JoinHandle<()>> {
        let (maker, report) = (self.clone(), report.clone());
        let told = Unless { orders: self.orders.clone(), name: name.to_owned(), at_s, came: None };
        let run = move || {
            let mut told = told;
            told.came = Some(maker.make(&told.name, &report, at_s, &file_of(&told.name, at_s)));
        };
        std::thread::Builder::new().name("alert-report".to_owned()).spawn(run)
    }

    fn alerts(&self, part: &Part, asked: &Asked<'_>) -> crate::report::AlertFigures {
        let view = self.shared.view.lock().unwrap_or_else(PoisonError::into_inner);
        let (open, past, history) = (view.incidents.clone(), view.past.clone(), view.history);
        drop(view);
        alerts(&open, (&past, history), (asked.from_s, asked.to_s), part.limit)
    }

    fn devices(&self, devices: &[Pattern], part: &Part, asked: &Asked<'_>) -> Result<DeviceFigures, String> {
        let (reply, comes) = sync_channel(1);
        let order = Order::Availability {
            devices: devices.to_vec(),
            span: (asked.from_s, asked.to_s),
            limit: part.limit,
            reply,
        };
        let ended = || Err("The alert job has stopped.".to_owned());
        if self.orders.send(order).is_err() {
            return ended();
        }
        // Who answers may have ended, and wait for this thread.
        loop {
            match comes.recv_timeout(LOOK) {
                Ok(figures) => return Ok(figures),
                Err(RecvTimeoutError::Timeout) if !asked.is_over() => {}
                Err(_) => return ended(),
            }
        }
    }

    /// Nobody waits any more.
    pub fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// What the files of a report for a time of its schedule begin with.
pub fn file_of(name: &str, at_s: i64) -> String {
    format!("{name}-{at_s}")
}

/// Says what came of it, whatever happens to the thread.
struct Unless {
    orders: mpsc::Sender<Order>,
    name: String,
    at_s: i64,
    came: Option<Result<Made, String>>,
}

impl Drop for Unless {
    fn drop(&mut self) {
        let came = self.came.take();
        let came = came.unwrap_or_else(|| Err("its thread failed; this is a defect of Trunkline".to_owned()));
        // Nobody asks any more where the job has ended.
        let _ended = self.orders.send(Order::Made { report: core::mem::take(&mut self.name), at_s: self.at_s, came });
    }
}
