//! Figures of graphs over a span, without their values: a report of how much went where, and the templates that graphs
//! of many can be made by.

use super::asked::Asked;
use super::pictures::{ask_of, number};
use super::{Unanswered, View, graphs};
use crate::picture::{Picture, Plan, WIDTH_MAX, picture};
use crate::template::Aggregate;
use core::fmt::Write as _;
use serde_json::{Value, json};
use std::collections::HashSet;
use trunkline_contract::graph::GraphSpan;
use trunkline_kit::untrusted::cell;

/// Graphs of one report.
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
/// each series between `from` and `to`; as lines of CSV, too, where `csv` is true. Rows are as fine as the archives
/// have them for the whole span: `step` says how long one is.
pub(super) fn show(view: &View<'_>, asked: Asked<'_>) -> Result<Value, Unanswered> {
    let mut ask = ask_of(&GraphSpan {
        from: asked.whole("from")?,
        to: asked.whole("to")?,
        width: asked.maybe_id("width")?,
        shift: asked.maybe_whole("shift")?,
        function: asked.maybe_text("function")?.map(str::to_owned),
    })?;
    ask.width = WIDTH_MAX;
    let found = graphs::list(view, asked)?;
    let ids = found["graphs"].as_array().into_iter().flatten();
    let ids = ids.filter_map(|graph| graph["id"].as_u64().and_then(|id| u32::try_from(id).ok()));
    let reported: Vec<Reported> = ids.take(REPORT_GRAPHS_MAX).map(|id| one(view, id, &ask)).collect();
    let text = asked.flag("csv")?.then(|| csv(&reported));
    let told: Vec<Value> = reported.iter().map(told).collect();
    Ok(json!({ "total": found["total"], "graphs": told, "csv": text }))
}

fn one(view: &View<'_>, id: u32, ask: &crate::picture::Ask) -> Reported {
    let title = view.inventory.title(view.library, id);
    let seen = Plan::new(view.inventory, view.library, id)
        .and_then(|plan| Ok((plan.unit.clone(), picture(&plan, ask, view.now_s, view.files)?)));
    Reported { id, title, seen: seen.map_err(|why| why.to_string()) }
}

fn told(reported: &Reported) -> Value {
    let Reported { id, title, seen } = reported;
    match seen {
        Err(why) => json!({ "id": id, "title": title, "trouble": why, "unit": "", "step": null, "series": [] }),
        Ok((unit, seen)) => {
            let named = seen.drawn.iter().filter(|drawn| !drawn.label.is_empty());
            let series = named.map(|drawn| {
                let f = &drawn.figures;
                json!({
                    "label": drawn.label.trim(), "average": number(f.average), "max": number(f.max),
                    "p95": number(f.p95), "total": number(total(unit, f.total)),
                })
            });
            let series: Vec<Value> = series.collect();
            json!({ "id": id, "title": title, "trouble": null, "unit": unit, "step": seen.step_s, "series": series })
        }
    }
}

/// A total is of what comes in a second: seconds times a temperature are nothing.
fn total(unit: &str, total: f64) -> f64 {
    if unit.ends_with("/s") || unit.to_lowercase().ends_with("per second") { total } else { f64::NAN }
}

/// A row a series (RFC 4180); the unit of a total is that of the values times seconds.
fn csv(graphs: &[Reported]) -> String {
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
pub(super) fn templates(view: &View<'_>, asked: Asked<'_>) -> Result<Value, Unanswered> {
    let of = match asked.0.get("graphs").is_some_and(|graphs| !graphs.is_null()) {
        true => Some(data_of(view, &asked.ids("graphs", REPORT_GRAPHS_MAX)?)),
        false => None,
    };
    let fits = |data: &[&str]| of.as_ref().is_none_or(|of| data.iter().any(|name| of.contains(*name)));
    let all = view.library.graphs.iter().filter(|(_, template)| fits(&template.data()));
    let told = all.map(|(name, template)| {
        let title = template.title.with(|_| None);
        let title = title.trim_matches(|c: char| c.is_whitespace() || c == '-');
        let is_of_many = template.aggregate != Aggregate::None;
        json!({ "name": name, "title": title, "unit": template.unit, "of_many": is_of_many })
    });
    Ok(json!({ "templates": told.collect::<Vec<_>>() }))
}

/// The names of the data templates of graphs.
fn data_of<'v>(view: &View<'v>, graphs: &[u32]) -> HashSet<&'v str> {
    let graphs = graphs.iter().filter(|id| view.sees_graph(**id)).filter_map(|id| view.inventory.graphs().get(*id));
    let sources = graphs.flat_map(|graph| &graph.sources).filter_map(|id| view.inventory.sources().get(*id));
    sources.filter_map(|source| view.inventory.template_name(source.template)).collect()
}
