//! Pictures of graphs, and tables of their figures: those that pages show, of the same plans.

use super::choice::chosen;
use std::path::{Path, PathBuf};
use trunkline_alert::report::{Asked, GraphFigures, GraphShown, PICTURES_MAX, Ranked, Ranking};
use trunkline_alert::rule::{Archive, By, Choice};
use trunkline_contract::graph::GraphSpan;
use trunkline_graph::job::{Form, Handle, NoFile, NotDrawn, Pages};
use trunkline_graph::picture::{Ask, Files, Format, Picture, Plan, WIDTH_MAX, picture};
use trunkline_graph::template::Function;
use trunkline_rrd::{Fault, Question, RrdFile, Series};

/// Columns of a picture: what a mail has room for.
const WIDTH: u32 = 520;
/// Graphs of which a table looks at the figures; those beyond are counted.
// Limit: graphs of which one table of a report reads the figures
// Beyond: further graphs are counted
// Seen in: the report
const TABLE_GRAPHS_MAX: usize = 2_000;

/// Pictures of the first graphs of a choice, by rrdtool, with the report's clocks.
///
/// # Errors
/// There is no such place, or no rrdtool; in a sentence.
pub fn pictures(
    graphs: &Handle,
    choice: &Choice,
    archive: Option<Archive>,
    limit: usize,
    asked: &Asked<'_>,
) -> Result<GraphFigures, String> {
    let (inventory, library) = (graphs.inventory(), graphs.library());
    let ids = chosen(&inventory, &library, choice)?;
    let pages = Pages::new(graphs.clone());
    let function = archive.map(|archive| archive.name().to_owned());
    let span = GraphSpan { from: asked.from_s, to: asked.to_s, width: Some(WIDTH), shift: None, function };
    let shown = limit.min(PICTURES_MAX);
    let mut all = Vec::new();
    for id in ids.iter().take(shown) {
        if asked.is_over() {
            break;
        }
        let title = inventory.title(&library, *id);
        let drawn = pages.file(None, *id, Form::Drawn(Format::Png), &span, Some(asked.zone.name()));
        all.push(match drawn {
            Ok(png) => GraphShown { id: *id, title, png, trouble: None },
            // No picture can be drawn at all: it is said once.
            Err(NoFile::NotDrawn(error @ NotDrawn::Missing)) => return Err(sentence(&error.to_string())),
            Err(error) => GraphShown { id: *id, title, png: Vec::new(), trouble: Some(error.to_string()) },
        });
    }
    Ok(GraphFigures { graphs: all, more: ids.len().saturating_sub(shown) as u64 })
}

/// Series of the graphs of a choice by one of their figures.
///
/// # Errors
/// There is no such place, or a span that cannot be asked for; in a sentence.
pub fn table(
    graphs: &Handle,
    choice: &Choice,
    by: By,
    archive: Option<Archive>,
    limit: usize,
    asked: &Asked<'_>,
) -> Result<Ranking, String> {
    let (inventory, library) = (graphs.inventory(), graphs.library());
    let ids = chosen(&inventory, &library, choice)?;
    let mut ask = Ask::new(asked.from_s, asked.to_s, WIDTH_MAX).map_err(|error| sentence(&error.to_string()))?;
    ask.function = archive.map(function);
    let files = Held { handle: graphs };
    let mut ranking = Ranking { by: by.name(), ..Ranking::default() };
    ranking.beyond = ids.len().saturating_sub(TABLE_GRAPHS_MAX) as u64;
    for id in ids.into_iter().take(TABLE_GRAPHS_MAX).take_while(|_| !asked.is_over()) {
        // A graph whose template is gone, or whose files cannot be read, has no figures: it counts as unknown.
        let seen = Plan::new(&inventory, &library, id).map(|plan| {
            let seen = graphs.read(&plan.sources(), || picture(&plan, &ask, asked.to_s, &files));
            (plan, seen)
        });
        match seen {
            Ok((plan, Ok(seen))) => rank(&mut ranking, id, &plan, &seen),
            _ => ranking.unknown += 1,
        }
    }
    let figure = |row: &Ranked| match by {
        By::P95 => row.p95,
        By::Mean => row.mean,
        By::Max => row.max,
        By::Total => row.total,
    };
    let value = |row: &Ranked| figure(row).unwrap_or(f64::NEG_INFINITY);
    ranking.rows.sort_by(|one, other| value(other).total_cmp(&value(one)).then(one.graph.cmp(&other.graph)));
    ranking.more = ranking.rows.len().saturating_sub(limit) as u64;
    ranking.rows.truncate(limit);
    Ok(ranking)
}

/// Series that are seen and have a legend; of some nothing is known.
fn rank(ranking: &mut Ranking, graph: u32, plan: &Plan, seen: &Picture) {
    for drawn in seen.drawn.iter().filter(|drawn| drawn.color.is_some() && !drawn.label.is_empty()) {
        let known = |value: f64| value.is_finite().then_some(value);
        let figures = &drawn.figures;
        if known(figures.average).is_none() {
            ranking.unknown += 1;
            continue;
        }
        ranking.rows.push(Ranked {
            graph,
            title: plan.title.clone(),
            series: drawn.label.clone(),
            unit: plan.unit.clone(),
            base: plan.base,
            p95: known(figures.p95),
            mean: known(figures.average),
            max: known(figures.max),
            total: known(figures.total),
        });
    }
}

fn function(archive: Archive) -> Function {
    match archive {
        Archive::Average => Function::Average,
        Archive::Min => Function::Min,
        Archive::Max => Function::Max,
        Archive::Last => Function::Last,
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}{}", letters.as_str(), if text.ends_with('.') { "" } else { "." })
}

/// The files of graphs that run here.
struct Held<'h> {
    handle: &'h Handle,
}

impl Held<'_> {
    fn file(&self, source: u32) -> Option<PathBuf> {
        self.handle.file(source).filter(|path| Path::exists(path))
    }

    fn open(&self, source: u32) -> Result<RrdFile, Fault> {
        let path = self.file(source).ok_or_else(|| Fault::Io(std::io::ErrorKind::NotFound.into()))?;
        RrdFile::open(&path)
    }
}

impl Files for Held<'_> {
    fn path(&self, source: u32) -> Option<String> {
        self.file(source).map(|path| path.display().to_string())
    }

    fn rows(&self, source: u32, question: &Question) -> Result<Series, Fault> {
        self.open(source)?.fetch(question)
    }

    fn last_s(&self, _source: u32) -> Option<i64> {
        None
    }
}
