//! Figures of graphs over a span, without their values: a report of how much went where, and the templates that graphs
//! of many can be made by.

use super::pictures::number;
use super::{Unanswered, View, few, graphs};
use crate::picture::{Ask, Picture, Plan, WIDTH_MAX, picture};
use crate::template::Aggregate;
use core::fmt::Write as _;
use std::collections::HashSet;
use trunkline_contract::graph::{
    GraphFiguresList, GraphFiguresOf, GraphFiguresSeries, GraphReport, GraphTemplate, GraphTemplateList, GraphsWanted,
};
use trunkline_kit::untrusted::cell;

/// Graphs of one report.
// Limit: graphs of one bandwidth report
// Beyond: further graphs are counted
// Seen in: the number beside the list
pub const REPORT_GRAPHS_MAX: usize = 500;

/// A graph of a report: its number, what it is of, and its figures or why there are none.
struct Reported {
    /// Its number.
    id: u32,
    /// Its title.
    title: String,
    /// Its unit, and the figures.
    seen: Result<(String, Picture), String>,
}

/// The graphs that were asked for, as `graphs` finds them, with mean, greatest value, 95th percentile and total of
/// each series in a span; as lines of CSV, too, where these are wanted. Rows are as fine as the archives have them for
/// the whole span: `step` says how long one is.
pub(super) fn show(
    view: &View<'_>,
    wanted: &GraphsWanted,
    (from_s, to_s): (i64, i64),
    csv: bool,
) -> Result<GraphReport, Unanswered> {
    let ask = Ask::new(from_s, to_s, WIDTH_MAX)?;
    let found = graphs::list(view, wanted)?;
    let ids = found.graphs.iter().take(REPORT_GRAPHS_MAX);
    let reported: Vec<Reported> = ids.map(|graph| one(view, graph.id, &ask)).collect();
    let list = GraphFiguresList { total: found.total, graphs: reported.iter().map(told).collect() };
    Ok(GraphReport { list, csv: csv.then(|| lines(&reported)) })
}

fn one(view: &View<'_>, id: u32, ask: &Ask) -> Reported {
    let title = view.inventory.title(view.library, id);
    let seen = Plan::new(view.inventory, view.library, id)
        .and_then(|plan| Ok((plan.unit.clone(), picture(&plan, ask, view.now_s, view.files)?)));
    Reported { id, title, seen: seen.map_err(|why| why.to_string()) }
}

fn told(Reported { id, title, seen }: &Reported) -> GraphFiguresOf {
    let of = GraphFiguresOf { id: *id, title: title.clone(), ..GraphFiguresOf::default() };
    let (unit, seen) = match seen {
        Err(why) => return GraphFiguresOf { trouble: Some(why.clone()), ..of },
        Ok((unit, seen)) => (unit, seen),
    };
    let named = seen.drawn.iter().filter(|drawn| !drawn.label.is_empty());
    let series = named.map(|drawn| GraphFiguresSeries {
        label: drawn.label.trim().to_owned(),
        average: number(drawn.figures.average),
        max: number(drawn.figures.max),
        p95: number(drawn.figures.p95),
        total: number(total(unit, drawn.figures.total)),
    });
    GraphFiguresOf { unit: unit.clone(), step: Some(seen.step_s), series: series.collect(), ..of }
}

/// A total is of what comes in a second: seconds times a temperature are nothing.
fn total(unit: &str, total: f64) -> f64 {
    if unit.ends_with("/s") || unit.to_lowercase().ends_with("per second") { total } else { f64::NAN }
}

/// A row a series (RFC 4180); the unit of a total is that of the values times seconds.
fn lines(graphs: &[Reported]) -> String {
    let mut out = String::from("graph,title,series,unit,step_s,average,max,p95,total\r\n");
    for graph in graphs {
        let Ok((unit, seen)) = &graph.seen else { continue };
        for drawn in seen.drawn.iter().filter(|drawn| !drawn.label.is_empty()) {
            let (title, label) = (cell(&graph.title), cell(drawn.label.trim()));
            let _ = write!(out, "{},{title},{label},{},{}", graph.id, cell(unit), seen.step_s);
            let figures = &drawn.figures;
            for value in [figures.average, figures.max, figures.p95, total(unit, figures.total)] {
                out.push(',');
                if value.is_finite() {
                    let _ = write!(out, "{value}");
                }
            }
            out.push_str("\r\n");
        }
    }
    out
}

/// Graph templates; of some graphs those that show something of them.
pub(super) fn templates(view: &View<'_>, graphs: Option<&[u32]>) -> Result<GraphTemplateList, Unanswered> {
    few("graphs", graphs.map_or(0, <[u32]>::len), REPORT_GRAPHS_MAX)?;
    let of = graphs.map(|graphs| data_of(view, graphs));
    let fits = |data: &[&str]| of.as_ref().is_none_or(|of| data.iter().any(|name| of.contains(*name)));
    let all = view.library.graphs.iter().filter(|(_, template)| fits(&template.data()));
    let told = all.map(|(name, template)| {
        let title = template.title.with(|_| None);
        let title = title.trim_matches(|c: char| c.is_whitespace() || c == '-');
        GraphTemplate {
            name: name.clone(),
            title: title.to_owned(),
            unit: template.unit.clone(),
            of_many: template.aggregate != Aggregate::None,
        }
    });
    Ok(GraphTemplateList { templates: told.collect() })
}

/// The names of the data templates of graphs.
fn data_of<'v>(view: &View<'v>, graphs: &[u32]) -> HashSet<&'v str> {
    let graphs = graphs.iter().filter(|id| view.sees_graph(**id)).filter_map(|id| view.inventory.graphs().get(*id));
    let sources = graphs.flat_map(|graph| &graph.sources).filter_map(|id| view.inventory.sources().get(*id));
    sources.filter_map(|source| view.inventory.template_name(source.template)).collect()
}
