//! Graphs that are run here, as pages and other programs ask about them: [`crate::answer`] over the handle's inventory
//! and files.

use super::drawing::zone;
use super::scopes::{ScopeCounters, Scopes};
use super::{Drawing, DrawingCounters, DrawingOptions, Handle, NotDrawn, Undone};
use crate::answer::{
    Polled, RealtimeAsk, Unanswered, View, Watched, added, answer, ask_of, near_sources, order, realtime,
};
use crate::inventory::{Inventory, Search};
use crate::picture::{Files, Format, NoPicture, Plan, csv, picture, script};
use crate::poller::Change;
use crate::realtime::{NotWatched, Wanted};
use crate::scope::{Scope, Seen};
use crate::{files, template::Library};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_contract::graph::{
    GraphList, GraphRealtime, GraphRun, GraphScope, GraphSpan, GraphsWanted, NearWanted, Question, Told,
};
use trunkline_rrd::{Fault, Question as Rows, RrdFile, Series};

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

/// Titles, and the entry and the templates that they are of.
type Titles = (Option<(u64, Arc<Library>)>, Arc<Search>);

/// What there is to see of graphs that are run here.
#[derive(Debug)]
pub struct Pages {
    handle: Handle,
    drawing: Drawing,
    /// The titles of the inventory of that entry and these templates: they are read again when somebody searches and
    /// there are newer ones.
    search: Mutex<Titles>,
    scopes: Scopes,
}

/// What is asked about: all of it is of one moment.
struct Asked {
    inventory: Arc<Inventory>,
    library: Arc<Library>,
    scope: Option<(Scope, Arc<Seen>)>,
}

impl Asked {
    /// What may be seen; none is everything.
    fn seen(&self) -> Option<&Seen> {
        self.scope.as_ref().map(|(_, seen)| &**seen)
    }

    /// The data sources of graphs: what waits for their files is written first.
    fn sources(&self, ids: impl Iterator<Item = u32>) -> Vec<u32> {
        let ids = ids.filter(|id| self.seen().is_none_or(|seen| seen.graph(*id)));
        let graphs = ids.filter_map(|id| self.inventory.graphs().get(id));
        graphs.flat_map(|graph| graph.sources.iter().copied()).collect()
    }

    /// The data sources of what is on a way.
    fn near(&self, wanted: &NearWanted) -> Vec<u32> {
        let sources = near_sources(&self.inventory, &self.library, wanted).into_iter();
        sources.filter(|source| self.seen().is_none_or(|seen| seen.source(*source))).collect()
    }
}

impl Pages {
    /// Of a run.
    pub fn new(handle: Handle) -> Pages {
        let drawing = Drawing::new(DrawingOptions::of(handle.folder().to_owned()));
        Pages { handle, drawing, search: Mutex::default(), scopes: Scopes::default() }
    }

    /// What scopes count.
    pub fn scopes(&self) -> ScopeCounters {
        self.scopes.counters()
    }

    /// What drawing counts.
    pub fn drawn(&self) -> DrawingCounters {
        self.drawing.counters()
    }

    /// Answers a question of somebody with a scope: what it does not show is answered as if it did not exist.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn ask(&self, scope: Option<&GraphScope>, question: &Question) -> Result<Told, Unanswered> {
        let asked = self.asked(scope)?;
        let shown = match question {
            Question::Run {} => return Ok(self.run(asked.seen().is_none()).into()),
            Question::Realtime { graph, step, span } => {
                return Ok(self.realtime(&asked, &RealtimeAsk::new(*graph, *step, *span)?)?.into());
            }
            Question::Figures { graphs, .. } => self.found(&asked, graphs)?,
            Question::Near(wanted) => asked.near(wanted),
            Question::Pictures { ids, .. } => asked.sources(ids.iter().copied()),
            _ => Vec::new(),
        };
        // What is of no file is answered without waiting for those that write them.
        let is_of_files = matches!(
            question,
            Question::Pictures { .. } | Question::Device { .. } | Question::Graph { .. } | Question::Figures { .. }
        );
        match is_of_files || !shown.is_empty() {
            true => self.handle.read(&shown, || self.answer(&asked, question)),
            false => self.answer(&asked, question),
        }
    }

    /// The data sources of the graphs that a report is of.
    fn found(&self, asked: &Asked, wanted: &GraphsWanted) -> Result<Vec<u32>, Unanswered> {
        let found = self.answer(asked, &Question::Graphs(wanted.clone()))?;
        let found = GraphList::try_from(found).map_err(|why| Unanswered::Failed(why.text))?;
        Ok(asked.sources(found.graphs.iter().map(|graph| graph.id)))
    }

    /// The inventory of this moment, and what of it may be seen.
    fn asked(&self, scope: Option<&GraphScope>) -> Result<Asked, Unanswered> {
        let (inventory, library) = (self.handle.inventory(), self.handle.library());
        let scope = scope.map(Scope::read).transpose().map_err(Unanswered::Asked)?;
        let scope = scope.map(|scope| {
            let shown = self.scopes.shown(&scope, &inventory, &library, || self.search(&inventory, &library));
            (scope, shown)
        });
        Ok(Asked { inventory, library, scope })
    }

    fn answer(&self, asked: &Asked, question: &Question) -> Result<Told, Unanswered> {
        let (inventory, library) = (&*asked.inventory, &asked.library);
        let search = match question {
            Question::Graphs(_) | Question::Figures { .. } | Question::Rights {} => self.search(inventory, library),
            _ => Arc::default(),
        };
        let held = Held { inventory, handle: &self.handle };
        self.view(asked, &search, &held, |view| answer(view, question))
    }

    fn view<T>(&self, asked: &Asked, search: &Search, files: &dyn Files, see: impl FnOnce(&View<'_>) -> T) -> T {
        let polled = |device: u32| polled(&self.handle, device);
        let now_s = super::clock::unix_ms() / 1000;
        let (seen, scope) = (asked.seen(), asked.scope.as_ref().map(|(scope, _)| scope));
        let (inventory, library, polled) = (&*asked.inventory, &*asked.library, &polled);
        see(&View { inventory, library, search, files, polled, now_s, seen, scope })
    }

    /// Has a graph read in real time for a while, and tells what has come of it.
    fn realtime(&self, asked: &Asked, ask: &RealtimeAsk) -> Result<GraphRealtime, Unanswered> {
        if asked.seen().is_some_and(|seen| !seen.graph(ask.graph)) {
            return Err(NoPicture::Unknown(ask.graph).into());
        }
        let (inventory, library) = (&*asked.inventory, &*asked.library);
        let plan = Plan::new(inventory, library, ask.graph)?;
        let sources = plan.sources().into_iter();
        let wanted = sources.filter_map(|source| Wanted::of(inventory, library, source, ask.step_s)).collect();
        let watchers = &self.handle.shared().realtime;
        watchers.watch(wanted).map_err(|why| match why {
            NotWatched::Full { .. } => Unanswered::Busy(why.to_string()),
            NotWatched::Fault(_) => Unanswered::Failed(why.to_string()),
        })?;
        let now_s = super::clock::unix_ms() / 1000;
        let watched = watchers.with(|held| Watched::of(&plan, ask, now_s, held))?;
        let held = Held { inventory, handle: &self.handle };
        Ok(self.view(asked, &Search::default(), &held, |view| realtime(view, ask, &plan, &watched)))
    }

    fn search(&self, inventory: &Inventory, library: &Arc<Library>) -> Arc<Search> {
        let mut known = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            |(sequence, of): &(u64, Arc<Library>)| *sequence == inventory.sequence() && Arc::ptr_eq(of, library);
        if !known.0.as_ref().is_some_and(is_same) {
            *known = (Some((inventory.sequence(), Arc::clone(library))), Arc::new(Search::of(inventory, library)));
        }
        Arc::clone(&known.1)
    }

    /// Has an order carried out for somebody; it is on disk when this returns.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn order(&self, by: &str, wanted: &Value) -> Result<(), Refused> {
        let inventory = self.handle.inventory();
        if wanted["do"] == "add-device" {
            self.handle.add_device(by, added(&inventory, wanted)?)?;
            return Ok(());
        }
        self.handle.order(by, order(&inventory, &self.handle.library(), wanted)?)?;
        Ok(())
    }

    /// A picture of a graph as a file.
    ///
    /// # Errors
    /// [`NoFile`].
    pub fn file(
        &self,
        scope: Option<&GraphScope>,
        graph: u32,
        form: Form,
        span: &GraphSpan,
        in_zone: Option<&str>,
    ) -> Result<Vec<u8>, NoFile> {
        let asked = self.asked(scope)?;
        let ask = ask_of(span)?;
        if asked.seen().is_some_and(|seen| !seen.graph(graph)) {
            return Err(Unanswered::from(NoPicture::Unknown(graph)).into());
        }
        let plan = Plan::new(&asked.inventory, &asked.library, graph).map_err(Unanswered::from)?;
        let held = Held { inventory: &asked.inventory, handle: &self.handle };
        let now_s = super::clock::unix_ms() / 1000;
        self.handle.read(&plan.sources(), || match form {
            Form::Csv => {
                let seen = picture(&plan, &ask, now_s, &held).map_err(Unanswered::from)?;
                Ok(csv(&seen).into_bytes())
            }
            Form::Drawn(format) => {
                let zone = zone(in_zone);
                let line = script(&plan, &ask, format, zone, &held).map_err(Unanswered::from)?;
                Ok(self.drawing.draw(&line, zone)?)
            }
        })
    }

    /// How polling goes. What is wrong may name devices: who does not see all of them is told that something is.
    fn run(&self, is_whole: bool) -> GraphRun {
        let mut status = self.handle.status();
        if !is_whole && !status.troubles.is_empty() {
            status.troubles = vec!["Polling has a problem: administrators see the details.".to_owned()];
        }
        let drawn = self.drawn();
        let failed = drawn.refused + drawn.timed_out + drawn.busy + drawn.failed;
        GraphRun {
            samples_per_s: status.samples_per_s,
            waiting_octets: status.journal.behind_octets,
            samples_dropped: status.journal.dropped,
            cycles_missed: status.polls.cycles_missed,
            pictures: drawn.drawn,
            pictures_failed: failed,
            troubles: status.troubles,
        }
    }
}

fn polled(handle: &Handle, device: u32) -> Option<Polled> {
    let shown = handle.device(device)?;
    let mut troubles = Vec::new();
    if shown.health == Some(Change::Down) {
        troubles.push("It does not answer.".to_owned());
    }
    if shown.is_flapping {
        troubles.push("It is flapping.".to_owned());
    }
    troubles.extend(shown.unfound.map(|why| format!("Its name is not found: {why}.")));
    troubles.extend(shown.refused.map(|cause| format!("It rejected the credential: {cause:?}.")));
    // What does not answer cannot be looked at either.
    let unexplored = shown.unexplored.filter(|_| shown.health != Some(Change::Down));
    troubles.extend(unexplored.map(|why| format!("Discovery failed: {why}.")));
    if shown.is_stale {
        troubles.push("It has restarted: its rows are polled again after the next discovery.".to_owned());
    }
    if shown.unreadable > 0 {
        troubles.push(format!("{} data sources cannot be read now.", shown.unreadable));
    }
    let (mut faults, mut of_device) = (Vec::new(), Vec::new());
    for (source, text) in shown.faults {
        match source {
            Some(source) => faults.push((source, text)),
            None => of_device.push(format!("The up/down state is uncertain: {text}.")),
        }
    }
    troubles.extend(of_device);
    match faults.len() {
        0 => {}
        1 => troubles.push("A data source does not answer correctly.".to_owned()),
        count => troubles.push(format!("{count} data sources do not answer correctly.")),
    }
    Some(Polled {
        flapping: shown.is_flapping,
        faults,
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

    fn rows(&self, source: u32, question: &Rows) -> Result<Series, Fault> {
        let path = self.file(source).ok_or_else(|| Fault::Io(std::io::ErrorKind::NotFound.into()))?;
        RrdFile::open(&self.handle.folder().join(path))?.fetch(question)
    }

    fn last_s(&self, source: u32) -> Option<i64> {
        let file = RrdFile::open(&self.handle.folder().join(self.file(source)?)).ok()?;
        Some(file.archive().last().seconds)
    }
}
