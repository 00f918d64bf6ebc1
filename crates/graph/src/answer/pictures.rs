//! Graphs in numbers, one or a page of previews at once.

use super::{Unanswered, View, few};
use crate::picture::{Ask, Drawn, Figures, NoPicture, Picture, Plan, Print, Rule, Stroke, picture};
use crate::template::{Color, Function, LegendWord, Severity, Side};
use trunkline_contract::graph::{
    GraphFigures, GraphPicture, GraphPictureOf, GraphPictures, GraphPrint, GraphRule, GraphSeries, GraphSpan,
    GraphThreshold,
};

/// Graphs that are asked for at once.
// Limit: graphs of one request
// Beyond: the request is refused
// Seen in: the error message
pub const PICTURES_MAX: usize = 60;

/// Graphs, each its numbers or why there are none.
pub(super) fn show(view: &View<'_>, ids: &[u32], span: &GraphSpan) -> Result<GraphPictures, Unanswered> {
    few("ids", ids.len(), PICTURES_MAX)?;
    let ask = ask_of(span)?;
    let of = |id: &u32| match one(view, *id, &ask) {
        Ok(picture) => GraphPictureOf { id: *id, trouble: None, picture: Some(picture) },
        Err(error) => GraphPictureOf { id: *id, trouble: Some(error.to_string()), picture: None },
    };
    Ok(GraphPictures { pictures: ids.iter().map(of).collect() })
}

/// The span, columns and shift of what is asked.
///
/// # Errors
/// One of them makes no sense.
pub fn ask_of(span: &GraphSpan) -> Result<Ask, Unanswered> {
    let mut ask = Ask::new(span.from, span.to, span.width.unwrap_or(500))?;
    if let Some(shift_s) = span.shift {
        ask = ask.shifted(shift_s)?;
    }
    ask.function = match span.function.as_deref() {
        None => None,
        Some("average") => Some(Function::Average),
        Some("min") => Some(Function::Min),
        Some("max") => Some(Function::Max),
        Some("last") => Some(Function::Last),
        Some(other) => {
            return Err(Unanswered::Asked(format!("there is no function '{other}': average, min, max, last")));
        }
    };
    Ok(ask)
}

fn one(view: &View<'_>, id: u32, ask: &Ask) -> Result<GraphPicture, Unanswered> {
    if !view.sees_graph(id) {
        return Err(NoPicture::Unknown(id).into());
    }
    let plan = Plan::new(view.inventory, view.library, id)?;
    let seen = picture(&plan, ask, view.now_s, view.files)?;
    Ok(told(&plan, &seen))
}

pub(super) fn told(plan: &Plan, seen: &Picture) -> GraphPicture {
    GraphPicture {
        title: plan.title.clone(),
        unit: plan.unit.clone(),
        base: plan.base,
        lower: plan.lower,
        upper: plan.upper,
        rigid: plan.rigid,
        logarithmic: plan.logarithmic,
        start: seen.start_s,
        step: seen.step_s,
        rows: seen.rows as u64,
        series: seen.drawn.iter().map(series).collect(),
        rules: seen.rules.iter().map(rule).collect(),
        thresholds: seen.thresholds.iter().map(threshold).collect(),
        prints: seen.prints.iter().map(print).collect(),
        unread: seen.without_file.clone(),
    }
}

/// What is unknown is null.
pub(super) fn number(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn color(color: Option<Color>) -> Option<String> {
    color.map(|color| format!("#{color}"))
}

fn series(drawn: &Drawn) -> GraphSeries {
    let kind = match drawn.stroke {
        Stroke::Line => "line",
        Stroke::Area => "area",
        Stroke::Tick => "tick",
    };
    let word = |word: &LegendWord| match word {
        LegendWord::Last => "last",
        LegendWord::Average => "average",
        LegendWord::Min => "min",
        LegendWord::Max => "max",
        LegendWord::P95 => "p95",
        LegendWord::Total => "total",
    };
    GraphSeries {
        name: drawn.name.clone(),
        label: drawn.label.clone(),
        kind: kind.to_owned(),
        color: color(drawn.color),
        width: drawn.width,
        stack: drawn.stack,
        dashes: drawn.dashes.clone(),
        values: drawn.values.iter().map(|value| number(*value)).collect(),
        figures: figures(&drawn.figures),
        legend: drawn.legend.iter().map(word).map(str::to_owned).collect(),
    }
}

fn figures(figures: &Figures) -> GraphFigures {
    GraphFigures {
        last: number(figures.last),
        average: number(figures.average),
        min: number(figures.min),
        max: number(figures.max),
        p95: number(figures.p95),
        total: number(figures.total),
    }
}

fn threshold((value, side, severity, label): &(f64, Side, Severity, String)) -> GraphThreshold {
    let side = if *side == Side::Above { "above" } else { "below" };
    let severity = if *severity == Severity::Warning { "warning" } else { "critical" };
    GraphThreshold { value: *value, side: side.to_owned(), severity: severity.to_owned(), label: label.clone() }
}

fn rule(rule: &Rule) -> GraphRule {
    GraphRule {
        at_time: rule.at_time,
        value: number(rule.value),
        color: color(rule.color),
        dashes: rule.dashes.clone(),
        label: rule.label.clone(),
    }
}

fn print(print: &Print) -> GraphPrint {
    GraphPrint {
        label: print.label.clone(),
        value: print.value.and_then(number),
        is_number: print.value.is_some(),
        format: print.format.clone(),
    }
}
