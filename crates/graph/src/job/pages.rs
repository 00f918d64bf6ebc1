//! Graphs that are run here, as pages and other programs ask about them: [`crate::answer`] over the handle's inventory
//! and files.

use super::{Drawing, DrawingCounters, DrawingOptions, Handle, NotDrawn, Undone};
use crate::answer::{Polled, Unanswered, View, answer, ask_of, near_sources, order};
use crate::inventory::{Inventory, Search};
use crate::picture::{Files, Format, Plan, csv, picture, script};
use crate::poller::Change;
use crate::{files, template::Library};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_rrd::{Fault, Question, RrdFile, Series};

/// What a picture is a file of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// What rrdtool draws.
    Drawn(Format),
    /// Comma-separated values.
    Csv,
}

/// Why there is no file of a picture.
#[derive(Debug, thiserror::Error)]
pub enum NoFile {
    /// There is no such graph, or what is asked makes no sense.
    #[error("{0}")]
    Unanswered(#[from] Unanswered),
    /// It cannot be drawn.
    #[error("{0}")]
    NotDrawn(#[from] NotDrawn),
}

/// Why an order was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It is not understood.
    #[error("{0}")]
    Unanswered(#[from] Unanswered),
    /// It was not done.
    #[error("{0}")]
    Undone(#[from] Undone),
}

/// What there is to see of graphs that are run here.
#[derive(Debug)]
pub struct Pages {
    handle: Handle,
    drawing: Drawing,
    /// The titles of the inventory of that entry: they are read again when somebody searches and there is a newer one.
    search: Mutex<(Option<u64>, Arc<Search>)>,
}

impl Pages {
    /// Of a run.
    pub fn new(handle: Handle) -> Pages {
        let drawing = Drawing::new(DrawingOptions::of(handle.folder().to_owned()));
        Pages { handle, drawing, search: Mutex::default() }
    }

    /// What drawing counts.
    pub fn drawn(&self) -> DrawingCounters {
        self.drawing.counters()
    }

    /// Answers a question of [`crate::answer`], and `run`: how polling goes.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn ask(&self, question: &Value) -> Result<Value, Unanswered> {
        if question["do"] == "run" {
            return Ok(self.run());
        }
        let inventory = self.handle.inventory();
        let library = self.handle.library();
        let shown = match question["do"] == "near" {
            true => near_sources(&inventory, &library, question),
            false => sources(&inventory, question),
        };
        // What is of no file is answered without waiting for those that write them.
        let needs_files =
            !shown.is_empty() || ["pictures", "device", "graph"].iter().any(|of_files| question["do"] == *of_files);
        match needs_files {
            true => self.handle.read(&shown, || self.answer(&inventory, &library, question)),
            false => self.answer(&inventory, &library, question),
        }
    }

    fn answer(&self, inventory: &Inventory, library: &Library, question: &Value) -> Result<Value, Unanswered> {
        let search = match question["do"] == "graphs" {
            true => self.search(inventory, library),
            false => Arc::default(),
        };
        let held = Held { inventory, handle: &self.handle };
        let polled = |device: u32| polled(&self.handle, device);
        let now_s = super::clock::unix_ms() / 1000;
        answer(&View { inventory, library, search: &search, files: &held, polled: &polled, now_s }, question)
    }

    fn search(&self, inventory: &Inventory, library: &Library) -> Arc<Search> {
        let mut known = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != Some(inventory.sequence()) {
            *known = (Some(inventory.sequence()), Arc::new(Search::of(inventory, library)));
        }
        Arc::clone(&known.1)
    }

    /// Has an order carried out for somebody; it is on disk when this returns.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn order(&self, by: &str, wanted: &Value) -> Result<(), Refused> {
        let order = order(&self.handle.inventory(), wanted)?;
        self.handle.order(by, order)?;
        Ok(())
    }

    /// A picture of a graph as a file.
    ///
    /// # Errors
    /// [`NoFile`].
    pub fn file(&self, graph: u32, form: Form, question: &Value) -> Result<Vec<u8>, NoFile> {
        let (inventory, library) = (self.handle.inventory(), self.handle.library());
        let ask = ask_of(question)?;
        let plan = Plan::new(&inventory, &library, graph).map_err(Unanswered::from)?;
        let held = Held { inventory: &inventory, handle: &self.handle };
        let now_s = super::clock::unix_ms() / 1000;
        self.handle.read(&plan.sources(), || match form {
            Form::Csv => {
                let seen = picture(&plan, &ask, now_s, &held).map_err(Unanswered::from)?;
                Ok(csv(&seen).into_bytes())
            }
            Form::Drawn(format) => {
                let line = script(&plan, &ask, format, &held).map_err(Unanswered::from)?;
                Ok(self.drawing.draw(&line)?)
            }
        })
    }

    fn run(&self) -> Value {
        let status = self.handle.status();
        let drawn = self.drawn();
        let failed = drawn.refused + drawn.timed_out + drawn.busy + drawn.failed;
        json!({
            "samples_per_s": status.samples_per_s, "waiting_octets": status.journal.behind_octets,
            "samples_dropped": status.journal.dropped, "cycles_missed": status.polls.cycles_missed,
            "pictures": drawn.drawn, "pictures_failed": failed, "troubles": status.troubles,
        })
    }
}

/// The data sources of the graphs that are asked for: what waits for their files is written first.
fn sources(inventory: &Inventory, question: &Value) -> Vec<u32> {
    let ids = question["ids"].as_array().into_iter().flatten().filter_map(|id| u32::try_from(id.as_u64()?).ok());
    ids.filter_map(|id| inventory.graphs().get(id)).flat_map(|graph| graph.sources.iter().copied()).collect()
}

fn polled(handle: &Handle, device: u32) -> Option<Polled> {
    let shown = handle.device(device)?;
    let mut troubles = Vec::new();
    if shown.health == Some(Change::Down) {
        troubles.push("It does not answer.".to_owned());
    }
    troubles.extend(shown.refused.map(|cause| format!("It does not let us in: {cause:?}.")));
    troubles.extend(shown.unexplored.map(|why| format!("It could not be looked at: {why}.")));
    if shown.is_stale {
        troubles.push("It has started anew: its rows are read again when they were found again.".to_owned());
    }
    if shown.unreadable > 0 {
        troubles.push(format!("{} data sources cannot be read at present.", shown.unreadable));
    }
    Some(Polled {
        up: shown.health.map(|health| health == Change::Up),
        since_s: shown.health.map(|_| shown.since_ms / 1000),
        answered_s: shown.answered_ms.map(|at_ms| at_ms / 1000),
        troubles,
        missed: shown.missed,
        round_trip_ms: shown.round_trip_ns.map(|ns| ns as f64 / 1e6),
    })
}

/// The files of a run, while nobody writes them.
struct Held<'h> {
    inventory: &'h Inventory,
    handle: &'h Handle,
}

impl Held<'_> {
    fn file(&self, source: u32) -> Option<PathBuf> {
        Some(files::path(self.inventory.sources().get(source)?.device, source))
    }
}

impl Files for Held<'_> {
    fn path(&self, source: u32) -> Option<String> {
        let path = self.file(source)?;
        self.handle.folder().join(&path).exists().then(|| path.display().to_string())
    }

    fn rows(&self, source: u32, question: &Question) -> Result<Series, Fault> {
        let path = self.file(source).ok_or_else(|| Fault::Io(std::io::ErrorKind::NotFound.into()))?;
        RrdFile::open(&self.handle.folder().join(path))?.fetch(question)
    }

    fn last_s(&self, source: u32) -> Option<i64> {
        let file = RrdFile::open(&self.handle.folder().join(self.file(source)?)).ok()?;
        Some(file.archive().last().seconds)
    }
}
